//! The rules of each vehicle, from what selects it and what its agent reports.
//!
//! Owns: [`plan`]: what is sent to each agent, which digest is named to it, and which vehicles get changed values next. Must not: call
//! the API, read a clock, or take rules for in force that an agent did not report so.

use super::objects::{Fence, Selects, Values};
use fleet::geofence::{Compiled, NoFence, Wanted, compile};
use fleet::ids::{NodeName, Term};
use fleet::parameters::rollout::{self, Candidate, Progress};
use fleet::parameters::{NoParameters, Resolved, Variables, compose, resolve};
use fleet::report::Report;
use fleet::rules::{DeviationWhy, Rules, RulesDigest, WantedParameter};
use fleet::units::Wgs84;
use fleet::vehicle::{Autopilot, FlightTruth};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The digest that is named to an agent whose rules cannot be made: it holds no rules of that name, so it does not arm where rules have
/// to be in force.
pub const UNMADE: &str = "00000000000000000000000000000000";

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// The Geofences, by name.
    pub fences: Vec<Fence>,
    /// The ParameterProfiles, by name.
    pub profiles: Vec<Values>,
}

impl Objects {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fences.is_empty() && self.profiles.is_empty()
    }

    /// Whether it is not known of one of them which vehicles it selects.
    fn has_unreadable_selector(&self) -> bool {
        let fences = self.fences.iter().map(|fence| &fence.selects);
        let profiles = self.profiles.iter().map(|values| &values.selects);
        fences.chain(profiles).any(Selects::is_unreadable)
    }
}

/// A vehicle, as far as its rules go.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its node.
    pub node: NodeName,
    /// The name of its Vehicle.
    pub name: String,
    /// The labels that count for it.
    pub labels: BTreeMap<String, String>,
    /// What its agent reports, on its open session.
    pub report: Option<Arc<Report>>,
    /// Whether it is known which airframe it is.
    pub identified: bool,
    /// The values of variables.
    pub variables: Variables,
    /// Whether it serves a Drone.
    pub serves: bool,
}

/// What is remembered of a vehicle from one time to the next.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The values of profiles that it may set. `None`: a leader before us let it set others than those that are wanted now.
    granted: Option<Vec<WantedParameter>>,
    /// The last fence, and what it was made of.
    compiled: Option<(Ingredients, Result<Compiled, NoFence>)>,
}

/// What a fence is made of.
#[derive(Clone, Debug, PartialEq)]
struct Ingredients {
    fences: Vec<(String, i64)>,
    autopilot: Autopilot,
    home: Option<Wgs84>,
}

/// What is to be done about one vehicle.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The Geofences that select it, by their place among the [`Objects`].
    pub fences: Vec<usize>,
    /// Those of them that hold now.
    pub active: Vec<usize>,
    /// The ParameterProfiles that select it.
    pub profiles: Vec<usize>,
    /// Their fence, once its autopilot is known.
    pub fence: Option<Result<Compiled, NoFence>>,
    /// Their values, once its autopilot is known.
    pub values: Option<Result<Resolved, NoParameters>>,
    /// How far it is with those.
    pub progress: Progress,
    /// The vehicle whose refusal keeps it from its values.
    pub stopped_by: Option<String>,
    /// What is sent to its agent; `None`: nothing new.
    pub send: Option<Rules>,
    /// What has to be in force before it is armed.
    pub named: Option<RulesDigest>,
}

impl Outcome {
    /// Whether its agent holds what was sent last.
    #[must_use]
    pub fn is_held(&self, report: &Report) -> bool {
        let sent = self.send.as_ref().map(|rules| &rules.digest);
        sent.is_some() && report.rules.held.as_ref() == sent
    }

    /// Whether anything selects it.
    #[must_use]
    pub fn is_selected(&self) -> bool {
        !self.fences.is_empty() || !self.profiles.is_empty()
    }
}

/// What to do about each of `subjects`, in their order, at `now`, seconds since 1970.
pub fn plan(
    objects: &Objects,
    subjects: &[Subject],
    memories: &mut HashMap<NodeName, Memory>,
    term: Term,
    now: i64,
) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = subjects
        .iter()
        .map(|subject| {
            let memory = memories.entry(subject.node.clone()).or_default();
            select(objects, subject, memory, now)
        })
        .collect();
    grant(objects, subjects, memories, &mut outcomes);
    for (subject, outcome) in subjects.iter().zip(&mut outcomes) {
        let memory = memories.entry(subject.node.clone()).or_default();
        finish(objects, subject, memory, outcome, term);
    }
    outcomes
}

fn select(objects: &Objects, subject: &Subject, memory: &mut Memory, now: i64) -> Outcome {
    let selected = |matches: bool, i: usize| matches.then_some(i);
    let fences = objects.fences.iter().enumerate();
    let fences: Vec<usize> = fences
        .filter_map(|(i, fence)| selected(fence.selects.matches(&subject.labels), i))
        .collect();
    let profiles = objects.profiles.iter().enumerate();
    let profiles: Vec<usize> = profiles
        .filter_map(|(i, values)| selected(values.selects.matches(&subject.labels), i))
        .collect();
    let holds = |i: &usize| objects.fences.get(*i).is_some_and(|fence| fence.wanted.is_active(now));
    let mut outcome = Outcome {
        active: fences.iter().copied().filter(holds).collect(),
        fences,
        profiles,
        fence: None,
        values: None,
        progress: Progress::Done,
        stopped_by: None,
        send: None,
        named: None,
    };
    let report = subject.report.as_deref().filter(|_| subject.identified);
    let Some((report, identity)) = report.and_then(|report| Some((report, report.identity.as_ref()?))) else {
        let wanted = outcome.profiles.iter().filter_map(|&i| objects.profiles.get(i)).count();
        if memory.granted.as_ref().is_some_and(|granted| !granted.is_empty()) && wanted > 0 {
            // What it may have begun is not known to be done.
            outcome.progress = Progress::Underway;
        }
        return outcome;
    };
    let fence = fence(objects, &outcome.active, identity.autopilot, report, memory);
    let own = fence.as_ref().map_or(&[][..], |compiled| &compiled.parameters[..]);
    let chosen: Vec<_> = outcome
        .profiles
        .iter()
        .filter_map(|&i| objects.profiles.get(i))
        .map(|v| &v.profile)
        .collect();
    let values = resolve(&chosen, identity.autopilot, &subject.variables, own);
    if let (Ok(compiled), Ok(values)) = (&fence, &values) {
        outcome.progress = progress(compiled, values, !outcome.profiles.is_empty(), memory, report);
    }
    outcome.fence = Some(fence);
    outcome.values = Some(values);
    outcome
}

fn fence(
    objects: &Objects,
    active: &[usize],
    autopilot: Autopilot,
    report: &Report,
    memory: &mut Memory,
) -> Result<Compiled, NoFence> {
    let chosen: Vec<&Fence> = active.iter().filter_map(|&i| objects.fences.get(i)).collect();
    let of = Ingredients {
        fences: chosen
            .iter()
            .map(|fence| (fence.name.clone(), fence.generation))
            .collect(),
        autopilot,
        home: report.home.map(|home| home.at),
    };
    if let Some((made_of, compiled)) = &memory.compiled
        && *made_of == of
    {
        return compiled.clone();
    }
    let wanted: Vec<&Wanted> = chosen.iter().map(|fence| &*fence.wanted).collect();
    let compiled = compile(&wanted, autopilot, of.home);
    memory.compiled = Some((of, compiled.clone()));
    compiled
}

fn digest(compiled: &Compiled, values: &[WantedParameter]) -> RulesDigest {
    rules(Term::default(), compiled, values).digest
}

fn rules(term: Term, compiled: &Compiled, values: &[WantedParameter]) -> Rules {
    let belongs = |value: &&WantedParameter| compiled.parameters.iter().all(|own| own.name != value.name);
    let values = values.iter().filter(belongs).cloned();
    let parameters = compiled.parameters.iter().cloned().chain(values).collect();
    compose(term, compiled.fence.clone(), parameters)
}

/// How far a vehicle is with `values`.
fn progress(compiled: &Compiled, values: &Resolved, selected: bool, memory: &mut Memory, report: &Report) -> Progress {
    let wanted = &values.parameters;
    if !selected {
        // What no profile names any more is given back at once.
        memory.granted = Some(Vec::new());
    }
    let held = report.rules.held.as_ref();
    let all = digest(compiled, wanted);
    if memory.granted.is_none() {
        let none = digest(compiled, &[]);
        memory.granted = match held {
            Some(held) if *held == all => Some(wanted.clone()),
            Some(held) if *held != none => None,
            _ => Some(Vec::new()),
        };
    }
    if memory.granted.as_ref() != Some(wanted) {
        return Progress::Waiting;
    }
    if held != Some(&all) {
        return if wanted.is_empty() {
            Progress::Done
        } else {
            Progress::Underway
        };
    }
    let ours = || {
        let named = |name: &str| wanted.iter().any(|wanted| wanted.name == *name);
        report
            .rules
            .deviations
            .iter()
            .filter(move |deviation| named(&deviation.name))
    };
    if ours().any(|deviation| matches!(deviation.why, DeviationWhy::Refused(_))) {
        return Progress::Refused;
    }
    let open = ours().any(|deviation| matches!(deviation.why, DeviationWhy::Working | DeviationWhy::WaitsForGround));
    let told = report.rules.deviations.len() + report.rules.parameters_in_force as usize;
    let total = compiled.parameters.len() + wanted.len();
    if report.rules.in_force || (!open && told >= total) {
        Progress::Done
    } else {
        Progress::Underway
    }
}

fn grant(objects: &Objects, subjects: &[Subject], memories: &mut HashMap<NodeName, Memory>, outcomes: &mut [Outcome]) {
    let name = |&i: &usize| objects.profiles.get(i).map(|values| values.profile.name.as_str());
    let profiles: Vec<Vec<&str>> = outcomes
        .iter()
        .map(|o| o.profiles.iter().filter_map(name).collect())
        .collect();
    let candidates: Vec<Candidate<'_>> = subjects
        .iter()
        .zip(outcomes.iter())
        .zip(&profiles)
        .filter(|((_, outcome), _)| !outcome.profiles.is_empty())
        .map(|((subject, outcome), profiles)| Candidate {
            name: &subject.name,
            profiles,
            progress: outcome.progress,
            grounded: subject
                .report
                .as_ref()
                .is_some_and(|report| report.truth == FlightTruth::Disarmed),
            serves: subject.serves,
        })
        .collect();
    let most = objects
        .profiles
        .iter()
        .map(|v| (v.profile.name.as_str(), v.most))
        .collect();
    let next = rollout::next(&candidates, &most);
    for ((subject, outcome), profiles) in subjects.iter().zip(outcomes).zip(&profiles) {
        if outcome.progress != Progress::Waiting {
            continue;
        }
        outcome.stopped_by = profiles.iter().find_map(|profile| next.stopped.get(*profile)).cloned();
        if let (true, Some(Ok(values))) = (next.grant.contains(&subject.name), &outcome.values) {
            let memory = memories.entry(subject.node.clone()).or_default();
            memory.granted = Some(values.parameters.clone());
            outcome.progress = Progress::Underway;
        }
    }
}

fn finish(objects: &Objects, subject: &Subject, memory: &Memory, outcome: &mut Outcome, term: Term) {
    let unmade = || Some(RulesDigest(UNMADE.to_owned()));
    let is_faulty = outcome
        .active
        .iter()
        .filter_map(|&i| objects.fences.get(i))
        .any(|fence| fence.fault.is_some());
    let selected = !outcome.active.is_empty() || !outcome.profiles.is_empty();
    let (Some(fence), Some(values)) = (&outcome.fence, &outcome.values) else {
        // Which of them hold for it is not known while it is not known what it is.
        outcome.named = if selected || !objects.is_empty() {
            unmade()
        } else {
            None
        };
        return;
    };
    let Ok(compiled) = fence else {
        outcome.named = unmade();
        return;
    };
    // All that is wanted, also of what it may not set yet, as others go first.
    outcome.named = match values {
        _ if objects.has_unreadable_selector() => unmade(),
        _ if !selected => None,
        Ok(values) if !is_faulty && values.waiting.is_empty() => Some(digest(compiled, &values.parameters)),
        Ok(_) | Err(_) => unmade(),
    };
    if let Some(granted) = &memory.granted {
        let rules = rules(term, compiled, granted);
        let held = subject.report.as_ref().and_then(|report| report.rules.held.as_ref());
        let held_others = held.is_some_and(|held| *held != rules.digest);
        if selected || held_others || !rules.is_empty() {
            outcome.send = Some(rules);
        }
    }
}

#[cfg(test)]
mod tests;
