//! How tools on this machine reach a ground station: a record in its data folder, beside the operator's certificate.

use crate::data_dir::write_private;
use agent::credentials::{Files, Proof};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use trust::{Bundle, Identity};

const FOLDER: &str = "operator";
const RECORD: &str = "station.json";
const ENDED: &str = "ended.json";
const AUTHORITY: &str = "ca.crt";
const CERTIFICATE: &str = "operator.crt";
const KEY: &str = "operator.key";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationRecord {
    /// For this machine: https://HOST:PORT.
    pub server: String,
    /// For agents elsewhere: HOST:PORT.
    pub listen: String,
    pub kubeconfig: PathBuf,
}

impl StationRecord {
    /// `None` where no station runs by its own account.
    pub fn read(data: &Path) -> Option<Self> {
        let text = std::fs::read(data.join(FOLDER).join(RECORD)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the record last, after the credentials for tools.
    pub fn write(&self, data: &Path, authority: &Bundle, operator: &Identity) -> io::Result<()> {
        let folder = data.join(FOLDER);
        write_private(&folder.join(AUTHORITY), authority.to_pem().as_bytes())?;
        write_private(&folder.join(CERTIFICATE), operator.certificate_pem().as_bytes())?;
        write_private(&folder.join(KEY), operator.key_pem().as_bytes())?;
        write_private(&folder.join(RECORD), &serde_json::to_vec_pretty(self)?)
    }

    pub fn ended(data: &Path) -> Option<Self> {
        let text = std::fs::read(data.join(FOLDER).join(ENDED)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Renames the record, which still names the kubeconfig. The certificate stays, invalid.
    pub fn remove(data: &Path) {
        let folder = data.join(FOLDER);
        // A record that stays leads to nothing that answers.
        let _ = std::fs::rename(folder.join(RECORD), folder.join(ENDED));
    }
}

pub fn files(data: &Path) -> Files {
    let folder = data.join(FOLDER);
    Files {
        authority: folder.join(AUTHORITY),
        proof: Proof::Certificate {
            certificate: folder.join(CERTIFICATE),
            key: folder.join(KEY),
        },
    }
}
