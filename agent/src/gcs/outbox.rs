//! What guests want written to the autopilot's line: fair, slow enough, and never late.
//!
//! * The agent's commands come first. Guests together get half of what the line carries, and at once no more than one
//!   long frame. So before a command of the agent there are, in the system's buffer and in the writer's hand, at most two
//!   frames of guests: 560 bytes, which is 97 ms at 57600 baud and 6 ms at 921600.
//! * Guests alternate, frame by frame. A guest that sends too much loses its own oldest frames.
//! * A frame that waits longer than 1 s is dropped: a command that comes late is worse than none. What moves the vehicle for a program is
//!   dropped, too, once that may not fly it any more.
//! * Of the heartbeats of a guest the newest is kept apart and goes first: they must report the present, and must not be lost in a
//!   flood of the same guest.

use super::routes::GuestId;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use link::raw::RawFrame;

const WAITING: usize = 64;
/// Older frames are not written any more.
pub const STALE: Duration = Duration::from_secs(1);
/// The longest MAVLink frame, which guests may write at once.
const BURST: f64 = 280.0;

#[derive(Debug)]
struct Entry {
    until: Instant,
    leased: bool,
    frame: Arc<RawFrame>,
}

#[derive(Debug, Default)]
struct Queue {
    beat: Option<Entry>,
    frames: VecDeque<Entry>,
}

#[derive(Clone, Debug)]
pub enum Next {
    Write(Arc<RawFrame>),
    /// The share is used up.
    Wait(Duration),
    Nothing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub crowded: u64,
    pub stale: u64,
}

#[derive(Debug)]
pub struct Outbox {
    queues: BTreeMap<GuestId, Queue>,
    last_served: Option<GuestId>,
    bytes_per_second: f64,
    credit: f64,
    counted_at: Instant,
    lost: Lost,
}

impl Outbox {
    pub fn new(bytes_per_second: u32, now: Instant) -> Self {
        Self {
            queues: BTreeMap::new(),
            last_served: None,
            bytes_per_second: f64::from(bytes_per_second.max(1)),
            credit: BURST,
            counted_at: now,
            lost: Lost::default(),
        }
    }

    pub fn push(&mut self, guest: GuestId, frame: Arc<RawFrame>, beat: bool, now: Instant) {
        let entry = Entry {
            until: now + STALE,
            leased: false,
            frame,
        };
        if beat {
            let queue = self.queues.entry(guest).or_default();
            self.lost.crowded += u64::from(queue.beat.replace(entry).is_some());
            return;
        }
        self.push_entry(guest, entry);
    }

    /// Takes a frame that moves the vehicle for a program: written by `until`, unless it is called off.
    pub fn push_leased(&mut self, guest: GuestId, frame: Arc<RawFrame>, until: Instant) {
        let leased = true;
        self.push_entry(guest, Entry { until, leased, frame });
    }

    /// Drops what would move the vehicle for a program.
    pub fn call_off(&mut self) {
        let lost = &mut self.lost.stale;
        self.queues.retain(|_, queue| {
            queue.frames.retain(|entry| {
                *lost += u64::from(entry.leased);
                !entry.leased
            });
            !queue.is_empty()
        });
    }

    fn push_entry(&mut self, guest: GuestId, entry: Entry) {
        let queue = self.queues.entry(guest).or_default();
        if queue.frames.len() >= WAITING {
            queue.frames.pop_front();
            self.lost.crowded += 1;
        }
        queue.frames.push_back(entry);
    }

    /// Counts the share as used.
    pub fn next(&mut self, now: Instant) -> Next {
        let passed = now.saturating_duration_since(self.counted_at);
        self.counted_at = now;
        self.credit = BURST.min(self.credit + passed.as_secs_f64() * self.bytes_per_second);
        self.forget_stale(now);
        let Some(guest) = self.next_guest() else {
            return Next::Nothing;
        };
        let Some(queue) = self.queues.get_mut(&guest) else {
            return Next::Nothing;
        };
        let Some(length) = queue.head().map(|entry| entry.frame.bytes.len()) else {
            return Next::Nothing;
        };
        #[allow(clippy::cast_precision_loss, reason = "at most 280")]
        let missing = length as f64 - self.credit;
        if missing > 0.0 {
            return Next::Wait(Duration::from_secs_f64(missing / self.bytes_per_second) + Duration::from_millis(1));
        }
        let Some(entry) = queue.beat.take().or_else(|| queue.frames.pop_front()) else {
            return Next::Nothing;
        };
        if queue.is_empty() {
            self.queues.remove(&guest);
        }
        self.credit = -missing;
        self.last_served = Some(guest);
        Next::Write(entry.frame)
    }

    pub fn leave(&mut self, guest: GuestId) {
        self.queues.remove(&guest);
    }

    pub const fn lost(&self) -> Lost {
        self.lost
    }

    fn next_guest(&self) -> Option<GuestId> {
        let after = self
            .last_served
            .and_then(|last| self.queues.range((Excluded(last), Unbounded)).next());
        after.or_else(|| self.queues.iter().next()).map(|(guest, _)| *guest)
    }

    fn forget_stale(&mut self, now: Instant) {
        let lost = &mut self.lost.stale;
        self.queues.retain(|_, queue| {
            *lost += u64::from(queue.beat.take_if(|beat| now > beat.until).is_some());
            queue.frames.retain(|entry| {
                *lost += u64::from(now > entry.until);
                now <= entry.until
            });
            !queue.is_empty()
        });
    }
}

impl Queue {
    fn head(&self) -> Option<&Entry> {
        self.beat.as_ref().or_else(|| self.frames.front())
    }

    fn is_empty(&self) -> bool {
        self.beat.is_none() && self.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, ping};
    use link::dialect::{HEARTBEAT_DATA, MavMessage, PARAM_SET_DATA};
    use model::units::Address;

    const A: GuestId = GuestId(1);
    const B: GuestId = GuestId(2);
    /// Half of 57600 baud.
    const SLOW: u32 = 2880;

    fn from(system: u8) -> Arc<RawFrame> {
        Arc::new(frame(Address::new(system, 190), &ping()))
    }

    fn beat() -> Arc<RawFrame> {
        Arc::new(frame(
            Address::new(255, 190),
            &MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()),
        ))
    }

    fn written(outbox: &mut Outbox, now: Instant) -> Vec<Arc<RawFrame>> {
        std::iter::from_fn(|| match outbox.next(now) {
            Next::Write(frame) => Some(frame),
            Next::Wait(_) | Next::Nothing => None,
        })
        .collect()
    }

    #[test]
    fn guests_write_no_more_than_one_long_frame_at_once_and_no_more_than_their_share() {
        let began = Instant::now();
        let mut outbox = Outbox::new(SLOW, began);
        let (mut bytes, mut at_once_most) = (0, 0);
        for ms in 0..10_000_u64 {
            let now = began + Duration::from_millis(ms);
            outbox.push(A, from(1), false, now);
            outbox.push(B, from(2), false, now);
            let at_once: usize = written(&mut outbox, now).iter().map(|f| f.bytes.len()).sum();
            at_once_most = at_once_most.max(at_once);
            bytes += at_once;
        }
        assert!(at_once_most <= 280, "{at_once_most}");
        assert!((28_000..=29_100).contains(&bytes), "{bytes} bytes in 10 s");
    }

    #[test]
    fn guests_take_turns_so_that_a_flood_of_one_does_not_keep_the_other_waiting() {
        let began = Instant::now();
        let mut outbox = Outbox::new(SLOW, began);
        (0..1000).for_each(|_| outbox.push(A, from(1), false, began));
        outbox.push(B, from(2), false, began);
        let first: Vec<u8> = written(&mut outbox, began).iter().map(|f| f.system.0).collect();
        assert_eq!(first[..3], [1, 2, 1]);
        assert_eq!(outbox.lost().crowded, 1000 - 64);
    }

    #[test]
    fn what_has_waited_longer_than_a_second_is_never_written() {
        let began = Instant::now();
        let mut outbox = Outbox::new(SLOW, began);
        outbox.push(A, from(1), false, began);
        outbox.push(A, beat(), true, began);
        let late = began + Duration::from_millis(1001);
        outbox.push(B, from(2), false, late);
        let senders: Vec<u8> = written(&mut outbox, late).iter().map(|f| f.system.0).collect();
        assert_eq!(senders, [2]);
        assert_eq!(outbox.lost(), Lost { crowded: 0, stale: 2 });
    }

    #[test]
    fn a_heartbeat_goes_before_the_flood_of_its_own_guest_and_only_the_newest_does() {
        let began = Instant::now();
        let mut outbox = Outbox::new(SLOW, began);
        (0..100).for_each(|_| outbox.push(A, from(1), false, began));
        outbox.push(A, beat(), true, began);
        outbox.push(A, beat(), true, began);
        let ids: Vec<u32> = written(&mut outbox, began).iter().map(|f| f.message_id).collect();
        assert_eq!(ids[0], 0);
        assert!(ids[1..].iter().all(|id| *id == 4), "{ids:?}");
    }

    #[test]
    fn a_wait_is_as_long_as_the_share_needs() {
        let began = Instant::now();
        let mut outbox = Outbox::new(1000, began);
        let long = Arc::new(frame(
            Address::new(255, 190),
            &MavMessage::PARAM_SET(PARAM_SET_DATA::default()),
        ));
        (0..64).for_each(|_| outbox.push(A, Arc::clone(&long), false, began));
        written(&mut outbox, began);
        let Next::Wait(wait) = outbox.next(began) else {
            panic!("nothing is left")
        };
        assert!(matches!(outbox.next(began + wait), Next::Write(_)));
        assert!(matches!(outbox.next(began + wait), Next::Wait(_)));
    }

    #[test]
    fn what_moves_the_vehicle_for_a_program_is_not_written_once_that_may_not_fly_it() {
        let began = Instant::now();
        let mut outbox = Outbox::new(1_000_000, began);
        let until = began + Duration::from_millis(300);
        outbox.push_leased(A, from(1), until);
        outbox.push(A, from(2), false, began);
        outbox.push_leased(B, from(3), until);
        outbox.call_off();
        let senders = |frames: Vec<Arc<RawFrame>>| frames.iter().map(|f| f.system.0).collect::<Vec<u8>>();
        assert_eq!(senders(written(&mut outbox, began)), [2], "what only asks is written");
        assert_eq!(outbox.lost().stale, 2);
        outbox.push_leased(A, from(4), until);
        assert_eq!(senders(written(&mut outbox, until)), [4]);
        outbox.push_leased(A, from(5), until);
        let late = until + Duration::from_millis(1);
        assert_eq!(senders(written(&mut outbox, late)), [0_u8; 0], "it is not of now");
    }

    #[test]
    fn what_a_guest_wanted_goes_with_it() {
        let began = Instant::now();
        let mut outbox = Outbox::new(SLOW, began);
        outbox.push(A, from(1), false, began);
        outbox.leave(A);
        assert!(matches!(outbox.next(began), Next::Nothing));
    }
}
