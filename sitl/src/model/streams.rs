//! Which messages are sent unasked or by request, and when each is due.
//!
//! Owns: intervals and due times of one link. Must not: build messages.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Stream {
    interval_s: f64,
    next_s: f64,
}

/// The streams of one vehicle's link.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(BTreeMap<u32, Stream>);

impl Streams {
    /// Sends `id` every `interval_s` seconds from `now_s` on.
    pub(super) fn every(&mut self, id: u32, interval_s: f64, now_s: f64) {
        let interval_s = interval_s.max(0.001);
        self.0.insert(
            id,
            Stream {
                interval_s,
                next_s: now_s,
            },
        );
    }

    pub(super) fn stop(&mut self, id: u32) {
        self.0.remove(&id);
    }

    /// The interval in microseconds, or `None` when the stream is off.
    pub(super) fn interval_us(&self, id: u32) -> Option<i32> {
        self.0.get(&id).map(|stream| (stream.interval_s * 1e6).round() as i32)
    }

    /// Makes `id` due at once, keeping its interval.
    pub(super) fn hurry(&mut self, id: u32, now_s: f64) {
        if let Some(stream) = self.0.get_mut(&id) {
            stream.next_s = now_s;
        }
    }

    /// Ids due at `now_s`; each moves on by its interval and never piles up.
    pub(super) fn take_due(&mut self, now_s: f64, due: &mut Vec<u32>) {
        for (&id, stream) in &mut self.0 {
            if now_s + 1e-9 >= stream.next_s {
                due.push(id);
                stream.next_s += stream.interval_s;
                if stream.next_s <= now_s {
                    stream.next_s = now_s + stream.interval_s;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_asked_for_at_two_hertz_is_due_twice_a_second() {
        let mut streams = Streams::default();
        streams.every(245, 0.5, 1.0);
        let mut due = Vec::new();
        for tick in 50..150 {
            streams.take_due(f64::from(tick) * 0.02, &mut due);
        }
        assert_eq!(due.len(), 4);
    }
}
