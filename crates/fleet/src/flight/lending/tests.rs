//! One vehicle and one program.

use super::*;
use model::assignment::{Failsafe, GroundedWhy, OnCoordinatorLoss};
use model::geo::shifted;
use model::ids::{DroneName, DroneUid, Term};
use model::lent::USUAL_LEASE;
use model::time::Sighting;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Meters, Wgs84};
use model::vehicle::{Heartbeat, LandedState, ModeReport, OFFBOARD, Position};

const CENTER: Wgs84 = Wgs84 {
    latitude_deg: 47.397_742,
    longitude_deg: 8.545_594,
};
const SEA: f64 = 488.0;
const ROOM: Room = Room {
    radius: Meters(40.0),
    below: Meters(10.0),
    above: Meters(10.0),
    lease: USUAL_LEASE,
};

struct World {
    lending: Lending,
    vehicle: Vehicle,
    held: Assignment,
    program: Program,
    battery: Level,
    near_reserve: bool,
    led: bool,
    uplink_silent: Duration,
    now: Moment,
}

fn world() -> World {
    let number = |count| OrderNumber { term: Term(3), count };
    let altitude = AltitudeAboveHome(20.0);
    let end = Waypoint {
        at: CENTER,
        amsl: AltitudeAmsl(SEA + 20.0),
    };
    World {
        lending: Lending::default(),
        vehicle: Vehicle {
            lent: true,
            ..Vehicle::default()
        },
        held: Assignment {
            term: Term(3),
            uid: DroneUid("u".to_owned()),
            name: DroneName {
                namespace: "default".to_owned(),
                name: "a".to_owned(),
            },
            generation: 1,
            desired: Desired::Flying { altitude },
            failsafe: Failsafe::default(),
            resume_after: 0,
            ground_mark: None,
            reported_flight: model::reported_flight::ReportedFlight::default(),
            routed: true,
            route: Some(RouteOrder {
                number: number(7),
                places: vec![end],
                room: Some(ROOM),
            }),
            manner: model::station::Manner::default(),
            void: number(6),
            rules: None,
            plan: None,
            recalled: false,
        },
        program: Program::default(),
        battery: Level::Fine,
        near_reserve: false,
        led: true,
        uplink_silent: Duration::ZERO,
        now: Moment::at(Duration::from_secs(100)),
    }
    .flies(Mode::Station, "GUIDED")
    .at(0.0, 0.0)
}

impl World {
    fn flies(mut self, mode: Mode, label: &str) -> Self {
        let mode = ModeReport {
            mode,
            label: label.to_owned(),
        };
        let (armed, landed) = (true, Some(LandedState::InAir));
        self.vehicle.heartbeat = Some(Sighting::new(Heartbeat { armed, mode }, self.now));
        self.vehicle.landed = Some(Sighting::new(landed, self.now));
        self
    }

    /// North of the center, meters, at this speed.
    fn at(mut self, north: f64, speed: f64) -> Self {
        let position = Position {
            at: shifted(CENTER, 0.0, north),
            amsl: AltitudeAmsl(SEA + 20.0),
            above_home: AltitudeAboveHome(20.0),
        };
        self.vehicle.position = Some(Sighting::new(position, self.now));
        self.vehicle.over_ground_m_s = Some(Sighting::new(speed, self.now));
        self.vehicle.sink_m_s = Some(Sighting::new(0.0, self.now));
        self
    }

    fn told(mut self) -> Self {
        self.program = Program {
            heard: Some(self.now),
            set_point: Some(self.now),
            ..self.program
        };
        self
    }

    fn later(self, ms: u64) -> Self {
        let now = self.now.plus(Duration::from_millis(ms));
        Self { now, ..self }
    }

    fn observe(&mut self) -> Verdict {
        self.lending.observe(&Question {
            vehicle: &self.vehicle,
            held: Some(&self.held),
            program: self.program,
            battery: self.battery,
            near_reserve: self.near_reserve,
            led: self.led,
            uplink_silent: self.uplink_silent,
            terminating: false,
            now: self.now,
        })
    }

    fn lent(self) -> Self {
        let mut w = self.told();
        assert_eq!(w.observe(), PASSES);
        assert!(w.lending.flies());
        w
    }
}

const PASSES: Verdict = Verdict {
    passes: true,
    taken_back: None,
};

const fn back(why: WhyBack) -> Verdict {
    Verdict {
        passes: false,
        taken_back: Some(why),
    }
}

#[test]
fn a_program_flies_from_its_first_word_until_it_is_silent_for_its_lease() {
    let mut w = world();
    assert_eq!(w.observe(), PASSES);
    assert!(!w.lending.flies(), "nobody has said anything");
    let mut w = w.lent();
    for _ in 0..10 {
        w = w.later(900).flies(Mode::Station, "GUIDED").at(5.0, 2.0).told();
        assert_eq!(w.observe(), PASSES);
    }
    w = w.later(3000).flies(Mode::Station, "GUIDED").at(5.0, 2.0);
    assert_eq!(w.observe(), PASSES, "it is silent for no longer than that");
    w = w.later(100).flies(Mode::Station, "GUIDED").at(5.0, 2.0);
    assert_eq!(w.observe(), back(WhyBack::LeaseSilent));
    assert!(!w.lending.flies());
}

#[test]
fn in_offboard_a_vehicle_without_set_points_is_taken_back_before_px4_fails_over() {
    let mut w = world().lent().flies(Mode::Foreign, OFFBOARD);
    assert_eq!(w.observe(), PASSES);
    w = w.later(600).flies(Mode::Foreign, OFFBOARD).at(0.0, 0.0);
    w.program.heard = Some(w.now);
    assert_eq!(w.observe(), back(WhyBack::LeaseSilent), "it only beats");
    let mut unlent = world().flies(Mode::Foreign, OFFBOARD);
    assert_eq!(unlent.observe(), back(WhyBack::LeaseSilent), "of the life before");
}

#[test]
fn it_is_taken_back_while_it_can_still_stop_inside() {
    for (north, speed, inside) in [
        (0.0, 0.0, true),
        (36.0, 0.0, true),
        // It may have begun to fly faster since, until it brakes.
        (37.0, 0.0, false),
        (0.0, 8.0, true),
        (29.0, 3.0, true),
        (30.0, 3.0, false),
        (30.0, 6.0, false),
        (45.0, 0.0, false),
    ] {
        let mut w = world().lent().at(north, speed);
        let expected = if inside { PASSES } else { back(WhyBack::LeftVolume) };
        assert_eq!(w.observe(), expected, "{north} m, {speed} m/s");
    }
    let mut w = world().lent().later(1600).flies(Mode::Station, "GUIDED").told();
    assert_eq!(w.observe(), back(WhyBack::LeftVolume), "it is not known where it is");
}

#[test]
fn whatever_is_ordered_or_runs_low_ends_it_and_it_does_not_begin_then() {
    let grounded = Desired::Grounded {
        why: GroundedWhy::Ordered,
    };
    let changes: [fn(&mut World); 4] = [
        |w| {
            w.held.void = OrderNumber {
                term: Term(3),
                count: 7,
            }
        },
        |w| w.battery = Level::Low,
        |w| w.near_reserve = true,
        |w| w.held.plan = Some(model::plan::PlanDigest("p".to_owned())),
    ];
    for change in changes {
        let (mut lent, mut unlent) = (world().lent(), world().told());
        change(&mut lent);
        change(&mut unlent);
        assert_eq!(lent.observe(), back(WhyBack::Recalled));
        assert_eq!(unlent.observe(), back(WhyBack::Recalled));
    }
    let mut w = world().lent();
    w.held.desired = grounded;
    assert_eq!(w.observe(), back(WhyBack::Recalled));
    let mut w = world().lent();
    w.held.route = None;
    assert_eq!(w.observe(), Verdict::default());
}

#[test]
fn a_pilots_mode_ends_it_and_nothing_is_taken_back_from_a_pilot() {
    for (mode, label) in [
        (Mode::Foreign, "LOITER"),
        (Mode::Foreign, "POSCTL"),
        (Mode::Land, "LAND"),
    ] {
        let mut w = world().lent().flies(mode, label);
        assert_eq!(w.observe(), Verdict::default(), "{label}");
        assert!(!w.lending.flies(), "{label}");
    }
}

#[test]
fn none_begins_without_a_leader_and_none_in_the_airspace_of_another_route() {
    let mut w = world().told();
    w.led = false;
    assert_eq!(w.observe(), Verdict::default());
    let mut w = world().lent();
    w.led = false;
    assert_eq!(w.observe(), PASSES, "a change of leaders ends nothing");
    let route = w.held.route.as_mut().unwrap();
    route.number.count += 1;
    w = w.at(20.0, 0.0);
    assert_eq!(
        w.observe(),
        back(WhyBack::LeaseSilent),
        "it is not where that one begins"
    );
}

#[test]
fn one_whose_agent_acts_alone_is_taken_back_and_one_that_goes_on_is_not() {
    for (what, expected) in [
        (OnCoordinatorLoss::Return, back(WhyBack::Recalled)),
        (OnCoordinatorLoss::Land, back(WhyBack::Recalled)),
        (OnCoordinatorLoss::Hold, back(WhyBack::Recalled)),
        (OnCoordinatorLoss::Continue, PASSES),
    ] {
        let mut w = world().lent();
        w.led = false;
        w.held.failsafe.on_coordinator_loss = what;
        w.uplink_silent = w.held.failsafe.after - Duration::from_secs(1);
        assert_eq!(w.observe(), PASSES, "{what:?}");
        w.uplink_silent = w.held.failsafe.after;
        assert_eq!(w.observe(), expected, "{what:?}");
    }
}

#[test]
fn one_that_sinks_is_taken_back_while_what_it_may_gain_until_it_brakes_fits_in() {
    for (sinks, up, inside) in [(0.0, 8.0, true), (0.0, 9.0, false), (3.0, 1.5, true), (3.0, 3.0, false)] {
        let mut w = world().lent();
        if let Some(position) = &mut w.vehicle.position {
            position.value.amsl = AltitudeAmsl(SEA + 20.0 - up);
        }
        w.vehicle.sink_m_s = Some(Sighting::new(sinks, w.now));
        let expected = if inside { PASSES } else { back(WhyBack::LeftVolume) };
        assert_eq!(w.observe(), expected, "{sinks} m/s, {up} m below");
    }
}

#[test]
fn one_that_is_asked_to_fly_faster_than_it_could_stop_is_taken_back_before_it_does() {
    for (asked, north, inside) in [
        ((8.0, 0.0), 0.0, true),
        ((20.0, 0.0), 0.0, true),
        ((20.0, 0.0), 25.0, false),
        ((5.0, 0.0), 30.0, false),
        ((2.0, 0.0), 30.0, true),
        ((0.0, 3.0), 0.0, true),
        ((0.0, 9.0), 0.0, false),
        ((f64::NAN, 0.0), 25.0, false),
    ] {
        let mut w = world().lent().at(north, 0.0);
        w.program.asked = asked;
        let expected = if inside { PASSES } else { back(WhyBack::LeftVolume) };
        assert_eq!(w.observe(), expected, "{asked:?} {north} m from the middle");
    }
    let mut first = world().later(600).told();
    first.program.asked = (20.0, 0.0);
    assert_eq!(first.observe(), back(WhyBack::LeftVolume), "with its first word");
}

#[test]
fn one_that_was_taken_back_flies_on_until_it_has_stopped_or_is_not_ours() {
    let flies = |w: &World, to_stop| flies_on(&w.vehicle, to_stop, w.now);
    assert!(flies(&world().at(10.0, 8.0), false), "it brakes");
    assert!(flies(&world(), true), "what comes late may move it");
    assert!(!flies(&world(), false));
    let mut sinks = world();
    sinks.vehicle.sink_m_s = Some(Sighting::new(-2.0, sinks.now));
    assert!(flies(&sinks, false));
    let stale = world().later(1600).flies(Mode::Station, "GUIDED");
    assert!(flies(&stale, false), "it is not known how fast it is");
    assert!(
        flies(&world().flies(Mode::Foreign, OFFBOARD), false),
        "a program still has it"
    );
    assert!(
        !flies(&world().at(10.0, 8.0).flies(Mode::Foreign, "POSCTL"), true),
        "a pilot has it"
    );
    assert!(flies(&world().later(9000), false), "nothing is known of it");
}
