//! Skein on real nodes, for the tests.

use anyhow::ensure;
use serde_json::Value;
use testkit::nodes::installed::SYSTEM;
use testkit::nodes::{ClusterSetup, Installed};
use testkit::wait_for;

use crate::PATIENCE;
use skein_tests::wire::Wire;

pub struct Field {
    pub installed: Installed,
}

impl Field {
    pub fn start(drones: u8) -> anyhow::Result<Self> {
        let installed = Installed::start(&ClusterSetup {
            drones,
            speedup: 10.0,
            // No vehicle should be replaced because of its battery.
            vehicles: ["--battery-percent-per-minute", "0"].map(str::to_owned).to_vec(),
            ..ClusterSetup::default()
        })?;
        Ok(Self { installed })
    }

    /// Checks that no process, control group or folder of it is left.
    pub fn end(self) -> anyhow::Result<()> {
        let traces = self.installed.traces();
        assert!(!traces.left().is_empty(), "the traces of a running cluster are found");
        drop(self);
        wait_for("all traces to be gone", PATIENCE, || {
            let left = traces.left();
            ensure!(left.is_empty(), "left: {left:?}");
            Ok(())
        })
    }

    pub fn fly(&self, replicas: usize) -> anyhow::Result<()> {
        let swarm = serde_json::json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
            "metadata": {"name": "alpha", "namespace": "default"},
            "spec": {"replicas": replicas},
        });
        let kubectl = self.installed.plane().kubectl();
        kubectl.apply(&swarm.to_string())?;
        self.wait_in_air(replicas)
    }

    /// Exactly this many in the air by their own messages, and as many Drones Flying.
    pub fn wait_in_air(&self, count: usize) -> anyhow::Result<()> {
        wait_for(format!("{count} vehicles in the air"), PATIENCE, || {
            let drones = self.installed.drones();
            let said: Vec<_> = drones.iter().map(|drone| (*drone, self.wire(drone).said())).collect();
            let up = said.iter().filter(|(_, said)| said.in_air()).count();
            let down = said.iter().filter(|(_, said)| said.not_flying()).count();
            ensure!((up, down) == (count, drones.len() - count), "{said:?}");
            let path = "jsonpath={.items[*].status.phase}";
            let phases = self.kubectl(&["get", "drones", "-n", "default", "-o", path])?;
            ensure!(
                phases.split(' ').filter(|phase| *phase == "Flying").count() == count,
                "{phases}"
            );
            Ok(())
        })
        .map_err(|error| self.installed.explain(error))
    }

    /// `then` is in Unix microseconds.
    pub fn wait_connected_since(&self, then: u64, nodes: &[&str]) -> anyhow::Result<()> {
        let label = "-l=app.kubernetes.io/name=skein-coordinator";
        wait_for(format!("{nodes:?} to connect"), PATIENCE, || {
            let since = format!("--since-time={}", rfc3339(then)?);
            let log = self.kubectl(&["logs", "-n", SYSTEM, label, &since, "--tail=-1"])?;
            for node in nodes {
                let heard = |line: &str| line.contains("agent connected") && line.contains(&format!("\"{node}\""));
                ensure!(log.lines().any(heard), "nothing of {node} in:\n{log}");
            }
            Ok(())
        })
        .map_err(|error| self.installed.explain(error))
    }

    pub fn assert_undisturbed(&self, nodes: &[&str], then: u64) {
        for node in nodes {
            assert_eq!(self.wire(node).commands_since(then), [], "{node}");
            assert!(self.wire(node).flew_without_a_break_since(then), "{node}");
        }
    }

    pub fn ready(&self, node: &str) -> anyhow::Result<String> {
        let path = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
        self.kubectl(&["get", "node", node, "-o", path])
    }

    pub fn agent_uid(&self, node: &str) -> anyhow::Result<String> {
        let pod = self.installed.agent_pod(node)?;
        let found: Value = self.installed.plane().kubectl().json(["get", &pod, "-n", SYSTEM])?;
        Ok(found["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
    }

    pub fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.installed.kubectl(args)
    }

    pub fn wire(&self, drone: &str) -> Wire {
        Wire(self.installed.wire_log(drone))
    }
}

fn rfc3339(micros: u64) -> anyhow::Result<String> {
    let time = k8s_openapi::jiff::Timestamp::from_microsecond(i64::try_from(micros)?)?;
    Ok(time.to_string())
}
