//! Failsafes that the autopilot executes by itself: whether one is under way, and why a flight left its order.
//!
//! Owns: [`executing`], and the account of what diverted a flight ([`Diversion`]). Must not: say what may be sent meanwhile
//! (`fleet::safety`).
//!
//! - PX4: under way while HEARTBEAT.system_status is CRITICAL, from the wait in Hold to the end of the action or a user's takeover.
//! - ArduPilot: just announced; the new mode shows within a heartbeat. Its CRITICAL stays on after the action "none", so it proves nothing.
//! - Both: while system_status is EMERGENCY or FLIGHT_TERMINATION.

use crate::alarm::Cause;
use crate::takeover::InCommand;
use crate::time::Moment;
use crate::vehicle::{Autopilot, FlightTruth, Mode, SystemState, TRUTH_STALE_AFTER, Vehicle};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// After an announcement, mode and state may take this long to show the failsafe: heartbeats come at 1 Hz.
pub const ANNOUNCED_FOR: Duration = Duration::from_secs(3);

/// An announcement explains a change of mode within this time.
pub const EXPLAINS_FOR: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Diverted {
    /// By us: the battery had reached the reserve.
    LowBattery,
    /// By us: the coordinator was lost.
    CoordinatorLoss,
    Autopilot(Cause),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diversion {
    pub why: Diverted,
    /// The autopilot's own text; empty when it gave none, or when we diverted it.
    pub words: String,
}

/// Whether the autopilot is known to execute a failsafe of its own. On the ground with motors off there is none.
pub fn executing(vehicle: &Vehicle, now: Moment) -> bool {
    let beat = vehicle.heartbeat.as_ref();
    let armed = beat
        .and_then(|h| h.fresh(now, TRUTH_STALE_AFTER))
        .is_some_and(|h| h.armed);
    if !armed {
        return false;
    }
    let state = vehicle.state.as_ref().and_then(|s| s.fresh(now, TRUTH_STALE_AFTER));
    let announced = vehicle
        .alarm
        .as_ref()
        .is_some_and(|a| a.fresh(now, ANNOUNCED_FOR).is_some());
    match (state, vehicle.identity.as_ref().map(|id| id.autopilot)) {
        (Some(SystemState::Emergency | SystemState::Terminated), _) => true,
        (Some(SystemState::Critical), Some(Autopilot::Px4)) => true,
        (Some(SystemState::Critical | SystemState::Normal | SystemState::Starting) | None, _) => announced,
    }
}

/// Why the flight is not what was ordered, after another observation. `before`: what was known; `ours`: a descent of ours is under way.
pub fn diversion(
    before: Option<Diversion>,
    vehicle: &Vehicle,
    in_command: InCommand,
    ours: bool,
    now: Moment,
) -> Option<Diversion> {
    let (truth, mode) = (vehicle.truth(now), vehicle.mode(now));
    if !matches!(truth, FlightTruth::Airborne(_)) {
        return before;
    }
    let by_us = |d: &Diversion| !matches!(d.why, Diverted::Autopilot(_));
    let theirs = in_command == InCommand::SomebodyElse;
    let executing = executing(vehicle, now);
    if (executing && !ours) || theirs {
        let alarm = vehicle.alarm.as_ref().and_then(|a| a.fresh(now, EXPLAINS_FOR));
        let announced = alarm.map(|alarm| Diversion {
            why: Diverted::Autopilot(alarm.cause),
            words: alarm.words.clone(),
        });
        // Without a text, the state alone shows it. What is known stays until more is reported.
        let known = before.filter(|d| !by_us(d));
        let unexplained = || {
            executing.then(|| Diversion {
                why: Diverted::Autopilot(Cause::Other),
                words: String::new(),
            })
        };
        return announced.or(known).or_else(unexplained);
    }
    let as_ordered = matches!(mode, Some(Mode::Station | Mode::Takeoff | Mode::Mission)) && !ours;
    before.filter(|_| !as_ordered)
}

#[cfg(test)]
mod tests;
