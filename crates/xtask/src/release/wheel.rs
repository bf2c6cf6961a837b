//! The wheel: the programs and the Python package in one file that pip installs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;

use crate::command::output;
use crate::image::Made;
use crate::image::program::Arch;
use crate::venv::Venv;

const VENV: Venv = Venv {
    folder: "wheel-venv",
    requirements: "sdk/python/requirements-wheel.txt",
};

pub fn set_up() -> anyhow::Result<PathBuf> {
    VENV.set_up()
}

/// Versions on which the compressed bytes depend, besides the pinned packages.
pub fn versions(python: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut ask = Command::new(python);
    ask.args([
        "-c",
        "import platform, zlib; print(platform.python_version(), zlib.ZLIB_RUNTIME_VERSION)",
    ]);
    let said = output(ask)?;
    let names = ["python", "zlib"].map(str::to_owned);
    Ok(names
        .into_iter()
        .zip(said.split_whitespace().map(str::to_owned))
        .collect())
}

/// The wheel's name and content; `time` is in seconds since 1970. The texts are those of the first program, which links
/// the most.
pub fn build(python: &Path, arch: Arch, programs: &[&Made], time: u64) -> anyhow::Result<(String, Vec<u8>)> {
    let scratch = tempfile::tempdir()?;
    let mut tool = Command::new(python);
    tool.arg(workspace_root().join("sdk/python/tools/wheel.py"))
        .env("SOURCE_DATE_EPOCH", time.to_string());
    for (index, made) in programs.iter().enumerate() {
        for file in &made.files {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            let path = scratch.path().join(name);
            let is_program = file.mode == 0o755;
            if index > 0 && !is_program {
                continue;
            }
            std::fs::write(&path, &file.content).with_context(|| format!("cannot write {}", path.display()))?;
            match name {
                _ if is_program => tool.arg(path),
                "LICENSE" => continue,
                "sbom.spdx.json" => tool.arg("--sbom").arg(path),
                _ => tool.arg("--license").arg(path),
            };
        }
    }
    let out = scratch.path().join("out");
    tool.args(["--arch", arch.name(), "--out"]).arg(&out);
    let written = output(tool)?;
    let path = Path::new(written.trim());
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("the tool for wheels says {written:?}, not where the wheel is"))?;
    let version = programs.first().map_or("", |made| made.version.as_str());
    anyhow::ensure!(
        name.starts_with(&format!("skein_fleet-{version}-")),
        "the wheel is {name}, and the programs have version {version}: give sdk/python/pyproject.toml the same"
    );
    let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok((name.to_owned(), content))
}
