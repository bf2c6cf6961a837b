//! The Mission controller: has the work of Missions flown by Drones, and says how far it has come.
//!
//! Owns: reconciling all Missions; what of their plans is sent to agents and named in their orders
//! ([`crate::controllers::plans`]); their Drones, statuses and Events. Must not: decide ([`fleet::planning::mission::progress`] does), bind Drones,
//! begin a write when another may lead by then, however long the calls before it took, or give a part to a Drone before that is written
//! down: another leader makes the same plans from the status.

mod file;
mod flights;
mod memory;
mod observe;
mod pool;
pub mod reach;
pub mod status;
pub mod work;
mod writes;

use crate::cluster::api::{ApiError, error_chain};
use crate::cluster::events::Note;
use crate::cluster::key::Key;
use crate::cluster::retry::Failures;
use crate::cluster::watching;
use crate::cluster::world::uid;
use crate::controllers::facts::Observer;
use crate::controllers::plans::Resting;
use crate::controllers::swarm::expectations::Expectations;
use crate::ground;
use crds::{Mission, labels};
use file::File;
use fleet::planning::mission::progress::{Halt, Part, Progress, Step, Wanted, Why, rest, step};
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use memory::Memory;
use observe::{Subject, gathering, waits};
use pool::{Asked, Pool};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use work::Job;
use writes::build;

/// From one reconcile to the next.
const EVERY: Duration = Duration::from_secs(1);

/// The name of no Drone: whether an order covers one that is made now does not depend on its name.
const NEW: &str = "new";

/// Put on an object by the API server when it is deleted with `--cascade=orphan`.
const ORPHAN: &str = "orphan";

struct Controller {
    observer: Observer,
    missions: Store<Mission>,
    expectations: Expectations,
    memories: HashMap<String, Memory>,
    failures: Failures<Key>,
    pool: Pool,
}

/// Why a Mission was not brought on.
#[derive(Debug, thiserror::Error)]
enum NotBroughtOn {
    /// Another may lead by now.
    #[error("another coordinator may lead, so nothing is written until the Lease is renewed")]
    MayNotAct,
    /// A call to the Kubernetes API brought no result.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// Starts flying Missions.
pub fn start(observer: &Observer, tasks: &mut JoinSet<()>) {
    let writer = Writer::<Mission>::default();
    let ending = observer.leadership.ending.clone();
    let mut controller = Controller {
        observer: observer.clone(),
        missions: writer.as_reader(),
        expectations: Expectations::default(),
        memories: HashMap::new(),
        failures: Failures::default(),
        pool: Pool::default(),
    };
    let api = Api::<Mission>::all(observer.cluster.client());
    let config = watcher::Config::default().timeout(watching::WATCH_SECONDS);
    tasks.spawn(watching::follow(api, config, Some(writer), ending.clone(), |_| {}));
    tasks.spawn(async move {
        let filled = ending.run_until_cancelled(controller.missions.wait_until_ready()).await;
        // The store is dropped with its watch only.
        if filled.is_none_or(|filled| filled.is_err()) {
            return;
        }
        while ending.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            if controller.acts() {
                controller.reconcile_all().await;
            }
        }
    });
}

impl Controller {
    fn acts(&self) -> bool {
        self.observer.leadership.state.acts()
    }

    /// Reconciles all Missions once.
    async fn reconcile_all(&mut self) {
        let subjects = self.subjects();
        let known: HashSet<&str> = subjects.iter().map(|subject| uid(subject.mission.as_ref())).collect();
        self.memories.retain(|mission, _| known.contains(mission.as_str()));
        self.pool.retain(|mission| known.contains(mission));
        let urgent = self.urgent(&subjects);
        let mut plans = HashMap::new();
        for subject in &subjects {
            let key = Key::of(subject.mission.as_ref());
            let now = Instant::now();
            if self.acts() && self.failures.resting(&key, now).is_none() {
                let urgent = urgent.get(&key.namespace).copied();
                let before = urgent.filter(|urgent| urgent.spec.priority > subject.mission.spec.priority);
                match Box::pin(self.reconcile(subject, before, now)).await {
                    Ok(()) => self.failures.forget(&key),
                    Err(NotBroughtOn::MayNotAct) => {}
                    // The watch brings the news.
                    Err(NotBroughtOn::Api(error)) if error.is_overtaken() => {}
                    Err(NotBroughtOn::Api(error)) => {
                        self.failures.failed(&key, &error, now, rand::random());
                        tracing::warn!(mission = %key, error = error_chain(&error), "a Mission could not be brought on; will be tried again");
                    }
                }
            }
            self.plans(subject, &mut plans);
        }
        self.show(&subjects, plans);
        let memories = self.memories.iter();
        let acted_on = memories.filter_map(|(mission, memory)| Some((mission.clone(), memory.acted_on?)));
        self.observer.cluster.acted_on.put("missions", acted_on);
    }

    /// The Mission of the highest priority that waits for vehicles, in each namespace. A Mission whose nodeSelector selects no node waits for
    /// none that another could take.
    fn urgent<'a>(&self, subjects: &'a [Subject]) -> HashMap<String, &'a Mission> {
        let mut urgent = HashMap::<String, &Mission>::new();
        for subject in subjects {
            let mission = subject.mission.as_ref();
            let mut drones = subject.drones.iter();
            let waits = drones.any(|drone| !drone.facts.deleting && drone.node.is_none());
            if waits && self.observer.world().has_node_for(&mission.spec.node_selector) {
                let highest = urgent.entry(Key::of(mission).namespace).or_insert(mission);
                if mission.spec.priority > highest.spec.priority {
                    *highest = mission;
                }
            }
        }
        urgent
    }

    /// Reconciles one Mission; `before` is one of a higher priority that waits for vehicles.
    async fn reconcile(
        &mut self,
        subject: &Subject,
        before: Option<&Mission>,
        now: Instant,
    ) -> Result<(), NotBroughtOn> {
        let mission = &subject.mission;
        let id = uid(mission.as_ref()).to_owned();
        let guarded = mission.finalizers().iter().any(|f| f == labels::DRONES_FINALIZER);
        if mission.metadata.deletion_timestamp.is_some() {
            if !guarded {
                return Ok(());
            }
            let orphaning = mission.finalizers().iter().any(|f| f == ORPHAN);
            let expected = self.expectations.expects_creations(&id, now);
            if orphaning || (subject.drones.is_empty() && !expected) {
                self.expectations.forget(&id);
                return self
                    .set_finalizers(mission, |f| f.retain(|f| f != labels::DRONES_FINALIZER))
                    .await;
            }
        } else if !guarded {
            return self
                .set_finalizers(mission, |f| f.push(labels::DRONES_FINALIZER.to_owned()))
                .await;
        }
        let wall = Timestamp::now();
        if self.is_to_go(subject, wall) {
            return self.remove(mission).await;
        }
        let read = self.read_file(mission, now).await?;
        let known = self.memories.get(&id);
        let job = match self.job(mission, known, read.as_ref()) {
            Some(Asked::Job(job)) => Some(job),
            // What it had begun by goes on meanwhile.
            Some(Asked::Waits(_)) if known.is_some() => None,
            Some(Asked::Waits(before)) => return self.say_planning(mission, before, wall).await,
            None => None,
        };
        let mut memory = self.memories.remove(&id).unwrap_or_else(|| Memory::of(mission));
        if let Some(job) = job {
            memory.job = job;
            memory.generation = mission.metadata.generation;
            memory.survey.clone_from(&mission.spec.survey);
        }
        memory.file = read.or(memory.file);
        let is_current = memory.generation == mission.metadata.generation;
        let result = self.bring_on(subject, &mut memory, before, (now, wall)).await;
        if result.is_ok() && is_current {
            memory.acted_on = mission.metadata.generation;
        }
        self.memories.insert(id, memory);
        result
    }

    /// Its work, if that is another than is `known`; `read` is its file, if that was read just now.
    fn job(&self, mission: &Mission, known: Option<&Memory>, read: Option<&(File, Instant)>) -> Option<Asked> {
        let generation = mission.metadata.generation;
        let file = read
            .or_else(|| known.and_then(|known| known.file.as_ref()))
            .map(|(file, _)| file);
        if let Some(known) = known {
            let is_file = known.file.as_ref().map(|(file, _)| file) == file;
            if known.generation == generation && is_file {
                return None;
            }
            if mission.spec.survey.is_some() && known.survey == mission.spec.survey {
                return Some(Asked::Job(known.job.clone()));
            }
        }
        let namespace = mission.namespace().unwrap_or_default();
        Some(match mission.spec.survey {
            Some(_) => self.pool.job((&namespace, uid(mission)), generation, &mission.spec),
            None => Asked::Job(Job::of(&mission.spec, file)),
        })
    }

    /// A Mission that nothing was planned of yet says what it waits for.
    async fn say_planning(&self, mission: &Mission, before: usize, wall: Timestamp) -> Result<(), NotBroughtOn> {
        let written = mission.status.clone().unwrap_or_default();
        let status = status::planning(mission, &written, before, wall);
        if written.work.is_none() && status::is_news(&written, &status) {
            self.write(mission, &status).await?;
        }
        Ok(())
    }

    /// The file that it names, if it is time to read it. One that flies goes on by what was read while the API does not answer.
    async fn read_file(&self, mission: &Mission, now: Instant) -> Result<Option<(File, Instant)>, ApiError> {
        let Some(from) = &mission.spec.plan_from else {
            return Ok(None);
        };
        let known = self.memories.get(uid(mission));
        let same = known.filter(|memory| memory.generation == mission.metadata.generation);
        if let Some((memory, (_, at))) = same.and_then(|memory| Some((memory, memory.file.as_ref()?)))
            && (memory.written.completion_time.is_some() || !file::is_due(now - *at, memory.can_go_on()))
        {
            return Ok(None);
        }
        let namespace = mission.namespace().unwrap_or_default();
        match file::read(self.observer.cluster.client(), &namespace, &from.config_map_key_ref).await {
            Ok(file) => Ok(Some((file, now))),
            Err(error) => match same.and_then(|memory| memory.file.as_ref()) {
                Some((file, _)) => {
                    tracing::warn!(mission = %Key::of(mission), error = error_chain(&error), "the file of a Mission was not read again");
                    Ok(Some((file.clone(), now)))
                }
                None => Err(error),
            },
        }
    }

    /// Whether it has ended for as long as it is to be kept.
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

    async fn bring_on(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        before: Option<&Mission>,
        (now, wall): (Instant, Timestamp),
    ) -> Result<(), NotBroughtOn> {
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
        let started = memory.written.start_time.as_ref().map(|at| at.0);
        let running = started.and_then(|at| Duration::try_from(wall.duration_since(at)).ok());
        let mut wanted = work::wanted(mission, running);
        wanted.may_create = before.is_none();
        wanted.grounded = ground::covering(&self.observer.ground, &build(mission, NEW, job.takeoff)).is_some();
        let ended = memory.written.completion_time.is_some();
        if ended && wanted.halt.is_none() {
            wanted.halt = Some(Halt::Finished);
        }
        self.plan_written(subject, memory, (&job, &wanted), now);
        let drones = self.observe(subject, memory, now);
        wanted.gathering = gathering(memory, &drones, now);
        let mut next = step(&job.work, &wanted, &memory.progress, &drones);
        self.judge(subject, memory, (&job, &wanted), &mut next.progress, now);
        let unseen = self.unseen(subject, now);
        next.create = next.create.saturating_sub(unseen.len());
        if memory.rests(&drones, wanted.parallelism, now) {
            next.create = 0;
        }
        // What has ended stays as it was written.
        if !ended {
            let before = before.filter(|_| subject.drones.is_empty());
            let before = before.map(|before| status::Waits::priority(&before.name_any()));
            let waits = waits(memory, subject, self).or(before);
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
        // Written down, or no news.
        memory.progress = next.progress.clone();
        // Before the next Drone is made.
        self.let_rest(uid(mission.as_ref()), memory, now);
        self.publish(subject, &next);
        let delete = next.delete.iter().map(|(drone, _)| drone.as_str()).collect();
        self.delete(subject, &delete, now).await?;
        if wanted.halt.is_none() && !ended {
            if next.create > 0 {
                memory.made = (memory.made.0.saturating_add(next.create), Some(now));
            }
            self.create(subject, (&job, &memory.progress), &unseen, next.create, now)
                .await?;
        }
        Ok(())
    }

    /// What is wrong with the work is said, and no vehicle flies it.
    async fn cannot(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        why: &str,
        wall: Timestamp,
    ) -> Result<(), NotBroughtOn> {
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
        // Its file may be gone once it has ended, or its survey be planned otherwise, and it stays as it was written.
        let of_now = subject.mission.spec.plan_from.is_some()
            || why == work::PLANNED_OTHERWISE
            || memory.written.observed_generation == subject.mission.metadata.generation;
        let ended = memory.written.completion_time.is_some() && of_now;
        if !ended && status::is_news(&memory.written, &status) {
            self.write(&subject.mission, &status).await?;
            memory.written = status;
        }
        memory.progress.flown = memory.progress.all_flown();
        memory.progress.parts.clear();
        let all = subject.drones.iter().map(|drone| drone.key.name.as_str()).collect();
        self.delete(subject, &all, Instant::now()).await
    }

    /// Vehicles that have refused a plan are left alone for a while: those who choose vehicles know.
    fn let_rest(&self, mission: &str, memory: &mut Memory, now: Instant) {
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

    /// Events about what has happened.
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

/// How long the work that is left takes at best.
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
