//! Planning beside the controllers: surveys, the text of files, and how work is shared.
//!
//! Owns: the queue, in which namespaces take turns, and the results until they are fetched. Must not: decide what is planned when.

use super::lock::lock;
use super::turns::{MAX_WAITING_PER_NAMESPACE, Turns};
use super::work::{FileWork, Job};
use crds::MissionSpec;
use fleet::planning::mission::Work;
use fleet::planning::mission::progress::Answers;
use fleet::planning::mission::progress::sharing::{Request, answer};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// One core stays free for all else.
const CONCURRENT_TASKS: usize = 1;

/// A task that takes longer no longer keeps others from beginning. The largest survey that the CRD allows takes a few seconds.
const PLANNING_DEADLINE: Duration = Duration::from_secs(30);

/// Tasks that take longer than that at the same time, each of another namespace.
const MAX_LATE_TASKS: usize = 2;

/// A survey that is edited back, or created again, is not planned again.
const KEPT_SURVEYS_PER_NAMESPACE: usize = 4;

const KEPT_NAMESPACES: usize = 64;

/// The reason of a Mission whose survey makes the planner panic.
pub const FAULT: &str =
    "planning it ended in a fault of this program, which its log has; change the work, and report it";

#[derive(Clone, Debug)]
pub enum Task {
    Survey(Box<MissionSpec>),
    File(Arc<str>),
    Sharing(Arc<Work>, Box<Request>),
}

#[derive(Clone, Debug)]
pub enum Done {
    Survey(Result<Job, String>),
    File(Arc<FileWork>),
    /// `None`: the planner panicked.
    Sharing(Arc<Work>, Option<Arc<Answers>>),
}

impl Task {
    const fn kind(&self) -> Kind {
        match self {
            Self::Survey(_) => Kind::Survey,
            Self::File(_) => Kind::File,
            Self::Sharing(..) => Kind::Sharing,
        }
    }

    fn run(&self) -> Done {
        match self {
            Self::Survey(spec) => Done::Survey(Job::of(spec, None)),
            Self::File(text) => Done::File(Arc::new(FileWork::of(text))),
            Self::Sharing(work, request) => Done::Sharing(Arc::clone(work), Some(Arc::new(answer(work, request)))),
        }
    }

    /// The result of a task at which the planner panics: only that one fails, and its Mission says so.
    fn failed(&self) -> Done {
        match self {
            Self::Survey(_) => Done::Survey(Err(format!("spec.survey: {FAULT}"))),
            Self::File(text) => Done::File(Arc::new(FileWork::bad(text, FAULT))),
            Self::Sharing(work, _) => Done::Sharing(Arc::clone(work), None),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Survey,
    File,
    Sharing,
}

/// A task of the Mission with this uid; of each kind one at a time.
type Of = (String, Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Now,
    /// Being planned, for longer than is usual.
    Late,
    After(usize),
    /// Its namespace has as many waiting as it may.
    NoRoom,
}

impl Place {
    /// A clause about `what`, which "is being planned" or waits for that.
    pub fn text(self, what: &str) -> String {
        match self {
            Self::Now | Self::After(0) => format!("{what} is being planned"),
            Self::Late => format!(
                "{what} is being planned, for longer than {} s; give it fewer corners, or divide it into several Missions",
                PLANNING_DEADLINE.as_secs()
            ),
            Self::After(1) => format!("{what} is planned after another"),
            Self::After(before) => format!("{what} is planned after {before} others"),
            Self::NoRoom => format!(
                "{what} is planned later: {MAX_WAITING_PER_NAMESPACE} Missions of its namespace wait to be planned, as many as may; others are not \
                 delayed by them"
            ),
        }
    }
}

#[derive(Debug)]
pub enum Asked<T> {
    Done(T),
    Waits(Place),
}

#[derive(Clone, Debug, Default)]
pub struct Pool {
    queue: Arc<Mutex<Queue>>,
    /// A result is there that the controller may fetch.
    pub ready: Arc<Notify>,
    /// The same, for all others who wait.
    changed: Arc<Notify>,
}

#[derive(Debug)]
struct Running {
    of: Of,
    namespace: String,
    digest: String,
    since: Instant,
}

impl Running {
    fn is_late(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= PLANNING_DEADLINE
    }
}

/// With the digest of all that it depends on.
type Kept = (String, Result<Job, String>);

#[derive(Debug, Default)]
struct Queue {
    /// With the digest of all that the result depends on.
    turns: Turns<Of, (String, Task)>,
    running: Vec<Running>,
    done: HashMap<Of, (String, Done)>,
    /// The last surveys of each namespace, by their digests; and the namespaces, that of the oldest survey first.
    kept: HashMap<String, VecDeque<Kept>>,
    kept_in_order: VecDeque<String>,
}

impl Pool {
    /// The result of the `task` of a Mission, which depends on what `digest` names; begins it.
    pub fn ask(
        &self,
        (namespace, uid): (&str, &str),
        digest: &str,
        task: impl FnOnce() -> Task,
        now: Instant,
    ) -> Asked<Done> {
        let task = task();
        let of = (uid.to_owned(), task.kind());
        let mut queue = self.lock();
        if of.1 == Kind::Survey
            && let Some(job) = queue.kept(namespace, digest)
        {
            queue.done.remove(&of);
            return Asked::Done(Done::Survey(job));
        }
        // Nobody asks for another version of it again; how work is shared is known by all that it depends on.
        if let Some((known, done)) = queue.done.remove(&of)
            && (known == digest || of.1 == Kind::Sharing)
        {
            return Asked::Done(done);
        }
        let running = queue
            .running
            .iter()
            .find(|running| running.of == of && running.digest == digest);
        let late = running.map(|running| running.is_late(now));
        if late.is_none() {
            queue.turns.put(namespace, of.clone(), (digest.to_owned(), task));
        }
        if let Some(first) = queue.take(now) {
            self.begin(first, Task::run);
        }
        let is_running = queue
            .running
            .iter()
            .any(|running| running.of == of && running.digest == digest);
        Asked::Waits(match (late, queue.turns.before(&of)) {
            (Some(true), _) => Place::Late,
            _ if is_running => Place::Now,
            (_, Some(before)) => Place::After(before + queue.running.len()),
            (_, None) => Place::NoRoom,
        })
    }

    pub async fn result(&self, of: (&str, &str), digest: &str, task: impl Fn() -> Task) -> Done {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Asked::Done(done) = self.ask(of, digest, &task, Instant::now()) {
                return done;
            }
            changed.await;
        }
    }

    pub fn retain(&self, known: impl Fn(&str) -> bool) {
        let mut queue = self.lock();
        queue.done.retain(|(uid, _), _| known(uid));
        queue.turns.retain(|(uid, _)| known(uid));
    }

    fn begin(&self, first: (Of, Task), run: impl Fn(&Task) -> Done + Send + 'static) {
        let pool = self.clone();
        tokio::task::spawn_blocking(move || pool.work_off(first, run));
    }

    fn work_off(&self, first: (Of, Task), run: impl Fn(&Task) -> Done) {
        let mut next = Some(first);
        while let Some((of, task)) = next {
            let done = catch_unwind(AssertUnwindSafe(|| run(&task))).unwrap_or_else(|_| task.failed());
            let mut queue = self.lock();
            queue.end(&of, done);
            next = queue.take(Instant::now());
            drop(queue);
            self.ready.notify_one();
            self.changed.notify_waiters();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        lock(&self.queue)
    }
}

impl Queue {
    fn take(&mut self, now: Instant) -> Option<(Of, Task)> {
        let (late, in_time): (Vec<&Running>, Vec<&Running>) =
            self.running.iter().partition(|running| running.is_late(now));
        if in_time.len() >= CONCURRENT_TASKS || late.len() > MAX_LATE_TASKS {
            return None;
        }
        // Other tasks of a Mission wait for the one that is late.
        let may = |name: &str| !late.iter().any(|running| running.namespace == name);
        let (namespace, of, (digest, task)) = self.turns.take(may)?;
        self.running.push(Running {
            of: of.clone(),
            namespace,
            digest,
            since: now,
        });
        Some((of, task))
    }

    /// Keeps the result of a task, unless another version of it waits.
    fn end(&mut self, of: &Of, done: Done) {
        let Some(number) = self.running.iter().position(|running| running.of == *of) else {
            return;
        };
        let Running { namespace, digest, .. } = self.running.swap_remove(number);
        if let Done::Survey(job) = &done {
            self.keep(&namespace, &digest, job);
        }
        let is_overtaken = self.turns.get(of).is_some_and(|(waiting, _)| *waiting != digest);
        if !is_overtaken || of.1 == Kind::Sharing {
            self.done.insert(of.clone(), (digest, done));
        }
    }

    fn keep(&mut self, namespace: &str, digest: &str, job: &Result<Job, String>) {
        self.kept_in_order.retain(|name| name != namespace);
        self.kept_in_order.push_back(namespace.to_owned());
        let kept = self.kept.entry(namespace.to_owned()).or_default();
        kept.push_back((digest.to_owned(), job.clone()));
        while kept.len() > KEPT_SURVEYS_PER_NAMESPACE {
            kept.pop_front();
        }
        if self.kept_in_order.len() > KEPT_NAMESPACES
            && let Some(oldest) = self.kept_in_order.pop_front()
        {
            self.kept.remove(&oldest);
        }
    }

    fn kept(&self, namespace: &str, digest: &str) -> Option<Result<Job, String>> {
        let kept = self.kept.get(namespace)?;
        let found = kept.iter().find(|(known, _)| known == digest)?;
        Some(found.1.clone())
    }
}

#[cfg(test)]
mod tests;
