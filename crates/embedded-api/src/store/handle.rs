//! The store, as the rest of the program uses it.

use super::error::{Compacted, OpenError, WriteError};
use super::history::Limits;
use super::journal::{self, Medium};
use super::list::{Listed, Page, list};
use super::load::load;
use super::object::{FactsFn, Key, Object};
use super::shared::Shared;
use super::state::{State, Stats};
use super::watch::Watch;
use super::write::Write;
use super::writer::{Job, Writer};
use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

#[derive(Clone, Debug)]
pub struct Options {
    pub folder: PathBuf,
    pub history: Limits,
    /// Further callers wait.
    pub queue: usize,
}

impl Options {
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            history: Limits::default(),
            queue: 1024,
        }
    }
}

/// Cheap to clone; dropping the last clone closes the store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    queue: Option<mpsc::Sender<Job>>,
    writer: Option<JoinHandle<()>>,
}

impl Store {
    /// Blocks while it reads the whole store. A folder that has, or had, objects is never opened as an empty one.
    pub fn open(options: Options, facts: FactsFn) -> Result<Self, OpenError> {
        Self::open_on(options, facts, journal::file())
    }

    pub(super) fn open_on(options: Options, facts: FactsFn, medium: Medium) -> Result<Self, OpenError> {
        let (queue, jobs) = mpsc::channel(options.queue.max(1));
        let (opened, opening) = std::sync::mpsc::sync_channel(1);
        let folder = options.folder.clone();
        let cannot_run = |source| OpenError::Io { path: folder, source };
        // The writer thread also loads the data, so that the memory it frees later is memory that it allocated.
        let thread = thread::Builder::new().name("store".to_owned());
        let thread = thread.spawn(move || match start(&options, facts, medium) {
            Ok((shared, writer, runtime)) => {
                let _ = opened.send(Ok(shared));
                runtime.block_on(writer.run(jobs));
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        });
        let thread = match thread {
            Ok(thread) => thread,
            Err(source) => return Err(cannot_run(source)),
        };
        match opening.recv() {
            Ok(Ok(shared)) => Ok(Self {
                inner: Arc::new(Inner {
                    shared,
                    queue: Some(queue),
                    writer: Some(thread),
                }),
            }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(cannot_run(io::Error::other(
                "the thread that reads it ended in a panic",
            ))),
        }
    }

    #[must_use]
    pub fn revision(&self) -> u64 {
        self.inner.shared.read().revision()
    }

    #[must_use]
    pub fn floor(&self) -> u64 {
        self.inner.shared.read().history().floor()
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        self.inner.shared.read().stats()
    }

    /// Reason that objects cannot be stored (the disk is full, or fails), as of the last write or attempt.
    #[must_use]
    pub fn failing(&self) -> Option<String> {
        self.inner.shared.failing()
    }

    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.inner.shared.read().get(key).cloned()
    }

    /// `keep` must not use the store, which is locked. Errors: `Compacted` when the page's revision is below the floor.
    pub fn list(
        &self,
        resource: &str,
        namespace: Option<&str>,
        page: &Page,
        keep: impl Fn(&Object) -> bool,
    ) -> Result<Listed, Compacted> {
        list(&self.inner.shared.read(), resource, namespace, page, keep)
    }

    #[must_use]
    pub fn count(&self, resource: &str, namespace: Option<&str>) -> usize {
        let state = self.inner.shared.read();
        let Some(objects) = state.kind(resource) else { return 0 };
        match namespace {
            None => objects.len(),
            Some(namespace) => {
                let from = (namespace.into(), "".into());
                let behind = objects.range(from..);
                behind.take_while(|((within, _), _)| **within == *namespace).count()
            }
        }
    }

    #[must_use]
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<Object>> {
        self.inner.shared.read().owned_by(uid)
    }

    #[must_use]
    pub fn is_blocked(&self, uid: &str) -> bool {
        self.inner.shared.read().is_blocked(uid)
    }

    /// Returns, once the write is on disk and visible, the new state or a deleted object's last. A caller that stops
    /// waiting does not stop the write. On an error nothing was written.
    pub async fn write(&self, write: Write) -> Result<Arc<Object>, WriteError> {
        let (answer, outcome) = oneshot::channel();
        self.ask(Job::Write(Box::new(write), answer)).await?;
        outcome.await.unwrap_or(Err(WriteError::Closed))
    }

    /// Changes after revision `since`, including future ones. Errors: `Compacted` when `since` is below the floor.
    pub fn watch(&self, resource: &str, since: u64) -> Result<Watch, Compacted> {
        let floor = self.floor();
        if since < floor {
            return Err(Compacted {
                requested: since,
                floor,
            });
        }
        Ok(Watch::new(Arc::clone(&self.inner.shared), resource, since))
    }

    /// Finishes queued writes. Later writes are refused as `Closed`; reading continues.
    pub async fn close(self) {
        let (closer, closed) = oneshot::channel();
        if self.ask(Job::Close(closer)).await.is_ok() {
            let _ = closed.await;
        }
    }

    async fn ask(&self, job: Job) -> Result<(), WriteError> {
        let queue = self.inner.queue.as_ref().ok_or(WriteError::Closed)?;
        queue.send(job).await.map_err(|_| WriteError::Closed)
    }
}

fn start(options: &Options, facts: FactsFn, medium: Medium) -> Result<(Arc<Shared>, Writer, Runtime), OpenError> {
    let mut loaded = load(&options.folder, &medium, &facts)?;
    let shared = Arc::new(Shared::new(mem::replace(&mut loaded.state, State::new(0))));
    let mut writer = Writer::new(loaded, Arc::clone(&shared), medium, facts, options.history);
    writer.tidy();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|source| OpenError::Io {
        path: options.folder.clone(),
        source,
    })?;
    Ok((shared, writer, runtime))
}

impl std::fmt::Debug for Store {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Store")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(Err(_)) = self.writer.take().map(JoinHandle::join) {
            tracing::error!("the thread that keeps objects had ended in a panic");
        }
    }
}
