//! `cargo xtask mutate`: breaks each safety invariant on purpose, one rule at a time, and checks that a test fails.
//!
//! Must not: change the work tree, or count a mutation as detected that has no match in the code or does not compile.

mod table;
mod tree;

use std::ffi::OsString;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::say;
use table::Mutation;
use tree::Tree;

/// A longer test run hangs, which counts as detected, too.
const DEADLINE: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub struct Args {
    /// Only those that the quick tests of `fleet` and `agent` must detect.
    #[arg(long)]
    quick: bool,
    /// Only the few that continuous integration has time for.
    #[arg(long, conflicts_with = "quick")]
    short: bool,
    /// Only mutations of which the name contains this.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

enum End {
    Noticed(Vec<String>),
    Survived,
}

/// The error: a mutation survives or cannot be tried.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let chosen: Vec<&Mutation> = table::MUTATIONS
        .iter()
        .filter(|m| !args.quick || m.quick())
        .filter(|m| !args.short || table::SHORT.contains(&m.name))
        .filter(|m| args.only.as_ref().is_none_or(|part| m.name.contains(part.as_str())))
        .collect();
    anyhow::ensure!(!chosen.is_empty(), "there is no such mutation");
    let tree = Tree::copy()?;
    let begin = Instant::now();
    say::heading("unbroken, all tests must be green");
    let mut suites: Vec<&[&str]> = chosen.iter().map(|m| m.tests).collect();
    suites.sort_unstable();
    suites.dedup();
    for suite in suites {
        anyhow::ensure!(builds(&tree, suite)?, "cargo test {} does not compile", suite.join(" "));
        let red = red_tests(&tree, suite)?;
        anyhow::ensure!(
            red.is_none(),
            "cargo test {} is red before anything is broken",
            suite.join(" ")
        );
    }
    say::heading(&format!("{} mutations", chosen.len()));
    let mut survived = Vec::new();
    for mutation in &chosen {
        match one(&tree, mutation).with_context(|| format!("mutation {:?}", mutation.name))? {
            End::Noticed(tests) => {
                let first = tests.first().map_or("a test that hangs", String::as_str);
                let more = match tests.len() {
                    0 | 1 => String::new(),
                    count => format!(" and {} more", count - 1),
                };
                say::line(&format!(
                    "invariant {:<2}  {}: noticed by {first}{more}",
                    mutation.invariant, mutation.name
                ));
            }
            End::Survived => {
                say::line(&format!(
                    "invariant {:<2}  {}: SURVIVED",
                    mutation.invariant, mutation.name
                ));
                survived.push(mutation.name);
            }
        }
    }
    say::heading(&format!(
        "{} mutations, {} survived, {}",
        chosen.len(),
        survived.len(),
        say::duration(begin.elapsed())
    ));
    anyhow::ensure!(survived.is_empty(), "no test noticed: {}", survived.join(", "));
    Ok(())
}

fn one(tree: &Tree, mutation: &Mutation) -> anyhow::Result<End> {
    let _broken = tree.break_it(mutation)?;
    anyhow::ensure!(
        builds(tree, mutation.tests)?,
        "it does not compile, so it proves nothing; correct the table"
    );
    Ok(match red_tests(tree, mutation.tests)? {
        Some(tests) => End::Noticed(tests),
        None => End::Survived,
    })
}

/// The tests that fail: `None` if all pass, empty when the run hangs.
fn red_tests(tree: &Tree, tests: &[&str]) -> anyhow::Result<Option<Vec<String>>> {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=10", &DEADLINE.as_secs().to_string()])
        .arg(cargo());
    let output = run_in(tree, command.args(["test", "--no-fail-fast"]).args(tests))?;
    if output.status.success() {
        return Ok(None);
    }
    const HANGS: i32 = 124;
    let text = String::from_utf8_lossy(&output.stdout);
    let red: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .map(str::to_owned)
        .collect();
    let hangs = output.status.code() == Some(HANGS);
    anyhow::ensure!(
        hangs || !red.is_empty(),
        "cargo test {} failed, but no test did: {}",
        tests.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Some(red))
}

/// Builds without a deadline, as the length of a build says nothing of the tests.
fn builds(tree: &Tree, tests: &[&str]) -> anyhow::Result<bool> {
    let mut command = Command::new(cargo());
    let output = run_in(tree, command.args(["test", "--no-run"]).args(tests))?;
    Ok(output.status.success())
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn run_in(tree: &Tree, command: &mut Command) -> anyhow::Result<Output> {
    command.current_dir(tree.root()).env("CARGO_TARGET_DIR", tree.target());
    command.env("RUST_BACKTRACE", "0");
    // One crate is built again and again with one line changed, and nobody debugs it.
    command
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "none");
    command.output().context("cannot start cargo")
}
