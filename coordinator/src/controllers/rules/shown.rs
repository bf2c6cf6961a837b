//! The rules of one vehicle, as the other controllers and its Vehicle show them.

use super::plan::{Objects, Outcome, Subject};
use crate::controllers::node_rules::{OfNode, ShownRules};
use crds::vehicle::{SentValue, VehicleRules};
use model::ids::DroneName;
use model::rules::{Enforce, FenceState, WantedParameter};

/// `drone` is the one that its vehicle serves.
pub fn of_node(objects: &Objects, (subject, outcome): (&Subject, &Outcome), drone: Option<&DroneName>) -> OfNode {
    OfNode {
        named: outcome.named.clone(),
        drone: drone.cloned(),
        fences: outcome.judged_by.clone(),
        shown: (subject.identified && subject.report.is_some()).then(|| ShownRules(shown(objects, subject, outcome))),
    }
}

/// The rules in the Vehicle of `subject`.
pub(super) fn shown(objects: &Objects, subject: &Subject, outcome: &Outcome) -> Option<VehicleRules> {
    let report = subject.report.as_ref()?;
    let reported = &report.rules;
    if !outcome.is_selected() && outcome.send.is_none() {
        return None;
    }
    let fences = outcome.active.iter().filter_map(|&i| objects.fences.get(i));
    let profiles = outcome.profiles.iter().filter_map(|&i| objects.profiles.get(i));
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let value = |wanted: &WantedParameter| SentValue {
        name: wanted.name.clone(),
        // A number reads back as the same.
        value: wanted.value.to_string(),
        apply: wanted.enforce == Enforce::Apply,
        reboot: wanted.may_reboot,
        any_name: wanted.any_name,
    };
    // While rules cannot be made, those sent last stay.
    let last = subject.last().filter(|_| outcome.send.is_none());
    let sent = match (&outcome.send, last) {
        (Some(rules), _) => rules.digest.to_string(),
        (None, last) => last.map(|last| last.sent.clone()).unwrap_or_default(),
    };
    // A report on other rules says nothing of these.
    let is_held = reported.held.as_ref().is_some_and(|held| held.0 == sent);
    let (fence, parameters_in_force) = match is_held || sent.is_empty() {
        true => (&reported.fence, reported.parameters_in_force),
        false => (&FenceState::Working, 0),
    };
    let values = match last {
        Some(last) => last.values.clone(),
        None => outcome.granted.iter().flatten().map(value).collect(),
    };
    Some(VehicleRules {
        geofences: fences.map(|fence| fence.name.clone()).take(64).collect(),
        parameter_profiles: profiles.map(|values| values.profile.name.clone()).take(64).collect(),
        digest: outcome.named.as_ref().map(ToString::to_string).unwrap_or_default(),
        fence: word(fence).to_owned(),
        parameters: outcome.send.as_ref().map_or(0, |rules| number(rules.parameters.len())),
        parameters_in_force: i32::try_from(parameters_in_force).unwrap_or(i32::MAX),
        sent,
        values,
        changing: outcome.changing,
    })
}

const fn word(fence: &FenceState) -> &'static str {
    match fence {
        FenceState::None => "None",
        FenceState::Working => "Working",
        FenceState::InForce => "InForce",
        FenceState::WaitsForGround => "WaitsForGround",
        FenceState::Refused(_) => "Refused",
        FenceState::Drifted(_) => "Drifted",
    }
}
