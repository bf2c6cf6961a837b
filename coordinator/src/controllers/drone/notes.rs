//! Events for a change of a Drone's status.

use crate::cluster::events::Note;
use crds::DroneStatus;
use fleet::planning::drone::status::ReadyReason;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub fn notes(old: &DroneStatus, new: &DroneStatus) -> Vec<Note> {
    let mut notes = vec![];
    let message_of = |kind: &str| find(new, kind).map(|c| c.message.clone()).unwrap_or_default();
    if old.phase != new.phase {
        let note = match new.phase.as_deref() {
            Some("Pending") => {
                let known = [ReadyReason::NodeTaken, ReadyReason::Refused];
                let why = known.into_iter().find(|why| is(new, "Assigned", *why));
                let why = why.unwrap_or(ReadyReason::NoFreeVehicle);
                Some(Note::warning(why.text(), message_of("Assigned")))
            }
            Some("TakingOff") => Some(Note::normal("TakingOff", message_of("Ready"))),
            Some("Flying") => Some(Note::normal("Flying", message_of("Ready"))),
            Some("Landing") => Some(Note::normal("Landing", message_of("Ready"))),
            Some("Grounded") => Some(Note::normal("Landed", message_of("Ready"))),
            Some("Interrupted") => Some(Note::warning("Interrupted", message_of("Ready"))),
            // Before its first report a Drone has not been lost.
            Some("Unknown") if old.phase.is_some() => Some(Note::warning("Lost", message_of("Ready"))),
            _ => None,
        };
        notes.extend(note);
    }
    let alarm = |status| {
        let ready = find(status, "Ready").and_then(|c| ReadyReason::parse(&c.reason));
        ready.filter(|reason| reason.is_alarm())
    };
    // With another phase it is recorded already.
    if let Some(reason) = alarm(new)
        .filter(|reason| alarm(old) != Some(*reason) && (old.phase == new.phase || *reason == ReadyReason::Fell))
    {
        notes.push(Note::warning(reason.text(), message_of("Ready")));
    }
    let external = ReadyReason::ExternalControl;
    if is(new, "Ready", external) && !is(old, "Ready", external) {
        notes.push(Note::normal(external.text(), message_of("Ready")));
    }
    for late in [
        ReadyReason::AltitudeNotReached,
        ReadyReason::PlaceNotReached,
        ReadyReason::LeaseSilent,
        ReadyReason::LeftVolume,
    ] {
        if is(new, "Ready", late) && !is(old, "Ready", late) {
            notes.push(Note::warning(late.text(), message_of("Ready")));
        }
    }
    let refused = |status| {
        find(status, "Armable")
            .filter(|c| c.reason == ReadyReason::ArmingChecksFail.text())
            .map(|c| &c.message)
    };
    if let Some(words) = refused(new).filter(|words| refused(old) != Some(words)) {
        notes.push(Note::warning("ArmingRefused", words.clone()));
    }
    notes
}

fn find<'a>(status: &'a DroneStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|c| c.type_ == kind)
}

fn is(status: &DroneStatus, kind: &str, reason: ReadyReason) -> bool {
    find(status, kind).is_some_and(|c| c.reason == reason.text())
}
