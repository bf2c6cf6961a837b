//! Other people's MAVLink programs: the Python scripts in `tests/peers`, with pymavlink, MAVProxy and MAVSDK.

use crate::control_plane::workspace_root;
use anyhow::{Context, ensure};
use std::process::Command;
use std::time::Duration;

/// Set by `cargo xtask` to the Python of the environment made from `tests/peers/requirements.txt`.
const PYTHON: &str = "SKEIN_TEST_PYTHON";

pub fn python() -> anyhow::Result<std::ffi::OsString> {
    std::env::var_os(PYTHON)
        .with_context(|| format!("{PYTHON} is not set; run `cargo xtask test`, which prepares Python and sets it"))
}

/// Runs a script of `tests/peers` and returns its output. Errors, with its output: it failed or exceeded `deadline`.
pub fn run(script: &str, args: &[&str], env: &[(&str, &str)], deadline: Duration) -> anyhow::Result<String> {
    // MAVProxy writes files to its user's home.
    let home = tempfile::tempdir()?;
    let mut command = Command::new(python()?);
    command
        .args(["-B", script])
        .args(args)
        .current_dir(workspace_root().join("tests/peers"))
        .env("PYTHONUNBUFFERED", "1")
        .env("HOME", home.path())
        .envs(env.iter().copied());
    let output = crate::run::output(command, None, deadline)?;
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    ensure!(
        output.status.success(),
        "{script} {args:?} failed; it said:\n{}",
        said.concat()
    );
    Ok(said.concat())
}
