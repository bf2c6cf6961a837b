//! Pace of a Swarm's actions: takeoffs in time, a changed template over its Drones.

use crate::relief::{Sky, of, patch_swarm, swarm_in_the_air};
use crate::{Agent, crew, flying, on};
use crds::Drone;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use skein_tests::cluster_field::{Coordinator, Field, PATIENCE, condition, phase};
use skein_tests::scripted_agent::Vehicle;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub async fn takeoffs_of_a_swarm_are_spread_in_time_and_never_more_are_up_than_may_be(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3", "n4"]);
    let sky = Sky::watch(&vehicles);
    let spec = json!({"replicas": 3, "takeoffIntervalSeconds": 2, "maxSurge": 0});
    swarm_in_the_air(&field, spec).await;
    // By its own log: an order may be late on its way.
    let takeoffs = field
        .until("three takeoffs in its log", async || {
            let mut takeoffs: BTreeMap<String, Timestamp> = BTreeMap::new();
            let log = coordinator.process.stderr();
            for line in log.lines().filter(|line| line.contains("to the agent desired=flying")) {
                let at = line.split(' ').next().unwrap().parse().unwrap();
                let node = line.split_once("agent{node=").unwrap().1.split('}').next().unwrap();
                takeoffs.entry(node.to_owned()).or_insert(at);
            }
            let mut takeoffs: Vec<Timestamp> = takeoffs.into_values().collect();
            takeoffs.sort();
            if takeoffs.len() == 3 { Ok(takeoffs) } else { Err(log) }
        })
        .await;
    for pair in takeoffs.windows(2) {
        let gap = pair[1].duration_since(pair[0]);
        assert!(gap.as_millis() > 1900, "{takeoffs:?}");
    }
    for vehicle in vehicles.iter().filter(|v| v.flies()) {
        vehicle.state().lands = false;
    }
    let drones = field.all_drones().await;
    let delete = kube::api::DeleteParams::default();
    field
        .drones("north")
        .delete(&drones[0].name_any(), &delete)
        .await
        .unwrap();
    field
        .until_drones("the one in its place to wait", |d| {
            d.iter().any(|d| condition(d, "Ready").1 == "WaitingItsTurn")
        })
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 3);
    of(&vehicles, on(&drones[0])).state().lands = true;
    let three = |d: &[Drone]| d.len() == 3 && flying(d) == 3;
    field.until_drones("three to fly", three).await;
    assert_eq!(sky.saw().1, 3);
    expect_quiet(&coordinator);
}

/// Deletes a Drone of Swarm `alpha` whose vehicle does not land, and waits for a replacement that waits for that.
async fn one_that_waits(field: &Field, vehicles: &[Vehicle]) -> (Vehicle, Drone) {
    for vehicle in vehicles.iter().filter(|v| v.flies()) {
        vehicle.state().lands = false;
    }
    let gone = field.all_drones().await[0].name_any();
    let delete = kube::api::DeleteParams::default();
    field.drones("north").delete(&gone, &delete).await.unwrap();
    let waits = |d: &Drone| condition(d, "Ready").1 == "WaitingItsTurn";
    let drones = field
        .until_drones("the one in its place to wait", |d| d.iter().any(waits))
        .await;
    let waiting = drones.iter().find(|d| waits(d)).unwrap().clone();
    let up = drones.iter().find(|d| d.name_any() == gone).unwrap();
    (of(vehicles, on(up)).clone(), waiting)
}

pub async fn an_agent_that_falls_silent_on_the_ground_gets_no_turn_by_that(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, mut agents) = crew(&field, &coordinator, &["n1", "n2"]);
    swarm_in_the_air(&field, json!({"replicas": 1, "maxSurge": 0})).await;
    let (up, waiting) = one_that_waits(&field, &vehicles).await;
    let index = vehicles.iter().position(|v| v.state().node == on(&waiting)).unwrap();
    drop(agents.remove(index));
    let name = waiting.name_any();
    let is = |d: &[Drone], wanted: &str| d.iter().any(|d| d.name_any() == name && phase(d) == wanted);
    field
        .until_drones("nothing to be known of it", |d| is(d, "Unknown"))
        .await;
    agents.push(Agent::start(&vehicles[index], &coordinator.address));
    field.until_drones("it to be back", |d| is(d, "Preparing")).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(vehicles[index].ordered_to_fly_for(), [""; 0]);
    up.state().lands = true;
    field
        .until_drones("it to have its turn", |d| d.len() == 1 && is(d, "Flying"))
        .await;
}

pub async fn a_drone_that_goes_by_the_hand_of_a_person_keeps_nobody_on_the_ground(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    swarm_in_the_air(&field, json!({"replicas": 1, "maxSurge": 0})).await;
    let (up, waiting) = one_that_waits(&field, &vehicles).await;
    let drones = field.all_drones().await;
    let gone = drones.iter().find(|d| on(d) == up.state().node).unwrap();
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let params = PatchParams::default();
    field
        .drones("north")
        .patch(&gone.name_any(), &params, &patch)
        .await
        .unwrap();
    let flies = |d: &[Drone]| d.len() == 1 && d[0].name_any() == waiting.name_any() && flying(d) == 1;
    field.until_drones("the other to fly", flies).await;
}

pub async fn takeoffs_stay_spread_when_another_leads(mut field: Field) {
    const INTERVAL: Duration = Duration::from_secs(6);
    let first = field.coordinator();
    let (vehicles, agents) = crew(&field, &first, &["n1", "n2"]);
    let spec = json!({"replicas": 2, "takeoffIntervalSeconds": INTERVAL.as_secs()});
    field.swarm("north", "alpha", spec).await;
    field.until_drones("the first to fly", |d| flying(d) == 1).await;
    first.process.stop(PATIENCE).unwrap();
    drop(agents);
    let began = Instant::now();
    let second = field.coordinator();
    let _agents: Vec<_> = vehicles.iter().map(|v| Agent::start(v, &second.address)).collect();
    field.until_drones("both to fly", |d| flying(d) == 2).await;
    assert!(began.elapsed() > INTERVAL, "{:?}", began.elapsed());
}

pub async fn a_changed_template_goes_through_the_air_one_after_the_other_and_lands_nobody(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    let mut drones = swarm_in_the_air(&field, json!({"replicas": 2})).await;
    drones.sort_by_key(ResourceExt::name_any);
    let orders: Vec<_> = vehicles.iter().map(|v| v.state().orders.len()).collect();
    let first = of(&vehicles, on(&drones[0]));
    first.state().obeys = false;
    let spec = json!({"takeoffAltitudeMeters": 25.0, "failsafe": {"reservePercent": 15}});
    patch_swarm(&field, json!({"template": {"spec": spec}})).await;
    let height = |name: &str, drones: &[Drone]| {
        let drone = drones.iter().find(|d| d.name_any() == name).unwrap();
        (
            drone.spec.takeoff_altitude_meters,
            drone.spec.failsafe.as_ref().map(|f| f.reserve_percent),
        )
    };
    let (one, two) = (drones[0].name_any(), drones[1].name_any());
    field
        .until_drones("the first to be changed", |d| height(&one, d) == (25.0, Some(15)))
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let now = field.all_drones().await;
    assert_eq!(height(&two, &now), (10.0, None), "the first has not taken it yet");
    first.state().obeys = true;
    field
        .until_drones("the second to be changed", |d| height(&two, d) == (25.0, Some(15)))
        .await;
    field
        .until("both to be ordered", async || {
            let desire = |v: &Vehicle| {
                v.state()
                    .fence
                    .held
                    .clone()
                    .map(|held| (held.desired, held.failsafe.reserve.get()))
            };
            let desired: Vec<_> = vehicles.iter().map(desire).collect();
            let flying = model::assignment::Desired::Flying {
                altitude: model::units::AltitudeAboveHome(25.0),
            };
            if desired.iter().all(|desire| *desire == Some((flying, 15))) {
                Ok(())
            } else {
                Err(format!("{desired:?}"))
            }
        })
        .await;
    for (vehicle, from) in vehicles.iter().zip(orders) {
        assert!(vehicle.flies() && !vehicle.ordered_to_land_since(from));
    }
    let after: Vec<_> = field.all_drones().await.iter().filter_map(ResourceExt::uid).collect();
    assert!(
        drones.iter().all(|d| after.contains(&d.uid().unwrap())),
        "they are the same Drones"
    );
}

pub async fn a_changed_node_selector_replaces_in_order_and_within_what_may_be_missing(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3", "n4"]);
    for (node, site) in [("n1", "north"), ("n2", "north"), ("n3", "south"), ("n4", "south")] {
        let site = format!("site={site}");
        field.cluster().kubectl().run(["label", "nodes", node, &site]).unwrap();
    }
    let spec = json!({"replicas": 2, "maxUnavailable": 0, "nodeSelector": {"site": "north"}});
    let drones = swarm_in_the_air(&field, spec).await;
    assert!(drones.iter().all(|d| ["n1", "n2"].contains(&on(d))), "{drones:?}");

    let sky = Sky::watch(&vehicles);
    patch_swarm(&field, json!({"nodeSelector": {"site": "south"}})).await;
    let moved = |d: &[Drone]| d.len() == 2 && flying(d) == 2 && d.iter().all(|d| ["n3", "n4"].contains(&on(d)));
    let drones = field.until_drones("two to fly from the south", moved).await;
    assert_eq!(sky.saw(), (2, 3), "two always fly, and never more than one beside them");

    // No node matches: without a replacement no vehicle lands, as none may be missing.
    let orders: Vec<_> = vehicles.iter().map(|v| v.state().orders.len()).collect();
    patch_swarm(&field, json!({"nodeSelector": {"site": "nowhere"}})).await;
    let waits = "do not match nodeSelector";
    field
        .until_drones("another to say why it waits", |d| {
            d.len() == 3 && d.iter().any(|d| condition(d, "Assigned").2.contains(waits))
        })
        .await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 2);

    // Any node matches: those that fly get the new selector without a move.
    patch_swarm(&field, json!({"nodeSelector": null})).await;
    let as_before = |d: &[Drone]| {
        let same = d.iter().all(|d| drones.iter().any(|old| old.uid() == d.uid()));
        same && d.len() == 2 && flying(d) == 2 && d.iter().all(|d| d.spec.node_selector.is_empty())
    };
    field.until_drones("the same two to have no selector", as_before).await;
    for (vehicle, from) in vehicles.iter().zip(orders) {
        assert!(!vehicle.ordered_to_fly_for().is_empty());
        let flies = drones.iter().any(|d| on(d) == vehicle.state().node);
        assert!(!flies || !vehicle.ordered_to_land_since(from));
    }

    // Changes that were not made to the Swarm move no vehicle: a node's labels may change.
    patch_swarm(&field, json!({"nodeSelector": {"site": "south"}, "maxUnavailable": 1})).await;
    let taken = |d: &[Drone]| d.iter().all(|d| d.spec.node_selector.contains_key("site"));
    field.until_drones("both to take the selector", taken).await;
    let node = on(&drones[0]).to_owned();
    field
        .cluster()
        .kubectl()
        .run(["label", "nodes", &node, "site-"])
        .unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(of(&vehicles, &node).flies());
    assert_eq!(field.all_drones().await.len(), 2);
}

pub async fn a_drone_that_waits_for_a_vehicle_takes_up_what_its_swarm_asks_for_now(mut field: Field) {
    let coordinator = field.coordinator();
    let (_vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    let spec = json!({"replicas": 1, "nodeSelector": {"site": "misspelled"}});
    field.swarm("north", "alpha", spec).await;
    let waits = |d: &[Drone]| d.len() == 1 && condition(&d[0], "Assigned").2.contains("do not match nodeSelector");
    let before = field.until_drones("a Drone to wait for a vehicle", waits).await;
    let corrected = json!({"nodeSelector": null, "template": {"spec": {"takeoffAltitudeMeters": 15}}});
    patch_swarm(&field, corrected).await;
    let flies = |d: &[Drone]| d.len() == 1 && flying(d) == 1;
    let after = field.until_drones("it to fly", flies).await;
    assert_eq!(before[0].uid(), after[0].uid(), "it is the same Drone");
    assert!((after[0].spec.takeoff_altitude_meters - 15.0).abs() < f64::EPSILON);
    expect_quiet(&coordinator);
}

fn expect_quiet(coordinator: &Coordinator) {
    let log = coordinator.process.stderr();
    assert!(!log.contains("ERROR"), "{log}");
}
