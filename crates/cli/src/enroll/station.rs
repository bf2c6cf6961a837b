//! The authority of a ground station: `trust/authorities.pem` and `trust/enrolled.json` with the valid certificates.

use super::Signed;
use crate::data_dir::write_private;
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use trust::{Authorities, Bundle, Enrolled, Peer, Validity};

const AUTHORITIES: &str = "authorities.pem";
const LIST: &str = "enrolled.json";

#[derive(Debug)]
pub struct Keys {
    folder: PathBuf,
    authorities: Authorities,
}

impl Keys {
    /// Makes missing keys.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|why| unusable(folder, &why))?;
        let _lock = exclusive(folder)?;
        let path = folder.join(AUTHORITIES);
        let authorities = match read(&path)? {
            Some(text) => Authorities::from_pem(&text).map_err(|why| damaged(&path, &why))?,
            None if folder.join(LIST).exists() => {
                return Err(Failure::Failed(format!(
                    "{} is missing: put back a copy, or remove the folder {}: then every agent elsewhere has to be enrolled again",
                    path.display(),
                    folder.display()
                )));
            }
            None => {
                // Clocks in the field may be wrong.
                let made = Authorities::of(Validity::any_time()).map_err(|why| Failure::Failed(why.to_string()))?;
                write_private(&path, made.to_pem().as_bytes()).map_err(|why| unusable(folder, &why))?;
                made
            }
        };
        Ok(Self {
            folder: folder.to_owned(),
            authorities,
        })
    }

    /// Errors as for [`Self::open`], and missing keys: no agent would trust a new authority in a mistyped folder.
    pub fn existing(folder: &Path) -> Result<Self, Failure> {
        if !folder.join(AUTHORITIES).exists() && !folder.join(LIST).exists() {
            return Err(Failure::Usage(format!(
                "no ground station has its keys in {}; start it first (`skein up`), or name its data folder with --station",
                folder.display()
            )));
        }
        Self::open(folder)
    }

    pub const fn authorities(&self) -> &Authorities {
        &self.authorities
    }

    pub fn bundle(&self) -> Bundle {
        self.authorities.bundle(SystemTime::now())
    }

    pub fn list(&self) -> Result<Enrolled, Failure> {
        let path = self.folder.join(LIST);
        let Some(text) = read(&path)? else {
            return Ok(Enrolled::default());
        };
        let map: BTreeMap<String, String> = serde_json::from_str(&text).map_err(|why| damaged(&path, &why))?;
        Enrolled::from_map(&map).map_err(|why| damaged(&path, &why))
    }

    /// Changes nothing on an error.
    pub fn issue(&self, peer: &Peer, life: Validity, now: SystemTime) -> Result<Signed, Failure> {
        let _lock = exclusive(&self.folder)?;
        let mut list = self.list()?;
        let identity = list.issue(self.authorities.signer(now), peer, life, now);
        let identity = identity.map_err(|why| Failure::Failed(why.to_string()))?;
        self.write(&list)?;
        Ok(Signed {
            identity,
            authority: self.bundle(),
        })
    }

    /// Returns the number of revoked certificates; changes nothing on an error.
    pub fn revoke(&self, peer: &Peer) -> Result<usize, Failure> {
        let _lock = exclusive(&self.folder)?;
        let mut list = self.list()?;
        let count = list.revoke(peer);
        if count > 0 {
            self.write(&list)?;
        }
        Ok(count)
    }

    fn write(&self, list: &Enrolled) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(&list.to_map()).map_err(|why| Failure::Failed(why.to_string()))?;
        write_private(&self.folder.join(LIST), &text).map_err(|why| unusable(&self.folder, &why))
    }
}

fn exclusive(folder: &Path) -> Result<File, Failure> {
    let path = folder.join("trust.lock");
    let open = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = open.map_err(|why| unusable(folder, &why))?;
    lock.lock().map_err(|why| unusable(folder, &why))?;
    Ok(lock)
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error)),
    }
}

fn unusable(path: &Path, why: &io::Error) -> Failure {
    Failure::Failed(format!(
        "cannot use {}: {why}; check its permissions and the space on the disk",
        path.display()
    ))
}

fn damaged(path: &Path, why: &dyn std::error::Error) -> Failure {
    Failure::Failed(format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::NodeName;
    use std::os::unix::fs::PermissionsExt;
    use trust::PeerCertificate;

    fn alpha() -> Peer {
        Peer::agent(NodeName::parse("alpha").unwrap())
    }

    #[test]
    fn what_was_enrolled_counts_after_a_restart_and_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let trust = folder.path().join("trust");
        let made = Keys::open(&trust).unwrap();
        let signed = made.issue(&alpha(), Validity::any_time(), SystemTime::now()).unwrap();
        let shown = PeerCertificate::read(&signed.identity.chain()[0]).unwrap();
        let again = Keys::open(&trust).unwrap();
        assert_eq!(again.bundle(), signed.authority);
        assert!(again.list().unwrap().admits(&shown));
        assert_eq!(again.revoke(&alpha()).unwrap(), 1);
        assert!(!made.list().unwrap().admits(&shown));
        assert_eq!(made.revoke(&alpha()).unwrap(), 0);
        let mode = |name: &str| std::fs::metadata(trust.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(AUTHORITIES), mode(LIST)), (0o600, 0o600));
    }

    #[test]
    fn an_authority_that_was_lost_or_damaged_is_not_replaced_in_silence() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::open(folder.path()).unwrap();
        keys.issue(&alpha(), Validity::any_time(), SystemTime::now()).unwrap();
        let path = folder.path().join(AUTHORITIES);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        let error = Keys::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("authorities.pem: authority 1"), "{error}");
        std::fs::remove_file(&path).unwrap();
        let error = Keys::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is missing: put back a copy"), "{error}");
    }

    #[test]
    fn a_damaged_list_is_reported_and_admits_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::open(folder.path()).unwrap();
        std::fs::write(folder.path().join(LIST), "{\"agent.alpha\": \"soon\"}").unwrap();
        assert!(
            keys.list()
                .unwrap_err()
                .to_string()
                .contains("enrolled.json: the entry of agent.alpha")
        );
        assert!(keys.issue(&alpha(), Validity::any_time(), SystemTime::now()).is_err());
    }
}
