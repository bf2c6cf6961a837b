//! The machine and the versions, and the resources that a process uses.

use anyhow::{Context, ensure};
use std::fs;
use std::process::Command;

pub fn describe() -> anyhow::Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown CPU", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let load = fs::read_to_string("/proc/loadavg")?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let versions = "import importlib.metadata as m, platform; print('MAVProxy', m.version('MAVProxy') + ', pymavlink', \
                    m.version('pymavlink') + ', Python', platform.python_version())";
    let mut command = Command::new(testkit::peer::python()?);
    command.args(["-c", versions]);
    let output = testkit::run::output(command, None, std::time::Duration::from_secs(30))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(format!(
        "{model}, {} cores, Linux {}, load average at the start {}\nskein-agent and skein-sitl {}, {}",
        std::thread::available_parallelism()?,
        kernel.trim(),
        load.split(' ').next().unwrap_or("?"),
        env!("CARGO_PKG_VERSION"),
        String::from_utf8_lossy(&output.stdout).trim()
    ))
}

/// Sums all threads.
pub fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let mut nanoseconds = 0u64;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else {
            continue;
        };
        let first = text.split(' ').next().unwrap_or_default();
        nanoseconds += first.parse::<u64>().context("schedstat begins with a number")?;
    }
    Ok(nanoseconds as f64 / 1e9)
}

/// Resident, MiB: now, and at its peak.
pub fn memory_mib(pid: u32) -> anyhow::Result<(f64, f64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0)
            .with_context(|| format!("no {name} in /proc/{pid}/status"))
    };
    Ok((value("VmRSS:")?, value("VmHWM:")?))
}
