//! Orders to what a label selector selects.

use crate::{crew, flying, on};
use crds::Drone;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use proto::v1;
use serde_json::json;
use skein_tests::cluster_field::{Coordinator, Field, PATIENCE, phase};
use skein_tests::scripted_agent::Vehicle;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use testkit::process::Signal;
use tonic::Code;
use tonic::transport::Channel;

type Fleet = v1::fleet_client::FleetClient<Channel>;

const SOON: Duration = Duration::from_secs(1);

async fn fleet(coordinator: &Coordinator) -> Fleet {
    Fleet::connect(format!("http://{}", coordinator.address)).await.unwrap()
}

fn by(selector: &str, namespace: &str) -> v1::GroundRequest {
    v1::GroundRequest {
        target: Some(v1::ground_request::Target::Selector(v1::SelectorTarget {
            selector: selector.into(),
            namespace: namespace.into(),
        })),
    }
}

fn done(response: &v1::GroundResponse) -> Vec<String> {
    let name = |o: &v1::ObjectName| format!("{} {}/{}", o.kind, o.namespace, o.name);
    response.done.iter().map(name).collect()
}

async fn until_flying(vehicles: &[Vehicle], wanted: usize) {
    let start = Instant::now();
    while vehicles.iter().filter(|v| v.flies()).count() != wanted {
        assert!(start.elapsed() < PATIENCE, "never {wanted} in the air");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn red_and_blue(field: &Field) -> Vec<Drone> {
    let of =
        |team: &str, replicas: u32| json!({"replicas": replicas, "template": {"metadata": {"labels": {"team": team}}}});
    field.swarm("north", "alpha", of("red", 2)).await;
    field.swarm("south", "bravo", of("blue", 1)).await;
    let lone = json!({"name": "lone", "labels": {"team": "red"}});
    field.drone("south", lone, json!({})).await;
    field.until_drones("four to fly", |drones| flying(drones) == 4).await
}

pub async fn a_selector_grounds_what_it_selects_and_nothing_else(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3", "n4"]);
    let drones = red_and_blue(&field).await;
    let mut fleet = fleet(&coordinator).await;

    for (selector, code, words) in [
        ("team=violet", Code::NotFound, "nothing was done"),
        ("", Code::InvalidArgument, "an empty selector would select everything"),
        (
            "team red",
            Code::InvalidArgument,
            "where =, ==, !=, in or notin should be",
        ),
    ] {
        for status in [
            fleet.ground(by(selector, "")).await.unwrap_err(),
            fleet.release(by(selector, "")).await.unwrap_err(),
        ] {
            assert_eq!(status.code(), code, "{selector}: {status}");
            assert!(status.message().contains(words), "{selector}: {status}");
        }
    }
    let elsewhere = fleet.ground(by("team=red", "east")).await.unwrap_err();
    assert!(elsewhere.message().contains("in namespace east"), "{elsewhere}");
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 4);

    let listed = |selector: &str| v1::ListRequest {
        selector: selector.into(),
        ..v1::ListRequest::default()
    };
    let shown = fleet.list(listed("team in (red)")).await.unwrap().into_inner().vehicles;
    assert_eq!(shown.len(), 3, "{shown:#?}");
    let answer = fleet.ground(by("team in (red)", "")).await.unwrap().into_inner();
    assert_eq!((answer.drones, answer.agents_told, answer.hidden), (3, 3, 0));
    assert_eq!(done(&answer), ["Swarm north/alpha", "Drone south/lone"]);
    assert!(answer.not_done.is_empty());
    until_flying(&vehicles, 1).await;
    assert!(field.swarms("north").get("alpha").await.unwrap().spec.grounded);
    assert!(field.drones("south").get("lone").await.unwrap().spec.grounded);
    assert!(!field.swarms("south").get("bravo").await.unwrap().spec.grounded);
    fleet.ground(by("team=red", "")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(vehicles.iter().filter(|v| v.flies()).count(), 1);
    let released = fleet.release(by("team=red", "south")).await.unwrap().into_inner();
    assert_eq!(done(&released), ["Drone south/lone"]);
    until_flying(&vehicles, 2).await;
    fleet.release(by("skein.dev/swarm=alpha", "")).await.unwrap();
    field.until_drones("four to fly again", |d| flying(d) == 4).await;

    // Drones that were grounded one by one are released with their Swarm, and counted once.
    let answer = fleet
        .ground(by("skein.dev/swarm=alpha", ""))
        .await
        .unwrap()
        .into_inner();
    assert_eq!((answer.drones, answer.agents_told), (2, 2), "{answer:?}");
    until_flying(&vehicles, 2).await;
    let whole = v1::GroundRequest {
        target: Some(v1::ground_request::Target::Swarm(v1::SwarmTarget {
            namespace: "north".into(),
            name: "alpha".into(),
        })),
    };
    let answer = fleet.release(whole).await.unwrap().into_inner();
    assert_eq!((answer.drones, answer.agents_told), (2, 2), "{answer:?}");
    field.until_drones("all to fly once more", |d| flying(d) == 4).await;

    field.cluster().api_server().pause().unwrap();
    let before: Vec<usize> = vehicles.iter().map(|v| v.state().orders.len()).collect();
    let start = Instant::now();
    let order = tokio::spawn(async move { (fleet.ground(by("team=red", "")).await, fleet) });
    let blue = drones
        .iter()
        .find(|d| d.namespace().as_deref() == Some("south") && d.name_any() != "lone");
    let blue = on(blue.unwrap()).to_owned();
    let answer = || {
        let all = vehicles.iter().zip(&before).filter(|(v, _)| v.state().node != blue);
        all.filter(|(v, from)| v.ordered_to_land_since(**from)).count()
    };
    while answer() < 3 {
        assert!(start.elapsed() < PATIENCE, "agents got no order");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = start.elapsed();
    println!("agents had a selector's order after {took:?}, with the API server stopped");
    assert!(took < SOON, "{took:?}");
    until_flying(&vehicles, 1).await;
    let (answer, mut fleet) = order.await.unwrap();
    field.cluster().api_server().signal(Signal::SIGCONT).unwrap();
    assert_eq!(answer.unwrap_err().code(), Code::Unavailable);
    field
        .until("the order to be written", async || {
            let swarm = field.swarms("north").get("alpha").await.unwrap().spec.grounded;
            let lone = field.drones("south").get("lone").await.unwrap().spec.grounded;
            if swarm && lone {
                Ok(())
            } else {
                Err(format!("{swarm} {lone}"))
            }
        })
        .await;
    fleet.release(by("team", "")).await.unwrap();
    field.until_drones("four to fly at last", |d| flying(d) == 4).await;
}

pub async fn one_drone_of_a_swarm_is_grounded_by_its_label_and_is_not_replaced(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2", "n3"]);
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    let drones = field.until_drones("two to fly", |d| flying(d) == 2).await;
    let names = |drones: &[Drone]| drones.iter().map(ResourceExt::name_any).collect::<BTreeSet<_>>();
    let (all, loud) = (names(&drones), drones[0].name_any());
    let label = Patch::Merge(json!({"metadata": {"labels": {"props": "loud"}}}));
    let params = PatchParams::default();
    field.drones("north").patch(&loud, &params, &label).await.unwrap();
    let mut fleet = fleet(&coordinator).await;
    let answer = field
        .until("the label to be known", async || {
            let answer = fleet.clone().ground(by("props=loud", "north")).await;
            answer.map_err(|status| status.to_string())
        })
        .await
        .into_inner();
    assert_eq!(done(&answer), [format!("Drone north/{loud}")]);
    let down = |d: &[Drone]| d.iter().any(|d| d.name_any() == loud && phase(d) == "Grounded");
    field.until_drones("it to be down", down).await;
    // Its node is drained as well: the Drone stays with its vehicle, which flies for no other Drone.
    let node = on(&drones[0]).to_owned();
    let taint = "skein.dev/ground=:NoExecute";
    field.cluster().kubectl().run(["taint", "nodes", &node, taint]).unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let now = field.all_drones().await;
    assert_eq!((names(&now), flying(&now)), (all.clone(), 1));
    assert_eq!(
        vehicles.iter().filter(|v| v.flies()).count(),
        1,
        "no vehicle took off in its place"
    );
    let untaint = "skein.dev/ground-";
    field
        .cluster()
        .kubectl()
        .run(["taint", "nodes", &node, untaint])
        .unwrap();

    // Its Swarm is grounded, too: releasing only the Drone does not let it fly, and the answer says that.
    fleet.ground(by("skein.dev/swarm=alpha", "")).await.unwrap();
    let answer = fleet.release(by("props=loud", "")).await.unwrap().into_inner();
    assert!(answer.done.is_empty(), "{answer:?}");
    assert!(
        answer.not_done[0]
            .why
            .contains("its Swarm north/alpha is grounded as a whole"),
        "{answer:?}"
    );
    let answer = fleet
        .release(by("skein.dev/swarm=alpha", ""))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(done(&answer), ["Swarm north/alpha"]);
    let again = field.until_drones("both to fly again", |d| flying(d) == 2).await;
    assert_eq!(names(&again), all);
}
