//! Wire log of one vehicle (tlog): every frame in both directions, including those that no client received.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

pub(super) struct WireLog(Option<File>);

impl WireLog {
    pub(super) fn open(folder: Option<&Path>, name: &str) -> anyhow::Result<Self> {
        let Some(folder) = folder else { return Ok(Self(None)) };
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {} for wire logs", folder.display()))?;
        let path = folder.join(format!("{name}.tlog"));
        let file = File::create(&path).with_context(|| format!("cannot write the wire log {}", path.display()))?;
        Ok(Self(Some(file)))
    }

    pub(super) fn record(&mut self, frame: &[u8]) {
        let Some(file) = &mut self.0 else { return };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut record = (since_epoch.as_micros() as u64).to_be_bytes().to_vec();
        record.extend(frame);
        if let Err(error) = file.write_all(&record) {
            tracing::warn!(%error, "wire log ends here");
            self.0 = None;
        }
    }
}
