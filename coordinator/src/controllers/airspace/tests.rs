//! The airspace of a few vehicles, as sentences about which of them may take off.

use super::*;
use crate::controllers::drone::facts::tests::{bound, for_a_mission, node, observer, plans};
use crate::controllers::mission::plans::Planned;
use crate::server::auth::tests::scripted::Scripted;
use fleet::assignment::Held;
use fleet::flight_record::SoFar;
use fleet::geo::shifted;
use fleet::ids::{DroneUid, Term};
use fleet::mission::{PlanReport, PlanState, Waypoint};
use fleet::vehicle::{Airborne, Position, WhyUnknown};

const HOME: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};
const SEA: f64 = 488.0;

fn name(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

/// The vehicle of node `m` flies for a Mission from its home to 100 m north of it and back, 20 m high; that of node `n` is on the ground
/// below the middle of the way.
struct Field {
    observer: Observer,
    below: Arc<Drone>,
    epochs: BTreeMap<&'static str, u64>,
}

impl Field {
    fn new() -> Self {
        let observer = observer(Scripted::new().client());
        for name in ["m", "n"] {
            node(&observer, name, false);
        }
        bound(&observer, "m", for_a_mission);
        let below = bound(&observer, "n", |drone| drone.spec.takeoff_altitude_meters = 20.0);
        let mut field = Self {
            observer,
            below,
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
        };
        plans(&self.observer, "m", Some(planned).filter(|_| has));
    }

    /// A report of a vehicle so far north and so high.
    fn report(&self, node: &'static str, north: f64, up: f64, truth: FlightTruth) {
        let flies = up > 0.5;
        let home = if node == "m" { 0.0 } else { 50.0 };
        let plan = (node == "m").then(|| PlanReport {
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
            home: Some(fleet::route_order::Waypoint {
                at: shifted(HOME, 0.0, home),
                amsl: AltitudeAmsl(SEA),
            }),
            held: Some(Held {
                uid: DroneUid(format!("uid-{node}")),
                term: Term(1),
                generation: 0,
                grounded: !flies,
                settled: !flies,
                details: None,
            }),
            so_far: if flies { SoFar::Flown } else { SoFar::Fresh },
            plan: plan.unwrap_or_default(),
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

    /// Whether the one below is kept on the ground.
    fn keeps_down(&self) -> bool {
        let node = name("n");
        let report = self.observer.sessions.current(&node);
        self.observer
            .airspace
            .keeps_down(&self.below, None, Some(&node), report.as_deref())
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
async fn a_new_leader_keeps_those_on_the_ground_until_it_has_heard_who_may_fly_for_a_mission() {
    let mut field = Field::new();
    assert!(field.keeps_down(), "nothing was looked over yet");
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
async fn a_vehicle_of_a_mission_that_has_not_flown_keeps_nobody_down_while_its_autopilot_is_off() {
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
    let held = Held {
        uid: DroneUid("uid-m".into()),
        term: Term(1),
        generation: 0,
        grounded: false,
        settled: false,
        details: None,
    };
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
async fn nobody_waits_for_airspace_once_nobody_flies_for_a_mission() {
    let field = Field::new();
    field.flies();
    field
        .observer
        .world()
        .drone(crate::cluster::world::Change::Gone(crate::cluster::key::Key::new(
            "north", "m",
        )));
    field.update();
    assert!(!field.keeps_down());
}
