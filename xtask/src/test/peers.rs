//! The Python environment of the peer tests: pymavlink and MAVSDK, pinned in tests/peers/requirements.txt.
//!
//! Owns: making target/peers-venv and making it anew when the requirements change. Must not: run the peers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use tests::control_plane::workspace_root;
use tests::prerequisites::{self, Missing};

use crate::say;

/// Says which requirements the environment was made from; written last.
const MARKER: &str = "made-from.txt";

/// The oldest Python that both peers support.
const OLDEST: &str = "3.9";

/// Checks for a Python that can make virtual environments.
pub fn check_tools() -> Result<Option<String>, Missing> {
    let get = "https://www.python.org/downloads, or your distribution's package `python3`";
    let purpose = "it runs the tests against pymavlink and MAVSDK";
    let found =
        prerequisites::answer(system_python(), &["--version"]).ok_or_else(|| Missing::tool("Python", purpose, get))?;
    if prerequisites::version_numbers(&found) < prerequisites::version_numbers(OLDEST) {
        return Err(Missing::version("Python", &found, OLDEST, get));
    }
    prerequisites::answer(system_python(), &["-c", "import venv, ensurepip"]).ok_or_else(|| {
        Missing::tool(
            "Python's venv module",
            purpose,
            "your distribution's package `python3-venv`",
        )
    })?;
    Ok(Some(found))
}

/// The Python of the environment.
pub fn python() -> PathBuf {
    folder().join("bin/python")
}

/// Makes the environment unless it is there already, and returns its Python.
pub fn set_up() -> anyhow::Result<PathBuf> {
    let requirements = workspace_root().join("tests/peers/requirements.txt");
    let wanted =
        std::fs::read_to_string(&requirements).with_context(|| format!("cannot read {}", requirements.display()))?;
    let marker = folder().join(MARKER);
    if std::fs::read_to_string(&marker).is_ok_and(|made_from| made_from == wanted) {
        return Ok(python());
    }
    say::note(&format!(
        "making {} from {}",
        folder().display(),
        requirements.display()
    ));
    let mut venv = Command::new(system_python());
    venv.args(["-m", "venv", "--clear"]).arg(folder());
    super::check(venv, "the virtual environment could not be made; see above")?;
    let mut pip = Command::new(python());
    pip.args([
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--quiet",
        "--requirement",
    ])
    .arg(&requirements);
    super::check(pip, "the Python packages could not be installed; see above")?;
    std::fs::write(&marker, wanted)?;
    Ok(python())
}

fn folder() -> PathBuf {
    workspace_root().join("target/peers-venv")
}

fn system_python() -> &'static Path {
    Path::new("python3")
}
