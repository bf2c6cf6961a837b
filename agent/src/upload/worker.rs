//! The thread that uploads: which log is next, when there is time for it, and what comes after a failure.

use super::disk::{WholeLog, whole_logs};
use super::flags::Config;
use super::http::Pace;
use super::ledger::Ledger;
use super::send::{NotSent, Sender};
use super::store::{self, NoStore};
use crate::clock::Clock;
use crate::logs::shelf::Shelf;
use crate::sent::Sent;
use crate::uplink::Outward;
use model::backoff::Backoff;
use model::ids::NodeName;
use model::logs::upload::{UploadTime, Uploads};
use model::vehicle::{FlightTruth, WhyUnknown};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Span, debug, error, info, warn};

const LOOK_EVERY: Duration = Duration::from_secs(5);
const RETRY: Backoff = Backoff {
    first: Duration::from_secs(2),
    cap: Duration::from_secs(300),
};

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) config: Config,
    pub(crate) node: NodeName,
    pub(crate) folder: PathBuf,
    pub(crate) sent: Sent,
    pub(crate) outward: watch::Receiver<Outward>,
    pub(crate) stop: CancellationToken,
}

/// Runs on a thread of its own that is not waited for.
pub(crate) fn start(task: Task) -> watch::Receiver<Uploads> {
    let (figures, shown) = watch::channel(Uploads::default());
    let span = Span::current();
    let run = move || {
        let _entered = span.enter();
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return error!(%error, "cannot begin to upload logs; nothing is uploaded"),
        };
        runtime.block_on(async {
            let stop = task.stop.clone();
            tokio::select! {
                () = Box::pin(upload(task, figures)) => {}
                () = stop.cancelled() => {}
            }
        });
        runtime.shutdown_background();
    };
    if let Err(error) = std::thread::Builder::new().name("log-upload".to_owned()).spawn(run) {
        error!(%error, "no thread for the upload of logs; nothing is uploaded");
    }
    shown
}

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Store(#[from] NoStore),
    #[error(transparent)]
    Send(#[from] NotSent),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Send(error.into())
    }
}

async fn upload(task: Task, figures: watch::Sender<Uploads>) {
    let mut failures = 0_u32;
    let mut ledger = loop {
        match Ledger::open(&task.folder, &task.node) {
            Ok(ledger) => break ledger,
            Err(error) => warn!(%error, "cannot read which logs were uploaded; trying again"),
        }
        failures = failures.saturating_add(1);
        sleep(RETRY.delay(failures, rand::random())).await;
    };
    let mut worker = Worker {
        pace: Pace::of(task.config.bytes_per_second),
        ground: Ground {
            outward: task.outward.clone(),
            time: UploadTime::default(),
            clock: Clock::start(),
        },
        task,
        figures,
        failed: HashMap::new(),
    };
    let mut logged = String::new();
    failures = 0;
    loop {
        let why = match worker.round(&mut ledger).await {
            Ok(true) => {
                failures = 0;
                logged.clear();
                continue;
            }
            Ok(false) => {
                sleep(LOOK_EVERY).await;
                continue;
            }
            Err(why) => why.to_string(),
        };
        worker.figures.send_modify(|figures| figures.failures += 1);
        failures = failures.saturating_add(1);
        let pause = RETRY.delay(failures, rand::random());
        if why == logged {
            debug!(why, "a log is still not uploaded");
        } else {
            warn!(
                why,
                pause_s = pause.as_secs(),
                "a log could not be uploaded; trying again, as long as it takes"
            );
            logged = why;
        }
        sleep(pause).await;
    }
}

struct Worker {
    task: Task,
    pace: Pace,
    ground: Ground,
    figures: watch::Sender<Uploads>,
    /// How often each log has failed in this life: one that cannot be sent holds up no other.
    failed: HashMap<String, u32>,
}

impl Worker {
    async fn round(&mut self, ledger: &mut Ledger) -> Result<bool, Failed> {
        let logs = whole_logs(&self.task.folder, &self.task.node)?;
        let folders = [
            self.task.folder.clone(),
            Shelf::folder(&self.task.folder, &self.task.node),
        ];
        ledger.forget_others(|name| folders.iter().any(|folder| folder.join(name).is_file()));
        self.failed.retain(|name, _| logs.iter().any(|log| log.name == *name));
        let waiting: Vec<_> = logs.iter().filter(|log| !ledger.has(&log.name, log.bytes)).collect();
        self.show(ledger, &waiting);
        // The first of equals is the oldest.
        let next = waiting
            .into_iter()
            .min_by_key(|log| self.failed.get(&log.name).copied().unwrap_or(0));
        let Some(log) = next else { return Ok(false) };
        self.ground.reached().await;
        let sender_store = store::open(&self.task.config, &self.pace)?;
        let sender = Sender {
            store: &sender_store,
            node: &self.task.node,
            prefix: &self.task.config.prefix,
        };
        let sent = tokio::select! {
            sent = sender.send(ledger, log) => sent,
            () = self.ground.left() => {
                info!(log = log.name, "the upload of a log waits for the next landing");
                return Ok(false);
            }
        };
        match sent {
            Ok(sent) => {
                info!(
                    log = sent.name,
                    key = sent.key,
                    bytes = sent.bytes,
                    sha256 = sent.sha256,
                    "log uploaded and checked"
                );
                self.failed.remove(&log.name);
                ledger.now.under_way = None;
                ledger.now.sent.retain(|other| other.name != sent.name);
                ledger.now.sent.push(sent);
                ledger.save()?;
                self.figures.send_modify(|figures| figures.uploaded += 1);
                Ok(true)
            }
            Err(why) => {
                *self.failed.entry(log.name.clone()).or_default() += 1;
                Err(why.into())
            }
        }
    }

    fn show(&self, ledger: &Ledger, waiting: &[&WholeLog]) {
        let keys = ledger.now.sent.iter().map(|log| (log.name.clone(), log.key.clone()));
        self.task.sent.replace(keys);
        let shown = |figures: &mut Uploads| {
            let before = *figures;
            figures.waiting = u64::try_from(waiting.len()).unwrap_or(u64::MAX);
            figures.waiting_bytes = waiting.iter().map(|log| log.bytes).sum();
            figures.removed_before = self.task.sent.removed_before();
            *figures != before
        };
        self.figures.send_if_modified(shown);
    }
}

struct Ground {
    outward: watch::Receiver<Outward>,
    time: UploadTime,
    clock: Clock,
}

impl Ground {
    /// `None`: until the vehicle is on the ground.
    fn wait(&mut self) -> Option<Duration> {
        let truth = self
            .outward
            .borrow_and_update()
            .report
            .as_ref()
            .map(|report| report.truth);
        let now = self.clock.now();
        self.time
            .take(truth.unwrap_or(FlightTruth::Unknown(WhyUnknown::NeverHeard)), now);
        self.time.wait(now)
    }

    async fn changed(&mut self) {
        if self.outward.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn reached(&mut self) {
        loop {
            match self.wait() {
                Some(Duration::ZERO) => return,
                Some(wait) => {
                    let _ = timeout(wait, self.changed()).await;
                }
                None => self.changed().await,
            }
        }
    }

    /// Safe to cancel.
    async fn left(&mut self) {
        loop {
            self.changed().await;
            if self.wait().is_none() {
                return;
            }
        }
    }
}
