//! Requests of one namespace delay nobody in another.

use crate::latched::{fleet, swarm};
use crate::missions::{condition, fliers, route};
use crds::Drone;
use kube::ResourceExt;
use serde_json::{Value, json};
use skein_tests::cluster_field::Field;
use skein_tests::hostile::{HOSTILE_MISSIONS, slow_to_plan};
use std::time::Instant;

fn mission(namespace: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission",
           "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

fn of<'a>(drones: &'a [Drone], mission: &str) -> Vec<&'a Drone> {
    let is = |drone: &&Drone| {
        drone.namespace().as_deref() == Some("north")
            && drone.labels().get("skein.dev/mission").is_some_and(|of| of == mission)
    };
    drones.iter().filter(is).collect()
}

/// Checks that the Missions of the other namespace are being planned: the coordinator has said so of some, and not planned all.
fn hostile_are_planned(field: &Field) -> Result<(), String> {
    let listed = field.read("namespaces/south/missions");
    let reasons: Vec<_> = listed["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|mission| condition(mission, "Progressing").1)
        .collect();
    let begun = reasons.iter().any(|reason| !reason.is_empty());
    let left = reasons.iter().any(|reason| matches!(&**reason, "" | "Planning"));
    (begun && left).then_some(()).ok_or_else(|| format!("{reasons:?}"))
}

/// Waits until `what` is so, which is before all Missions of the other namespace are planned.
async fn before_all_is_planned(field: &Field, what: &str, asked: Instant, is: impl AsyncFn() -> Result<(), String>) {
    field.until(what, is).await;
    println!("{what}: after {} ms", asked.elapsed().as_millis());
    assert_eq!(hostile_are_planned(field), Ok(()), "{what}");
}

pub async fn while_one_namespace_is_planned_another_is_suspended_deleted_and_grounded(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = fliers(&field, &coordinator, &["n1", "n2", "n3"]);
    for vehicle in &vehicles {
        vehicle.state().waits_at = 3;
    }
    for name in ["suspended", "deleted"] {
        let object = mission("north", name, &json!({"route": route(24)}));
        field.cluster().kubectl().apply(&object.to_string()).unwrap();
        let has_one = |drones: &[Drone]| of(drones, name).iter().any(|drone| drone.spec.node_name.is_some());
        field.until_drones("its Drone to have a vehicle", has_one).await;
    }
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    // The third waits on the ground for the airspace of the first.
    let two = |_: &[Drone]| vehicles.iter().filter(|vehicle| vehicle.flies()).count() == 2;
    field.until_drones("two to fly", two).await;

    let hostile = (0..HOSTILE_MISSIONS).map(|number| mission("south", &format!("h{number}"), &slow_to_plan(number)));
    let hostile = json!({"apiVersion": "v1", "kind": "List", "items": hostile.collect::<Vec<_>>()});
    field.cluster().kubectl().apply(&hostile.to_string()).unwrap();
    field
        .until("the other to be planned", async || hostile_are_planned(&field))
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
    before_all_is_planned(&field, "the suspended one to come home", Instant::now(), async || {
        goes("suspended").await
    })
    .await;
    kubectl
        .run(["delete", "mission", "-n", "north", "deleted", "--wait=false"])
        .unwrap();
    before_all_is_planned(&field, "the deleted one to come home", Instant::now(), async || {
        goes("deleted").await
    })
    .await;
    let asked = Instant::now();
    fleet(&coordinator).await.ground(swarm("alpha")).await.unwrap();
    let grounded = async || {
        let all = vehicles.iter().filter(|vehicle| vehicle.is_grounded_by_order()).count();
        (all > 0).then_some(()).ok_or_else(|| "none".to_owned())
    };
    before_all_is_planned(&field, "the order to reach its vehicle", asked, grounded).await;
}
