//! Coordinators, agents and the network between them, simulated under a seed: the same seed is the same run.
//!
//! Real are both coordinators (leadership, watches, controllers, claims, sessions, uplink service), the agents (uplink,
//! shell, pilot, link, state on disk), gRPC and HTTP/2 between them, and the embedded Kubernetes API. The network and its
//! time are turmoil's: hosts crash and come back, links break in one direction or both, stall, and are slow; the path from a
//! coordinator to the API breaks, hangs, and answers 429 and 500; its watches are late by up to a minute while everything else
//! works; its store is restored from a backup. Orders of earlier terms are repeated, as by a coordinator that does not know that
//! it is deposed. Captured agents claim terms that never were. After each step an oracle that shares no rule with `fleet` judges
//! vehicles, messages and objects; the programs themselves use `fleet::safety`. At the end, when there are no faults, the desired
//! number flies.
//!
//! Not covered: TLS and credentials; serial lines; the process around coordinator and agent (`coordinator::run_with`,
//! `agent::life`); SIGTERM; everything that uses the real clock, which does not advance (`replaceLostAfterSeconds`, times in
//! status); a Swarm that is deleted; 410 Gone; two agents that claim one node; low batteries and pilots who take over, which
//! `agent/tests/interleavings` covers.
//!
//! Each seed runs in a process of its own, since hash tables and random numbers use a source that belongs to the process.
//! A failing seed is printed with the command that runs it alone; `SKEIN_SEEDS=n` sets their number.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends here")]

mod api;
#[allow(dead_code, reason = "it can do more than these runs need")]
#[path = "../../../agent/tests/flight/autopilot.rs"]
mod autopilot;
mod coordinator;
mod ledger;
mod node;
mod oracle;
mod station;
mod vehicle;
mod world;

use rand::SeedableRng;
use rand::rngs::StdRng;
use std::io::Write as _;
use std::process::{Command, ExitCode, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SEEDS: u64 = 20;
/// Long runs report their progress at this interval of seeds.
const TOLD_EVERY: u64 = 100;
/// For all futures of a run, unoptimized.
const STACK: usize = 256 << 20;
const REPLAY: &str = "cargo test -p tests --test network";

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// The standard harness waits by the clock, which does not advance here: these tests run one by one, with the harness's output format.
type Test = (&'static str, fn());
const TESTS: [Test; 2] = [
    (
        "no_disorder_of_the_network_breaks_an_invariant",
        no_disorder_of_the_network_breaks_an_invariant,
    ),
    ("the_same_seed_is_the_same_run", the_same_seed_is_the_same_run),
];

fn main() -> ExitCode {
    if let Some(seed) = number("SKEIN_SEED") {
        return alone(seed);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let list = arguments.iter().any(|argument| argument == "--list");
    let parts: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let mut ended = ExitCode::SUCCESS;
    for (name, test) in TESTS {
        if !parts.is_empty() && !parts.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        if list {
            say(&format!("{name}: test"));
            continue;
        }
        let passed = std::panic::catch_unwind(test).is_ok();
        say(&format!("test {name} ... {}", if passed { "ok" } else { "FAILED" }));
        if !passed {
            ended = ExitCode::FAILURE;
        }
    }
    ended
}

fn say(line: &str) {
    // Then no one reads it any more.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn no_disorder_of_the_network_breaks_an_invariant() {
    let seeds = number("SKEIN_SEEDS").unwrap_or(SEEDS);
    let from = number("SKEIN_FROM").unwrap_or(0);
    let (next, done, failed) = (AtomicU64::new(from), AtomicU64::new(0), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + seeds {
                        return;
                    }
                    let output = in_a_process(seed);
                    if !output.status.success() {
                        let told = String::from_utf8_lossy(&output.stderr).into_owned();
                        eprintln!("SKEIN_SEED={seed} {REPLAY}\n{told}");
                        failed.lock().unwrap().push(seed);
                    }
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if done.is_multiple_of(TOLD_EVERY) {
                        eprintln!("{done} of {seeds} seeds run, {} failed", failed.lock().unwrap().len());
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort_unstable();
    let first = failed.first().copied().unwrap_or_default();
    assert!(
        failed.is_empty(),
        "{} of {seeds} seeds fail: {failed:?}; SKEIN_SEED={first} {REPLAY}",
        failed.len()
    );
}

fn the_same_seed_is_the_same_run() {
    let account = || {
        let output = in_a_process(3);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = told.lines().find(|line| line.contains("Tally")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no account: {told}"))
    };
    assert_eq!(account(), account());
}

fn in_a_process(seed: u64) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("SKEIN_SEED", seed.to_string()).output().unwrap()
}

/// Runs one seed in this process, which must not have run another.
fn alone(seed: u64) -> ExitCode {
    static FAULT: AtomicBool = AtomicBool::new(false);
    // Before the random numbers, which it must not take: a run is the same with a log and without.
    if std::env::var_os("RUST_LOG").is_some() {
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
        log.without_time().init();
    }
    mad_turmoil::rand::set_rng(StdRng::seed_from_u64(seed));
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |fault| {
        FAULT.store(true, Ordering::Relaxed);
        usual(fault);
    }));
    let memory = std::path::Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let folder = folder.unwrap();
    let place = folder.path().to_owned();
    let thread = std::thread::Builder::new().stack_size(STACK);
    let ran = thread.spawn(move || world::run(seed, &place)).unwrap().join();
    let Ok(told) = ran else {
        eprintln!("seed {seed}: the run panicked, see above");
        return ExitCode::FAILURE;
    };
    match told {
        Ok(tally) => eprintln!("seed {seed}: {tally:?}"),
        Err(broken) => {
            eprintln!("seed {seed}: {broken}");
            return ExitCode::FAILURE;
        }
    }
    if FAULT.load(Ordering::Relaxed) {
        eprintln!("seed {seed}: a task panicked, see above");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
