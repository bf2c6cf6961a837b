//! A temporary folder that is gone afterwards, even when its owner was killed: when no `Drop` runs, a shell waits on a
//! pipe that closes with this process, and removes the folder. `SKEIN_TEST_KEEP=1` keeps the folders with their logs.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Removes `$1` once standard input closes. Two tries: a process that is being killed may still write one last file.
const SWEEP: &str = r#"cat >/dev/null; rm -rf -- "$1"; sleep 0.5; rm -rf -- "$1""#;

#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    sweeper: Option<Child>,
}

impl Scratch {
    /// `prefix` begins its name; only this user can read it.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::below(&std::env::temp_dir(), prefix)
    }

    /// Uses memory, if the system has such a place, where no slow disk delays its user.
    pub fn in_memory(prefix: &str) -> io::Result<Self> {
        let memory = Path::new("/dev/shm");
        match memory.is_dir() {
            true => Self::below(memory, prefix),
            false => Self::new(prefix),
        }
    }

    fn below(folder: &Path, prefix: &str) -> io::Result<Self> {
        let path = tempfile::Builder::new().prefix(prefix).tempdir_in(folder)?.keep();
        if std::env::var_os("SKEIN_TEST_KEEP").is_some() {
            return Ok(Self { path, sweeper: None });
        }
        let mut command = Command::new("sh");
        command.arg("-c").arg(SWEEP).arg("sweeper").arg(&path).current_dir("/");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let sweeper = Some(command.spawn()?);
        Ok(Self { path, sweeper })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(mut sweeper) = self.sweeper.take() else {
            return;
        };
        // Failing to tidy fails no test.
        let _ = sweeper.kill();
        let _ = sweeper.wait();
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_goes_with_its_owner() {
        let scratch = Scratch::new("skein-scratch-").unwrap();
        std::fs::write(scratch.folder("logs").unwrap().join("a.log"), "text").unwrap();
        let path = scratch.path().to_owned();
        assert!(path.join("logs/a.log").is_file());
        drop(scratch);
        assert!(!path.exists());
    }
}
