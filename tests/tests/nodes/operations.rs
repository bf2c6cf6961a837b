//! Operations on an installation in flight: inspection with `kubectl skein`, upgrade, drain by taint, cordon.

use std::process::Command;

use anyhow::ensure;
use serde_json::json;
use testkit::nodes::installed::SYSTEM;
use testkit::{Scratch, launch, run, wait_for};

use crate::PATIENCE;
use crate::field::Field;
use skein_tests::wire;

/// One of two vehicles flies; each step makes the other fly, or has no effect on the flight.
pub fn looked_at_upgraded_drained_and_cordoned() -> anyhow::Result<()> {
    let field = Field::start(2)?;
    let swarm = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
        "metadata": {"name": "alpha", "namespace": "default"},
        "spec": {"replicas": 1, "maxSurge": 1, "onCordon": "Land"},
    });
    field.installed.plane().kubectl().apply(&swarm.to_string())?;
    field.wait_in_air(1)?;
    let [first, second] = match field.wire("drone-1").said().in_air() {
        true => ["drone-1", "drone-2"],
        false => ["drone-2", "drone-1"],
    };
    is_seen_by_kubectl_skein(&field, first)?;
    the_release_is_upgraded(&field, first)?;
    is_seen_by_kubectl_skein(&field, first)?;

    let agents = [field.agent_uid(first)?, field.agent_uid(second)?];
    let taint = "skein.dev/ground:NoExecute";
    field.kubectl(&["taint", "node", first, taint])?;
    flies_instead_of(&field, second, first)?;
    field.kubectl(&["taint", "node", first, &format!("{taint}-")])?;
    field.kubectl(&["cordon", second])?;
    flies_instead_of(&field, first, second)?;
    let after = [field.agent_uid(first)?, field.agent_uid(second)?];
    assert_eq!(agents, after, "neither taint nor cordon ends an agent");

    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    field.kubectl(&["delete", "swarm/alpha", &timeout])?;
    for node in [first, second] {
        assert!(field.wire(node).said().down(), "{node}");
    }
    field.end()
}

fn is_seen_by_kubectl_skein(field: &Field, node: &str) -> anyhow::Result<()> {
    let folder = Scratch::new("skein-plugin-")?;
    std::os::unix::fs::symlink(launch::workspace_binary("skein")?, folder.path().join("kubectl-skein"))?;
    wait_for("kubectl skein to show who flies", PATIENCE, || {
        let mut command = Command::new(field.installed.plane().binaries().path("kubectl"));
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
            .env("KUBECONFIG", field.installed.kubeconfig())
            .args(["skein", "status", "-o", "json"]);
        let output = run::output(command, None, PATIENCE)?;
        let said = String::from_utf8_lossy(&output.stdout);
        let words = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{said}{words}");
        let status: serde_json::Value = serde_json::from_str(&said)?;
        let vehicles = status["vehicles"].as_array().or(status.as_array());
        let flies = |vehicle: &serde_json::Value| vehicle["node"] == node && vehicle["flying"] == true;
        ensure!(vehicles.is_some_and(|all| all.iter().any(flies)), "{said}");
        Ok(())
    })
    .map_err(|error| field.installed.explain(error))
}

/// Coordinators are replaced; agents, whose Pods have not changed, stay, and the vehicle gets no command.
fn the_release_is_upgraded(field: &Field, flying: &str) -> anyhow::Result<()> {
    let before = wire::now();
    let agents = [field.agent_uid("drone-1")?, field.agent_uid("drone-2")?];
    let deployed = [
        "get",
        "deployment/skein-coordinator",
        "-n",
        SYSTEM,
        "-o",
        "jsonpath={.metadata.generation}",
    ];
    let generation = field.kubectl(&deployed)?;
    field.installed.install(&["coordinator.podAnnotations.release=two"])?;
    assert_ne!(field.kubectl(&deployed)?, generation, "the coordinator is another");
    field.wait_connected_since(before, &["drone-1", "drone-2"])?;
    let after = [field.agent_uid("drone-1")?, field.agent_uid("drone-2")?];
    assert_eq!(agents, after, "an upgrade that leaves agents as they are ends none");
    field.assert_undisturbed(&[flying], before);
    Ok(())
}

fn flies_instead_of(field: &Field, up: &str, down: &str) -> anyhow::Result<()> {
    wait_for(format!("{up} to fly instead of {down}"), PATIENCE, || {
        let said = [field.wire(up).said(), field.wire(down).said()];
        ensure!(said[0].in_air() && said[1].down(), "{said:?}");
        Ok(())
    })
    .map_err(|error| field.installed.explain(error))
}
