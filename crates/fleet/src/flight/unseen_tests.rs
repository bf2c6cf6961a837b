//! Silences of a vehicle on the ground: whether it may have flown meanwhile.

use crate::flight::memory::{Memory, Outcome, StepKind};
use crate::flight_record::FlightRecord;
use model::time::{Moment, Sighting};
use model::vehicle::{FlightTruth, Heartbeat, LandedState, Mode, ModeReport, Vehicle};
use std::time::Duration;

/// The agent asks what to send ten times a second.
const TICK_MS: usize = 100;

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

fn reports(memory: &mut Memory, armed: bool, landed: LandedState, ms: u64) -> Vehicle {
    let mode = ModeReport {
        mode: Mode::Station,
        label: "GUIDED".into(),
    };
    let vehicle = Vehicle {
        heartbeat: Some(Sighting::new(Heartbeat { armed, mode }, at(ms))),
        landed: Some(Sighting::new(Some(landed), at(ms))),
        ..Vehicle::default()
    };
    memory.observe(&vehicle, at(ms));
    vehicle
}

/// It stands with its motors on at 2 s, is silent for so long, and then stands with its motors off.
fn stands_again_after(silence_ms: u64) -> Memory {
    let mut memory = Memory::default();
    reports(&mut memory, false, LandedState::OnGround, 1000);
    memory.began(StepKind::Arm, at(1000));
    let vehicle = reports(&mut memory, true, LandedState::OnGround, 2000);
    for ms in (2000..2000 + silence_ms).step_by(TICK_MS) {
        memory.observe(&vehicle, at(ms));
    }
    reports(&mut memory, false, LandedState::OnGround, 2000 + silence_ms);
    memory
}

#[test]
fn it_has_flown_in_no_silence_that_is_too_short_for_a_flight() {
    for (silence_ms, stayed_down) in [(1000, true), (3500, true), (5000, true), (5100, false), (60_000, false)] {
        assert_eq!(
            stands_again_after(silence_ms).stayed_down(),
            stayed_down,
            "{silence_ms} ms"
        );
    }
    let mut memory = stands_again_after(1000);
    memory.began(StepKind::Arm, at(4000));
    reports(&mut memory, true, LandedState::TakingOff, 5000);
    assert!(!memory.stayed_down(), "it lifts off");
    let mut memory = stands_again_after(1000);
    memory.began(StepKind::Arm, at(4000));
    memory.observe(&Vehicle::default(), at(5000));
    assert!(!memory.stayed_down(), "its autopilot has rebooted");
}

#[test]
fn it_has_flown_where_it_does_not_say_for_too_long_whether_it_stands() {
    let mut memory = Memory::default();
    let mut vehicle = reports(&mut memory, false, LandedState::OnGround, 1000);
    memory.began(StepKind::Arm, at(1000));
    for ms in (2000..=6000).step_by(1000) {
        vehicle.heartbeat = vehicle.heartbeat.map(|beat| Sighting::new(beat.value, at(ms)));
        memory.observe(&vehicle, at(ms));
        assert!(memory.stayed_down(), "{ms} ms");
    }
    memory.observe(&vehicle, at(6100));
    assert!(!memory.stayed_down());
}

#[test]
fn a_takeoff_is_accounted_for_once_a_reboot_in_the_silence_would_be_noticed() {
    let memory = stands_again_after(4000);
    let judged = |ms| {
        let late = memory.may_be_late(at(ms));
        let record = FlightRecord::default().lifting();
        !record
            .after_takeoff(FlightTruth::Disarmed, memory.stayed_down(), late)
            .lifts
    };
    assert!(!judged(6000) && !judged(9000));
    assert!(judged(9100));
}

#[test]
fn the_next_life_of_the_agent_lets_a_vehicle_rest_that_this_one_does_not_hear() {
    let rest = Duration::from_secs(5);
    let mut memory = Memory::default();
    reports(&mut memory, false, LandedState::OnGround, 1000);
    assert!(!memory.is_unrested(rest, at(6000)));
    assert!(memory.is_unrested(rest, at(6100)), "somebody may fly it");
    reports(&mut memory, false, LandedState::OnGround, 60_000);
    assert!(memory.is_unrested(rest, at(64_900)));
    for ms in (61_000..=65_000).step_by(1000) {
        reports(&mut memory, false, LandedState::OnGround, ms);
    }
    assert!(!memory.is_unrested(rest, at(65_000)));
}

/// At this time, milliseconds: a report, armed or not, or a command of ours.
type Event = (u64, Result<(bool, LandedState), StepKind>);

/// Reports these events after it is armed on our order of 1 s.
fn stopped(events: &[Event]) -> bool {
    let mut memory = Memory::default();
    reports(&mut memory, false, LandedState::OnGround, 1000);
    memory.began(StepKind::Arm, at(1000));
    for (ms, event) in events {
        match event {
            Ok((armed, landed)) => {
                reports(&mut memory, *armed, *landed, *ms);
            }
            Err(kind) => memory.began(*kind, at(*ms)),
        }
    }
    let stopped = memory.others_take_it_on_ground();
    assert!(!memory.others_take_it_on_ground(), "once");
    stopped
}

#[test]
fn a_person_who_stops_its_motors_is_told_from_an_autopilot_that_waited() {
    use LandedState::{OnGround, TakingOff};
    let stands = |ms, armed| (ms, Ok((armed, OnGround)));
    let (armed, off) = (stands(2000, true), stands(4000, false));
    assert!(stopped(&[armed, off]));
    assert!(stopped(&[armed, (2500, Err(StepKind::TakeOff)), off]), "it spools up");
    assert!(!stopped(&[armed]) && !stopped(&[off]));
    let idle = |end| [armed, stands(5000, true), stands(7000, true), stands(end, false)];
    assert!(stopped(&idle(9000)));
    assert!(!stopped(&idle(9100)), "its autopilot has stopped them");
    // One that does not stop them by itself after its 10 s; the last HEARTBEATs of one that does are lost.
    let runs_until = |last: u64, end| {
        let runs = (2000..=last).step_by(1000).map(|ms| stands(ms, true));
        runs.chain([stands(end, false)]).collect::<Vec<Event>>()
    };
    for (last, end, others) in [(14_000, 15_000, false), (15_000, 16_000, true), (60_000, 61_000, true)] {
        assert_eq!(stopped(&runs_until(last, end)), others, "{last} ms");
    }
    assert!(!stopped(&runs_until(11_000, 15_000)), "its autopilot has stopped them");
    assert!(
        !stopped(&[armed, (2500, Err(StepKind::Land)), off]),
        "it was ordered to land"
    );
    let flies = (3000, Ok((true, TakingOff)));
    assert!(!stopped(&[armed, flies, off]), "that flight is over");
}

/// A simulated autopilot may run ten times as fast as our clock.
#[test]
fn an_autopilot_whose_clock_runs_faster_has_waited_as_long_by_that() {
    let says = |memory: &mut Memory, armed, ms, clock| {
        let mut vehicle = reports(&mut Memory::default(), armed, LandedState::OnGround, ms);
        vehicle.running_for = Some(Duration::from_secs(clock));
        memory.observe(&vehicle, at(ms));
    };
    // By the clock that it said before it was armed it would have run for 19 s.
    for (last, others) in [(119, false), (124, false), (125, true)] {
        let mut memory = Memory::default();
        says(&mut memory, false, 1000, 100);
        memory.began(StepKind::Arm, at(1000));
        says(&mut memory, true, 1500, 100);
        says(&mut memory, true, 2500, 112);
        says(&mut memory, true, 3500, last);
        says(&mut memory, false, 4500, last + 2);
        assert_eq!(memory.others_take_it_on_ground(), others, "{last}");
    }
    for (after, others) in [(Some(104), true), (Some(108), true), (Some(111), false), (None, true)] {
        let mut memory = Memory::default();
        says(&mut memory, false, 1000, 100);
        memory.began(StepKind::Arm, at(1000));
        says(&mut memory, true, 1500, 101);
        says(&mut memory, false, 2000, 101);
        assert!(!memory.others_take_it_on_ground(), "its clock is of before");
        says(&mut memory, false, 5000, 101);
        assert!(!memory.others_take_it_on_ground());
        assert!(!memory.due(StepKind::Arm, at(5000)), "first that is judged");
        says(&mut memory, false, 5100, after.unwrap_or(101));
        assert_eq!(memory.others_take_it_on_ground(), others, "{after:?}");
        assert!(!memory.others_take_it_on_ground(), "once");
    }
}

/// Between two HEARTBEATs, or one of the two is lost.
#[test]
fn a_person_who_is_quicker_than_a_heartbeat_has_stopped_its_motors_too() {
    let refused = Outcome::Refused {
        result: "FAILED".to_owned(),
    };
    let once_a_second: Vec<u64> = (2000..30_000).step_by(1000).collect();
    for (outcome, beats, noticed) in [
        (Outcome::Accepted, once_a_second.clone(), Some(4000)),
        // By then its autopilot has stopped them.
        (Outcome::Accepted, vec![12_000], None),
        (Outcome::NoAnswer, once_a_second.clone(), None),
        (refused, once_a_second, None),
    ] {
        let mut memory = Memory::default();
        reports(&mut memory, false, LandedState::OnGround, 1000);
        memory.began(StepKind::Arm, at(1000));
        memory.ended(StepKind::Arm, &outcome, at(1100), 0.0);
        let mut taken = Vec::new();
        for ms in beats {
            reports(&mut memory, false, LandedState::OnGround, ms);
            taken.extend(memory.others_take_it_on_ground().then_some(ms));
        }
        assert_eq!(taken, noticed.into_iter().collect::<Vec<u64>>(), "{outcome:?}");
    }
}

#[test]
fn an_arm_command_that_was_not_sent_may_be_tried_again_for_a_minute() {
    let mut memory = Memory::default();
    assert!(!memory.is_arm_unsent(at(1000)));
    for (outcome, unsent) in [(Outcome::NotSent, true), (Outcome::Accepted, false)] {
        memory.began(StepKind::Arm, at(1000));
        memory.ended(StepKind::Arm, &outcome, at(1000), 0.0);
        assert_eq!(memory.is_arm_unsent(at(61_000)), unsent, "{outcome:?}");
        assert!(
            !memory.is_arm_unsent(at(61_100)),
            "the next life is not to take it for one that was sent"
        );
    }
}

/// It stands in this mode.
fn stands(memory: &mut Memory, armed: bool, mode: Mode, ms: u64) -> Vehicle {
    let mode = ModeReport {
        mode,
        label: String::new(),
    };
    let vehicle = Vehicle {
        heartbeat: Some(Sighting::new(Heartbeat { armed, mode }, at(ms))),
        landed: Some(Sighting::new(Some(LandedState::OnGround), at(ms))),
        ..Vehicle::default()
    };
    memory.observe(&vehicle, at(ms));
    vehicle
}

/// It spools up for three seconds before it lifts off.
#[test]
fn a_pilot_who_changes_the_mode_before_liftoff_has_taken_over_once() {
    // A mission that is not ours is somebody else's.
    for theirs in [Mode::Foreign, Mode::Mission] {
        for stops_at in [4000, 11_000] {
            let mut memory = Memory::default();
            stands(&mut memory, false, Mode::Station, 1000);
            memory.began(StepKind::Arm, at(1000));
            stands(&mut memory, true, Mode::Station, 2000);
            assert!(!memory.others_take_it_on_ground());
            for ms in (3000..stops_at).step_by(1000) {
                stands(&mut memory, true, theirs, ms);
                assert_eq!(memory.others_take_it_on_ground(), ms == 3000, "{theirs:?} at {ms} ms");
            }
            stands(&mut memory, false, theirs, stops_at);
            assert!(!memory.others_take_it_on_ground(), "one takeover, at {stops_at} ms");
        }
    }
    for ours in [Mode::Station, Mode::Takeoff, Mode::Land, Mode::Return] {
        let mut memory = Memory::default();
        memory.began(StepKind::Arm, at(1000));
        stands(&mut memory, true, ours, 2000);
        assert!(!memory.others_take_it_on_ground(), "{ours:?}");
    }
    let mut memory = Memory::default();
    stands(&mut memory, true, Mode::Foreign, 2000);
    assert!(!memory.others_take_it_on_ground(), "it is not ours to be taken");
}

/// He tests its motors, and stands beside it.
#[test]
fn a_vehicle_rests_from_who_arms_it_on_the_ground_as_from_who_flies_it() {
    let mut memory = Memory::default();
    for ms in (1000..8000).step_by(1000) {
        let vehicle = stands(&mut memory, false, Mode::Station, ms);
        memory.watch_others(true, false, &vehicle, at(ms));
    }
    assert_eq!(memory.since_others_flew(at(8000)), None);
    for ms in [8000, 9000] {
        let vehicle = stands(&mut memory, true, Mode::Station, ms);
        memory.watch_others(true, false, &vehicle, at(ms));
    }
    let vehicle = stands(&mut memory, false, Mode::Station, 10_000);
    memory.watch_others(true, false, &vehicle, at(10_000));
    assert_eq!(memory.since_others_flew(at(10_000)), Some(Duration::from_secs(1)));
    let mut ours = Memory::default();
    ours.began(StepKind::Arm, at(1000));
    let vehicle = stands(&mut ours, true, Mode::Station, 2000);
    ours.watch_others(true, false, &vehicle, at(2000));
    assert_eq!(ours.since_others_flew(at(2000)), None);
}

/// The line was silent, or its agent has just begun.
#[test]
fn an_arming_that_was_not_observed_is_theirs_unless_it_may_be_ours() {
    for heard_before in [false, true] {
        for may_be_ours in [false, true] {
            let mut memory = Memory::default();
            if heard_before {
                stands(&mut memory, false, Mode::Station, 1000);
            }
            let vehicle = stands(&mut memory, true, Mode::Station, 10_000);
            memory.watch_others(true, may_be_ours, &vehicle, at(10_000));
            let flew = memory.since_others_flew(at(10_000)).is_some();
            assert_eq!((flew, memory.armed_by_others()), (!may_be_ours, !may_be_ours));
            let flies = reports(&mut memory, true, LandedState::InAir, 11_000);
            assert_eq!(memory.others_take_off(&flies, at(11_000)), !may_be_ours);
        }
    }
    let mut unserved = Memory::default();
    let vehicle = stands(&mut unserved, true, Mode::Station, 10_000);
    unserved.watch_others(false, false, &vehicle, at(10_000));
    assert!(unserved.since_others_flew(at(10_000)).is_some());
    assert!(
        !unserved.armed_by_others(),
        "which Drone it flies for may be told later"
    );
}
