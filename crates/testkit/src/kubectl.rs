//! `kubectl` as one user of one control plane, with a deadline, away from the person's own configuration and caches.

mod proxy;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::Launch;
use crate::launch::GO;
use proxy::Proxy;

const DEADLINE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone)]
pub struct Kubectl {
    binary: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
    deadline: Duration,
    /// Shared by clones, from the first [`Self::read`] on.
    proxy: Arc<Mutex<Option<Arc<Proxy>>>>,
}

impl Kubectl {
    /// `cache` is for discovery.
    pub fn new(binary: PathBuf, kubeconfig: PathBuf, cache: PathBuf) -> Self {
        Self {
            binary,
            kubeconfig,
            cache,
            deadline: DEADLINE,
            proxy: Arc::default(),
        }
    }

    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub fn binary(&self) -> &Path {
        &self.binary
    }

    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args);
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", &self.cache)
            .env("KUBERC", "off")
            .env("GOMAXPROCS", "1")
            .envs(GO);
        command
    }

    /// Launches a process that stays, with `name` in messages.
    pub fn launch<A: AsRef<OsStr>>(&self, name: &str, args: impl IntoIterator<Item = A>) -> Launch {
        let command = self.command(args);
        let launch = Launch::program(command.get_program())
            .named(name)
            .args(command.get_args());
        let variables = command.get_envs();
        variables.fold(launch, |launch, (name, value)| {
            launch.env(name, value.unwrap_or_default())
        })
    }

    /// Leaves a failure status to the caller.
    pub fn output<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<Output> {
        crate::run::output(self.command(args), None, self.deadline)
    }

    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<String> {
        self.checked(self.command(args), None)
    }

    pub fn run_with<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>, stdin: &str) -> anyhow::Result<String> {
        self.checked(self.command(args), Some(stdin))
    }

    /// Expects a failure; returns standard error.
    pub fn refused<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<String> {
        self.failing(self.command(args), None)
    }

    pub fn apply(&self, manifests: &str) -> anyhow::Result<String> {
        self.run_with(["apply", "-f", "-"], manifests)
    }

    /// Expects a refusal; returns its text.
    pub fn apply_refused(&self, manifests: &str) -> anyhow::Result<String> {
        self.failing(self.command(["apply", "-f", "-"]), Some(manifests))
    }

    pub fn json<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<serde_json::Value> {
        let mut command = self.command(args);
        command.args(["-o", "json"]);
        Ok(serde_json::from_str(&self.checked(command, None)?)?)
    }

    /// Reads an object or a list by its path, such as `/api/v1/nodes/a`, through a `kubectl proxy` that stays: for
    /// frequent reads.
    pub fn read(&self, path: &str) -> anyhow::Result<serde_json::Value> {
        let looked = self.proxy()?.get(path, self.deadline);
        if !matches!(looked, Ok((200 | 404, _))) {
            // The proxy keeps the kubeconfig and keys with which it began.
            *self.lock_proxy() = None;
        }
        let (status, body) = looked.with_context(|| format!("GET {path}"))?;
        anyhow::ensure!(status == 200, "GET {path}: {status}: {}", body.trim());
        serde_json::from_str(&body).with_context(|| format!("GET {path}: {body}"))
    }

    fn lock_proxy(&self) -> MutexGuard<'_, Option<Arc<Proxy>>> {
        self.proxy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn proxy(&self) -> anyhow::Result<Arc<Proxy>> {
        let mut proxy = self.lock_proxy();
        match proxy.as_ref() {
            Some(running) => Ok(Arc::clone(running)),
            None => Ok(Arc::clone(proxy.insert(Arc::new(Proxy::start(self)?)))),
        }
    }

    /// Asks again while the API server does not answer in kubectl's own time, as one that has just got our kinds on a busy machine.
    fn checked(&self, command: Command, stdin: Option<&str>) -> anyhow::Result<String> {
        let began = Instant::now();
        let (mut line, mut output) = self.call(&command, stdin)?;
        while is_late(&output) && began.elapsed() < self.deadline / 2 {
            (line, output) = self.call(&command, stdin)?;
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "`{line}` failed: {}", stderr.trim());
        String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed something that is not UTF-8"))
    }

    fn failing(&self, command: Command, stdin: Option<&str>) -> anyhow::Result<String> {
        let (line, output) = self.call(&command, stdin)?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        anyhow::ensure!(
            !output.status.success(),
            "`{line}` was to be refused but succeeded: {}",
            stdout.trim()
        );
        Ok(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }

    fn call(&self, command: &Command, stdin: Option<&str>) -> anyhow::Result<(String, Output)> {
        let args: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        let line = format!("kubectl {}", args.join(" "));
        let output = crate::run::output(again(command), stdin, self.deadline)?;
        Ok((line, output))
    }
}

fn again(command: &Command) -> Command {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args());
    again.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    again
}

fn is_late(output: &Output) -> bool {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let late = ["context deadline exceeded", "TLS handshake timeout"];
    !output.status.success() && late.iter().any(|text| stderr.contains(text))
}
