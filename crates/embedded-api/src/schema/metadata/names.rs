//! Form of names, label keys and label values.

const KEY_NAME: &str =
    "must have at most 63 letters, digits, '-', '_' or '.', and start and end with a letter or digit";
const SUBDOMAIN: &str = "must be a DNS subdomain: at most 253 lower case letters, digits, '-' or '.', where each part \
                         starts and ends with a letter or digit";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// DNS subdomain: labels separated by dots. Most kinds.
    Subdomain,
    /// DNS label. Namespaces.
    Label,
    /// Anything that is allowed in a URL's path. Events.
    PathSegment,
}

impl NameRule {
    #[must_use]
    pub fn check(self, name: &str, is_prefix: bool) -> Option<&'static str> {
        // A dash at the end of a prefix is not at the end of the name.
        let name = match name.trim_end_matches('-') {
            front if is_prefix && !front.is_empty() => front,
            _ => name,
        };
        let (right, message) = match self {
            Self::PathSegment => (
                (is_prefix || !matches!(name, "." | "..")) && !name.contains(['/', '%']),
                "must not be '.' or '..', or contain '/' or '%'",
            ),
            Self::Label => (
                name.len() <= 63 && is_label(name),
                "must be a DNS label: at most 63 lower case letters, digits or '-', which starts and ends with a letter or digit",
            ),
            Self::Subdomain => (is_subdomain(name), SUBDOMAIN),
        };
        (!right).then_some(message)
    }
}

fn is_label(text: &str) -> bool {
    let inner = |each: char| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_key_name(text: &str) -> bool {
    let edge = |each: char| each.is_ascii_alphanumeric();
    let inner = |each: char| edge(each) || matches!(each, '-' | '_' | '.');
    text.len() <= 63 && text.starts_with(edge) && text.ends_with(edge) && text.chars().all(inner)
}

/// Rule for names of finalizers, too: a name, or a subdomain, `/` and a name.
#[must_use]
pub fn label_key(text: &str) -> Option<&'static str> {
    let (prefix, name) = text.split_once('/').unwrap_or(("a", text));
    match (is_subdomain(prefix), is_key_name(name)) {
        (true, true) => None,
        (false, _) => Some("the part before '/' must be a DNS subdomain"),
        (true, false) => Some(KEY_NAME),
    }
}

#[must_use]
pub fn label_value(text: &str) -> Option<&'static str> {
    (!text.is_empty() && !is_key_name(text)).then_some(KEY_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_form_of_their_kind() {
        let (longest, longer) = ("a".repeat(253), "a".repeat(254));
        let (label, no_label) = ("a".repeat(63), "a".repeat(64));
        let cases = [
            (NameRule::Subdomain, "a.b-c.1", true),
            (NameRule::Subdomain, "UP", false),
            (NameRule::Subdomain, "a..b", false),
            (NameRule::Subdomain, "-a", false),
            (NameRule::Subdomain, "a/b", false),
            (NameRule::Subdomain, &longest, true),
            (NameRule::Subdomain, &longer, false),
            (NameRule::Label, "a-b", true),
            (NameRule::Label, "a.b", false),
            (NameRule::Label, &label, true),
            (NameRule::Label, &no_label, false),
            (NameRule::PathSegment, "A b", true),
            (NameRule::PathSegment, "..", false),
            (NameRule::PathSegment, "a/b", false),
        ];
        for (rule, name, good) in cases {
            assert_eq!(rule.check(name, false).is_none(), good, "{rule:?} {name}");
        }
    }

    #[test]
    fn a_prefix_may_end_in_a_dash_only() {
        for (prefix, good) in [("a-", true), ("a.", false), ("-", false)] {
            assert_eq!(NameRule::Subdomain.check(prefix, true).is_none(), good, "{prefix}");
        }
        assert!(NameRule::Subdomain.check("a-", false).is_some());
    }

    #[test]
    fn label_keys_are_a_name_with_or_without_a_domain() {
        for good in ["a", "A_b.c-1", "example.com/MyName", "a/b"] {
            assert_eq!(label_key(good), None, "{good}");
        }
        for bad in ["a b", "", "/b", "A_/b", "a/b/c", &"a".repeat(64)] {
            assert!(label_key(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn label_values_may_be_empty() {
        assert_eq!(label_value(""), None);
        assert_eq!(label_value("a_b"), None);
        assert!(label_value("b c").is_some());
        assert!(label_value(&"a".repeat(64)).is_some());
    }
}
