//! Regular expressions of schemas, which are written for Go's RE2, in the syntax of the `regex` crate.
//!
//! Owns: the translation. Must not: match.
//!
//! In RE2 the classes `\d`, `\w`, `\s` and the boundary `\b` are ASCII only, and inside a class `[`, `&&`, `--` and `~~`
//! are literal.

use regex::Regex;

/// Compiles a pattern from a schema.
///
/// # Errors
/// When it is not a regular expression.
pub fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&translate(pattern))
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    let mut class_start = false;
    while let Some(each) = chars.next() {
        let at_start = std::mem::take(&mut class_start);
        match each {
            '\\' => match chars.next() {
                Some('Q') => quote(&mut chars, &mut out),
                Some(escaped) => out.push_str(&escape(escaped, in_class)),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
            }
            '^' if at_start => {
                class_start = true;
                out.push('^');
            }
            ']' if at_start => out.push_str("\\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for each in chars.by_ref() {
                    out.push(each);
                    if each == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(each);
            }
            '-' if at_start => out.push_str("\\-"),
            '-' if in_class && chars.peek() == Some(&'-') => {
                chars.next();
                out.push_str("-\\-");
            }
            _ => out.push(each),
        }
    }
    out
}

fn escape(escaped: char, in_class: bool) -> String {
    let class = match escaped {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        's' => "[\\t\\n\\f\\r ]",
        'S' => "[^\\t\\n\\f\\r ]",
        'b' if !in_class => "(?-u:\\b)",
        'B' if !in_class => "(?-u:\\B)",
        _ => return format!("\\{escaped}"),
    };
    class.to_owned()
}

/// `\Q…\E`: all of it is literal.
fn quote(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let mut text = String::new();
    while let Some(each) = chars.next() {
        if each == '\\' && chars.peek() == Some(&'E') {
            chars.next();
            break;
        }
        text.push(each);
    }
    out.push_str(&regex::escape(&text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_they_match_in_go() {
        let cases = [
            ("^a.*$", "abc", true),
            ("b", "abc", true),
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^\w+$", "ü", false),
            (r"^\S+$", "a b", false),
            (r"\bb\b", "a b c", true),
            ("^[[a]+$", "[a", true),
            ("^[]a]+$", "]a", true),
            ("^[^]a]+$", "]", false),
            ("^[a&&b]+$", "a&b", true),
            ("^[[:alpha:]]+$", "ab", true),
            ("^[!--]+$", "-+", true),
            ("^[--0]+$", "./", true),
            ("^[-a]+$", "a-", true),
            ("^[a-]+$", "a-", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\.\/$", "./", true),
            ("^(?i)ab$", "AB", true),
            ("^a$", "a\n", false),
        ];
        for (pattern, text, matches) in cases {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
    }
}
