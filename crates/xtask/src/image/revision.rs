//! The commit of an image's sources, and its time as the time of everything in the image.

use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;

use crate::command::output;

const CHANGED: &str = "-dirty";

/// Digits of the commit that programs show.
const SHORT: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// With the suffix `-dirty` if files differ from it.
    pub commit: Option<String>,
    /// Seconds since 1970: `SOURCE_DATE_EPOCH` if that is set, else the time of the commit.
    pub time: Option<u64>,
}

impl Revision {
    /// Unknown if `root` is no git repository.
    pub fn of(root: &Path) -> anyhow::Result<Self> {
        let asked = std::env::var("SOURCE_DATE_EPOCH").ok();
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(args).current_dir(root);
            output(command).ok()
        };
        let head = git(&["log", "-1", "--format=%H %ct"]);
        let changed = || git(&["status", "--porcelain"]).is_none_or(|text| !text.trim().is_empty());
        Self::from(asked.as_deref(), head.as_deref(), changed)
    }

    fn from(asked: Option<&str>, head: Option<&str>, changed: impl FnOnce() -> bool) -> anyhow::Result<Self> {
        let head = head.and_then(|line| line.trim().split_once(' '));
        let seconds = |text: &str| text.trim().parse::<u64>();
        let time = match (asked, head) {
            (Some(asked), _) => Some(seconds(asked).with_context(|| {
                format!("SOURCE_DATE_EPOCH is {asked:?}: give it as seconds since 1970, or unset it")
            })?),
            (None, Some((_, time))) => Some(seconds(time).context("git reports no time of the commit")?),
            (None, None) => None,
        };
        let commit = head.map(|(commit, _)| format!("{commit}{}", if changed() { CHANGED } else { "" }));
        Ok(Self { commit, time })
    }

    /// The commit, if the sources are exactly it; the error says what to do.
    pub fn committed(&self) -> anyhow::Result<&str> {
        let commit = self.commit.as_deref();
        let commit = commit.context("a release is built of a git commit: clone the repository and run this there")?;
        anyhow::ensure!(
            !commit.ends_with(CHANGED),
            "files differ from the commit: commit or stash them (`git status` lists them)"
        );
        Ok(commit)
    }

    pub fn short(&self) -> Option<String> {
        let commit = self.commit.as_deref()?;
        let (digits, mark) = match commit.strip_suffix(CHANGED) {
            Some(digits) => (digits, CHANGED),
            None => (commit, ""),
        };
        Some(format!("{}{mark}", digits.get(..SHORT).unwrap_or(digits)))
    }

    /// The time as RFC 3339 writes it.
    pub fn created(&self) -> anyhow::Result<Option<String>> {
        let text = |time: u64| anyhow::Ok(Timestamp::from_second(i64::try_from(time)?)?.to_string());
        self.time
            .map(text)
            .transpose()
            .context("the time is no time: see SOURCE_DATE_EPOCH")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "4be1f0c2a9d34be1f0c2a9d34be1f0c2a9d34be1 1700000000\n";

    #[test]
    fn the_time_of_the_commit_is_the_time_of_the_image() {
        let revision = Revision::from(None, Some(HEAD), || false).unwrap();
        assert_eq!(revision.created().unwrap().as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!(revision.short().as_deref(), Some("4be1f0c2a9d3"));
    }

    #[test]
    fn source_date_epoch_goes_first_and_must_be_a_number() {
        let revision = Revision::from(Some("1"), Some(HEAD), || false).unwrap();
        assert_eq!(revision.time, Some(1));
        let error = Revision::from(Some("today"), Some(HEAD), || false).unwrap_err();
        assert!(error.to_string().contains("seconds since 1970"), "{error}");
    }

    #[test]
    fn changed_files_show_in_the_commit() {
        let revision = Revision::from(None, Some(HEAD), || true).unwrap();
        assert_eq!(revision.short().as_deref(), Some("4be1f0c2a9d3-dirty"));
        assert!(revision.commit.unwrap().ends_with("4be1-dirty"));
    }

    #[test]
    fn only_what_is_committed_can_be_released() {
        let of = |head, changed| Revision::from(None, head, || changed).unwrap();
        assert!(of(Some(HEAD), false).committed().unwrap().ends_with("4be1"));
        let error = of(Some(HEAD), true).committed().unwrap_err().to_string();
        assert!(error.contains("commit or stash"), "{error}");
        let error = of(None, true).committed().unwrap_err().to_string();
        assert!(error.contains("clone the repository"), "{error}");
    }

    #[test]
    fn without_git_nothing_is_made_up() {
        let revision = Revision::from(None, None, || true).unwrap();
        assert_eq!((&revision.commit, revision.time), (&None, None));
        assert_eq!((revision.short(), revision.created().unwrap()), (None, None));
    }
}
