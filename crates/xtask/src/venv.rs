//! A Python virtual environment created from a list of pinned packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;
use testkit::prerequisites::{self, Missing};

use crate::command;
use crate::say;

/// Names the list that the environment was created from; written last.
const MARKER: &str = "made-from.txt";

const OLDEST: &str = "3.11";

pub struct Venv {
    pub folder: &'static str,
    pub requirements: &'static str,
}

impl Venv {
    pub fn python(&self) -> PathBuf {
        self.place().join("bin/python")
    }

    /// Returns its Python.
    pub fn set_up(&self) -> anyhow::Result<PathBuf> {
        let requirements = workspace_root().join(self.requirements);
        let wanted = std::fs::read_to_string(&requirements)
            .with_context(|| format!("cannot read {}", requirements.display()))?;
        let marker = self.place().join(MARKER);
        if std::fs::read_to_string(&marker).is_ok_and(|made_from| made_from == wanted) {
            return Ok(self.python());
        }
        say::note(&format!(
            "making {} from {}",
            self.place().display(),
            requirements.display()
        ));
        let mut venv = Command::new(system_python());
        venv.args(["-m", "venv", "--clear"]).arg(self.place());
        command::succeed(venv, "the virtual environment could not be made; see above")?;
        let mut pip = Command::new(self.python());
        pip.args([
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--quiet",
            "--requirement",
        ])
        .arg(&requirements);
        command::succeed(pip, "the Python packages could not be installed; see above")?;
        std::fs::write(&marker, wanted)?;
        Ok(self.python())
    }

    fn place(&self) -> PathBuf {
        workspace_root().join("target").join(self.folder)
    }
}

/// Checks for a Python that can create virtual environments; `purpose` is the reason in the message.
pub fn check_tools(purpose: &str) -> Result<Option<String>, Missing> {
    let get = "https://www.python.org/downloads, or your distribution's package `python3`";
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

fn system_python() -> &'static Path {
    Path::new("python3")
}
