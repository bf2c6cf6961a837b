//! `cargo xtask picture`: the picture of the README, a recording of the real `skein demo`.

mod record;
mod svg;

use std::path::{Path, PathBuf};

use anyhow::Context;
use testkit::control_plane::workspace_root;

use crate::command;
use crate::generate::cargo;
use crate::say;

/// Bytes; a page with the picture must open quickly.
const LARGEST: usize = 150_000;

#[derive(clap::Args)]
pub struct Args {
    /// The program `skein` to record; without it, it is built (`cargo build --release`).
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The file of the picture.
    #[arg(long, default_value = "docs/images/demo.svg", value_name = "FILE")]
    out: PathBuf,
}

/// Takes about two minutes, as long as the demo flies.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => built()?,
    };
    // The demo prints where its program is, which must not name a person's folder.
    let scratch = tempfile::Builder::new().prefix("skein-").tempdir()?;
    let copy = scratch.path().join("skein");
    std::fs::copy(&program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
    say::heading("recording `skein demo`");
    let recording = record::record(&copy, scratch.path())?;
    let picture = svg::picture(&recording);
    anyhow::ensure!(
        picture.len() <= LARGEST,
        "the picture has {} bytes, and {LARGEST} are the most: record fewer frames (`EVERY` in picture/record.rs)",
        picture.len()
    );
    write(&args.out, &picture)?;
    say::note(&format!(
        "{} frames, {} kB",
        recording.frames.len(),
        picture.len() / 1000
    ));
    say::line(&args.out.display().to_string());
    Ok(())
}

fn built() -> anyhow::Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--release", "--package", "skein-cli"]);
    command::succeed(build, "skein does not build; see above")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(workspace_root().join(target).join("release/skein"))
}

fn write(path: &Path, picture: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, picture).with_context(|| format!("cannot write {}", path.display()))
}
