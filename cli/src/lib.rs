//! `skein`: what a person at a terminal asks of the coordinator.
//!
//! Owns: the command line, the words and tables that people see, exit codes.
//! Must not: decide anything about flight, or speak to Kubernetes; the coordinator's fleet service answers for both.

pub mod args;
pub mod changes;
pub mod failure;
pub mod ground;
pub mod output;
pub mod screen;
pub mod server;
pub mod status;
pub mod table;
pub mod vehicle;
pub mod watch;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use failure::Failure;
use output::Output;
use std::io::Write;
use std::process::ExitCode;

/// Reads the command line, does what it says, and tells how it went.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version go to standard output with code 0; the rest is a usage error, code 2.
        Err(error) => error.exit(),
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "skein: {failure}");
            failure.exit_code()
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    let out = Output::of_this_process();
    if let Command::Completion { shell } = cli.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "skein", &mut script);
        return Ok(std::io::stdout().write_all(&script)?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match &cli.command {
            Command::Status(args) => status::run(&cli.server, args, &out).await,
            Command::Watch(args) => watch::run(&cli.server, args, &out).await,
            Command::Ground(args) => ground::ground(&cli.server, args).await,
            Command::Release(args) => ground::release(&cli.server, args).await,
            Command::Completion { .. } => Ok(()),
        }
    })
}
