//! A copy of the work tree, in which one rule at a time is broken.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::table::Mutation;

pub struct Tree {
    root: PathBuf,
    target: PathBuf,
}

/// Restores the file when dropped.
#[derive(Debug)]
pub struct Broken {
    file: PathBuf,
    whole: String,
}

impl Drop for Broken {
    fn drop(&mut self) {
        // The next copy would restore it, too.
        let _ = std::fs::write(&self.file, &self.whole);
    }
}

impl Tree {
    /// Copies the work tree, with changes that are not committed.
    pub fn copy() -> anyhow::Result<Self> {
        let workspace = testkit::control_plane::workspace_root();
        let target = workspace.join("target").join("mutate");
        let root = target.join("tree");
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(workspace)
            .output()
            .context("cannot start git, which lists the files to copy")?;
        anyhow::ensure!(
            listed.status.success(),
            "git cannot list the files: {}",
            String::from_utf8_lossy(&listed.stderr)
        );
        let listed = String::from_utf8(listed.stdout).context("a file's name is not UTF-8")?;
        let names: BTreeSet<&str> = listed.split('\0').filter(|name| !name.is_empty()).collect();
        remove_others(&root, &root, &names)?;
        for name in names {
            // A file that was deleted and not committed is still listed.
            if let Ok(bytes) = std::fs::read(workspace.join(name)) {
                write_if_other(&root.join(name), &bytes).with_context(|| format!("cannot copy {name}"))?;
            }
        }
        Ok(Self {
            root,
            target: target.join("build"),
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Breaks the rule until the result is dropped.
    pub fn break_it(&self, mutation: &Mutation) -> anyhow::Result<Broken> {
        let file = self.root.join(mutation.file);
        let whole = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", mutation.file))?;
        let found = whole.matches(mutation.find).count();
        anyhow::ensure!(
            found == 1,
            "{} holds the text to break {found} times, not once; bring the table up to date: {:?}",
            mutation.file,
            mutation.find
        );
        std::fs::write(&file, whole.replacen(mutation.find, mutation.replace, 1))?;
        Ok(Broken { file, whole })
    }
}

/// Removes files that the tree no longer has: an old test file would be found and run.
fn remove_others(root: &Path, folder: &Path, names: &BTreeSet<&str>) -> anyhow::Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(root, &path, names)?;
        } else if path
            .strip_prefix(root)
            .is_ok_and(|name| name.to_str().is_none_or(|name| !names.contains(name)))
        {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Leaves unchanged files their time, so that cargo does not build them again.
fn write_if_other(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if std::fs::read(file).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, bytes)
}
