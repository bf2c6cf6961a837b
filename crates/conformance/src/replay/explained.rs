//! Deviations that are known, each with its reason: `explained.json` beside the recordings.
//!
//! ```json
//! [{"recording": "11_lossy", "channel": "acks", "place": 10, "reason": "why the simulated vehicle is right, or cannot know"}]
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::compare::Comparison;

pub const FILE: &str = "explained.json";

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    pub recording: String,
    pub channel: String,
    /// First differing statement of the channel, from 1, as the table shows it.
    pub place: usize,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ExplainedError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}; it must be a list of {{recording, channel, place, reason}}", path.display())]
    Strange { path: PathBuf, source: serde_json::Error },
    #[error("{}: the entry for {recording} has no reason; say why the deviation is right", path.display())]
    NoReason { path: PathBuf, recording: String },
}

#[derive(Clone, Debug, Default)]
pub struct Explained(Vec<Explanation>);

impl Explained {
    pub fn read(path: &Path) -> Result<Self, ExplainedError> {
        let text = std::fs::read(path).map_err(|source| ExplainedError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let list: Vec<Explanation> = serde_json::from_slice(&text).map_err(|source| ExplainedError::Strange {
            path: path.to_owned(),
            source,
        })?;
        match list.iter().find(|entry| entry.reason.trim().is_empty()) {
            Some(entry) => Err(ExplainedError::NoReason {
                path: path.to_owned(),
                recording: entry.recording.clone(),
            }),
            None => Ok(Self(list)),
        }
    }

    /// Empty when the folder has no list.
    pub fn in_folder(folder: &Path) -> Result<Self, ExplainedError> {
        let path = folder.join(FILE);
        if path.is_file() {
            Self::read(&path)
        } else {
            Ok(Self::default())
        }
    }

    /// Reason for a first difference at `place` (from 1).
    pub fn reason(&self, recording: &str, channel: &str, place: usize) -> Option<&str> {
        let fits =
            |entry: &&Explanation| entry.recording == recording && entry.channel == channel && entry.place == place;
        self.0.iter().find(fits).map(|entry| entry.reason.as_str())
    }

    /// Entries that match nothing: the deviation is gone, or has changed.
    pub fn idle<'a>(&'a self, comparisons: &[(&str, &Comparison)]) -> Vec<&'a Explanation> {
        let explains = |entry: &&Explanation| {
            let fits = |(channel, verdict): &(super::Channel, super::Verdict)| {
                channel.name() == entry.channel && verdict.place() == Some(entry.place)
            };
            comparisons
                .iter()
                .any(|(recording, comparison)| *recording == entry.recording && comparison.differences().any(fits))
        };
        self.0.iter().filter(|entry| !explains(entry)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Fact, Statement, compare};

    fn list(text: &str) -> Result<Explained, ExplainedError> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE), text).expect("a file");
        Explained::in_folder(folder.path())
    }

    const ENTRY: &str = r#"[{"recording": "a", "channel": "armed", "place": 1, "reason": "so"}]"#;

    #[test]
    fn a_folder_without_a_list_explains_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let explained = Explained::in_folder(folder.path()).expect("no list is fine");
        assert_eq!(explained.reason("a", "armed", 1), None);
    }

    #[test]
    fn an_explanation_is_for_one_place_of_one_channel() {
        let explained = list(ENTRY).expect("a list");
        assert_eq!(explained.reason("a", "armed", 1), Some("so"));
        assert_eq!(explained.reason("a", "armed", 2), None);
        assert_eq!(explained.reason("b", "armed", 1), None);
    }

    #[test]
    fn an_explanation_of_something_that_does_not_differ_is_idle() {
        let explained = list(ENTRY).expect("a list");
        let armed = |armed| {
            [Statement {
                at_s: 1.0,
                fact: Fact::Armed(armed),
            }]
        };
        let same = compare(&armed(true), &armed(true), &[], 10.0);
        let other = compare(&armed(true), &armed(false), &[], 10.0);
        assert_eq!(explained.idle(&[("a", &same)]).len(), 1);
        assert_eq!(explained.idle(&[("a", &other)]).len(), 0);
        assert_eq!(explained.idle(&[("b", &other)]).len(), 1, "of another recording");
    }

    #[test]
    fn a_list_without_reasons_or_with_unknown_fields_is_refused() {
        let no_reason = ENTRY.replace("\"so\"", "\" \"");
        assert!(matches!(list(&no_reason), Err(ExplainedError::NoReason { .. })));
        let unknown = ENTRY.replace("place", "line");
        assert!(matches!(list(&unknown), Err(ExplainedError::Strange { .. })));
    }
}
