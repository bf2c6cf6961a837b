//! Certificates that lie in files, as a mounted Kubernetes Secret or `skein enroll` leaves them.

use crate::bundle::{Bundle, BundleError};
use crate::identity::{Identity, IdentityError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So often a pair is read again that does not belong together, and so long after: one that is just replaced, a file after the other,
/// belongs together soon.
const READ_AGAIN: (usize, Duration) = (20, Duration::from_millis(50));

/// Larger files are none of ours.
const LARGEST: u64 = 1024 * 1024;

/// A file that cannot be used.
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

/// The text of a file.
///
/// # Errors
/// [`FileError::Unread`].
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

/// Authorities to believe.
///
/// # Errors
/// [`FileError`].
pub fn bundle(path: &Path) -> Result<Bundle, FileError> {
    Bundle::from_pem(&text(path)?).map_err(|source| FileError::Bundle {
        path: path.to_owned(),
        source,
    })
}

/// A certificate and its key. Blocks, for a second more where they do not belong together.
///
/// # Errors
/// [`FileError`].
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
