//! The agent and MAVProxy, each on a pseudo-terminal of the same simulator, at the same time.

use crate::recorded;
use anyhow::{Context, ensure};
use nix::sys::signal::Signal;
use proto::v1::Activity;
use skein_tests::machine;
use skein_tests::minimal_coordinator::Coordinator;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testkit::{Launch, Process, Scratch};

const PATIENCE: Duration = Duration::from_secs(120);
const AGENTS: &str = "agents";
const PEERS: &str = "peers";

/// Message ids and times a second that, with the simulator's own 45, make the 570 a second of a PX4 in mode ONBOARD:
/// recorded messages at recorded rates, and meaningless ones of similar length for what that recording lacks.
const TRAFFIC: [(u32, u32); 19] = [
    (30, 85),
    (31, 40),
    (105, 50),
    (32, 29),
    (331, 30),
    (36, 10),
    (132, 10),
    (141, 9),
    (74, 6),
    (83, 10),
    (85, 10),
    (63, 45),
    (116, 50),
    (29, 50),
    (27, 50),
    (106, 10),
    (231, 10),
    (291, 10),
    (290, 10),
];

pub struct ReaderUse {
    pub name: &'static str,
    pub seconds: f64,
    pub frames: u64,
    pub bytes: u64,
    pub lost: u64,
    pub resident_mib: f64,
    pub peak_mib: f64,
    pub cpu_percent: f64,
}

pub fn measure(span: Duration) -> anyhow::Result<[ReaderUse; 2]> {
    let scratch = Scratch::new("skein-bench-")?;
    let logs = scratch.folder("logs")?;
    let ports = scratch.folder("ports")?;
    let traffic = scratch.path().join("traffic.txt");
    let lines = TRAFFIC.map(|(id, hertz)| format!("at 0 extra-message {id} {hertz}\n"));
    std::fs::write(&traffic, lines.concat())?;
    let simulator = Launch::workspace("skein-sitl")?
        .args(["--autopilot", "px4", "--port", "network", "--names"])
        .arg(format!("{AGENTS},{PEERS}"))
        .args(["--link", &format!("pty:{}", ports.display())])
        .arg("--faults")
        .arg(&traffic)
        .logs_in(&logs)
        .start()?;
    simulator.wait_for_line(PATIENCE, |line| line.contains(PEERS))?;

    let uplink = testkit::ports::free_tcp_port()?;
    let coordinator = Coordinator::serve(uplink)?;
    let flights = scratch.folder("flights")?;
    let agent = Launch::workspace("skein-agent")?
        .env("NODE", AGENTS)
        .env("SKEIN_LINK", format!("serial:{}:921600", ports.join(AGENTS).display()))
        .env("SKEIN_COORDINATOR", format!("http://127.0.0.1:{uplink}"))
        .arg("--state-dir")
        .arg(scratch.folder("state")?)
        .arg("--flight-log-dir")
        .arg(&flights)
        .logs_in(&logs)
        .start()?;
    let peer_log = scratch.folder("mavproxy")?.join("mav.tlog");
    let peer = mavproxy(&scratch, &ports.join(PEERS), &peer_log)?;
    agent.wait_until("the vehicle to hold", PATIENCE, || {
        let report = coordinator.report().context("no report yet")?;
        ensure!(report.activity() == Activity::Holding, "{:?}", report.activity());
        Ok(())
    })?;
    peer.wait_until("MAVProxy's log to grow", PATIENCE, || {
        ensure!(std::fs::metadata(&peer_log)?.len() > 100_000, "it is short");
        Ok(())
    })?;

    let [from_us, to_us, agent_cpu, peer_cpu] = {
        let (from_us, before) = (now_us(), [cpu(&agent)?, cpu(&peer)?]);
        std::thread::sleep(span);
        let (to_us, after) = (now_us(), [cpu(&agent)?, cpu(&peer)?]);
        [from_us as f64, to_us as f64, after[0] - before[0], after[1] - before[1]]
    };
    let memory = [machine::memory_mib(agent.pid())?, machine::memory_mib(peer.pid())?];
    // Both write their buffers when they end; the agent lands its vehicle first.
    agent.signal(Signal::SIGTERM)?;
    peer.signal(Signal::SIGTERM)?;
    agent.wait_for_exit(PATIENCE)?;
    peer.wait_for_exit(PATIENCE)?;
    let agent_log = newest(&flights)?;
    let seconds = (to_us - from_us) / 1e6;
    let seen = |name, system, log: &PathBuf, cpu: f64, memory: (f64, f64)| -> anyhow::Result<ReaderUse> {
        let counted = recorded::count(log, system, from_us as u64, to_us as u64)?;
        ensure!(
            counted.frames > 0,
            "{name} logged no frame of its vehicle; see {}",
            log.display()
        );
        Ok(ReaderUse {
            name,
            seconds,
            frames: counted.frames,
            bytes: counted.bytes,
            lost: counted.lost,
            resident_mib: memory.0,
            peak_mib: memory.1,
            cpu_percent: cpu / seconds * 100.0,
        })
    };
    Ok([
        seen("skein-agent", 1, &agent_log, agent_cpu, memory[0])?,
        seen("MAVProxy, no modules", 2, &peer_log, peer_cpu, memory[1])?,
    ])
}

/// MAVProxy without terminal and modules, its minimum: read, and log.
fn mavproxy(scratch: &Scratch, port: &std::path::Path, log: &std::path::Path) -> anyhow::Result<Process> {
    let python = PathBuf::from(testkit::peer::python()?);
    let script = python.with_file_name("mavproxy.py");
    Launch::program(&python)
        .named("mavproxy")
        .arg("-u")
        .arg(script)
        .arg(format!("--master={},921600", port.display()))
        .args([
            "--daemon",
            "--streamrate=-1",
            "--default-modules=",
            "--source-system=254",
        ])
        .arg(format!("--state-basedir={}", scratch.path().join("mavproxy").display()))
        .arg(format!("--logfile={}", log.display()))
        .env("MAVLINK20", "1")
        .env("HOME", scratch.folder("home")?)
        .logs_in(scratch.path().join("logs"))
        .start()
}

fn cpu(process: &Process) -> anyhow::Result<f64> {
    machine::cpu_seconds(process.pid())
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as u64
}

fn newest(folder: &std::path::Path) -> anyhow::Result<PathBuf> {
    let mut files: Vec<(u64, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.len(), entry.path()));
    }
    let longest = files.into_iter().max_by_key(|(length, _)| *length);
    longest.map(|(_, path)| path).context("the agent wrote no flight log")
}
