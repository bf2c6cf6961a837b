//! Files that only their owner may read: written completely or not, and refused when others can read them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    #[error("{} can be read by others (mode {mode:o}) and holds a secret: run `chmod 600 {}`", .path.display(), .path.display())]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("{} cannot be {what}: {source}; check that you own it and that the disk has space", .path.display())]
    System {
        path: PathBuf,
        what: &'static str,
        source: io::Error,
    },
}

/// `None` when there is none. A file that is not UTF-8 gives the system's `InvalidData`.
pub fn read(path: &Path) -> Result<Option<String>, PrivateFileError> {
    let system = |source| PrivateFileError::System {
        path: path.to_owned(),
        what: "read",
        source,
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(system)?,
    };
    let mode = file.metadata().map_err(system)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.to_owned();
        return Err(PrivateFileError::OpenToOthers { path, mode });
    }
    io::read_to_string(file).map(Some).map_err(system)
}

/// Mode 0600, atomic. Removes the draft of a killed process, so no two processes may write the same file at once.
pub fn write(path: &Path, text: &str) -> Result<(), PrivateFileError> {
    replace(path, text.as_bytes()).map_err(|source| PrivateFileError::System {
        path: path.to_owned(),
        what: "written",
        source,
    })
}

pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let next = folder.join(format!(".{}.new", name.to_string_lossy()));
    match std::fs::remove_file(&next) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = write_new(&next, bytes).and_then(|()| std::fs::rename(&next, path));
    if written.is_err() {
        // The error that matters is that of the write; the next write removes a file that is left.
        let _ = std::fs::remove_file(&next);
    }
    written?;
    File::open(folder)?.sync_all()
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_written_is_for_the_owner_alone_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(read(&path).unwrap().is_none());
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_draft_that_a_killed_process_has_left_goes_with_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authority.pem");
        std::fs::write(folder.path().join(".authority.pem.new"), "half a key").unwrap();
        write(&path, "whole").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("whole"));
        assert_eq!(mode(&path), 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_others_could_read_becomes_private_when_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, "new").unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused_and_the_error_has_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        write(&path, "secret").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, PrivateFileError::OpenToOthers { mode: 0o640, .. }));
        assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())));
    }

    #[test]
    fn a_file_in_a_folder_that_is_not_there_is_named_in_the_error() {
        let error = write(Path::new("/nonexistent/folder/token"), "x").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/nonexistent/folder/token cannot be written")
        );
    }
}
