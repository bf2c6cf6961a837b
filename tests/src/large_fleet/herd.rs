//! The process of the agents, and its output.

use anyhow::Context;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub struct Herd {
    child: Child,
    reports: Arc<(Mutex<AgentReports>, Condvar)>,
}

#[derive(Default)]
struct AgentReports {
    all: Option<SystemTime>,
    flies: HashMap<usize, SystemTime>,
    /// Orders to land, or without a Drone, to vehicles that had been ordered to fly.
    lands: usize,
    over: bool,
}

impl Herd {
    pub fn start(server: &str, count: usize, streams: usize, credentials: Option<&Path>) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--agents", server, &count.to_string(), &streams.to_string()])
            .args(credentials)
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the agents")?;
        let out = child.stdout.take().context("the agents have no output")?;
        let reports: Arc<(Mutex<AgentReports>, Condvar)> = Arc::default();
        let shared = Arc::clone(&reports);
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let mut reports = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
                reports.take(&line);
                shared.1.notify_all();
            }
            shared.0.lock().unwrap_or_else(PoisonError::into_inner).over = true;
            shared.1.notify_all();
        });
        Ok(Self { child, reports })
    }

    fn wait<T>(&self, what: &str, within: Duration, found: impl Fn(&AgentReports) -> Option<T>) -> anyhow::Result<T> {
        let until = Instant::now() + within;
        let mut reports = self.reports.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = found(&reports) {
                return Ok(found);
            }
            anyhow::ensure!(!reports.over, "the agents have ended");
            let left = until.saturating_duration_since(Instant::now());
            anyhow::ensure!(!left.is_zero(), "never came: {what}");
            reports = self
                .reports
                .1
                .wait_timeout(reports, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    pub fn all_since(&self, since: SystemTime, within: Duration) -> anyhow::Result<SystemTime> {
        self.wait("all agents", within, |reports| reports.all.filter(|at| *at > since))
    }

    pub fn flies_since(&self, since: SystemTime, count: usize, within: Duration) -> anyhow::Result<SystemTime> {
        self.wait("an assignment", within, |reports| {
            (reports.flies.len() >= count).then(|| reports.flies.values().filter(|at| **at > since).min().copied())?
        })
    }

    pub fn flying(&self, count: usize, within: Duration) -> anyhow::Result<()> {
        self.wait("all assignments", within, |reports| {
            (reports.flies.len() >= count).then_some(())
        })
    }

    pub fn lands(&self) -> usize {
        self.reports.0.lock().unwrap_or_else(PoisonError::into_inner).lands
    }
}

impl Drop for Herd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl AgentReports {
    fn take(&mut self, line: &str) {
        let mut words = line.split(' ');
        let micros = words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
        let at = UNIX_EPOCH + Duration::from_micros(micros);
        match words.next() {
            Some("all") => self.all = Some(at),
            Some("lost") => self.all = None,
            Some("order") => {
                let Some(number) = words.next().and_then(|word| word.parse().ok()) else {
                    return;
                };
                if words.next() == Some("fly") {
                    self.flies.entry(number).or_insert(at);
                } else if self.flies.contains_key(&number) {
                    self.lands += 1;
                }
            }
            _ => {}
        }
    }
}
