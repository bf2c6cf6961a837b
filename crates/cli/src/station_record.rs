//! How tools on this machine reach a ground station: a record in its data folder, and the operator's certificate beside it.

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

/// A station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StationRecord {
    /// Where its coordinator is reached from this machine: https://HOST:PORT.
    pub server: String,
    /// Where it listens for agents elsewhere: HOST:PORT.
    pub listen: String,
    /// The kubeconfig of its API.
    pub kubeconfig: PathBuf,
}

impl StationRecord {
    /// That of the data folder `data`; `None` where no station runs by its own account.
    pub fn read(data: &Path) -> Option<Self> {
        let text = std::fs::read(data.join(FOLDER).join(RECORD)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes it, and what a tool has to believe and show; the record last.
    ///
    /// # Errors
    /// The disk's.
    pub fn write(&self, data: &Path, authority: &Bundle, operator: &Identity) -> io::Result<()> {
        let folder = data.join(FOLDER);
        write_private(&folder.join(AUTHORITY), authority.to_pem().as_bytes())?;
        write_private(&folder.join(CERTIFICATE), operator.certificate_pem().as_bytes())?;
        write_private(&folder.join(KEY), operator.key_pem().as_bytes())?;
        write_private(&folder.join(RECORD), &serde_json::to_vec_pretty(self)?)
    }

    /// That of the station that ran last with the data folder `data` and has ended.
    pub fn ended(data: &Path) -> Option<Self> {
        let text = std::fs::read(data.join(FOLDER).join(ENDED)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Takes the record away when the station ends, but for what it takes to know its kubeconfig again. The certificate, which
    /// counts no more, is left.
    pub fn remove(data: &Path) {
        let folder = data.join(FOLDER);
        // If it stays, one who follows it gets no answer.
        let _ = std::fs::rename(folder.join(RECORD), folder.join(ENDED));
    }
}

/// What a tool believes and shows at the station of the data folder `data`.
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
