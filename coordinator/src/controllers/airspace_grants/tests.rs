//! The airspace of a few vehicles, as sentences about which of them may take off.

use super::*;
use crate::controllers::facts::tests::{bound, for_a_mission, holding, node, node_declared_down, observer, plans};
use crate::controllers::node_rules::OfNode;
use crate::controllers::plans::Planned;
use crate::server::auth::tests::scripted::Scripted;
use crds::drone::Station as AskedStation;
use crds::{VehicleSpec, VehicleStatus};
use fleet::planning::drone::order::{ToSend, for_node};
use fleet::planning::freshness::Knowledge;
use fleet::planning::node_use::{Lift, NoLift};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use model::assignment::{Desired, Held, HeldDetails, Order};
use model::geo::shifted;
use model::ids::{DroneUid, Term};
use model::plan::{PlanDigest, PlanReport, PlanState, Waypoint};
use model::report::RouteState;
use model::reported_flight::SoFar;
use model::station::Altitude;
use model::traffic::Aircraft;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use model::vehicle::{Airborne, FlightTruth, Position, WhyUnknown};
use std::collections::HashMap;

const HOME: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};
const SEA: f64 = 488.0;

fn name(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

/// Gives a Drone a station 20 m above home.
fn station_at(at: Wgs84) -> impl FnOnce(&mut Drone) {
    move |drone: &mut Drone| {
        drone.spec.station = Some(AskedStation {
            latitude_degrees: at.latitude_deg,
            longitude_degrees: at.longitude_deg,
            altitude_meters: 20.0,
            ..AskedStation::default()
        });
    }
}

/// The vehicle of node `m` flies for a Mission from its home to 100 m north of it and back, 20 m high; that of node `n` is on the ground
/// below the middle of the way.
struct Field {
    observer: Observer,
    below: Arc<Drone>,
    on_mission: bool,
    epochs: BTreeMap<&'static str, u64>,
}

impl Field {
    fn new() -> Self {
        Self::with(for_a_mission)
    }

    fn with(change: impl FnOnce(&mut Drone)) -> Self {
        let field = Self::without_rules(change);
        field.observer.rules.update(HashMap::new(), false);
        field
    }

    /// Geofences were not listed yet.
    fn without_rules(change: impl FnOnce(&mut Drone)) -> Self {
        let observer = observer(Scripted::new().client());
        observer.leadership.state.knows(Knowledge::Current);
        for name in ["m", "n"] {
            node(&observer, name, false);
        }
        let other = bound(&observer, "m", change);
        let below = bound(&observer, "n", |drone| drone.spec.takeoff_altitude_meters = 20.0);
        let mut field = Self {
            observer,
            below,
            on_mission: other.spec.station.is_none(),
            epochs: BTreeMap::new(),
        };
        field.has_part(true);
        field.connect("m");
        field.connect("n");
        field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
        field
    }

    fn connect(&mut self, node: &'static str) {
        let opened = self.observer.sessions.open(&name(node), 1).unwrap();
        self.epochs.insert(node, opened.epoch);
    }

    fn has_part(&self, has: bool) {
        let height = Altitude::AboveHome(AltitudeAboveHome(20.0));
        let place = |north: f64| Waypoint::passed(shifted(HOME, 0.0, north), height);
        let planned = Planned {
            digest: PlanDigest("p".to_owned()),
            start: HOME,
            takeoff: 20.0,
            places: vec![place(0.0), place(100.0), place(0.0)],
            numbers: vec![0, 1, 2],
            work: None,
        };
        plans(&self.observer, "m", Some(planned).filter(|_| has));
    }

    /// A report from so many meters north and up.
    fn report(&self, node: &'static str, north: f64, up: f64, truth: FlightTruth) {
        self.report_with(node, (north, up), truth, None);
    }

    /// With the altitude of the order that its agent holds.
    fn report_with(&self, node: &'static str, (north, up): (f64, f64), truth: FlightTruth, ordered: Option<f64>) {
        let flies = up > 0.5;
        let home = if node == "m" { 0.0 } else { 50.0 };
        let plan = (node == "m" && self.on_mission).then(|| PlanReport {
            held: Some(PlanDigest("p".to_owned())),
            state: PlanState::Ready,
            flying: flies,
            ..PlanReport::default()
        });
        let report = Report {
            link_alive: true,
            truth,
            position: Some(Position {
                at: shifted(HOME, 0.0, north),
                amsl: AltitudeAmsl(SEA + up),
                above_home: AltitudeAboveHome(up),
            }),
            home: Some(model::route_order::Waypoint {
                at: shifted(HOME, 0.0, home),
                amsl: AltitudeAmsl(SEA),
            }),
            held: (node != "x").then(|| Held {
                uid: DroneUid(format!("uid-{node}")),
                term: Term(1),
                generation: 0,
                grounded: !flies,
                settled: !flies,
                details: ordered.map(|up| HeldDetails {
                    altitude: Some(AltitudeAboveHome(up)),
                    ..HeldDetails::default()
                }),
            }),
            so_far: if flies { SoFar::Flown } else { SoFar::Fresh },
            waypoint_radius: Some(model::units::Meters(2.0)),
            detours: Some(false),
            plan: plan.unwrap_or_default(),
            // What was granted before is flown, or let go of.
            route: RouteState {
                last: self.observer.airspace.last_granted(&name(node)).unwrap_or_default(),
                ..RouteState::default()
            },
            ..Report::of_nothing(name(node))
        };
        self.observer.sessions.report(&name(node), self.epochs[node], report);
    }

    /// The vehicle of `m` flies 30 m north of its home, and was observed there.
    fn flies(&self) {
        self.report("m", 30.0, 20.0, FlightTruth::Airborne(Airborne::InAir));
        self.update();
    }

    fn update(&self) {
        update(&self.observer, &Metrics::default());
    }

    fn keeps_down(&self) -> bool {
        self.keeps_down_with(None)
    }

    fn keeps_down_with(&self, plan: Option<&PlanDigest>) -> bool {
        let node = name("n");
        let report = self.observer.sessions.current(&node);
        self.observer
            .airspace
            .keeps_down(&self.below, plan, Some(&node), report.as_deref())
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_not_heard_on_its_way_keeps_those_below_it_on_the_ground() {
    let field = Field::new();
    field.flies();
    assert!(field.keeps_down());
    field.observer.sessions.close(&name("m"), field.epochs["m"]);
    field.update();
    assert!(field.keeps_down(), "its home is not known now");
    tokio::time::advance(Duration::from_secs(60)).await;
    field.has_part(false);
    field.update();
    assert!(
        field.keeps_down(),
        "another has its part, and it may be anywhere on its way"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_keeps_vehicles_down_until_it_has_heard_who_may_fly_for_a_mission() {
    let mut field = Field::new();
    assert!(field.keeps_down(), "nothing was reconciled yet");
    field.observer.sessions.close(&name("m"), field.epochs["m"]);
    field.has_part(false);
    field.update();
    assert!(field.keeps_down(), "where its plan leads is not known, or it has none");
    field.has_part(true);
    field.update();
    assert!(field.keeps_down(), "it may be anywhere on its plan");
    field.connect("m");
    field.report("m", 30.0, 20.0, FlightTruth::Airborne(Airborne::InAir));
    field.update();
    assert!(field.keeps_down(), "it is on its way");
    tokio::time::advance(Duration::from_secs(1)).await;
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    field.has_part(false);
    field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
    field.update();
    assert!(!field.keeps_down(), "it is on the ground");
}

#[tokio::test(start_paused = true)]
async fn one_on_a_plan_that_is_not_known_keeps_others_down_that_are_far_from_it() {
    let field = Field::new();
    field.has_part(false);
    field.report("m", -40.0, 20.0, FlightTruth::Airborne(Airborne::InAir));
    field.update();
    assert!(field.keeps_down(), "its plan may lead there");
    tokio::time::advance(Duration::from_secs(1)).await;
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
    field.update();
    assert!(!field.keeps_down(), "it has landed");
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_keeps_vehicles_down_until_it_has_heard_who_may_fly_to_a_station() {
    let mut field = Field::with(station_at(shifted(HOME, 0.0, 50.0)));
    field.observer.sessions.close(&name("m"), field.epochs["m"]);
    field.update();
    assert!(field.keeps_down(), "it may be anywhere");
    field.connect("m");
    field.report("m", 50.0, 20.0, FlightTruth::Airborne(Airborne::InAir));
    field.update();
    assert!(field.keeps_down(), "it holds above it");
    tokio::time::advance(Duration::from_secs(1)).await;
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
    field.update();
    assert!(!field.keeps_down(), "it is on the ground");
}

#[tokio::test(start_paused = true)]
async fn one_whose_claim_a_person_removed_keeps_vehicles_down_while_it_is_not_heard() {
    for served in [true, false] {
        let field = Field::with(|drone| {
            station_at(shifted(HOME, 0.0, 50.0))(drone);
            drone.status = served.then(|| crds::DroneStatus {
                node_name: Some("m".to_owned()),
                ..crds::DroneStatus::default()
            });
        });
        field.observer.sessions.close(&name("m"), field.epochs["m"]);
        let claim = crate::cluster::key::Key::new("skein", "node-m");
        field.observer.world().lease(crate::cluster::world::Change::Gone(claim));
        field.update();
        assert_eq!(
            field.keeps_down(),
            served,
            "one that merely names a node has no vehicle"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_not_known_to_be_on_the_ground_waits_unless_it_may_fly_by_an_order() {
    let mut field = Field::new();
    field.flies();
    let plan = PlanDigest("q".to_owned());
    let waits = |field: &Field| [field.keeps_down(), field.keeps_down_with(Some(&plan))];
    assert_eq!(waits(&field), [true; 2]);
    let lost = FlightTruth::Unknown(WhyUnknown::LinkLost);
    field.report("n", 50.0, 0.0, lost);
    assert_eq!(waits(&field), [true; 2], "its autopilot is not heard");
    field.observer.sessions.close(&name("n"), field.epochs["n"]);
    field.connect("n");
    assert_eq!(waits(&field), [true; 2], "its agent has not reported yet");
    field.update();
    assert_eq!(waits(&field), [true; 2]);
    let facts = facts_of(&field.observer, &field.below, None);
    assert_eq!(facts.lift, Lift::Stay(NoLift::Airspace));
    assert_eq!(for_node(Term(1), &[facts], None, false), ToSend::Nothing);
    field.report("n", 50.0, 20.0, FlightTruth::Airborne(Airborne::InAir));
    assert_eq!(waits(&field), [false; 2], "it flies");
    field.report("n", 50.0, 20.0, lost);
    assert_eq!(waits(&field), [false; 2], "it may be in the air, by its order");
}

#[tokio::test(start_paused = true)]
async fn one_that_holds_above_its_home_changes_its_height_once_the_way_there_is_clear() {
    let field = Field::new();
    let up = FlightTruth::Airborne(Airborne::InAir);
    let holds_at = |height: f64| field.report_with("n", (50.0, height), up, Some(height));
    let ordered = || {
        let report = field.observer.sessions.current(&name("n"));
        let facts = facts_of(&field.observer, &field.below, report.as_deref());
        let held = report.as_ref().map(|report| report.held.as_ref());
        match for_node(Term(1), std::slice::from_ref(&facts), held, false) {
            ToSend::Order(Order::Assigned(assignment)) => (assignment.desired, facts.waits_for),
            other => panic!("{other:?}"),
        }
    };
    let at = |up: f64| Desired::Flying {
        altitude: AltitudeAboveHome(up),
    };
    let waits = Some((AltitudeAboveHome(20.0), NoLift::Airspace));
    holds_at(10.0);
    assert_eq!(ordered(), (at(10.0), waits), "nothing was reconciled yet");
    field.flies();
    assert_eq!(ordered(), (at(10.0), waits), "another flies there");
    tokio::time::advance(Duration::from_secs(1)).await;
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    holds_at(10.0);
    field.has_part(false);
    field.update();
    assert_eq!(ordered(), (at(20.0), None), "that is on the ground");
    field.has_part(true);
    field.update();
    let airspace = &field.observer.airspace;
    assert!(airspace.plan_waits(&name("m")).is_some(), "its plan leads through that");
    assert_eq!(
        ordered(),
        (at(20.0), None),
        "its order is under way, and its way is its own"
    );
    tokio::time::advance(Duration::from_secs(1)).await;
    holds_at(20.0);
    field.update();
    assert_eq!(ordered(), (at(20.0), None));
}

#[tokio::test(start_paused = true)]
async fn a_station_far_away_that_nobody_holds_has_no_say_in_where_the_site_is() {
    let field = Field::new();
    bound(&field.observer, "a", |drone| {
        let at = Wgs84 {
            longitude_deg: HOME.longitude_deg + 5.0,
            ..HOME
        };
        drone.spec.node_name = None;
        station_at(at)(drone);
    });
    field.update();
    field.flies();
    assert!(field.keeps_down());
}

#[tokio::test(start_paused = true)]
async fn a_home_that_is_in_no_site_has_no_say_in_others() {
    let mut field = Field::new();
    let at = Wgs84 {
        latitude_deg: 75.0,
        ..HOME
    };
    node(&field.observer, "a", false);
    bound(&field.observer, "a", station_at(at));
    field.connect("a");
    let report = Report {
        home: Some(model::route_order::Waypoint {
            at,
            amsl: AltitudeAmsl(SEA),
        }),
        ..Report::of_nothing(name("a"))
    };
    field.observer.sessions.report(&name("a"), field.epochs["a"], report);
    field.update();
    field.flies();
    assert!(field.keeps_down());
}

#[tokio::test(start_paused = true)]
async fn once_it_is_known_that_nobody_may_be_anywhere_all_who_waited_for_that_are_woken() {
    let observer = observer(Scripted::new().client());
    node(&observer, "n", false);
    bound(&observer, "n", |_| {});
    let nodes = &observer.cluster.wakes.nodes;
    while !nodes.is_empty() {
        nodes.next().await;
    }
    update(&observer, &Metrics::default());
    assert_eq!((nodes.len(), nodes.next().await), (1, name("n")));
}

#[tokio::test(start_paused = true)]
async fn an_unflown_vehicle_of_a_mission_keeps_nobody_down_while_its_autopilot_is_off() {
    let field = Field::new();
    let report = Report::of_nothing(name("m"));
    field.observer.sessions.report(&name("m"), field.epochs["m"], report);
    field.update();
    assert!(!field.keeps_down());
}

#[tokio::test(start_paused = true)]
async fn one_whose_agent_starts_anew_in_flight_keeps_those_below_it_on_the_ground() {
    let mut field = Field::new();
    field.flies();
    tokio::time::advance(Duration::from_secs(1)).await;
    field.observer.sessions.close(&name("m"), field.epochs["m"]);
    field.connect("m");
    let held = holding("uid-m");
    let report = Report {
        truth: FlightTruth::Unknown(WhyUnknown::NeverHeard),
        held: Some(held),
        so_far: SoFar::Flown,
        ..Report::of_nothing(name("m"))
    };
    field.observer.sessions.report(&name("m"), field.epochs["m"], report);
    field.update();
    assert!(field.keeps_down());
}

#[tokio::test(start_paused = true)]
async fn no_vehicle_waits_for_airspace_once_none_flies_for_a_mission() {
    let field = Field::new();
    field.flies();
    field
        .observer
        .world()
        .drone(crate::cluster::world::Change::Gone(crate::cluster::key::Key::new(
            "north", "m",
        )));
    field.update();
    assert!(field.keeps_down(), "its Drone is gone, and it flies where it was");
    tokio::time::advance(Duration::from_secs(1)).await;
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
    field.update();
    assert!(!field.keeps_down(), "it is on the ground");
}

/// A person has taken the marks of its Mission or its station from its Drone, and no other Drone has any.
#[tokio::test(start_paused = true)]
async fn one_away_from_its_home_keeps_others_down_where_no_drone_may_be_elsewhere() {
    let mut field = Field::with(|_| {});
    field.on_mission = false;
    let up = FlightTruth::Airborne(Airborne::InAir);
    field.update();
    assert!(!field.keeps_down(), "nobody is in the air");
    field.report("m", 45.0, 15.0, up);
    field.update();
    assert!(field.keeps_down(), "it holds over the home of the other");
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(1)).await;
        field.report("m", 0.0, 10.0, up);
        field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
        field.update();
    }
    assert!(!field.keeps_down(), "it is at rest above its own");
}

#[tokio::test(start_paused = true)]
async fn a_vehicle_without_a_station_does_not_climb_into_an_aircraft_where_none_has_one() {
    let mut field = Field::with(|_| {});
    let helicopter = |north: f64| Aircraft {
        icao: 7,
        at: shifted(HOME, 0.0, north),
        altitude: Some(model::traffic::Altitude::Satellite(AltitudeAmsl(SEA + 60.0))),
        velocity: Some([0.0, 0.0]),
        climb: Some(0.0),
        may_be_uncrewed: false,
        seen: Moment::default(),
    };
    field.update();
    assert!(!field.keeps_down(), "the sky is clear");
    let sees = |field: &Field, traffic: Vec<Aircraft>| {
        let report = Report {
            traffic,
            ..Report::of_nothing(name("m"))
        };
        field.observer.sessions.report(&name("m"), field.epochs["m"], report);
        field.update();
    };
    sees(&field, vec![helicopter(60.0)]);
    assert!(field.keeps_down());
    let up = FlightTruth::Airborne(Airborne::InAir);
    field.report_with("n", (50.0, 10.0), up, Some(10.0));
    let report = field.observer.sessions.current(&name("n"));
    let height = |asked| {
        let airspace = &field.observer.airspace;
        airspace.height(
            &field.below,
            Some(&name("n")),
            report.as_deref(),
            AltitudeAboveHome(asked),
        )
    };
    let kept = (AltitudeAboveHome(10.0), Some(NoLift::Airspace));
    assert_eq!(height(20.0), kept, "nor does it climb");
    field.observer.sessions.close(&name("m"), field.epochs["m"]);
    tokio::time::advance(Duration::from_secs(61)).await;
    field.connect("m");
    field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
    field.update();
    assert!(!field.keeps_down(), "nobody has seen it for a minute");
}

#[tokio::test(start_paused = true)]
async fn where_none_has_a_station_none_takes_off_or_climbs_before_its_geofences_are_known() {
    let field = Field::without_rules(|_| {});
    field.update();
    let facts = || {
        let report = field.observer.sessions.current(&name("n"));
        facts_of(&field.observer, &field.below, report.as_deref())
    };
    let waits = Lift::Stay(NoLift::FencesUnknown);
    assert_eq!((field.keeps_down(), facts().lift), (true, waits));
    let rules = &field.observer.rules;
    rules.update(HashMap::new(), true);
    assert!(field.keeps_down(), "its vehicle was not gone through yet");
    field.report_with("n", (50.0, 10.0), FlightTruth::Airborne(Airborne::InAir), Some(10.0));
    let asked = AltitudeAboveHome(20.0);
    assert_eq!(facts().waits_for, Some((asked, NoLift::FencesUnknown)));
    let woken = rules.update([(name("n"), OfNode::default())].into(), true);
    assert_eq!((woken, facts().waits_for), (vec![name("n")], None));
    field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
    assert!(!field.keeps_down());
}

#[tokio::test(start_paused = true)]
async fn a_silent_flying_vehicle_without_a_drone_owns_its_place_until_declared_down() {
    let mut field = Field::with(station_at(shifted(HOME, 0.0, -100.0)));
    node(&field.observer, "x", false);
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    field.connect("x");
    field.report("x", 50.0, 15.0, FlightTruth::Airborne(Airborne::InAir));
    field.update();
    assert!(field.keeps_down(), "it is above the other");
    field.observer.sessions.close(&name("x"), field.epochs["x"]);
    let now = Timestamp::now();
    for (ago, keeps) in [(1200, true), (0, false)] {
        node_declared_down(&field.observer, "x", now - Duration::from_secs(ago));
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(1)).await;
            field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
            field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
            field.update();
        }
        assert_eq!(field.keeps_down(), keeps, "declared {ago} s ago");
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_declaration_does_not_count_again_for_a_leader_whose_clock_is_set_back() {
    let mut field = Field::with(station_at(shifted(HOME, 0.0, -100.0)));
    node(&field.observer, "x", false);
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    field.connect("x");
    field.report("x", 50.0, 15.0, FlightTruth::Airborne(Airborne::InAir));
    field.update();
    field.observer.sessions.close(&name("x"), field.epochs["x"]);
    let machine = Timestamp::now();
    let shared = machine + Duration::from_secs(3600);
    field.observer.leadership.state.read_shared_time(shared);
    for (at, keeps) in [(machine, true), (shared, false)] {
        node_declared_down(&field.observer, "x", at);
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(1)).await;
            field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
            field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
            field.update();
        }
        assert_eq!(field.keeps_down(), keeps, "declared at {at}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_vehicle_away_from_its_home_keeps_others_down_where_no_drone_may_be_elsewhere() {
    let mut field = Field::with(|_| {});
    field.on_mission = false;
    node(&field.observer, "x", false);
    field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
    field.connect("x");
    field.report("x", 46.0, 15.0, FlightTruth::Airborne(Airborne::InAir));
    field.update();
    assert!(field.keeps_down(), "a pilot flies it above the other");
    // No Drone names its node: nothing is kept of its session.
    field.observer.sessions.close(&name("x"), field.epochs["x"]);
    for declared in [false, true] {
        if declared {
            node_declared_down(&field.observer, "x", Timestamp::now());
        }
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(1)).await;
            field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
            field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
            field.update();
        }
        assert_eq!(field.keeps_down(), !declared);
    }
}

/// The vehicle of node `x`, as a leader has left it.
fn inventory(in_air: bool) -> Store<Vehicle> {
    inventory_with(in_air, |_| {})
}

fn inventory_with(in_air: bool, change: impl FnOnce(&mut Vehicle)) -> Store<Vehicle> {
    let spec = VehicleSpec {
        node_name: "x".to_owned(),
        hardware_uid: None,
    };
    let mut vehicle = Vehicle::new("x", spec);
    vehicle.status = Some(VehicleStatus {
        airborne_since: in_air.then_some(Time(Timestamp::UNIX_EPOCH)),
        ..VehicleStatus::default()
    });
    change(&mut vehicle);
    let mut writer = Writer::<Vehicle>::default();
    for event in [Event::Init, Event::InitApply(vehicle), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    writer.as_reader()
}

/// The other Drone has a station, or none has any.
#[tokio::test(start_paused = true)]
async fn one_in_the_air_before_this_leader_keeps_others_down_until_it_is_heard_or_declared_down() {
    for (has_station, is_heard) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut field = Field::with(|drone| {
            if has_station {
                station_at(shifted(HOME, 0.0, -100.0))(drone);
            }
        });
        field.on_mission = false;
        node(&field.observer, "x", false);
        let go_on = async |field: &Field| {
            for _ in 0..3 {
                tokio::time::advance(Duration::from_secs(1)).await;
                field.report("m", 0.0, 0.0, FlightTruth::Disarmed);
                field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
                field.update();
            }
        };
        wait_for_those_in_air(&field.observer, &inventory(false));
        go_on(&field).await;
        assert!(!field.keeps_down(), "nobody was in the air");
        wait_for_those_in_air(&field.observer, &inventory(true));
        go_on(&field).await;
        assert!(field.keeps_down(), "it may be above the other");
        go_on_waiting(&field.observer, &inventory(true));
        if is_heard {
            field.connect("x");
            go_on(&field).await;
            assert!(field.keeps_down(), "its agent has not reported yet");
            field.report("x", 46.0, 15.0, FlightTruth::Airborne(Airborne::InAir));
            go_on(&field).await;
            assert!(field.keeps_down(), "it is above the other");
            field.report("x", 46.0, 0.0, FlightTruth::Disarmed);
        } else {
            node_declared_down(&field.observer, "x", Timestamp::now());
        }
        go_on(&field).await;
        assert!(!field.keeps_down(), "heard: {is_heard}, a station: {has_station}");
        assert!(field.observer.airspace.awaited().is_empty());
        assert_eq!(field.observer.airspace.take_down().contains(&name("x")), !is_heard);
    }
}

#[tokio::test(start_paused = true)]
async fn one_whose_object_says_that_it_landed_or_is_gone_is_not_waited_for_any_more() {
    let field = Field::with(|_| {});
    wait_for_those_in_air(&field.observer, &inventory(true));
    assert!(awaits_one(&field.observer));
    go_on_waiting(&field.observer, &inventory(false));
    assert!(!awaits_one(&field.observer));
}

#[test]
fn a_transponder_is_declared_by_its_address_on_the_vehicle_that_carries_it() {
    let labeled = |value: &str| {
        let label = (TRANSPONDER.to_owned(), value.to_owned());
        transponders(&inventory_with(false, |vehicle| {
            vehicle.metadata.labels = Some([label].into());
        }))
    };
    assert_eq!(labeled("4B1234"), [(0x4b_1234, [name("x")].into())].into());
    assert!(labeled("of-mine").is_empty() && transponders(&inventory(false)).is_empty());
}

/// At 20 m/s it could be above the other after five seconds.
#[tokio::test(start_paused = true)]
async fn one_whose_reports_lay_in_a_buffer_keeps_others_down_where_it_may_be_by_now() {
    let field = Field::with(station_at(shifted(HOME, 0.0, -200.0)));
    let second = Duration::from_secs(1);
    // By the clock of its agent.
    let a_pilot_flies = |made: u32| {
        let made = Moment::at(second * (5000 + made));
        let report = Report {
            made,
            link_alive: true,
            truth: FlightTruth::Airborne(Airborne::InAir),
            position: Some(Position {
                at: shifted(HOME, 0.0, -80.0),
                amsl: AltitudeAmsl(SEA + 20.0),
                above_home: AltitudeAboveHome(20.0),
            }),
            position_at: Some(made),
            home: Some(model::route_order::Waypoint {
                at: HOME,
                amsl: AltitudeAmsl(SEA),
            }),
            so_far: SoFar::Flown,
            ..Report::of_nothing(name("m"))
        };
        field.observer.sessions.report(&name("m"), field.epochs["m"], report);
        field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
        field.update();
    };
    for made in 0..3 {
        a_pilot_flies(made);
        assert!(!field.keeps_down(), "it is 130 m away");
        tokio::time::advance(second).await;
    }
    tokio::time::advance(second * 8).await;
    a_pilot_flies(3);
    assert!(field.keeps_down(), "it was 130 m away eight seconds before");
    a_pilot_flies(11);
    assert!(!field.keeps_down(), "it is there now");
}

#[tokio::test(start_paused = true)]
async fn one_report_is_of_one_moment_however_often_it_is_taken_in() {
    let field = Field::new();
    let taken_in = |field: &Field, node: &str| {
        let drones = field.observer.world().all_drones(None);
        let (all, ..) = gather(&field.observer, &drones);
        all.get(&name(node))
            .and_then(|one| one.report.as_ref().map(|(_, at)| *at))
    };
    let first = taken_in(&field, "n");
    assert!(first.is_some());
    // The airspace is gone through every half second or so; a report comes each second.
    tokio::time::advance(std::time::Duration::from_millis(700)).await;
    assert_eq!(taken_in(&field, "n"), first, "at 10 m/s it would seem to stand still");
    tokio::time::advance(std::time::Duration::from_millis(300)).await;
    field.report("n", 50.0, 0.0, FlightTruth::Disarmed);
    let next = taken_in(&field, "n").zip(first).map(|(next, first)| next.since(first));
    assert_eq!(next, Some(std::time::Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_fleet_costs_no_walk_over_its_drones() {
    let observer = observer(Scripted::new().client());
    observer.leadership.state.knows(Knowledge::Current);
    for number in 0..20 {
        let name = format!("n{number}");
        node(&observer, &name, false);
        bound(&observer, &name, |_| {});
    }
    let mut tasks = JoinSet::new();
    start(&observer, inventory(false), &Metrics::default(), &mut tasks);
    let walks_of_a_minute = async || {
        // What follows from the last change has been done.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let before = observer.world().walks.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(60)).await;
        observer.world().walks.load(Ordering::Relaxed) - before
    };
    assert_eq!(walks_of_a_minute().await, 0);
    bound(&observer, "n0", station_at(HOME));
    assert!(walks_of_a_minute().await >= 110, "airspace is granted twice a second");
    bound(&observer, "n0", |_| {});
    assert_eq!(walks_of_a_minute().await, 0);
    observer.leadership.ending.cancel();
    assert!(tasks.join_next().await.is_some_and(|ended| ended.is_ok()));
}
