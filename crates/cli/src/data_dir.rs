//! The folder in which `skein up` stores everything: the API's objects, what agents remember, the kubeconfig.

use crate::failure::Failure;
use embedded_api::serve::private_file;
use model::ids::NodeName;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A longer log is put aside at the next start.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// Locked by this process.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// `$XDG_DATA_HOME/skein`, or `~/.local/share/skein`. Errors: neither variable is set.
    pub fn usual() -> Result<PathBuf, Failure> {
        usual(|name| std::env::var_os(name).map(PathBuf::from))
    }

    /// Locks the folder, made for its owner alone. Contents stay as they are: the API checks its own credentials.
    pub fn take(path: &Path) -> Result<Self, Failure> {
        let unusable = |why: std::io::Error| {
            Failure::Failed(format!(
                "cannot use the data folder {}: {why}; check its permissions, or choose another with --data-dir",
                path.display()
            ))
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(unusable)?;
        let path = path.canonicalize().map_err(unusable)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join("skein.lock"))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Failure::Failed(format!(
                "another `skein up` is using the data folder {}; stop it, or give this one its own with --data-dir",
                path.display()
            ))),
            Err(TryLockError::Error(why)) => Err(unusable(why)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn api(&self) -> PathBuf {
        self.path.join("api")
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    /// The station's authority, and the list of certificates that count.
    pub fn trust(&self) -> PathBuf {
        self.path.join("trust")
    }

    /// Used while the terminal shows the fleet.
    pub fn log_path(&self) -> PathBuf {
        self.path.join("skein.log")
    }

    /// A long log first replaces the one put aside before.
    pub fn log(&self) -> io::Result<File> {
        let path = self.log_path();
        if std::fs::metadata(&path).is_ok_and(|file| file.len() > MAX_LOG_BYTES) {
            std::fs::rename(&path, self.path.join("skein.log.1"))?;
        }
        File::options().create(true).append(true).mode(0o600).open(path)
    }

    pub fn agent(&self, node: &NodeName) -> PathBuf {
        self.path.join("agents").join(node.as_str())
    }
}

/// Tests that files can be written, and makes the folder: a missing log is otherwise noticed only when it is wanted.
pub fn try_flight_logs(folder: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    let tried = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    tried.map(drop).map_err(|why| {
        Failure::Usage(format!(
            "--flight-log-dir {}: no flight log can be written there: {why}; name a folder that you may write, or leave it out",
            folder.display()
        ))
    })
}

/// Writes atomically, for its owner alone; makes the folder.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    private_file::replace(path, bytes)
}

fn usual(var: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, Failure> {
    // The XDG base directory specification ignores relative paths.
    let absolute = |name| var(name).filter(|path| path.is_absolute());
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("skein"))
        .ok_or_else(|| {
            Failure::Usage("there is no home folder to keep data in; name a folder with --data-dir".to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn data_lies_where_the_system_keeps_data() {
        let env = |xdg: Option<&str>, home: Option<&str>| {
            let (xdg, home) = (xdg.map(PathBuf::from), home.map(PathBuf::from));
            usual(|name| if name == "HOME" { home.clone() } else { xdg.clone() })
        };
        let of = |xdg, home| env(xdg, home).unwrap();
        assert_eq!(of(Some("/data"), Some("/home/a")), Path::new("/data/skein"));
        assert_eq!(of(None, Some("/home/a")), Path::new("/home/a/.local/share/skein"));
        assert_eq!(
            of(Some("data"), Some("/home/a")),
            Path::new("/home/a/.local/share/skein")
        );
        assert!(env(None, None).unwrap_err().to_string().contains("--data-dir"));
    }

    #[test]
    fn a_folder_has_one_user_at_a_time_and_a_new_one_is_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        let first = DataDir::take(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        let second = DataDir::take(&path).unwrap_err().to_string();
        assert!(
            second.contains("another `skein up` is using the data folder"),
            "{second}"
        );
        drop(first);
        DataDir::take(&path).unwrap();
    }

    #[test]
    fn a_folder_that_others_use_too_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let _data = DataDir::take(folder.path()).unwrap();
        assert_eq!(mode(folder.path()), 0o755);
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn flight_logs_need_a_folder_that_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for bad in [Path::new("/proc/none"), &file, &file.join("logs")] {
            let why = try_flight_logs(Some(bad)).unwrap_err();
            assert!(matches!(why, Failure::Usage(_)));
            let (why, bad) = (why.to_string(), bad.display().to_string());
            assert!(
                why.contains(&bad) && why.contains("name a folder that you may write"),
                "{why}"
            );
        }
        try_flight_logs(None).unwrap();
        let logs = folder.path().join("a/logs");
        try_flight_logs(Some(&logs)).unwrap();
        assert_eq!(fs::read_dir(&logs).unwrap().count(), 0, "nothing is left there");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_with_what_to_do() {
        let error = DataDir::take(Path::new("/proc/none")).unwrap_err().to_string();
        assert!(error.contains("/proc/none") && error.contains("--data-dir"), "{error}");
    }
}
