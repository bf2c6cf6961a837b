//! The manifests in `deploy/` on a real API server, with the DaemonSet controller and the scheduler at work.
//!
//! Owns: that they are accepted, that each workload comes to the nodes that it is meant for, and that each may do what
//! it needs and no more than was thought about. Must not: run the workloads: there is no kubelet here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use tests::control_plane::workspace_root;
use tests::{ControlPlane, wait_for};

const SYSTEM: &str = "skein-system";
const DRONE: (&str, &str) = ("node-role.kubernetes.io/drone", "");

/// One for all tests of this file, with all of `deploy/` applied; it ends with this process.
static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
    let plane = ControlPlane::start().unwrap();
    let args = ["apply", "--server-side", "--validate=strict", "-k", &folder("deploy")];
    plane.kubectl().run(args).unwrap();
    plane
});

fn folder(name: &str) -> String {
    workspace_root().join(name).to_string_lossy().into_owned()
}

fn kubectl(args: &[&str]) -> String {
    PLANE.kubectl().run(args).unwrap()
}

fn pod_template(workload: &str) -> Value {
    let object = PLANE.kubectl().json(["-n", SYSTEM, "get", workload]).unwrap();
    object["spec"]["template"].clone()
}

#[test]
fn exactly_the_drone_nodes_get_an_agent_and_the_coordinator_stays_off_them() {
    let agent = |node| ("skein-agent", node);
    let coordinator = ("skein-coordinator", "server-1");
    PLANE.create_nodes(&["drone-1", "drone-2"], &[DRONE]).unwrap();
    PLANE.create_nodes(&["server-1"], &[]).unwrap();
    wait_for_pods(&[agent("drone-1"), agent("drone-2"), coordinator]);

    // The value of the label does not matter; a node is a drone node from the moment that it carries it.
    PLANE.create_node("drone-3", &[(DRONE.0, "true")]).unwrap();
    PLANE.create_node("drone-4", &[]).unwrap();
    kubectl(&["label", "node", "drone-4", "node-role.kubernetes.io/drone=quad-250"]);
    let four = ["drone-1", "drone-2", "drone-3", "drone-4"].map(agent);
    wait_for_pods(&[four.as_slice(), &[coordinator]].concat());

    // Whatever befalls a drone node, its agent stays: the vehicle may be flying.
    kubectl(&["cordon", "drone-1"]);
    for (node, taint) in [
        ("drone-2", "maintenance=now:NoExecute"),
        ("drone-3", "node.kubernetes.io/unreachable:NoExecute"),
        ("drone-4", "node.kubernetes.io/not-ready:NoExecute"),
    ] {
        kubectl(&["taint", "node", node, taint]);
    }
    // A node that is cordoned and reserved before it is a drone node gets its agent all the same. That it does shows,
    // too, that the controllers have seen the taints above.
    PLANE.create_node("drone-5", &[]).unwrap();
    kubectl(&["cordon", "drone-5"]);
    kubectl(&["taint", "node", "drone-5", "reserved=drones:NoSchedule"]);
    kubectl(&["label", "node", "drone-5", "node-role.kubernetes.io/drone="]);
    let five = [four.as_slice(), &[agent("drone-5")]].concat();
    wait_for_pods(&[five.as_slice(), &[coordinator]].concat());

    // A node that is a drone node no longer is told to end its agent, which lands first.
    kubectl(&["label", "node", "drone-5", "node-role.kubernetes.io/drone-"]);
    wait_for_pods(&[four.as_slice(), &[coordinator]].concat());
}

/// Waits until the workloads' pods are on exactly these nodes, leaving out those that were told to end.
fn wait_for_pods(wanted: &[(&str, &str)]) {
    wait_for(format!("pods as in {wanted:?}"), Duration::from_secs(60), || {
        let pods = PLANE.kubectl().json(["get", "pods", "-n", SYSTEM])?;
        let mut seen = BTreeMap::new();
        for pod in pods["items"].as_array().into_iter().flatten() {
            if pod["metadata"]["deletionTimestamp"].is_string() {
                continue;
            }
            let app = pod["metadata"]["labels"]["app.kubernetes.io/name"]
                .as_str()
                .unwrap_or_default();
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            *seen.entry((app, node)).or_insert(0) += 1;
        }
        let once = seen.values().all(|count| *count == 1);
        anyhow::ensure!(
            once && seen.len() == wanted.len() && wanted.iter().all(|w| seen.contains_key(w)),
            "{seen:?}"
        );
        Ok(())
    })
    .unwrap();
}

#[test]
fn each_manifest_is_accepted_by_itself_without_a_warning() {
    let mut files = vec![folder("crds")];
    files.extend(["namespace", "rbac", "coordinator", "agent"].map(|name| folder(&format!("deploy/{name}.yaml"))));
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

/// What PodSecurity says of a pod of this workload in a namespace of the level `restricted`; `None` if it is taken.
fn restricted_refusal(workload: &str) -> Option<String> {
    let namespace = format!("restricted-{}", workload.replace('/', "-"));
    kubectl(&["create", "namespace", &namespace]);
    kubectl(&[
        "label",
        "namespace",
        &namespace,
        "pod-security.kubernetes.io/enforce=restricted",
    ]);
    let template = pod_template(workload);
    let account = template["spec"]["serviceAccountName"].as_str().unwrap().to_owned();
    kubectl(&["-n", &namespace, "create", "serviceaccount", &account]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
        "metadata": {"name": "trial", "namespace": namespace}});
    let args = ["create", "--dry-run=server", "-f", "-"];
    PLANE
        .kubectl()
        .run_with(args, &pod.to_string())
        .err()
        .map(|refusal| refusal.to_string())
}

#[test]
fn the_coordinator_meets_the_restricted_pod_security_level() {
    assert_eq!(restricted_refusal("deployment/skein-coordinator"), None);
}

#[test]
fn the_agent_differs_from_the_restricted_level_only_where_its_manifest_says_why() {
    let refusal = restricted_refusal("daemonset/skein-agent").unwrap();
    let exceptions = refusal.split("latest\": ").nth(1).unwrap_or(&refusal);
    for expected in [
        r#"restricted volume types (volumes "state", "devices" use restricted volume type "hostPath")"#,
        r#"unrestricted capabilities (container "state-folder" must not include "CHOWN""#,
        r#"runAsNonRoot != true (container "state-folder""#,
        r#"runAsUser=0 (container "state-folder""#,
    ] {
        assert!(exceptions.contains(expected), "{expected:?} is not in {exceptions}");
    }
    assert!(!exceptions.contains(r#""agent""#), "{exceptions}");
    assert!(
        !exceptions.contains("privileged") && !exceptions.contains("seccomp"),
        "{exceptions}"
    );
}

#[test]
fn the_agent_outlives_a_landing_and_is_never_ended_by_a_rollout_or_a_probe() {
    let object = PLANE
        .kubectl()
        .json(["-n", SYSTEM, "get", "daemonset/skein-agent"])
        .unwrap();
    assert_eq!(object["spec"]["updateStrategy"]["type"], "OnDelete");
    let pod = &object["spec"]["template"]["spec"];
    // From 120 m, at half the speeds that the autopilots sink with by default.
    let (height, near_ground) = (120.0, 10.0);
    let (fast, slow, disarm) = (1.5, 0.5, 10.0);
    let landing: f64 = 2.0 * ((height - near_ground) / fast + near_ground / slow + disarm);
    let agent = &pod["containers"][0];
    let env = agent["env"].as_array().unwrap();
    let timeout = env.iter().find(|e| e["name"] == "SKEIN_LANDING_TIMEOUT").unwrap();
    let timeout: f64 = timeout["value"].as_str().unwrap().parse().unwrap();
    assert!(timeout >= landing, "{timeout} s are less than {landing} s");
    assert!(pod["terminationGracePeriodSeconds"].as_f64().unwrap() >= timeout + 20.0);
    for probe in ["livenessProbe", "startupProbe"] {
        assert_eq!(
            agent[probe],
            Value::Null,
            "{probe} would restart the agent of a flying vehicle"
        );
    }
    assert_eq!(agent["readinessProbe"]["exec"]["command"][1], "--check-ready");
    assert_eq!(pod["priorityClassName"], "system-node-critical");
}

#[test]
fn the_agent_knows_its_node_and_holds_no_secret() {
    let template = pod_template("daemonset/skein-agent");
    let env = template["spec"]["containers"][0]["env"].as_array().unwrap().clone();
    let of = |name: &str| env.iter().find(|e| e["name"] == name).unwrap_or(&Value::Null).clone();
    assert_eq!(of("NODE")["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName");
    assert_eq!(of("SKEIN_LINK")["value"], "serial:/host/dev/ttyACM0:57600");
    assert_eq!(template["spec"]["automountServiceAccountToken"], false);

    // The address that it is given is that of the Service, and the Service finds the coordinator.
    assert_eq!(
        of("SKEIN_COORDINATOR")["value"],
        format!("http://skein-coordinator.{SYSTEM}.svc:50051")
    );
    let service = PLANE
        .kubectl()
        .json(["-n", SYSTEM, "get", "service/skein-coordinator"])
        .unwrap();
    assert_eq!(service["spec"]["ports"][0]["port"], 50051);
    let labels = &pod_template("deployment/skein-coordinator")["metadata"]["labels"];
    for (key, value) in service["spec"]["selector"].as_object().unwrap() {
        assert_eq!(&labels[key], value);
    }
}

#[test]
fn every_image_names_a_version() {
    for workload in ["deployment/skein-coordinator", "daemonset/skein-agent"] {
        let spec = pod_template(workload)["spec"].clone();
        for list in ["containers", "initContainers"] {
            for container in spec[list].as_array().into_iter().flatten() {
                let image = container["image"].as_str().unwrap();
                let version = image.rsplit_once(':').map(|(_, version)| version);
                assert!(version.is_some_and(|v| v != "latest"), "{image}");
                assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true, "{image}");
                assert_eq!(
                    container["securityContext"]["capabilities"]["drop"],
                    json!(["ALL"]),
                    "{image}"
                );
                assert!(container["resources"]["limits"]["memory"].is_string(), "{image}");
            }
        }
    }
}

/// Whether the ServiceAccount may do this.
fn may(account: &str, request: &str) -> bool {
    let user = format!("--as=system:serviceaccount:{SYSTEM}:{account}");
    let mut args = vec!["auth", "can-i", &user];
    args.extend(request.split(' '));
    let output = PLANE.kubectl().output(&args).unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(
        answer == "yes" || answer == "no",
        "{request}: {answer} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    answer == "yes"
}

#[test]
fn the_coordinator_may_do_its_work_and_nothing_beside_it() {
    for request in [
        "watch swarms.skein.dev -A",
        "create drones.skein.dev -n anywhere",
        "patch drones.skein.dev --subresource=status -n anywhere",
        "list nodes",
        "create events.events.k8s.io -n anywhere",
        "update leases.coordination.k8s.io -n skein-system",
    ] {
        assert!(may("skein-coordinator", request), "may not {request}");
    }
    for request in [
        "get secrets -n skein-system",
        "create pods -n skein-system",
        "patch nodes",
        "get leases.coordination.k8s.io -n kube-node-lease",
        "delete swarms.skein.dev -n anywhere",
        "delete leases.coordination.k8s.io -n skein-system",
        "create clusterrolebindings.rbac.authorization.k8s.io",
    ] {
        assert!(!may("skein-coordinator", request), "may {request}");
    }
}

#[test]
fn the_agent_may_do_nothing_at_all() {
    for request in [
        "get drones.skein.dev -A",
        "get nodes",
        "get secrets -n skein-system",
        "list pods -A",
        "watch leases -A",
    ] {
        assert!(!may("skein-agent", request), "may {request}");
    }
}

/// The DaemonSet's pod spec of `deploy` with one of its components.
fn with_component(name: &str) -> Value {
    // Kustomizations reach only what lies below them, or beside them as a folder: so one of ours above a copy.
    let scratch = tests::Scratch::new("skein-kustomize-").unwrap();
    let top = scratch.folder("top").unwrap();
    for file in ["deploy", "crds"] {
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .arg(folder(file))
            .arg(scratch.path())
            .status()
            .unwrap();
        assert!(copied.success());
    }
    let text = format!("resources: [../deploy]\ncomponents: [../deploy/components/{name}]\n");
    std::fs::write(top.join("kustomization.yaml"), text).unwrap();
    let top = top.to_string_lossy().into_owned();
    let args = [
        "create",
        "--dry-run=client",
        "--validate=strict",
        "-o",
        "json",
        "-k",
        &top,
    ];
    let objects = PLANE.kubectl().run(args).unwrap();
    let objects = serde_json::Deserializer::from_str(&objects).into_iter::<Value>();
    let agent = objects
        .map(Result::unwrap)
        .find(|object| object["kind"] == "DaemonSet")
        .unwrap();
    agent["spec"]["template"]["spec"].clone()
}

/// The names in a list of named objects, sorted.
fn names(list: &Value) -> Vec<&str> {
    let mut names: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["name"].as_str())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn a_serial_port_comes_by_a_device_plugin_without_any_privilege() {
    let pod = with_component("serial-device-plugin");
    let agent = &pod["containers"][0];
    assert_eq!(agent["resources"]["limits"]["skein.dev/autopilot"], "1");
    assert_eq!(agent["securityContext"]["allowPrivilegeEscalation"], false);
    assert_eq!(agent["securityContext"]["privileged"], Value::Null);
    assert_eq!(names(&pod["volumes"]), ["run", "state"]);
    assert_eq!(names(&agent["volumeMounts"]), ["run", "state"]);
}

#[test]
fn or_by_a_privileged_container_that_is_still_not_root() {
    let pod = with_component("serial-privileged");
    assert_eq!(pod["containers"][0]["securityContext"]["privileged"], true);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["supplementalGroups"], json!([20]));
    assert_eq!(names(&pod["volumes"]), ["devices", "run", "state"]);
}
