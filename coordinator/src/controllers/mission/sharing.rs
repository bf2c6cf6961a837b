//! How the work of a Mission is shared: computed at once where that takes no time, else in the pool.

use super::Controller;
use super::memory::Memory;
use super::observe::{Subject, gathering};
use super::pool::{Asked, Done, Place, Task};
use super::work::Job;
use crate::cluster::world::uid;
use fleet::planning::mission::progress::sharing::Request;
use fleet::planning::mission::progress::{Doing, Observed, Part, Sharer, Step, Wanted, step_by};
use std::sync::Arc;
use tokio::time::Instant;

pub(super) struct Followed {
    pub(super) next: Step,
    pub(super) drones: Vec<Observed>,
    pub(super) rest: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum NotFollowed {
    /// Flights that another leader gave its Drones are not known yet, so their reports cannot be judged.
    FlightsWait(Place),
    Failed,
}

impl Controller {
    /// The next step. Airborne vehicles go on by the plans that they have until others are found.
    pub(super) fn follow(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        (job, wanted): (&Job, &mut Wanted),
        now: Instant,
    ) -> Result<Followed, NotFollowed> {
        loop {
            let answers = Arc::clone(&memory.answers);
            let sharer = if job.work.is_quick(wanted.parallelism) {
                Sharer::at_once(&job.work)
            } else {
                Sharer::of_known(&job.work, &answers)
            };
            self.plan_written(subject, memory, (&sharer, &*wanted), now);
            if let Some(lacks) = sharer.lacks() {
                let unplanned = memory
                    .progress
                    .parts
                    .iter()
                    .filter(|part| !memory.has_judged(&part.drone));
                let unplanned = unplanned.map(|part: &Part| (part.clone(), part.raised(wanted.layer_height)));
                let request = Request::Flights(unplanned.collect());
                match self.ask_for_answers(subject, memory, (job, lacks.as_str()), request, now) {
                    Some(Asked::Done(())) => continue,
                    Some(Asked::Waits(place)) => return Err(NotFollowed::FlightsWait(place)),
                    None => return Err(NotFollowed::Failed),
                }
            }
            let drones = self.observe(subject, memory, now);
            wanted.gathering = gathering(memory, &drones, now);
            let mut next = step_by(&sharer, wanted, &memory.progress, &drones);
            self.judge(subject, memory, (&sharer, &*wanted), &mut next.progress, now);
            let mut rest = None;
            if let Some(lacks) = sharer.lacks() {
                let start = |seen: &Observed| match seen.doing {
                    Doing::Fit(at) => Some((seen.drone.clone(), at)),
                    _ => None,
                };
                memory.starts = drones.iter().filter_map(start).collect();
                let known = memory.flights.keys().chain(memory.replanned.keys());
                let request = Request::Step {
                    wanted: *wanted,
                    before: memory.progress.clone(),
                    drones: drones.clone(),
                    planned: known.cloned().collect(),
                };
                match self.ask_for_answers(subject, memory, (job, lacks.as_str()), request, now) {
                    Some(Asked::Done(())) => continue,
                    Some(Asked::Waits(place)) => rest = Some(place),
                    None => return Err(NotFollowed::Failed),
                }
            } else {
                memory.starts.clear();
            }
            return Ok(Followed { next, drones, rest });
        }
    }

    /// Has answers found, and keeps them once they are there; `None`: the planner panicked.
    fn ask_for_answers(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        (job, lacks): (&Job, &str),
        request: Request,
        now: Instant,
    ) -> Option<Asked<()>> {
        let of = (subject.namespace(), uid(subject.mission.as_ref()));
        let task = || Task::Sharing(Arc::clone(&job.work), Box::new(request.clone()));
        loop {
            match self.pool.ask(of, lacks, task, now) {
                Asked::Waits(place) => return Some(Asked::Waits(place)),
                // Of the work before an edit: it is asked for once more.
                Asked::Done(Done::Sharing(work, _)) if !Arc::ptr_eq(&work, &job.work) => {}
                Asked::Done(Done::Sharing(_, answers)) => {
                    memory.answers = answers?;
                    return Some(Asked::Done(()));
                }
                Asked::Done(_) => return None,
            }
        }
    }
}
