//! Requests of one namespace delay nobody in another.

use crate::latched::{fleet, swarm};
use crate::missions::{condition, fliers, route};
use crds::Drone;
use kube::ResourceExt;
use model::assignment::{Desired, GroundedWhy, Order};
use serde_json::{Value, json};
use skein_tests::cluster_field::Field;
use skein_tests::scripted_agent::Vehicle;
use std::time::Instant;

const HOSTILE_MISSIONS: u32 = 40;

fn comb(teeth: u32, spacing: f64) -> Value {
    let corner = |east: f64, north: f64| json!({"latitudeDegrees": 47.1 + north / 111_000.0, "longitudeDegrees": 8.0 + east / 76_000.0});
    let square = [(0.0, 0.0), (1000.0, 0.0), (1000.0, 1000.0), (0.0, 1000.0)];
    let pitch = 800.0 / f64::from(teeth);
    let tooth = |number: u32| {
        let left = 100.0 + f64::from(number) * pitch;
        let right = left + 0.6 * pitch;
        [(right, 150.0), (right, 900.0), (left, 900.0), (left, 150.0)]
    };
    let mut hole = vec![(100.0, 100.0), (900.0 - 0.4 * pitch, 100.0)];
    hole.extend((0..teeth).rev().flat_map(tooth));
    hole.remove(2);
    hole.pop();
    let ring = |corners: &[(f64, f64)]| {
        corners
            .iter()
            .map(|(east, north)| corner(*east, *north))
            .collect::<Vec<_>>()
    };
    json!({
        "area": {"polygon": ring(&square), "holes": [{"polygon": ring(&hole)}]},
        "headingDegrees": 30, "lineSpacingMeters": spacing, "altitudeMeters": 30,
    })
}

fn apply(field: &Field, namespace: &str, name: &str, spec: &Value) {
    let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission",
                        "metadata": {"name": name, "namespace": namespace}, "spec": spec});
    field.cluster().kubectl().apply(&object.to_string()).unwrap();
}

fn of<'a>(drones: &'a [Drone], mission: &str) -> Vec<&'a Drone> {
    let is = |drone: &&Drone| {
        drone.namespace().as_deref() == Some("north")
            && drone.labels().get("skein.dev/mission").is_some_and(|of| of == mission)
    };
    drones.iter().filter(is).collect()
}

fn is_grounded(vehicle: &Vehicle) -> bool {
    let state = vehicle.state();
    let ordered = Desired::Grounded {
        why: GroundedWhy::Ordered,
    };
    matches!(state.orders.last(), Some(Order::Assigned(last)) if last.desired == ordered)
}

async fn soon(field: &Field, what: &str, asked: Instant, is: impl AsyncFn() -> Result<(), String>) {
    field.until(what, is).await;
    println!("{what}: after {} ms", asked.elapsed().as_millis());
    let last = field.read(&format!("namespaces/south/missions/h{}", HOSTILE_MISSIONS - 1));
    let (_, reason, message) = condition(&last, "Progressing");
    assert!(matches!(&*reason, "" | "Planning"), "{what}: {reason}: {message}");
}

pub async fn while_one_namespace_is_planned_another_is_suspended_deleted_and_grounded(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = fliers(&field, &coordinator, &["n1", "n2", "n3"]);
    for vehicle in &vehicles {
        vehicle.state().waits_at = 3;
    }
    for name in ["suspended", "deleted"] {
        apply(&field, "north", name, &json!({"route": route(24)}));
        let has_one = |drones: &[Drone]| of(drones, name).iter().any(|drone| drone.spec.node_name.is_some());
        field.until_drones("its Drone to have a vehicle", has_one).await;
    }
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    // The third waits on the ground for the airspace of the first.
    let two = |_: &[Drone]| vehicles.iter().filter(|vehicle| vehicle.flies()).count() == 2;
    field.until_drones("two to fly", two).await;

    for number in 0..HOSTILE_MISSIONS {
        let survey = comb(50, 12.0 + f64::from(number) * 0.01);
        let spec = json!({"survey": survey, "parallelism": 100});
        apply(&field, "south", &format!("h{number}"), &spec);
    }
    field
        .until("the other to be planning", async || {
            let one = field.read("namespaces/south/missions/h0");
            let (_, reason, message) = condition(&one, "Progressing");
            (!reason.is_empty()).then_some(()).ok_or(message)
        })
        .await;

    let goes = async |name: &str| {
        let drones = field.all_drones().await;
        let goes = of(&drones, name)
            .iter()
            .all(|drone| drone.metadata.deletion_timestamp.is_some());
        goes.then_some(()).ok_or_else(|| format!("{drones:?}"))
    };
    let kubectl = field.cluster().kubectl();
    let patch = json!({"spec": {"suspend": true}}).to_string();
    kubectl
        .run([
            "patch",
            "mission",
            "-n",
            "north",
            "suspended",
            "--type=merge",
            "-p",
            &patch,
        ])
        .unwrap();
    soon(&field, "the suspended one to come home", Instant::now(), async || {
        goes("suspended").await
    })
    .await;
    kubectl
        .run(["delete", "mission", "-n", "north", "deleted", "--wait=false"])
        .unwrap();
    soon(&field, "the deleted one to come home", Instant::now(), async || {
        goes("deleted").await
    })
    .await;
    let asked = Instant::now();
    fleet(&coordinator).await.ground(swarm("alpha")).await.unwrap();
    let grounded = async || {
        let all = vehicles.iter().filter(|vehicle| is_grounded(vehicle)).count();
        (all > 0).then_some(()).ok_or_else(|| "none".to_owned())
    };
    soon(&field, "the order to reach its vehicle", asked, grounded).await;
}
