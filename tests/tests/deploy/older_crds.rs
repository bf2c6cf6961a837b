//! CRDs of an older release than the one whose objects are there.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ControlPlane, wait_for};

const FIELD: &str = "rotateAtPercent";

fn spec(plane: &ControlPlane, name: &str) -> anyhow::Result<Value> {
    Ok(plane.kubectl().json(["get", "swarm", name])?["spec"].clone())
}

#[test]
fn older_crds_hide_what_they_do_not_know_and_drop_it_where_something_is_written() {
    let plane = ControlPlane::builder().manifests(["crds"]).start().unwrap();
    let kubectl = plane.kubectl();
    let swarm = |name: &str| {
        json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": 2, FIELD: 30}})
        .to_string()
    };
    for name in ["kept", "written"] {
        kubectl.apply(&swarm(name)).unwrap();
    }
    let mut crd = kubectl.json(["get", "crd", "swarms.skein.dev"]).unwrap();
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let fields = crd.pointer_mut(fields).and_then(Value::as_object_mut).unwrap();
    assert!(fields.remove(FIELD).is_some());
    kubectl.run_with(["replace", "-f", "-"], &crd.to_string()).unwrap();

    let within = Duration::from_secs(60);
    wait_for("the field to be hidden", within, || {
        let spec = spec(&plane, "kept")?;
        anyhow::ensure!(spec[FIELD].is_null() && spec["replicas"] == 2, "{spec}");
        Ok(())
    })
    .unwrap();
    let status = r#"{"status": {"flyingDrones": 1}}"#;
    let patch = [
        "patch",
        "swarm",
        "written",
        "--subresource=status",
        "--type=merge",
        "-p",
        status,
    ];
    kubectl.run(patch).unwrap();

    let newer = testkit::control_plane::workspace_root().join("crds/swarms.yaml");
    let newer = newer.display().to_string();
    kubectl
        .run(["apply", "--server-side", "--force-conflicts", "-f", &newer])
        .unwrap();
    wait_for("the field to be back", within, || {
        let spec = spec(&plane, "kept")?;
        anyhow::ensure!(spec[FIELD] == 30, "{spec}");
        Ok(())
    })
    .unwrap();
    assert_eq!(spec(&plane, "written").unwrap()[FIELD], Value::Null);
}
