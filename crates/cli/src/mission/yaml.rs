//! YAML documents of a file as values.

use crate::failure::Failure;
use crate::vehicle::printable;
use plan_files::area::{MOST_AREAS, MOST_CORNERS};
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, MessageFormatter as _, UserMessageFormatter};
use std::path::Path;

/// Files, of the largest that are imported, whose objects are read from one stream.
const FILES: usize = 4;
const MOST_DOCUMENTS: usize = FILES * MOST_AREAS;
/// A corner is a mapping of two keys with their values; the rest of an object is small beside its corners.
const MOST_NODES: usize = FILES * MOST_CORNERS * 5;
/// Each mapping has an end, too.
const MOST_EVENTS: usize = 2 * MOST_NODES;

pub(super) fn documents(text: &str, path: &Path) -> Result<Vec<Value>, Failure> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: MOST_DOCUMENTS,
            max_nodes: MOST_NODES,
            max_events: MOST_EVENTS,
        },
    };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
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
        Error::Budget {
            breach: BudgetBreach::Documents { .. } | BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. },
            ..
        } => format!(
            "the file is too long: at most {MOST_DOCUMENTS} objects with {MOST_NODES} values in all are read at once; divide it, or write \
             each object to a file of its own with skein import --output"
        ),
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

    #[test]
    fn as_many_objects_as_an_import_prints_are_read_and_more_are_refused_by_number() {
        let objects = |count: usize| documents(&vec!["kind: Mission\n"; count].join("---\n"), Path::new("m.yaml"));
        assert_eq!(objects(MOST_DOCUMENTS).unwrap().len(), MOST_DOCUMENTS);
        let said = objects(MOST_DOCUMENTS + 1).unwrap_err().to_string();
        assert!(
            said.contains("too long: at most 4000 objects with 2000000 values")
                && said.contains("skein import --output"),
            "{said}"
        );
        let corner = "- {latitudeDegrees: 47.1, longitudeDegrees: 8.5}\n";
        let corners = documents(&corner.repeat(60_000), Path::new("m.yaml")).unwrap();
        assert_eq!(
            corners.iter().map(|all| all.as_array().unwrap().len()).sum::<usize>(),
            60_000
        );
    }
}
