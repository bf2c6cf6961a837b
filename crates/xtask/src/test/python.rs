//! Checks by programs in Python: the site of the documents, and the SDK.

use std::process::Command;

use testkit::control_plane::{Binaries, workspace_root};
use testkit::launch::workspace_binary;

use crate::command;

/// Fails on a link that leads nowhere.
pub fn site() -> anyhow::Result<()> {
    let mut site = Command::new("python3");
    site.arg("docs/site.py").current_dir(workspace_root());
    command::succeed(site, "the site does not build: run `python3 docs/site.py`")
}

/// Checks the SDK with the programs that were built, on the embedded API and on a real one.
pub fn sdk() -> anyhow::Result<()> {
    let mut check = Command::new("sh");
    check
        .arg("sdk/python/check.sh")
        .env("SKEIN_BIN", workspace_binary("skein")?)
        .env("KUBEBUILDER_ASSETS", Binaries::find_or_build()?.folder())
        .current_dir(workspace_root());
    command::succeed(check, "run `SKEIN_BIN=target/debug/skein sdk/python/check.sh`")
}
