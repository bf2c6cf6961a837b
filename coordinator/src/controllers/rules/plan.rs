//! The rules of each vehicle, from the objects that select it and its agent's report.
//!
//! Owns: [`plan`]: what is sent to each agent, which digest is named to it, and which vehicles get changed values next. Must not: call the
//! API, read a clock, or take rules for in force that an agent did not report so.
//!
//! The state of a rollout follows from agents' reports and from what Vehicle objects record as sent, so that another leader goes on where
//! the previous one was. The memory saves work, and holds what was granted until the Vehicle object records it.

use super::aboard::{self, Aboard, Proof};
use super::made::{Fences, Made};
pub use super::objects::Objects;
use super::objects::{Fence, Values};
use crate::controllers::node_rules::UNMADE;
use crds::Vehicle;
use crds::vehicle::{SentValue, VehicleRules};
use fleet::planning::geofence::{Compiled, NoFence};
use fleet::planning::parameters::rollout::{self, Candidate, Progress, State};
use fleet::planning::parameters::{NoParameters, Resolved, Variables};
use model::ids::{NodeName, Term};
use model::report::Report;
use model::rules::{Deviation, DeviationWhy, Enforce, MOST_DEVIATIONS, Rules, RulesDigest, WantedParameter};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Subject {
    pub node: NodeName,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// On its agent's open session.
    pub report: Option<Arc<Report>>,
    /// Whether its airframe is known.
    pub identified: bool,
    pub variables: Variables,
    pub serves: bool,
    pub object: Option<Arc<Vehicle>>,
}

impl Subject {
    pub(super) fn last(&self) -> Option<&VehicleRules> {
        self.object.as_ref()?.status.as_ref()?.rules.as_ref()
    }

    /// Whether it was heard when its Vehicle object was written last, and is not yet.
    pub fn is_awaited(&self) -> bool {
        let status = self.object.as_ref().and_then(|object| object.status.as_ref());
        let was_heard = status.is_some_and(|status| {
            let mut conditions = status.conditions.iter();
            conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
        });
        was_heard && !(self.identified && self.report.is_some())
    }
}

/// Memory of a vehicle between two plans.
#[derive(Debug, Default)]
pub struct Memory {
    /// The values of profiles that it may set. `None`: those that a previous leader granted differ from those wanted now, and are unknown.
    granted: Option<Vec<WantedParameter>>,
    /// Whether values were being changed when it was last heard; `None`: it was not heard here.
    changing: Option<bool>,
    /// Its autopilot's refusal. Until the profiles change or it has their values, a new try or silence is no acceptance.
    refuses: Option<Refusal>,
    made: Option<Made>,
    /// The fences that its autopilot may keep.
    aboard: Aboard,
}

#[derive(Debug)]
struct Refusal {
    /// The profiles that select the vehicle.
    profiles: Vec<Version>,
    deviations: Vec<Deviation>,
}

/// Name, uid and generation of a profile.
type Version = (String, Option<String>, i64);

#[derive(Debug, Default)]
pub struct Memories {
    nodes: HashMap<NodeName, Memory>,
    fences: Fences,
}

impl Memories {
    pub fn keep(&mut self, is_known: impl Fn(&NodeName) -> bool) {
        self.nodes.retain(|node, _| is_known(node));
    }
}

/// What is to be done about one vehicle.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The Geofences that select it, by index among the [`Objects`].
    pub fences: Vec<usize>,
    /// Those of them that hold now.
    pub active: Vec<usize>,
    pub profiles: Vec<usize>,
    /// Their fence, once its autopilot is known.
    pub fence: Option<Arc<Result<Compiled, NoFence>>>,
    /// The values of its profiles, once its autopilot is known.
    pub values: Option<Arc<Result<Resolved, NoParameters>>>,
    pub progress: Progress,
    /// The values that its autopilot refused, also while it is asked again.
    pub refused: Vec<Deviation>,
    /// Whether values are being changed on it, as far as is known: these or former ones.
    pub changing: bool,
    /// The vehicle whose refusal keeps it from its values.
    pub stopped_by: Option<String>,
    /// The vehicle that has to have its values before.
    pub waits_for: Option<String>,
    /// The values of profiles that it may set.
    pub granted: Option<Vec<WantedParameter>>,
    /// Names of the sent parameters that belong to its Geofences.
    pub own: Vec<String>,
    /// `None`: nothing new is sent to its agent.
    pub send: Option<Arc<Rules>>,
    /// Has to be in force before it is armed.
    pub named: Option<RulesDigest>,
    /// The fences by which its places and ways are judged: those that hold for it, and those that its autopilot keeps besides.
    pub judged_by: aboard::Fences,
}

impl Outcome {
    /// Whether its agent holds what was sent last.
    pub fn is_held(&self, report: &Report) -> bool {
        let sent = self.send.as_ref().map(|rules| &rules.digest);
        sent.is_some() && report.rules.held.as_ref() == sent
    }

    pub fn is_selected(&self) -> bool {
        !self.fences.is_empty() || !self.profiles.is_empty()
    }
}

/// The outcome of each subject at `now`, seconds since 1970. Without `may` no vehicle gets changed values: the others' state is unknown
/// yet.
pub fn plan(
    objects: &Objects,
    subjects: &[Subject],
    memories: &mut Memories,
    term: Term,
    (now, may): (i64, bool),
) -> Vec<Outcome> {
    let Memories {
        nodes: memories,
        fences,
    } = memories;
    fences.keep(&objects.fences);
    let mut outcomes: Vec<Outcome> = subjects
        .iter()
        .map(|subject| {
            let memory = memories.entry(subject.node.clone()).or_default();
            select(objects, subject, memory, (term, &mut *fences), now)
        })
        .collect();
    grant(objects, subjects, memories, &mut outcomes, may);
    for (subject, outcome) in subjects.iter().zip(&mut outcomes) {
        let memory = memories.entry(subject.node.clone()).or_default();
        finish(objects, subject, memory, outcome);
        outcome.judged_by = judged_by(objects, subject, memory, outcome);
    }
    outcomes
}

/// The Geofences that hold for a vehicle, and the shapes that its autopilot holds of them where those are smaller.
fn wanted_fences(objects: &Objects, outcome: &Outcome) -> aboard::Fences {
    let fences = outcome.active.iter().filter_map(|&i| objects.fences.get(i));
    let names = || fences.clone().map(|fence| &*fence.name).collect::<Vec<_>>().join(", ");
    let compiled = outcome.fence.as_deref().and_then(|fence| fence.as_ref().ok());
    let narrower = compiled.and_then(|compiled| compiled.narrower(names()));
    let all = fences.clone().map(|fence| Arc::clone(&fence.wanted));
    all.chain(narrower.map(Arc::new)).collect()
}

/// The fences that hold for a vehicle now, and those that its autopilot keeps besides. One that is not heard keeps its own.
fn judged_by(objects: &Objects, subject: &Subject, memory: &mut Memory, outcome: &Outcome) -> aboard::Fences {
    let mut wanted = wanted_fences(objects, outcome);
    let made = memory.made.as_mut().filter(|_| outcome.fence.is_some());
    let besides = match (subject.report.as_deref(), made) {
        (Some(report), Some(made)) => {
            let proof = aboard::proof(made, memory.granted.as_deref(), report);
            memory.aboard.follow(report, proof, &wanted)
        }
        (Some(report), None) => memory.aboard.follow(report, Proof::Neither, &wanted),
        (None, _) => memory.aboard.besides(&wanted),
    };
    wanted.extend(besides);
    wanted
}

fn select(
    objects: &Objects,
    subject: &Subject,
    memory: &mut Memory,
    (term, compiled): (Term, &mut Fences),
    now: i64,
) -> Outcome {
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
        refused: Vec::new(),
        changing: false,
        stopped_by: None,
        waits_for: None,
        granted: None,
        own: Vec::new(),
        send: None,
        named: None,
        judged_by: aboard::Fences::new(),
    };
    // A vehicle that is silent, or without rules, still changes what it last changed; one that was parked before keeps no other waiting.
    let last = || subject.last().is_some_and(|last| last.changing);
    outcome.changing = memory.changing.unwrap_or_else(last);
    let profiles = outcome.profiles.iter().filter_map(|&i| objects.profiles.get(i));
    let profiles: Vec<Version> = profiles.map(|values| version(values)).collect();
    if profiles.is_empty()
        || memory
            .refuses
            .as_ref()
            .is_some_and(|refusal| refusal.profiles != profiles)
    {
        memory.refuses = None;
    }
    if memory.refuses.is_some() {
        outcome.progress = Progress::Refused;
    }
    let report = subject.report.as_deref().filter(|_| subject.identified);
    let Some((report, identity)) = report.and_then(|report| Some((report, report.identity.as_ref()?))) else {
        return outcome;
    };
    let chosen: Vec<&Arc<Fence>> = outcome.active.iter().filter_map(|&i| objects.fences.get(i)).collect();
    let wanted: Vec<&Arc<Values>> = outcome
        .profiles
        .iter()
        .filter_map(|&i| objects.profiles.get(i))
        .collect();
    let made = Made::renewed(
        memory.made.take(),
        (&chosen, &wanted),
        (report, identity),
        &subject.variables,
        (term, compiled),
    );
    let made = memory.made.insert(made);
    (outcome.fence, outcome.values) = (Some(Arc::clone(&made.fence)), Some(Arc::clone(&made.values)));
    if let (Ok(_), Err(_), None) = (&*made.fence, &*made.values, &memory.granted) {
        // A fence waits for no profile. The values granted before may not be known exactly.
        let last = || subject.last().and_then(sent_values);
        let before = granted_before(made, None, subject.last(), report).or_else(last);
        memory.granted = Some(before.unwrap_or_default());
    }
    if let (Ok(_), Ok(values)) = (&*made.fence, &*made.values) {
        if outcome.profiles.is_empty() {
            // Values that no profile names any more are given back at once.
            memory.granted = Some(Vec::new());
        }
        if memory.granted.is_none() {
            memory.granted = granted_before(made, Some(values), subject.last(), report);
        }
        let known = memory.refuses.take();
        (outcome.progress, memory.refuses) = match (progress(made, values, memory.granted.as_ref(), report), known) {
            (Progress::Underway, Some(known)) => (Progress::Refused, Some(known)),
            (Progress::Refused, _) => {
                let refused = |one: &&Deviation| matches!(one.why, DeviationWhy::Refused(_));
                let deviations = report.rules.deviations.iter().filter(refused).cloned().collect();
                (Progress::Refused, Some(Refusal { profiles, deviations }))
            }
            (is, _) => (is, None),
        };
        outcome.refused = memory
            .refuses
            .as_ref()
            .map(|refusal| refusal.deviations.clone())
            .unwrap_or_default();
        outcome.changing = match outcome.progress {
            Progress::Underway | Progress::Refused => true,
            Progress::Done => false,
            Progress::Waiting => changes_others(made, report),
        };
        memory.changing = Some(outcome.changing);
    }
    outcome
}

fn version(values: &Values) -> Version {
    let author = &values.author;
    (values.profile.name.clone(), author.uid.clone(), author.generation)
}

/// The values that a previous leader granted, by the digest that its agent reports.
fn granted_before(
    made: &Made,
    values: Option<&Resolved>,
    last: Option<&VehicleRules>,
    report: &Report,
) -> Option<Vec<WantedParameter>> {
    let Some(held) = &report.rules.held else {
        return Some(Vec::new());
    };
    match values {
        Some(values) if *held == made.all.digest => Some(values.parameters.clone()),
        _ if *held == made.none.digest => Some(Vec::new()),
        _ => last.filter(|last| last.sent == held.0).and_then(sent_values),
    }
}

/// The values of profiles that were sent last, by a Vehicle object.
fn sent_values(last: &VehicleRules) -> Option<Vec<WantedParameter>> {
    let read = |value: &SentValue| {
        Some(WantedParameter {
            name: value.name.clone(),
            value: value.value.parse().ok()?,
            enforce: if value.apply { Enforce::Apply } else { Enforce::Report },
            may_reboot: value.reboot,
            any_name: value.any_name,
        })
    };
    last.values.iter().map(read).collect()
}

/// Whether the values that a vehicle was sent before are still being changed on it.
fn changes_others(made: &Made, report: &Report) -> bool {
    let mut others = report.rules.deviations.iter().filter(|one| !made.is_own(&one.name));
    others.any(|one| one.why.is_urgent())
}

fn progress(made: &Made, values: &Resolved, granted: Option<&Vec<WantedParameter>>, report: &Report) -> Progress {
    let wanted = &values.parameters;
    if granted != Some(wanted) {
        return Progress::Waiting;
    }
    if report.rules.held.as_ref() != Some(&made.all.digest) {
        return if wanted.is_empty() {
            Progress::Done
        } else {
            Progress::Underway
        };
    }
    let is_wanted = |deviation: &&Deviation| wanted.iter().any(|wanted| wanted.name == deviation.name);
    let ours = || report.rules.deviations.iter().filter(is_wanted);
    if ours().any(|deviation| matches!(deviation.why, DeviationWhy::Refused(_))) {
        return Progress::Refused;
    }
    if ours().any(|deviation| deviation.why.is_open()) {
        return Progress::Underway;
    }
    let named = &report.rules.deviations;
    // What is open is named first. Where there was room for more, all of it was named; an older agent names them in another order.
    let had_room =
        || named.is_sorted_by_key(|one| one.why.urgency()) && named.last().is_some_and(|last| !last.why.is_urgent());
    let is_full = named.len() >= MOST_DEVIATIONS;
    if report.rules.in_force || unnamed(&made.all, report) == 0 || (is_full && had_room()) {
        Progress::Done
    } else {
        Progress::Underway
    }
}

/// Counts the parameters of `rules`, which its agent holds, that are not in force and that the `report` does not name.
pub(super) fn unnamed(rules: &Rules, report: &Report) -> usize {
    let rules_name = |one: &&Deviation| rules.parameters.iter().any(|wanted| wanted.name == one.name);
    let named = report.rules.deviations.iter().filter(rules_name).count();
    let reported = named.saturating_add(report.rules.parameters_in_force as usize);
    rules.parameters.len().saturating_sub(reported)
}

fn grant(
    objects: &Objects,
    subjects: &[Subject],
    memories: &mut HashMap<NodeName, Memory>,
    outcomes: &mut [Outcome],
    may: bool,
) {
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
            changing: outcome.changing,
            state: subject
                .report
                .as_ref()
                .map_or(State::Unknown, |report| report.truth.into()),
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
        if may
            && next.grant.contains(&subject.name)
            && let Some(Ok(values)) = outcome.values.as_deref()
        {
            let memory = memories.entry(subject.node.clone()).or_default();
            memory.granted = Some(values.parameters.clone());
            memory.changing = Some(true);
            (outcome.progress, outcome.changing) = (Progress::Underway, true);
            continue;
        }
        let first = |of: &BTreeMap<String, String>| profiles.iter().find_map(|profile| of.get(*profile)).cloned();
        outcome.stopped_by = first(&next.stopped);
        outcome.waits_for = first(&next.busy).filter(|other| *other != subject.name);
    }
}

fn finish(objects: &Objects, subject: &Subject, memory: &mut Memory, outcome: &mut Outcome) {
    let unmade = || Some(RulesDigest(UNMADE.to_owned()));
    let selected = !outcome.active.is_empty() || !outcome.profiles.is_empty();
    let made = memory.made.as_mut().filter(|_| outcome.fence.is_some());
    let Some(made) = made else {
        // Without its airframe it is not known which of them hold for it.
        outcome.named = if selected || !objects.is_empty() {
            unmade()
        } else {
            None
        };
        return;
    };
    if made.fence.is_err() {
        outcome.named = unmade();
        return;
    }
    // All that is wanted, also values that it may not set yet, as others go first.
    outcome.named = match &*made.values {
        _ if objects.has_unreadable_selector() => unmade(),
        _ if !selected => None,
        Ok(values) if values.waiting.is_empty() => Some(made.all.digest.clone()),
        Ok(_) | Err(_) => unmade(),
    };
    if let Some(granted) = &memory.granted {
        let rules = made.with(granted);
        let held = subject.report.as_ref().and_then(|report| report.rules.held.as_ref());
        let held_others = held.is_some_and(|held| *held != rules.digest);
        if selected || held_others || !rules.is_empty() {
            let owned = rules
                .parameters
                .iter()
                .filter(|wanted| made.is_own_beside(&wanted.name, granted));
            outcome.own = owned.map(|wanted| wanted.name.clone()).collect();
            outcome.send = Some(rules);
            outcome.granted = Some(granted.clone());
        }
    }
}

#[cfg(test)]
mod tests;
