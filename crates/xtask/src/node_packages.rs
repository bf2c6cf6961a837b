//! JavaScript packages from a lockfile.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;

use crate::{command, say};

const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

pub struct NodePackages {
    pub folder: &'static str,
    pub lists: &'static str,
}

impl NodePackages {
    pub fn place(&self) -> PathBuf {
        workspace_root().join("target").join(self.folder)
    }

    pub fn set_up(&self) -> anyhow::Result<()> {
        let (pinned, place) = (workspace_root().join(self.lists), self.place());
        let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name));
        // npm writes this file last.
        let done = place.join("node_modules/.package-lock.json").is_file();
        let same = |name: &&str| matches!((read(&pinned, name), read(&place, name)), (Ok(a), Ok(b)) if a == b);
        if done && LISTS.iter().all(same) {
            return Ok(());
        }
        say::note(&format!("making {} from {}", place.display(), pinned.display()));
        std::fs::create_dir_all(&place)?;
        for name in LISTS {
            let (from, to) = (pinned.join(name), place.join(name));
            std::fs::copy(&from, to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"])
            .current_dir(&place);
        command::succeed(npm, "the JavaScript packages could not be installed; see above")
    }
}
