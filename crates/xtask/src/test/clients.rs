//! The Kubernetes clients for Python and JavaScript, from their registries, pinned in tests/clients.
//!
//! Owns: installing them in `target/`, and again when the pinned lists change. Must not: run them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;
use testkit::prerequisites::{self, Missing};

use crate::venv::Venv;
use crate::{command, say};

/// The client for Python.
pub const VENV: Venv = Venv {
    folder: "clients-venv",
    requirements: "tests/clients/requirements.txt",
};

/// The oldest Node.js that the client for JavaScript supports.
const OLDEST_NODE: &str = "20.0.0";

/// The package lists of the client for JavaScript.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Checks for Node.js with npm.
pub fn check_tools() -> Result<Option<String>, Missing> {
    let get = "https://nodejs.org, or your distribution's packages `nodejs` and `npm`";
    let purpose = "it runs the tests against the Kubernetes client for JavaScript";
    let found = prerequisites::answer("node", &["--version"]).ok_or_else(|| Missing::tool("Node.js", purpose, get))?;
    if prerequisites::version_numbers(&found) < prerequisites::version_numbers(OLDEST_NODE) {
        return Err(Missing::version("Node.js", &found, OLDEST_NODE, get));
    }
    prerequisites::answer("npm", &["--version"]).ok_or_else(|| Missing::tool("npm", purpose, get))?;
    Ok(Some(format!("Node.js {found}")))
}

/// The folder with the client for JavaScript.
pub fn node_folder() -> PathBuf {
    workspace_root().join("target/clients-node")
}

/// Installs both unless they are installed already.
pub fn set_up() -> anyhow::Result<()> {
    VENV.set_up()?;
    let pinned = workspace_root().join("tests/clients");
    let read = |folder: &PathBuf, name: &str| std::fs::read_to_string(folder.join(name));
    // npm writes this one last.
    let done = node_folder().join("node_modules/.package-lock.json").is_file();
    let same = |name: &&str| matches!((read(&pinned, name), read(&node_folder(), name)), (Ok(a), Ok(b)) if a == b);
    if done && LISTS.iter().all(same) {
        return Ok(());
    }
    say::note(&format!("making {} from {}", node_folder().display(), pinned.display()));
    std::fs::create_dir_all(node_folder())?;
    for name in LISTS {
        let (from, to) = (pinned.join(name), node_folder().join(name));
        std::fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
        .current_dir(node_folder());
    command::succeed(npm, "the JavaScript packages could not be installed; see above")
}
