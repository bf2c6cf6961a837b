//! Starting a program: its arguments, its environment, where its output goes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;

use crate::scratch::Scratch;
use crate::{Process, spawner};

/// Collects garbage seldom in programs in Go: memory is there, cores are few.
pub(crate) const GO: [(&str, &str); 2] = [("GOGC", "800"), ("GOMEMLIMIT", "1GiB")];

#[derive(Clone, Debug)]
pub struct Launch {
    name: String,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    logs: Option<PathBuf>,
}

impl Launch {
    pub fn program(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let name = program
            .file_name()
            .unwrap_or(program.as_os_str())
            .to_string_lossy()
            .into_owned();
        Self {
            name,
            program,
            args: Vec::new(),
            env: Vec::new(),
            folder: None,
            logs: None,
        }
    }

    /// A program of this workspace, such as `skein-agent`, from the folder of the running executable. Errors: it is not
    /// built.
    pub fn workspace(binary: &str) -> anyhow::Result<Self> {
        Ok(Self::program(workspace_binary(binary)?))
    }

    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    pub fn envs<'a>(self, envs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        envs.into_iter()
            .fold(self, |launch, (key, value)| launch.env(key, value))
    }

    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Default: a folder that is gone with the process.
    pub fn logs_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.logs = Some(folder.into());
        self
    }

    pub fn start(self) -> anyhow::Result<Process> {
        let cannot = || format!("cannot start {} ({})", self.name, self.program.display());
        let (folder, own) = match self.logs {
            Some(folder) => (folder, None),
            None => {
                let own = Scratch::new("skein-process-")?;
                (own.path().to_owned(), Some(own))
            }
        };
        std::fs::create_dir_all(&folder)?;
        let (stdout, out) = new_log(&folder, &self.name, "out")?;
        let (stderr, err) = new_log(&folder, &self.name, "err")?;
        let mut command = spawner::bound_command(&self.program, &self.args);
        command.envs(self.env).stdin(Stdio::null()).stdout(out).stderr(err);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        let child = spawner::spawn(command).with_context(cannot)?;
        Ok(Process::new(self.name, child, [stdout, stderr], own))
    }
}

/// Path beside the running executable, which may be a test in `deps/`. Errors: it is not built.
pub fn workspace_binary(binary: &str) -> anyhow::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let folder = exe.parent().context("the running executable has no folder")?;
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    let path = folder.join(binary);
    anyhow::ensure!(
        path.is_file(),
        "{binary} is not built (looked for {}): run `cargo xtask test`, or `cargo build --workspace --bins` first",
        path.display()
    );
    Ok(path)
}

fn new_log(folder: &Path, name: &str, kind: &str) -> anyhow::Result<(PathBuf, File)> {
    for turn in 1.. {
        let file = if turn == 1 {
            format!("{name}.{kind}")
        } else {
            format!("{name}.{turn}.{kind}")
        };
        let path = folder.join(file);
        match File::create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot write {}", path.display())),
        }
    }
    anyhow::bail!("no free log name for {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_second_process_of_the_same_name_gets_its_own_log() {
        let logs = Scratch::new("skein-logs-").unwrap();
        let say = |word: &str| {
            let process = Launch::program("/bin/echo")
                .arg(word)
                .logs_in(logs.path())
                .start()
                .unwrap();
            process.wait_for_exit(Duration::from_secs(5)).unwrap();
            process.stdout()
        };
        assert_eq!((say("one").as_str(), say("two").as_str()), ("one\n", "two\n"));
    }

    #[test]
    fn a_program_that_is_not_built_is_named_with_what_to_do() {
        let error = Launch::workspace("skein-nothing").unwrap_err().to_string();
        assert!(
            error.contains("skein-nothing is not built") && error.contains("cargo xtask test"),
            "{error}"
        );
    }
}
