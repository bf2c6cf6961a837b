//! What was uploaded, on the disk beside the logs: `uploads-NODE.json`, written whole and renamed.

use crate::durable;
use model::ids::NodeName;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tracing::warn;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Uploaded {
    pub sent: Vec<SentLog>,
    pub under_way: Option<UnderWay>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentLog {
    pub name: String,
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: String,
    pub key: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    pub log: SentLog,
    pub id: String,
    pub parts: Vec<String>,
    /// How often the store has refused to put the parts together.
    #[serde(default)]
    pub refusals: u32,
}

impl UnderWay {
    pub const fn of(log: SentLog, id: String) -> Self {
        Self {
            log,
            id,
            parts: Vec::new(),
            refusals: 0,
        }
    }
}

/// Only the uploader of one agent writes it.
#[derive(Debug)]
pub struct Ledger {
    file: PathBuf,
    pub now: Uploaded,
}

impl Ledger {
    /// A file that cannot be understood is put aside: the logs are then looked for in the store again.
    pub fn open(folder: &Path, node: &NodeName) -> io::Result<Self> {
        let file = folder.join(format!("uploads-{node}.json"));
        let now = match fs::read(&file) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(now) => now,
                Err(error) => {
                    let aside = file.with_extension("json.damaged");
                    warn!(%error, file = %aside.display(), "the list of uploaded logs is damaged and was put aside; logs are looked for in the store");
                    fs::rename(&file, aside)?;
                    Uploaded::default()
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Uploaded::default(),
            Err(error) => return Err(error),
        };
        Ok(Self { file, now })
    }

    /// Whether this log is in the store; a new log under an old name is not.
    pub fn has(&self, name: &str, bytes: u64) -> bool {
        self.now.sent.iter().any(|log| log.name == name && log.bytes == bytes)
    }

    /// Forgets logs that are no more on the disk, as `is_there` says, so that the list stays short.
    pub fn forget_others(&mut self, is_there: impl Fn(&str) -> bool) {
        self.now.sent.retain(|log| is_there(&log.name));
    }

    /// On the disk once this returns; the old file stays after an error, but for the case that `durable::replace_file` names.
    pub fn save(&self) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(&self.now)?;
        durable::replace_file(&self.file, &self.file.with_extension("json.new"), &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str) -> SentLog {
        SentLog {
            name: name.to_owned(),
            bytes: 7,
            sha256: "00".repeat(32),
            key: format!("pine/{name}"),
        }
    }

    #[test]
    fn what_was_uploaded_is_known_after_a_restart_and_a_damaged_list_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let node = NodeName::parse("pine").unwrap();
        let open = || Ledger::open(folder.path(), &node).unwrap();
        let mut ledger = open();
        assert_eq!(ledger.now, Uploaded::default());
        ledger.now.sent.extend([log("a"), log("b")]);
        let mut under_way = UnderWay::of(log("c"), "1".to_owned());
        under_way.parts.push("etag".to_owned());
        ledger.now.under_way = Some(under_way);
        ledger.save().unwrap();
        let mut again = open();
        assert_eq!(again.now, ledger.now);
        assert!(again.has("a", 7) && !again.has("a", 8) && !again.has("c", 7));
        again.forget_others(|name| name == "b");
        assert!(!again.has("a", 7) && again.has("b", 7));
        fs::write(folder.path().join("uploads-pine.json"), "{").unwrap();
        assert_eq!(open().now, Uploaded::default());
        assert!(folder.path().join("uploads-pine.json.damaged").exists());
    }
}
