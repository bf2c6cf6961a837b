//! What the agent shows the coordinator, and which coordinator it believes.
//!
//! Files are read again for each connection, so that they may be replaced at any time. A file that is missing keeps the agent from its coordinator
//! and from nothing else. Must not: print or keep a secret, or let a disk that does not answer hold anything else up.

use proto::bearer::{BadToken, Bearer};
use rustls::ClientConfig;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use trust::files::{self, FileError};
use trust::{ConfigError, client_config};

const READ_WITHIN: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    pub authority: PathBuf,
    pub proof: Proof,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    Token(PathBuf),
    /// Made by `skein enroll`.
    Certificate {
        certificate: PathBuf,
        key: PathBuf,
    },
}

#[derive(Clone)]
pub struct Credentials {
    pub tls: Arc<ClientConfig>,
    pub bearer: Bearer,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// They are read again at each connection.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {why}; it must hold the token of the Pod's ServiceAccount", .path.display())]
    Token { path: PathBuf, why: BadToken },
    #[error("the disk does not answer")]
    Silent,
    #[error(transparent)]
    Tls(#[from] ConfigError),
    #[error("reading credentials has died, which is a fault of the agent")]
    Fault,
}

impl Files {
    /// Blocks while it reads.
    pub fn read(&self) -> Result<Credentials, CredentialError> {
        let authority = files::bundle(&self.authority)?;
        let (identity, bearer) = match &self.proof {
            Proof::Token(path) => (None, token(path)?),
            Proof::Certificate { certificate, key } => (Some(files::identity(certificate, key)?), Bearer::default()),
        };
        Ok(Credentials {
            tls: Arc::new(client_config(&authority, identity.as_ref())?),
            bearer,
        })
    }
}

fn token(path: &Path) -> Result<Bearer, CredentialError> {
    Bearer::new(&files::text(path)?).map_err(|why| CredentialError::Token {
        path: path.to_owned(),
        why,
    })
}

/// One reading at a time: a disk that hangs costs one thread, not many.
#[derive(Debug, Default)]
pub struct Reader {
    under_way: Option<JoinHandle<Result<Credentials, CredentialError>>>,
}

impl Reader {
    /// Safe to cancel.
    pub async fn read(&mut self, files: &Files) -> Result<Credentials, CredentialError> {
        self.read_within(READ_WITHIN, files).await
    }

    async fn read_within(&mut self, deadline: Duration, files: &Files) -> Result<Credentials, CredentialError> {
        let reading = self.under_way.get_or_insert_with(|| {
            let files = files.clone();
            tokio::task::spawn_blocking(move || files.read())
        });
        let Ok(read) = timeout(deadline, reading).await else {
            return Err(CredentialError::Silent);
        };
        self.under_way = None;
        read.unwrap_or(Err(CredentialError::Fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::SystemTime;
    use trust::{Authority, Peer, Validity};

    fn folder() -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().unwrap();
        let files = Files {
            authority: folder.path().join("ca.crt"),
            proof: Proof::Token(folder.path().join("token")),
        };
        (folder, files)
    }

    fn authority() -> Authority {
        Authority::make(Validity::of(SystemTime::now(), Duration::from_secs(3600))).unwrap()
    }

    #[test]
    fn a_file_that_is_missing_or_wrong_is_named() {
        let (_folder, files) = folder();
        let Proof::Token(token) = &files.proof else {
            unreachable!()
        };
        let told = || files.read().unwrap_err().to_string();
        assert!(told().contains("ca.crt cannot be read"), "{}", told());
        fs::write(&files.authority, "not a certificate").unwrap();
        assert!(told().contains("ca.crt: there is no certificate in it"), "{}", told());
        fs::write(&files.authority, authority().certificate_pem()).unwrap();
        assert!(told().contains("token cannot be read"), "{}", told());
        fs::write(token, "\n").unwrap();
        assert!(told().contains("token: it is empty"), "{}", told());
        fs::write(token, "abc\n").unwrap();
        assert!(files.read().unwrap().bearer.is_some());
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let (folder, files) = folder();
        let authority = authority();
        let life = Validity::of(SystemTime::now(), Duration::from_secs(60));
        let made = || authority.client(&Peer::operator("ada").unwrap(), life).unwrap();
        let (certificate, key) = (folder.path().join("agent.crt"), folder.path().join("agent.key"));
        fs::write(&files.authority, authority.certificate_pem()).unwrap();
        let one = made();
        fs::write(&certificate, one.certificate_pem()).unwrap();
        fs::write(&key, made().key_pem()).unwrap();
        let proof = Proof::Certificate {
            certificate,
            key: key.clone(),
        };
        let files = Files { proof, ..files };
        let told = files.read().unwrap_err().to_string();
        assert!(told.contains("agent.key") && told.contains("does not belong"), "{told}");
        fs::write(&key, one.key_pem()).unwrap();
        assert!(files.read().unwrap().tls.client_auth_cert_resolver.has_certs());
    }

    #[tokio::test]
    async fn a_disk_that_hangs_costs_one_thread_and_is_told() {
        let (_folder, files) = folder();
        // Nobody ever writes into this pipe, so that opening it hangs.
        nix::unistd::mkfifo(&files.authority, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut reader = Reader::default();
        for _ in 0..3 {
            let read = reader.read_within(Duration::from_millis(20), &files).await;
            assert!(matches!(read, Err(CredentialError::Silent)));
        }
        let writing = tokio::task::spawn_blocking({
            let pipe = files.authority.clone();
            move || fs::write(pipe, "x").unwrap()
        });
        assert!(matches!(reader.read(&files).await, Err(CredentialError::File(_))));
        writing.await.unwrap();
    }
}
