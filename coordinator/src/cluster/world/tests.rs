//! What the caches answer, and what a change wakes.

use super::*;
use crds::DroneSpec;
use fleet::planning::binding::NoVehicle;
use k8s_openapi::api::core::v1::{NodeCondition, NodeStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use k8s_openapi::jiff::Timestamp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn drone(name: &str, version: u64, node: Option<&str>) -> Drone {
    let mut drone = Drone::new(
        name,
        DroneSpec {
            node_name: node.map(str::to_owned),
            ..DroneSpec::default()
        },
    );
    drone.metadata.namespace = Some("north".into());
    drone.metadata.uid = Some(format!("uid-{name}"));
    drone.metadata.resource_version = Some(version.to_string());
    drone
}

fn world() -> Arc<World> {
    let world = Arc::new(World::new(Wakes::default()));
    for name in ["n1", "n2"] {
        let mut node = Node::default();
        node.metadata.name = Some(name.into());
        let ready = NodeCondition {
            type_: "Ready".into(),
            status: "True".into(),
            ..NodeCondition::default()
        };
        node.status = Some(NodeStatus {
            conditions: Some(vec![ready]),
            ..NodeStatus::default()
        });
        world.node(Change::Is(Arc::new(node)));
    }
    world
}

fn claim(world: &World, node: &str, holder: &str, version: u64) {
    let claim = Claim {
        uid: format!("uid-{holder}"),
        holder: Key::new("north", holder),
        version: Some(version.to_string()),
    };
    world.lock().set_claim(node, Some(claim));
}

fn taken(world: &Arc<World>, me: &str) -> Vec<bool> {
    let judged = ["n1", "n2"].map(|node| {
        let mut seen = None;
        let none = world.reserve(me, &NodeName::parse(node).unwrap(), |_, taken| {
            seen = Some(taken);
            false
        });
        assert!(none.is_none());
        seen.unwrap()
    });
    let all = world.candidates().0.into_iter();
    for (one, (_, taken)) in judged.iter().zip(all) {
        assert!(taken || !one, "for those without a claim of their own it is free");
    }
    judged.to_vec()
}

#[test]
fn a_node_reserved_by_one_drone_is_taken_for_others_until_the_reservation_ends() {
    let world = world();
    let n1 = NodeName::parse("n1").unwrap();
    let reservation = world.reserve("a", &n1, |_, taken| !taken).unwrap();
    assert_eq!(taken(&world, "b"), [true, false]);
    assert_eq!(taken(&world, "a"), [false, false]);
    assert!(world.reserve("b", &n1, |_, taken| !taken).is_none());
    drop(reservation);
    assert_eq!(taken(&world, "b"), [false, false]);
    let unheard_of = NodeName::parse("n9").unwrap();
    assert!(world.reserve("b", &unheard_of, |_, _| true).is_none());
}

fn grant(world: &World, name: &str, namespace: &str) {
    let mut node = Node::default();
    node.metadata.name = Some(name.to_owned());
    let label = (format!("use.skein.dev/{namespace}"), String::new());
    node.metadata.labels = Some(BTreeMap::from([label]));
    world.node(Change::Is(Arc::new(node)));
}

#[test]
fn a_drone_takes_no_node_by_naming_it_that_is_not_granted_to_its_namespace() {
    let world = world();
    let n1 = NodeName::parse("n1").unwrap();
    grant(&world, "n1", "south");
    world.drone(Change::Is(Arc::new(drone("a", 1, Some("n1")))));
    assert_eq!(taken(&world, "b"), [false, false]);
    assert!(!world.is_in_service(&n1) && world.nodes_in_service() == 0);
    let mut served = drone("a", 2, Some("n1"));
    served.status = Some(crds::DroneStatus {
        node_name: Some("n1".to_owned()),
        ..crds::DroneStatus::default()
    });
    world.drone(Change::Is(Arc::new(served)));
    assert_eq!(taken(&world, "b"), [true, false]);
    assert_eq!(taken(&world, "uid-a"), [false, false], "it is its own");
    assert!(world.is_in_service(&n1) && world.nodes_in_service() == 1);
    world.drone(Change::Gone(Key::new("north", "a")));
    world.drone(Change::Is(Arc::new(drone("c", 3, Some("n1")))));
    assert_eq!(taken(&world, "b"), [false, false]);
    claim(&world, "n1", "c", 1);
    assert_eq!(taken(&world, "b"), [true, false]);
    assert!(world.is_in_service(&n1));
    let c = world.get_drone(&Key::new("north", "c")).unwrap();
    assert!(world.has_node(&c, None));
    // Granted, it is about to get it.
    grant(&world, "n2", "north");
    world.drone(Change::Is(Arc::new(drone("d", 4, Some("n2")))));
    assert_eq!(taken(&world, "b"), [true, true]);
}

#[test]
fn a_granted_node_that_a_drone_names_is_taken_and_a_claim_counts_while_usable() {
    let world = world();
    world.drone(Change::Is(Arc::new(drone("a", 1, Some("n1")))));
    assert_eq!(taken(&world, "b"), [true, false]);
    claim(&world, "n2", "c", 1);
    assert_eq!(
        taken(&world, "b"),
        [true, false],
        "a claim of a Drone unknown here is for the API server to judge"
    );
    world.drone(Change::Is(Arc::new(drone("c", 2, None))));
    assert_eq!(taken(&world, "b"), [true, true]);
    world.drone(Change::Is(Arc::new(drone("c", 3, Some("n9")))));
    assert_eq!(
        taken(&world, "b"),
        [true, false],
        "bound elsewhere, it will never use its claim"
    );
}

#[test]
fn an_old_event_does_not_undo_what_was_learned_from_a_write() {
    let world = world();
    world.drone(Change::Is(Arc::new(drone("a", 5, None))));
    world.learn_drone(drone("a", 7, Some("n1")));
    world.drone(Change::Is(Arc::new(drone("a", 6, None))));
    assert_eq!(world.drones_on(&NodeName::parse("n1").unwrap()).len(), 1);
}

#[test]
fn a_list_older_than_what_was_read_before_it_was_asked_for_shows_a_restored_store() {
    use futures::FutureExt;
    let is = |version| Change::Is(Arc::new(drone("a", version, None)));
    let world = world();
    world.drone(Change::Asked);
    world.drone(is(5));
    // The answers to our own requests overtake the watch, and one another.
    world.learn_drone(drone("a", 7, None));
    world.drone(is(6));
    world.drone(Change::Asked);
    world.learn_drone(drone("a", 6, None));
    world.drone(is(7));
    world.learn_drone(drone("a", 9, None));
    world.drone(is(8));
    assert!(world.went_back().now_or_never().is_none());

    world.drone(Change::Asked);
    world.drone(is(8));
    let WentBack(what) = world.went_back().now_or_never().unwrap();
    assert_eq!(what, "north/a has resourceVersion 8; read before: 9");
}

#[test]
fn so_does_an_older_list_of_swarms_claims_or_ground_orders() {
    use futures::FutureExt;
    let noticed = |world: &World| world.went_back().now_or_never().is_some();
    let swarms = world();
    swarms.swarm(swarm("s", 5, |_| {}));
    swarms.swarm(Change::Asked);
    swarms.swarm(swarm("s", 4, |_| {}));
    assert!(noticed(&swarms));

    let claims = world();
    let claim = |version: u64| {
        let notes = serde_json::json!({
            "skein.dev/node": "n1", "skein.dev/drone-namespace": "north", "skein.dev/drone-name": "a",
        });
        let metadata = serde_json::json!({"resourceVersion": version.to_string(), "annotations": notes});
        let spec = serde_json::json!({"holderIdentity": "uid-a"});
        let object = serde_json::json!({"metadata": metadata, "spec": spec});
        Change::Is(Arc::new(serde_json::from_value(object).unwrap()))
    };
    claims.lease(claim(5));
    claims.lease(Change::Asked);
    claims.lease(claim(4));
    assert!(noticed(&claims));

    let orders = world();
    let order = |version: u64| {
        let metadata = serde_json::json!({"name": "g", "resourceVersion": version.to_string()});
        let object = serde_json::json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "GroundOrder", "metadata": metadata, "spec": {"scope": "All"},
        });
        Change::Is(Arc::new(serde_json::from_value(object).unwrap()))
    };
    orders.ground_order(order(5));
    orders.ground_order(Change::Asked);
    orders.ground_order(order(4));
    assert!(noticed(&orders));
}

#[test]
fn a_drone_is_reconciled_when_the_watch_reports_what_a_write_returned_before() {
    let wakes = Wakes::default();
    let world = World::new(wakes.clone());
    world.drone(Change::Is(Arc::new(drone("a", 5, None))));
    world.learn_drone(drone("a", 7, Some("n1")));
    wakes.drones.drain();
    world.drone(Change::Is(Arc::new(drone("a", 7, Some("n1")))));
    assert_eq!(wakes.drones.drain(), [Key::new("north", "a")]);
}

#[test]
fn the_answer_to_a_write_does_not_bring_back_a_drone_that_is_gone() {
    let world = world();
    world.drone(Change::Is(Arc::new(drone("a", 5, Some("n1")))));
    world.drone(Change::Gone(Key::new("north", "a")));
    world.learn_drone(drone("a", 7, Some("n1")));
    assert!(world.all_drones(None).is_empty());
    assert!(world.drones_on(&NodeName::parse("n1").unwrap()).is_empty());
}

fn ground_order(name: &str, id: &str, version: u64) -> Arc<GroundOrder> {
    let metadata = serde_json::json!({"name": name, "uid": id, "resourceVersion": version.to_string()});
    let object = serde_json::json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "GroundOrder", "metadata": metadata, "spec": {"scope": "All"},
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn in_force(world: &World) -> Vec<String> {
    let orders = world.ground_orders();
    let uids = orders.iter().filter_map(|order| order.object.metadata.uid.clone());
    uids.collect()
}

#[test]
fn an_ended_ground_order_comes_back_by_no_answer_and_any_other_holds_at_once() {
    let world = world();
    world.ground_order(Change::Is(ground_order("g", "one", 5)));
    world.ground_order(Change::Gone(Key::new("", "g")));
    world.ground_order(Change::Answered(ground_order("g", "one", 5)));
    assert_eq!(in_force(&world), [""; 0]);
    // Made by somebody else meanwhile, under its name or another.
    world.ground_order(Change::Answered(ground_order("g", "two", 7)));
    world.ground_order(Change::Answered(ground_order("h", "three", 8)));
    assert_eq!(in_force(&world), ["two", "three"]);
    let first = InForce::of(ground_order("g", "one", 5).as_ref().clone());
    world.ground_order_ended(&first);
    assert_eq!(in_force(&world), ["two", "three"]);
    // A watch is believed: its list shows what a restored store holds.
    world.ground_order(Change::Gone(Key::new("", "g")));
    world.ground_order(Change::Is(ground_order("g", "one", 9)));
    world.ground_order(Change::Answered(ground_order("g", "one", 10)));
    assert_eq!(in_force(&world), ["three", "one"]);
}

#[test]
fn a_ground_order_whose_name_went_to_another_comes_back_by_no_answer() {
    let world = world();
    world.ground_order(Change::Is(ground_order("g", "one", 5)));
    world.ground_order(Change::Is(ground_order("g", "two", 7)));
    world.ground_order(Change::Gone(Key::new("", "g")));
    world.ground_order(Change::Answered(ground_order("g", "one", 5)));
    assert_eq!(in_force(&world), [""; 0]);
}

fn swarm(id: &str, version: u64, change: impl FnOnce(&mut crds::SwarmSpec)) -> Change<Swarm> {
    let mut swarm = Swarm::new("alpha", crds::SwarmSpec::default());
    change(&mut swarm.spec);
    swarm.metadata.namespace = Some("north".into());
    swarm.metadata.uid = Some(id.into());
    swarm.metadata.resource_version = Some(version.to_string());
    Change::Is(Arc::new(swarm))
}

fn drone_of(swarm: &str, version: u64) -> Change<Drone> {
    let mut drone = drone("a", version, Some("n1"));
    drone.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "skein.dev/v1alpha1".into(),
        kind: "Swarm".into(),
        name: "alpha".into(),
        uid: swarm.into(),
        controller: Some(true),
        block_owner_deletion: None,
    }]);
    Change::Is(Arc::new(drone))
}

#[test]
fn a_swarm_made_anew_under_a_name_does_not_own_the_drones_of_the_one_before() {
    let wakes = Wakes::default();
    let world = World::new(wakes.clone());
    world.swarm(swarm("first", 1, |spec| spec.grounded = true));
    world.drone(drone_of("first", 2));
    wakes.drones.drain();
    // The deletion of the first was not reported.
    world.swarm(swarm("second", 5, |_| {}));
    assert!(
        world.swarm_of_uid("first").is_none(),
        "it is not known whether the Drone is to fly"
    );
    assert_eq!(wakes.drones.drain(), [Key::new("north", "a")]);
    assert!(world.swarm_of_uid("second").is_some());
}

#[test]
fn a_drone_of_another_namespace_that_names_a_swarm_as_owner_is_not_its_drone() {
    let world = World::new(Wakes::default());
    world.swarm(swarm("s", 1, |_| {}));
    let Change::Is(own) = drone_of("s", 2) else {
        panic!("it is there")
    };
    let mut foreign = Drone::clone(&own);
    foreign.metadata.namespace = Some("south".into());
    foreign.metadata.uid = Some("uid-foreign".into());
    world.drone(Change::Is(Arc::clone(&own)));
    world.drone(Change::Is(Arc::new(foreign.clone())));
    let drones = world.drones_of_swarm("s");
    let keys: Vec<Key> = drones.iter().map(|drone| Key::of(drone.as_ref())).collect();
    assert_eq!(keys, [Key::new("north", "a")]);
    assert_eq!(world.size_of_swarm(&Key::new("north", "alpha")), 1);
    assert!(world.is_member("s", "uid-a") && !world.is_member("s", "uid-foreign"));
    assert!(world.swarm_of(&own).is_some() && world.swarm_of(&foreign).is_none());
    let mut all = GroundOrder::clone(&ground_order("g", "one", 3));
    all.status = Some(crds::ground_order::GroundOrderStatus {
        exceptions: vec!["s".into()],
    });
    let all = InForce::of(all);
    assert!(!all.covers(&world, &own), "its Swarm was released");
    assert!(all.covers(&world, &foreign));
}

#[test]
fn drones_and_agents_are_reconciled_when_their_swarm_wants_something_else_of_them() {
    let wakes = Wakes::default();
    let world = World::new(wakes.clone());
    world.swarm(swarm("s", 1, |_| {}));
    world.drone(drone_of("s", 2));
    let mut version = 2;
    let mut woken = |change: fn(&mut crds::SwarmSpec)| {
        wakes.drones.drain();
        wakes.nodes.drain();
        version += 1;
        world.swarm(swarm("s", version, change));
        let woken = (wakes.drones.drain().len(), wakes.nodes.drain().len());
        version += 1;
        world.swarm(swarm("s", version, |_| {}));
        woken
    };
    assert_eq!(woken(|spec| spec.grounded = true), (1, 1));
    assert_eq!(woken(|spec| spec.on_cordon = crds::swarm::OnCordon::Land), (1, 1));
    assert_eq!(woken(|spec| spec.rotate_at_percent = Some(60)), (1, 1));
    assert_eq!(woken(|spec| spec.takeoff_interval_seconds = 5), (1, 1));
    assert_eq!(
        woken(|spec| spec.replicas = 7),
        (0, 0),
        "how many there are is the Swarm's own matter"
    );
}

#[test]
fn a_vehicle_that_becomes_free_wakes_those_it_would_do_for_and_nobody_else() {
    let wakes = Wakes::default();
    let world = World::new(wakes.clone());
    let mut node = Node::default();
    node.metadata.name = Some("n1".into());
    node.metadata.labels = Some([("site".to_owned(), "north".to_owned())].into());
    world.node(Change::Is(Arc::new(node)));
    for (name, site) in [("any", None), ("north", Some("north")), ("south", Some("south"))] {
        let mut drone = drone(name, 1, None);
        drone.spec.node_selector = site
            .map(|site| ("site".to_owned(), site.to_owned()))
            .into_iter()
            .collect();
        world.drone(Change::Is(Arc::new(drone)));
    }
    world.drone(Change::Is(Arc::new(drone("served", 1, Some("n1")))));
    let woken = || {
        let mut names: Vec<_> = wakes.drones.drain().into_iter().map(|key| key.name).collect();
        names.retain(|name| name != "served");
        names
    };
    woken();
    world.a_vehicle_may_be_free(&NodeName::parse("n1").unwrap());
    assert_eq!(woken(), ["any", "north"]);
    world.drone(Change::Gone(Key::new("north", "served")));
    assert_eq!(woken(), ["any", "north"]);
    world.a_vehicle_may_be_free(&NodeName::parse("unheard-of").unwrap());
    assert_eq!(woken(), [""; 0]);
}

#[test]
fn of_many_that_look_for_the_same_some_are_woken_for_a_vehicle_each_time_others() {
    let wakes = Wakes::default();
    let world = World::new(wakes.clone());
    let mut node = Node::default();
    node.metadata.name = Some("n1".into());
    world.node(Change::Is(Arc::new(node)));
    let names: Vec<String> = (0..100).map(|n| format!("d{n:02}")).collect();
    for name in &names {
        world.drone(Change::Is(Arc::new(drone(name, 1, None))));
    }
    wakes.drones.drain();
    let (n1, mut woken) = (NodeName::parse("n1").unwrap(), vec![]);
    for _ in 0..7 {
        world.a_vehicle_may_be_free(&n1);
        let keys = wakes.drones.drain();
        assert_eq!(keys.len(), 16);
        woken.extend(keys.into_iter().map(|key| key.name));
    }
    assert_eq!(woken[..100], names[..]);
    assert_eq!(woken[100..], names[..12], "and then again from the first");
}

#[test]
fn one_that_leaves_a_swarm_by_any_way_is_reported_once_it_is_no_member() {
    let world = Arc::new(World::new(Wakes::default()));
    world.swarm(swarm("s", 1, |_| {}));
    let notices: Arc<Mutex<Vec<bool>>> = Arc::default();
    let (here, there) = (Arc::downgrade(&world), Arc::clone(&notices));
    world.on_departure(move |drone| {
        let world = here.upgrade().unwrap();
        let member = world.is_member("s", uid(drone));
        there.lock().unwrap().push(member);
    });
    let notices = || std::mem::take(&mut *notices.lock().unwrap());
    world.drone(drone_of("s", 2));
    assert!(world.is_member("s", "uid-a") && !world.is_member("t", "uid-a"));
    world.drone(drone_of("s", 3));
    assert!(notices().is_empty(), "it only changed");
    world.drone(Change::Is(Arc::new(drone("a", 4, Some("n1")))));
    assert_eq!(notices(), [false], "it was orphaned");
    world.drone(drone_of("s", 5));
    world.drone(Change::Gone(Key::new("north", "a")));
    assert_eq!(notices().len(), 2, "it had no Swarm, then this one, and is gone");
    assert!(!world.is_member("s", "uid-a"));
}

#[test]
fn what_was_found_for_one_is_found_for_all_like_it_until_it_may_be_otherwise() {
    let world = world();
    for name in ["a", "b"] {
        world.drone(Change::Is(Arc::new(drone(name, 1, None))));
    }
    let request = VehicleRequest::of(&drone("a", 1, None));
    assert_eq!(request, VehicleRequest::of(&drone("b", 1, None)));
    let (start, changes) = (Instant::now(), world.candidates().1);
    let at = |ms| start + Duration::from_millis(ms);
    let keep = |nodes: &[&str], none: Option<NoVehicle>, cut: bool| {
        let nodes = nodes.iter().map(|node| NodeName::parse(node).unwrap()).collect();
        world.keep(
            &request,
            Shortlist {
                nodes,
                none,
                cut,
                at: start,
                changes,
            },
        );
    };
    let found = |ms: u64| match world.find(&request, at(ms)) {
        Found::Try(node) => node.to_string(),
        Found::NotSearched => "nothing".to_owned(),
        Found::None(_, again) => format!("none {again:?}"),
        Found::Exhausted(again) => format!("gone {again:?}"),
    };
    assert_eq!(found(0), "nothing");
    keep(&["n1", "n2"], None, false);
    assert_eq!(
        [found(0), found(1), found(50), found(200)],
        ["n1", "n2", "gone 150ms", "nothing"]
    );
    keep(&["n1"], None, true);
    assert_eq!([found(0), found(1)], ["n1", "nothing"], "there were more");
    keep(&["n1"], None, false);
    assert_eq!(found(1000), "nothing", "a better one may have come");
    keep(&[], Some(NoVehicle::default()), false);
    assert_eq!(
        [found(0), found(29_999), found(30_000)],
        ["none None", "none None", "nothing"]
    );
    world.a_vehicle_may_be_free(&NodeName::parse("n2").unwrap());
    assert_eq!(
        [found(10), found(10), found(1000)],
        ["n2", "none Some(990ms)", "nothing"]
    );
    let other = VehicleRequest::of(&drone_with_selector("c"));
    assert_eq!(world.find(&other, at(0)), Found::NotSearched);
}

/// The request of a Drone of Swarm `s` that waits for a vehicle; adds both to `world`.
fn request_of_swarm(world: &World) -> VehicleRequest {
    world.swarm(swarm("s", 1, |_| {}));
    let Change::Is(drone) = drone_of("s", 2) else {
        unreachable!()
    };
    let mut drone = drone.as_ref().clone();
    drone.spec.node_name = None;
    let request = VehicleRequest::of(&drone);
    world.drone(Change::Is(Arc::new(drone)));
    request
}

#[test]
fn what_was_found_is_doubted_when_the_swarm_asks_for_something_else() {
    let world = World::new(Wakes::default());
    let request = request_of_swarm(&world);
    let list = || Shortlist {
        nodes: [].into(),
        none: Some(NoVehicle::default()),
        cut: false,
        at: Instant::now(),
        changes: world.candidates().1,
    };
    world.keep(&request, list());
    let found = || world.find(&request, Instant::now()) == Found::NotSearched;
    assert!(!found());
    world.swarm(swarm("s", 3, |spec| spec.replicas = 7));
    assert!(!found());
    world.swarm(swarm("s", 4, |spec| spec.rotate_at_percent = Some(25)));
    assert!(found());
}

/// Calls `learn` again and again while `go` runs.
fn meanwhile(learn: impl Fn() + Sync, go: impl Fn()) {
    let over = AtomicBool::new(false);
    std::thread::scope(|both| {
        both.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                learn();
            }
        });
        (0..10_000).for_each(|_| go());
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_answer_to_a_write_that_comes_as_a_drone_goes_does_not_bring_it_back() {
    let (world, back) = (world(), AtomicBool::new(false));
    let new = || drone("a", 1, Some("n1"));
    meanwhile(
        || world.learn_drone(new()),
        || {
            world.drone(Change::Is(Arc::new(new())));
            world.drone(Change::Gone(Key::new("north", "a")));
            let there = (0..10).any(|_| !world.all_drones(None).is_empty());
            back.fetch_or(there, Ordering::Relaxed);
        },
    );
    assert!(!back.into_inner());
}

#[test]
fn the_answer_to_a_write_that_comes_as_a_swarm_goes_does_not_bring_it_back() {
    let (world, back) = (world(), AtomicBool::new(false));
    let Change::Is(new) = swarm("s", 1, |_| {}) else {
        unreachable!()
    };
    meanwhile(
        || world.learn_swarm(new.as_ref().clone()),
        || {
            world.swarm(Change::Is(Arc::clone(&new)));
            world.swarm(Change::Gone(Key::new("north", "alpha")));
            let there = (0..10).any(|_| !world.all_swarms().is_empty());
            back.fetch_or(there, Ordering::Relaxed);
        },
    );
    assert!(!back.into_inner());
}

#[test]
fn a_swarm_is_reconciled_after_it_was_taken_in_that_a_drone_left_it() {
    let wakes = Wakes::default();
    let world = World::new(wakes.clone());
    world.swarm(swarm("s", 1, |_| {}));
    let early = wakes.clone();
    world.on_departure(move |_| {
        early.swarms.drain();
    });
    world.drone(drone_of("s", 2));
    wakes.swarms.drain();
    world.drone(Change::Gone(Key::new("north", "a")));
    assert_eq!(wakes.swarms.drain(), [Key::new("north", "alpha")]);
}

#[test]
fn a_vehicle_is_offered_by_whatever_way_it_is_left_behind() {
    let wakes = Wakes::default();
    let world = Arc::new(World::new(wakes.clone()));
    for name in ["n1", "n2"] {
        let mut node = Node::default();
        node.metadata.name = Some(name.into());
        node.metadata.labels = Some([("name".to_owned(), name.to_owned())].into());
        world.node(Change::Is(Arc::new(node)));
    }
    for node in ["n1", "n2"] {
        let mut drone = drone(&format!("waits-for-{node}"), 1, None);
        drone.spec.node_selector.insert("name".into(), node.into());
        world.drone(Change::Is(Arc::new(drone)));
    }
    let woken = || {
        let mut names: Vec<_> = wakes.drones.drain().into_iter().map(|key| key.name).collect();
        names.retain(|name| name.starts_with("waits-for"));
        names
    };
    woken();
    let is = |drone: Drone| world.drone(Change::Is(Arc::new(drone)));
    let picky = |version, node| {
        let mut drone = drone("a", version, node);
        drone.spec.node_selector.insert("name".into(), "none".into());
        drone
    };

    is(picky(2, Some("n1")));
    let mut again = picky(3, None);
    again.metadata.uid = Some("another".into());
    is(again);
    assert_eq!(woken(), ["waits-for-n1"], "made again while the watch was broken");

    is(picky(4, None));
    claim(&world, "n1", "a", 1);
    is(picky(5, None));
    assert_eq!(woken(), [""; 0], "it has its claim still");
    is(picky(6, Some("n2")));
    assert_eq!(
        woken(),
        ["waits-for-n1"],
        "a user bound it to another node than it had claimed"
    );

    is(picky(7, None));
    claim(&world, "n2", "a", 2);
    woken();
    world.drone(Change::Gone(Key::new("north", "a")));
    assert_eq!(woken(), ["waits-for-n2"], "it went before it was bound");

    is(picky(8, None));
    let n1 = NodeName::parse("n1").unwrap();
    let reservation = world.reserve("uid-a", &n1, |_, taken| !taken);
    world.drone(Change::Gone(Key::new("north", "a")));
    woken();
    drop(reservation);
    assert_eq!(woken(), ["waits-for-n1"], "it went while its claim was written");
}

#[test]
fn a_drone_woken_for_a_vehicle_that_needs_none_has_another_woken_in_its_place() {
    let wakes = Wakes::default();
    let world = World::new(wakes.clone());
    let mut node = Node::default();
    node.metadata.name = Some("n1".into());
    world.node(Change::Is(Arc::new(node)));
    let names: Vec<String> = (0..40).map(|n| format!("d{n:02}")).collect();
    for name in &names {
        world.drone(Change::Is(Arc::new(drone(name, 1, None))));
    }
    let woken = || {
        let keys = wakes.drones.drain();
        keys.into_iter().map(|key| key.name).collect::<Vec<_>>()
    };
    woken();
    // These sixteen are being bound to others just now.
    world.a_vehicle_may_be_free(&NodeName::parse("n1").unwrap());
    assert_eq!(woken(), names[..16]);
    world.drone(Change::Is(Arc::new(drone("d00", 2, Some("n2")))));
    assert_eq!(woken(), ["d00", "d16"]);
    let mut leaving = drone("d01", 3, None);
    leaving.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    world.drone(Change::Is(Arc::new(leaving)));
    assert_eq!(woken(), ["d01", "d17"]);
    world.drone(Change::Gone(Key::new("north", "d02")));
    assert_eq!(woken(), ["d02", "d18"]);
    world.drone(Change::Is(Arc::new(drone("d03", 4, None))));
    assert_eq!(woken(), ["d03"], "it still needs one");
    for _ in 0..2 {
        world.a_vehicle_may_be_free(&NodeName::parse("n1").unwrap());
        assert!(
            !woken().contains(&"d01".to_owned()),
            "one that is being deleted needs none"
        );
    }
}

#[test]
fn what_is_found_while_a_swarm_changes_its_request_is_not_believed_for_long() {
    let world = World::new(Wakes::default());
    let request = request_of_swarm(&world);
    let at = Instant::now();
    let found_none = |changes| {
        let list = Shortlist {
            nodes: [].into(),
            none: Some(NoVehicle::default()),
            cut: false,
            at,
            changes,
        };
        world.keep(&request, list);
        world.find(&request, at)
    };
    let before = world.candidates().1;
    assert_eq!(found_none(before), Found::None(NoVehicle::default(), None));
    world.swarm(swarm("s", 3, |spec| spec.rotate_at_percent = Some(25)));
    let soon = Some(Duration::from_secs(1));
    assert_eq!(found_none(before), Found::None(NoVehicle::default(), soon));
    let before = world.candidates().1;
    world.swarm(swarm("another", 4, |_| {}));
    assert_eq!(
        found_none(before),
        Found::None(NoVehicle::default(), soon),
        "it is gone"
    );
}

fn drone_with_selector(name: &str) -> Drone {
    let mut drone = drone(name, 1, None);
    drone.spec.node_selector.insert("site".into(), "north".into());
    drone
}

#[test]
fn what_is_declared_of_vehicles_has_an_index_and_ends_with_the_annotation() {
    let world = world();
    let n1 = NodeName::parse("n1").unwrap();
    let at = Timestamp::from_second(1_764_000_000).unwrap();
    let annotated = |declared: bool| {
        let mut node = Node::default();
        node.metadata.name = Some("n1".into());
        let annotation = (labels::VEHICLE_IS_DOWN.to_owned(), at.to_string());
        node.metadata.annotations = declared.then(|| BTreeMap::from([annotation]));
        Change::Is(Arc::new(node))
    };
    assert!(world.declared_down().is_empty());
    world.node(annotated(true));
    let declared = BTreeMap::from([(n1.clone(), of_the_wall(at))]);
    assert_eq!(world.declared_down(), declared);
    world.node(annotated(false));
    assert!(world.declared_down().is_empty(), "it was taken out");
    world.node(annotated(true));
    world.node(Change::Gone(Key::new("", "n1")));
    assert!(world.declared_down().is_empty(), "the node is gone");
}

#[test]
fn an_airframe_flies_for_a_drone_of_another_node_while_that_is_not_known_to_be_down() {
    let world = world();
    let number = HardwareUid::Short(7);
    let served = |version, node: Option<&str>, flying, hardware: Option<HardwareUid>| {
        let mut drone = drone("a", version, node);
        drone.status = Some(crds::DroneStatus {
            flying,
            vehicle: Some(crds::drone::VehicleIdentity {
                autopilot: "ArduPilot".into(),
                system_id: 1,
                firmware: None,
                hardware_uid: hardware.map(|hardware| hardware.to_string()),
            }),
            ..crds::DroneStatus::default()
        });
        world.drone(Change::Is(Arc::new(drone)));
    };
    let elsewhere = |node: &str| {
        let nodes = world.flying_elsewhere(&number, &NodeName::parse(node).unwrap());
        nodes.iter().map(NodeName::to_string).collect::<Vec<_>>()
    };
    served(1, Some("n1"), Some(true), Some(number));
    assert_eq!(elsewhere("n2"), ["n1"]);
    assert_eq!(elsewhere("n1"), [] as [String; 0], "it is its own");
    served(2, Some("n1"), None, Some(number));
    assert_eq!(elsewhere("n2"), ["n1"], "what is not known is the worst");
    served(3, Some("n1"), Some(false), Some(number));
    assert_eq!(elsewhere("n2"), [] as [String; 0]);
    served(4, Some("n1"), Some(true), Some(HardwareUid::Short(8)));
    assert_eq!(elsewhere("n2"), [] as [String; 0]);
    served(5, Some("n1"), Some(true), Some(number));
    world.hardware_is_shared(&number);
    assert_eq!(elsewhere("n2"), [] as [String; 0], "the number is that of several");
}

#[test]
fn numbers_of_several_airframes_are_bounded_and_those_that_drones_have_are_kept() {
    let world = world();
    let number = HardwareUid::Short(7);
    let mut drone = drone("a", 1, Some("n1"));
    drone.status = Some(crds::DroneStatus {
        flying: Some(true),
        vehicle: Some(crds::drone::VehicleIdentity {
            autopilot: "ArduPilot".into(),
            system_id: 1,
            firmware: None,
            hardware_uid: Some(number.to_string()),
        }),
        ..crds::DroneStatus::default()
    });
    world.drone(Change::Is(Arc::new(drone)));
    world.hardware_is_shared(&number);
    for other in 100..10_100 {
        world.hardware_is_shared(&HardwareUid::Short(other));
    }
    let remembered = world.lock().shared_hardware_count();
    assert!(remembered <= super::index::MAX_SHARED_NUMBERS, "{remembered}");
    let elsewhere = world.flying_elsewhere(&number, &NodeName::parse("n2").unwrap());
    assert!(elsewhere.is_empty(), "its number is that of several");
}

#[test]
fn drones_that_may_roam_and_those_of_a_mission_are_found_without_a_walk() {
    fn put(world: &World, version: u64, change: impl FnOnce(&mut Drone)) -> (bool, usize) {
        let mut changed = drone("a", version, None);
        change(&mut changed);
        world.drone(Change::Is(Arc::new(changed)));
        (world.has_roaming(), world.drones_of_mission("m").len())
    }
    let world = world();
    assert_eq!(put(&world, 1, |_| {}), (false, 0));
    let of_mission = |drone: &mut Drone| {
        drone.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "skein.dev/v1alpha1".into(),
            kind: "Mission".into(),
            name: "survey".into(),
            uid: "m".into(),
            controller: Some(true),
            block_owner_deletion: None,
        }]);
    };
    assert_eq!(put(&world, 2, of_mission), (true, 1));
    let left_behind = |drone: &mut Drone| {
        let label = (labels::MISSION.to_owned(), "survey".to_owned());
        drone.metadata.labels = Some(BTreeMap::from([label]));
    };
    assert_eq!(put(&world, 3, left_behind), (true, 0));
    assert_eq!(put(&world, 4, |_| {}), (false, 0));
    let at_a_station = |drone: &mut Drone| drone.spec.station = Some(crds::drone::Station::default());
    assert_eq!(put(&world, 5, at_a_station), (true, 0));
    world.drone(Change::Gone(Key::new("north", "a")));
    assert!(!world.has_roaming());
    assert_eq!(world.walks.load(Ordering::Relaxed), 0);
}
