//! Writing to a link, and observing it.

use crate::counters::{CounterSnapshot, Counters};
use crate::raw::{Direction, RawFrame};
use crate::sequence::{SenderCount, Senders};
use crate::signing::Signer;
use crate::signing::stamps::Stamp;
use crate::tap::{Tap, Taps};
use crate::transport::Writer;
use bytes::Bytes;
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MAVLinkV2MessageRaw, MavHeader};
use model::units::Address;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, timeout};

#[derive(Clone, Debug)]
pub struct LinkHandle(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub writer: Mutex<Option<Writer>>,
    pub stuck: Notify,
    pub up: AtomicBool,
    pub sequence: AtomicU8,
    pub counters: Arc<Counters>,
    pub taps: Taps,
    pub senders: std::sync::Mutex<Senders>,
    pub signer: Option<std::sync::Mutex<Signer>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("the link is down")]
    Down,
    /// A part may have left.
    #[error("the line did not take the frame in time")]
    Slow,
    /// Not a byte left.
    #[error("it was not wanted any more when its turn came")]
    CalledOff,
    #[error("writing to the link failed")]
    Failed(#[source] io::Error),
}

impl LinkHandle {
    /// Signed if the link has a key. Never queued: if the link is down, or does not take the frame in time, it is
    /// dropped.
    pub async fn send(&self, from: Address, message: &MavMessage, within: Duration) -> Result<(), SendError> {
        self.send_if(from, message, within, || true).await
    }

    /// Like [`Self::send`], if `still` holds once the line is free.
    pub async fn send_if(
        &self,
        from: Address,
        message: &MavMessage,
        within: Duration,
        still: impl FnOnce() -> bool + Send,
    ) -> Result<(), SendError> {
        let counters = &self.0.counters;
        let frame = || still().then(|| self.frame(from, message));
        let result = self.write(frame, Direction::Us, within).await;
        match &result {
            Ok(()) => counters.sent(1),
            Err(SendError::CalledOff) => {}
            Err(_) => counters.send_failures(1),
        }
        result
    }

    /// Gives taps an unwritten frame, a remark in the flight log, with a number so that readers of a tap miss none.
    pub fn note(&self, from: Address, message: &MavMessage) {
        self.record(&self.frame(from, message), Direction::Us);
    }

    /// Numbers and stamps must reach the line in order: a signed frame that is overtaken is refused as a repetition.
    fn frame(&self, from: Address, message: &MavMessage) -> Bytes {
        let shared = &self.0;
        let header = MavHeader {
            system_id: u32::from(from.system.0),
            component_id: from.component.0,
            sequence: shared.sequence.fetch_add(1, Ordering::Relaxed),
        };
        let mut raw = MAVLinkV2MessageRaw::new();
        raw.serialize_message(header, message);
        match &shared.signer {
            Some(signer) => {
                let mut signer = signer.lock().unwrap_or_else(PoisonError::into_inner);
                signer.sign(raw.raw_bytes(), Stamp::now())
            }
            None => Bytes::copy_from_slice(raw.raw_bytes()),
        }
    }

    /// Writes a guest's frame byte for byte, now or never, like [`Self::send`].
    pub async fn send_raw(&self, frame: &RawFrame, within: Duration) -> Result<(), SendError> {
        let result = self.write(|| Some(frame.bytes.clone()), Direction::Guest, within).await;
        match &result {
            Ok(()) => self.0.counters.guests_sent(1),
            Err(_) => self.0.counters.guests_send_failures(1),
        }
        result
    }

    async fn write(
        &self,
        bytes: impl FnOnce() -> Option<Bytes> + Send,
        from: Direction,
        within: Duration,
    ) -> Result<(), SendError> {
        let shared = &self.0;
        let began = AtomicBool::new(false);
        let write = async {
            let mut writer = shared.writer.lock().await;
            let line = writer.as_mut().ok_or(SendError::Down)?;
            let bytes = bytes().ok_or(SendError::CalledOff)?;
            began.store(true, Ordering::Relaxed);
            line.write(&bytes).await.map_err(|error| match error.kind() {
                io::ErrorKind::NotConnected => SendError::Down,
                _ => SendError::Failed(error),
            })?;
            // While the line is still ours, so that taps get frames in the order in which they were written.
            self.record(&bytes, from);
            Ok(())
        };
        let result = timeout(within, write).await.unwrap_or(Err(SendError::Slow));
        // Reopening also drops what a stuck line holds. A writer that only waited for another has not found the line
        // stuck.
        if began.load(Ordering::Relaxed) && matches!(result, Err(SendError::Slow | SendError::Failed(_))) {
            shared.stuck.notify_one();
        }
        result
    }

    fn record(&self, bytes: &Bytes, from: Direction) {
        if let Some(frame) = RawFrame::written(bytes, from, Instant::now()) {
            self.0.taps.offer(&Arc::new(frame), &self.0.counters);
        }
    }

    /// All later frames, both directions, except stale and badly signed ones. Never slows the link: beyond `capacity`
    /// the oldest go, counted by [`Tap::lost`].
    #[must_use]
    pub fn tap(&self, capacity: usize) -> Tap {
        self.0.taps.add(capacity)
    }

    #[must_use]
    pub fn is_up(&self) -> bool {
        self.0.up.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn counters(&self) -> CounterSnapshot {
        self.0.counters.snapshot()
    }

    #[must_use]
    pub fn senders(&self) -> Vec<SenderCount> {
        self.0.senders.lock().unwrap_or_else(PoisonError::into_inner).list()
    }
}
