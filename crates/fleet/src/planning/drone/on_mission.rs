//! What a Drone of a Mission does, by its agent's last report.
//!
//! Owns: [`doing`], and how long a passing state is tolerated ([`Patience`]). Must not: read a clock: durations are inputs.

use super::{Facts, Ground};
use crate::planning::mission::progress::Doing;
use crate::planning::node_use::{Lift, NoLift};
use model::plan::{PlanDigest, PlanState};
use model::report::{Activity, HandsOff, Report};
use model::reported_flight::SoFar;
use model::units::Percent;
use model::vehicle::FlightTruth;
use std::time::Duration;

/// Time in a passing state before another vehicle flies the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Somebody else flies it; a pilot may give it back.
    pub taken: Duration,
    pub lost: Duration,
    /// Its autopilot refuses the plan; its agent tries again.
    pub refused: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            taken: Duration::from_secs(60),
            lost: Duration::from_secs(60),
            refused: Duration::from_secs(20),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passing {
    Taken,
    Silent,
    Refused,
}

#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub drone: &'a Facts,
    /// Has, or had, a vehicle.
    pub served: bool,
    /// While the agent is connected.
    pub report: Option<&'a Report>,
    pub digest: Option<&'a PlanDigest>,
}

/// Percent above the reserve at which a battery is near it.
pub const NEAR_RESERVE: u8 = 5;

/// Percent above the reserve at which another vehicle is sent in time.
const SOON_NEAR_RESERVE: u8 = 15;

pub fn passing(q: &Question<'_>) -> Option<Passing> {
    let Some(report) = q
        .report
        .filter(|report| !matches!(report.truth, FlightTruth::Unknown(_)))
    else {
        return q.served.then_some(Passing::Silent);
    };
    if matches!(
        report.activity,
        Activity::HandsOff(
            HandsOff::OtherMode | HandsOff::TakenOver | HandsOff::ArmedByOther | HandsOff::AnotherAirframe
        )
    ) {
        return Some(Passing::Taken);
    }
    let held = has_plan(q, report);
    (held && matches!(report.plan.state, PlanState::Refused(_))).then_some(Passing::Refused)
}

fn has_plan(q: &Question<'_>, report: &Report) -> bool {
    q.digest.is_some_and(|digest| report.has_plan(&q.drone.uid, digest))
}

/// `passes`: the passing state, and its duration.
pub fn doing(q: &Question<'_>, passes: Option<(Passing, Duration)>, patience: &Patience) -> Doing {
    let has_part = q.digest.is_some();
    let waits = || if has_part { Doing::Busy } else { Doing::Waits };
    if q.drone.ground == Ground::Ordered {
        return Doing::Grounded;
    }
    match passes {
        Some((Passing::Silent, long)) if long >= patience.lost => return Doing::Lost,
        Some((Passing::Taken, long)) if long >= patience.taken => return Doing::Taken,
        // In the air or not: nothing is sent to it until then.
        Some((Passing::Taken, _)) => return waits(),
        _ => {}
    }
    let Some(report) = q.report else { return waits() };
    let (up, down) = match report.truth {
        FlightTruth::Unknown(_) => return waits(),
        FlightTruth::Airborne(_) => (true, false),
        FlightTruth::ArmedOnGround => (false, false),
        FlightTruth::Disarmed => (false, true),
    };
    let has_plan = has_plan(q, report);
    if has_plan && report.plan.finished {
        return Doing::Finished;
    }
    if q.drone.over || report.so_far == SoFar::Killed {
        return Doing::Over;
    }
    if matches!(
        report.activity,
        Activity::LowBattery | Activity::Failsafe | Activity::HandsOff(HandsOff::AutopilotFailsafe)
    ) {
        return Doing::Diverted;
    }
    if has_plan && up && report.plan.ended && !report.plan.flying {
        return Doing::Short;
    }
    if let PlanState::Refused(words) = &report.plan.state
        && matches!(passes, Some((Passing::Refused, long)) if long >= patience.refused)
    {
        return Doing::Refused(words.clone());
    }
    let is_drained = match q.drone.lift {
        Lift::Land | Lift::Stay(NoLift::Drained) => true,
        // In flight it goes on.
        Lift::Stay(NoLift::Cordoned | NoLift::NodeGone) => down,
        Lift::Free | Lift::Stay(_) => false,
    };
    if is_drained {
        return Doing::Drained;
    }
    let left = report.battery.and_then(|battery| battery.remaining).map(Percent::get);
    let within = |above: u8| left.is_some_and(|left| left <= q.drone.failsafe.reserve.get().saturating_add(above));
    if up && within(NEAR_RESERVE) {
        return Doing::Tired;
    }
    if up && has_part && within(SOON_NEAR_RESERVE) {
        return Doing::Tiring;
    }
    if has_part || up {
        return Doing::Busy;
    }
    let free = matches!(
        q.drone.lift,
        Lift::Free | Lift::Stay(NoLift::Plan | NoLift::Airspace | NoLift::Rules)
    );
    let fresh = report.so_far == SoFar::Fresh && report.home.is_some() && report.ready != Some(false);
    match report.position {
        Some(position) if down && free && fresh && !report.terminating && report.vehicle_free() => {
            Doing::Fit(position.at)
        }
        _ => Doing::Waits,
    }
}

#[cfg(test)]
mod tests;
