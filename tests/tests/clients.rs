//! Kubernetes' own clients for Python and JavaScript, which judge the answers of a real API server and the embedded
//! one.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use testkit::{ControlPlane, Embedded};

const PATIENCE: Duration = Duration::from_secs(120);

static KUBERNETES: LazyLock<ControlPlane> =
    LazyLock::new(|| ControlPlane::builder().manifests(["crds"]).start().unwrap());

static EMBEDDED: LazyLock<Embedded> = LazyLock::new(|| Embedded::start().unwrap());

fn prepared(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable);
    value.map(PathBuf::from).unwrap_or_else(|| {
        panic!("{variable} is not set; run `cargo xtask test`, which installs the clients and sets it")
    })
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(name)
}

fn run(mut command: Command, namespace: &str, kubeconfig: &Path) {
    command.arg(namespace).env("KUBECONFIG", kubeconfig);
    let output = testkit::run::output(command, None, PATIENCE).unwrap();
    let printed = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    assert!(
        output.status.success() && printed.contains("all is well"),
        "it said:\n{printed}"
    );
}

fn python(kubeconfig: &Path) {
    let mut command = Command::new(prepared("SKEIN_TEST_CLIENTS_PYTHON"));
    command.arg("-B").arg(program("fleet.py"));
    run(command, "python", kubeconfig);
}

fn javascript(kubeconfig: &Path) {
    // Node.js searches for packages beside the program.
    static COPY: LazyLock<PathBuf> = LazyLock::new(|| {
        let copy = prepared("SKEIN_TEST_CLIENTS_NODE").join("fleet.mjs");
        std::fs::copy(program("fleet.mjs"), &copy).unwrap();
        copy
    });
    let mut command = Command::new("node");
    command.arg(&*COPY);
    run(command, "javascript", kubeconfig);
}

#[test]
fn the_python_client_works_against_a_real_api_server() {
    python(KUBERNETES.kubeconfig());
}

#[test]
fn the_python_client_works_against_the_embedded_api() {
    python(EMBEDDED.kubeconfig());
}

#[test]
fn the_javascript_client_works_against_a_real_api_server() {
    javascript(KUBERNETES.kubeconfig());
}

#[test]
fn the_javascript_client_works_against_the_embedded_api() {
    javascript(EMBEDDED.kubeconfig());
}
