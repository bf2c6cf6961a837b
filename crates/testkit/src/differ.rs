//! `skein-differ` on real autopilots, which are started again when a script has spoilt one.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::autopilots::{Autopilot, Firmware, Instance, Settings, Stack};

#[derive(Clone, Debug)]
pub struct Plan {
    pub scripts: u64,
    pub seed: u64,
    pub speedup: u32,
    /// Runs to shorten a script that differs.
    pub tries: usize,
    /// `None`: the recorded version.
    pub firmware: Option<String>,
    pub keep: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub same: u64,
    /// Part of `same`, within the tolerance of time.
    pub warped: u64,
    /// Differed once and not again.
    pub once: u64,
    pub differ: u64,
    /// Restarts of an autopilot that a script spoilt.
    pub spoilt: u64,
}

impl Count {
    fn take(&mut self, line: &str) {
        let Some((_, found)) = line.strip_prefix("script ").and_then(|rest| rest.split_once(": ")) else {
            return;
        };
        match found {
            "same" => self.same += 1,
            _ if found.starts_with("same") => {
                self.same += 1;
                self.warped += 1;
            }
            _ if found.starts_with("differed once") => self.once += 1,
            _ => self.differ += 1,
        }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            same,
            warped,
            once,
            differ,
            spoilt,
        } = self;
        write!(
            f,
            "{same} scripts the same ({warped} of them within what may differ in time), {once} differed once and not again, \
             {differ} differ, {spoilt} spoilt the autopilot"
        )
    }
}

/// Runs `plan` with `program` (skein-differ) on one autopilot; `say` gets every line it prints.
pub fn run(firmware: &Firmware, program: &Path, plan: &Plan, say: &mut dyn FnMut(&str)) -> anyhow::Result<Count> {
    let mut count = Count::default();
    let mut from = 0;
    while from < plan.scripts {
        let settings = Settings {
            speedup: plan.speedup,
            ..Settings::default()
        };
        let autopilot = Autopilot::start(firmware.clone(), Instance::claim()?, settings)?;
        let again = once(program, &autopilot, plan, from, &mut |line| {
            count.take(line);
            say(line);
        })?;
        let Some(next) = again else { break };
        // Leaves out a script that spoils the autopilot each time.
        from = next.max(from + u64::from(next == from));
        count.spoilt += 1;
        anyhow::ensure!(
            count.spoilt < plan.scripts + 3,
            "the autopilot does not stay usable; see the lines above"
        );
    }
    Ok(count)
}

/// One life of an autopilot; returns the script to go on with after a restart.
fn once(
    program: &Path,
    autopilot: &Autopilot,
    plan: &Plan,
    from: u64,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Option<u64>> {
    let mut command = Command::new(program);
    command.args(["--autopilot", autopilot.stack().name()]);
    match autopilot.stack() {
        Stack::ArduPilot => command.args(["--tcp", &autopilot.companion_link().to_string()]),
        Stack::Px4 => command.args(["--udp", "127.0.0.1:0", &autopilot.ground_link().to_string()]),
    };
    for (name, value) in [
        ("--system", u64::from(autopilot.system())),
        ("--speedup", u64::from(plan.speedup)),
        ("--scripts", plan.scripts),
        ("--seed", plan.seed),
        ("--tries", plan.tries as u64),
        ("--from", from),
    ] {
        command.args([name, &value.to_string()]);
    }
    if let Some(version) = &plan.firmware {
        command.args(["--firmware", version]);
    }
    if let Some(folder) = &plan.keep {
        command.arg("--keep").arg(folder);
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let mut again = None;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            again = line
                .rsplit_once("continue with --from ")
                .and_then(|(_, number)| number.parse().ok())
                .or(again);
            say(&line);
        }
    }
    let status = child.wait()?;
    anyhow::ensure!(
        matches!(status.code(), Some(0 | 1 | 3)),
        "skein-differ ended with {status}; see the lines above"
    );
    Ok(again)
}
