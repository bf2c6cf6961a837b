//! The manifests in `deploy/` and their chart, on a real API server with the DaemonSet controller and the scheduler. No
//! workload runs, as there is no kubelet.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chart;
mod cron_job;
mod install;
mod late_device;
mod network;
mod older_crds;
mod pods;
mod programs;
mod rights;

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use testkit::control_plane::workspace_root;
use testkit::{ControlPlane, Helm, manifests, wait_for};

const SYSTEM: &str = "skein-system";
const DRONE: (&str, &str) = ("node-role.kubernetes.io/drone", "");

static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    let plane = ControlPlane::start().unwrap();
    let args = ["apply", "--server-side", "--validate=strict", "-k", &folder("deploy")];
    plane.kubectl().run(args).unwrap();
    plane
});

static HELM: LazyLock<Helm> = LazyLock::new(|| Helm::find_or_build().unwrap());

fn rendered(settings: &[&str]) -> String {
    manifests::template(&HELM, settings).unwrap()
}

fn objects(manifests: &str) -> Vec<Value> {
    let args = [
        "create",
        "--dry-run=client",
        "--validate=strict",
        "-o",
        "json",
        "-f",
        "-",
    ];
    let text = PLANE.kubectl().run_with(args, manifests).unwrap();
    let objects: Vec<Value> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .map(Result::unwrap)
        .collect();
    match objects.as_slice() {
        [list] if list["kind"] == "List" => list["items"].as_array().unwrap().clone(),
        _ => objects,
    }
}

fn object<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let mut found = objects
        .iter()
        .filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    let object = found.next().unwrap();
    assert!(found.next().is_none(), "{kind} {name} is there twice");
    object
}

fn folder(name: &str) -> String {
    workspace_root().join(name).to_string_lossy().into_owned()
}

fn kubectl(args: &[&str]) -> String {
    PLANE.kubectl().run(args).unwrap()
}

fn kubectl_line(line: &str) -> String {
    kubectl(&line.split(' ').collect::<Vec<_>>())
}

fn pod_template(workload: &str) -> Value {
    let object = PLANE.kubectl().json(["-n", SYSTEM, "get", workload]).unwrap();
    object["spec"]["template"].clone()
}

#[test]
fn exactly_the_drone_nodes_get_an_agent_and_the_coordinator_stays_off_them() {
    let agent = |node| ("skein-agent", node);
    let coordinators = [("skein-coordinator", "server-1"); 2];
    PLANE.create_nodes(&["drone-1", "drone-2"], &[DRONE]).unwrap();
    PLANE.create_nodes(&["server-1"], &[]).unwrap();
    wait_for_pods(&[[agent("drone-1"), agent("drone-2")], coordinators].concat());

    // The value of the label does not matter; a node is a drone node as soon as it has the label.
    PLANE.create_node("drone-3", &[(DRONE.0, "true")]).unwrap();
    PLANE.create_node("drone-4", &[]).unwrap();
    kubectl(&["label", "node", "drone-4", "node-role.kubernetes.io/drone=quad-250"]);
    let four = ["drone-1", "drone-2", "drone-3", "drone-4"].map(agent);
    wait_for_pods(&[four.as_slice(), &coordinators].concat());

    // Whatever happens to a drone node, its agent stays: the vehicle may be flying.
    kubectl(&["cordon", "drone-1"]);
    for (node, taint) in [
        ("drone-2", "maintenance=now:NoExecute"),
        ("drone-3", "node.kubernetes.io/unreachable:NoExecute"),
        ("drone-4", "node.kubernetes.io/not-ready:NoExecute"),
    ] {
        kubectl(&["taint", "node", node, taint]);
    }
    // A node that is cordoned and reserved before it becomes a drone node still gets its agent.
    PLANE.create_node("drone-5", &[]).unwrap();
    kubectl(&["cordon", "drone-5"]);
    kubectl(&["taint", "node", "drone-5", "reserved=drones:NoSchedule"]);
    kubectl(&["label", "node", "drone-5", "node-role.kubernetes.io/drone="]);
    let five = [four.as_slice(), &[agent("drone-5")]].concat();
    wait_for_pods(&[five.as_slice(), &coordinators].concat());

    // On a node that is no longer a drone node the agent is deleted; it lands its vehicle first.
    kubectl(&["label", "node", "drone-5", "node-role.kubernetes.io/drone-"]);
    wait_for_pods(&[four.as_slice(), &coordinators].concat());
}

fn wait_for_pods(wanted: &[(&str, &str)]) {
    let mut wanted = wanted.to_vec();
    wanted.sort_unstable();
    wait_for(format!("pods as in {wanted:?}"), Duration::from_secs(60), || {
        let pods = PLANE.kubectl().json(["get", "pods", "-n", SYSTEM])?;
        let here = pods["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|pod| !pod["metadata"]["deletionTimestamp"].is_string());
        let mut seen: Vec<(&str, &str)> = here
            .map(|pod| {
                let app = pod["metadata"]["labels"]["app.kubernetes.io/name"].as_str();
                (
                    app.unwrap_or_default(),
                    pod["spec"]["nodeName"].as_str().unwrap_or_default(),
                )
            })
            .collect();
        seen.sort_unstable();
        anyhow::ensure!(seen == wanted, "{seen:?}");
        Ok(())
    })
    .unwrap();
}

#[test]
fn each_manifest_is_accepted_by_itself_without_a_warning() {
    let mut files = vec![folder("crds")];
    files.push(folder("deploy/namespace.yaml"));
    files.extend(manifests::FILES.map(|name| folder(&format!("deploy/{name}"))));
    for file in files {
        let args = [
            "apply",
            "--server-side",
            "--dry-run=server",
            "--validate=strict",
            "-f",
            &file,
        ];
        let output = PLANE.kubectl().output(args).unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && words.is_empty(), "{file}: {words}");
    }
}
