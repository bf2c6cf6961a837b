//! The Kubernetes clients for Python and JavaScript and the MCP servers, pinned in tests/clients, and the object store
//! of tests/object-store.

use testkit::prerequisites::{self, Missing};

use crate::node_packages::NodePackages;
use crate::venv::Venv;

pub const VENV: Venv = Venv {
    folder: "clients-venv",
    requirements: "tests/clients/requirements.txt",
};

const OLDEST_NODE: &str = "20.0.0";

pub const NODE: NodePackages = NodePackages {
    folder: "clients-node",
    lists: "tests/clients",
};

pub const OBJECT_STORE: NodePackages = NodePackages {
    folder: "object-store",
    lists: "tests/object-store",
};

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

pub fn set_up() -> anyhow::Result<()> {
    VENV.set_up()?;
    NODE.set_up()?;
    OBJECT_STORE.set_up()
}
