//! `skein-replay FOLDER`: how well the simulated autopilots reproduce what recorded real ones did.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use conformance::replay::{self, Explained, Judgment, LEGEND};

/// Gives the inputs of recorded flights to simulated vehicles and compares what they answer. Ends with status 0 when
/// nothing differs that is not explained, 1 when something does, 2 when a recording or a list of explanations cannot be
/// read.
#[derive(Parser)]
#[command(name = "skein-replay", version, after_help = LEGEND)]
struct Args {
    /// Folders with NAME.tlog and NAME.jsonl files.
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// A list of known deviations, instead of explained.json in each folder.
    #[arg(long, value_name = "FILE")]
    explained: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let judgments = args.folders.iter().map(|folder| run(folder, args.explained.as_deref()));
    match judgments.max().unwrap_or(Judgment::Same) {
        Judgment::Same => ExitCode::SUCCESS,
        Judgment::Deviates => ExitCode::from(1),
        Judgment::Unreadable => ExitCode::from(2),
    }
}

fn run(folder: &Path, explained: Option<&Path>) -> Judgment {
    let complain = |error: &dyn std::fmt::Display| {
        let _ = writeln!(std::io::stderr(), "skein-replay: {error}");
        Judgment::Unreadable
    };
    let explained = match explained.map_or_else(|| Explained::in_folder(folder), Explained::read) {
        Ok(explained) => explained,
        Err(error) => return complain(&error),
    };
    let outcomes = match replay::folder(folder) {
        Ok(outcomes) => outcomes,
        Err(error) => return complain(&error),
    };
    let _ = write!(std::io::stdout(), "{}", replay::table(&outcomes, &explained));
    replay::judge(&outcomes, &explained)
}
