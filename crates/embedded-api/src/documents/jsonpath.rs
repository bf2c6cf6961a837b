//! The JSONPath dialect of printer columns, translated to RFC 9535.
//!
//! Owns: the translation, and the value that a path yields. Must not: write paths of its own.
//!
//! The dialects differ in names, where Kubernetes allows dashes and, after a backslash, dots
//! (`.metadata.labels.app\.kubernetes\.io/name`), and in filters, which it puts in parentheses
//! (`.status.conditions[?(@.type=="Ready")].status`). If a path finds several values, the first is used.

use serde_json::Value;
use serde_json_path::JsonPath;

/// Why a path cannot be used.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum PathError {
    /// It does not begin with a dot.
    #[error("JSONPath {path:?} does not begin with a dot; write it as .spec.name")]
    Start {
        /// The path.
        path: String,
    },
    /// A bracket, a parenthesis or a quotation is not closed.
    #[error("JSONPath {path:?} has a bracket that is not closed; close it")]
    Open {
        /// The path.
        path: String,
    },
    /// It is closed, but its content is unknown.
    #[error("JSONPath {path:?} is not understood: {why}; use names, [index], [*] and [?(@.name==\"value\")]")]
    Unknown {
        /// The path.
        path: String,
        /// The parser's message.
        why: String,
    },
}

/// Characters that belong to operators, so they cannot be part of a name.
const NOT_IN_NAMES: &[char] = &[' ', '=', '!', '<', '>', '~', '&', '|', '(', ')', '?', ',', '"', '\''];

/// A path, compiled once.
#[derive(Clone, Debug)]
pub struct Path(JsonPath);

impl Path {
    /// Reads a path as written in a CustomResourceDefinition, without braces.
    ///
    /// # Errors
    /// [`PathError`], which quotes the path.
    pub fn new(path: &str) -> Result<Self, PathError> {
        let translated = translate(path)?;
        let parsed = JsonPath::parse(&translated).map_err(|error| PathError::Unknown {
            path: path.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Self(parsed))
    }

    /// The first value at the path, which may be null; `None` when there is none.
    #[must_use]
    pub fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.query(object).first()
    }
}

/// The same path in RFC 9535 syntax.
fn translate(path: &str) -> Result<String, PathError> {
    if !path.starts_with('.') {
        return Err(PathError::Start { path: path.to_owned() });
    }
    let mut out = String::from("$");
    steps(path, path, &mut out)?;
    Ok(out)
}

/// Translates `rest`, a run of `.name`, `..name`, `.*` and `[…]`. `path` is the whole, for errors.
fn steps(path: &str, rest: &str, out: &mut String) -> Result<(), PathError> {
    let mut rest = rest;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let end = closing(after, ']').ok_or_else(|| PathError::Open { path: path.to_owned() })?;
            let (inside, after) = after.split_at(end);
            bracket(path, inside.trim(), out)?;
            rest = after.strip_prefix(']').unwrap_or_default();
        } else {
            if let Some(after) = rest.strip_prefix("..") {
                out.push_str("..");
                rest = after;
            } else {
                rest = rest.strip_prefix('.').unwrap_or(rest);
            }
            let (name, after) = name(rest);
            rest = after;
            match name.as_str() {
                "" => {}
                name if name.contains(NOT_IN_NAMES) => {
                    return Err(PathError::Unknown {
                        path: path.to_owned(),
                        why: format!("{name:?} is no name"),
                    });
                }
                "*" => out.push_str("[*]"),
                name => push_name(name, out),
            }
        }
    }
    Ok(())
}

/// The first name, without its backslashes, and the text after it.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.chars();
    loop {
        let rest = letters.as_str();
        match letters.next() {
            None | Some('.' | '[') => return (name, rest),
            Some('\\') => name.extend(letters.next()),
            Some(letter) => name.push(letter),
        }
    }
}

fn push_name(name: &str, out: &mut String) {
    out.push_str("['");
    for letter in name.chars() {
        if matches!(letter, '\'' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push_str("']");
}

/// Where `close` ends what was opened before `text`, after quotations and nested brackets.
fn closing(text: &str, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (_, '\\') => {
                letters.next();
            }
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, letter) if letter == close && depth == 0 => return Some(at),
            (None, '[' | '(') => depth += 1,
            (None, ']' | ')') => depth = depth.checked_sub(1)?,
            (None, _) => {}
        }
    }
    None
}

fn bracket(path: &str, inside: &str, out: &mut String) -> Result<(), PathError> {
    if let Some(filter) = inside.strip_prefix("?(").and_then(|filter| filter.strip_suffix(')')) {
        out.push_str("[?");
        comparison(path, filter.trim(), out)?;
        out.push(']');
        return Ok(());
    }
    // One quoted name may be a path of its own: ['a.b'] is .a.b, ['a\.b'] is a name with a dot.
    if let Some(quoted) = quoted(inside) {
        return steps(path, quoted, out);
    }
    out.push('[');
    out.push_str(inside);
    out.push(']');
    Ok(())
}

/// What is inside one pair of quotation marks; `None` for anything else, as for several in a row.
fn quoted(text: &str) -> Option<&str> {
    let inside = |quote: char| {
        text.strip_prefix(quote)?
            .strip_suffix(quote)
            .filter(|inside| !inside.contains(quote))
    };
    inside('\'').or_else(|| inside('"'))
}

/// `@.type=="Ready"`, or `@.type` alone.
fn comparison(path: &str, filter: &str, out: &mut String) -> Result<(), PathError> {
    for operator in ["==", "!=", "<=", ">=", "<", ">"] {
        if let Some((left, right)) = split_outside_quotes(filter, operator) {
            operand(path, left.trim(), out)?;
            out.push_str(operator);
            return operand(path, right.trim(), out);
        }
    }
    operand(path, filter, out)
}

fn operand(path: &str, text: &str, out: &mut String) -> Result<(), PathError> {
    let mut letters = text.chars();
    match letters.next() {
        Some(root @ ('@' | '$')) => {
            out.push(root);
            steps(path, letters.as_str(), out)
        }
        _ => {
            out.push_str(text);
            Ok(())
        }
    }
}

fn split_outside_quotes<'a>(text: &'a str, operator: &str) -> Option<(&'a str, &'a str)> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        let (before, rest) = text.split_at(at);
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) => {
                if let Some(after) = rest.strip_prefix(operator) {
                    return Some((before, after));
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(path: &str) -> Value {
        let object = json!({
            "metadata": {"annotations": {"foo.bar/baz": "annotated"}},
            "a": [1, "two", 3.5], "d-ash": "dash", "none": null, "s": "text",
            "o": {"x": 1, "y": "two"},
            "l": [{"k": "x", "v": 1}, {"k": "y", "v": 2, "w": true}, {"k": "a=='b", "v": 3}],
        });
        let path = Path::new(path).expect("a path");
        path.first(&object).cloned().unwrap_or_default()
    }

    #[test]
    fn paths_find_what_kubernetes_finds() {
        let cases = [
            (".s", json!("text")),
            (".o.x", json!(1)),
            (".o.*", json!(1)),
            (".o['x','y']", json!(1)),
            (".a", json!([1, "two", 3.5])),
            (".a[0]", json!(1)),
            (".a[-1]", json!(3.5)),
            (".a[9]", Value::Null),
            (".a[0:2]", json!(1)),
            (".a[*]", json!(1)),
            (".l[*].v", json!(1)),
            ("..k", json!("x")),
            (".d-ash", json!("dash")),
            (".none", Value::Null),
            (".q.r.s", Value::Null),
            (".s.x", Value::Null),
            (r".metadata.annotations.foo\.bar/baz", json!("annotated")),
            (r".metadata.annotations['foo\.bar/baz']", json!("annotated")),
            (".metadata['annotations']", json!({"foo.bar/baz": "annotated"})),
        ];
        for (path, value) in cases {
            assert_eq!(found(path), value, "{path}");
        }
    }

    #[test]
    fn filters_compare_with_texts_numbers_and_mere_presence() {
        let cases = [
            (r#".l[?(@.k=="y")].v"#, json!(2)),
            (".l[?(@.k=='y')].v", json!(2)),
            (".l[?( @.k == 'y' )].v", json!(2)),
            (".l[?(@.k=='nothing')].v", Value::Null),
            (".l[?(@.v>1)].k", json!("y")),
            (".l[?(@.v<=1)].k", json!("x")),
            (".l[?(@.v!=1)].k", json!("y")),
            (".l[?(@.w)].k", json!("y")),
            (".l[?(@.w==true)].k", json!("y")),
            (r#".l[?(@.k=="a=='b")].v"#, json!(3)),
        ];
        for (path, value) in cases {
            assert_eq!(found(path), value, "{path}");
        }
    }

    #[test]
    fn a_path_that_does_not_begin_at_the_object_is_refused() {
        let path = "status.phase".to_owned();
        assert_eq!(Path::new(&path).err(), Some(PathError::Start { path }));
    }

    #[test]
    fn a_bracket_must_be_closed() {
        for path in [".a[0", ".l[?(@.k=='y'].v", ".a['x]"] {
            let path = path.to_owned();
            assert_eq!(Path::new(&path).err(), Some(PathError::Open { path }));
        }
    }

    #[test]
    fn what_kubernetes_templates_can_do_beyond_paths_is_refused() {
        for path in [".a[x]", ".l[?(@.k~='y')].v", ".a[?]", ".a b"] {
            let error = Path::new(path).err();
            assert!(matches!(error, Some(PathError::Unknown { .. })), "{path}: {error:?}");
        }
    }
    proptest::proptest! {
        #[test]
        fn whatever_is_read_as_a_path_finds_something_or_nothing(path in r#"\.[a-z.\[\]()'"?@$*=!<>\\0-9:, ~-]{0,24}"#) {
            let object = json!({"a": [1, {"b": "c"}], "b": {"a": null}});
            let found = Path::new(&path).map(|path| path.first(&object).cloned());
            proptest::prop_assert_ne!(found, Ok(Some(Value::Null)));
        }
    }
}
