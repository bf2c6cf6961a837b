//! `skein-replay FOLDER`: how far the simulated autopilots do what recorded real ones did.
//!
//! Owns: the command line. Must not: compare.

use clap::Parser;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Gives the inputs of recorded flights to simulated vehicles and compares what they answer. Ends with status 0 when
/// nothing differs, 1 when something does, 2 when a recording cannot be read.
#[derive(Parser)]
#[command(name = "skein-replay", version)]
struct Args {
    /// Folders with NAME.tlog and NAME.jsonl files.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for folder in Args::parse().folders {
        match sitl::replay::folder(&folder) {
            Ok(replays) => {
                let _ = write!(std::io::stdout(), "{}", sitl::replay::table(&replays));
                if replays.iter().any(|(_, comparison)| !comparison.is_same()) {
                    code = ExitCode::FAILURE;
                }
            }
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "skein-replay: {error}");
                return ExitCode::from(2);
            }
        }
    }
    code
}
