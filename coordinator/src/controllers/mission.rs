//! The Mission controller: has the work of Missions flown by Drones, and reports progress.
//!
//! Owns: reconciling all Missions; which plans are sent to agents and named in their orders ([`crate::controllers::plans`]); their Drones,
//! statuses and Events. Must not: decide ([`fleet::planning::mission::progress`] does), bind Drones, begin a write when another may lead by
//! then, or give a part to a Drone before that is in the status, from which another leader makes the same plans.

mod file;
mod flights;
mod lock;
mod memory;
mod observe;
mod planning;
pub mod pool;
pub mod reach;
mod round;
mod sharing;
pub mod status;
mod turns;
pub mod work;
mod writes;

use crate::cluster::api::ApiError;
use crate::cluster::events::Note;
use crate::cluster::key::Key;
use crate::cluster::retry::Failures;
use crate::cluster::watching;
use crate::cluster::world::{Change, uid};
use crate::controllers::ORPHAN;
use crate::controllers::facts::Observer;
use crate::controllers::plans::Resting;
use crate::controllers::swarm::expectations::Expectations;
use crate::ground;
use crate::leadership::leading::Leadership;
use crate::leadership::periodic::Periodic;
use crds::{Mission, labels};
use file::Reader;
use fleet::planning::mission::fairness::Rounds;
use fleet::planning::mission::progress::{Halt, Part, Progress, Step, Wanted, Why, rest};
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use lock::lock;
use memory::Memory;
use observe::{Subject, waits};
use planning::running;
use pool::{Asked, Pool};
use round::Turn;
use sharing::{Followed, NotFollowed};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use work::Job;
use writes::build;

/// The name of no Drone: whether an order covers a new Drone does not depend on its name.
const NEW: &str = "new";

const MIN_PAUSE: Duration = Duration::from_millis(100);

struct Controller {
    observer: Observer,
    missions: Store<Mission>,
    expectations: Expectations,
    memories: HashMap<String, Memory>,
    failures: Failures<Key>,
    pool: Pool,
    reader: Mutex<Reader>,
    rounds: Mutex<Rounds>,
}

#[derive(Debug, thiserror::Error)]
enum ReconcileError {
    #[error("another coordinator may lead, so nothing is written until the Lease is renewed")]
    MayNotAct,
    #[error(transparent)]
    Api(#[from] ApiError),
}

pub fn start(observer: &Observer, tasks: &mut JoinSet<()>) {
    let writer = Writer::<Mission>::default();
    let Leadership { ending, loops, .. } = observer.leadership.clone();
    let controller = Controller {
        observer: observer.clone(),
        missions: writer.as_reader(),
        expectations: Expectations::default(),
        memories: HashMap::new(),
        failures: Failures::default(),
        pool: Pool::default(),
        reader: Mutex::default(),
        rounds: Mutex::default(),
    };
    let api = Api::<Mission>::all(observer.cluster.client());
    let config = watcher::Config::default().timeout(watching::WATCH_SECONDS);
    let ready = Arc::clone(&controller.pool.ready);
    let wake = move |change: Change<Mission>| {
        if matches!(&change, Change::Is(mission) if is_unserved(mission)) {
            ready.notify_one();
        }
    };
    tasks.spawn(watching::follow(api, config, Some(writer), ending.clone(), wake));
    tasks.spawn(async move {
        let filled = ending.run_until_cancelled(controller.missions.wait_until_ready()).await;
        // The store is dropped with its watch only.
        if filled.is_none_or(|filled| filled.is_err()) {
            return;
        }
        loops.run(controller).await;
    });
}

impl Periodic for Controller {
    const NAME: &'static str = "missions";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self) -> Result<(), ApiError> {
        self.reconcile_all().await;
        Ok(())
    }

    /// Done where some were put off, one was edited, or a plan that was waited for is there.
    async fn woken(&mut self) {
        tokio::time::sleep(MIN_PAUSE).await;
        if !lock(&self.rounds).has_put_off() {
            self.pool.ready.notified().await;
        }
    }
}

impl Controller {
    fn acts(&self) -> bool {
        self.observer.leadership.state.acts()
    }

    async fn reconcile(&self, turn: &mut Turn<'_>, now: Instant) -> Result<(), ReconcileError> {
        let subject = turn.subject;
        let mission = &subject.mission;
        let id = uid(mission.as_ref());
        let guarded = mission.finalizers().iter().any(|f| f == labels::DRONES_FINALIZER);
        if mission.metadata.deletion_timestamp.is_some() {
            if !guarded {
                return Ok(());
            }
            let orphaning = mission.finalizers().iter().any(|f| f == ORPHAN);
            let expected = self.expectations.expects_creations(id, now);
            if orphaning || (subject.drones.is_empty() && !expected) {
                self.expectations.forget(id);
                return self
                    .set_finalizers(mission, |f| f.retain(|f| f != labels::DRONES_FINALIZER))
                    .await;
            }
        } else if !guarded {
            return self
                .set_finalizers(mission, |f| f.push(labels::DRONES_FINALIZER.to_owned()))
                .await;
        }
        let wall = self.observer.leadership.state.wall();
        if self.is_to_go(subject, wall) {
            return self.remove(mission).await;
        }
        let is_known = turn.memory.is_some();
        let read = match self.read_file(mission, turn.memory.as_ref(), now) {
            Ok(None) => None,
            Ok(Some(Asked::Done(file))) => Some((file, now)),
            // The work that it has begun by goes on meanwhile.
            Ok(Some(Asked::Waits(_))) if is_known => None,
            Err(error) => {
                self.let_come_home(subject, wall).await?;
                return Err(error.into());
            }
            Ok(Some(Asked::Waits(place))) => {
                let waits = place.text("its mission file");
                return self.say_planning(subject, &waits, wall).await;
            }
        };
        let job = match self.job(mission, turn.memory.as_ref(), read.as_ref(), now) {
            Some(Asked::Done(job)) => Some(job),
            Some(Asked::Waits(_)) if is_known => None,
            Some(Asked::Waits(place)) => {
                let waits = place.text("its survey");
                return self.say_planning(subject, &waits, wall).await;
            }
            None => None,
        };
        let memory = turn.memory.get_or_insert_with(|| Memory::of(mission));
        if let Some(job) = job {
            memory.set_job(job);
            memory.generation = mission.metadata.generation;
            memory.survey.clone_from(&mission.spec.survey);
            memory.from.clone_from(&mission.spec.plan_from);
        }
        memory.file = read.or(memory.file.take());
        let is_current = memory.generation == mission.metadata.generation;
        let made = memory.made.0;
        let result = self
            .reconcile_mission(subject, memory, (turn.before, turn.room), (now, wall))
            .await;
        turn.room = turn.room.saturating_sub(memory.made.0.saturating_sub(made));
        if result.is_ok() && is_current {
            memory.acted_on = mission.metadata.generation;
        }
        result
    }

    /// Whether it has been over for as long as it is kept.
    fn is_to_go(&self, subject: &Subject, wall: Timestamp) -> bool {
        let ended = subject
            .mission
            .status
            .as_ref()
            .and_then(|status| status.completion_time.as_ref());
        let kept = subject.mission.spec.ttl_seconds_after_finished;
        let Some((ended, kept)) = ended.zip(kept) else {
            return false;
        };
        let gone = subject.mission.metadata.deletion_timestamp.is_some();
        !gone && subject.drones.is_empty() && wall.as_second() - ended.0.as_second() >= i64::from(kept)
    }

    async fn reconcile_mission(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        (before, room): (Option<&Mission>, usize),
        (now, wall): (Instant, Timestamp),
    ) -> Result<(), ReconcileError> {
        let mission = &subject.mission;
        let changed = match (&memory.job, &memory.written.work) {
            (Ok(job), Some(begun)) => job.is_not(begun),
            _ => None,
        };
        let job = match (memory.job.clone(), changed) {
            (Ok(job), None) => job,
            (Ok(_), Some(why)) => return self.cannot(subject, memory, why, wall).await,
            (Err(why), _) => return self.cannot(subject, memory, &why, wall).await,
        };
        let mut wanted = work::wanted(mission, running(&memory.written, wall));
        wanted.may_create = before.is_none();
        wanted.grounded = ground::covering(&self.observer.ground, &build(mission, NEW, job.takeoff)).is_some();
        let ended = memory.written.completion_time.is_some();
        if ended && wanted.halt.is_none() {
            wanted.halt = Some(Halt::Finished);
        }
        let followed = match self.follow(subject, memory, (&job, &mut wanted), now) {
            Ok(followed) => followed,
            Err(NotFollowed::FlightsWait(place)) => {
                let waits = place.text("what its Drones fly");
                return self.say_planning(subject, &waits, wall).await;
            }
            Err(NotFollowed::Failed) => {
                memory.job = Err(pool::FAULT.to_owned());
                return Ok(());
            }
        };
        let Followed { mut next, drones, rest } = followed;
        let unseen = self.unseen(subject, now);
        next.create = next.create.saturating_sub(unseen.len());
        let id = uid(mission.as_ref());
        if next.create == 0 {
            self.expectations.not_refused(id);
        }
        if memory.rests(&drones, wanted.parallelism, now) {
            next.create = 0;
        }
        let is_full = next.create > room;
        let may_ask = self.expectations.may_ask(id, mission.metadata.generation, now);
        next.create = next.create.min(room).min(may_ask);
        // A finished status stays as it was written.
        if !ended {
            let before = before.filter(|_| subject.drones.is_empty());
            let before = before.map(|before| status::Waits::priority(&before.name_any()));
            let before = before.or_else(|| is_full.then(status::Waits::full));
            let planning = rest.map(|place| status::Waits::Planning(place.text("how its work is shared")));
            let refusal = self.expectations.refusal(id, now);
            let planning = planning.or_else(|| refusal.map(|(why, _)| status::Waits::Refused(why)));
            let waits = planning.or_else(|| waits(memory, subject, self)).or(before);
            let left = time_left(memory, &job, &next.progress, &wanted);
            let known = status::Known {
                mission,
                old: &memory.written,
                job: Ok(&job),
                step: Some(&next),
                drones: subject.drones.len(),
                waits: waits.as_ref(),
                left,
            };
            let status = status::next(&known, wall);
            if status::is_news(&memory.written, &status) {
                self.write(mission, &status).await?;
                memory.written = status;
            }
        }
        memory.progress = next.progress.clone();
        // Before the next Drone is made.
        self.back_off_refusers(id, memory, now);
        self.publish(subject, &next);
        let delete = next.delete.iter().map(|(drone, _)| drone.as_str()).collect();
        self.delete(subject, &delete, now).await?;
        if wanted.halt.is_none() && !ended {
            let before = memory.made;
            if next.create > 0 {
                memory.made = (before.0.saturating_add(next.create), Some(now));
            }
            let made = self
                .create(subject, (&job, &memory.progress), &unseen, next.create, now)
                .await?;
            // Those that were refused are paced by their refusal.
            if made < next.create {
                memory.made = (
                    before.0.saturating_add(made),
                    if made == 0 { before.1 } else { Some(now) },
                );
            }
        }
        Ok(())
    }

    /// Shows the fault in the work; no vehicle flies it.
    async fn cannot(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        why: &str,
        wall: Timestamp,
    ) -> Result<(), ReconcileError> {
        let known = status::Known {
            mission: &subject.mission,
            old: &memory.written,
            job: Err(why),
            step: None,
            drones: subject.drones.len(),
            waits: None,
            left: Duration::ZERO,
        };
        let status = status::next(&known, wall);
        // Once the Mission has ended, its file may be gone or its survey be planned otherwise: the status stays as it was written.
        let of_now = subject.mission.spec.plan_from.is_some()
            || why == work::PLANNED_OTHERWISE
            || memory.written.observed_generation == subject.mission.metadata.generation;
        let ended = memory.written.completion_time.is_some() && of_now;
        if !ended && status::is_news(&memory.written, &status) {
            self.write(&subject.mission, &status).await?;
            memory.written = status;
        }
        memory.progress.flown = memory.progress.all_flown();
        memory.progress.give_up_parts();
        let all = subject.drones.iter().map(|drone| drone.key.name.as_str()).collect();
        self.delete(subject, &all, Instant::now()).await
    }

    /// Vehicles that have refused a plan are left alone for a while; binding reads it from there.
    fn back_off_refusers(&self, mission: &str, memory: &mut Memory, now: Instant) {
        let refused = &memory.progress.refused;
        memory
            .resting
            .retain(|node, _| refused.iter().any(|one| one.node == *node));
        let resting = refused.iter().map(|one| {
            let until = match memory.resting.get(&one.node) {
                Some((times, until)) if *times == one.times => *until,
                _ => now + rest(one.times),
            };
            memory.resting.insert(one.node.clone(), (one.times, until));
            Resting {
                node: one.node.clone(),
                until,
                words: one.words.clone(),
            }
        });
        let resting: Arc<[Resting]> = resting.collect();
        let refused = &mut self.observer.missions.lock().refused;
        if resting.is_empty() {
            refused.remove(mission);
        } else {
            refused.insert(mission.to_owned(), resting);
        }
    }

    fn publish(&self, subject: &Subject, next: &Step) {
        let record = |note: Note| {
            let about = subject.mission.object_ref(&());
            self.observer.cluster.events.record_about(about, None, note);
        };
        for (drone, why) in &next.gave_up {
            let rest = match why {
                Why::Grounded => "the rest of its part waits for the release, or goes to another that may fly",
                _ => "the rest of its part goes to another",
            };
            let text = format!("Drone {drone} {}: {rest}", why.text());
            let failures = next.progress.failures;
            tracing::warn!(mission = %Key::of(subject.mission.as_ref()), drone, why = why.text(), failures, "a part of a Mission is given up");
            let quiet = matches!(
                why,
                Why::Relieved | Why::Tired | Why::Drained | Why::Grounded | Why::Gone
            );
            record(if quiet {
                Note::normal("Relieved", text)
            } else {
                Note::warning("PartGivenUp", text)
            });
        }
    }
}

/// Whether a Mission was edited or deleted, and its status does not show it yet.
fn is_unserved(mission: &Mission) -> bool {
    let observed = mission.status.as_ref().and_then(|status| status.observed_generation);
    mission.metadata.deletion_timestamp.is_some() || observed != mission.metadata.generation
}

/// Least time that the work left takes.
fn time_left(memory: &Memory, job: &Job, progress: &Progress, wanted: &Wanted) -> Duration {
    let part = |part: &Part| {
        let all = job.work.seconds(&part.stretches);
        let left = job.work.seconds(&part.stretches.without(&part.flown));
        let flight = memory
            .flights
            .get(&part.drone)
            .map_or(all, |(_, flight, _)| flight.time.as_secs_f64());
        if all > 0.0 { flight * left / all } else { 0.0 }
    };
    let longest = progress.parts.iter().map(part).fold(0.0, f64::max);
    let count = u32::try_from(wanted.parallelism).unwrap_or(u32::MAX);
    let later = job.work.seconds(&progress.left(&job.work)) / f64::from(count.max(1));
    Duration::try_from_secs_f64(longest + later).unwrap_or_default()
}

#[cfg(test)]
mod tests;
