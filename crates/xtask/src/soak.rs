//! `cargo xtask soak`: the end-to-end tests, repeatedly, beside a busy core.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::generate::{cargo, cargo_as_for_tests};
use crate::say;

#[derive(clap::Args)]
pub struct Args {
    /// How many times all end-to-end tests run.
    #[arg(default_value_t = 20, value_name = "RUNS")]
    runs: u32,
}

/// The first line of the report on each failed run names the file of its output.
pub fn run(args: &Args) -> anyhow::Result<()> {
    say::heading("building");
    let test = |run: bool| {
        let mut command = cargo();
        command.args(["test", "--quiet", "--workspace", "--test", "e2e"]);
        if !run {
            command.arg("--no-run");
        }
        command
    };
    let built = cargo_as_for_tests("build")
        .args(["--workspace", "--bins"])
        .status()?
        .success()
        && test(false).status()?.success();
    anyhow::ensure!(built, "it does not build; see above");

    let load = Load::start();
    let (start, mut failed, mut times) = (Instant::now(), Vec::new(), Vec::new());
    for number in 1..=args.runs {
        let began = Instant::now();
        let output = test(true).output().context("cannot start cargo")?;
        times.push(began.elapsed());
        let passed = output.status.success();
        say::note(&format!(
            "run {number} of {}: {}, {}",
            args.runs,
            if passed { "passed" } else { "FAILED" },
            say::duration(began.elapsed())
        ));
        if !passed {
            let log = std::env::temp_dir().join(format!("skein-soak-{}-{number}.log", std::process::id()));
            std::fs::write(&log, [output.stdout, output.stderr].concat())?;
            say::note(&format!("its output is in {}", log.display()));
            failed.push(number);
        }
    }
    drop(load);
    let longest = times.iter().max().copied().unwrap_or(Duration::ZERO);
    say::heading(&format!(
        "{} runs beside a busy core, {} failed, {} in all, the longest {}",
        args.runs,
        failed.len(),
        say::duration(start.elapsed()),
        say::duration(longest)
    ));
    anyhow::ensure!(failed.is_empty(), "runs {failed:?} failed");
    Ok(())
}

/// Keeps one core busy until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Load {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let busy = move || {
            let mut turns = 0u64;
            while !seen.load(Ordering::Relaxed) {
                turns = std::hint::black_box(turns.wrapping_add(1));
            }
            turns
        };
        Self {
            stop,
            thread: Some(std::thread::spawn(busy)),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
