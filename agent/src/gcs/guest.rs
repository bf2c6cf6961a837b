//! A guest's way in: a place at the table, frames cut from its bytes, and no more of them than the agent can bear.

use super::counters::Counters;
use super::guest_queue::GuestQueue;
use super::routes::GuestId;
use super::switch::Rights;
use link::framing::Framer;
use link::raw::RawFrame;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tracing::{info, warn};

/// Besides those that come through the coordinator.
pub const GUESTS: usize = 8;
/// A guest that sends more bytes a second is read no faster: what flies the vehicle shares a processor with this. A ground
/// station that writes a thousand parameters sends a tenth.
const BYTES_PER_SECOND: f64 = 262_144.0;
const BURST: f64 = 65_536.0;
/// Bytes that a frame counts as more: handing a short one on is as much work as a long one.
const EACH_FRAME: usize = 64;
/// The same for what seemed to be a frame until its checksum was known.
const EACH_BAD_CHECKSUM: usize = link::raw::LONGEST;

#[derive(Debug)]
pub enum FromGuest {
    Joined(GuestId, Rights, GuestQueue),
    Received(GuestId, Arc<RawFrame>),
    Left(GuestId),
}

#[derive(Clone, Debug)]
pub struct GuestAdmission {
    next: Arc<AtomicU64>,
    /// A guest was turned away, and that was logged.
    full: Arc<AtomicBool>,
    places: Arc<Semaphore>,
    rights: Rights,
    hub: mpsc::Sender<FromGuest>,
    counters: Arc<Counters>,
}

/// To be ended with [`Guest::leave`].
#[derive(Debug)]
pub struct Guest {
    id: GuestId,
    name: String,
    pub queue: GuestQueue,
    framer: Framer,
    pace: Pace,
    hub: mpsc::Sender<FromGuest>,
    counters: Arc<Counters>,
    _place: OwnedSemaphorePermit,
}

impl GuestAdmission {
    pub fn new(hub: mpsc::Sender<FromGuest>, counters: Arc<Counters>) -> Self {
        Self {
            next: Arc::default(),
            full: Arc::default(),
            places: Arc::new(Semaphore::new(GUESTS)),
            rights: Rights::Command,
            hub,
            counters,
        }
    }

    /// Admission with `most` places of its own: who fills these takes none of the others.
    pub fn apart(&self, most: usize, rights: Rights) -> Self {
        Self {
            full: Arc::default(),
            places: Arc::new(Semaphore::new(most)),
            rights,
            ..self.clone()
        }
    }

    /// `None`: there are too many. `wake` rings for its queue.
    pub async fn admit(&self, name: String, wake: Arc<Notify>) -> Option<Guest> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.counters.turned_away(1);
            if !self.full.swap(true, Ordering::Relaxed) {
                warn!(guest = name, "a ground station was turned away: there are too many");
            }
            return None;
        };
        self.full.store(false, Ordering::Relaxed);
        let id = GuestId(self.next.fetch_add(1, Ordering::Relaxed));
        let queue = GuestQueue::new(wake);
        let joined = FromGuest::Joined(id, self.rights, queue.clone());
        self.hub.send(joined).await.ok()?;
        self.counters.joined(1);
        info!(guest = name, "a ground station is connected");
        Some(Guest {
            id,
            name,
            queue,
            framer: Framer::default(),
            pace: Pace::new(Instant::now()),
            hub: self.hub.clone(),
            counters: Arc::clone(&self.counters),
            _place: place,
        })
    }

    pub fn has_room(&self) -> bool {
        self.places.available_permits() > 0
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Guest {
    /// Returns how long it must not be listened to, so that it sends no more than it may.
    pub async fn receive(&mut self, bytes: &[u8]) -> Duration {
        self.framer.push(bytes);
        let work = bytes.len() + self.send_all(Framer::next_frame).await;
        self.pace.spend(work, Instant::now())
    }

    /// The unfinished frame may be none: see [`Guest::falls_silent`].
    pub fn is_unfinished(&self) -> bool {
        self.framer.unfinished()
    }

    /// What is unfinished may be noise with frames behind it.
    pub async fn falls_silent(&mut self) {
        self.send_all(Framer::next_after_silence).await;
    }

    /// Returns the work of it in bytes.
    async fn send_all(&mut self, next: impl Fn(&mut Framer) -> Option<RawFrame>) -> usize {
        let mut work = 0;
        while let Some(frame) = next(&mut self.framer) {
            work += EACH_FRAME;
            self.counters.heard(1);
            // It fails only when the hub has ended, and then so do we.
            let _ = self.hub.send(FromGuest::Received(self.id, Arc::new(frame))).await;
        }
        self.counters.skipped(self.framer.take_skipped());
        let bad = usize::try_from(self.framer.take_bad_checksums()).unwrap_or(usize::MAX);
        work.saturating_add(bad.saturating_mul(EACH_BAD_CHECKSUM))
    }

    /// No frame continues over the end of a datagram.
    pub async fn receive_datagram(&mut self, bytes: &[u8]) -> Duration {
        self.framer.push(bytes);
        let work = bytes.len() + self.send_all(Framer::next_after_silence).await;
        self.framer.forget_unfinished();
        self.counters.skipped(self.framer.take_skipped());
        self.pace.spend(work, Instant::now())
    }

    pub async fn leave(self, why: &str) {
        let lost = self.queue.lost();
        self.counters.left(1);
        info!(guest = self.name, why, lost, "a ground station has gone");
        let _ = self.hub.send(FromGuest::Left(self.id)).await;
    }
}

#[derive(Debug)]
pub struct Pace {
    credit: f64,
    counted_at: Instant,
}

impl Pace {
    pub const fn new(now: Instant) -> Self {
        Self {
            credit: BURST,
            counted_at: now,
        }
    }

    /// Returns how long to wait before more is taken.
    pub fn spend(&mut self, bytes: usize, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.counted_at).as_secs_f64();
        self.counted_at = now;
        #[allow(clippy::cast_precision_loss, reason = "one read, a few kilobytes")]
        let bytes = bytes as f64;
        self.credit = BURST.min(self.credit + passed * BYTES_PER_SECOND) - bytes;
        Duration::from_secs_f64((-self.credit / BYTES_PER_SECOND).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, ping};
    use link::dialect::{MavMessage, PARAM_REQUEST_LIST_DATA};
    use model::units::Address;

    #[test]
    fn a_guest_is_read_no_faster_than_the_agent_can_bear() {
        let began = Instant::now();
        let (mut pace, mut now, mut bytes) = (Pace::new(began), began, 0_u32);
        while now.duration_since(began) < Duration::from_secs(10) {
            bytes += 4096;
            now += pace.spend(4096, now) + Duration::from_micros(10);
        }
        assert!((2_600_000..2_750_000).contains(&bytes), "{bytes} bytes in 10 s");
    }

    #[test]
    fn a_usual_ground_station_never_waits() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        for _ in 0..1000 {
            assert_eq!(pace.spend(280, now), Duration::ZERO);
            now += Duration::from_millis(10);
        }
    }

    /// How many of `bytes` a guest is let say in the first ten seconds, and how many frames of it are heard.
    async fn in_ten_seconds(bytes: &[u8]) -> (usize, u64) {
        let (hub, mut told) = mpsc::channel(64);
        let admission = GuestAdmission::new(hub, Arc::default());
        let mut guest = admission.admit("test".into(), Arc::default()).await.unwrap();
        tokio::spawn(async move { while told.recv().await.is_some() {} });
        let began = Instant::now();
        let mut taken = 0;
        while began.elapsed() < Duration::from_secs(10) {
            let wait = guest.receive(bytes).await;
            taken += bytes.len();
            tokio::time::advance(wait + Duration::from_micros(10)).await;
        }
        (taken, admission.counters().snapshot().heard)
    }

    #[tokio::test(start_paused = true)]
    async fn a_guest_cannot_keep_the_agent_busy_with_tiny_frames_or_with_what_is_none() {
        let ping = frame(
            Address::new(255, 190),
            &MavMessage::PARAM_REQUEST_LIST(PARAM_REQUEST_LIST_DATA::default()),
        );
        let (_, heard) = in_ten_seconds(&ping.bytes.repeat(100)).await;
        assert!((10_000..60_000).contains(&heard), "{heard} frames in 10 s");
        // Each byte begins what seems to be a frame of 262 bytes until its checksum is known.
        let (taken, _) = in_ten_seconds(&[0xFE; 4096]).await;
        assert!(taken < 100_000, "{taken} bytes in 10 s");
    }

    #[tokio::test]
    async fn a_frame_behind_noise_in_a_datagram_is_heard() {
        let (hub, mut told) = mpsc::channel(64);
        let admission = GuestAdmission::new(hub, Arc::default());
        let mut guest = admission.admit("test".into(), Arc::default()).await.unwrap();
        let ping = frame(Address::new(255, 190), &ping());
        // It begins like a long HEARTBEAT.
        let noise = [0xFD, 0xFF, 0, 0, 0, 1, 1, 0, 0, 0];
        guest.receive_datagram(&[&noise[..], &ping.bytes].concat()).await;
        assert!(matches!(told.recv().await, Some(FromGuest::Joined(..))));
        let Ok(FromGuest::Received(_, heard)) = told.try_recv() else {
            panic!("nothing was heard")
        };
        assert_eq!(heard.bytes, ping.bytes);
        assert_eq!(admission.counters().snapshot().skipped, 10);
    }

    #[tokio::test]
    async fn the_ninth_guest_is_turned_away_until_another_goes() {
        let (hub, mut told) = mpsc::channel(64);
        let admission = GuestAdmission::new(hub, Arc::default());
        let mut guests = Vec::new();
        for n in 0..GUESTS {
            guests.push(admission.admit(n.to_string(), Arc::default()).await.unwrap());
        }
        assert!(admission.admit("ninth".into(), Arc::default()).await.is_none() && !admission.has_room());
        guests.pop().unwrap().leave("test").await;
        let late = admission.admit("tenth".into(), Arc::default()).await.unwrap();
        let ids: Vec<GuestId> = std::iter::from_fn(|| told.try_recv().ok())
            .filter_map(|from| match from {
                FromGuest::Joined(id, ..) => Some(id),
                FromGuest::Received(..) | FromGuest::Left(_) => None,
            })
            .collect();
        assert_eq!(ids.last(), Some(&late.id));
        assert_eq!(ids.len(), 9);
        let apart = admission
            .apart(1, Rights::Watch)
            .admit("far".into(), Arc::default())
            .await;
        assert!(apart.is_some(), "it has places of its own");
        assert_eq!(admission.counters().snapshot().turned_away, 1);
    }
}
