//! Whether a Drone will fly as asked by itself, or a person has to do something first.

use super::{Binding, Condition, Kind, Phase, Question, ReadyReason, Status, condition};
use model::report::{Activity, HandsOff, Report};
use model::vehicle::ReasonClass;

/// `status`: what else is reported, Ready for `reason`.
pub(super) fn stalled(q: &Question<'_>, status: &Status, reason: ReadyReason) -> Option<Condition> {
    let ready = status.conditions.iter().find(|c| c.kind == Kind::Ready)?;
    let is = match (q.binding, q.report) {
        _ if q.drone.deleting => false,
        (Binding::NodeTaken { .. } | Binding::Refused(_), _) => true,
        (Binding::Bound(_), Some(report)) => needs_a_person(report, status.phase, reason),
        (Binding::NotYet | Binding::NoFreeVehicle(_) | Binding::Bound(_), _) => false,
    };
    is.then(|| condition(Kind::Stalled, Some(true), ready.reason, ready.message.clone()))
}

fn needs_a_person(report: &Report, phase: Phase, reason: ReadyReason) -> bool {
    match (phase, report.activity) {
        (Phase::TakingOff | Phase::Flying, _) => {
            matches!(reason, ReadyReason::AltitudeNotReached | ReadyReason::PlaceNotReached)
        }
        (Phase::Interrupted, _) if reason == ReadyReason::Fell => true,
        (Phase::Unknown, _) => reason == ReadyReason::AnotherAirframe,
        (Phase::Interrupted, Activity::HandsOff(why)) => {
            matches!(why, HandsOff::TakenOver | HandsOff::FlightOver | HandsOff::Killed)
        }
        (Phase::Preparing, _) if reason == ReadyReason::ArmingChecksFail => {
            report.reasons.iter().any(|why| why.class == ReasonClass::NeedsHuman)
        }
        _ => false,
    }
}
