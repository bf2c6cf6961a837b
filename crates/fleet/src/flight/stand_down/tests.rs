//! A vehicle that landed without an order is left to a person, whatever becomes of the Drone that it flew for.

use super::*;
use model::assignment::Failsafe;
use model::failsafe::Diversion;
use model::ids::Term;
use model::reported_flight::ReportedFlight;
use model::route_order::OrderNumber;
use model::station::Manner;
use model::time::Sighting;
use model::units::{AltitudeAboveHome, Volts};
use model::vehicle::{Battery, Charge, Heartbeat, LandedState, Mode, ModeReport};

const FLY: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};

const fn grounded(why: GroundedWhy) -> Desired {
    Desired::Grounded { why }
}

fn at(s: u64) -> Moment {
    Moment::at(Duration::from_secs(s))
}

fn assigned(uid: &str, desired: Desired) -> Assignment {
    Assignment {
        term: Term(1),
        uid: DroneUid(uid.into()),
        name: DroneName {
            namespace: "field".into(),
            name: uid.into(),
        },
        generation: 1,
        desired,
        failsafe: Failsafe::default(),
        resume_after: 0,
        ground_mark: None,
        reported_flight: ReportedFlight::default(),
        routed: false,
        manner: Manner::default(),
        recalled: false,
        void: OrderNumber::default(),
        rules: None,
        plan: None,
        route: None,
    }
}

fn vehicle(in_air: bool, s: u64) -> Vehicle {
    let mode = ModeReport {
        mode: Mode::Station,
        label: String::new(),
    };
    let landed = if in_air {
        LandedState::InAir
    } else {
        LandedState::OnGround
    };
    Vehicle {
        heartbeat: Some(Sighting::new(Heartbeat { armed: in_air, mode }, at(s))),
        landed: Some(Sighting::new(Some(landed), at(s))),
        running_for: Some(Duration::from_secs(1000 + s)),
        ..Vehicle::default()
    }
}

fn with_pack(millivolts: Option<u32>, s: u64) -> Vehicle {
    let battery = Battery {
        remaining: None,
        voltage: millivolts.map(Volts::of_millivolts),
        charge: Charge::Unknown,
    };
    Vehicle {
        battery: Some(Sighting::new(battery, at(s))),
        ..vehicle(false, s)
    }
}

fn record(stage: Stage) -> FlightRecord {
    FlightRecord {
        uid: Some(DroneUid("a".into())),
        stage,
        ..FlightRecord::default()
    }
}

struct Course {
    downs: StandDowns,
    record: FlightRecord,
    by_plan: bool,
    told: Option<Moment>,
    now: u64,
}

impl Course {
    fn over() -> Self {
        Self::ended(record(Stage::Over))
    }

    fn ended(record: FlightRecord) -> Self {
        let mut course = Self {
            downs: StandDowns::default(),
            record,
            by_plan: false,
            told: Some(at(1)),
            now: 100,
        };
        course.after(1, Some(&assigned("a", FLY)));
        assert!(course.stands_down());
        course
    }

    fn stands_down(&self) -> bool {
        self.downs.now.is_some()
    }

    fn after(&mut self, seconds: u64, held: Option<&Assignment>) -> bool {
        self.now += seconds;
        self.observe(held, &vehicle(false, self.now))
    }

    fn observe(&mut self, held: Option<&Assignment>, vehicle: &Vehicle) -> bool {
        let before = self.record.clone();
        self.record = before.observed(held, vehicle.truth(at(self.now)), false);
        self.downs = self.downs.observed(
            held,
            (&before, &self.record),
            self.by_plan,
            self.told,
            (vehicle, at(self.now)),
        );
        self.stands_down()
    }

    fn restart(&mut self) {
        if let Some(down) = &mut self.downs.now {
            down.since = None;
        }
    }
}

#[test]
fn a_flight_in_the_air_or_that_was_ended_by_an_order_is_no_stand_down() {
    let downs = StandDowns::default();
    let held = assigned("a", FLY);
    let after = |record: &FlightRecord, vehicle: &Vehicle| {
        downs.observed(Some(&held), (record, record), false, None, (vehicle, at(9)))
    };
    assert_eq!(after(&record(Stage::Fresh), &vehicle(false, 9)), downs);
    assert_eq!(after(&record(Stage::Flown), &vehicle(true, 9)), downs);
    let taken = FlightRecord {
        takeovers: 1,
        ..record(Stage::Flown)
    };
    assert_eq!(after(&taken, &vehicle(true, 9)), downs, "the pilot flies");
    assert_eq!(
        after(&taken, &vehicle(false, 9)).reported().unwrap().why,
        StoodDown::TakenOver
    );
}

#[test]
fn a_mission_that_deletes_its_drone_and_a_drone_that_is_gone_leave_it_to_a_person() {
    let deleted = assigned("a", grounded(GroundedWhy::Deleted));
    let recalled = Assignment {
        recalled: true,
        ..deleted
    };
    for held in [
        Some(recalled),
        Some(assigned("a", grounded(GroundedWhy::Unbound))),
        None,
    ] {
        let mut course = Course::over();
        assert!(course.after(60, held.as_ref()), "{held:?}");
        course.restart();
        assert!(course.after(60, None));
        assert!(course.after(60, Some(&assigned("b", FLY))), "whatever Drone asks");
    }
}

#[test]
fn a_persons_word_ends_the_stand_down_that_it_is_about_and_none_after() {
    let mut course = Course::over();
    let (a, b) = (assigned("a", FLY), assigned("b", FLY));
    course.downs = course.downs.stood_up(1, Some(&a));
    assert!(course.stands_down(), "its Drone has it, and says what to do");
    course.after(1, None);
    course.downs = course.downs.stood_up(2, None);
    assert!(course.stands_down(), "it is about another");
    course.downs = course.downs.stood_up(1, Some(&b));
    assert!(!course.stands_down());
    course.record = FlightRecord {
        uid: Some(b.uid.clone()),
        ..record(Stage::Over)
    };
    course.after(1, Some(&b));
    assert_eq!(course.downs.reported().unwrap().number, 2);
    course.after(1, None);
    course.downs = course.downs.stood_up(1, None);
    assert!(course.stands_down(), "said again, or late");
}

#[test]
fn what_lets_the_drone_fly_again_lets_its_vehicle() {
    let mut course = Course::over();
    assert!(
        course.after(60, Some(&assigned("a", grounded(GroundedWhy::Waiting)))),
        "its node is drained"
    );
    assert!(!course.after(1, Some(&assigned("a", grounded(GroundedWhy::Ordered)))));
    assert!(!course.after(1, Some(&assigned("a", FLY))), "it was released");
    let mut killed = Course::ended(record(Stage::Flown).killed());
    assert!(
        killed.after(60, Some(&assigned("a", grounded(GroundedWhy::Ordered)))),
        "a kill is for good"
    );
    assert_eq!(killed.downs.reported().unwrap().why, StoodDown::Killed);
}

#[test]
fn a_person_who_knows_of_it_and_deletes_the_drone_says_that_its_vehicle_may_fly() {
    let deleted = assigned("a", grounded(GroundedWhy::Deleted));
    for record in [
        record(Stage::Over),
        record(Stage::Over).killed(),
        FlightRecord {
            takeovers: 1,
            ..record(Stage::Over)
        },
    ] {
        let mut course = Course::ended(record);
        course.after(60, Some(&assigned("a", FLY)));
        assert!(!course.after(1, Some(&deleted)));
        assert!(!course.after(1, Some(&deleted)), "it does not begin again");
        assert!(!course.after(1, Some(&assigned("b", FLY))));
    }
}

#[test]
fn a_drone_deleted_before_its_vehicle_stood_down_says_nothing_of_it() {
    let deleted = assigned("a", grounded(GroundedWhy::Deleted));
    let mut course = Course {
        downs: StandDowns::default(),
        record: FlightRecord {
            takeovers: 1,
            ..record(Stage::Flown)
        },
        by_plan: false,
        told: Some(at(1)),
        now: 100,
    };
    assert!(course.after(1, Some(&deleted)), "a pilot flew it while it was deleted");
    assert!(course.after(600, Some(&deleted)), "the order is sent again");
    let mut course = Course::over();
    assert!(course.after(1, Some(&deleted)), "nobody can have known");
    course.restart();
    assert!(course.after(600, Some(&deleted)));
}

/// A vehicle that landed for its reserve with a pack of 14 V, and whose Drone is gone.
fn spent() -> Course {
    let mut course = Course {
        downs: StandDowns::default(),
        record: record(Stage::Over).diverted(Diverted::LowBattery),
        by_plan: false,
        told: Some(at(1)),
        now: 100,
    };
    let landed = with_pack(Some(14_000), 100);
    assert!(course.observe(Some(&assigned("a", FLY)), &landed));
    course
}

#[test]
fn a_vehicle_whose_swarm_lets_it_go_on_the_return_for_its_battery_stands_down_too() {
    let recalled = |why| Assignment {
        recalled: true,
        ..assigned("a", grounded(why))
    };
    let lands = |record: FlightRecord, why| {
        let mut course = Course {
            downs: StandDowns::default(),
            record,
            by_plan: false,
            told: Some(at(1)),
            now: 100,
        };
        course.after(1, Some(&recalled(why)))
    };
    let low = || record(Stage::Flown).diverted(Diverted::LowBattery);
    assert!(lands(low(), GroundedWhy::Deleted) && lands(low(), GroundedWhy::Unbound));
    assert!(!lands(low(), GroundedWhy::Ordered), "a person has acted");
    assert!(
        !lands(record(Stage::Flown), GroundedWhy::Deleted),
        "it was relieved in time"
    );
}

#[test]
fn a_battery_that_rebounds_is_not_another_one_whatever_it_says_of_its_charge() {
    let mut course = spent();
    for millivolts in (14_000..15_200).step_by(10) {
        course.now += 1;
        assert!(
            course.observe(None, &with_pack(Some(millivolts), course.now)),
            "{millivolts}"
        );
    }
    // The autopilot restarts, and calls the pack full.
    course.now += 10;
    let mut started = with_pack(Some(15_200), course.now);
    started.running_for = Some(Duration::from_secs(5));
    assert!(course.observe(None, &started));
    let mut charged = spent();
    assert!(
        charged.observe(None, &with_pack(Some(16_600), 101)),
        "it was never gone"
    );
}

#[test]
fn a_vehicle_that_landed_for_its_battery_is_offered_again_with_another_one() {
    let mut course = spent();
    course.restart();
    course.now += 60;
    let mut started = with_pack(Some(16_600), course.now);
    started.running_for = Some(Duration::from_secs(5));
    assert!(!course.observe(None, &started));
    let mut swapped = spent();
    swapped.now += 5;
    assert!(swapped.observe(None, &with_pack(None, swapped.now)), "it is gone");
    swapped.now += 5;
    assert!(!swapped.observe(None, &with_pack(Some(16_600), swapped.now)));
    let mut pilots = Course::over();
    pilots.now += 60;
    assert!(pilots.observe(
        None,
        &Vehicle {
            running_for: Some(Duration::from_secs(5)),
            ..with_pack(Some(16_600), pilots.now)
        }
    ));
    // Of several batteries the reading may be another's than the spent one's.
    let mut several = spent();
    several.now += 60;
    let two = Vehicle {
        running_for: Some(Duration::from_secs(5)),
        several_batteries: true,
        ..with_pack(Some(16_600), several.now)
    };
    assert!(several.observe(None, &two));
    let mut bound = spent();
    bound.now += 60;
    started = with_pack(Some(16_600), bound.now);
    started.running_for = Some(Duration::from_secs(5));
    assert!(bound.observe(Some(&assigned("a", FLY)), &started));
}

#[test]
fn the_reason_is_the_one_that_was_observed() {
    let because = |why| {
        let diversion = Some(Diversion {
            why,
            words: String::new(),
        });
        let record = FlightRecord {
            diversion,
            takeovers: 1,
            ..record(Stage::Over)
        };
        super::why(&record, &assigned("a", FLY))
    };
    assert_eq!(because(Diverted::LowBattery), StoodDown::LowBattery);
    assert_eq!(because(Diverted::Autopilot(Cause::Battery)), StoodDown::LowBattery);
    assert_eq!(because(Diverted::Autopilot(Cause::Fence)), StoodDown::AutopilotFailsafe);
    assert_eq!(because(Diverted::CoordinatorLoss), StoodDown::CoordinatorLoss);
}

#[test]
fn a_landing_by_the_last_item_of_its_plan_alone_is_no_stand_down() {
    let fly = assigned("a", FLY);
    let landed = |record: FlightRecord| Course {
        downs: StandDowns::default(),
        record,
        by_plan: true,
        told: Some(at(1)),
        now: 100,
    };
    let mut course = landed(record(Stage::Flown));
    assert!(!course.after(1, Some(&fly)));
    course.by_plan = false;
    assert!(!course.after(1, Some(&fly)));
    course.restart();
    assert!(!course.after(1, Some(&fly)));
    assert!(!course.after(1, Some(&assigned("a", grounded(GroundedWhy::Deleted)))));
    course.now += 1;
    let flying = vehicle(true, course.now);
    assert!(!course.observe(Some(&fly), &flying));
    assert!(course.after(1, Some(&fly)));

    let diversion = Some(Diversion {
        why: Diverted::LowBattery,
        words: String::new(),
    });
    let taken = FlightRecord {
        takeovers: 1,
        ..record(Stage::Flown)
    };
    let diverted = FlightRecord {
        diversion,
        ..record(Stage::Flown)
    };
    for disturbed in [taken, diverted] {
        assert!(landed(disturbed).after(1, Some(&fly)));
    }
}

#[test]
fn a_drone_deleted_while_its_agent_is_away_says_nothing_of_its_vehicle() {
    let deleted = assigned("a", grounded(GroundedWhy::Deleted));
    let mut away = Course::over();
    away.told = None;
    assert!(away.after(600, Some(&assigned("a", FLY))));
    away.now += 1;
    away.told = Some(at(away.now));
    let down = vehicle(false, away.now);
    assert!(away.observe(Some(&deleted), &down), "the first word of the coordinator");
    assert!(away.after(600, Some(&deleted)), "and it is sent again");
    let mut started = Course::over();
    started.restart();
    assert!(started.after(600, Some(&deleted)));
    let mut known = Course::over();
    known.restart();
    assert!(known.after(600, Some(&assigned("a", FLY))));
    assert!(!known.after(3, Some(&deleted)));
}

#[test]
fn a_vehicle_that_its_autopilot_lands_stands_down_also_where_it_is_to_wait_or_leave() {
    for why in [GroundedWhy::Waiting, GroundedWhy::Deleted, GroundedWhy::Unbound] {
        for (diverted, stands) in [
            (Diverted::Autopilot(Cause::Fence), true),
            (Diverted::LowBattery, true),
            (Diverted::CoordinatorLoss, false),
        ] {
            let mut course = Course {
                downs: StandDowns::default(),
                record: record(Stage::Flown).diverted(diverted),
                by_plan: false,
                told: Some(at(1)),
                now: 100,
            };
            let stood = course.after(1, Some(&assigned("a", grounded(why))));
            assert_eq!(stood, stands, "{why:?} {diverted:?}");
        }
    }
}

#[test]
fn a_pilot_who_flies_a_vehicle_that_its_plan_has_landed_leaves_it_to_a_person() {
    let fly = assigned("a", FLY);
    let mut course = Course {
        downs: StandDowns::default(),
        record: record(Stage::Flown),
        by_plan: true,
        told: Some(at(1)),
        now: 100,
    };
    assert!(!course.after(1, Some(&fly)));
    course.record.takeovers = 1;
    course.now += 1;
    let up = vehicle(true, course.now);
    assert!(!course.observe(Some(&fly), &up));
    assert!(course.after(1, Some(&fly)));
}
