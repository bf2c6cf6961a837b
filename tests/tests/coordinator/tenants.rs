//! Requests of one namespace delay nobody in another.

use crate::latched::{fleet, swarm};
use crate::missions::{condition, fliers, route};
use crate::{crew, flying};
use crds::Drone;
use kube::ResourceExt;
use serde_json::{Value, json};
use skein_tests::cluster_field::Field;
use skein_tests::hostile::{HOSTILE_MISSIONS, slow_to_plan};
use std::time::{Duration, Instant};

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

fn quota(drones: u32) -> String {
    let hard = json!({"count/drones.skein.dev": drones.to_string()});
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "small"},
                       "spec": {"hard": hard}});
    quota.to_string()
}

/// Waits until kube-controller-manager has taken up the quota, by whose status the API server refuses.
async fn until_in_force(field: &Field, drones: u32) {
    let kubectl = field.cluster().kubectl();
    let in_force = async || {
        let object = kubectl.json(["get", "resourcequota", "few", "-n", "small"]).unwrap();
        let hard = object["status"]["hard"]["count/drones.skein.dev"].as_str();
        (hard == Some(drones.to_string().as_str()))
            .then_some(())
            .ok_or_else(|| object["status"].to_string())
    };
    field.until("the quota to be in force", in_force).await;
}

pub async fn a_namespace_at_its_quota_says_so_delays_no_other_and_goes_on_once_it_is_raised(mut field: Field) {
    field.at_quota = Some("small");
    let kubectl = field.cluster().kubectl().clone();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "small"}});
    kubectl.apply(&namespace.to_string()).unwrap();
    kubectl.apply(&quota(2)).unwrap();
    until_in_force(&field, 2).await;

    let coordinator = field.coordinator();
    let (_vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3", "n4", "n5"]);
    field.swarm("small", "alpha", json!({"replicas": 4})).await;
    let ready = |field: &Field| condition(&field.read("namespaces/small/swarms/alpha"), "Ready");
    field
        .until("the Swarm to name the quota", async || {
            let (status, reason, message) = ready(&field);
            let says = message.contains("exceeded quota: few") && message.contains("raise that ResourceQuota");
            let says = says && status == "False" && reason == "Refused";
            says.then_some(()).ok_or(message)
        })
        .await;
    field.until_drones("two to fly", |drones| flying(drones) == 2).await;

    let asked = Instant::now();
    field.swarm("north", "bravo", json!({"replicas": 1})).await;
    field
        .until_drones("the other namespace to be served", |drones| flying(drones) == 3)
        .await;
    println!("the other namespace is served after {} ms", asked.elapsed().as_millis());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let requests = field.asked().unwrap_or_default().into_iter();
    let refused = requests.filter(|r| r.namespace == "small" && r.verb == "create" && r.code == 403);
    let refused = refused.count();
    println!("{refused} Drones were refused");
    assert!((1..=20).contains(&refused), "{refused} Drones were refused");
    assert_eq!(field.all_drones().await.len(), 3);

    kubectl.apply(&quota(4)).unwrap();
    until_in_force(&field, 4).await;
    field
        .until_drones("all to fly by themselves", |drones| flying(drones) == 5)
        .await;
    field
        .until("the Swarm to be ready", async || {
            let (status, _, message) = ready(&field);
            (status == "True").then_some(()).ok_or(message)
        })
        .await;
}
