//! Vehicles that are replaced by others: on cordoned and drained nodes, with tired batteries, lost ones.

use crate::{Agent, crew, flying, on};
use crds::Drone;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use proto::v1::FlightTruth as Truth;
use serde_json::json;
use skein_tests::cluster_field::{Field, PATIENCE, condition, phase};
use skein_tests::scripted_agent::Vehicle;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const DRAIN: &str = "skein.dev/ground=:NoExecute";

pub struct Sky {
    seen: Arc<Mutex<Extremes>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Clone, Copy, Debug)]
struct Extremes {
    fewest_up: usize,
    most_in_the_air: usize,
}

impl Sky {
    pub fn watch(vehicles: &[Vehicle]) -> Self {
        let vehicles = vehicles.to_vec();
        let seen = Arc::new(Mutex::new(Extremes {
            fewest_up: usize::MAX,
            most_in_the_air: 0,
        }));
        let shared = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            loop {
                let up = vehicles.iter().filter(|v| v.state().truth == Truth::InAir).count();
                let any = vehicles.iter().filter(|v| v.flies()).count();
                {
                    let mut seen = shared.lock().unwrap();
                    seen.fewest_up = seen.fewest_up.min(up);
                    seen.most_in_the_air = seen.most_in_the_air.max(any);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        Self { seen, task }
    }

    pub fn saw(self) -> (usize, usize) {
        self.task.abort();
        let seen = *self.seen.lock().unwrap();
        (seen.fewest_up, seen.most_in_the_air)
    }
}

pub fn of<'a>(vehicles: &'a [Vehicle], node: &str) -> &'a Vehicle {
    vehicles.iter().find(|v| v.state().node == node).unwrap()
}

fn kubectl<const N: usize>(field: &Field, args: [&str; N]) {
    field.cluster().kubectl().run(args).unwrap();
}

pub async fn patch_swarm(field: &Field, spec: serde_json::Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    let swarms = field.swarms("north");
    swarms.patch("alpha", &PatchParams::default(), &patch).await.unwrap();
}

pub async fn swarm_in_the_air(field: &Field, spec: serde_json::Value) -> Vec<Drone> {
    let replicas = usize::try_from(spec["replicas"].as_u64().unwrap()).unwrap();
    field.swarm("north", "alpha", spec).await;
    let all = |drones: &[Drone]| drones.len() == replicas && flying(drones) == replicas;
    field.until_drones("all to fly", all).await
}

pub async fn a_cordon_begins_no_flight_and_lands_nobody(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    field
        .drone("south", json!({"name": "up"}), json!({"nodeName": "n1"}))
        .await;
    field.until_drones("it to fly", |d| flying(d) == 1).await;
    vehicles[1].state().ready = false;
    field
        .drone("south", json!({"name": "waits"}), json!({"nodeName": "n2"}))
        .await;
    field
        .until_drones("the other to be ordered", |_| {
            !vehicles[1].ordered_to_fly_for().is_empty()
        })
        .await;
    let orders = vehicles[0].state().orders.len();
    for node in ["n1", "n2"] {
        kubectl(&field, ["cordon", node]);
    }
    field
        .until_drones("it to say why it stays", |d| {
            d.iter()
                .any(|d| d.name_any() == "waits" && condition(d, "Ready").1 == "NodeCordoned")
        })
        .await;
    vehicles[1].state().ready = true;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!vehicles[1].flies() && vehicles[0].flies());
    assert!(!vehicles[0].ordered_to_land_since(orders));
    kubectl(&field, ["uncordon", "n2"]);
    field.until_drones("both to fly", |d| flying(d) == 2).await;
}

pub async fn a_drained_vehicle_lands_after_another_flies_in_its_place(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    let drones = swarm_in_the_air(&field, json!({"replicas": 2})).await;
    for (how, undo) in [
        (["taint", "nodes", DRAIN], "skein.dev/ground-"),
        (["cordon", "", ""], ""),
    ] {
        let drones = if undo.is_empty() {
            field.all_drones().await
        } else {
            drones.clone()
        };
        let node = on(&drones[0]).to_owned();
        let sky = Sky::watch(&vehicles);
        match how {
            ["taint", ..] => kubectl(&field, ["taint", "nodes", &node, DRAIN]),
            _ => {
                kubectl(&field, ["cordon", &node]);
                // A policy that changes later applies to nodes that are already cordoned.
                tokio::time::sleep(Duration::from_secs(1)).await;
                patch_swarm(&field, json!({"onCordon": "Land"})).await;
            }
        }
        let gone = |d: &[Drone]| d.len() == 2 && flying(d) == 2 && d.iter().all(|d| on(d) != node);
        field.until_drones("another to fly in its place", gone).await;
        assert!(!of(&vehicles, &node).flies());
        assert_eq!(sky.saw(), (2, 3), "two always fly, and never more than one beside them");
        match undo {
            "" => kubectl(&field, ["uncordon", &node]),
            taint => kubectl(&field, ["taint", "nodes", &node, taint]),
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        vehicles.iter().filter(|v| v.flies()).count(),
        2,
        "what is free again does not take off"
    );
}

pub async fn where_no_other_vehicle_can_be_had_no_more_land_than_may_be_missing(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    swarm_in_the_air(&field, json!({"replicas": 3, "maxUnavailable": 0})).await;
    for node in ["n1", "n2", "n3"] {
        kubectl(&field, ["taint", "nodes", node, DRAIN]);
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 3, "none may be missing");
    let sky = Sky::watch(&vehicles);
    patch_swarm(&field, json!({"maxUnavailable": 1})).await;
    let down = |n: usize| {
        let vehicles = &vehicles;
        async move {
            let start = Instant::now();
            while vehicles.iter().filter(|v| !v.flies()).count() < n {
                assert!(start.elapsed() < PATIENCE);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    };
    down(1).await;
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(sky.saw(), (2, 3));
    patch_swarm(&field, json!({"maxUnavailable": 3})).await;
    down(3).await;
}

pub async fn one_that_is_to_stay_down_keeps_no_drained_one_in_the_air(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    let drones = swarm_in_the_air(&field, json!({"replicas": 3, "maxUnavailable": 2})).await;
    let patch = Patch::Merge(json!({"spec": {"grounded": true}}));
    let params = PatchParams::default();
    let grounded = drones[0].name_any();
    field.drones("north").patch(&grounded, &params, &patch).await.unwrap();
    field
        .until_drones("one to be down", |d| {
            d.iter().any(|d| d.name_any() == grounded && phase(d) == "Grounded")
        })
        .await;
    kubectl(&field, ["taint", "nodes", on(&drones[1]), DRAIN]);
    let drained = of(&vehicles, on(&drones[1]));
    field
        .until("the drained one to land", async || match drained.flies() {
            false => Ok(()),
            true => Err("it flies".into()),
        })
        .await;
    assert!(of(&vehicles, on(&drones[2])).flies());
}

pub async fn a_drained_vehicle_without_a_swarm_lands_and_keeps_its_drone(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    field
        .drone("south", json!({"name": "lone"}), json!({"nodeName": "n1"}))
        .await;
    let before = field.until_drones("it to fly", |d| flying(d) == 1).await;
    kubectl(&field, ["taint", "nodes", "n1", DRAIN]);
    field
        .until_drones("it to be down and to say why", |d| {
            phase(&d[0]) == "Grounded" && condition(&d[0], "Ready").1 == "NodeDrained"
        })
        .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(vehicles.iter().all(|v| !v.flies()), "it does not fly elsewhere");
    kubectl(&field, ["taint", "nodes", "n1", "skein.dev/ground-"]);
    let after = field.until_drones("it to fly again", |d| flying(d) == 1).await;
    assert_eq!((after[0].uid(), on(&after[0])), (before[0].uid(), "n1"));
}

pub async fn a_node_that_is_deleted_or_loses_its_label_in_flight_lands_nobody(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    swarm_in_the_air(&field, json!({"replicas": 2})).await;
    let fly: Vec<_> = vehicles.iter().filter(|v| v.flies()).cloned().collect();
    let nodes: Vec<String> = fly.iter().map(|v| v.state().node.clone()).collect();
    let orders: Vec<_> = fly.iter().map(|v| v.state().orders.len()).collect();
    kubectl(&field, ["delete", "node", &nodes[0]]);
    kubectl(&field, ["label", "node", &nodes[1], "node-role.kubernetes.io/drone-"]);
    tokio::time::sleep(Duration::from_secs(3)).await;
    for (vehicle, from) in fly.iter().zip(orders) {
        assert!(vehicle.flies() && !vehicle.ordered_to_land_since(from));
    }
    assert_eq!(flying(&field.all_drones().await), 2);
    // Once on the ground, it does not take off from a node that is not a drone node: the Swarm flies with the others.
    patch_swarm(&field, json!({"grounded": true})).await;
    field
        .until_drones("both to be down", |d| d.iter().all(|d| phase(d) == "Grounded"))
        .await;
    patch_swarm(&field, json!({"grounded": false})).await;
    field
        .until_drones("the third to fly and one to wait", |d| {
            d.len() == 2 && d.iter().any(|d| phase(d) == "Pending") && d.iter().any(|d| phase(d) == "Flying")
        })
        .await;
    assert!(fly.iter().all(|v| !v.flies()));
}

pub async fn a_tired_vehicle_comes_home_once_another_flies_in_its_place(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    let drones = swarm_in_the_air(&field, json!({"replicas": 2})).await;
    let tired = on(&drones[1]).to_owned();
    let spare = vehicles.iter().find(|v| !v.flies()).unwrap().clone();
    spare.state().ready = false;
    let sky = Sky::watch(&vehicles);
    of(&vehicles, &tired).state().battery = 28;
    field
        .until_drones("another to be on its way", |d| {
            d.len() == 3 && d.iter().all(|d| !on(d).is_empty())
        })
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(
        of(&vehicles, &tired).flies(),
        "no vehicle is sent home before another flies"
    );
    spare.state().ready = true;
    let relieved = |d: &[Drone]| d.len() == 2 && flying(d) == 2 && d.iter().all(|d| on(d) != tired);
    field.until_drones("it to be relieved", relieved).await;
    assert!(spare.flies() && !of(&vehicles, &tired).flies());
    assert_eq!(sky.saw(), (2, 3));

    // With so little charge it is not chosen for a flight, in which another would have to replace it at once.
    field.scale("north", "alpha", 3).await;
    let words = "1 have too low a battery";
    field
        .until_drones("one to say why it waits", |d| {
            d.iter().any(|d| condition(d, "Assigned").2.contains(words))
        })
        .await;
    of(&vehicles, &tired).state().battery = 90;
    field.until_drones("three to fly", |d| flying(d) == 3).await;
}

pub async fn a_lost_vehicle_is_replaced_only_by_policy_and_is_taken_up_when_it_comes_back(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, mut agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    let drones = swarm_in_the_air(&field, json!({"replicas": 2})).await;
    let node = on(&drones[0]).to_owned();
    let lost = drones[0].name_any();
    let index = vehicles.iter().position(|v| v.state().node == node).unwrap();
    drop(agents.remove(index));
    let is = |d: &[Drone], name: &str, wanted: &str| d.iter().any(|d| d.name_any() == name && phase(d) == wanted);
    field
        .until_drones("nothing to be known of it", |d| is(d, &lost, "Unknown"))
        .await;
    since_long_ago(&field, &lost).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(field.all_drones().await.len(), 2, "none is replaced without a policy");

    let mut again = Agent::start(&vehicles[index], &coordinator.address);
    let as_before = field.until_drones("it to be known again", |d| flying(d) == 2).await;
    assert_eq!(names(&as_before), names(&drones));
    drop(again);
    field
        .until_drones("nothing to be known of it again", |d| is(d, &lost, "Unknown"))
        .await;
    patch_swarm(&field, json!({"replaceLostAfterSeconds": 60})).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(field.all_drones().await.len(), 2, "its time is not over");
    since_long_ago(&field, &lost).await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(
        field.all_drones().await.len(),
        2,
        "nor is it by the clock of this leader"
    );
    let three = |d: &[Drone]| d.len() == 3 && flying(d) == 2 && is(d, &lost, "Unknown");
    let replaced = field.until_drones("another to fly", three).await;
    let bound = replaced.iter().find(|d| d.name_any() == lost).unwrap();
    assert_eq!(on(bound), node, "it stays bound to its vehicle");
    assert!(vehicles[index].flies());

    // It comes back late: now there is one too many, and the one with the lowest battery lands.
    vehicles[index].state().battery = 50;
    again = Agent::start(&vehicles[index], &coordinator.address);
    let two = |d: &[Drone]| d.len() == 2 && flying(d) == 2;
    let left = field.until_drones("two to be left", two).await;
    assert!(left.iter().all(|d| d.name_any() != lost));
    assert!(!vehicles[index].flies());
    drop(again);
}

async fn since_long_ago(field: &Field, name: &str) {
    let drones = field.drones("north");
    let mut status = drones.get(name).await.unwrap().status.unwrap();
    for condition in &mut status.conditions {
        condition.last_transition_time.0 = k8s_openapi::jiff::Timestamp::from_second(1_700_000_000).unwrap();
    }
    let patch = Patch::Merge(json!({"status": {"conditions": status.conditions}}));
    drones
        .patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

fn names(drones: &[Drone]) -> Vec<(String, String)> {
    drones.iter().map(|d| (d.name_any(), on(d).to_owned())).collect()
}
