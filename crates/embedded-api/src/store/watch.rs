//! A watch: a position in the history of one kind, moved forward by reading.

use super::error::Ended;
use super::object::Event;
use super::shared::Shared;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

const READ_BATCH: usize = 32;

#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    wakeup: watch::Receiver<()>,
    resource: Arc<str>,
    taken: VecDeque<Arc<Event>>,
    read: u64,
    returned: u64,
}

impl Watch {
    pub(super) fn new(shared: Arc<Shared>, resource: &str, since: u64) -> Self {
        Self {
            wakeup: shared.wakeup(resource),
            shared,
            resource: resource.into(),
            taken: VecDeque::new(),
            read: since,
            returned: since,
        }
    }

    /// Safe to cancel. Errors: `Lagged` when unread changes are gone, `Closed` after the last change of a closed store.
    pub async fn next(&mut self) -> Result<Arc<Event>, Ended> {
        loop {
            if let Some(event) = self.take()? {
                return Ok(event);
            }
            // Notified since the last wait, or now: read again. The channels live as long as `shared`.
            let _ = self.wakeup.changed().await;
        }
    }

    /// `None` when there is none yet. Errors are those of [`Watch::next`].
    pub fn take(&mut self) -> Result<Option<Arc<Event>>, Ended> {
        if self.taken.is_empty() {
            self.refill()?;
        }
        let event = self.taken.pop_front();
        if let Some(event) = &event {
            self.returned = event.revision;
        }
        Ok(event)
    }

    /// Revision of a bookmark: every change up to it was returned.
    pub fn progress(&mut self) -> u64 {
        if self.taken.is_empty() {
            // A watch that has lagged gets the error from `next`; until then it has read no more than before.
            let _ = self.refill();
            if self.taken.is_empty() {
                self.returned = self.read;
            }
        }
        self.returned
    }

    fn refill(&mut self) -> Result<(), Ended> {
        let state = self.shared.read();
        let Some(events) = state.history().after(&self.resource, self.read, READ_BATCH) else {
            return Err(Ended::Lagged { after: self.returned });
        };
        match events.last() {
            Some(last) => self.read = last.revision,
            None if state.closed() => return Err(Ended::Closed),
            None => self.read = self.read.max(state.revision()),
        }
        self.taken.extend(events);
        Ok(())
    }
}
