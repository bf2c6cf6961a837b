//! What was found for one Drone is judged again for the next.

use super::*;
use crate::cluster::key::Key;
use crate::cluster::world::Change;
use crate::controllers::facts::tests::observer;
use crate::server::auth::tests::scripted::Scripted;
use crds::{DroneSpec, Swarm, SwarmSpec};
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use model::vehicle::{Battery, Charge, FlightTruth};

/// Three vehicles, the best first, and Drones of one Swarm.
struct Field {
    binder: Binder,
    epochs: Vec<u64>,
}

const NODES: [&str; 3] = ["n1", "n2", "n3"];

fn name(node: &str) -> NodeName {
    NodeName::parse(node).unwrap()
}

impl Field {
    fn new() -> Self {
        let observer = observer(Scripted::new().client());
        let mut field = Self {
            binder: Binder {
                observer,
                granted_only: false,
            },
            epochs: vec![],
        };
        field.swarm(1, 30);
        for (node, percent) in NODES.into_iter().zip([95, 85, 75]) {
            field.node(node, false);
            let opened = field.binder.observer.sessions.open(&name(node), 1).unwrap();
            field.epochs.push(opened.epoch);
            field.report(node, percent, FlightTruth::Disarmed);
        }
        field
    }

    fn swarm(&self, version: u64, rotate_at: i32) {
        let mut swarm = Swarm::new("alpha", SwarmSpec::default());
        swarm.spec.rotate_at_percent = Some(rotate_at);
        swarm.metadata.namespace = Some("north".into());
        swarm.metadata.uid = Some("s".into());
        swarm.metadata.resource_version = Some(version.to_string());
        self.binder.observer.world().swarm(Change::Is(Arc::new(swarm)));
    }

    fn node(&self, node: &str, cordoned: bool) {
        let mut object = Node::default();
        object.metadata.name = Some(node.into());
        object.spec = Some(NodeSpec {
            unschedulable: Some(cordoned),
            ..NodeSpec::default()
        });
        object.status = Some(NodeStatus {
            conditions: Some(vec![NodeCondition {
                type_: "Ready".into(),
                status: "True".into(),
                ..NodeCondition::default()
            }]),
            ..NodeStatus::default()
        });
        self.binder.observer.world().node(Change::Is(Arc::new(object)));
    }

    fn report(&self, node: &str, percent: u8, truth: FlightTruth) {
        let at = NODES.iter().position(|n| *n == node).unwrap();
        let report = Report {
            link_alive: true,
            truth,
            battery: Some(Battery {
                charge: Charge::Unknown,
                remaining: Percent::new(percent),
                voltage: None,
            }),
            ..Report::of_nothing(name(node))
        };
        self.binder
            .observer
            .sessions
            .report(&name(node), self.epochs[at], report);
    }

    fn drone(&self, name: &str, node: Option<&str>) -> DroneSnapshot {
        let mut drone = Drone::new(name, DroneSpec::default());
        drone.spec.node_name = node.map(str::to_owned);
        drone.metadata.namespace = Some("north".into());
        drone.metadata.uid = Some(format!("uid-{name}"));
        drone.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "skein.dev/v1alpha1".into(),
            kind: "Swarm".into(),
            name: "alpha".into(),
            uid: "s".into(),
            controller: Some(true),
            block_owner_deletion: None,
        }]);
        let drone = Arc::new(drone);
        self.binder.observer.world().drone(Change::Is(Arc::clone(&drone)));
        DroneSnapshot::of(&self.binder.observer, drone)
    }

    fn find(&self, snapshot: &DroneSnapshot) -> Result<Reservation, (String, Duration)> {
        find(&self.binder, snapshot, &HashSet::new())
    }

    /// The result of the Drone `b`, after `a` has found the best, and then `change`.
    fn second(change: impl FnOnce(&Self)) -> Result<String, String> {
        let field = Self::new();
        let (a, b) = (field.drone("a", None), field.drone("b", None));
        let first = field.find(&a).unwrap();
        assert_eq!(first.node.as_str(), "n1");
        change(&field);
        let second = field.find(&b);
        second.map(|found| found.node.to_string()).map_err(|(why, _)| why)
    }
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_was_found_for_another_is_judged_anew() {
    let found = |node: &str| Ok(node.to_owned());
    assert_eq!(Field::second(|_| {}), found("n2"));
    assert_eq!(Field::second(|field| field.node("n2", true)), found("n3"), "cordoned");
    let tired = |field: &Field| field.report("n2", 30, FlightTruth::Disarmed);
    assert_eq!(Field::second(tired), found("n3"), "too little for the Swarm");
    let armed = |field: &Field| field.report("n2", 85, FlightTruth::ArmedOnGround);
    assert_eq!(Field::second(armed), found("n3"), "somebody else has armed it");
    let silent = |field: &Field| field.binder.observer.sessions.close(&name("n2"), field.epochs[1]);
    assert_eq!(Field::second(silent), found("n3"), "its agent is gone");
    let gone = |field: &Field| field.binder.observer.world().node(Change::Gone(Key::new("", "n2")));
    assert_eq!(Field::second(gone), found("n3"), "its node is gone");
    let taken = |field: &Field| drop(field.drone("another", Some("n2")));
    assert_eq!(Field::second(taken), found("n3"), "it serves another");
    let picky = |field: &Field| field.swarm(2, 80);
    assert_eq!(Field::second(picky), found("n2"), "the Swarm asks for more");
    let pickier = |field: &Field| field.swarm(2, 90);
    assert!(Field::second(pickier).unwrap_err().contains("2 have too low a battery"));
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_that_a_mission_would_relieve_at_once_is_not_chosen_for_it() {
    for (percent, fits) in [(27, false), (28, true)] {
        let field = Field::new();
        for node in NODES {
            field.report(node, percent, FlightTruth::Disarmed);
        }
        let of_swarm = field.drone("a", None);
        let mut drone = Drone::clone(&of_swarm.drone);
        for owner in drone.metadata.owner_references.iter_mut().flatten() {
            "Mission".clone_into(&mut owner.kind);
        }
        let drone = Arc::new(drone);
        field.binder.observer.world().drone(Change::Is(Arc::clone(&drone)));
        let snapshot = DroneSnapshot::of(&field.binder.observer, drone);
        assert_eq!(field.find(&snapshot).is_ok(), fits, "{percent} %");
    }
}

#[tokio::test(start_paused = true)]
async fn each_gets_another_vehicle_and_who_gets_none_is_told_of_the_next_that_may_be_free() {
    let field = Field::new();
    let snapshots: Vec<DroneSnapshot> = ["a", "b", "c", "d"].map(|name| field.drone(name, None)).into();
    let mut found: Vec<_> = snapshots[..3]
        .iter()
        .map(|snapshot| field.find(snapshot).unwrap())
        .collect();
    let nodes: Vec<&str> = found.iter().map(|found| found.node.as_str()).collect();
    assert_eq!(nodes, NODES);
    let none = || field.find(&snapshots[3]).unwrap_err();
    assert_eq!(none(), (OTHERS_WERE_FASTER.to_owned(), Duration::from_millis(200)));
    tokio::time::advance(Duration::from_millis(200)).await;
    let why = "no vehicle is free: of 3 drone nodes 3 serve other Drones";
    assert_eq!(none(), (why.to_owned(), UNBOUND_RECHECK_INTERVAL));
    assert_eq!(
        none(),
        (why.to_owned(), UNBOUND_RECHECK_INTERVAL),
        "all nodes were gone through just now"
    );
    field.binder.observer.cluster.wakes.drones.drain();
    // The first goes while its claim is written.
    field
        .binder
        .observer
        .world()
        .drone(Change::Gone(Key::new("north", "a")));
    field.binder.observer.cluster.wakes.drones.drain();
    drop(found.remove(0));
    assert!(
        field
            .binder
            .observer
            .cluster
            .wakes
            .drones
            .drain()
            .contains(&snapshots[3].key)
    );
    assert_eq!(field.find(&snapshots[3]).unwrap().node.as_str(), "n1");
}
