//! One long-running process: its log, its signals, its end.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
pub use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::scratch::Scratch;
use crate::wait::{pause, wait_for};

/// Lines of a log in an error.
const TAIL: usize = 40;

/// Time in which a process stops on a busy machine.
const PAUSED_WITHIN: Duration = Duration::from_secs(20);

/// Waits as [`wait_for`] does, and fails as soon as one of `needed` ends, with the ends of their logs.
pub fn wait_while_running<T>(
    needed: &[&Process],
    what: &str,
    deadline: Duration,
    mut probe: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let start = Instant::now();
    loop {
        let look = start.elapsed();
        // Read before the probe, which then sees the last act of a process that has ended.
        let ended = needed.iter().try_for_each(|process| process.ensure_running());
        match (probe(), ended) {
            (Ok(value), _) => return Ok(value),
            (Err(_), Err(ended)) => anyhow::bail!("waited for {what}, but {ended}"),
            (Err(seen), Ok(())) if start.elapsed() >= deadline => {
                let tails: Vec<String> = needed
                    .iter()
                    .map(|p| format!("--- {}:\n{}", p.name(), p.tail()))
                    .collect();
                let (waited, tails) = (start.elapsed().as_secs_f32(), tails.join("\n"));
                anyhow::bail!("waited {waited:.1} s for {what}; last seen: {seen:#}; logs:\n{tails}");
            }
            (Err(_), Ok(())) => std::thread::sleep(pause(start.elapsed() - look)),
        }
    }
}

#[derive(Debug)]
pub struct Process {
    name: String,
    pid: u32,
    child: Mutex<Child>,
    stdout: PathBuf,
    stderr: PathBuf,
    _own: Option<Scratch>,
}

impl Process {
    pub(crate) fn new(name: String, child: Child, [stdout, stderr]: [PathBuf; 2], own: Option<Scratch>) -> Self {
        Self {
            pid: child.id(),
            child: Mutex::new(child),
            name,
            stdout,
            stderr,
            _own: own,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn stdout(&self) -> String {
        read_lossy(&self.stdout)
    }

    pub fn stderr(&self) -> String {
        read_lossy(&self.stderr)
    }

    /// `None` while it runs.
    pub fn exit_status(&self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child().try_wait()?)
    }

    pub fn is_running(&self) -> bool {
        matches!(self.exit_status(), Ok(None))
    }

    /// Errors have the end of its log.
    pub fn ensure_running(&self) -> anyhow::Result<()> {
        match self.exit_status()? {
            None => Ok(()),
            Some(status) => anyhow::bail!("{} ended ({status}); its last lines:\n{}", self.name, self.tail()),
        }
    }

    /// Returns the first whole line on either output, from the start, that `wanted` accepts. Errors have the end of its
    /// log.
    pub fn wait_for_line(&self, deadline: Duration, wanted: impl Fn(&str) -> bool) -> anyhow::Result<String> {
        let what = format!("the awaited line from {}", self.name);
        wait_while_running(&[self], &what, deadline, || {
            let text = self.stdout() + &self.stderr();
            let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            lines
                .find(|line| wanted(line))
                .map(str::to_owned)
                .context("not there yet")
        })
    }

    /// Errors have the end of its log.
    pub fn wait_until<T>(
        &self,
        what: &str,
        deadline: Duration,
        probe: impl FnMut() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        wait_while_running(&[self], what, deadline, probe)
    }

    /// Errors: the process has already ended.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        // The child is not reaped under the lock, so the id cannot belong to another process.
        let mut child = self.child();
        anyhow::ensure!(child.try_wait()?.is_none(), "{} has already ended", self.name);
        let pid = Pid::from_raw(i32::try_from(self.pid)?);
        nix::sys::signal::kill(pid, signal).with_context(|| format!("cannot send {signal} to {}", self.name))
    }

    /// Sends SIGSTOP and waits until none of its threads runs any more: the signal alone lets them finish their work.
    /// Errors: it has ended, or goes on running.
    pub fn pause(&self) -> anyhow::Result<()> {
        self.signal(Signal::SIGSTOP)?;
        let tasks = format!("/proc/{}/task", self.pid());
        crate::wait_for("its threads to stop", PAUSED_WITHIN, || {
            for task in std::fs::read_dir(&tasks)? {
                let stat = std::fs::read_to_string(task?.path().join("stat"))?;
                let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
                anyhow::ensure!(state == Some('T'), "one is in state {state:?}");
            }
            Ok(())
        })
    }

    pub fn wait_for_exit(&self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        wait_for(format!("{} to end", self.name), deadline, || {
            self.exit_status()?
                .with_context(|| format!("it runs; its last lines:\n{}", self.tail()))
        })
    }

    /// Sends SIGTERM and waits. Kills it when the deadline passes, which is an error.
    pub fn stop(self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        if let Some(status) = self.exit_status()? {
            return Ok(status);
        }
        self.signal(Signal::SIGTERM)?;
        self.wait_for_exit(deadline)
    }

    pub fn kill(&self) {
        let mut child = self.child();
        // Both fail only when it is gone already.
        let _ = child.kill();
        let _ = child.wait();
    }

    pub fn tail(&self) -> String {
        tail(&(self.stdout() + &self.stderr()), TAIL)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let ended = self.exit_status().ok().flatten();
        self.kill();
        if std::thread::panicking() {
            let how = ended.map_or("was running".to_owned(), |status| format!("had ended: {status}"));
            eprintln!("--- {} ({how}), its last lines:\n{}", self.name, self.tail());
        }
    }
}

fn read_lossy(path: &Path) -> String {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Launch;

    fn shell(script: &str) -> Process {
        Launch::program("/bin/sh").arg("-c").arg(script).start().unwrap()
    }

    #[test]
    fn a_line_is_waited_for_on_either_output() {
        let process = shell("sleep 0.1; echo ready >&2; echo port 7 ; sleep 600");
        let second = Duration::from_secs(5);
        assert_eq!(
            process.wait_for_line(second, |l| l.starts_with("port")).unwrap(),
            "port 7"
        );
        assert_eq!(process.wait_for_line(second, |l| l == "ready").unwrap(), "ready");
    }

    #[test]
    fn a_process_that_ends_early_is_reported_with_its_last_words() {
        let process = shell("echo no such device >&2; exit 3");
        let error = process
            .wait_for_line(Duration::from_secs(5), |l| l == "ready")
            .unwrap_err()
            .to_string();
        assert!(error.contains("no such device"), "{error}");
        assert!(
            process
                .ensure_running()
                .unwrap_err()
                .to_string()
                .contains("exit status: 3")
        );
    }

    #[test]
    fn a_stopped_process_may_tidy_up_first() {
        let process = shell("trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done");
        process.wait_for_line(Duration::from_secs(5), |l| l == "up").unwrap();
        assert_eq!(process.stop(Duration::from_secs(5)).unwrap().code(), Some(7));
    }

    #[test]
    fn a_process_outlives_the_thread_that_started_it_but_not_its_handle() {
        let process = std::thread::spawn(|| shell("sleep 600")).join().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(process.is_running());
        let proc = format!("/proc/{}", process.pid());
        assert!(Path::new(&proc).exists());
        drop(process);
        assert!(!Path::new(&proc).exists());
    }
}
