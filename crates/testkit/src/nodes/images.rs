//! Container images that need no registry and no builder: a tar file with one program and the libraries it needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;

use crate::run;

pub const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    "amd64"
};

const PATIENCE: Duration = Duration::from_secs(60);

/// Writes an image that runs `program`, found on its PATH by its file name, as user 65532. `folder` must be empty;
/// returns the tar file.
pub fn write(name: &str, program: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let file_name = program.file_name().context("a program has a name")?.to_string_lossy();
    let (root, inside) = (folder.join("root"), format!("usr/bin/{file_name}"));
    std::fs::create_dir_all(root.join("usr/bin"))?;
    copy_stripped(program, &root.join(&inside))?;
    for library in libraries(program)? {
        let to = root.join(library.strip_prefix("/").unwrap_or(&library));
        std::fs::create_dir_all(to.parent().unwrap_or(&root))?;
        std::fs::copy(&library, &to).with_context(|| format!("cannot copy {}", library.display()))?;
    }
    tar(folder, &["-cf", "layer.tar", "-C", "root", "."])?;
    let sum = succeed(Command::new("sha256sum").arg(folder.join("layer.tar")))?;
    let sum = sum.split(' ').next().unwrap_or_default();
    let config = json!({
        "architecture": ARCHITECTURE, "os": "linux",
        "config": {"Entrypoint": [format!("/{inside}")], "User": "65532:65532", "Env": ["PATH=/usr/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{sum}")]},
    });
    std::fs::write(folder.join("config.json"), config.to_string())?;
    let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
    std::fs::write(folder.join("manifest.json"), manifest.to_string())?;
    tar(
        folder,
        &["-cf", "image.tar", "manifest.json", "config.json", "layer.tar"],
    )?;
    std::fs::remove_dir_all(&root)?;
    std::fs::remove_file(folder.join("layer.tar"))?;
    Ok(folder.join("image.tar"))
}

/// Includes the loader itself; empty for a static program.
fn libraries(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut command = Command::new("ldd");
    command.arg(program);
    let output = run::output(command, None, PATIENCE)?;
    // `name => /path (0x…)`, or `/path (0x…)` for the loader. A static program is refused.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    Ok(words
        .map(|word| PathBuf::from(word.trim_end_matches(':')))
        .filter(|path| path != program)
        .collect())
}

/// Debug information is most of a program's size. Without `strip`, it is copied unchanged.
fn copy_stripped(from: &Path, to: &Path) -> anyhow::Result<()> {
    let stripped = succeed(Command::new("strip").arg("-o").arg(to).arg(from));
    if stripped.is_err() {
        std::fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

fn tar(folder: &Path, args: &[&str]) -> anyhow::Result<()> {
    let owner = ["--owner=0", "--group=0", "--numeric-owner"];
    succeed(Command::new("tar").args(owner).args(args).current_dir(folder)).map(drop)
}

fn succeed(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let command = std::mem::replace(command, Command::new("true"));
    let output = run::output(command, None, PATIENCE)?;
    ensure!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
