//! Invariants 1, 2 and 9: in which of over a million circumstances a vehicle may be armed.

use crate::given::{FLYING, GROUNDED, NOW, assigned, at, heard, uid};
use fleet::flight::stand_down::StandDowns;
use fleet::flight_record::{FlightRecord, Stage};
use fleet::safety::{ArmExpired, ArmQuestion, NoArm, Rest, may_arm};
use model::assignment::{Assignment, Desired};
use model::battery_level::Level;
use model::geo::shifted;
use model::ground::GroundOrderId;
use model::ids::Term;
use model::preflight_policy::Clearance;
use model::rules::RulesClearance;
use model::stand_down::StoodDown;
use model::time::Sighting;
use model::units::{AltitudeAboveHome, AltitudeAmsl, ComponentId, SystemId, Wgs84};
use model::vehicle::{
    Airframe, Autopilot, HardwareUid, Heartbeat, Identity, LandedState, Mode, ModeReport, Position, Vehicle,
};
use std::time::Duration;

const HIGHEST: u64 = 5;

/// Assignment confirmed, agent shuts down, knowledge may be stale.
const CONTACTS: [(bool, bool, bool); 4] = [
    (true, false, false),
    (false, false, false),
    (true, true, false),
    (true, false, true),
];

/// A choice, and whether it prevents arming.
type Choices<T> = Vec<(T, bool)>;

fn held() -> Choices<Option<Assignment>> {
    let of = |term, desired: Desired| Some(assigned("d", term, desired));
    vec![
        (of(HIGHEST, FLYING), false),
        (of(HIGHEST, GROUNDED), true),
        (of(HIGHEST - 1, FLYING), true),
        (of(HIGHEST - 1, GROUNDED), true),
        (None, true),
    ]
}

fn records() -> Choices<FlightRecord> {
    let record = |name: &str, stage, takeovers, killed| FlightRecord {
        uid: Some(uid(name)),
        stage,
        takeovers,
        killed,
        ..FlightRecord::default()
    };
    vec![
        (FlightRecord::default(), false),
        (record("d", Stage::Fresh, 0, false), false),
        (record("d", Stage::Flown, 0, false), false),
        (record("d", Stage::Over, 0, false), true),
        (record("d", Stage::Fresh, 1, false), true),
        (record("d", Stage::Fresh, 0, true), true),
        // Another Drone's flight says nothing about this one's.
        (record("other", Stage::Over, 9, true), false),
    ]
}

fn vehicles() -> Choices<Vehicle> {
    let mut all = Vec::new();
    let beats = [
        (None, true),
        (Some(0), false),
        (Some(2000), false),
        (Some(2001), true),
        (Some(3001), true),
    ];
    let landed = [
        (None, true),
        (Some((None, 0)), true),
        (Some((Some(LandedState::OnGround), 0)), false),
        (Some((Some(LandedState::OnGround), 3000)), false),
        (Some((Some(LandedState::OnGround), 3001)), true),
        (Some((Some(LandedState::InAir), 0)), true),
        (Some((Some(LandedState::TakingOff), 0)), true),
        (Some((Some(LandedState::Landing), 0)), true),
    ];
    let ready = [
        (None, true),
        (Some((true, 0)), false),
        (Some((true, 3000)), false),
        (Some((true, 3001)), true),
        (Some((false, 0)), true),
    ];
    for (beat, silent) in beats {
        for armed in [false, true] {
            for (landed, not_landed) in landed {
                for (ready, not_ready) in ready {
                    let mode = ModeReport {
                        mode: Mode::Station,
                        label: String::new(),
                    };
                    let vehicle = Vehicle {
                        heartbeat: beat.map(|age| heard(Heartbeat { armed, mode }, age)),
                        landed: landed.map(|(state, age)| heard(state, age)),
                        ready: ready.map(|(ready, age)| heard(ready, age)),
                        ..Vehicle::default()
                    };
                    all.push((vehicle, silent || armed || not_landed || not_ready));
                }
            }
        }
    }
    all
}

#[test]
fn a_vehicle_is_armed_when_nothing_stands_in_the_way_and_never_else() {
    let (vehicles, held, records) = (vehicles(), held(), records());
    let batteries = [
        (Level::Unknown, false),
        (Level::Fine, false),
        (Level::Low, true),
        (Level::Emergency, true),
    ];
    let preflights = [
        (Clearance::Clear, false),
        (Clearance::Reading, true),
        (Clearance::Problems, true),
    ];
    let latches = [(None, false), (Some(GroundOrderId(1)), true)];
    let rules_clearances = [
        (RulesClearance::Clear, false),
        (RulesClearance::NotInForce, true),
        (RulesClearance::Changing, true),
    ];
    let (mut asked, mut allowed) = (0_u32, 0_u32);
    for (vehicle, by_vehicle) in &vehicles {
        for (held, by_assignment) in &held {
            for (record, by_record) in &records {
                for (battery, by_battery) in batteries {
                    for (preflight, by_preflight) in preflights {
                        for (ground_latch, by_latch) in latches {
                            for ((confirmed, terminating, behind), (rules, by_rules)) in
                                iproduct(CONTACTS, rules_clearances)
                            {
                                let question = ArmQuestion {
                                    vehicle,
                                    held: held.as_ref(),
                                    highest_term: Term(HIGHEST),
                                    confirmed,
                                    behind,
                                    battery,
                                    preflight,
                                    rules,
                                    ground_latch,
                                    record,
                                    stands_down: false,
                                    terminating,
                                    since_armed: None,
                                    since_unrested: None,
                                    since_others_flew: None,
                                    rest: Rest::default(),
                                    now: at(NOW),
                                };
                                let forbidden = *by_vehicle
                                    || *by_assignment
                                    || *by_record
                                    || by_battery
                                    || by_preflight
                                    || by_rules
                                    || by_latch
                                    || !confirmed
                                    || terminating
                                    || behind;
                                assert_eq!(may_arm(&question).is_err(), forbidden, "{question:#?}");
                                asked += 1;
                                allowed += u32::from(!forbidden);
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(asked > 1_000_000, "{asked}");
    assert_eq!(allowed, 2 * 2 * 2 * 4 * 2);
}

#[test]
fn takeovers_stand_in_the_way_until_the_drone_was_resumed_after_the_last() {
    let vehicles = vehicles();
    let ready = vehicles
        .iter()
        .find(|(_, forbidden)| !forbidden)
        .map(|(vehicle, _)| vehicle)
        .unwrap();
    for takeovers in 0..5 {
        for resume_after in 0..5 {
            let held = Assignment {
                resume_after,
                ..assigned("d", HIGHEST, FLYING)
            };
            let record = FlightRecord {
                uid: Some(uid("d")),
                takeovers,
                ..FlightRecord::default()
            };
            let answer = may_arm(&question(ready, &held, &record));
            assert_eq!(answer.is_ok(), takeovers <= resume_after, "{takeovers} {resume_after}");
        }
    }
}

#[test]
fn a_vehicle_that_stands_down_is_armed_for_no_drone() {
    let vehicles = vehicles();
    let ready = vehicles
        .iter()
        .find(|(_, forbidden)| !forbidden)
        .map(|(vehicle, _)| vehicle);
    let ready = ready.unwrap();
    let over = FlightRecord {
        uid: Some(uid("before")),
        stage: Stage::Over,
        ..FlightRecord::default()
    };
    let before = assigned("before", HIGHEST, FLYING);
    let downs = StandDowns::default().observed(Some(&before), (&over, &over), false, None, (ready, at(NOW)));
    assert_eq!(downs.now.as_ref().map(|down| down.why), Some(StoodDown::Landed));
    let (held, record) = (assigned("d", HIGHEST, FLYING), FlightRecord::default());
    let ask = |downs: &StandDowns| {
        let question = ArmQuestion {
            stands_down: downs.now.is_some(),
            ..question(ready, &held, &record)
        };
        may_arm(&question).err()
    };
    assert_eq!(ask(&downs), Some(NoArm::StandsDown));
    assert_eq!(ask(&downs.stood_up(1, Some(&held))), None, "a person has acted");
}

#[test]
fn a_vehicle_rests_after_a_landing_and_longer_after_somebody_elses_flight() {
    let vehicles = vehicles();
    let ready = vehicles
        .iter()
        .find(|(_, forbidden)| !forbidden)
        .map(|(vehicle, _)| vehicle)
        .unwrap();
    let (held, record) = (assigned("d", HIGHEST, FLYING), FlightRecord::default());
    let ago = |ms| Some(Duration::from_millis(ms));
    for (since_armed, since_others_flew, answer) in [
        (None, None, None),
        (ago(0), None, Some(NoArm::Settling)),
        (ago(4999), None, Some(NoArm::Settling)),
        (ago(5000), None, None),
        (ago(5000), ago(59_999), Some(NoArm::OthersFlew)),
        (ago(60_000), ago(60_000), None),
    ] {
        let question = ArmQuestion {
            since_armed,
            since_others_flew,
            ..question(ready, &held, &record)
        };
        assert_eq!(
            may_arm(&question).err(),
            answer,
            "{since_armed:?} {since_others_flew:?}"
        );
    }
}

#[test]
fn a_vehicle_rests_on_when_the_agent_is_started_again_just_after_a_landing() {
    let vehicles = vehicles();
    let (ready, _) = vehicles.iter().find(|(_, forbidden)| !forbidden).unwrap();
    let (held, record) = (assigned("d", HIGHEST, FLYING), FlightRecord::default());
    for (heard_for_ms, answer) in [(0, Some(NoArm::Settling)), (4999, Some(NoArm::Settling)), (5000, None)] {
        let question = ArmQuestion {
            since_unrested: Some(Duration::from_millis(heard_for_ms)),
            ..question(ready, &held, &record)
        };
        assert_eq!(may_arm(&question).err(), answer, "heard for {heard_for_ms} ms");
    }
}

#[test]
fn a_vehicle_whose_home_is_elsewhere_is_armed_only_where_it_may_have_flown_from_it() {
    let vehicles = vehicles();
    let (ready, _) = vehicles.iter().find(|(_, forbidden)| !forbidden).unwrap();
    let held = assigned("d", HIGHEST, FLYING);
    let here = Wgs84 {
        latitude_deg: 47.397_742,
        longitude_deg: 8.545_594,
    };
    let ago = |s| Some(Duration::from_secs(s));
    for (off, running_s, since_armed, stage, armed) in [
        (0.0, 90, None, Stage::Fresh, true),
        (19.0, 90, None, Stage::Fresh, true),
        (21.0, 90, None, Stage::Fresh, false),
        (4_000.0, 90, None, Stage::Fresh, false),
        (60.0, 90, ago(80), Stage::Fresh, true),
        (60.0, 90, ago(100), Stage::Fresh, false),
        (60.0, 90, None, Stage::Flown, true),
        // A ground station has set it after the landing.
        (50_000.0, 90, ago(80), Stage::Fresh, false),
        (50_000.0, 90, None, Stage::Flown, false),
    ] {
        let record = FlightRecord {
            uid: Some(uid("d")),
            stage,
            ..FlightRecord::default()
        };
        let position = Position {
            at: here,
            amsl: AltitudeAmsl(488.0),
            above_home: AltitudeAboveHome(0.0),
        };
        let vehicle = Vehicle {
            position: Some(Sighting::new(position, at(NOW))),
            home_at: Some(shifted(here, 0.0, off)),
            running_for: ago(running_s),
            ..ready.clone()
        };
        let question = ArmQuestion {
            since_armed,
            ..question(&vehicle, &held, &record)
        };
        let refused = may_arm(&question).err();
        assert_eq!(
            refused,
            (!armed).then_some(NoArm::HomeElsewhere),
            "{off} m, {since_armed:?}, {stage:?}"
        );
    }
}

#[test]
fn a_vehicle_that_shares_its_system_id_on_its_line_is_not_armed_until_it_is_alone() {
    let vehicles = vehicles();
    let (ready, _) = vehicles.iter().find(|(_, forbidden)| !forbidden).unwrap();
    let (held, record) = (assigned("d", HIGHEST, FLYING), FlightRecord::default());
    for (ago_s, armed) in [(0, false), (30, false), (31, true)] {
        let vehicle = Vehicle {
            id_shared_at: Some(at(NOW - ago_s * 1000)),
            ..ready.clone()
        };
        let refused = may_arm(&question(&vehicle, &held, &record)).err();
        assert_eq!(refused, (!armed).then_some(NoArm::SharedId), "{ago_s} s");
    }
}

#[test]
fn only_the_airframe_that_serves_the_drone_is_armed() {
    let vehicles = vehicles();
    let ready = vehicles.iter().find(|(_, forbidden)| !forbidden).unwrap();
    let held = assigned("d", HIGHEST, FLYING);
    let (one, two) = (HardwareUid::of(1, [0; 18]), HardwareUid::of(2, [0; 18]));
    let (long, other) = (HardwareUid::of(1, [1; 18]), HardwareUid::of(1, [2; 18]));
    for (known, read, airframe) in [
        (None, None, Airframe::Same),
        (None, one, Airframe::Same),
        (one, one, Airframe::Same),
        (long, long, Airframe::Same),
        (one, two, Airframe::Another),
        (long, other, Airframe::Another),
        (one, None, Airframe::Unread),
        (long, one, Airframe::Unread),
    ] {
        let record = FlightRecord {
            uid: Some(uid("d")),
            hardware: known,
            ..FlightRecord::default()
        };
        let vehicle = Vehicle {
            identity: Some(Identity {
                autopilot: Autopilot::Px4,
                system: SystemId(1),
                component: ComponentId(1),
                firmware: Some("1.17.0".to_owned()),
                hardware: read,
            }),
            ..ready.0.clone()
        };
        assert_eq!(record.airframe(&held, &vehicle), airframe, "{known:?} {read:?}");
        let refused = may_arm(&question(&vehicle, &held, &record)).err();
        assert_eq!(refused, (airframe != Airframe::Same).then_some(NoArm::Airframe));
        assert_eq!(record.identified(Some(&held), &vehicle).hardware, known.or(read));
    }
}

#[test]
fn leave_to_arm_is_good_for_two_seconds_from_the_decision() {
    let vehicles = vehicles();
    let ready = vehicles
        .iter()
        .find(|(_, forbidden)| !forbidden)
        .map(|(vehicle, _)| vehicle)
        .unwrap();
    let (held, record) = (assigned("d", HIGHEST, FLYING), FlightRecord::default());
    for (after, good) in [(0, true), (1999, true), (2000, true), (2001, false), (60_000, false)] {
        let permit = may_arm(&question(ready, &held, &record)).unwrap();
        let spent = permit.spend(at(NOW + after));
        assert_eq!(spent, if good { Ok(()) } else { Err(ArmExpired) }, "{after} ms");
    }
}

fn iproduct<A: Copy, B: Copy>(
    one: impl IntoIterator<Item = A>,
    other: impl IntoIterator<Item = B> + Copy,
) -> impl Iterator<Item = (A, B)> {
    one.into_iter()
        .flat_map(move |a| other.into_iter().map(move |b| (a, b)))
}

fn question<'a>(vehicle: &'a Vehicle, held: &'a Assignment, record: &'a FlightRecord) -> ArmQuestion<'a> {
    ArmQuestion {
        stands_down: false,
        vehicle,
        held: Some(held),
        highest_term: Term(HIGHEST),
        confirmed: true,
        behind: false,
        battery: Level::Fine,
        preflight: Clearance::Clear,
        rules: RulesClearance::Clear,
        ground_latch: None,
        record,
        terminating: false,
        since_armed: None,
        since_unrested: None,
        since_others_flew: None,
        rest: Rest::default(),
        now: at(NOW),
    }
}

#[test]
fn a_vehicle_that_takes_only_signed_commands_is_not_armed_by_an_agent_without_a_key() {
    let vehicles = vehicles();
    let (ready, _) = vehicles.iter().find(|(_, forbidden)| !forbidden).unwrap();
    let (held, record) = (assigned("d", HIGHEST, FLYING), FlightRecord::default());
    for takes_only_signed in [false, true] {
        let vehicle = Vehicle {
            takes_only_signed,
            ..ready.clone()
        };
        let refused = may_arm(&question(&vehicle, &held, &record)).err();
        assert_eq!(refused, takes_only_signed.then_some(NoArm::Unsigned));
    }
}
