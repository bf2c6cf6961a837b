//! `cargo xtask fuzz`: coverage-guided fuzzing of the link's reader, and of the agent's pilot, pass-through and
//! metadata, on stable Rust.

#[path = "../../fuzz/src/seeds.rs"]
mod seeds;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use clap::ValueEnum;

use crate::generate::cargo;
use crate::say;

/// Instrumentation by which libFuzzer sees the path of an input: a counter for each edge, and each comparison.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

const SECONDS: u32 = 20;

#[derive(clap::Args)]
pub struct Args {
    /// Which target.
    #[arg(value_enum, default_value_t = Choice::All)]
    target: Choice,
    /// Ends after this many inputs to each target.
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Ends after this many seconds at each target [default: 20, unless --runs is given].
    #[arg(long, value_name = "S")]
    seconds: Option<u32>,
    /// Runs the target with this one input, for example to repeat a failure.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "seconds"])]
    input: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Chunks of bytes through the link's framing, decoding and signing.
    Link,
    /// Telemetry, orders, answers and restarts through the agent's pilot.
    Agent,
    /// Ground stations that send any bytes, through the agent's pass-through.
    Guests,
    /// An autopilot's descriptions of its events, and their download.
    Metadata,
    /// One after the other.
    All,
}

struct Target {
    name: &'static str,
    longest: u32,
}

const LINK: Target = Target {
    name: "link",
    longest: 4096,
};
const AGENT: Target = Target {
    name: "agent",
    longest: 600,
};
const GUESTS: Target = Target {
    name: "guests",
    longest: 2048,
};
const METADATA: Target = Target {
    name: "metadata",
    longest: 4096,
};

impl Choice {
    const fn targets(self) -> &'static [Target] {
        match self {
            Self::Link => &[LINK],
            Self::Agent => &[AGENT],
            Self::Guests => &[GUESTS],
            Self::Metadata => &[METADATA],
            Self::All => &[LINK, AGENT, GUESTS, METADATA],
        }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let workspace = testkit::control_plane::workspace_root();
    let folder = workspace.join("target").join("fuzz");
    let targets = args.target.targets();
    if let Some(input) = &args.input {
        let [target] = targets else {
            anyhow::bail!("name the target of the input: `cargo xtask fuzz link --input FILE`, or another");
        };
        let programs = build(workspace, &folder)?;
        let mut command = Command::new(programs.join(target.name));
        let status = command.arg(input).env("SKEIN_FUZZ_STORY", "1").status();
        anyhow::ensure!(
            status.context("cannot start the target")?.success(),
            "the input fails; see above"
        );
        return Ok(());
    }
    let programs = build(workspace, &folder)?;
    let seeds = folder.join("seeds");
    seeds::write(&seeds, &workspace.join("crates/sitl/tests/recordings")).context("cannot make the first inputs")?;
    for target in targets {
        fuzz(target, args, &folder, &programs.join(target.name))?;
    }
    Ok(())
}

fn build(workspace: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let host = host()?;
    say::heading("building and testing the targets with coverage counters");
    for arguments in [&["build", "--bins"][..], &["test", "--quiet"][..]] {
        let mut command = cargo();
        // With `--target`, build scripts and macros are built without the counters.
        command
            .args(arguments)
            .args(["--target", &host])
            .current_dir(workspace.join("fuzz"));
        command.env("CARGO_TARGET_DIR", folder).env("RUSTFLAGS", COVERAGE);
        let status = command.status().context("cannot start cargo")?;
        anyhow::ensure!(
            status.success(),
            "cargo {} failed in the folder fuzz; it needs a C++ compiler (package g++)",
            arguments.join(" ")
        );
    }
    Ok(folder.join(host).join("debug"))
}

fn host() -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8(output.stdout).context("rustc speaks no UTF-8")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not name its host")
}

fn fuzz(target: &Target, args: &Args, folder: &Path, program: &Path) -> anyhow::Result<()> {
    let inputs = folder.join("inputs").join(target.name);
    let failures = folder.join("failures");
    for folder in [&inputs, &failures] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    say::heading(&format!("fuzzing {}", target.name));
    let begin = Instant::now();
    let mut command = Command::new(program);
    command.args([
        "-timeout=10",
        "-rss_limit_mb=1024",
        "-len_control=0",
        "-print_final_stats=1",
    ]);
    command.arg(format!("-max_len={}", target.longest));
    command.arg(format!("-artifact_prefix={}/{}-", failures.display(), target.name));
    let seconds = args.seconds.or(args.runs.is_none().then_some(SECONDS));
    command.args(seconds.map(|seconds| format!("-max_total_time={seconds}")));
    command.args(args.runs.map(|runs| format!("-runs={runs}")));
    command.arg(&inputs).arg(folder.join("seeds").join(target.name));
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        say::note(&why(&text));
        let file = text.lines().find_map(|line| line.split("Test unit written to ").nth(1));
        let file = file.unwrap_or("a file that was not written");
        anyhow::bail!(
            "an input fails: {file}; see it again with `cargo xtask fuzz {} --input {file}`",
            target.name
        );
    }
    let end = Account::of(&text).context("libFuzzer gave no account of itself")?;
    say::line(&format!(
        "{}: {} inputs in {}, none failed; {} of {} edges reached, {} inputs kept{}",
        target.name,
        end.inputs,
        say::duration(begin.elapsed()),
        end.reached,
        end.edges,
        end.kept,
        happenings(program, &inputs, &folder.join("seeds").join(target.name))?,
    ));
    Ok(())
}

/// The message of a failed target, without the trace below it.
fn why(text: &str) -> String {
    let from_panic = text.lines().skip_while(|line| !line.contains("panicked at"));
    let words: Vec<&str> = from_panic
        .take_while(|line| !line.contains("stack backtrace"))
        .collect();
    match words.as_slice() {
        [] => text
            .lines()
            .rev()
            .take(20)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
            .join("\n"),
        words => words.join("\n"),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Account {
    inputs: u64,
    reached: u64,
    edges: u64,
    kept: u64,
}

impl Account {
    fn of(text: &str) -> Option<Self> {
        let number = |before: &str, line: &str| -> Option<u64> {
            let rest = line.split(before).nth(1)?.trim_start();
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        let done = text
            .lines()
            .rev()
            .find(|line| line.starts_with('#') && line.contains("DONE"))?;
        Some(Self {
            inputs: text
                .lines()
                .find_map(|line| number("stat::number_of_executed_units:", line))?,
            reached: number("cov:", done)?,
            edges: text
                .lines()
                .find_map(|line| number("(", line).filter(|_| line.contains("inline 8-bit counters")))?,
            kept: number("corp:", done)?,
        })
    }
}

/// The events in all kept inputs together, since a run in which nothing happens proves nothing.
fn happenings(program: &Path, inputs: &Path, seeds: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command
        .arg("-runs=0")
        .arg(inputs)
        .arg(seeds)
        .env("SKEIN_FUZZ_TALLY", "1");
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let mut all: Vec<(String, u64)> = Vec::new();
    for line in text
        .lines()
        .filter_map(|line| line.strip_prefix("Tally { ")?.strip_suffix(" }"))
    {
        for (name, count) in line.split(", ").filter_map(|field| field.split_once(": ")) {
            let count: u64 = count.parse().unwrap_or(0);
            match all.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += count,
                None => all.push((name.to_owned(), count)),
            }
        }
    }
    let words: Vec<String> = all.iter().map(|(name, count)| format!("{name} {count}")).collect();
    Ok(format!(", in which: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libfuzzers_account_is_read() {
        let text = "INFO: Loaded 1 modules   (24577 inline 8-bit counters): 24577 [0x5, 0x6), \n\
            #92\tINITED cov: 1 ft: 2 corp: 3/1b exec/s: 0 rss: 30Mb\n\
            #172774\tDONE   cov: 7130 ft: 15796 corp: 1409/1573Kb lim: 2053 exec/s: 2832 rss: 35Mb\n\
            stat::number_of_executed_units: 172774\n";
        let account = Account {
            inputs: 172_774,
            reached: 7130,
            edges: 24_577,
            kept: 1409,
        };
        assert_eq!(Account::of(text), Some(account));
        assert_eq!(Account::of("nothing"), None);
    }

    #[test]
    fn a_failure_is_told_in_the_targets_own_words() {
        let text = "#1 x\nthread 'a' panicked at b:\nnot so\nstack backtrace:\n 0: c\n";
        assert_eq!(why(text), "thread 'a' panicked at b:\nnot so");
    }
}
