//! Compiles the workspace once: programs, tests and benches, with clippy in the compiler's place.
//!
//! `cargo clippy` puts `clippy-driver` in the place of rustc for a *check*, whose results no build can use; in a
//! *build* it gives the same lints and the programs too. A separate `cargo build` would compile everything again,
//! without what only tests need; so each crate with a program has a folder of tests, for which cargo builds the
//! program.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use serde_json::Value;
use testkit::control_plane::workspace_root;
use testkit::prerequisites;

use crate::generate::cargo;

/// Form in which `cargo clippy -- -D warnings` passes its arguments to the driver.
const DENY_WARNINGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestProgram {
    pub package: String,
    /// Name of the test, or of the library or program that it tests.
    pub target: String,
    pub executable: PathBuf,
    pub args: Vec<String>,
    /// The folder in which cargo would run it.
    pub folder: PathBuf,
}

/// Returns the test programs. The error: something does not compile or lint; the compiler has printed what.
pub fn run() -> anyhow::Result<Vec<TestProgram>> {
    let mut command = cargo();
    command
        .args(["test", "--workspace", "--all-targets", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .envs(as_clippy()?)
        .stderr(Stdio::inherit());
    let output = command.output().context("cannot start cargo")?;
    anyhow::ensure!(
        output.status.success(),
        "the workspace does not build, or clippy has remarks; see above"
    );
    let output = String::from_utf8_lossy(&output.stdout);
    Ok(output.lines().filter_map(test_program).chain([examples()]).collect())
}

/// The environment in which cargo finds everything that [`run`] has compiled.
pub fn as_clippy() -> anyhow::Result<[(&'static str, PathBuf); 2]> {
    Ok([
        ("RUSTC_WORKSPACE_WRAPPER", clippy_driver()?),
        ("CLIPPY_ARGS", DENY_WARNINGS.into()),
    ])
}

/// The examples in the documentation; cargo itself compiles and runs them.
fn examples() -> TestProgram {
    TestProgram {
        package: "workspace".to_owned(),
        target: "examples".to_owned(),
        executable: cargo().get_program().into(),
        args: ["test", "--doc", "--workspace"].map(str::to_owned).to_vec(),
        folder: workspace_root().to_owned(),
    }
}

/// The driver of the toolchain that compiles, beside its rustc.
fn clippy_driver() -> anyhow::Result<PathBuf> {
    let sysroot = prerequisites::answer("rustc", &["--print", "sysroot"]).context("rustc does not say where it is")?;
    let beside = Path::new(sysroot.trim()).join("bin/clippy-driver");
    Ok(if beside.is_file() {
        beside
    } else {
        "clippy-driver".into()
    })
}

fn test_program(message: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(message).ok()?;
    let target = &message["target"];
    let is_bench = target["kind"].as_array()?.iter().any(|kind| kind == "bench");
    if message["profile"]["test"] != true || is_bench {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(TestProgram {
        package: folder.file_name()?.to_str()?.to_owned(),
        target: target["name"].as_str()?.to_owned(),
        executable: message["executable"].as_str()?.into(),
        args: Vec::new(),
        folder: folder.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, test: bool) -> String {
        serde_json::json!({
            "reason": "compiler-artifact", "manifest_path": "/skein/fleet/Cargo.toml",
            "target": {"kind": [kind], "name": "fleet"}, "profile": {"test": test}, "executable": "/skein/target/fleet-1",
        })
        .to_string()
    }

    #[test]
    fn only_programs_with_tests_in_them_are_taken() {
        let taken = test_program(&message("lib", true)).unwrap();
        assert_eq!((taken.package.as_str(), taken.target.as_str()), ("fleet", "fleet"));
        assert_eq!(taken.folder, Path::new("/skein/fleet"));
        assert_eq!(test_program(&message("bin", false)), None);
        assert_eq!(test_program(&message("bench", true)), None);
        assert_eq!(test_program("not JSON"), None);
        assert_eq!(test_program(r#"{"reason": "build-finished", "success": true}"#), None);
    }
}
