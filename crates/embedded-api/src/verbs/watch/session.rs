//! One watch, from its beginning to its end.

use super::frames;
use super::transition::{EventType, event_type};
use crate::refusal::Refusal;
use crate::store::{Compacted, Ended, Event, Listed, Object, Page, Watch};
use crate::verbs::core::{Core, Kind};
use crate::verbs::object_encoder::ObjectEncoder;
use crate::verbs::selector::Selector;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

const BOOKMARK: Duration = Duration::from_secs(60);
/// A watcher that accepts nothing for this long loses its watch.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    InitialEvents { end_bookmark: bool },
    Now,
    After(u64),
}

pub(super) struct Session {
    pub(super) core: Arc<Core>,
    pub(super) kind: Arc<Kind>,
    pub(super) namespace: Option<Arc<str>>,
    pub(super) encoder: ObjectEncoder,
    pub(super) selector: Selector,
    pub(super) beginning: Beginning,
    pub(super) bookmarks: bool,
    pub(super) lasts: Duration,
    pub(super) sender: mpsc::Sender<Bytes>,
}

enum End {
    /// Disconnected, or accepts nothing.
    Gone,
    Error(Refusal),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal)
    }
}

impl Session {
    pub(super) async fn run(self, stop: CancellationToken) {
        let sender = self.sender.clone();
        let ended = tokio::select! {
            ended = self.send_events() => ended,
            () = sender.closed() => return,
            () = stop.cancelled() => return,
        };
        if let Err(End::Error(refusal)) = ended {
            let _ = timeout(PATIENCE, sender.send(frames::error(&refusal))).await;
        }
    }

    async fn send_events(self) -> Result<(), End> {
        let end = Instant::now() + self.lasts;
        let mut described = true;
        let mut changes = match self.beginning {
            Beginning::InitialEvents { end_bookmark } => {
                let listed = self.listed()?;
                // From here on no change of this kind is missed, however slowly the watcher reads the existing objects.
                let changes = self.changes(listed.revision)?;
                self.initial_events(listed, end_bookmark, &mut described).await?;
                changes
            }
            Beginning::Now => self.changes(self.core.store.revision())?,
            Beginning::After(revision) => self.changes(self.known(revision)?)?,
        };
        let mut bookmark = Instant::now() + BOOKMARK;
        loop {
            tokio::select! {
                event = changes.next() => match event {
                    Ok(event) => self.change(&event, &mut described).await?,
                    Err(Ended::Lagged { after }) => return Err(too_old(after, self.core.store.floor()).into()),
                    Err(Ended::Closed) => return Ok(()),
                },
                () = sleep_until(bookmark), if self.bookmarks => {
                    bookmark = Instant::now() + BOOKMARK;
                    self.bookmark(changes.progress(), false).await?;
                }
                () = sleep_until(end) => break,
            }
        }
        if self.bookmarks {
            self.bookmark(changes.progress(), false).await?;
        }
        Ok(())
    }

    /// 410 for a revision of another server's life: it might never come.
    fn known(&self, revision: u64) -> Result<u64, Refusal> {
        match self.core.store.revision() {
            now if revision > now => Err(too_old(revision, now)),
            _ => Ok(revision),
        }
    }

    fn changes(&self, since: u64) -> Result<Watch, Refusal> {
        let changes = self.core.store.watch(&self.kind.resource.storage, since);
        changes.map_err(|Compacted { requested, floor }| too_old(requested, floor))
    }

    fn listed(&self) -> Result<Listed, Refusal> {
        let keep = |object: &Object| self.selector.matches(object);
        let storage = &self.kind.resource.storage;
        let listed = self
            .core
            .store
            .list(storage, self.namespace.as_deref(), &Page::default(), keep);
        listed.map_err(|Compacted { requested, floor }| too_old(requested, floor))
    }

    async fn initial_events(&self, listed: Listed, end_bookmark: bool, described: &mut bool) -> Result<(), End> {
        for object in &listed.objects {
            self.object(EventType::Added, &self.encoder.stored(object, *described)?)
                .await?;
            *described = false;
        }
        if end_bookmark && self.bookmarks {
            self.bookmark(listed.revision, true).await?;
        }
        Ok(())
    }

    async fn change(&self, event: &Event, described: &mut bool) -> Result<(), End> {
        if self
            .namespace
            .as_ref()
            .is_some_and(|within| *within != event.object.key.namespace)
        {
            return Ok(());
        }
        let before = event.previous.as_deref().filter(|object| self.selector.matches(object));
        let Some(event_type) = event_type(before.is_some(), self.selector.matches(&event.object), event.deleted) else {
            return Ok(());
        };
        let object = match (event_type, before) {
            (EventType::Left, Some(before)) => self.encoder.deselected(before, event.revision, *described)?,
            _ => self.encoder.stored(&event.object, *described)?,
        };
        *described = false;
        self.object(event_type, &object).await
    }

    async fn object(&self, event_type: EventType, object: &[u8]) -> Result<(), End> {
        self.send(frames::event(event_type.type_(), object)).await
    }

    async fn bookmark(&self, revision: u64, initial_end: bool) -> Result<(), End> {
        let shape = self.encoder.as_.shape;
        self.send(frames::bookmark(&self.kind.resource, shape, revision, initial_end))
            .await
    }

    async fn send(&self, frame: Bytes) -> Result<(), End> {
        match timeout(PATIENCE, self.sender.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }
}

fn too_old(requested: u64, floor: u64) -> Refusal {
    Refusal::expired(format!("too old resource version: {requested} ({floor})"))
}
