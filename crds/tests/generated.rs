//! The YAML files of this folder are as the types make them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::process::Command;

#[test]
fn the_committed_files_are_those_of_the_types() {
    let output = Command::new(env!("CARGO_BIN_EXE_crdgen"))
        .arg("--check")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
