//! What waits to be sent to one guest: bounded, the oldest goes first when it is full, and nothing waits for the guest.

use link::raw::RawFrame;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// Most frames that wait for one guest: nearly a second of the busiest autopilot (569 messages a second).
pub const WAITING: usize = 512;

#[derive(Debug, Default)]
struct Waiting {
    frames: VecDeque<Arc<RawFrame>>,
    lost: u64,
}

/// Guests of one socket may share `wake`.
#[derive(Clone, Debug)]
pub struct GuestQueue {
    waiting: Arc<Mutex<Waiting>>,
    wake: Arc<Notify>,
}

impl GuestQueue {
    pub fn new(wake: Arc<Notify>) -> Self {
        Self {
            waiting: Arc::default(),
            wake,
        }
    }

    /// Whether one was lost for it, as the guest is too slow.
    pub fn push(&self, frame: Arc<RawFrame>) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let full = waiting.frames.len() >= WAITING;
        if full {
            waiting.frames.pop_front();
            waiting.lost += 1;
        }
        waiting.frames.push_back(frame);
        drop(waiting);
        self.wake.notify_one();
        full
    }

    /// Whole frames, up to `limit` bytes but at least one; returns how many.
    pub fn fill(&self, buffer: &mut Vec<u8>, limit: usize) -> u64 {
        buffer.clear();
        let mut frames = 0;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(frame) = waiting
            .frames
            .pop_front_if(|frame| buffer.is_empty() || buffer.len() + frame.bytes.len() <= limit)
        {
            buffer.extend_from_slice(&frame.bytes);
            frames += 1;
        }
        frames
    }

    /// Waits until there is one. Safe to cancel.
    pub async fn filled(&self, buffer: &mut Vec<u8>, limit: usize) -> u64 {
        loop {
            let wake = self.wake.notified();
            match self.fill(buffer, limit) {
                0 => wake.await,
                frames => return frames,
            }
        }
    }

    pub fn lost(&self) -> u64 {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, ping};
    use model::units::Address;

    fn from(system: u8) -> Arc<RawFrame> {
        Arc::new(frame(Address::new(system, 1), &ping()))
    }

    #[test]
    fn a_guest_that_is_too_slow_loses_the_oldest_frames() {
        let queue = GuestQueue::new(Arc::default());
        let lost = (0..WAITING + 9).filter(|n| queue.push(from((n % 250) as u8))).count();
        assert_eq!((lost, queue.lost()), (9, 9));
        let (mut buffer, mut first) = (Vec::new(), None);
        let mut frames = 0;
        loop {
            match queue.fill(&mut buffer, 1200) {
                0 => break,
                some => frames += some,
            }
            assert!(buffer.len() <= 1200);
            first = first.or(Some(buffer[5]));
        }
        assert_eq!((first, frames), (Some(9), WAITING as u64));
    }

    #[test]
    fn frames_are_never_cut() {
        let queue = GuestQueue::new(Arc::default());
        let (one, two) = (from(1), from(2));
        let whole = one.bytes.len();
        queue.push(one);
        queue.push(two);
        let mut buffer = Vec::new();
        assert_eq!((queue.fill(&mut buffer, 1), buffer.len()), (1, whole), "at least one");
        assert_eq!((queue.fill(&mut buffer, 100), buffer.len()), (1, whole));
        assert_eq!(queue.fill(&mut buffer, 100), 0);
    }

    #[tokio::test]
    async fn a_sender_waits_until_there_is_something() {
        let queue = GuestQueue::new(Arc::default());
        let (mut buffer, other) = (Vec::new(), queue.clone());
        tokio::join!(queue.filled(&mut buffer, 100), async { other.push(from(1)) });
        assert!(!buffer.is_empty());
    }
}
