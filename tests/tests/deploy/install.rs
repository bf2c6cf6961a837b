//! The life of a release: installed, upgraded and removed by Helm on a control plane of its own.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ControlPlane, manifests, wait_for};

use super::{HELM, SYSTEM};

fn helm(plane: &ControlPlane, args: &[&str]) -> String {
    let chart = manifests::chart();
    let args = args
        .iter()
        .map(|arg| if *arg == "CHART" { chart.to_str().unwrap() } else { arg });
    let mut command = HELM.command(args);
    command
        .arg("--namespace")
        .arg(SYSTEM)
        .arg("--kubeconfig")
        .arg(plane.kubectl().kubeconfig());
    let output = testkit::run::output(command, None, Duration::from_secs(120)).unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    String::from_utf8(output.stdout).unwrap()
}

fn columns(plane: &ControlPlane) -> Value {
    let crd = plane.kubectl().json(["get", "crd", "drones.skein.dev"]).unwrap();
    crd["spec"]["versions"][0]["additionalPrinterColumns"].clone()
}

#[test]
fn helm_brings_the_crds_up_to_date_and_leaves_them_and_the_drones_when_it_goes() {
    let plane = ControlPlane::start().unwrap();
    let said = helm(&plane, &["install", "skein", "CHART", "--create-namespace"]);
    assert!(
        said.contains("kubectl label node NODE node-role.kubernetes.io/drone="),
        "{said}"
    );
    let wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
    plane.kubectl().run(wait).unwrap();

    // A CRD of an older release has fewer columns; the next release adds the rest.
    let wanted = columns(&plane);
    let older = json!([{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]).to_string();
    let patch = ["patch", "crd", "drones.skein.dev", "--type=json", "-p", &older];
    plane.kubectl().run(patch).unwrap();
    assert_ne!(columns(&plane), wanted);
    let drone = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone",
        "metadata": {"name": "one", "namespace": "default"}, "spec": {}});
    plane.kubectl().apply(&drone.to_string()).unwrap();
    helm(
        &plane,
        &[
            "upgrade",
            "skein",
            "CHART",
            "--force-conflicts",
            "--set",
            "coordinator.replicas=3",
        ],
    );
    assert_eq!(columns(&plane), wanted);
    let replicas = [
        "-n",
        SYSTEM,
        "get",
        "deployment/skein-coordinator",
        "-o",
        "jsonpath={.spec.replicas}",
    ];
    assert_eq!(plane.kubectl().run(replicas).unwrap(), "3");

    let privileged = || -> anyhow::Result<()> {
        let daemon_set = plane.kubectl().json(["-n", SYSTEM, "get", "daemonset/skein-agent"])?;
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": daemon_set["spec"]["template"]["spec"],
            "metadata": {"name": "trial", "namespace": SYSTEM}});
        let args = [
            "create",
            "--dry-run=server",
            "-o",
            "jsonpath={.spec.containers[0].securityContext.privileged}",
            "-f",
            "-",
        ];
        let taken = plane.kubectl().run_with(args, &pod.to_string())?;
        anyhow::ensure!(taken == "true", "{taken}");
        Ok(())
    };
    assert!(privileged().is_err());
    helm(
        &plane,
        &[
            "upgrade",
            "skein",
            "CHART",
            "--reuse-values",
            "--set",
            "agent.device.access=privileged",
        ],
    );
    wait_for("a privileged agent to be taken", Duration::from_secs(60), privileged).unwrap();

    helm(&plane, &["uninstall", "skein"]);
    let workloads = [
        "-n",
        SYSTEM,
        "get",
        "deployments,daemonsets,services,roles,networkpolicies",
        "-o",
        "name",
    ];
    assert_eq!(plane.kubectl().run(workloads).unwrap(), "");
    assert_eq!(
        plane.kubectl().run(["get", "drones", "-o", "name"]).unwrap(),
        "drone.skein.dev/one\n"
    );

    helm(&plane, &["install", "skein", "CHART"]);
    assert_eq!(
        plane.kubectl().run(["get", "drones", "-o", "name"]).unwrap(),
        "drone.skein.dev/one\n"
    );
}
