//! The work of a Mission, from its spec or its file; planning that takes time runs in the [`Pool`](super::pool::Pool).

use super::file::{self, Order};
use super::lock::lock;
use super::memory::Memory;
use super::observe::Subject;
use super::pool::{Asked, Done, Task};
use super::work::File;
use super::work::{self, Job, asked_for};
use super::{Controller, ReconcileError, status};
use crate::cluster::api::{ApiError, error_chain};
use crate::cluster::key::Key;
use crate::cluster::world::uid;
use crds::mission::MissionStatus;
use crds::{Mission, MissionSpec};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use std::time::Duration;
use tokio::time::Instant;

/// Areas with fewer corners are planned at once: that takes less time than waiting for another thread.
const INLINE_PLANNING_CORNERS: usize = 16;

impl Controller {
    /// Its work, if it differs from `known`; `read` is its file, if that was read just now.
    pub(super) fn job(
        &self,
        mission: &Mission,
        known: Option<&Memory>,
        read: Option<&(File, Instant)>,
        now: Instant,
    ) -> Option<Asked<Result<Job, String>>> {
        let file = read
            .or_else(|| known.and_then(|known| known.file.as_ref()))
            .map(|(file, _)| file);
        if let Some(known) = known {
            let is_file = known.file.as_ref().map(|(file, _)| file) == file;
            if known.generation == mission.metadata.generation && is_file {
                return None;
            }
            // The file that it names now is not read yet.
            if mission.spec.plan_from.is_some() && read.is_none() && known.from != mission.spec.plan_from {
                return None;
            }
            if mission.spec.survey.is_some() && known.survey == mission.spec.survey {
                return Some(Asked::Done(known.job.clone()));
            }
        }
        let namespace = mission.namespace().unwrap_or_default();
        let at_once = || Some(Asked::Done(Job::of(&mission.spec, file)));
        if corners(&mission.spec) <= INLINE_PLANNING_CORNERS {
            return at_once();
        }
        let Ok(digest) = asked_for(&mission.spec) else {
            return at_once();
        };
        let task = || Task::Survey(Box::new(mission.spec.clone()));
        match self.pool.ask((&namespace, uid(mission)), &digest, task, now) {
            Asked::Done(Done::Survey(job)) => Some(Asked::Done(job)),
            Asked::Done(_) => None,
            Asked::Waits(place) => Some(Asked::Waits(place)),
        }
    }

    /// Shows what a Mission without any plan waits for. If it is not to go on, its Drones need not wait for that.
    pub(super) async fn say_planning(
        &self,
        subject: &Subject,
        waits: &str,
        wall: Timestamp,
    ) -> Result<(), ReconcileError> {
        let mission = subject.mission.as_ref();
        let written = mission.status.clone().unwrap_or_default();
        let status = status::planning(mission, &written, waits, wall);
        if written.work.is_none() && status::is_news(&written, &status) {
            self.write(mission, &status).await?;
        }
        self.let_come_home(subject, wall).await
    }

    /// Deletes the Drones of a Mission whose work is not known, if it is not to go on.
    pub(super) async fn let_come_home(&self, subject: &Subject, wall: Timestamp) -> Result<(), ReconcileError> {
        let written = subject.mission.status.clone().unwrap_or_default();
        if work::wanted(&subject.mission, running(&written, wall)).halt.is_none() {
            return Ok(());
        }
        let all = subject.drones.iter().map(|drone| drone.key.name.as_str()).collect();
        self.delete(subject, &all, Instant::now()).await
    }

    /// The file that it names, if it is time to read it. A Mission that flies goes on by the last reading while the API does not answer.
    pub(super) fn read_file(
        &self,
        mission: &Mission,
        memory: Option<&Memory>,
        now: Instant,
    ) -> Result<Option<Asked<File>>, ApiError> {
        let Some(from) = &mission.spec.plan_from else {
            return Ok(None);
        };
        let id = uid(mission);
        let mut reader = lock(&self.reader);
        // After an edit, another file, or whether it may be flown, is asked for at once.
        let same = memory.filter(|memory| memory.generation == mission.metadata.generation);
        let known = same.and_then(|memory| Some((memory, memory.file.as_ref()?)));
        if let Some((memory, (_, at))) = known
            && !reader.is_asked(id)
            && (memory.written.completion_time.is_some() || !file::is_due(now - *at, memory.can_go_on()))
        {
            return Ok(None);
        }
        let namespace = mission.namespace().unwrap_or_default();
        let order = Order::new(namespace, id.to_owned(), from.config_map_key_ref.clone());
        let client = self.observer.cluster.client();
        let read = reader.read(order, &client, &self.pool);
        drop(reader);
        match read {
            Asked::Waits(place) => Ok(Some(Asked::Waits(place))),
            Asked::Done(Ok(file)) => Ok(Some(Asked::Done(file))),
            Asked::Done(Err(error)) => match known {
                Some((_, (file, _))) => {
                    tracing::warn!(mission = %Key::of(mission), error = error_chain(&error), "the file of a Mission was not read again");
                    Ok(Some(Asked::Done(file.clone())))
                }
                None => Err(error),
            },
        }
    }
}

pub(super) fn running(status: &MissionStatus, wall: Timestamp) -> Option<Duration> {
    let started = status.start_time.as_ref().map(|at| at.0)?;
    Duration::try_from(wall.duration_since(started)).ok()
}

/// With those of its holes.
fn corners(spec: &MissionSpec) -> usize {
    let area = spec.survey.as_ref().map(|survey| &survey.area);
    area.map_or(0, |area| {
        let holes = area.holes.iter().map(|hole| hole.polygon.len());
        area.polygon.len() + holes.sum::<usize>()
    })
}
