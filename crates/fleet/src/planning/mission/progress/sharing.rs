//! The costly questions of a step: how work is cut among vehicles, and how a part is flown.
//!
//! A step gives nothing that depends on a missing answer; the next one does. So answers may be found in parallel: the cost depends on the
//! size of the work. The key of an answer is all that it depends on.

use super::{Observed, Part, Progress, Wanted, step_by};
use crate::planning::mission::PlannedFlight;
use crate::planning::mission::share::{CannotShare, Flier};
use crate::planning::mission::stretch::Stretches;
use crate::planning::mission::track::Work;
use model::units::{Meters, Wgs84};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Most corners of an area whose work is shared quickly.
const QUICK_CORNERS: usize = 16;

/// Most points of the track, times vehicles, that are timed quickly.
const QUICK_POINTS: usize = 4096;

/// Parts by number of the flier.
type Cut = Result<Vec<(usize, Stretches)>, CannotShare>;

type Flight = Result<Arc<PlannedFlight>, CannotShare>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered;

/// With the work, all that the answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Question {
    Cut(Vec<u64>),
    Flight(Vec<u64>),
}

impl Question {
    fn cut(left: &Stretches, fliers: &[Flier]) -> Self {
        let seconds = |time: std::time::Duration| time.as_secs_f64().to_bits();
        let flier = |one: &Flier| {
            let speed = one.speed.map_or(u64::MAX, |speed| speed.0.to_bits());
            let [latitude, longitude] = place(one.start);
            [latitude, longitude, speed, one.endurance.map_or(u64::MAX, seconds)]
        };
        let fliers = fliers.iter().flat_map(flier);
        Self::Cut(positions(left).chain([u64::MAX]).chain(fliers).collect())
    }

    fn flight(part: &Stretches, start: Wgs84, raised: Meters) -> Self {
        let [latitude, longitude] = place(start);
        let from = [latitude, longitude, raised.0.to_bits()];
        Self::Flight(from.into_iter().chain(positions(part)).collect())
    }
}

const fn place(at: Wgs84) -> [u64; 2] {
    [at.latitude_deg.to_bits(), at.longitude_deg.to_bits()]
}

fn positions(stretches: &Stretches) -> impl Iterator<Item = u64> {
    let all = stretches.all().iter();
    all.flat_map(|one| [one.from.to_bits(), one.to.to_bits()])
}

#[derive(Clone, Debug, Default)]
pub struct Answers {
    cuts: HashMap<Question, Cut>,
    flights: HashMap<Question, Flight>,
}

#[derive(Debug)]
pub struct Sharer<'a> {
    work: &'a Work,
    by: By<'a>,
}

#[derive(Debug)]
enum By<'a> {
    Reckoning,
    /// The same, and all answers are kept.
    Keeping(RefCell<Answers>),
    /// None is computed; collects the questions without an answer.
    Known(&'a Answers, RefCell<BTreeSet<Question>>),
}

impl<'a> Sharer<'a> {
    pub const fn at_once(work: &'a Work) -> Self {
        Self {
            work,
            by: By::Reckoning,
        }
    }

    pub const fn of_known(work: &'a Work, answers: &'a Answers) -> Self {
        Self {
            work,
            by: By::Known(answers, RefCell::new(BTreeSet::new())),
        }
    }

    fn keeping(work: &'a Work) -> Self {
        Self {
            work,
            by: By::Keeping(RefCell::default()),
        }
    }

    pub const fn work(&self) -> &'a Work {
        self.work
    }

    /// The questions without an answer; `None` when all had one.
    pub fn lacks(&self) -> Option<String> {
        let By::Known(_, lacks) = &self.by else { return None };
        let lacks = lacks.borrow();
        let mut hasher = DefaultHasher::new();
        lacks.hash(&mut hasher);
        (!lacks.is_empty()).then(|| format!("{:016x}", hasher.finish()))
    }

    /// See [`Work::cut`].
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn cut(&self, left: &Stretches, fliers: &[Flier]) -> Result<Cut, Unanswered> {
        let reckon = || self.work.cut(left, fliers);
        self.answer(
            || Question::cut(left, fliers),
            |answers| &mut answers.cuts,
            |answers| &answers.cuts,
            reckon,
        )
    }

    /// See [`Work::flight`].
    ///
    /// # Errors
    /// [`Unanswered`].
    pub fn flight(&self, part: &Stretches, start: Wgs84, raised: Meters) -> Result<Flight, Unanswered> {
        let question = || Question::flight(part, start, raised);
        let reckon = || self.work.flight(part, start, raised).map(Arc::new);
        self.answer(
            question,
            |answers| &mut answers.flights,
            |answers| &answers.flights,
            reckon,
        )
    }

    fn answer<T: Clone>(
        &self,
        question: impl FnOnce() -> Question,
        kept: impl FnOnce(&mut Answers) -> &mut HashMap<Question, T>,
        known: impl FnOnce(&Answers) -> &HashMap<Question, T>,
        reckon: impl FnOnce() -> T,
    ) -> Result<T, Unanswered> {
        match &self.by {
            By::Reckoning => Ok(reckon()),
            By::Keeping(answers) => {
                let mut answers = answers.borrow_mut();
                Ok(kept(&mut answers).entry(question()).or_insert_with(reckon).clone())
            }
            By::Known(answers, lacks) => {
                let question = question();
                let answer = known(answers).get(&question).cloned();
                if answer.is_none() {
                    lacks.borrow_mut().insert(question);
                }
                answer.ok_or(Unanswered)
            }
        }
    }
}

#[derive(Clone, Debug)]
pub enum Request {
    /// How these parts are flown, each raised by so much.
    Flights(Vec<(Part, Meters)>),
    /// All questions of a step, and the flights of the parts that it gives.
    Step {
        wanted: Wanted,
        before: Progress,
        drones: Vec<Observed>,
        planned: BTreeSet<String>,
    },
}

/// Slow: answers what is requested about `work`.
pub fn answer(work: &Work, request: &Request) -> Answers {
    let sharer = Sharer::keeping(work);
    match request {
        Request::Flights(parts) => {
            for (part, raised) in parts {
                let _kept = sharer.flight(&part.stretches, part.start, *raised);
            }
        }
        Request::Step {
            wanted,
            before,
            drones,
            planned,
        } => {
            let next = step_by(&sharer, wanted, before, drones);
            let has_flight = |part: &Part| {
                let same = before.part(&part.drone).filter(|_| planned.contains(&part.drone));
                same.is_some_and(|before| before.stretches == part.stretches && before.start == part.start)
            };
            for part in next.progress.parts.iter().filter(|part| !has_flight(part)) {
                let _kept = sharer.flight(&part.stretches, part.start, part.raised(wanted.layer_height));
            }
        }
    }
    match sharer.by {
        By::Keeping(answers) => answers.into_inner(),
        By::Reckoning | By::Known(..) => Answers::default(),
    }
}

impl Work {
    /// Whether sharing it among so many vehicles takes no time, whatever its shape.
    pub fn is_quick(&self, vehicles: usize) -> bool {
        let corners = self.area().map_or(0, |area| {
            let polygon = area.polygon();
            let rings = std::iter::once(polygon.exterior()).chain(polygon.interiors());
            rings.map(|ring| ring.0.len().saturating_sub(1)).sum()
        });
        corners <= QUICK_CORNERS && self.track().points().len().saturating_mul(vehicles.max(1)) <= QUICK_POINTS
    }
}
