//! When an autopilot is assumed to execute a failsafe, and why.

use super::*;
use crate::alarm::Alarm;
use crate::time::Sighting;
use crate::units::{ComponentId, SystemId};
use crate::vehicle::{Heartbeat, Identity, LandedState, ModeReport};

fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

const NOW: u64 = 60_000;

fn flying(autopilot: Autopilot, mode: Mode, state: SystemState) -> Vehicle {
    let mode = ModeReport {
        mode,
        label: format!("{mode:?}"),
    };
    Vehicle {
        identity: Some(Identity {
            autopilot,
            system: SystemId(1),
            component: ComponentId(1),
            firmware: None,
            hardware: None,
        }),
        heartbeat: Some(Sighting::new(Heartbeat { armed: true, mode }, at(NOW))),
        landed: Some(Sighting::new(Some(LandedState::InAir), at(NOW))),
        state: Some(Sighting::new(state, at(NOW))),
        ..Vehicle::default()
    }
}

fn announcing(vehicle: Vehicle, cause: Cause, words: &str, ms: u64) -> Vehicle {
    let alarm = Alarm {
        cause,
        words: words.into(),
    };
    Vehicle {
        alarm: Some(Sighting::new(alarm, at(ms))),
        ..vehicle
    }
}

const BOTH: [Autopilot; 2] = [Autopilot::ArduPilot, Autopilot::Px4];

#[test]
fn a_critical_px4_executes_a_failsafe_and_an_ardupilot_may_have_an_idle_one() {
    let critical = |autopilot| executing(&flying(autopilot, Mode::Station, SystemState::Critical), at(NOW));
    assert!(critical(Autopilot::Px4));
    assert!(!critical(Autopilot::ArduPilot));
    for autopilot in BOTH {
        for state in [SystemState::Emergency, SystemState::Terminated] {
            assert!(executing(&flying(autopilot, Mode::Station, state), at(NOW)));
        }
        assert!(!executing(
            &flying(autopilot, Mode::Station, SystemState::Normal),
            at(NOW)
        ));
    }
}

#[test]
fn an_announcement_is_believed_until_heartbeats_would_show_it() {
    for autopilot in BOTH {
        let vehicle = |ms| {
            let flying = flying(autopilot, Mode::Station, SystemState::Normal);
            announcing(flying, Cause::Battery, "Battery Failsafe", ms)
        };
        assert!(executing(&vehicle(NOW - 3000), at(NOW)));
        assert!(!executing(&vehicle(NOW - 3001), at(NOW)));
    }
}

#[test]
fn motors_that_are_off_and_heartbeats_that_are_old_execute_nothing() {
    let mut off = flying(Autopilot::Px4, Mode::Station, SystemState::Critical);
    assert!(!executing(&off, at(NOW + 3001)));
    if let Some(beat) = &mut off.heartbeat {
        beat.value.armed = false;
    }
    assert!(!executing(&off, at(NOW)));
}

fn announced(before: Option<Diversion>, vehicle: &Vehicle, in_command: InCommand, ours: bool) -> Option<Diversion> {
    diversion(before, vehicle, in_command, ours, at(NOW))
}

fn autopilot(cause: Cause, words: &str) -> Diversion {
    Diversion {
        why: Diverted::Autopilot(cause),
        words: words.into(),
    }
}

#[test]
fn what_the_autopilot_announced_explains_its_failsafe_and_its_change_of_mode() {
    let holds = flying(Autopilot::Px4, Mode::Station, SystemState::Critical);
    let without_words = Some(autopilot(Cause::Other, ""));
    assert_eq!(announced(None, &holds, InCommand::Us, false), without_words);
    let holds = announcing(holds, Cause::Battery, "Emergency battery", NOW);
    let battery = Some(autopilot(Cause::Battery, "Emergency battery"));
    assert_eq!(announced(None, &holds, InCommand::Us, false), battery);
    let returns = flying(Autopilot::ArduPilot, Mode::Return, SystemState::Critical);
    let returns = announcing(returns, Cause::GroundStation, "GCS Failsafe", NOW - 9000);
    let station = Some(autopilot(Cause::GroundStation, "GCS Failsafe"));
    assert_eq!(announced(None, &returns, InCommand::SomebodyElse, false), station);
    let silent = flying(Autopilot::ArduPilot, Mode::Return, SystemState::Normal);
    assert_eq!(
        announced(station.clone(), &silent, InCommand::SomebodyElse, false),
        station
    );
}

#[test]
fn a_pilot_who_takes_over_is_no_failsafe() {
    let pilot = flying(Autopilot::ArduPilot, Mode::Foreign, SystemState::Normal);
    assert_eq!(announced(None, &pilot, InCommand::SomebodyElse, false), None);
    let long_ago = announcing(pilot, Cause::Battery, "Battery Failsafe", NOW - 10_001);
    assert_eq!(announced(None, &long_ago, InCommand::SomebodyElse, false), None);
}

#[test]
fn our_own_return_is_ours_until_it_flies_as_ordered_again() {
    let ours = Some(Diversion {
        why: Diverted::LowBattery,
        words: String::new(),
    });
    let returns = flying(Autopilot::Px4, Mode::Return, SystemState::Normal);
    assert_eq!(announced(ours.clone(), &returns, InCommand::OurReturn, true), ours);
    let holds = flying(Autopilot::Px4, Mode::Station, SystemState::Normal);
    assert_eq!(
        announced(ours.clone(), &holds, InCommand::Us, true),
        ours,
        "it has just been ordered"
    );
    assert_eq!(announced(ours.clone(), &holds, InCommand::Us, false), None);
    let mut landed = returns;
    landed.landed = Some(Sighting::new(Some(LandedState::OnGround), at(NOW)));
    assert_eq!(announced(ours.clone(), &landed, InCommand::OurReturn, false), ours);
}
