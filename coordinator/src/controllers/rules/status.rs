//! Statuses of Geofences and ParameterProfiles: on how many vehicles they are in force, and why not on the others.

use super::objects::{Fence, Values};
use super::plan::{Outcome, Subject, unnamed};
use crate::cluster::conditions::exact_condition;
use crate::controllers::node_rules::Counts;
use crds::rules::UnsettledVehicle;
use crds::{GeofenceStatus, ParameterProfileStatus};
use fleet::planning::geofence::{Compiled, NoFence};
use fleet::planning::parameters::rollout::Progress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use model::report::Report;
use model::rules::{Deviation, DeviationWhy, FenceState};

const MAX_NAMED: usize = 32;

const MAX_TEXT_BYTES: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleState {
    InForce,
    /// One word and a sentence; time helps.
    NotYet(&'static str, String),
    /// One word and a sentence; somebody has to do something.
    Stuck(&'static str, String),
}

const SILENT: &str =
    "its agent is not connected, or receives nothing from its autopilot; what is on the autopilot stays";
const NOT_TAKEN: &str = "its agent has not taken the rules over yet";

pub fn fence_on(subject: &Subject, outcome: &Outcome) -> RuleState {
    let (Some(report), Some(fence)) = (&subject.report, &outcome.fence) else {
        return RuleState::NotYet("AgentSilent", SILENT.to_owned());
    };
    let compiled = match &**fence {
        Ok(compiled) => compiled,
        Err(NoFence::NoReturnHeight) => {
            let why = NoFence::NoReturnHeight.to_string();
            return RuleState::NotYet("NoReturnHeight", why);
        }
        Err(why) if why.waits() => return RuleState::NotYet("NoHome", why.to_string()),
        Err(why) => return RuleState::Stuck("NotCompiled", why.to_string()),
    };
    if !outcome.is_held(report) {
        return RuleState::NotYet("NotTaken", NOT_TAKEN.to_owned());
    }
    if let Some(state) = shapes(compiled, report) {
        return state;
    }
    let own = |deviation: &&Deviation| outcome.own.contains(&deviation.name);
    match report.rules.deviations.iter().find(own) {
        Some(deviation) => deviates(deviation),
        None if report.rules.in_force => RuleState::InForce,
        None => unsaid(outcome, report).unwrap_or(RuleState::InForce),
    }
}

/// A state for parameters that a report does not name, though not all rules are in force; `None`: these are.
fn unsaid(outcome: &Outcome, report: &Report) -> Option<RuleState> {
    let named = report.rules.deviations.len();
    if named == 0 && matches!(report.rules.fence, FenceState::None | FenceState::InForce) {
        let text = "its parameters are being read".to_owned();
        return Some(RuleState::NotYet("Working", text));
    }
    let unnamed = outcome.send.as_ref().map_or(0, |rules| unnamed(rules, report));
    // Not every deviation has a place in a report.
    (unnamed > 0).then(|| {
        let text = format!(
            "{unnamed} more of its parameters are not in force than the {named} that its agent names; set those right that the conditions of \
             its ParameterProfiles name, and the others are named"
        );
        RuleState::NotYet("NotNamed", text)
    })
}

fn shapes(compiled: &Compiled, report: &Report) -> Option<RuleState> {
    match &report.rules.fence {
        FenceState::InForce => None,
        FenceState::None if compiled.fence.is_none() => None,
        FenceState::None | FenceState::Working => {
            let text = "its fence is being read or uploaded".to_owned();
            Some(RuleState::NotYet("Working", text))
        }
        FenceState::WaitsForGround => {
            let text = "its fence is changed once it is on the ground and disarmed".to_owned();
            Some(RuleState::NotYet("WaitsForGround", text))
        }
        FenceState::Refused(why) => Some(RuleState::Stuck(
            "Refused",
            format!("its autopilot refuses the fence: {why}"),
        )),
        FenceState::Drifted(why) => Some(RuleState::NotYet(
            "Drifted",
            format!("its fence is not ours any more: {why}"),
        )),
    }
}

fn deviates(deviation: &Deviation) -> RuleState {
    let Deviation {
        name,
        wanted,
        actual,
        why,
    } = deviation;
    let is = actual.map_or_else(|| "not known".to_owned(), |actual| actual.to_string());
    let text = |rest: &str| format!("{name} is {is} and is to be {wanted}{rest}");
    match why {
        DeviationWhy::Working => RuleState::NotYet("Working", text("; it is being read or set")),
        DeviationWhy::ReportOnly => RuleState::Stuck(
            "Differs",
            text("; the profile only reports it: set it by hand, or use enforce: Apply"),
        ),
        DeviationWhy::WaitsForGround => RuleState::NotYet(
            "WaitsForGround",
            text("; it is set once the vehicle is on the ground and disarmed"),
        ),
        DeviationWhy::NeedsReboot => RuleState::Stuck(
            "NeedsReboot",
            format!(
                "{name} is set to {wanted}, which counts after a reboot of the autopilot; reboot it, or use reboot: WhenIdle"
            ),
        ),
        DeviationWhy::Refused(why) => RuleState::Stuck("Refused", text(&format!(": {why}"))),
        DeviationWhy::Missing(why) => RuleState::Stuck("NoSuchParameter", why.clone()),
    }
}

pub fn profile_on(profile: &str, subject: &Subject, outcome: &Outcome) -> RuleState {
    let (Some(report), Some(values)) = (&subject.report, &outcome.values) else {
        return RuleState::NotYet("AgentSilent", SILENT.to_owned());
    };
    let values = match &**values {
        Ok(values) => values,
        Err(why) => return RuleState::Stuck("NoValues", why.to_string()),
    };
    if let Some((name, _, variable)) = values.waiting.iter().find(|(_, of, _)| of == profile) {
        return RuleState::NotYet("NoValue", format!("{name} depends on {variable}"));
    }
    if outcome.progress == Progress::Waiting {
        return match &outcome.stopped_by {
            Some(other) => RuleState::Stuck(
                "Stopped",
                format!(
                    "Vehicle {other} refuses a value, so no other gets it; change the profile, or that vehicle's labels"
                ),
            ),
            None => {
                let others = outcome.waits_for.as_ref().map_or_else(
                    || "it flies, or it is not known yet what others do".to_owned(),
                    |other| format!("Vehicle {other} is not done yet"),
                );
                RuleState::NotYet("WaitsForItsTurn", format!("{others}; see spec.maxUnavailable"))
            }
        };
    }
    if let Some(Err(why)) = outcome.fence.as_deref() {
        return RuleState::NotYet(
            "NotSent",
            format!("its Geofences cannot be compiled, and rules are sent together: {why}"),
        );
    }
    if !outcome.is_held(report) {
        return RuleState::NotYet("NotTaken", NOT_TAKEN.to_owned());
    }
    let own = |deviation: &&Deviation| values.owners.get(&deviation.name).is_some_and(|owner| owner == profile);
    match outcome.refused.iter().chain(&report.rules.deviations).find(own) {
        Some(deviation) => deviates(deviation),
        None if report.rules.in_force || values.owners.values().all(|owner| owner != profile) => RuleState::InForce,
        None => unsaid(outcome, report).unwrap_or(RuleState::InForce),
    }
}

struct Said {
    counts: Counts,
    selected: i32,
    in_force: i32,
    unsettled: Vec<UnsettledVehicle>,
    conditions: Vec<Condition>,
}

struct About<'a> {
    fault: Option<&'a String>,
    /// Why it is in force on none, by intent.
    rests: Option<&'static str>,
    generation: i64,
    old: &'a [Condition],
    /// The message when all is well.
    remark: Option<String>,
}

fn say(about: &About<'_>, mut vehicles: Vec<(&str, RuleState)>, now: Timestamp) -> Said {
    vehicles.sort_by(|one, other| one.0.cmp(other.0));
    let count = |is: &dyn Fn(&RuleState) -> bool| vehicles.iter().filter(|(_, state)| is(state)).count();
    let (selected, in_force) = (vehicles.len(), count(&|state| *state == RuleState::InForce));
    let stuck = vehicles.iter().find(|(_, state)| matches!(state, RuleState::Stuck(..)));
    let uncompiled = vehicles
        .iter()
        .find(|(_, state)| matches!(state, RuleState::Stuck("NotCompiled" | "NoValues", _)));
    let words = |(name, state): &(&str, RuleState)| match state {
        RuleState::InForce => String::new(),
        RuleState::NotYet(_, text) | RuleState::Stuck(_, text) => clipped(&format!("Vehicle {name}: {text}")),
    };
    let of = |kind, value, reason: &str, message: &str| {
        exact_condition(about.old, kind, Some(value), reason, message, about.generation, now)
    };
    let compiled = match (about.fault, uncompiled) {
        (Some(fault), _) => of("Compiled", false, "Invalid", fault),
        (None, Some(vehicle)) => of("Compiled", false, "NotForAll", &words(vehicle)),
        (None, None) => of("Compiled", true, "Compiled", "every selected autopilot can be given it"),
    };
    let first = stuck.or_else(|| vehicles.iter().find(|(_, state)| *state != RuleState::InForce));
    let message = match first {
        Some(first) => format!("in force on {in_force} of {selected}; {}", words(first)),
        None => {
            let remark = about
                .remark
                .as_ref()
                .map(|remark| format!("; {remark}"))
                .unwrap_or_default();
            format!("in force on all {selected}{remark}")
        }
    };
    let force = match (about.fault, about.rests) {
        (Some(fault), _) => of("InForce", false, "Invalid", fault),
        (None, Some(rests)) => of("InForce", false, "NotNow", rests),
        (None, None) if selected == 0 => of(
            "InForce",
            false,
            "SelectsNone",
            "no vehicle has the labels of spec.vehicleSelector; see `kubectl get vehicles --show-labels`",
        ),
        (None, None) => of(
            "InForce",
            in_force == selected,
            if in_force == selected { "OnAll" } else { "NotOnAll" },
            &message,
        ),
    };
    let mut conditions = vec![compiled, force];
    // As kstatus has it: present only while true.
    if about.fault.is_some() || stuck.is_some() {
        let words = about.fault.cloned().or_else(|| stuck.map(words)).unwrap_or_default();
        conditions.push(of("Stalled", true, "NeedsAttention", &words));
    } else if about.rests.is_none() && in_force < selected {
        conditions.push(of("Reconciling", true, "NotOnAll", &message));
    }
    let unsettled = vehicles.iter().filter_map(|(name, state)| match state {
        RuleState::InForce => None,
        RuleState::NotYet(reason, text) | RuleState::Stuck(reason, text) => Some(UnsettledVehicle {
            name: (*name).to_owned(),
            reason: (*reason).to_owned(),
            message: clipped(text),
        }),
    });
    let unsettled = if about.rests.is_some() {
        Vec::new()
    } else {
        unsettled.take(MAX_NAMED).collect()
    };
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let needs_attention = count(&|state| matches!(state, RuleState::Stuck(..)));
    let counts = match (about.rests, about.fault) {
        // By intent it is in force on none.
        (Some(_), None) => Counts::default(),
        (_, Some(_)) => Counts {
            stuck: selected,
            ..Counts::default()
        },
        (None, None) => Counts {
            in_force,
            not_yet: selected - in_force - needs_attention,
            stuck: needs_attention,
        },
    };
    Said {
        counts,
        selected: number(selected),
        in_force: if about.rests.is_some() { 0 } else { number(in_force) },
        unsettled,
        conditions,
    }
}

fn clipped(text: &str) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text.to_owned();
    }
    let end = (0..=MAX_TEXT_BYTES - 3)
        .rev()
        .find(|&i| text.is_char_boundary(i))
        .unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// The status of the Geofence at the index `place`.
pub fn of_fence(
    (place, fence): (usize, &Fence),
    vehicles: &[(&Subject, &Outcome)],
    old: &[Condition],
    now: Timestamp,
) -> (GeofenceStatus, Counts) {
    let mine = vehicles.iter().filter(|(_, outcome)| outcome.fences.contains(&place));
    let of = mine.map(|(subject, outcome)| (subject.name.as_str(), fence_on(subject, outcome)));
    let notes = vehicles.iter().filter(|(_, outcome)| outcome.active.contains(&place));
    let mut notes = notes.filter_map(|(_, outcome)| outcome.fence.as_deref()?.as_ref().ok()?.notes.first());
    let active = fence.wanted.is_active(now.as_second());
    let about = About {
        fault: fence.fault.as_ref(),
        rests: (!active).then_some("now is in none of spec.windows"),
        generation: fence.author.generation,
        old,
        remark: notes.next().cloned(),
    };
    let said = say(&about, of.collect(), now);
    let status = GeofenceStatus {
        observed_generation: Some(fence.author.generation),
        selected: Some(said.selected),
        in_force: Some(said.in_force),
        unsettled: said.unsettled,
        conditions: said.conditions,
    };
    (status, said.counts)
}

/// The status of the ParameterProfile at the index `place`.
pub fn of_profile(
    (place, values): (usize, &Values),
    vehicles: &[(&Subject, &Outcome)],
    old: &[Condition],
    now: Timestamp,
) -> (ParameterProfileStatus, Counts) {
    let name = &values.profile.name;
    let mine = || vehicles.iter().filter(|(_, outcome)| outcome.profiles.contains(&place));
    let of = mine().map(|(subject, outcome)| (subject.name.as_str(), profile_on(name, subject, outcome)));
    let lost = mine().filter_map(|(_, outcome)| outcome.values.as_deref()?.as_ref().ok());
    let lost = lost
        .flat_map(|values| &values.overruled)
        .find(|lost| lost.profile == *name);
    let remark = lost.map(|lost| match &lost.by {
        Some(other) => format!("ParameterProfile {other} wins over it for {}", lost.name),
        None => format!("{} belongs to the Geofences, which win over it", lost.name),
    });
    let about = About {
        fault: values.fault.as_ref(),
        rests: None,
        generation: values.author.generation,
        old,
        remark,
    };
    let said = say(&about, of.collect(), now);
    let status = ParameterProfileStatus {
        observed_generation: Some(values.author.generation),
        selected: Some(said.selected),
        in_force: Some(said.in_force),
        unsettled: said.unsettled,
        conditions: said.conditions,
    };
    (status, said.counts)
}
