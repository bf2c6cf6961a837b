//! The Mission controller: has the work of Missions flown by Drones, and says how far it has come.
//!
//! Owns: reconciling all Missions; what of their plans is sent to agents and named in their orders
//! ([`crate::controllers::plans`]); their Drones, statuses and Events. Must not: decide ([`fleet::planning::mission::progress`] does), bind Drones,
//! begin a write when another may lead by then, however long the calls before it took, or give a part to a Drone before that is written
//! down: another leader makes the same plans from the status.

mod file;
mod pool;
pub mod reach;
pub mod status;
pub mod work;

use crate::cluster::api::{self, ApiError, error_chain};
use crate::cluster::events::Note;
use crate::cluster::key::Key;
use crate::cluster::retry::Failures;
use crate::cluster::status::write_while;
use crate::cluster::watching;
use crate::cluster::world::uid;
use crate::controllers::facts::{DroneSnapshot, Observer};
use crate::controllers::plans::{Known, Planned, Resting, owner};
use crate::controllers::swarm::expectations::Expectations;
use crate::ground;
use crds::mission::{MissionStatus, Survey};
use crds::{Drone, Mission, labels};
use file::File;
use fleet::planning::drone::on_mission::{Passing, Patience, Question, doing, passing};
use fleet::planning::leadership::{ACT_FOR, LASTS};
use fleet::planning::mission::progress::{
    Carrier, Doing, NotGiven, Observed, Part, Progress, Step, Wanted, Why, rest, step,
};
use fleet::planning::mission::{PlannedFlight, Stretches};
use fleet::planning::names::drone_names;
use fleet::planning::population::{most_of_mission, pause};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PropagationPolicy};
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use model::ids::NodeName;
use model::plan::FlightPlan;
use model::report::Report;
use model::vehicle::FlightTruth;
use pool::{Asked, Pool};
use reach::Judged;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use work::Job;

/// From one reconcile to the next.
const EVERY: Duration = Duration::from_secs(1);

/// Vehicles that become fit within so long of the first share the work from the beginning.
const GATHERING: Duration = Duration::from_secs(5);

/// A vehicle that could not fly a part from where it is on the ground is judged again after this long.
const JUDGED_AGAIN: Duration = Duration::from_secs(10);

/// Names tried beyond those needed.
const SPARE_NAMES: usize = 1000;

/// A call that changes something takes no longer than this: one that is begun by a leader that may act ends before another may lead.
const CALL: Duration = LASTS.saturating_sub(ACT_FOR);

/// The name of no Drone: whether an order covers one that is made now does not depend on its name.
const NEW: &str = "new";

/// Put on an object by the API server when it is deleted with `--cascade=orphan`.
const ORPHAN: &str = "orphan";

/// What is remembered of one Mission.
struct Memory {
    generation: Option<i64>,
    /// The generation by which its Drones have their parts.
    acted_on: Option<i64>,
    /// The file that it names, and when that was read.
    file: Option<(File, Instant)>,
    job: Result<Job, String>,
    /// The survey that it is, so that an edit of anything else plans nothing again.
    survey: Option<Survey>,
    progress: Progress,
    /// Its status as it was written last.
    written: MissionStatus,
    flights: HashMap<String, (Part, Arc<PlannedFlight>, FlightPlan)>,
    since: HashMap<String, (Passing, Instant)>,
    unfit: HashMap<String, (String, Instant)>,
    /// Drones in the air whose plan cannot be made again, and why.
    replanned: HashMap<String, String>,
    /// What was found of the rest of the flight of each.
    judged: HashMap<String, Judged>,
    fit_since: Option<Instant>,
    /// Drones that were made since one last began its work, and when the last was.
    made: (usize, Option<Instant>),
    /// Vehicles that have refused a plan: how often, and until when they are left alone.
    resting: HashMap<NodeName, (u32, Instant)>,
}

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

/// A Mission and its Drones.
struct Subject {
    mission: Arc<Mission>,
    drones: Vec<DroneSnapshot>,
}

impl Controller {
    fn acts(&self) -> bool {
        self.observer.leadership.state.acts()
    }

    /// Makes a call that changes something, if this leader may act now.
    async fn change<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, NotBroughtOn> {
        if !self.acts() {
            return Err(NotBroughtOn::MayNotAct);
        }
        let done = timeout(CALL, api::call(what, call)).await;
        Ok(done.unwrap_or(Err(ApiError::TimedOut { what }))?)
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

    fn subjects(&self) -> Vec<Subject> {
        let mut drones: HashMap<String, Vec<Arc<Drone>>> = HashMap::new();
        let mut missions = self.missions.state();
        if !missions.is_empty() {
            for drone in self.observer.world().all_drones(None) {
                if let Some((mission, _)) = owner(&drone) {
                    drones.entry(mission.to_owned()).or_default().push(Arc::clone(&drone));
                }
            }
        }
        missions.sort_by_key(|mission| (-mission.spec.priority, Key::of(mission.as_ref())));
        let subject = |mission: Arc<Mission>| {
            let own = drones.remove(uid(mission.as_ref())).unwrap_or_default();
            // An owner is in the namespace of what it owns: a reference from elsewhere takes no part of the work.
            let is_own = |drone: &Arc<Drone>| drone.namespace() == mission.namespace();
            Subject {
                drones: own
                    .into_iter()
                    .filter(is_own)
                    .map(|drone| DroneSnapshot::of(&self.observer, drone))
                    .collect(),
                mission,
            }
        };
        missions.into_iter().map(subject).collect()
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
            wanted.halt = Some(fleet::planning::mission::progress::Halt::Finished);
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

    /// Its Drones as the plan wants to know them.
    fn observe(&self, subject: &Subject, memory: &mut Memory, now: Instant) -> Vec<Observed> {
        let mut all = Vec::new();
        for snapshot in &subject.drones {
            let name = &snapshot.key.name;
            let flight = memory
                .flights
                .get(name)
                .filter(|_| memory.progress.part(name).is_some());
            let question = Question {
                drone: &snapshot.facts,
                served: snapshot.was_served(),
                report: snapshot.report.as_deref(),
                digest: flight.map(|(_, _, plan)| &plan.digest),
            };
            let passes = passing(&question).map(|what| {
                let since = match memory.since.get(name) {
                    Some((known, since)) if *known == what => *since,
                    _ => now,
                };
                memory.since.insert(name.clone(), (what, since));
                (what, now - since)
            });
            if passes.is_none() {
                memory.since.remove(name);
            }
            let mut does = doing(&question, passes, &Patience::default());
            // Until its part is planned here, it is flown as it was.
            if memory.progress.part(name).is_some() && flight.is_none() && matches!(does, Doing::Fit(_) | Doing::Waits)
            {
                does = Doing::Busy;
            }
            let barred = snapshot
                .node
                .as_ref()
                .and_then(|node| self.observer.airspace.plan_barred(node));
            let ends = memory.replanned.get(name).cloned().or(barred);
            if let Some(why) = ends.filter(|_| does == Doing::Busy) {
                does = Doing::Unfit(why);
            }
            if let Doing::Fit(at) = does {
                does = match memory.unfit.get(name).filter(|(_, at)| now - *at < JUDGED_AGAIN) {
                    Some((why, _)) => Doing::Unfit(why.clone()),
                    // Where it may fly is not known yet.
                    None if !self.observer.rules.is_complete() => Doing::Waits,
                    None => Doing::Fit(work::rounded(at)),
                };
            }
            if let (Doing::Busy, Some((_, flight, plan)), Some(report)) = (&does, flight, &snapshot.report) {
                let holds = report.has_plan(&snapshot.facts.uid, &plan.digest);
                let reached = |item| holds && u16::try_from(item).is_ok_and(|item| report.plan.reached.has(item));
                let judged = reach::goes_on(&self.observer, snapshot, flight, reached, memory.judged.remove(name));
                if let Some(judged) = judged {
                    if let Err(why) = &judged.verdict {
                        does = Doing::Unfit(why.clone());
                    }
                    memory.judged.insert(name.clone(), judged);
                }
            }
            let (flown, underway, begun) = match (flight, &snapshot.report) {
                (Some((_, flight, plan)), Some(report)) if report.has_plan(&snapshot.facts.uid, &plan.digest) => {
                    let reached = |item| u16::try_from(item).is_ok_and(|item| report.plan.reached.has(item));
                    let on_leg = report.plan.current.zip(report.position);
                    let underway = on_leg.map(|(item, position)| flight.underway(item.into(), position.at));
                    (
                        flight.flown(reached),
                        underway.unwrap_or_default(),
                        flight.has_begun(reached),
                    )
                }
                _ => (Stretches::default(), Stretches::default(), false),
            };
            all.push(Observed {
                drone: name.clone(),
                node: snapshot.node.clone(),
                leaving: snapshot.facts.deleting || self.expectations.expects_deletion(snapshot.uid(), now),
                doing: does,
                flown,
                underway,
                begun,
            });
        }
        let there: HashSet<&String> = subject.drones.iter().map(|snapshot| &snapshot.key.name).collect();
        memory.since.retain(|name, _| there.contains(name));
        memory.unfit.retain(|name, _| there.contains(name));
        memory.replanned.retain(|name, _| there.contains(name));
        all
    }

    /// Plans the flights of parts that another leader gave: an agent's account of what its vehicle has flown is one of its plan, and a vehicle is
    /// judged by that.
    fn plan_written(&self, subject: &Subject, memory: &mut Memory, work: (&Job, &Wanted), now: Instant) {
        let is_unplanned = |snapshot: &DroneSnapshot| {
            let name = &snapshot.key.name;
            let has_part = memory.progress.part(name).is_some();
            has_part && snapshot.report.is_some() && !memory.flights.contains_key(name)
        };
        if subject.drones.iter().any(is_unplanned) {
            let mut progress = memory.progress.clone();
            self.judge(subject, memory, work, &mut progress, now);
            let written = &memory.progress;
            memory
                .flights
                .retain(|name, (part, _, _)| written.part(name) == Some(part));
        }
    }

    /// Plans the flights of all parts, and takes back those that the vehicle could not fly.
    fn judge(
        &self,
        subject: &Subject,
        memory: &mut Memory,
        (job, wanted): (&Job, &Wanted),
        next: &mut Progress,
        now: Instant,
    ) {
        let term = self.observer.leadership.term;
        let progress = &*next;
        let unchanged = |name: &String, of: &Part| {
            progress
                .part(name)
                .is_some_and(|part| part.stretches == of.stretches && part.start == of.start)
        };
        memory.flights.retain(|name, (of, _, _)| unchanged(name, of));
        memory.judged.retain(|name, _| memory.flights.contains_key(name));
        let mut refused = Vec::new();
        for part in &mut next.parts {
            if memory.flights.contains_key(&part.drone) {
                continue;
            }
            let raised = part.raised(wanted.layer_height);
            let planned = job
                .work
                .flight(&part.stretches, part.start, raised)
                .map_err(|why| why.to_string());
            let snapshot = subject.drones.iter().find(|snapshot| snapshot.key.name == part.drone);
            let planned = planned.and_then(|flight| {
                let is_new = memory.progress.part(&part.drone).is_none();
                if let Some(snapshot) = snapshot.filter(|_| is_new) {
                    reach::allows(&self.observer, snapshot, &flight)?;
                }
                let plan = FlightPlan::new(term, flight.items.clone()).map_err(|why| why.to_string())?;
                Ok((snapshot.and_then(|snapshot| snapshot.report.clone()), flight, plan))
            });
            let planned = planned.map(|(report, flight, plan)| {
                let carrier = carrier(report.as_deref());
                let given = part.give(plan.digest.clone(), raised, carrier);
                given.map(|()| (part.clone(), Arc::new(flight), plan))
            });
            match planned {
                Ok(Err(NotGiven::Unknown)) => {}
                Ok(Err(why @ NotGiven::Otherwise)) => {
                    memory.replanned.insert(part.drone.clone(), why.to_string());
                }
                Ok(Ok(planned)) => {
                    memory.unfit.remove(&part.drone);
                    memory.flights.insert(part.drone.clone(), planned);
                }
                Err(why) => refused.push((part.drone.clone(), why)),
            }
        }
        for (drone, why) in refused {
            next.parts.retain(|part| part.drone != drone);
            memory.unfit.insert(drone, (why, now));
        }
    }

    /// Adds the plans of a Mission, and has them sent.
    fn plans(&self, subject: &Subject, plans: &mut HashMap<String, Arc<Planned>>) {
        let Some(memory) = self.memories.get(uid(subject.mission.as_ref())) else {
            return;
        };
        let Ok(job) = &memory.job else { return };
        for snapshot in &subject.drones {
            let Some((part, flight, plan)) = memory.flights.get(&snapshot.key.name) else {
                continue;
            };
            // Only what is written down.
            if memory.progress.part(&snapshot.key.name).is_none() {
                continue;
            }
            if let Some(node) = &snapshot.node
                && self.observer.sessions.send_plan(node, plan)
            {
                tracing::info!(drone = %snapshot.key, %node, digest = %plan.digest, items = plan.items.len(), "a plan is sent to the agent");
            }
            let planned = Planned {
                digest: plan.digest.clone(),
                start: part.start,
                takeoff: job.takeoff,
                places: flight.places.clone(),
                numbers: flight.to_reach().collect(),
                work: Some(Arc::clone(&job.work)),
            };
            plans.insert(snapshot.uid().to_owned(), Arc::new(planned));
        }
    }

    /// Lets the other controllers know, and wakes those whom a change concerns.
    fn show(&self, subjects: &[Subject], plans: HashMap<String, Arc<Planned>>) {
        let looked = |subject: &&Subject| self.memories.contains_key(uid(subject.mission.as_ref()));
        let missions: HashSet<String> = subjects
            .iter()
            .filter(looked)
            .map(|subject| uid(subject.mission.as_ref()).to_owned())
            .collect();
        let old = {
            let mut known = self.observer.missions.lock();
            let mut old = std::mem::take(&mut *known);
            let mut refused = std::mem::take(&mut old.refused);
            refused.retain(|mission, _| missions.contains(mission));
            *known = Known {
                missions,
                plans,
                refused,
            };
            old
        };
        let known = self.observer.missions.lock();
        for subject in subjects {
            let mission = uid(subject.mission.as_ref());
            let news = old.missions.contains(mission) != known.missions.contains(mission);
            for snapshot in &subject.drones {
                let digest = |known: &Known| known.plans.get(snapshot.uid()).map(|planned| planned.digest.clone());
                if news || digest(&old) != digest(&known) {
                    if let Some(node) = &snapshot.node {
                        self.observer.cluster.wakes.nodes.wake(node.clone());
                    }
                    self.observer.cluster.wakes.drones.wake(snapshot.key.clone());
                }
            }
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

    /// Writes a status. That takes what time it takes: it is written on one version of the object, and fails where the next leader has
    /// written another.
    async fn write(&self, mission: &Mission, status: &MissionStatus) -> Result<(), NotBroughtOn> {
        if !self.acts() {
            return Err(NotBroughtOn::MayNotAct);
        }
        let key = Key::of(mission);
        let api: Api<Mission> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let what = "write the status of a Mission";
        write_while(|| self.acts(), what, &api, &mission.metadata, status).await?;
        Ok(())
    }

    async fn remove(&self, mission: &Mission) -> Result<(), NotBroughtOn> {
        let key = Key::of(mission);
        let api: Api<Mission> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..api::only(uid(mission))
        };
        self.change("delete a Mission that has ended", api.delete(&key.name, &params))
            .await?;
        tracing::info!(mission = %key, "deleted after spec.ttlSecondsAfterFinished");
        Ok(())
    }

    async fn set_finalizers(
        &self,
        mission: &Mission,
        change: impl FnOnce(&mut Vec<String>),
    ) -> Result<(), NotBroughtOn> {
        let key = Key::of(mission);
        let api: Api<Mission> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let mut finalizers = mission.finalizers().to_vec();
        change(&mut finalizers);
        let patch = json!({"metadata": {
            "uid": uid(mission),
            "resourceVersion": mission.metadata.resource_version,
            "finalizers": finalizers,
        }});
        let (params, patch) = (api::merging(), Patch::Merge(&patch));
        let set = api.patch(&key.name, &params, &patch);
        self.change("set the finalizer of a Mission", set).await?;
        Ok(())
    }

    fn unseen(&self, subject: &Subject, now: Instant) -> Vec<(String, String)> {
        let seen: Vec<Arc<Drone>> = subject
            .drones
            .iter()
            .map(|snapshot| Arc::clone(&snapshot.drone))
            .collect();
        self.expectations
            .unseen_creations(uid(subject.mission.as_ref()), &seen, now)
    }

    async fn create(
        &self,
        subject: &Subject,
        (job, progress): (&Job, &Progress),
        unseen: &[(String, String)],
        count: usize,
        now: Instant,
    ) -> Result<(), NotBroughtOn> {
        let mission = subject.mission.as_ref();
        let key = Key::of(mission);
        let mut taken: BTreeSet<String> = progress.parts.iter().map(|part| part.drone.clone()).collect();
        taken.extend(unseen.iter().map(|(name, _)| name.clone()));
        let api: Api<Drone> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let mut names = drone_names(&key.name, uid(mission)).take(count + SPARE_NAMES);
        for _ in 0..count {
            let free = |name: &String| {
                !taken.contains(name) && !self.observer.world().drone_exists(&Key::new(&key.namespace, name))
            };
            let Some(name) = names.find(free) else { break };
            let drone = build(mission, &name, job.takeoff);
            let params = api::posting();
            match self.change("create a Drone", api.create(&params, &drone)).await {
                Ok(made) => {
                    tracing::info!(mission = %key, drone = name, "made a Drone");
                    self.expectations.created(uid(mission), &name, uid(&made), now);
                }
                Err(NotBroughtOn::Api(error)) if error.is_already_exists() => {}
                Err(error) => return Err(error),
            }
            taken.insert(name);
        }
        Ok(())
    }

    async fn delete(&self, subject: &Subject, names: &BTreeSet<&str>, now: Instant) -> Result<(), NotBroughtOn> {
        for snapshot in &subject.drones {
            let leaving = snapshot.facts.deleting || self.expectations.expects_deletion(snapshot.uid(), now);
            if leaving || !names.contains(snapshot.key.name.as_str()) {
                continue;
            }
            let api: Api<Drone> = Api::namespaced(self.observer.cluster.client(), &snapshot.key.namespace);
            let params = api::only(snapshot.uid());
            let deleted = self.change("delete a Drone", api.delete(&snapshot.key.name, &params));
            match deleted.await {
                Ok(_) => self.expectations.deleted(snapshot.uid(), now),
                Err(NotBroughtOn::Api(error)) if error.is_not_found() || error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Memory {
    /// Whether no Drone is made for now, as those before were made in vain.
    fn rests(&mut self, drones: &[Observed], parallelism: usize, now: Instant) -> bool {
        if drones.iter().any(|seen| seen.begun) {
            self.made = (0, None);
        }
        let (made, last) = self.made;
        last.is_some_and(|last| now - last < pause(made, most_of_mission(parallelism)))
    }

    /// Whether its work can be flown, and is the work that it has begun.
    fn can_go_on(&self) -> bool {
        let begun = self.written.work.as_ref();
        let is_it = |job: &Job| begun.is_none_or(|begun| job.is_not(begun).is_none());
        self.job.as_ref().is_ok_and(is_it)
    }

    /// Of a Mission that is reconciled for the first time in this leadership, without its work.
    fn of(mission: &Mission) -> Self {
        let written = mission.status.clone().unwrap_or_default();
        Self {
            generation: mission.metadata.generation,
            acted_on: None,
            file: None,
            job: Err("its work was not planned yet".to_owned()),
            survey: None,
            progress: work::read(&written),
            written,
            flights: HashMap::new(),
            since: HashMap::new(),
            unfit: HashMap::new(),
            replanned: HashMap::new(),
            judged: HashMap::new(),
            fit_since: None,
            made: (0, None),
            resting: HashMap::new(),
        }
    }
}

/// The vehicle of a part, by the last report of its agent.
fn carrier(report: Option<&Report>) -> Carrier<'_> {
    match report.map(|report| (report.truth, report)) {
        None | Some((FlightTruth::Unknown(_), _)) => Carrier::Unknown,
        Some((FlightTruth::Disarmed, _)) => Carrier::Down,
        Some((FlightTruth::Airborne(_) | FlightTruth::ArmedOnGround, report)) => Carrier::Up(report.plan.held.as_ref()),
    }
}

/// Whether others may become fit soon, with whom the work is shared.
fn gathering(memory: &mut Memory, drones: &[Observed], now: Instant) -> bool {
    let may = |seen: &&Observed| !seen.leaving && memory.progress.part(&seen.drone).is_none();
    let fit = drones
        .iter()
        .filter(may)
        .any(|seen| matches!(seen.doing, Doing::Fit(_)));
    let waits = drones.iter().filter(may).any(|seen| seen.doing == Doing::Waits);
    if !fit {
        memory.fit_since = None;
        return false;
    }
    let since = *memory.fit_since.get_or_insert(now);
    waits && now - since < GATHERING
}

/// Why those that are there do not fly.
fn waits(memory: &Memory, subject: &Subject, controller: &Controller) -> Option<status::Waits> {
    for snapshot in &subject.drones {
        let name = &snapshot.key.name;
        if let Some((why, _)) = memory.unfit.get(name) {
            return Some(status::Waits::Unfit(format!("Drone {name} has no part: {why}")));
        }
    }
    subject.drones.iter().find_map(|snapshot| {
        let node: &NodeName = snapshot.node.as_ref()?;
        let why = controller.observer.airspace.plan_waits(node)?;
        Some(status::Waits::Airspace(format!("Drone {} {why}", snapshot.key.name)))
    })
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

/// A new Drone of `mission`, which takes off to so many meters.
fn build(mission: &Mission, name: &str, takeoff: f64) -> Drone {
    let mut drone = Drone::new(name, mission.spec.drone_spec(takeoff));
    let labels = BTreeMap::from([
        (labels::MANAGED_BY.to_owned(), labels::COORDINATOR.to_owned()),
        (labels::MISSION.to_owned(), mission.name_any()),
    ]);
    drone.metadata.namespace = mission.namespace();
    drone.metadata.labels = Some(labels);
    drone.metadata.finalizers = Some(vec![labels::LANDED_FINALIZER.to_owned()]);
    drone.metadata.owner_references = Some(vec![OwnerReference {
        api_version: Mission::api_version(&()).into_owned(),
        kind: Mission::kind(&()).into_owned(),
        name: mission.name_any(),
        uid: uid(mission).to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]);
    drone
}

#[cfg(test)]
mod tests;
