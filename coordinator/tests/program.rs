//! The program `skein-coordinator`: errors at its start.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::process::Command;

#[test]
fn a_coordinator_without_a_cluster_says_so_and_ends() {
    let output = Command::new(env!("CARGO_BIN_EXE_skein-coordinator"))
        .env_clear()
        .env("KUBECONFIG", "/no/such/kubeconfig")
        .args([
            "--listen",
            "127.0.0.1:0",
            "--namespace",
            "skein-system",
            "--insecure-plaintext",
        ])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{told}");
    assert!(told.contains("/no/such/kubeconfig"), "{told}");
}
