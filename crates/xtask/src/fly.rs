//! `cargo xtask fly`: starts Skein's scenarios with real ArduCopter and PX4; `tests/tests/fly` judges by the messages.

mod matrix;

use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use matrix::Set;
use testkit::Scratch;
use testkit::autopilots::{Firmware, Stack};
use testkit::control_plane::workspace_root;
use testkit::prerequisites::Missing;

use crate::generate::{cargo, cargo_as_for_tests};
use crate::say;
use crate::test::{compile, peers};

/// Exit status when a scenario was not flown because its autopilot is missing; 1 means that a scenario failed.
const NO_AUTOPILOT: u8 = 2;

#[derive(clap::Args)]
pub struct Args {
    /// Names of scenarios, or parts of names; all if there is none.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// With this autopilot only.
    #[arg(long, value_enum)]
    autopilot: Option<Autopilot>,
    /// With programs only whose name contains this: a folder of ~/.cache/skein/autopilots, SKEIN_ARDUCOPTER or
    /// SKEIN_PX4.
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// The short set, which is a part of the tests.
    #[arg(long, conflicts_with = "scenarios")]
    short: bool,
    /// Writes the results into the table of docs/compatibility.md.
    #[arg(long, conflicts_with = "scenarios")]
    matrix: bool,
    /// Flies mixed-fleet even where there are not four versions, some of them twice.
    #[arg(long)]
    repeat_versions: bool,
    /// How much faster than real time. A scenario with times on the real clock is flown no faster than it can be
    /// judged.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    speedup: u32,
    /// Lists the scenarios and what each shows.
    #[arg(long)]
    list: bool,
}

/// An autopilot, on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum Autopilot {
    Ardupilot,
    Px4,
}

impl From<Autopilot> for Stack {
    fn from(autopilot: Autopilot) -> Self {
        match autopilot {
            Autopilot::Ardupilot => Self::ArduPilot,
            Autopilot::Px4 => Self::Px4,
        }
    }
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.list {
        let status = scenarios(args)?.arg("--list").status().context("cannot start cargo")?;
        return Ok(if status.success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    let wanted = args
        .autopilot
        .map_or(Stack::ALL.to_vec(), |autopilot| vec![autopilot.into()]);
    let found = programs(&wanted, args.program.as_deref());
    if found.programs.is_empty() && !found.is_one_incomplete {
        return Ok(ExitCode::from(NO_AUTOPILOT));
    }
    let (is_good, mut rows) = match found.programs.is_empty() {
        true => (true, Vec::new()),
        false => fly(args, &found.programs)?,
    };
    if args.matrix {
        let today = today();
        let row = |(stack, name, why): &(Stack, String, Missing)| {
            matrix::row_of_unflown(*stack, name, set(args), &today, &why.to_string())
        };
        rows.extend(found.incomplete.iter().map(row));
        let page = workspace_root().join("docs/compatibility.md");
        let text = std::fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
        std::fs::write(&page, matrix::placed(&text, &rows, &wanted)?)
            .with_context(|| format!("cannot write {}", page.display()))?;
        say::note(&format!("wrote {} rows of {}", rows.len(), page.display()));
    }
    Ok(match (is_good && !found.is_one_incomplete, found.is_one_missing) {
        (false, _) => ExitCode::FAILURE,
        (true, true) => ExitCode::from(NO_AUTOPILOT),
        (true, false) => ExitCode::SUCCESS,
    })
}

fn set(args: &Args) -> Set {
    if args.short { Set::Short } else { Set::Long }
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// Flies each program. Returns whether all of it passed, and their rows of the table.
fn fly(args: &Args, programs: &[Firmware]) -> anyhow::Result<(bool, Vec<String>)> {
    say::heading("building");
    // The profile of the tests, so that nothing is compiled twice.
    let mut build = cargo_as_for_tests("build");
    build
        .args(["--workspace", "--bins", "--test", "fly"])
        .envs(compile::as_clippy()?);
    let built = build.status()?;
    anyhow::ensure!(built.success(), "the programs do not build; see above");
    let python = match peers::VENV.set_up() {
        Ok(python) => Some(python),
        Err(error) => {
            say::note(&format!("scenarios with other ground stations will fail: {error:#}"));
            None
        }
    };
    let faults = workspace_root().join("docs").join(matrix::FAULTS);
    let faults = std::fs::read_to_string(&faults).with_context(|| format!("cannot read {}", faults.display()))?;
    let (mut is_good, mut rows) = (true, Vec::new());
    for round in rounds(programs) {
        let names: Vec<&str> = round.iter().map(|program| program.name()).collect();
        say::heading(&format!("flying {}", names.join(" and ")));
        let scratch = Scratch::new("skein-flown-")?;
        let results = scratch.path().join("results");
        let mut command = scenarios(args)?;
        command.arg("--results").arg(&results);
        command.envs(python.iter().map(|python| ("SKEIN_TEST_PYTHON", python)));
        let beside = beside(&round);
        for program in round.iter().copied().chain(&beside) {
            command.env(program.stack().variable(), program.place());
        }
        for program in &round {
            command.args(["--autopilot", program.stack().name()]);
        }
        let status = command.status().context("cannot start cargo")?;
        is_good &= status.success();
        let flown = matrix::read(&std::fs::read_to_string(&results).unwrap_or_default());
        let (set, today) = (set(args), today());
        let row = |program: &&Firmware| {
            let (stack, name) = (program.stack(), program.name());
            let row = matrix::row(stack, name, set, &today, &flown, &faults);
            row.unwrap_or_else(|| matrix::row_of_unflown(stack, name, set, &today, "no scenario came to its end"))
        };
        rows.extend(round.iter().map(row));
    }
    Ok((is_good, rows))
}

/// The program of the scenarios, with the arguments common to all rounds.
fn scenarios(args: &Args) -> anyhow::Result<std::process::Command> {
    let mut command = cargo();
    command.args(["test", "--quiet", "--workspace", "--test", "fly", "--", "--fly"]);
    command.envs(compile::as_clippy()?);
    command.envs(args.repeat_versions.then_some(("SKEIN_FLY_REPEAT_VERSIONS", "1")));
    command
        .args(["--speedup", &args.speedup.to_string()])
        .args(args.short.then_some("--short"))
        .args(&args.scenarios);
    Ok(command)
}

#[derive(Default)]
struct Programs {
    programs: Vec<Firmware>,
    /// Stack, folder or variable, and what is missing; whatever `--program` says.
    incomplete: Vec<(Stack, String, Missing)>,
    /// Of those that were asked for.
    is_one_incomplete: bool,
    is_one_missing: bool,
}

fn programs(stacks: &[Stack], named: Option<&str>) -> Programs {
    let mut all = Programs::default();
    let is_named = |name: &str| named.is_none_or(|part| name.contains(part));
    for stack in stacks {
        let found = Firmware::all(*stack);
        for (name, missing) in found.incomplete {
            say::error(&format!("{name} is not flown: {missing}"));
            all.is_one_incomplete |= is_named(&name);
            all.incomplete.push((*stack, name, missing));
        }
        let own = found.programs.into_iter();
        let own: Vec<Firmware> = own.filter(|program| is_named(program.name())).collect();
        for program in &own {
            say::note(&format!("found {}: {}", program.name(), program.place().display()));
        }
        if own.is_empty()
            && named.is_none()
            && let Err(missing) = Firmware::find(*stack)
        {
            say::error(&missing.to_string());
            all.is_one_missing = true;
        }
        all.programs.extend(own);
    }
    if all.programs.is_empty()
        && let Some(part) = named
    {
        say::error(&format!(
            "no autopilot has {part:?} in its name; leave --program out to fly all"
        ));
    }
    all
}

/// Rounds of programs that fly at the same time, at most one of each stack: each has half of a small machine.
fn rounds(programs: &[Firmware]) -> Vec<Vec<&Firmware>> {
    let stacks = Stack::ALL.map(|stack| {
        let own = programs.iter().filter(move |program| program.stack() == stack);
        own.collect::<Vec<_>>()
    });
    let count = stacks.iter().map(Vec::len).max().unwrap_or_default();
    let round = |at: usize| stacks.iter().filter_map(|own| own.get(at).copied()).collect();
    (0..count).map(round).collect()
}

/// A program of each stack that is not flown now, for fields with both.
fn beside(flown: &[&Firmware]) -> Vec<Firmware> {
    let is_flown = |stack: &Stack| flown.iter().any(|program| program.stack() == *stack);
    let others = Stack::ALL.into_iter().filter(|stack| !is_flown(stack));
    others.filter_map(|stack| Firmware::all(stack).programs.pop()).collect()
}
