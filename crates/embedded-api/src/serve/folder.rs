//! The data folder, which only its owner can enter.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{} is not a folder; name another data folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("data folder {} belongs to user {owner}, and you are user {you}; name a folder of your own", .path.display())]
    NotYours { path: PathBuf, owner: u32, you: u32 },
    #[error(
        "data folder {} is open to other users (mode {mode:o}) and holds a credential: run `chmod 700 {}`, or name \
         another folder", .path.display(), .path.display()
    )]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("data folder {} cannot be used: {source}; name a folder that you can write to", .path.display())]
    System { path: PathBuf, source: io::Error },
}

impl Folder {
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let system = |source| FolderError::System {
            path: path.to_owned(),
            source,
        };
        if let Err(error) = std::fs::metadata(path) {
            match error.kind() {
                ErrorKind::NotFound => make(path).map_err(system)?,
                _ => return Err(system(error)),
            }
        }
        // Absolute: the kubeconfig is printed for other terminals.
        let path = path.canonicalize().map_err(system)?;
        let found = std::fs::metadata(&path).map_err(system)?;
        if !found.is_dir() {
            return Err(FolderError::NotAFolder(path));
        }
        let (owner, mode) = (found.uid(), found.mode() & 0o777);
        let you = user_of_new_files(&path).map_err(system)?;
        if owner != you {
            return Err(FolderError::NotYours { path, owner, you });
        }
        if mode & 0o077 != 0 {
            return Err(FolderError::OpenToOthers { path, mode });
        }
        Ok(Self { path })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn make(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent)?;
    }
    DirBuilder::new().mode(0o700).create(path)
}

/// User of this process. The folder may still belong to another: no existing file is opened, and no link followed.
fn user_of_new_files(folder: &Path) -> io::Result<u32> {
    let probe = folder.join(format!(".probe.{:016x}", rand::random::<u64>()));
    let owner = File::create_new(&probe)?.metadata()?.uid();
    std::fs::remove_file(&probe)?;
    Ok(owner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
pub(super) fn scratch() -> (tempfile::TempDir, Folder) {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(&directory.path().join("data")).unwrap();
    (directory, folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn a_new_folder_is_for_its_owner_alone_and_opens_again() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("share/data");
        let folder = Folder::open(&path).unwrap();
        assert_eq!(folder.path().metadata().unwrap().mode() & 0o777, 0o700);
        Folder::open(&path).unwrap();
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused_and_the_error_has_the_command() {
        let parent = tempfile::tempdir().unwrap();
        for mode in [0o755, 0o750, 0o710] {
            std::fs::set_permissions(parent.path(), Permissions::from_mode(mode)).unwrap();
            let error = Folder::open(parent.path()).unwrap_err();
            assert!(matches!(error, FolderError::OpenToOthers { mode: found, .. } if found == mode));
            assert!(error.to_string().contains("chmod 700"), "{error}");
        }
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let you = Folder::open(&path).unwrap().path().metadata().unwrap().uid();
        // Only root can change a folder's owner; for other users there is nothing to test here.
        if chown(&path, Some(you + 1), None).is_ok() {
            let error = Folder::open(&path).unwrap_err();
            assert!(matches!(error, FolderError::NotYours { owner, .. } if owner == you + 1));
        }
    }

    #[test]
    fn a_trap_in_a_folder_of_somebody_else_does_not_harm_files_elsewhere() {
        let parent = tempfile::tempdir().unwrap();
        let (data, letter) = (parent.path().join("data"), parent.path().join("letter"));
        std::fs::create_dir(&data).unwrap();
        std::fs::set_permissions(&data, Permissions::from_mode(0o777)).unwrap();
        std::fs::write(&letter, "dear reader").unwrap();
        std::os::unix::fs::symlink(&letter, data.join(format!(".probe.{}", std::process::id()))).unwrap();
        Folder::open(&data).unwrap_err();
        assert_eq!(std::fs::read_to_string(&letter).unwrap(), "dear reader");
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Folder::open(file.path()).unwrap_err();
        assert!(matches!(error, FolderError::NotAFolder(_)));
    }
}
