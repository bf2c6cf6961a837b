//! Frames for a receiver that may be slow: bounded, the oldest dropped first, and no sender waits.

use proto::v1::GuestFrames;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Some seconds of a vehicle.
pub const MAX_WAITING_BYTES: usize = 64 * 1024;

/// However short they are.
const MAX_WAITING_MESSAGES: usize = 512;

/// A higher count of frames is not believed.
const MIN_FRAME_BYTES: usize = 8;

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<GuestFrames>,
    bytes: usize,
    /// Lost before they came here, by the sender's count.
    before: u64,
    here: u64,
}

#[derive(Debug, Default)]
pub struct Lane {
    waiting: Mutex<Waiting>,
    wake: Notify,
}

impl Lane {
    /// Returns how many frames were lost for these.
    pub fn push(&self, mut frames: GuestFrames) -> u64 {
        let fit = u32::try_from(frames.data.len() / MIN_FRAME_BYTES).unwrap_or(u32::MAX);
        frames.count = frames.count.min(fit);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.before = waiting.before.max(frames.lost);
        waiting.bytes += frames.data.len();
        waiting.messages.push_back(frames);
        let mut lost = 0;
        while waiting.bytes > MAX_WAITING_BYTES || waiting.messages.len() > MAX_WAITING_MESSAGES {
            let Some(oldest) = waiting.messages.pop_front() else {
                break;
            };
            waiting.bytes -= oldest.data.len();
            lost += u64::from(oldest.count);
        }
        waiting.here += lost;
        drop(waiting);
        self.wake.notify_one();
        lost
    }

    /// The oldest frames, with how many were lost so far. Safe to cancel.
    pub async fn next(&self) -> GuestFrames {
        loop {
            let wake = self.wake.notified();
            if let Some(frames) = self.take() {
                return frames;
            }
            wake.await;
        }
    }

    /// Frames lost on the way, here and before.
    pub fn lost(&self) -> u64 {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.before.saturating_add(waiting.here)
    }

    fn take(&self) -> Option<GuestFrames> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let frames = waiting.messages.pop_front()?;
        waiting.bytes -= frames.data.len();
        let lost = waiting.before.saturating_add(waiting.here);
        Some(GuestFrames { lost, ..frames })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(first: u8, bytes: usize, count: u32) -> GuestFrames {
        GuestFrames {
            data: vec![first; bytes],
            count,
            ..GuestFrames::default()
        }
    }

    #[tokio::test]
    async fn one_who_does_not_take_what_waits_loses_the_oldest_and_is_told_how_many() {
        let lane = Lane::default();
        let mut lost = 0;
        for n in 0..100 {
            lost += lane.push(frames(n, 4096, 10));
        }
        let kept = MAX_WAITING_BYTES / 4096;
        assert_eq!(lost, 10 * (100 - kept as u64));
        let first = lane.next().await;
        assert_eq!((usize::from(first.data[0]), first.lost), (100 - kept, lost));
        for _ in 1..kept {
            lane.next().await;
        }
        assert!(lane.take().is_none());
        lane.push(frames(7, 8, 1));
        assert_eq!(lane.next().await.lost, lost, "it goes on");
    }

    #[tokio::test]
    async fn losses_of_before_are_passed_on_and_never_shrink() {
        let lane = Lane::default();
        lane.push(GuestFrames {
            lost: 5,
            ..frames(1, 20, 1)
        });
        lane.push(frames(2, 20, 1));
        lane.next().await;
        assert_eq!(lane.next().await.lost, 5);
        assert_eq!(lane.lost(), 5);
    }

    #[test]
    fn a_sender_cannot_claim_more_frames_than_there_is_room_for() {
        let lane = Lane::default();
        lane.push(frames(1, 80, u32::MAX));
        assert_eq!(lane.take().unwrap().count, 10);
    }

    #[test]
    fn empty_messages_take_no_room_for_ever() {
        let lane = Lane::default();
        for _ in 0..10_000 {
            lane.push(frames(0, 0, 1));
        }
        assert!(lane.waiting.lock().unwrap().messages.len() <= MAX_WAITING_MESSAGES);
    }
}
