//! An observer of a cluster of a few objects.

use super::*;
use crate::cluster::world::{Change, Wakes};
use crate::controllers::airspace::SiteRules;
use crate::controllers::plans::{Plan, Planned};
use crate::metrics::Metrics;
use crate::server::auth::tests::scripted::Scripted;
use crds::DroneSpec;
use fleet::planning::node_use;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use model::assignment::Held;
use model::ids::Term;
use model::plan::PlanDigest;
use model::reported_flight::SoFar;
use model::units::Wgs84;
use model::vehicle::Airborne;
use serde_json::json;
use tokio_util::sync::CancellationToken;

pub fn observer(client: kube::Client) -> Observer {
    let (world, metrics) = (Arc::new(World::new(Wakes::default())), Metrics::default());
    let (cluster, _) = Cluster::new(client, "here", Arc::clone(&world), metrics.clone());
    let sessions = Sessions::new(Arc::clone(&world), world.wakes().nodes, metrics.clone());
    let (sessions, rules) = (Arc::new(sessions), Arc::default());
    Observer {
        airspace: Airspace::new(SiteRules::default(), &rules),
        ground: GroundOrders::new(cluster.clone(), Arc::clone(&sessions), metrics.clone()),
        upgrades: Arc::new(Upgrades::new(None)),
        takeoff_slots: Arc::default(),
        rules,
        missions: Arc::default(),
        operators: Arc::default(),
        traces: FlightTraces::default(),
        leadership: Leadership::new(
            (Term(1), false),
            Arc::default(),
            (CancellationToken::new(), metrics),
            false,
            world,
        ),
        cluster,
        sessions,
    }
}

/// The Drone `name`, after `change`, is bound to the node of its name and holds the claim to it.
pub fn bound(observer: &Observer, name: &str, change: impl FnOnce(&mut Drone)) -> Arc<Drone> {
    let mut drone = Drone::new(name, DroneSpec::default());
    drone.spec.node_name = Some(name.to_owned());
    drone.metadata.namespace = Some("north".to_owned());
    drone.metadata.uid = Some(format!("uid-{name}"));
    drone.metadata.finalizers = Some(vec![labels::LANDED_FINALIZER.to_owned()]);
    change(&mut drone);
    let drone = Arc::new(drone);
    observer.world().drone(Change::Is(Arc::clone(&drone)));
    let claim = json!({
        "metadata": {"annotations": {
            "skein.dev/node": name, "skein.dev/drone-namespace": "north", "skein.dev/drone-name": name,
        }},
        "spec": {"holderIdentity": format!("uid-{name}")},
    });
    let claim = serde_json::from_value(claim).unwrap();
    observer.world().lease(Change::Is(Arc::new(claim)));
    drone
}

/// The order that the agent of the Drone with this uid holds.
pub fn holding(uid: &str) -> Held {
    Held {
        uid: DroneUid(uid.to_owned()),
        term: Term(1),
        generation: 0,
        grounded: false,
        settled: false,
        details: None,
    }
}

pub fn node(observer: &Observer, name: &str, drained: bool) {
    let taint = json!({"key": node_use::GROUND_TAINT, "effect": "NoExecute"});
    let taints = if drained { vec![taint] } else { Vec::new() };
    let node = json!({
        "metadata": {"name": name, "labels": {labels::DRONE_NODE: ""}},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    let node = serde_json::from_value(node).unwrap();
    observer.world().node(Change::Is(Arc::new(node)));
}

pub fn node_declared_down(observer: &Observer, name: &str, at: Timestamp) {
    let node = json!({"metadata": {
        "name": name,
        "labels": {labels::DRONE_NODE: ""},
        "annotations": {labels::VEHICLE_IS_DOWN: at.to_string()},
    }});
    let node = serde_json::from_value(node).unwrap();
    observer.world().node(Change::Is(Arc::new(node)));
}

pub fn for_a_mission(drone: &mut Drone) {
    drone.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "skein.dev/v1alpha1".into(),
        kind: "Mission".into(),
        name: "survey".into(),
        uid: "uid-survey".into(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
}

/// The Mission `survey` was reconciled, and the Drone `name` has this plan, or none.
pub fn plans(observer: &Observer, name: &str, plan: Option<Planned>) {
    let mut known = observer.missions.lock();
    known.missions.insert("uid-survey".to_owned());
    known.plans.remove(&format!("uid-{name}"));
    known
        .plans
        .extend(plan.map(|plan| (format!("uid-{name}"), Plan::Known(Arc::new(plan)))));
}

#[tokio::test]
async fn one_that_flies_for_a_mission_takes_off_as_high_as_its_airspace_was_claimed_for() {
    let observer = observer(Scripted::new().client());
    let edited = |drone: &mut Drone| {
        for_a_mission(drone);
        drone.spec.takeoff_altitude_meters = 120.0;
    };
    let drone = bound(&observer, "m", edited);
    let planned = Planned {
        digest: PlanDigest("p".to_owned()),
        start: Wgs84 {
            latitude_deg: 47.0,
            longitude_deg: 8.0,
        },
        takeoff: 20.0,
        places: Vec::new(),
        numbers: Vec::new(),
        work: None,
    };
    plans(&observer, "m", Some(planned));
    let facts = facts_of(&observer, &drone, None);
    assert!(facts.plan.is_some());
    assert_eq!(facts.altitude, AltitudeAboveHome(20.0));
}

#[tokio::test]
async fn a_drain_lands_a_vehicle_and_makes_none_forget_that_its_flight_is_over() {
    let observer = observer(Scripted::new().client());
    node(&observer, "d", true);
    let drone = bound(&observer, "d", |_| {});
    let lift = |truth, so_far| {
        let held = holding("uid-d");
        let report = Report {
            truth,
            so_far,
            held: Some(held),
            ..Report::of_nothing(NodeName::parse("d").unwrap())
        };
        facts_of(&observer, &drone, Some(&report)).lift
    };
    let (up, down) = (FlightTruth::Airborne(Airborne::InAir), FlightTruth::Disarmed);
    assert_eq!(lift(up, SoFar::Flown), Lift::Land);
    assert_eq!(lift(down, SoFar::Fresh), Lift::Land);
    assert_eq!(
        lift(down, SoFar::Over),
        Lift::Free,
        "an older agent forgets it by an order to wait"
    );
    assert_eq!(lift(up, SoFar::Over), Lift::Land, "somebody flies it again");
}

#[tokio::test]
async fn an_agent_with_an_older_disk_is_sent_the_takeovers_and_the_kill_reported_before() {
    let observer = observer(Scripted::new().client());
    let status = |takeovers: i32, flight: Option<&str>| crds::DroneStatus {
        node_name: Some("d".to_owned()),
        takeovers: Some(takeovers),
        flight: flight.map(str::to_owned),
        ..crds::DroneStatus::default()
    };
    let sent = |status: crds::DroneStatus, takeovers, so_far| {
        let drone = bound(&observer, "d", |drone| drone.status = Some(status));
        let held = holding("uid-d");
        let report = Report {
            truth: FlightTruth::Airborne(Airborne::InAir),
            takeovers,
            so_far,
            held: Some(held.clone()),
            ..Report::of_nothing(NodeName::parse("d").unwrap())
        };
        let facts = facts_of(&observer, &drone, Some(&report));
        let order = fleet::planning::drone::order::order(Term(1), &facts, Some(&held));
        let Some(model::assignment::Order::Assigned(order)) = order else {
            panic!("it is sent nothing")
        };
        (order.reported_flight.takeovers, order.reported_flight.so_far)
    };
    let nothing = (0, SoFar::Fresh);
    assert_eq!(sent(status(2, Some("Flown")), 1, SoFar::Flown), (2, SoFar::Flown));
    assert_eq!(sent(status(2, Some("Flown")), 2, SoFar::Flown), nothing);
    assert_eq!(sent(status(2, Some("Flown")), 3, SoFar::Flown), nothing);
    assert_eq!(sent(status(0, Some("Killed")), 0, SoFar::Flown).1, SoFar::Killed);
    assert_eq!(sent(status(0, Some("Killed")), 0, SoFar::Killed), nothing);
    let begins_anew = sent(status(0, Some("Over")), 0, SoFar::Fresh);
    assert_eq!(begins_anew, nothing, "it was grounded and released");
}
