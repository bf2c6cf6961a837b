//! Copies one log into a folder: resumed where it stopped, checked, and complete or not there.
//!
//! Owns: `NAME.part` beside the log, and the rename that completes it. Must not: ask more than one question at a time,
//! or replace a file that is not the beginning of the same log.
//!
//!   NAME.part grows piece by piece --as long as the log was at first--> SHA-256 is the agent's --> synced --> NAME
//!                                                                      `-- differs: NAME.part is begun again, once

use super::size_caps::SizeCaps;
use super::source::Source;
use super::{ASK_INTERVAL, DOWNLOAD_TIMEOUT};
use crate::failure::Failure;
use crate::server::logs::no_sense;
use model::logs::{LogName, LogsFrom, MOST};
use nix::libc::O_NOFOLLOW;
use proto::v1;
use proto::v1::log_answer::What as Answer;
use proto::v1::log_question::What as Question;
use sha2::{Digest, Sha256};
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tokio::time::{Instant, sleep};

const ATTEMPTS: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub path: PathBuf,
    pub sha256: String,
    pub before: bool,
}

/// [`LogName`] cannot lead to another folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLog {
    pub name: LogName,
    /// At the listing.
    pub bytes: u64,
}

impl ListedLog {
    /// Errors: the first bad name or exceeded limit: the agent is then not to be trusted with the other logs.
    pub fn all_of(listed: &[v1::LogFile], from: LogsFrom<'_>, mut caps: SizeCaps) -> Result<Vec<Self>, Failure> {
        let mut logs: Vec<Self> = Vec::new();
        for log in listed {
            let name = LogName::parse_from(&log.name, from).map_err(|bad| {
                let why = "no log was copied; check what runs on the vehicle's computer";
                Failure::Failed(format!("the agent lists a file that it cannot have: {bad}; {why}"))
            })?;
            caps.take(&name, log.bytes)?;
            let bytes = log.bytes;
            logs.push(Self { name, bytes });
        }
        Ok(logs)
    }
}

/// `progress` gets the bytes so far, which stay for the next time after an error.
pub async fn copy(
    source: &mut impl Source,
    log: &ListedLog,
    folder: &Path,
    progress: impl FnMut(u64),
) -> Result<Copied, Failure> {
    let copied = copy_into(source, log, folder, progress).await;
    copied.map_err(|failure| match failure {
        // Only faults of this disk, as when it is full; all others explain themselves.
        Failure::Output(error) => {
            let (name, folder) = (&log.name, folder.display());
            Failure::Failed(format!(
                "cannot copy {name} into {folder}: {error}; see that there is room and that you may write there, and copy it again: it \
                 goes on where it stopped; or name another folder with --download=DIR"
            ))
        }
        other => other,
    })
}

async fn copy_into(
    source: &mut impl Source,
    log: &ListedLog,
    folder: &Path,
    mut progress: impl FnMut(u64),
) -> Result<Copied, Failure> {
    let ListedLog { name, bytes } = log;
    fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        Failure::Failed(format!(
            "cannot make folder {folder}: {error}; name another with --download=DIR"
        ))
    })?;
    let path = folder.join(name.as_str());
    if let Some(there) = about(&path)? {
        let (sha256, is_whole) = match there.len() {
            0 if there.is_file() => (None, *bytes == 0),
            length if there.is_file() && length <= *bytes => {
                let sha256 = digest_of(&mut File::open(&path)?)?;
                if sha256 != asked_digest(source, name, length).await? {
                    return Err(another_file(&path));
                }
                (Some(sha256), length == *bytes)
            }
            _ => return Err(another_file(&path)),
        };
        if let Some(sha256) = sha256.filter(|_| is_whole) {
            return Ok(copied(path, &sha256, true));
        }
    }
    let part = folder.join(format!("{name}.part"));
    let mut file = locked(&part, name)?;
    for _ in 0..ATTEMPTS {
        fetch(source, name, *bytes, &mut file, &mut progress).await?;
        let sha256 = digest_of(&mut file)?;
        if sha256 == asked_digest(source, name, *bytes).await? {
            file.sync_all()?;
            give_name(&part, &mut file, &path)?;
            File::open(folder)?.sync_all()?;
            return Ok(copied(path, &sha256, false));
        }
        file.set_len(0)?;
    }
    let why = format!("the copy of {name} was not equal to the log, {ATTEMPTS} times; check the disks");
    Err(Failure::Failed(why))
}

/// Does not follow a link.
fn about(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn another_file(path: &Path) -> Failure {
    let path = path.display();
    Failure::Failed(format!(
        "{path} is there already, and is not this log, nor its beginning; move it away, or name another folder with --download=DIR"
    ))
}

/// Completes the copy; replaces only the beginning of the same log.
fn give_name(part: &Path, file: &mut File, path: &Path) -> Result<(), Failure> {
    let is_new = match File::options().write(true).create_new(true).open(path) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error.into()),
    };
    if !is_new && !is_beginning(path, file)? {
        return Err(another_file(path));
    }
    let renamed = fs::rename(part, path);
    if is_new && renamed.is_err() {
        fs::remove_file(path)?;
    }
    Ok(renamed?)
}

fn is_beginning(path: &Path, file: &mut File) -> io::Result<bool> {
    let Some(there) = about(path)?.filter(Metadata::is_file) else {
        return Ok(false);
    };
    let mut earlier = File::open(path)?;
    file.seek(SeekFrom::Start(0))?;
    let beginning = digest_of_reader((&*file).take(there.len()))?;
    Ok(there.len() <= file.metadata()?.len() && digest_of(&mut earlier)? == beginning)
}

/// A regular file without another name, locked against other processes.
fn locked(part: &Path, name: &LogName) -> Result<File, Failure> {
    if about(part)?.is_some_and(|there| !there.is_file() || there.nlink() != 1) {
        return Err(another_file(part));
    }
    let file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .custom_flags(O_NOFOLLOW)
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
    let (mut most, mut went_on) = (0, Instant::now());
    loop {
        let name = name.to_string();
        let in_parts = true;
        let digest = v1::LogDigest { name, bytes, in_parts };
        match source.ask(Question::Digest(digest)).await? {
            Answer::Sha256(digest) => return Ok(digest),
            Answer::Digested(done) if done > most => (most, went_on) = (done, Instant::now()),
            // A restarted agent begins again.
            Answer::Digested(_) if went_on.elapsed() < DOWNLOAD_TIMEOUT => sleep(ASK_INTERVAL).await,
            _ => return Err(no_sense()),
        }
    }
}

fn digest_of(file: &mut File) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    digest_of_reader(file)
}

fn digest_of_reader(mut bytes: impl Read) -> io::Result<Vec<u8>> {
    let mut digest = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match bytes.read(&mut piece)? {
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
