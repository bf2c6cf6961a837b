//! Copies one log into a folder: resumed where it stopped, checked, and whole or not there.
//!
//! Owns: `NAME.part` beside the log, which is taken up again, and the one rename that gives a log its name. Must not: ask more than one
//! question at a time.
//!
//!   NAME.part grows piece by piece --as long as the log was at first--> SHA-256 is the agent's --> on the disk --> NAME
//!                                                                      `-- is another: NAME.part is begun again, once

use super::source::Source;
use crate::failure::Failure;
use crate::server::logs::no_sense;
use model::logs::{LogName, MOST};
use proto::v1;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How often a log is copied whose copies are not equal to it.
const ATTEMPTS: usize = 2;

/// A log that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// Where.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// It was there before.
    pub before: bool,
}

/// Copies `log` into `folder`; `progress` is called with how many bytes are there.
///
/// # Errors
/// [`Failure`]; what has come stays for the next time.
pub async fn copy(
    source: &mut impl Source,
    log: &v1::LogFile,
    folder: &Path,
    mut progress: impl FnMut(u64),
) -> Result<Copied, Failure> {
    let name = LogName::parse(&log.name).map_err(|bad| Failure::Failed(bad.to_string()))?;
    fs::create_dir_all(folder)?;
    let path = folder.join(name.as_str());
    if fs::metadata(&path).is_ok_and(|there| there.len() == log.bytes) {
        let sha256 = digest_of(&mut File::open(&path)?)?;
        if sha256 == asked_digest(source, &name, log.bytes).await? {
            return Ok(copied(path, &sha256, true));
        }
    }
    let part = folder.join(format!("{name}.part"));
    let mut file = locked(&part, &name)?;
    for _ in 0..ATTEMPTS {
        fetch(source, &name, log.bytes, &mut file, &mut progress).await?;
        let sha256 = digest_of(&mut file)?;
        if sha256 == asked_digest(source, &name, log.bytes).await? {
            file.sync_all()?;
            fs::rename(&part, &path)?;
            File::open(folder)?.sync_all()?;
            return Ok(copied(path, &sha256, false));
        }
        file.set_len(0)?;
    }
    let why = format!("the copy of {name} was not equal to the log, {ATTEMPTS} times; check the disks");
    Err(Failure::Failed(why))
}

/// The file that is copied into, which no other process copies into.
fn locked(part: &Path, name: &LogName) -> Result<File, Failure> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(part)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let why = format!("another `skein logs` copies {name} into this folder; wait for it");
            Err(Failure::Failed(why))
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Brings the file to `bytes`, from where it is.
async fn fetch(
    source: &mut impl Source,
    name: &LogName,
    bytes: u64,
    file: &mut File,
    progress: &mut impl FnMut(u64),
) -> Result<(), Failure> {
    let mut offset = file.metadata()?.len();
    if offset > bytes {
        offset = 0;
        file.set_len(0)?;
    }
    file.seek(SeekFrom::Start(offset))?;
    while offset < bytes {
        progress(offset);
        let question = Question::Read(v1::LogRead {
            name: name.to_string(),
            offset,
            most: u32::try_from(bytes - offset).unwrap_or(MOST).min(MOST),
        });
        let Answer::Bytes(piece) = source.ask(question).await? else {
            return Err(no_sense());
        };
        let room = usize::try_from(bytes - offset).unwrap_or(usize::MAX);
        let data = piece.data.get(..room.min(piece.data.len())).unwrap_or_default();
        if data.is_empty() {
            let why = format!("log {name} has become shorter; list the logs again with `skein logs`");
            return Err(Failure::Failed(why));
        }
        file.write_all(data)?;
        offset += u64::try_from(data.len()).unwrap_or(0);
    }
    progress(offset);
    Ok(())
}

async fn asked_digest(source: &mut impl Source, name: &LogName, bytes: u64) -> Result<Vec<u8>, Failure> {
    let name = name.to_string();
    match source.ask(Question::Digest(v1::LogDigest { name, bytes })).await? {
        Answer::Sha256(digest) => Ok(digest),
        _ => Err(no_sense()),
    }
}

fn digest_of(file: &mut File) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(digest.finalize().to_vec()),
            read => digest.update(piece.get(..read).unwrap_or_default()),
        }
    }
}

fn copied(path: PathBuf, sha256: &[u8], before: bool) -> Copied {
    let sha256 = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    Copied { path, sha256, before }
}

#[cfg(test)]
mod tests;
