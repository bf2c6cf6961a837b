//! Taps: bounded, lossy copies of all frames of a link, for all that record or pass them on.

use crate::counters::Counters;
use crate::raw::RawFrame;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Notify;

/// Frames of a link from when it was made; dropping it ends it.
#[derive(Debug)]
pub struct Tap(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    capacity: usize,
    news: Notify,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Arc<RawFrame>>,
    closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Taps(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    taps: Vec<Weak<Shared>>,
    closed: bool,
}

impl Tap {
    /// `None` once the link has been closed and nothing waits. Safe to cancel.
    pub async fn recv(&mut self) -> Option<Arc<RawFrame>> {
        loop {
            let news = self.0.news.notified();
            {
                let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(frame) = queue.waiting.pop_front() {
                    return Some(frame);
                }
                if queue.closed {
                    return None;
                }
            }
            news.await;
        }
    }

    pub fn try_recv(&mut self) -> Option<Arc<RawFrame>> {
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.waiting.pop_front()
    }

    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn offer(&self, frame: &Arc<RawFrame>) -> bool {
        let lost = {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let lost = queue.waiting.len() >= self.capacity && queue.waiting.pop_front().is_some();
            queue.waiting.push_back(Arc::clone(frame));
            lost
        };
        if lost {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        self.news.notify_one();
        lost
    }

    fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.news.notify_one();
    }
}

impl Taps {
    pub fn add(&self, capacity: usize) -> Tap {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            capacity: capacity.max(1),
            news: Notify::new(),
            lost: AtomicU64::new(0),
        });
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.taps.retain(|tap| tap.strong_count() > 0);
        if list.closed {
            shared.close();
        } else {
            list.taps.push(Arc::downgrade(&shared));
        }
        Tap(shared)
    }

    pub fn offer(&self, frame: &Arc<RawFrame>, counters: &Counters) {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for tap in list.taps.iter().filter_map(Weak::upgrade) {
            if tap.offer(frame) {
                counters.tap_lost(1);
            }
        }
    }

    pub fn close(&self) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.closed = true;
        for tap in list.taps.drain(..).filter_map(|tap| tap.upgrade()) {
            tap.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::SystemId;

    fn frame(sequence: u8) -> Arc<RawFrame> {
        let mut frame = RawFrame::parse(&crate::framing::tests::beat(sequence)).unwrap();
        frame.system = SystemId(sequence);
        Arc::new(frame)
    }

    #[tokio::test]
    async fn a_tap_that_nobody_empties_loses_the_oldest_and_counts_them() {
        let (taps, counters) = (Taps::default(), Counters::default());
        let (mut slow, mut fast) = (taps.add(2), taps.add(100));
        (0..5).for_each(|n| taps.offer(&frame(n), &counters));
        assert_eq!((slow.lost(), fast.lost(), counters.snapshot().tap_lost), (3, 0, 3));
        assert_eq!(slow.recv().await.unwrap().system.0, 3);
        assert_eq!(slow.try_recv().unwrap().system.0, 4);
        assert!(slow.try_recv().is_none());
        assert_eq!(fast.recv().await.unwrap().system.0, 0);
    }

    #[tokio::test]
    async fn a_tap_ends_with_its_link_and_so_does_one_that_is_made_later() {
        let (taps, counters) = (Taps::default(), Counters::default());
        let mut tap = taps.add(2);
        taps.offer(&frame(1), &counters);
        taps.close();
        assert!(tap.recv().await.is_some());
        assert!(tap.recv().await.is_none());
        assert!(taps.add(1).recv().await.is_none());
    }

    #[tokio::test]
    async fn a_dropped_tap_costs_nothing_any_more() {
        let (taps, counters) = (Taps::default(), Counters::default());
        drop(taps.add(1));
        (0..5).for_each(|n| taps.offer(&frame(n), &counters));
        assert_eq!(counters.snapshot().tap_lost, 0);
        let _tap = taps.add(1);
        assert_eq!(taps.0.lock().unwrap().taps.len(), 1);
    }
}
