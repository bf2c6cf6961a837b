//! A simulated machine: namespaces of its own for mounts, processes, network and host name, on this kernel.
//!
//! Everything inside depends on one process: when that ends, by any signal, the kernel ends every process inside and
//! removes mounts, network and addresses, so nothing is left behind.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use crate::{Launch, Process, run};

const SCRIPT: &str = include_str!("machine.sh");

const PATIENCE: Duration = Duration::from_secs(30);

/// A serial port in the machine's `/dev`, for root and group `dialout`.
#[derive(Debug, Clone)]
pub struct Device {
    pub name: String,
    pub source: Source,
}

#[derive(Debug, Clone)]
pub enum Source {
    /// A simulator's pseudo-terminal, by its path outside the machine.
    Terminal(PathBuf),
    /// A character device by its numbers. USB modems (`ttyACM`) have major number 166, USB serial converters (`ttyUSB`)
    /// 188, built-in ports (`ttyS`) 4. The device need not exist: a program that opens it gets an error.
    Numbers { major: u16, minor: u16 },
}

#[derive(Debug)]
pub struct Machine {
    first: Process,
    pid: String,
    name: String,
    root: PathBuf,
    logs: PathBuf,
}

impl Machine {
    /// Makes `root` its folder, with what it writes to `/var/lib` and `/var/log`.
    pub fn start(name: &str, root: &Path, logs: &Path, devices: &[Device]) -> anyhow::Result<Self> {
        std::fs::create_dir_all(root)?;
        let script = root.join("machine.sh");
        std::fs::write(&script, SCRIPT)?;
        let devices = devices.iter().map(|device| {
            let mut text = OsString::from(format!("{}=", device.name));
            match &device.source {
                Source::Terminal(path) => text.push(path),
                Source::Numbers { major, minor } => text.push(format!("c:{major}:{minor}")),
            }
            text
        });
        let first = Launch::program("unshare")
            .named(format!("machine-{name}"))
            .args(["--mount", "--net", "--pid", "--uts", "--ipc"])
            .args(["--fork", "--kill-child", "--mount-proc", "--propagation=private", "--"])
            .arg("sh")
            .args([&script, root])
            .arg(name)
            .args(devices)
            .logs_in(logs)
            .start()?;
        first.wait_for_line(PATIENCE, |line| line == "up")?;
        let children = format!("/proc/{0}/task/{0}/children", first.pid());
        let children = std::fs::read_to_string(&children).with_context(|| format!("cannot read {children}"))?;
        let pid = children.split_whitespace().next();
        let pid = pid.with_context(|| format!("machine {name} has no first process"))?;
        Ok(Self {
            first,
            pid: pid.to_owned(),
            name: name.to_owned(),
            root: root.to_owned(),
            logs: logs.to_owned(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A path outside the machine.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Id of its first process, outside the machine.
    pub fn pid(&self) -> &str {
        &self.pid
    }

    pub fn process(&self) -> &Process {
        &self.first
    }

    /// Killing the [`Process`] kills the program; other signals do not reach it.
    pub fn launch(&self, program: impl AsRef<Path>) -> Launch {
        let program = program.as_ref();
        let file_name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
        // `nsenter` stays outside the process namespace and waits for its child, so the child is set to end with it.
        Launch::program("nsenter")
            .named(format!("{file_name}-{}", self.name))
            .args(self.entry())
            .args(["setpriv", "--pdeathsig", "KILL", "--"])
            .arg(program)
            .logs_in(&self.logs)
    }

    /// Errors: it fails, or exceeds `deadline`.
    pub fn run(&self, command: &[&str], deadline: Duration) -> anyhow::Result<String> {
        let mut entry = Command::new("nsenter");
        entry.args(self.entry()).args(command);
        let output = run::output(entry, None, deadline)?;
        let words = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(
            output.status.success(),
            "{command:?} on {}: {}",
            self.name,
            words.trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn entry(&self) -> impl Iterator<Item = impl AsRef<OsStr>> {
        let spaces = ["--mount", "--net", "--pid", "--uts", "--ipc", "--"];
        ["--target".to_owned(), self.pid.clone()]
            .into_iter()
            .chain(spaces.map(str::to_owned))
    }
}
