//! The test control plane itself: it is a real one, it is protected, and nothing of it is left behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use testkit::process::Signal;
use testkit::{ControlPlane, Launch, Scratch, wait_for};

/// Known before the controllers start, so that the garbage collector watches its objects from the start.
const NESTS: &str = r#"
{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "nests.test.skein.dev"},
 "spec": {"group": "test.skein.dev", "scope": "Namespaced", "names": {"plural": "nests", "singular": "nest", "kind": "Nest"},
          "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
"#;

const DAEMON_SET: &str = r#"
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      nodeSelector: {node-role.kubernetes.io/drone: ""}
      containers: [{name: agent, image: agent}]
"#;

#[test]
fn a_real_control_plane_serves_guards_schedules_and_leaves_nothing_behind() {
    let manifests = Scratch::new("skein-manifests-").unwrap();
    std::fs::write(manifests.path().join("nests.json"), NESTS).unwrap();
    let plane = ControlPlane::builder().manifests([manifests.path()]).start().unwrap();
    let pids: Vec<u32> = plane.processes().iter().map(|process| process.pid()).collect();
    let folder = plane.scratch().path().to_owned();

    an_administrator_may_apply_an_object(&plane);
    an_unprivileged_service_account_may_not(&plane);
    requests_are_on_record(&plane);
    a_permission_that_is_never_used_is_found(&plane);
    a_daemon_set_runs_on_exactly_the_labeled_nodes(&plane);
    objects_go_with_their_owner(&plane);

    plane.ensure_running().unwrap();
    drop(plane);
    assert_eq!(pids.into_iter().find(is_alive), None);
    assert!(!folder.exists());
}

fn an_administrator_may_apply_an_object(plane: &ControlPlane) {
    plane
        .kubectl()
        .apply(r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}"#)
        .unwrap();
    let object = plane.kubectl().json(["get", "configmap", "a"]).unwrap();
    assert_eq!(object["data"]["k"], "v");
}

fn an_unprivileged_service_account_may_not(plane: &ControlPlane) {
    let nobody = plane.kubectl_as(plane.service_account_kubeconfig("default", "default").unwrap());
    let refusal = nobody.refused(["get", "configmaps"]).unwrap();
    assert!(
        refusal.contains("Forbidden") && refusal.contains("system:serviceaccount:default:default"),
        "{refusal}"
    );
}

fn requests_are_on_record(plane: &ControlPlane) {
    wait_for("the refused request to be on record", Duration::from_secs(10), || {
        let requests = plane.requests()?;
        let refused = requests
            .iter()
            .find(|r| r.user == "system:serviceaccount:default:default" && r.code == 403);
        let refused = refused.ok_or_else(|| anyhow::anyhow!("{} requests", requests.len()))?;
        assert_eq!(
            (refused.verb.as_str(), refused.resource.as_str()),
            ("list", "configmaps")
        );
        Ok(())
    })
    .unwrap();
}

fn a_permission_that_is_never_used_is_found(plane: &ControlPlane) {
    let kubectl = plane.kubectl();
    kubectl.run(["create", "serviceaccount", "reader"]).unwrap();
    kubectl
        .run(["create", "role", "reader", "--resource=configmaps", "--verb=get,delete"])
        .unwrap();
    kubectl
        .run([
            "create",
            "rolebinding",
            "reader",
            "--role=reader",
            "--serviceaccount=default:reader",
        ])
        .unwrap();
    let reader = plane.kubectl_as(plane.service_account_kubeconfig("default", "reader").unwrap());
    wait_for("the role to take effect", Duration::from_secs(10), || {
        reader.run(["get", "configmap", "a"])
    })
    .unwrap();
    wait_for(
        "the deletion to be the only unused permission",
        Duration::from_secs(10),
        || {
            let unused = plane.unused_grants("default", "reader")?;
            anyhow::ensure!(unused.len() == 1 && unused[0].verb == "delete", "{unused:?}");
            Ok(())
        },
    )
    .unwrap();
}

fn a_daemon_set_runs_on_exactly_the_labeled_nodes(plane: &ControlPlane) {
    plane
        .create_nodes(&["drone-1", "drone-2"], &[("node-role.kubernetes.io/drone", "")])
        .unwrap();
    plane.create_node("server-1", &[]).unwrap();
    plane.kubectl().apply(DAEMON_SET).unwrap();
    // Its controller writes the status after the Pods.
    wait_for("it to count them", Duration::from_secs(60), || {
        let status = plane.kubectl().json(["get", "daemonset", "agent"])?;
        anyhow::ensure!(status["status"]["desiredNumberScheduled"] == 2, "{status}");
        Ok(())
    })
    .unwrap();
    let pods = wait_for("a scheduled pod on each drone node", Duration::from_secs(60), || {
        let pods = plane.kubectl().json(["get", "pods", "-l", "app=agent"])?;
        let mut nodes: Vec<String> = pods["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|pod| Some(pod["spec"]["nodeName"].as_str()?.to_owned()))
            .collect();
        nodes.sort();
        anyhow::ensure!(nodes.len() == 2, "pods on {nodes:?}");
        Ok(nodes)
    });
    assert_eq!(pods.unwrap(), ["drone-1", "drone-2"]);
}

fn objects_go_with_their_owner(plane: &ControlPlane) {
    let nest =
        r#"{"apiVersion": "test.skein.dev/v1", "kind": "Nest", "metadata": {"name": "n", "namespace": "default"}}"#;
    plane.kubectl().apply(nest).unwrap();
    let nest = plane.kubectl().json(["get", "nest", "n"]).unwrap();
    let owner =
        json!([{"apiVersion": "test.skein.dev/v1", "kind": "Nest", "name": "n", "uid": nest["metadata"]["uid"]}]);
    let egg = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "egg", "ownerReferences": owner}});
    plane.kubectl().apply(&egg.to_string()).unwrap();
    plane.kubectl().run(["delete", "nest", "n"]).unwrap();
    wait_for(
        "the garbage collector to remove what the nest owned",
        Duration::from_secs(15),
        || {
            let words = plane.kubectl().refused(["get", "configmap", "egg"])?;
            anyhow::ensure!(words.contains("NotFound"), "{words}");
            Ok(())
        },
    )
    .unwrap();
    plane.kubectl().run(["create", "namespace", "short-lived"]).unwrap();
    plane.delete_namespace("short-lived").unwrap();
    let gone = plane.kubectl().refused(["get", "namespace", "short-lived"]).unwrap();
    assert!(gone.contains("NotFound"), "{gone}");
}

/// Names the test below for a child process of this test, whose children must not outlive it.
const CHILD: &str = "a_child_test_that_waits_to_be_killed";

#[test]
fn a_test_that_is_killed_leaves_no_process_and_no_file_behind() {
    let test = Launch::program(std::env::current_exe().unwrap())
        .named("child test")
        .args([CHILD, "--exact", "--ignored", "--nocapture"])
        .start()
        .unwrap();
    let line = test
        .wait_for_line(Duration::from_secs(180), |line| line.starts_with("started "))
        .unwrap();
    let mut words = line.split(' ').skip(1);
    let folder = Path::new(words.next().unwrap()).to_owned();
    let pids: Vec<u32> = words.map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.iter().filter(|pid| is_alive(pid)).count(), 4, "{line}");
    assert!(folder.is_dir());

    test.signal(Signal::SIGKILL).unwrap();

    wait_for("all it started to be gone", Duration::from_secs(20), || {
        let alive: Vec<&u32> = pids.iter().filter(|pid| is_alive(pid)).collect();
        anyhow::ensure!(
            alive.is_empty() && !folder.exists(),
            "alive: {alive:?}; folder there: {}",
            folder.exists()
        );
        Ok(())
    })
    .unwrap();
}

#[test]
#[ignore = "it is run, and killed, by the test above"]
fn a_child_test_that_waits_to_be_killed() {
    let plane = ControlPlane::start().unwrap();
    let pids: Vec<String> = plane
        .processes()
        .iter()
        .map(|process| process.pid().to_string())
        .collect();
    println!("\nstarted {} {}", plane.scratch().path().display(), pids.join(" "));
    std::thread::sleep(Duration::from_secs(600));
}

/// A process that has ended but was not yet reaped is not alive.
fn is_alive(pid: &u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}
