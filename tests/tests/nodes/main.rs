//! Skein on real nodes: the DaemonSet and the Deployment as containers. A vehicle's own messages on the wire show
//! whether it flies. Without root and some packages, each test prints `skipped:` and why, and passes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod devices;
mod field;
mod operations;
mod upgrade;

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use field::Field;
use mavlink::dialects::ardupilotmega::MavCmd;
use skein_tests::wire;
use testkit::nodes::installed::SYSTEM;
use testkit::nodes::why_not;
use testkit::wait_for;

const PATIENCE: Duration = Duration::from_secs(180);

const DRONE: &str = "node-role.kubernetes.io/drone";

/// One cluster at a time: two cores can run one.
static ONE: Mutex<()> = Mutex::new(());

fn on_real_nodes(test: fn() -> anyhow::Result<()>) -> anyhow::Result<()> {
    if let Some(why) = why_not() {
        // Bypasses the test runner's capture, as a test that did not run must not look as if it had.
        writeln!(std::io::stderr(), "skipped: {why}")?;
        return Ok(());
    }
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    test()
}

#[test]
fn kubelet_and_coordinator_change_nothing_in_flight_and_pods_go_after_landing() -> anyhow::Result<()> {
    on_real_nodes(|| {
        let mut field = Field::start(2)?;
        field.fly(2)?;
        the_coordinator_is_rolled(&field)?;
        a_kubelet_dies_and_comes_back(&mut field, "drone-1")?;
        a_node_is_drained_and_its_agent_deleted(&field, "drone-1")?;
        a_node_loses_its_label(&field, "drone-2", "drone-1")?;
        the_swarm_is_deleted(&field)?;
        a_node_is_deleted(&field, "drone-2", "drone-1")?;
        field.end()
    })
}

fn the_coordinator_is_rolled(field: &Field) -> anyhow::Result<()> {
    let before = wire::now();
    field.kubectl(&["rollout", "restart", "deployment/skein-coordinator", "-n", SYSTEM])?;
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    field.kubectl(&[
        "rollout",
        "status",
        "deployment/skein-coordinator",
        "-n",
        SYSTEM,
        &timeout,
    ])?;
    field.wait_connected_since(before, &["drone-1", "drone-2"])?;
    field.assert_undisturbed(&["drone-1", "drone-2"], before);
    Ok(())
}

/// SIGKILL, and Kubernetes marks the node as lost before its kubelet is back: the Pod and the flight continue.
fn a_kubelet_dies_and_comes_back(field: &mut Field, node: &str) -> anyhow::Result<()> {
    let before = wire::now();
    let pod = field.agent_uid(node)?;
    field.installed.cluster().node(node)?.kill_kubelet();
    wait_for(format!("{node} to count as lost"), PATIENCE, || {
        let ready = field.ready(node)?;
        ensure!(ready == "Unknown", "Ready is {ready}");
        Ok(())
    })?;
    field.installed.cluster().node(node)?.restart_kubelet()?;
    wait_for(format!("{node} to be back"), PATIENCE, || {
        let ready = field.ready(node)?;
        ensure!(ready == "True", "Ready is {ready}");
        Ok(())
    })?;
    field.installed.wait_running()?;
    assert_eq!(field.agent_uid(node)?, pod, "it is the same Pod");
    field.assert_undisturbed(&["drone-1", "drone-2"], before);
    Ok(())
}

/// `kubectl drain` does not delete Pods of DaemonSets; a deleted Pod of an agent stays until its vehicle has landed.
fn a_node_is_drained_and_its_agent_deleted(field: &Field, node: &str) -> anyhow::Result<()> {
    let before = wire::now();
    field.kubectl(&[
        "drain",
        node,
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        "--timeout=120s",
    ])?;
    let pod = field.agent_uid(node)?;
    let name = field.installed.agent_pod(node)?;
    let deleted = wire::now();
    field.kubectl(&["delete", &name, "-n", SYSTEM, "--wait=false"])?;
    the_pod_goes_after_the_landing(field, node, &pod)?;
    let down = wire::now();

    // The DaemonSet creates another Pod, whose vehicle stays on the ground until the node is uncordoned.
    field.installed.wait_running()?;
    // The new agent may have connected before the first one was gone.
    field.wait_connected_since(deleted, &[node])?;
    assert_eq!(field.wire(node).commands_since(down), [], "{node} is cordoned");
    field.assert_undisturbed(&["drone-2"], before);

    field.kubectl(&["uncordon", node])?;
    field.wait_in_air(2)
}

fn the_pod_goes_after_the_landing(field: &Field, node: &str, pod: &str) -> anyhow::Result<()> {
    the_pod_goes(field, node, pod)?;
    let said = field.wire(node).said();
    assert!(said.down(), "the Pod is gone and {node} is {said:?}");
    Ok(())
}

fn the_pod_goes(field: &Field, node: &str, pod: &str) -> anyhow::Result<()> {
    wait_for(format!("the agent's Pod on {node} to go"), PATIENCE, || {
        let left = field.kubectl(&["get", "pods", "-n", SYSTEM, "-o", "jsonpath={.items[*].metadata.uid}"])?;
        if left.split(' ').any(|uid| uid == pod) {
            anyhow::bail!("it is there, and {node} is {:?}", field.wire(node).said());
        }
        Ok(())
    })
    .map_err(|error| field.installed.explain(error))
}

/// Without the label its agent lands the vehicle and ends; with the label it flies again.
fn a_node_loses_its_label(field: &Field, node: &str, other: &str) -> anyhow::Result<()> {
    let (before, pod) = (wire::now(), field.agent_uid(node)?);
    field.kubectl(&["label", "node", node, &format!("{DRONE}-")])?;
    the_pod_goes_after_the_landing(field, node, &pod)?;
    field.assert_undisturbed(&[other], before);
    field.kubectl(&["label", "node", node, &format!("{DRONE}=")])?;
    field.wait_in_air(2)
}

/// The Pod garbage collector ignores the grace period of a deleted node's Pods, so the kubelet gives the agent about a
/// second: enough to order the landing, which the autopilot completes by itself.
fn a_node_is_deleted(field: &Field, node: &str, other: &str) -> anyhow::Result<()> {
    field.fly(2)?;
    let (before, pod) = (wire::now(), field.agent_uid(node)?);
    field.kubectl(&["delete", "node", node, "--wait=false"])?;
    the_pod_goes(field, node, &pod)?;
    wait_for(format!("the vehicle of {node} to land"), PATIENCE, || {
        let said = field.wire(node).said();
        ensure!(said.down(), "{said:?}");
        Ok(())
    })?;
    let sent = field.wire(node).commands_since(before);
    assert!(sent.iter().any(|it| it.command == MavCmd::MAV_CMD_NAV_LAND), "{sent:?}");
    field.assert_undisturbed(&[other], before);
    Ok(())
}

fn the_swarm_is_deleted(field: &Field) -> anyhow::Result<()> {
    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    let deleted = field.kubectl(&["delete", "swarm/alpha", &timeout]);
    deleted.map_err(|error| field.installed.explain(error))?;
    for (node, flights) in [("drone-1", 2), ("drone-2", 2)] {
        let wire = field.wire(node);
        assert!(wire.said().down(), "{node} is {:?}", wire.said());
        assert_eq!(wire.arms(), flights, "{node} armed as often as it flew");
    }
    Ok(())
}

#[test]
fn a_changed_agent_reaches_a_vehicle_on_the_ground_and_a_flying_one_once_it_landed() -> anyhow::Result<()> {
    on_real_nodes(upgrade::the_one_that_stands_first_and_the_other_once_it_has_landed)
}

#[test]
fn an_unprivileged_pod_may_open_a_pseudo_terminal_of_its_host_and_no_serial_port() -> anyhow::Result<()> {
    on_real_nodes(devices::who_may_open_what)
}

#[test]
fn an_upgrade_is_made_in_flight_and_a_taint_or_cordon_has_another_vehicle_fly() -> anyhow::Result<()> {
    on_real_nodes(operations::looked_at_upgraded_drained_and_cordoned)
}
