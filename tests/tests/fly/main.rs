//! Skein with real, unchanged autopilots: ArduCopter and PX4, on a wire of ours, judged by the messages on it.
//!
//! `cargo xtask fly` runs any scenario; as a test, a short set runs at five times real time, and is skipped without an
//! autopilot. Exit status: 0 all passed, 1 a failure, 2 no autopilot.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a scenario that cannot go on ends here"
)]

mod field;
mod figures;
mod modes;
mod objects;
mod parameters;
mod pilot;
mod record;
mod relay;
mod scenario;
mod scenarios;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use scenario::Scenario;
use serde_json::json;
use testkit::autopilots::{Firmware, Stack};

/// Two cores can run it beside other work.
const SHORT_SPEEDUP: u32 = 5;

const HELP: &str = "\
Flies Skein with real autopilots, ArduCopter and PX4. `cargo xtask fly` builds all programs first, and says how to get an autopilot.

usage: cargo test --test fly -- [FLAG...] [SCENARIO...]

A scenario is given by its name, or by a part of the names of several. Without any the short set is flown at five times real time, as a test.

  --fly              as `cargo xtask fly`: all scenarios unless some are named, in real time; exit status 2 if an autopilot is missing
  --short            with --fly: the short set only
  --autopilot NAME   with this autopilot only, ardupilot or px4; once for each
  --speedup N        so much faster than real time; no scenario faster than it can be judged
  --results FILE     appends each result to FILE, one JSON object a line
  --list             names the scenarios and flies none; with --fly also what each shows
  -h, --help         prints this and flies none
";

#[derive(Debug, Default)]
struct Asked {
    scenarios: Vec<String>,
    stacks: Vec<Stack>,
    speedup: Option<u32>,
    list: bool,
    help: bool,
    short: bool,
    results: Option<PathBuf>,
    by_hand: bool,
}

fn main() -> ExitCode {
    match asked(std::env::args().skip(1)).and_then(|asked| run(&asked)) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn asked(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Asked> {
    let mut asked = Asked::default();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| anyhow::anyhow!("{argument} needs a value"))
        };
        match argument.as_str() {
            "--list" => asked.list = true,
            "-h" | "--help" => asked.help = true,
            "--fly" => asked.by_hand = true,
            "--short" => asked.short = true,
            "--results" => asked.results = Some(value()?.into()),
            "--speedup" => asked.speedup = Some(value()?.parse()?),
            "--autopilot" => {
                let name = value()?;
                let stack = Stack::ALL.into_iter().find(|stack| stack.name() == name);
                asked
                    .stacks
                    .push(stack.ok_or_else(|| anyhow::anyhow!("--autopilot is ardupilot or px4, not {name}"))?);
            }
            // Options of the standard test harness, as `cargo test` passes them on.
            "--test-threads" | "--color" | "--format" | "--skip" | "-Z" => drop(value()?),
            flag if flag.starts_with('-') => {}
            name => asked.scenarios.push(name.to_owned()),
        }
    }
    if asked.stacks.is_empty() {
        asked.stacks = Stack::ALL.to_vec();
    }
    Ok(asked)
}

/// A complete name means only itself; otherwise all that contain it.
fn chosen(asked: &Asked) -> Vec<&'static Scenario> {
    let exact = |name: &String| scenarios::all().any(|scenario| scenario.name == name);
    let named = |scenario: &Scenario| {
        asked.scenarios.iter().any(|name| match exact(name) {
            true => scenario.name == name,
            false => scenario.name.contains(name.as_str()),
        })
    };
    let all = scenarios::all();
    all.filter(|s| match (asked.scenarios.is_empty(), asked.by_hand) {
        (true, true) => s.short || !asked.short,
        (true, false) => s.short,
        (false, _) => named(s),
    })
    .collect()
}

fn help() {
    say(HELP);
    for scenario in scenarios::all() {
        let set = if scenario.short { " (short set)" } else { "" };
        say(&format!("  {:<24}{}{set}", scenario.name, scenario.shows));
    }
}

fn run(asked: &Asked) -> anyhow::Result<ExitCode> {
    if asked.help {
        help();
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = chosen(asked);
    if asked.list {
        for scenario in &chosen {
            match asked.by_hand {
                true => say(&format!("{:<24}{}", scenario.name, scenario.shows)),
                false => say(&format!("{}: test", scenario.name)),
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    anyhow::ensure!(
        !chosen.is_empty() || !asked.by_hand,
        "no scenario is named {:?}; `cargo xtask fly --list` names all",
        asked.scenarios
    );
    let ended = Mutex::new(Ended::default());
    // Each autopilot has half of a small machine.
    std::thread::scope(|scope| {
        for &stack in &asked.stacks {
            let (chosen, ended) = (&chosen, &ended);
            scope.spawn(move || fly_all(stack, chosen, asked, ended));
        }
    });
    let ended = ended.into_inner().unwrap();
    ended.print();
    Ok(match (ended.failed, ended.skipped) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) if !asked.by_hand => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    })
}

fn fly_all(stack: Stack, chosen: &[&'static Scenario], asked: &Asked, ended: &Mutex<Ended>) {
    let mine: Vec<_> = chosen.iter().filter(|scenario| scenario.is_for(stack)).collect();
    let firmware = match Firmware::find(stack) {
        Ok(firmware) => firmware,
        Err(missing) => {
            if !mine.is_empty() {
                say(&format!("skipped: {} scenarios with {stack}. {missing}", mine.len()));
                ended.lock().unwrap().skipped += mine.len();
            }
            return;
        }
    };
    for scenario in mine {
        let usual = if asked.by_hand { 1 } else { SHORT_SPEEDUP };
        let speedup = asked.speedup.unwrap_or(usual).min(scenario.fastest);
        let begun = Instant::now();
        let (figures, build, result) = scenario.fly(&firmware, speedup);
        if let Some(path) = &asked.results {
            let verdict = result.as_ref().err().map(verdict).unwrap_or_default();
            let (version, commit) = build.unzip();
            let line = json!({
                "stack": stack.name(), "scenario": scenario.name, "ok": result.is_ok(),
                "verdict": verdict, "version": version, "commit": commit,
            });
            if let Err(error) = append(path, &line.to_string()) {
                say(&format!("error: cannot write {}: {error}", path.display()));
            }
        }
        let row = format!(
            "{:<12}{:<24}{stack:<10}{:>4} s  x{speedup}  {figures}",
            if result.is_ok() { "ok" } else { "FALLS SHORT" },
            scenario.name,
            begun.elapsed().as_secs()
        );
        ended.lock().unwrap().take(row, result);
    }
}

fn verdict(error: &anyhow::Error) -> String {
    let parts = error.chain().skip(usize::from(error.chain().len() > 1));
    parts.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// In one write, as both stacks write there.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

#[derive(Default)]
struct Ended {
    rows: Vec<String>,
    failed: usize,
    skipped: usize,
}

impl Ended {
    fn take(&mut self, row: String, result: anyhow::Result<()>) {
        say(&row);
        self.rows.push(row);
        if let Err(error) = result {
            self.failed += 1;
            self.rows.push(format!("            {}", verdict(&error)));
            error.chain().for_each(|cause| say(&format!("    {cause}")));
        }
    }

    fn print(&self) {
        if !self.rows.is_empty() {
            say("");
        }
        for row in &self.rows {
            say(row);
        }
        let flown = self.rows.iter().filter(|row| !row.starts_with(' ')).count();
        say(&format!(
            "{flown} flown, {} fall short, {} skipped",
            self.failed, self.skipped
        ));
    }
}
