//! GitOps tools and autoscalers while vehicles fly: their effect on a Swarm, as in `docs/how-to/use-gitops.md`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod argocd;
mod flux;
mod health;
mod helm;
mod kubectl;
mod tools;

use std::path::PathBuf;

use proto::v1::FlightTruth as Truth;
use serde_json::{Value, json};
use skein_tests::cluster_field::{Coordinator, Field, phase};
use skein_tests::scripted_agent::{Agent, Vehicle};
use testkit::ServedBy;

struct Fleet {
    field: Field,
    vehicles: Vec<Vehicle>,
    _agents: Vec<Agent>,
    _coordinator: Coordinator,
}

impl Fleet {
    async fn of(nodes: &[&str]) -> Self {
        let mut field = Field::clean(ServedBy::Kubernetes).await;
        let coordinator = field.coordinator();
        field.nodes(nodes);
        let vehicles: Vec<_> = nodes.iter().map(|name| Vehicle::new(name)).collect();
        for (number, vehicle) in vehicles.iter().enumerate() {
            // Each further to the southeast, so that no way to a place leads over another home.
            let aside = f64::from(u32::try_from(number).unwrap()) * 0.000_4;
            let mut state = vehicle.state();
            state.home = (47.0 - aside, 8.0 + aside);
            state.at = Some((47.0 - aside, 8.0 + aside, 0.0));
        }
        let agents = vehicles
            .iter()
            .map(|vehicle| Agent::start(vehicle, &coordinator.address));
        let agents = agents.collect();
        Self {
            field,
            vehicles,
            _agents: agents,
            _coordinator: coordinator,
        }
    }

    fn kubectl<const N: usize>(&self, args: [&str; N]) -> String {
        let all = [["-n", "north"].as_slice(), &args].concat();
        self.field.cluster().kubectl().run(all).unwrap()
    }

    fn replicas(&self) -> Value {
        self.field.read("namespaces/north/swarms/alpha")["spec"]["replicas"].clone()
    }

    async fn until_fly(&self, wanted: usize) {
        self.field
            .until_drones(&format!("{wanted} to fly"), |drones| {
                let up = drones.iter().filter(|drone| phase(drone) == "Flying").count();
                drones.len() == wanted && up == wanted
            })
            .await;
        assert_eq!(self.vehicles.iter().filter(|vehicle| vehicle.flies()).count(), wanted);
        self.field
            .until("the Swarm to be Ready", async || {
                let swarm = self.field.read("namespaces/north/swarms/alpha");
                let ready = swarm["status"]["conditions"].as_array().into_iter().flatten();
                let observed = swarm["status"]["observedGeneration"] == swarm["metadata"]["generation"];
                let mut ready = ready.filter(|c| c["type"] == "Ready" && c["status"] == "True");
                if observed && ready.next().is_some() {
                    Ok(())
                } else {
                    Err(swarm["status"].to_string())
                }
            })
            .await;
    }

    async fn until_landed(&self) {
        self.field
            .until("all to be down", async || {
                let all: Vec<Truth> = self.vehicles.iter().map(|vehicle| vehicle.state().truth).collect();
                if all.iter().all(|truth| *truth == Truth::Disarmed) {
                    Ok(())
                } else {
                    Err(format!("{all:?}"))
                }
            })
            .await;
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.field.cluster().scratch().path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn manifest(replicas: Option<u32>) -> Value {
    let mut object = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha", "namespace": "north"},
        "spec": {"template": {"spec": {"takeoffAltitudeMeters": 10}}},
    });
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}
