//! Checks that the same sources give the same image wherever they are built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;

use super::compile::Tree;
use super::compiler::Compiler;
use super::program::{Arch, Program};
use super::revision::Revision;
use super::{layout, make};
use crate::command::output;
use crate::say;

/// Paths of different lengths, as a path's length can shift the bytes after it.
const FOLDERS: [&str; 2] = ["one", "another/of-a-longer-name"];

pub fn run(
    programs: &BTreeSet<Program>,
    arches: &[Arch],
    revision: &Revision,
    compiler: &Compiler,
) -> anyhow::Result<()> {
    let scratch = tempfile::Builder::new().prefix("skein-image-check-").tempdir()?;
    let trees: Vec<Tree> = FOLDERS
        .iter()
        .map(|folder| copy(workspace_root(), &scratch.path().join(folder)))
        .collect::<Result<_, _>>()?;
    for program in programs {
        for arch in arches {
            let mut digests = Vec::new();
            for tree in &trees {
                say::heading(&format!(
                    "{} for {} in {}",
                    program.name(),
                    arch.name(),
                    tree.root.display()
                ));
                let made = make(tree, *program, *arch, revision, compiler)?;
                let archive = layout::archive(&[&made.image], program.name(), &made.version)?;
                digests.push((made.image.digest().to_owned(), layout::digest(&archive)));
                say::note(made.image.digest());
            }
            anyhow::ensure!(
                digests.windows(2).all(|pair| pair[0] == pair[1]),
                "{} for {} differs between two folders: {digests:?}",
                program.name(),
                arch.name()
            );
            say::line(&format!(
                "{} for {}: the same in both folders",
                program.name(),
                arch.name()
            ));
        }
    }
    Ok(())
}

/// Copies the files that git tracks or would add, in their present state.
fn copy(from: &Path, to: &Path) -> anyhow::Result<Tree> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(from);
    let names = output(git).context("--check needs git and its repository to know which files are sources")?;
    let (root, target) = (to.join("sources"), to.join("built"));
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let (source, copy) = (from.join(name), root.join(name));
        // Deleted, but still in git's index.
        if !source.is_file() {
            continue;
        }
        let folder = copy.parent().map(PathBuf::from).unwrap_or_default();
        std::fs::create_dir_all(&folder)?;
        std::fs::copy(&source, &copy).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(Tree {
        root,
        target,
        settings: &[],
    })
}
