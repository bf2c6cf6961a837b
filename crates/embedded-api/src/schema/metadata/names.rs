//! The form of names, label keys and label values.
//!
//! Owns: the forms, and the messages for faults. Must not: know objects.
//!
//! The regular expressions are in messages only; the code checks the forms directly, which is faster.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KIND: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_WORDS: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// The form of a kind's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain: labels separated by dots. Most kinds.
    Subdomain,
    /// A DNS label. Namespaces.
    Label,
    /// Anything that is allowed in a URL's path. Events.
    PathSegment,
}

impl NameRule {
    /// What is wrong with a name, or with the prefix of a generated one.
    #[must_use]
    pub fn check(self, name: &str, is_prefix: bool) -> Vec<String> {
        if self == Self::PathSegment {
            return path_segment(name, is_prefix);
        }
        // A dash at the end of a prefix is not at the end of the name.
        let masked = match name.strip_suffix('-') {
            Some(front) if is_prefix && !front.is_empty() => {
                let end = front.char_indices().last().map_or(0, |(at, _)| at);
                format!("{}a", front.get(..end).unwrap_or_default())
            }
            _ => name.to_owned(),
        };
        match self {
            Self::Label => label(&masked),
            Self::Subdomain | Self::PathSegment => subdomain(&masked, "characters"),
        }
    }
}

fn is_label(text: &str) -> bool {
    let inner = |each: char| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > 253 {
        messages.push(format!("must be no more than 253 {unit}"));
    }
    if !is_subdomain(text) {
        messages.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
             and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        ));
    }
    messages
}

fn label(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(text) {
        messages.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                 end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
            )
        });
    }
    messages
}

/// What is wrong with the name of a kind, whose uppercase letters count as lowercase.
#[must_use]
pub fn kind(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(&text) || text.starts_with(|each: char| each.is_ascii_digit()) {
        messages.push(format!(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
             and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{KIND}')"
        ));
    }
    messages
}

fn path_segment(name: &str, is_prefix: bool) -> Vec<String> {
    if !is_prefix && (name == "." || name == "..") {
        return vec![format!("may not be '{name}'")];
    }
    let banned = ["/", "%"].into_iter().filter(|each| name.contains(each));
    banned.map(|each| format!("may not contain '{each}'")).collect()
}

fn is_key_name(text: &str) -> bool {
    let edge = |each: char| each.is_ascii_alphanumeric();
    let inner = |each: char| edge(each) || matches!(each, '-' | '_' | '.');
    text.starts_with(edge) && text.ends_with(edge) && text.chars().all(inner)
}

fn key_form() -> String {
    format!("{KEY_WORDS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{KEY}')")
}

/// What is wrong with the key of a label or annotation, or the name of a finalizer: a name, or a subdomain, `/` and a
/// name.
#[must_use]
pub fn label_key(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            messages.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            let wrong = subdomain(prefix, "bytes").into_iter();
            messages.extend(wrong.map(|message| format!("prefix part {message}")));
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                key_form()
            )];
        }
    };
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        messages.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_key_name(name) {
        messages.push(format!("name part {}", key_form()));
    }
    messages
}

/// What is wrong with the value of a label.
#[must_use]
pub fn label_value(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push("must be no more than 63 bytes".to_owned());
    }
    if !text.is_empty() && !is_key_name(text) {
        messages.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
             and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '({KEY})?')"
        ));
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_form_of_their_kind() {
        let cases = [
            (NameRule::Subdomain, "a.b-c.1", true),
            (NameRule::Subdomain, "UP", false),
            (NameRule::Subdomain, "a..b", false),
            (NameRule::Subdomain, "-a", false),
            (NameRule::Subdomain, "a/b", false),
            (NameRule::Label, "a-b", true),
            (NameRule::Label, "a.b", false),
            (NameRule::PathSegment, "A b", true),
            (NameRule::PathSegment, "..", false),
            (NameRule::PathSegment, "a/b", false),
        ];
        for (rule, name, good) in cases {
            assert_eq!(rule.check(name, false).is_empty(), good, "{rule:?} {name}");
        }
    }

    #[test]
    fn names_have_a_length() {
        assert_eq!(NameRule::Subdomain.check(&"a".repeat(253), false), [""; 0]);
        assert_eq!(
            NameRule::Subdomain.check(&"a".repeat(254), false),
            ["must be no more than 253 characters"]
        );
        assert_eq!(
            NameRule::Label.check(&"a".repeat(64), false),
            ["must be no more than 63 characters"]
        );
        assert_eq!(NameRule::Label.check("a.b", false), ["must not contain dots"]);
    }

    #[test]
    fn a_prefix_may_end_in_a_dash_only() {
        assert!(NameRule::Subdomain.check("a-", true).is_empty());
        assert!(!NameRule::Subdomain.check("a-", false).is_empty());
        assert!(!NameRule::Subdomain.check("a.", true).is_empty());
        assert!(!NameRule::Subdomain.check("-", true).is_empty());
    }

    #[test]
    fn label_keys_are_a_name_with_or_without_a_domain() {
        for good in ["a", "A_b.c-1", "example.com/MyName", "a/b"] {
            assert_eq!(label_key(good), [""; 0], "{good}");
        }
        let front = |text: &str| -> Vec<String> {
            let messages = label_key(text).into_iter();
            messages
                .map(|message| message.split_inclusive(' ').take(4).collect())
                .collect()
        };
        assert_eq!(front("a b"), ["name part must consist "]);
        assert_eq!(front(""), ["name part must be ", "name part must consist "]);
        assert_eq!(front("/b"), ["prefix part must be "]);
        assert_eq!(front("A_/b"), ["prefix part a lowercase "]);
        assert_eq!(front("a/b/c"), ["a valid label key "]);
        assert_eq!(front(&"a".repeat(64)), ["name part must be "]);
    }

    #[test]
    fn label_values_may_be_empty() {
        assert_eq!(label_value(""), [""; 0]);
        assert_eq!(label_value("a_b"), [""; 0]);
        assert_eq!(label_value("b c").len(), 1);
        assert_eq!(label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    }
}
