//! YAML documents of a file as values.

use crate::failure::Failure;
use crate::vehicle::printable;
use serde_json::Value;
use serde_saphyr::{Error, MessageFormatter as _, UserMessageFormatter};
use std::path::Path;

pub(super) fn documents(text: &str, path: &Path) -> Result<Vec<Value>, Failure> {
    serde_saphyr::from_multiple(text).map_err(|error| {
        let error = error.without_snippet();
        let place = error.location().filter(|place| place.line() > 0);
        let place = place.map_or_else(String::new, |place| {
            format!(" at line {}, column {}", place.line(), place.column())
        });
        Failure::Failed(format!(
            "{} cannot be read as YAML{place}: {}",
            path.display(),
            printable(&words(error))
        ))
    })
}

fn words(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key {key} is there twice, and only one can count; remove one of them")
        }
        Error::DuplicateMappingKey { key: None, .. } => {
            "a key is there twice, and only one can count; remove one of them".to_owned()
        }
        Error::NonFiniteFloat { value, .. } => format!("{value} is no number that can be sent; write a finite one"),
        Error::MergeKeyNotAllowed { .. } => "merge keys (<<) are not read; write out what they stand for".to_owned(),
        Error::UnknownAnchor { .. } => {
            "the alias (*NAME) stands for no anchor (&NAME) before it; add the anchor, or put the text into quotes"
                .to_owned()
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "the alias (*NAME) stands for something that it is itself a part of; write it out".to_owned()
        }
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "the file is too large, too deep, or has too many aliases (*NAME); write it with fewer".to_owned()
        }
        Error::Unexpected {
            expected: "string scalar",
            ..
        } => "a list or a mapping is there where a plain text has to be; each key has to be a text".to_owned(),
        Error::AliasError { error, .. } => words(error),
        other => format!("{}; correct it", UserMessageFormatter.format_message(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_yaml_is_said_with_its_place_in_words_of_yaml() {
        let said = |text: &str| documents(text, Path::new("m.yaml")).unwrap_err().to_string();
        assert_eq!(
            said("a: 1\nb: {c: 1, c: 2}\n"),
            "m.yaml cannot be read as YAML at line 2, column 11: the key c is there twice, and only one can count; remove one of them"
        );
        for (text, part) in [
            ("a: .nan\n", "line 1, column 4: .nan is no number"),
            ("a: *y\n", "line 1, column 4: the alias (*NAME)"),
            ("a: &x [*x]\n", "line 1, column 8: the alias (*NAME)"),
            ("? [a, b]\n: 1\n", "each key has to be a text"),
            ("a: [1,\n", "line 1, column 4: "),
            ("a:\n - b\n c: d\n", "line 3"),
        ] {
            let said = said(text);
            assert!(said.contains(part), "{said}");
            for word in ["policy", "Policy", "Options", "scalar", "weak"] {
                assert!(!said.contains(word), "{said}");
            }
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        assert_eq!(documents("a: 1\n---\nb: 2\n", Path::new("m.yaml")).unwrap().len(), 2);
    }
}
