//! The course of a Mission: which Drone flies what, what is flown, and what follows.
//!
//! Owns: [`step`], from what is written down and observed of its Drones to the next [`Progress`] and to Drones that are made and deleted.
//! Must not: read a clock, know Kubernetes, or count as flown what no vehicle has reported.
//!
//! One part of the work is one flight of one Drone. It belongs to its Drone until that has flown it, or leaves:
//!
//!   left --cut--> part of a Drone --reached by its account--> flown
//!                       └── the Drone leaves, and the rest of the part --> left
//!
//! The work is cut among Drones that have vehicles: with a part kept for one without, the vehicle that is there would take off for that
//! part once more, and for half of the rest again. A Drone that joins while all is given takes over the later part of another's rest
//! (`joining.rs`). Only where all is flown again and again, and none joins before the next time, a part is kept that is worth a flight.
//!
//! So each position of the track is flown, in a Drone's part, or left, and nothing is lost whatever happens to a Drone (invariant 13).
//! Where vehicles fly in layers, one that is to leave soon is relieved first (`relief.rs`): the part that it hands over then belongs to
//! both.

mod joining;
mod refused;
mod relief;
pub mod sharing;

pub use refused::{Refused, rest};
pub use sharing::{Answers, Sharer, Unanswered};

use super::share::{CannotShare, Flier, MAX_FLIERS};
use super::stretch::{Stretch, Stretches};
use super::track::Work;
use crate::planning::population::{Existing, creations, most_of_mission};
use model::ids::NodeName;
use model::plan::flight::MOST_ITEMS;
use model::plan::{PassedBeside, PlanDigest};
use model::units::{Meters, Wgs84};
use std::collections::BTreeSet;

/// Time that another vehicle must save to be worth a flight.
const MIN_GAIN_S: f64 = 120.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub drone: String,
    pub stretches: Stretches,
    pub flown: Stretches,
    pub start: Wgs84,
    /// Number of the Mission's vehicles that fly lower.
    pub layer: u8,
    pub relief: Option<Relief>,
    /// How many times all is flown before this part.
    pub ahead: u8,
    /// The plan that it was given with; `None`: none yet, or from an older coordinator.
    pub plan: Option<PartPlan>,
    /// By the flight of its present plan.
    pub passed_beside: PassedBeside,
}

/// The plan of a part as it was given: a fact, while the Mission's spec and the planner may change.
#[derive(Clone, Debug, PartialEq)]
pub struct PartPlan {
    pub digest: PlanDigest,
    /// Above the altitude of the work.
    pub raised: Meters,
}

impl Part {
    /// Above the altitude of the work: as written down, or for a part without a plan by the present `layer_height`.
    pub fn raised(&self, layer_height: Meters) -> Meters {
        let new = || Meters(layer_height.0 * f64::from(self.layer));
        self.plan.as_ref().map_or_else(new, |plan| plan.raised)
    }

    /// Writes down the plan `digest` made now. A vehicle that may be in the air keeps the plan that it was given, or none.
    ///
    /// # Errors
    /// [`NotGiven`].
    pub fn give(&mut self, digest: PlanDigest, raised: Meters, carrier: Carrier<'_>) -> Result<(), NotGiven> {
        let given = match (&self.plan, carrier) {
            (_, Carrier::Down) => None,
            (Some(plan), Carrier::Unknown | Carrier::Up(_)) => Some(&plan.digest),
            (None, Carrier::Up(held)) => held,
            (None, Carrier::Unknown) => return Err(NotGiven::Unknown),
        };
        if given.is_some_and(|given| *given != digest) {
            return Err(NotGiven::Otherwise);
        }
        self.plan = Some(PartPlan { digest, raised });
        Ok(())
    }
}

/// State of a part's vehicle, as far as its plan depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier<'a> {
    Down,
    Unknown,
    /// In the air, or about to be; with the plan that its agent holds.
    Up(Option<&'a PlanDigest>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGiven {
    /// Its plan is known once its agent is received.
    #[error("its agent is not connected")]
    Unknown,
    /// Another version of the coordinator made it, or an older one from a value that has changed since.
    #[error(
        "the plan that it flies cannot be made again: another version of the coordinator made it, or spec.altitudeStepMeters has changed \
         since; it comes home, and the rest is planned anew"
    )]
    Otherwise,
}

/// The Drone that takes over before the one with the part leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Relief {
    pub drone: String,
    /// The leaving Drone flies up to this position in any case.
    pub from: f64,
    /// It has joined, and has a place of its own among those that fly at once.
    pub beside: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Times that all of the work was flown.
    pub completed: u32,
    /// This time, by Drones without a part by now.
    pub flown: Stretches,
    pub parts: Vec<Part>,
    /// Vehicles that failed to fly their parts.
    pub failures: u32,
    pub refused: Vec<Refused>,
    /// Sum over plans that are not flown any more.
    pub passed_beside: PassedBeside,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    pub parallelism: usize,
    /// `None`: for ever.
    pub completions: Option<u32>,
    pub backoff_limit: u32,
    /// Work that a relief flies once more, seconds.
    pub overlap_seconds: f64,
    /// Between neighboring layers.
    pub layer_height: Meters,
    pub halt: Option<Halt>,
    /// Some that could be given a part are not known yet: nothing is cut.
    pub gathering: bool,
    /// No Mission of a higher priority waits for vehicles.
    pub may_create: bool,
    /// A ground order covers Drones that are made now: the work of grounded ones waits for them, and for no others.
    pub grounded: bool,
}

impl Wanted {
    fn flies_again(&self, progress: &Progress) -> bool {
        self.completions
            .is_none_or(|completions| progress.completed.saturating_add(1) < completions)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    Suspended,
    Deadline,
    Deleted,
    Finished,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    /// For a vehicle, or for its first report.
    Waits,
    /// On the ground at this place, and can be given a part.
    Fit(Wgs84),
    /// It may not fly its part from its place on the ground, or not to its end any more: why.
    Unfit(String),
    Busy,
    Finished,
    /// Its plan ended, and not all of it was reached.
    Short,
    Tiring,
    Tired,
    /// Its node is drained; or it has not taken off yet, and its node is cordoned or gone.
    Drained,
    /// A failsafe brings it down, its own or its autopilot's.
    Diverted,
    /// Its autopilot refused its plan, with this text.
    Refused(String),
    /// It has landed before the end of its part, and stays down.
    Over,
    /// By a person's order.
    Grounded,
    Taken,
    /// Silent for long.
    Lost,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    pub drone: String,
    pub node: Option<NodeName>,
    pub leaving: bool,
    pub doing: Doing,
    /// Of its part, by its vehicle's own account.
    pub flown: Stretches,
    /// The part behind it of its present leg, which is not flown yet.
    pub underway: Stretches,
    /// Whether it has reached the begin of its work.
    pub begun: bool,
    /// By the flight of its plan; `None`: not known.
    pub passed_beside: Option<PassedBeside>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    Flown,
    NotNeeded,
    Halted,
    /// Another has arrived, and flies on from there.
    Relieved,
    Tired,
    /// Its node is drained or cordoned.
    Drained,
    Diverted,
    Over,
    /// Its plan ended, and not all of it was reached.
    Short,
    Refused(String),
    Unfit(String),
    Grounded,
    Taken,
    Lost,
    Gone,
}

impl Why {
    pub fn text(&self) -> String {
        match self {
            Self::Flown => "has flown its part".to_owned(),
            Self::NotNeeded => "is not needed any more".to_owned(),
            Self::Halted => "comes home, as the Mission does not go on".to_owned(),
            Self::Relieved => "is relieved by another that has arrived".to_owned(),
            Self::Tired => "is relieved: its battery is near the reserve".to_owned(),
            Self::Drained => "leaves, as its node is drained, cordoned or gone".to_owned(),
            Self::Diverted => "is brought down by a failsafe".to_owned(),
            Self::Over => "has landed before the end of its part".to_owned(),
            Self::Short => "came to the end of its plan and has not reached all of it".to_owned(),
            Self::Refused(words) => format!("has an autopilot that refuses the plan: {words}"),
            Self::Unfit(words) => format!("may not fly on: {words}"),
            Self::Grounded => "is kept on the ground by an order".to_owned(),
            Self::Taken => "is flown by somebody else".to_owned(),
            Self::Lost => "is not observed any more".to_owned(),
            Self::Gone => "is gone".to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Progressing,
    /// All was flown, as often as requested.
    Complete,
    /// A person has to do something else first.
    Failed(Failure),
    Suspended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    BackoffLimit,
    Deadline,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub progress: Progress,
    pub create: usize,
    pub delete: Vec<(String, Why)>,
    pub gave_up: Vec<(String, Why)>,
    pub outcome: Outcome,
    /// Why nothing was cut, if the vehicles' places on the ground are the reason.
    pub cannot: Option<CannotShare>,
    /// Something is not given yet, as its sharing or flight was not found yet.
    pub is_waiting: bool,
}

impl Progress {
    /// This time, including parts that are not complete.
    pub fn all_flown(&self) -> Stretches {
        self.now().fold(self.flown.clone(), |all, part| all.and(&part.flown))
    }

    fn now(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.ahead == 0)
    }

    pub fn left(&self, work: &Work) -> Stretches {
        let taken = self
            .now()
            .fold(self.flown.clone(), |all, part| all.and(&part.stretches));
        work.trimmed(&work.whole().without(&taken))
    }

    pub fn not_flown(&self, work: &Work) -> Stretches {
        work.trimmed(&work.whole().without(&self.all_flown()))
    }

    /// Sum over all plans, including parts that are not complete.
    pub fn all_passed_beside(&self) -> PassedBeside {
        let parts = self.parts.iter();
        parts.fold(self.passed_beside, |all, part| all.and(part.passed_beside))
    }

    /// Takes what the parts have passed beside over from them, before they are given up.
    pub fn give_up_parts(&mut self) {
        self.passed_beside = self.all_passed_beside();
        self.parts.clear();
    }

    pub fn part(&self, drone: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.drone == drone)
    }
}

/// What becomes of a Drone's part: `None`, it keeps it; or why not, whether that is a failure, and whether the Drone is deleted.
fn fate(part: &Part, seen: Option<&Observed>, layers: bool) -> Option<(Why, bool, bool)> {
    let Some(seen) = seen else {
        return Some((Why::Gone, false, false));
    };
    let in_vain = part.flown.is_empty();
    match &seen.doing {
        Doing::Finished => Some((Why::Flown, false, true)),
        Doing::Short => Some((Why::Short, true, true)),
        Doing::Over => Some((Why::Over, in_vain, true)),
        Doing::Refused(words) => Some((Why::Refused(words.clone()), true, true)),
        Doing::Lost => Some((Why::Lost, true, false)),
        Doing::Diverted => Some((Why::Diverted, in_vain, false)),
        Doing::Grounded => Some((Why::Grounded, false, false)),
        Doing::Taken => Some((Why::Taken, false, false)),
        _ if seen.leaving => Some((Why::Gone, false, false)),
        Doing::Tired => Some((Why::Tired, in_vain, true)),
        Doing::Unfit(words) => Some((Why::Unfit(words.clone()), false, true)),
        // Another comes first where there is room for both.
        Doing::Drained if layers && seen.begun => None,
        Doing::Drained => Some((Why::Drained, false, true)),
        Doing::Waits | Doing::Fit(_) | Doing::Busy | Doing::Tiring => None,
    }
}

/// The next step of the Mission with this `work`, after `before`.
pub fn step(work: &Work, wanted: &Wanted, before: &Progress, drones: &[Observed]) -> Step {
    step_by(&Sharer::at_once(work), wanted, before, drones)
}

pub fn step_by(sharer: &Sharer<'_>, wanted: &Wanted, before: &Progress, drones: &[Observed]) -> Step {
    let work = sharer.work();
    let mut next = Step {
        progress: before.clone(),
        create: 0,
        delete: Vec::new(),
        gave_up: Vec::new(),
        outcome: Outcome::Progressing,
        cannot: None,
        is_waiting: false,
    };
    take_in(&mut next, wanted, drones);
    relief::let_go(&mut next, work, drones);
    if wanted
        .completions
        .is_some_and(|completions| next.progress.completed >= completions)
    {
        next.outcome = Outcome::Complete;
    }
    let all_flown = next.progress.now().next().is_none() && next.progress.left(work).is_empty();
    if all_flown && next.outcome == Outcome::Progressing {
        next.progress.completed = next.progress.completed.saturating_add(1);
        // A complete Mission shows what was flown of the last round.
        if wanted
            .completions
            .is_some_and(|completions| next.progress.completed >= completions)
        {
            next.outcome = Outcome::Complete;
        } else {
            next.progress.flown = Stretches::default();
            for part in &mut next.progress.parts {
                part.ahead = part.ahead.saturating_sub(1);
            }
        }
    }
    if next.outcome == Outcome::Progressing {
        next.outcome = match wanted.halt {
            _ if next.progress.failures > wanted.backoff_limit => Outcome::Failed(Failure::BackoffLimit),
            Some(Halt::Deadline) => Outcome::Failed(Failure::Deadline),
            Some(Halt::Suspended) => Outcome::Suspended,
            Some(Halt::Deleted | Halt::Finished) | None => Outcome::Progressing,
        };
    }
    if next.outcome != Outcome::Progressing || wanted.halt.is_some() {
        halt(&mut next, drones);
        return next;
    }
    give(&mut next, sharer, wanted, drones);
    next.is_waiting = sharer.lacks().is_some();
    next
}

fn take_in(next: &mut Step, wanted: &Wanted, drones: &[Observed]) {
    let progress = &mut next.progress;
    let parts = std::mem::take(&mut progress.parts);
    for mut part in parts {
        let seen = drones.iter().find(|seen| seen.drone == part.drone);
        if let Some(seen) = seen {
            refused::update(&mut progress.refused, seen);
            part.flown = part.flown.and(&seen.flown.within(&part.stretches));
            if let Some(beside) = seen.passed_beside {
                // A lower number is of another plan.
                if beside.places < part.passed_beside.places {
                    progress.passed_beside = progress.passed_beside.and(part.passed_beside);
                }
                part.passed_beside = beside;
            }
        }
        let Some((why, failed, delete)) = fate(&part, seen, wanted.layer_height.0 > 0.0) else {
            progress.parts.push(part);
            continue;
        };
        if part.ahead == 0 {
            progress.flown = progress.flown.and(&part.flown);
        }
        progress.passed_beside = progress.passed_beside.and(part.passed_beside);
        progress.failures = progress.failures.saturating_add(u32::from(failed));
        if delete && seen.is_some_and(|seen| !seen.leaving) {
            next.delete.push((part.drone.clone(), why.clone()));
        }
        if why != Why::Flown {
            next.gave_up.push((part.drone, why));
        }
    }
}

fn halt(next: &mut Step, drones: &[Observed]) {
    next.progress.flown = next.progress.all_flown();
    next.progress.give_up_parts();
    let known: BTreeSet<&str> = next.delete.iter().map(|(drone, _)| drone.as_str()).collect();
    let others = drones
        .iter()
        .filter(|seen| !seen.leaving && !known.contains(seen.drone.as_str()));
    let others: Vec<_> = others.map(|seen| (seen.drone.clone(), Why::Halted)).collect();
    next.delete.extend(others);
}

/// Gives the rest to Drones that are there, and asks for more where there are too few.
fn give(next: &mut Step, sharer: &Sharer<'_>, wanted: &Wanted, drones: &[Observed]) {
    let work = sharer.work();
    let has_part = |progress: &Progress, drone: &str| progress.part(drone).is_some();
    let deleted: BTreeSet<String> = next.delete.iter().map(|(drone, _)| drone.clone()).collect();
    let idle = drones
        .iter()
        .filter(|seen| !seen.leaving && !deleted.contains(&seen.drone) && !has_part(&next.progress, &seen.drone));
    let idle: Vec<&Observed> = idle.collect();
    // In the air or done, and without a part: it comes home.
    for seen in &idle {
        let why = match &seen.doing {
            Doing::Busy | Doing::Tiring | Doing::Finished => Why::NotNeeded,
            Doing::Short => Why::Short,
            Doing::Tired => Why::Tired,
            Doing::Over => Why::Over,
            Doing::Drained => Why::Drained,
            Doing::Refused(words) => Why::Refused(words.clone()),
            Doing::Waits
            | Doing::Fit(_)
            | Doing::Unfit(_)
            | Doing::Diverted
            | Doing::Grounded
            | Doing::Taken
            | Doing::Lost => continue,
        };
        next.delete.push((seen.drone.clone(), why));
    }
    let fit: Vec<(&str, Wgs84)> = idle
        .iter()
        .filter_map(|seen| match seen.doing {
            Doing::Fit(home) => Some((seen.drone.as_str(), home)),
            _ => None,
        })
        .collect();
    let free = wanted.parallelism.saturating_sub(relief::in_place(&next.progress));
    let left = next.progress.left(work);
    if !left.is_empty() && free > 0 && !fit.is_empty() && !wanted.gathering {
        let first = fit.get(..free.min(fit.len())).unwrap_or_default();
        let soon = idle
            .iter()
            .filter(|seen| seen.doing == Doing::Waits && seen.node.is_some());
        let count = (first.len() + soon.count()).min(free);
        match shares(sharer, wanted, (&next.progress, &left), first, (count, free)) {
            Ok(Ok(parts)) => {
                for (drone, start, stretches) in parts {
                    next.progress.take(drone, start, stretches, 0);
                }
            }
            Ok(Err(why)) => next.cannot = Some(why),
            // Nothing is given: later the others would have other shares of the rest.
            Err(Unanswered) => {}
        }
    }
    let free_fit = fit.iter().filter(|(drone, _)| !has_part(&next.progress, drone));
    let mut free_fit: Vec<(String, Wgs84)> = free_fit.map(|(drone, at)| ((*drone).to_owned(), *at)).collect();
    let joiners = if wanted.gathering {
        0
    } else {
        joining::join(&mut next.progress, sharer, wanted, drones, &mut free_fit)
    };
    let reliefs = joiners + relief::give(&mut next.progress, sharer, wanted, drones, free_fit);
    let candidates = idle.iter().filter(|seen| {
        let waits = match seen.doing {
            Doing::Waits | Doing::Fit(_) | Doing::Unfit(_) => true,
            // Another would be kept on the ground as well.
            Doing::Grounded => wanted.grounded,
            _ => false,
        };
        waits && !has_part(&next.progress, &seen.drone)
    });
    let candidates: Vec<String> = candidates.map(|seen| seen.drone.clone()).collect();
    let free = wanted.parallelism.saturating_sub(relief::in_place(&next.progress));
    let left = !next.progress.left(work).is_empty();
    let needed = reliefs + if left { free } else { 0 };
    let asked = needed.saturating_sub(candidates.len());
    let surplus = candidates.into_iter().skip(needed);
    next.delete.extend(surplus.map(|drone| (drone, Why::NotNeeded)));
    if wanted.may_create {
        let going: BTreeSet<&str> = next.delete.iter().map(|(drone, _)| drone.as_str()).collect();
        let existing = drones.iter().map(|seen| Existing {
            has_vehicle: seen.node.is_some(),
            leaving: seen.leaving || going.contains(seen.drone.as_str()),
            lost: seen.doing == Doing::Lost,
        });
        next.create = creations(asked, existing, most_of_mission(wanted.parallelism));
    }
}

impl Progress {
    /// In the lowest free layer.
    fn take(&mut self, drone: String, start: Wgs84, stretches: Stretches, ahead: u8) {
        self.parts.push(Part {
            drone,
            stretches,
            flown: Stretches::default(),
            start,
            layer: free_layer(self),
            relief: None,
            ahead,
            plan: None,
            passed_beside: PassedBeside::default(),
        });
    }
}

fn free_layer(progress: &Progress) -> u8 {
    let taken: BTreeSet<u8> = progress.parts.iter().map(|part| part.layer).collect();
    (0..u8::MAX).find(|layer| !taken.contains(layer)).unwrap_or(u8::MAX)
}

type Given = (String, Wgs84, Stretches);

fn fliers(fit: &[(&str, Wgs84)], count: usize) -> Vec<Flier> {
    let flier = |start: &Wgs84| Flier {
        start: *start,
        speed: None,
        endurance: None,
    };
    // Missing vehicles are assumed to start where one that is there starts.
    let all = fit.iter().cycle().take(count.min(MAX_FLIERS));
    all.map(|(_, start)| flier(start)).collect()
}

/// The shares of `left`, cut among the first number of vehicles, or among the second where that is worth the flights.
fn shares(
    sharer: &Sharer<'_>,
    wanted: &Wanted,
    (progress, left): (&Progress, &Stretches),
    fit: &[(&str, Wgs84)],
    (count, free): (usize, usize),
) -> Result<Result<Vec<Given>, CannotShare>, Unanswered> {
    let again = wanted.flies_again(progress);
    let count = if again && gain(sharer, left, fit, (count, free))? >= MIN_GAIN_S {
        free
    } else {
        count
    };
    let parts = match cut(sharer, wanted, (left, &progress.flown), fit, count)? {
        Ok(parts) => parts,
        Err(why) => return Ok(Err(why)),
    };
    let mut given = Vec::with_capacity(parts.len());
    for (drone, start, stretches) in parts {
        given.push((drone, start, fitting(sharer, &stretches, start)?));
    }
    Ok(Ok(given))
}

/// Time that the second number of vehicles saves over the first, seconds.
fn gain(
    sharer: &Sharer<'_>,
    left: &Stretches,
    fit: &[(&str, Wgs84)],
    (few, many): (usize, usize),
) -> Result<f64, Unanswered> {
    let longest = |count: usize| -> Result<f64, Unanswered> {
        let parts = sharer.cut(left, &fliers(fit, count))?.unwrap_or_default();
        let seconds = parts.iter().map(|(_, part)| sharer.work().seconds(part));
        Ok(seconds.fold(0.0_f64, f64::max))
    };
    Ok(longest(few)? - longest(many)?)
}

/// Cuts `left` among `fit`, and as many later ones as make `count`. Behind what another has `flown`, the next begins a little earlier.
fn cut(
    sharer: &Sharer<'_>,
    wanted: &Wanted,
    (left, flown): (&Stretches, &Stretches),
    fit: &[(&str, Wgs84)],
    count: usize,
) -> Result<Result<Vec<Given>, CannotShare>, Unanswered> {
    let work = sharer.work();
    #[expect(clippy::float_cmp, reason = "positions are kept in steps that are exact")]
    let taken_over = |one: &Stretch| flown.all().iter().any(|before| before.to == one.from);
    let begun = |one: &Stretch| {
        let one = Stretches::new([*one]);
        if one.all().iter().any(taken_over) {
            work.from_earlier(&one, wanted.overlap_seconds)
        } else {
            one
        }
    };
    let given = |(number, part): (usize, Stretches)| {
        let (drone, start) = fit.get(number)?;
        let part = part
            .all()
            .iter()
            .fold(Stretches::default(), |all, one| all.and(&begun(one)));
        Some(((*drone).to_owned(), *start, part))
    };
    let parts = sharer.cut(left, &fliers(fit, count))?;
    Ok(parts.map(|parts| parts.into_iter().filter_map(given).collect()))
}

/// As much of `part`, from its beginning, as fits into one plan.
fn fitting(sharer: &Sharer<'_>, part: &Stretches, start: Wgs84) -> Result<Stretches, Unanswered> {
    let mut part = part.clone();
    for _ in 0..16 {
        let flight = sharer.flight(&part, start, Meters(0.0))?;
        if flight.is_ok_and(|flight| flight.items.len() <= MOST_ITEMS) {
            break;
        }
        let Some(half) = first_half(sharer.work(), &part) else {
            break;
        };
        part = half;
    }
    Ok(part)
}

fn first_half(work: &Work, part: &Stretches) -> Option<Stretches> {
    let (first, last) = (part.all().first()?, part.all().last()?);
    let middle = f64::midpoint(first.from, last.to).floor().max(first.from + 1.0);
    let before = Stretch {
        from: first.from,
        to: middle,
    };
    let half = work.trimmed(&part.within(&Stretches::new([before])));
    (!half.is_empty() && half != *part).then_some(half)
}

#[cfg(test)]
mod tests;
