//! The bounded queue from the link to its listener.

use crate::counters::Counters;
use mavlink::MavHeader;
use mavlink::dialects::ardupilotmega::MavMessage;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Nearly two seconds of the busiest autopilot (569 messages a second), as long as a slow disk may take.
pub const CAPACITY: usize = 1024;

#[derive(Clone, Debug)]
pub struct Frame {
    pub header: MavHeader,
    pub message: MavMessage,
    /// Arrival, before any wait in the queue.
    pub at: Instant,
    /// Signed, and this program has no key to check it with.
    pub unchecked_signature: bool,
}

#[derive(Clone, Debug)]
pub enum LinkEvent {
    Up,
    /// Lost or not opened, and retried; the text gives the reason in one line.
    Down(String),
    Frame(Box<Frame>),
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<LinkEvent>,
    closed: bool,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    news: Notify,
    counters: Arc<Counters>,
}

#[derive(Debug)]
pub struct Events(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Sender(Arc<Shared>);

pub(crate) fn queue(counters: Arc<Counters>) -> (Sender, Events) {
    let shared = Arc::new(Shared {
        queue: Mutex::default(),
        news: Notify::new(),
        counters,
    });
    (Sender(Arc::clone(&shared)), Events(shared))
}

impl Events {
    /// `None` once the link has ended and nothing waits. Safe to cancel.
    pub async fn recv(&mut self) -> Option<LinkEvent> {
        loop {
            let news = self.0.news.notified();
            {
                let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(event) = queue.waiting.pop_front() {
                    return Some(event);
                }
                if queue.closed {
                    return None;
                }
            }
            news.await;
        }
    }
}

impl Events {
    pub fn try_recv(&mut self) -> Option<LinkEvent> {
        self.0
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .waiting
            .pop_front()
    }
}

impl Sender {
    pub(crate) fn send(&self, event: LinkEvent) {
        {
            let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.waiting.len() >= CAPACITY {
                let oldest = queue.waiting.iter().position(|e| matches!(e, LinkEvent::Frame(_)));
                // Without frames only ups and downs wait, untaken for hours: the oldest of them goes.
                queue.waiting.remove(oldest.unwrap_or(0));
                self.0.counters.dropped(1);
            }
            queue.waiting.push_back(event);
        }
        self.0.news.notify_one();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.0.news.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mavlink::dialects::ardupilotmega::HEARTBEAT_DATA;

    fn frame(n: usize) -> LinkEvent {
        let header = MavHeader {
            system_id: u32::try_from(n).unwrap(),
            component_id: 1,
            sequence: 0,
        };
        let message = MavMessage::HEARTBEAT(HEARTBEAT_DATA::default());
        let at = Instant::now();
        LinkEvent::Frame(Box::new(Frame {
            header,
            message,
            at,
            unchecked_signature: false,
        }))
    }

    #[tokio::test]
    async fn a_slow_listener_loses_the_oldest_frames_but_no_up_or_down() {
        let counters = Arc::new(Counters::default());
        let (tx, mut rx) = queue(Arc::clone(&counters));
        tx.send(LinkEvent::Up);
        (0..CAPACITY + 9).for_each(|n| tx.send(frame(n)));
        tx.send(LinkEvent::Down("gone".into()));
        drop(tx);
        assert_eq!(counters.snapshot().dropped, 11);
        assert!(matches!(rx.recv().await, Some(LinkEvent::Up)));
        assert!(matches!(rx.recv().await, Some(LinkEvent::Frame(f)) if f.header.system_id == 11));
        let mut last = None;
        while let Some(event) = rx.recv().await {
            last = Some(event);
        }
        assert!(matches!(last, Some(LinkEvent::Down(_))));
    }
}
