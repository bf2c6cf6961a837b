//! A changed DaemonSet on real nodes: one vehicle flies, one is on the ground.

use crate::PATIENCE;
use crate::field::Field;
use anyhow::{Context, ensure};
use skein_tests::wire;
use testkit::nodes::installed::SYSTEM;
use testkit::wait_for;

pub fn the_one_that_stands_first_and_the_other_once_it_has_landed() -> anyhow::Result<()> {
    let field = Field::start(2)?;
    field.fly(1)?;
    let (up, down): (Vec<&str>, Vec<&str>) = field
        .installed
        .drones()
        .into_iter()
        .partition(|node| field.wire(node).said().in_air());
    let (flying, standing) = up.first().zip(down.first()).context("one flies and one does not")?;
    let (old_flying, old_standing) = (field.agent_uid(flying)?, field.agent_uid(standing)?);

    let before = wire::now();
    let patch = r#"{"spec":{"template":{"metadata":{"annotations":{"version":"two"}}}}}"#;
    field.kubectl(&[
        "patch",
        "daemonset/skein-agent",
        "-n",
        SYSTEM,
        "--type=merge",
        "-p",
        patch,
    ])?;
    wait_until_well(&field, standing)?;
    assert_ne!(field.agent_uid(standing)?, old_standing);
    assert_eq!(field.agent_uid(flying)?, old_flying, "it flies");
    field.assert_undisturbed(&[flying], before);
    assert_eq!(field.wire(standing).commands_since(before), [], "none takes off for it");

    let timeout = format!("--timeout={}s", PATIENCE.as_secs());
    field.kubectl(&["delete", "swarm/alpha", &timeout])?;
    wait_until_well(&field, flying)?;
    assert_ne!(field.agent_uid(flying)?, old_flying);
    for node in [flying, standing] {
        assert!(
            field.wire(node).said().down(),
            "{node} is {:?}",
            field.wire(node).said()
        );
        let flights = usize::from(node == flying);
        assert_eq!(field.wire(node).arms(), flights, "{node} armed as often as it flew");
    }
    field.end()
}

fn wait_until_well(field: &Field, node: &str) -> anyhow::Result<()> {
    wait_for(format!("the new agent of {node} to be well"), PATIENCE, || {
        let path = r#"jsonpath={.items[?(@.reason=="AgentUpgraded")].note}"#;
        let notes = field.kubectl(&["get", "events.events.k8s.io", "-n", SYSTEM, "-o", path])?;
        ensure!(notes.contains(&format!("node {node}:")), "noted: {notes}");
        Ok(())
    })
    .map_err(|error| field.installed.explain(error))
}
