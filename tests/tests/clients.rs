//! Kubernetes' own clients for Python and JavaScript, which judge the answers of a real API server and the embedded
//! one, and MCP servers, which may only plan.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use testkit::control_plane::workspace_root;
use testkit::{ControlPlane, Embedded, Scratch};

const PATIENCE: Duration = Duration::from_secs(600);

static KUBERNETES: LazyLock<ControlPlane> = LazyLock::new(|| {
    let manifests = ["crds", "deploy/namespace.yaml", "deploy/roles.yaml"];
    ControlPlane::builder().manifests(manifests).start().unwrap()
});

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

fn run(mut command: Command, kubeconfig: &Path) {
    command.env("KUBECONFIG", kubeconfig);
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
    command.arg("-B").arg(program("fleet.py")).arg("python");
    run(command, kubeconfig);
}

fn javascript(kubeconfig: &Path) {
    // Node.js searches for packages beside the program.
    static COPY: LazyLock<PathBuf> = LazyLock::new(|| {
        let copy = prepared("SKEIN_TEST_CLIENTS_NODE").join("fleet.mjs");
        std::fs::copy(program("fleet.mjs"), &copy).unwrap();
        copy
    });
    let mut command = Command::new("node");
    command.arg(&*COPY).arg("javascript");
    run(command, kubeconfig);
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

#[test]
fn mcp_servers_read_and_plan_as_their_page_says_and_command_nothing() {
    let scratch = Scratch::new("skein-mcp-").unwrap();
    let mut command = Command::new(prepared("SKEIN_TEST_CLIENTS_PYTHON"));
    command.arg("-B").arg(program("use_mcp_servers.py"));
    command.arg(workspace_root()).arg(prepared("SKEIN_TEST_CLIENTS_NODE"));
    // They run the kubectl that they find, and the person's own configuration is not theirs to read.
    let path = std::env::var_os("PATH").unwrap();
    let kubectl = KUBERNETES.binaries().folder().to_owned();
    let folders = std::iter::once(kubectl).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders).unwrap());
    command.env("GOMAXPROCS", "1").env("KUBERC", "off");
    command.env("HOME", scratch.path()).current_dir(scratch.path());
    run(command, KUBERNETES.kubeconfig());
}
