//! `skein`: what a person at a terminal asks of the coordinator, and all of Skein on one machine (`up`, `demo`).
//!
//! Owns: the command line, the words and tables that people see, exit codes; composing API, coordinator, agents and
//! simulated vehicles in one process ([`station`]).
//! Must not: decide anything about flight. What shows and grounds the fleet does not speak to Kubernetes; the
//! coordinator's fleet service answers for it.

pub mod args;
pub mod changes;
pub mod data_dir;
pub mod demo;
pub mod failure;
pub mod fleet_api;
pub mod ground;
pub mod interrupt;
pub mod kill;
pub mod log;
pub mod objects;
pub mod output;
pub mod resume;
pub mod say;
pub mod screen;
pub mod server;
pub mod server_choice;
pub mod station;
pub mod status;
pub mod table;
pub mod up;
pub mod vehicle;
pub mod watch;

use args::{Cli, Command, ServerArg};
use clap::{CommandFactory, Parser};
use failure::Failure;
use output::Output;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Reads the command line, does what it says, and tells how it went.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version go to standard output with code 0; the rest is a usage error, code 2.
        Err(error) => error.exit(),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "skein: {failure}");
            failure.exit_code()
        }
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let out = Output::of_this_process();
    let Cli {
        server: ServerArg { server },
        command,
    } = cli;
    let ask = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let chosen = |after: &ServerArg| server_choice::choose(server.clone(), after.server.clone());
    match command {
        Command::Status(args) => ask()?.block_on(status::run(&chosen(&args.server)?, &args, &out)),
        Command::Watch(args) => ask()?.block_on(watch::run(&chosen(&args.server)?, &args, &out)),
        Command::Ground(args) => ask()?.block_on(ground::ground(&chosen(&args.server)?, &args)),
        Command::Release(args) => ask()?.block_on(ground::release(&chosen(&args.server)?, &args)),
        Command::Resume(args) => ask()?.block_on(resume::run(&chosen(&args.server)?, &args)),
        Command::Kill(args) => ask()?.block_on(kill::run(&chosen(&args.drone.server)?, &args)),
        Command::Up(args) => {
            server_choice::none(server.as_ref(), "up")?;
            stand(up::run(args))
        }
        Command::Demo(args) => {
            server_choice::none(server.as_ref(), "demo")?;
            stand(demo::run(args))
        }
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "skein", &mut script);
            Ok(std::io::stdout().write_all(&script)?)
        }
    }
}

/// Runs what goes on for a while and has many parts.
fn stand(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(Box::pin(work));
    // A disk that does not answer must not keep us from ending.
    runtime.shutdown_timeout(STOP_WITHIN);
    result
}
