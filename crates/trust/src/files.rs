//! Certificates in files, as a mounted Kubernetes Secret or `skein enroll` leaves them.

use crate::bundle::{Bundle, BundleError};
use crate::identity::{Identity, IdentityError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Retries, and the pause between them, for a pair that does not match: one file may just have been replaced.
const READ_AGAIN: (usize, Duration) = (20, Duration::from_millis(50));

const LARGEST: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{} cannot be read: {source}; check that it is there and that this program may read it", .path.display())]
    Unread { path: PathBuf, source: io::Error },
    #[error("{}: {source}", .path.display())]
    Bundle { path: PathBuf, source: BundleError },
    #[error("{} and {}: {source}", .certificate.display(), .key.display())]
    Identity {
        certificate: PathBuf,
        key: PathBuf,
        source: IdentityError,
    },
}

pub fn text(path: &Path) -> Result<String, FileError> {
    let read = || {
        use io::Read as _;
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        file.take(LARGEST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than 1 MiB"));
        }
        Ok(text)
    };
    read().map_err(|source| FileError::Unread {
        path: path.to_owned(),
        source,
    })
}

pub fn bundle(path: &Path) -> Result<Bundle, FileError> {
    Bundle::from_pem(&text(path)?).map_err(|source| FileError::Bundle {
        path: path.to_owned(),
        source,
    })
}

/// Blocks, for a second more where certificate and key do not match.
pub fn identity(certificate: &Path, key: &Path) -> Result<Identity, FileError> {
    let (mut tries, delay) = READ_AGAIN;
    loop {
        match Identity::from_pem(&text(certificate)?, &text(key)?) {
            Err(IdentityError::Strangers(_)) if tries > 0 => {
                tries -= 1;
                std::thread::sleep(delay);
            }
            read => {
                return read.map_err(|source| FileError::Identity {
                    certificate: certificate.to_owned(),
                    key: key.to_owned(),
                    source,
                });
            }
        }
    }
}
