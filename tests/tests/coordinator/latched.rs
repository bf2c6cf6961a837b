//! Ground orders as objects: later created or edited objects fall under them, and only a release ends them.

use crate::{crew, flying, on};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use proto::v1;
use proto::v1::ground_request::Target;
use serde_json::json;
use skein_tests::cluster_field::{Coordinator, Field, condition, phase};
use skein_tests::scripted_agent::Vehicle;
use std::time::Duration;
use tonic::transport::Channel;

type Fleet = v1::fleet_client::FleetClient<Channel>;

const LONG_ENOUGH: Duration = Duration::from_secs(3);

pub async fn fleet(coordinator: &Coordinator) -> Fleet {
    Fleet::connect(format!("http://{}", coordinator.address)).await.unwrap()
}

fn to(target: Target) -> v1::GroundRequest {
    v1::GroundRequest { target: Some(target) }
}

fn all() -> v1::GroundRequest {
    to(Target::All(v1::All {}))
}

pub fn swarm(name: &str) -> v1::GroundRequest {
    to(Target::Swarm(v1::SwarmTarget {
        namespace: "north".into(),
        name: name.into(),
    }))
}

async fn orders(field: &Field) -> Vec<crds::GroundOrder> {
    field.ground_orders().list(&ListParams::default()).await.unwrap().items
}

async fn nobody_flies(vehicles: &[Vehicle], after: &str) {
    tokio::time::sleep(LONG_ENOUGH).await;
    assert!(!vehicles.iter().any(Vehicle::flies), "one flies after {after}");
}

pub async fn what_is_made_or_edited_after_a_ground_order_falls_under_it(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    field.until_drones("one to fly", |drones| flying(drones) == 1).await;
    let mut fleet = fleet(&coordinator).await;
    fleet.ground(all()).await.unwrap();
    field
        .until_drones("it to be down", |d| d.iter().all(|d| phase(d) == "Grounded"))
        .await;
    let given = orders(&field).await;
    assert_eq!(given.len(), 1, "{given:#?}");
    assert_eq!(given[0].spec.scope, crds::ground_order::Scope::All);
    assert!(!given[0].spec.ordered_by.is_empty() && given[0].spec.ordered_at.is_some());

    field.swarm("north", "bravo", json!({"replicas": 1})).await;
    let both = |d: &[crds::Drone]| d.len() == 2 && d.iter().all(|d| phase(d) == "Grounded");
    field.until_drones("a new Swarm to stay down", both).await;
    nobody_flies(&vehicles, "a new Swarm").await;

    // As a tool that does not know the order does.
    let mut replaced = field.swarms("north").get("alpha").await.unwrap();
    replaced.spec.grounded = false;
    replaced.metadata.managed_fields = None;
    let (api, params) = (field.swarms("north"), PostParams::default());
    api.replace("alpha", &params, &replaced).await.unwrap();
    nobody_flies(&vehicles, "a replaced spec").await;

    api.delete("alpha", &DeleteParams::default()).await.unwrap();
    field
        .until_drones("its Drone to be gone", |d| {
            d.iter().all(|d| d.name_any().starts_with("bravo"))
        })
        .await;
    field
        .until("the Swarm to be gone", async || {
            match api.get_opt("alpha").await.unwrap() {
                None => Ok(()),
                Some(there) => Err(format!("{:?}", there.metadata)),
            }
        })
        .await;
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    let three = |d: &[crds::Drone]| d.len() == 3 && d.iter().all(|d| phase(d) == "Grounded");
    field.until_drones("one that is made again to stay down", three).await;
    nobody_flies(&vehicles, "a Swarm that was made again").await;

    let name = given[0].name_any();
    field
        .ground_orders()
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    nobody_flies(&vehicles, "the deletion of the order").await;
    assert!(
        field
            .ground_orders()
            .get(&name)
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    );
    let edit = Patch::Merge(json!({"spec": {"scope": "Node", "target": "n9"}}));
    let refused = field.ground_orders().patch(&name, &PatchParams::default(), &edit).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("a ground order is never changed"), "{refused}");

    drop(coordinator);
    let next = field.coordinator();
    let _agents: Vec<_> = vehicles
        .iter()
        .map(|vehicle| crate::Agent::start(vehicle, &next.address))
        .collect();
    nobody_flies(&vehicles, "another leader").await;
    let fleet = self::fleet(&next).await;
    field
        .until("the next to lead, and to release", async || {
            let released = fleet.clone().release(all()).await;
            released.map(drop).map_err(|refused| refused.to_string())
        })
        .await;
    field.until_drones("all three to fly", |d| flying(d) == 3).await;
    assert_eq!(orders(&field).await.len(), 0);
}

pub async fn the_vehicles_of_a_grounded_swarm_that_is_deleted_serve_nobody_else(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    field.until_drones("two to fly", |drones| flying(drones) == 2).await;
    field.swarm("north", "bravo", json!({"replicas": 1})).await;
    let mut fleet = fleet(&coordinator).await;
    fleet.ground(swarm("alpha")).await.unwrap();
    field
        .until_drones("two to be down", |d| {
            d.iter().filter(|d| phase(d) == "Grounded").count() == 2
        })
        .await;
    let params = DeleteParams::default();
    field.swarms("north").delete("alpha", &params).await.unwrap();
    let says = |drone: &crds::Drone| condition(drone, "Assigned").2;
    let waits = field
        .until_drones("the other to say why it has no vehicle", |d| {
            d.len() == 1 && says(&d[0]).contains("kept on the ground by a ground order")
        })
        .await;
    assert!(on(&waits[0]).is_empty());
    nobody_flies(&vehicles, "the deletion of the Swarm").await;
    fleet.release(swarm("alpha")).await.unwrap();
    field.until_drones("the other to fly", |d| flying(d) == 1).await;
}

pub async fn a_drone_a_vehicle_and_a_part_of_all_are_grounded_and_released(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    field.drone("south", json!({"name": "lone"}), json!({})).await;
    let drones = field.until_drones("two to fly", |drones| flying(drones) == 2).await;
    let mut fleet = fleet(&coordinator).await;
    let of = |swarm: bool| move |d: &&crds::Drone| d.name_any().starts_with("alpha") == swarm;
    let of_alpha = drones.iter().find(of(true)).unwrap();
    let one = to(Target::Drone(v1::DroneTarget {
        namespace: "north".into(),
        name: of_alpha.name_any(),
    }));
    let node = to(Target::Node(v1::NodeTarget {
        name: on(drones.iter().find(of(false)).unwrap()).to_owned(),
    }));
    let nobody = to(Target::Node(v1::NodeTarget { name: "n9".into() }));
    assert_eq!(fleet.ground(nobody).await.unwrap_err().code(), tonic::Code::NotFound);

    let answer = fleet.ground(one.clone()).await.unwrap().into_inner();
    assert_eq!((answer.drones, answer.agents_told), (1, 1));
    let answer = fleet.ground(node.clone()).await.unwrap().into_inner();
    assert_eq!((answer.drones, answer.agents_told), (1, 1));
    let down = |d: &[crds::Drone]| d.len() == 2 && d.iter().all(|d| phase(d) == "Grounded");
    field.until_drones("both to be down", down).await;
    let still = fleet.release(swarm("alpha")).await.unwrap().into_inner();
    assert!(still.not_done.is_empty(), "{still:?}");
    field.until_drones("the one to fly", |d| flying(d) == 1).await;
    fleet.release(node.clone()).await.unwrap();
    field.until_drones("both to fly", |d| flying(d) == 2).await;

    fleet.ground(all()).await.unwrap();
    field.until_drones("all to be down", down).await;
    fleet.release(swarm("alpha")).await.unwrap();
    field.until_drones("the Swarm to fly", |d| flying(d) == 1).await;
    tokio::time::sleep(LONG_ENOUGH).await;
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 1);
    fleet.ground(node.clone()).await.unwrap();
    let lone = to(Target::Drone(v1::DroneTarget {
        namespace: "south".into(),
        name: "lone".into(),
    }));
    let answer = fleet.release(lone).await.unwrap().into_inner();
    let why = &answer.not_done.first().expect("it is still covered").why;
    assert!(
        why.contains("the ground order ground-") && why.contains("(node n"),
        "{why}"
    );
    fleet.release(node).await.unwrap();
    field.until_drones("both to fly at last", |d| flying(d) == 2).await;
    fleet.release(all()).await.unwrap();
    assert_eq!(orders(&field).await.len(), 0);
}
