//! Events for a change of a Drone's status.

use crate::cluster::events::Note;
use crds::DroneStatus;
use fleet::planning::drone::status::deviations::{FELL, alarms};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

pub fn notes(old: &DroneStatus, new: &DroneStatus) -> Vec<Note> {
    let mut notes = vec![];
    let message_of = |kind: &str| find(new, kind).map(|c| c.message.clone()).unwrap_or_default();
    if old.phase != new.phase {
        let note = match new.phase.as_deref() {
            Some("Pending") if is(new, "Assigned", "NodeTaken") => {
                Some(Note::warning("NodeTaken", message_of("Assigned")))
            }
            Some("Pending") if is(new, "Assigned", "Refused") => Some(Note::warning("Refused", message_of("Assigned"))),
            Some("Pending") => Some(Note::warning("NoFreeVehicle", message_of("Assigned"))),
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
        let ready = find(status, "Ready").map_or("", |c| c.reason.as_str());
        alarms().find(|reason| *reason == ready)
    };
    // With another phase it is recorded already.
    if let Some(reason) =
        alarm(new).filter(|reason| alarm(old) != Some(*reason) && (old.phase == new.phase || *reason == FELL))
    {
        notes.push(Note::warning(reason, message_of("Ready")));
    }
    if is(new, "Ready", "ExternalControl") && !is(old, "Ready", "ExternalControl") {
        notes.push(Note::normal("ExternalControl", message_of("Ready")));
    }
    for late in ["AltitudeNotReached", "PlaceNotReached", "LeaseSilent", "LeftVolume"] {
        if is(new, "Ready", late) && !is(old, "Ready", late) {
            notes.push(Note::warning(late, message_of("Ready")));
        }
    }
    let refused = |status| {
        find(status, "Armable")
            .filter(|c| c.reason == "ArmingChecksFail")
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

fn is(status: &DroneStatus, kind: &str, reason: &str) -> bool {
    find(status, kind).is_some_and(|c| c.reason == reason)
}
