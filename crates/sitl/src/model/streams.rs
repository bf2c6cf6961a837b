//! Messages sent by default or on request, and when each is due.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct Stream {
    interval_s: f64,
    next_s: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Streams(BTreeMap<u32, Stream>);

impl Streams {
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

    /// Joins a stream with this interval, unless in `apart`; otherwise starts one interval after `now_s`.
    pub(super) fn in_step(&mut self, id: u32, interval_s: f64, now_s: f64, apart: &[u32]) {
        const SAME_S: f64 = 1e-6;
        let interval_s = interval_s.max(0.001);
        let partner = self.0.iter().find(|(other, stream)| {
            **other != id && !apart.contains(other) && (stream.interval_s - interval_s).abs() < SAME_S
        });
        let next_s = partner.map_or(now_s + interval_s, |(_, stream)| stream.next_s);
        self.0.insert(id, Stream { interval_s, next_s });
    }

    /// Counted from its last message, or from the start of the clock.
    pub(super) fn retime(&mut self, id: u32, interval_s: f64) {
        let interval_s = interval_s.max(0.001);
        let last_s = self.0.get(&id).map_or(0.0, |stream| stream.next_s - stream.interval_s);
        let next_s = last_s + interval_s;
        self.0.insert(id, Stream { interval_s, next_s });
    }

    pub(super) fn stop(&mut self, id: u32) {
        self.0.remove(&id);
    }

    pub(super) fn interval_us(&self, id: u32) -> Option<i32> {
        self.0.get(&id).map(|stream| (stream.interval_s * 1e6).round() as i32)
    }

    pub(super) fn intervals(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.0.iter().map(|(id, stream)| (*id, stream.interval_s))
    }

    /// Due at once; keeps its interval.
    pub(super) fn hurry(&mut self, id: u32, now_s: f64) {
        if let Some(stream) = self.0.get_mut(&id) {
            stream.next_s = now_s;
        }
    }

    /// Intervals are `slower` times as long, except in `apart`; missed messages are not sent later.
    pub(super) fn take_due_slowed(&mut self, now_s: f64, due: &mut Vec<u32>, slower: f64, apart: &[u32]) {
        for (&id, stream) in &mut self.0 {
            let factor = if apart.contains(&id) { 1.0 } else { slower };
            let due_s = stream.next_s + (factor - 1.0) * stream.interval_s;
            if now_s + 1e-9 >= due_s {
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
    fn a_stream_requested_at_two_hertz_is_due_twice_a_second() {
        let mut streams = Streams::default();
        streams.every(245, 0.5, 1.0);
        let mut due = Vec::new();
        for tick in 50..150 {
            streams.take_due_slowed(f64::from(tick) * 0.02, &mut due, 1.0, &[]);
        }
        assert_eq!(due.len(), 4);
    }

    #[test]
    fn streams_of_one_interval_keep_in_step_where_the_autopilot_sends_them_together() {
        let mut streams = Streams::default();
        streams.in_step(1, 1.0, 0.5, &[]);
        streams.in_step(24, 1.0, 0.9, &[]);
        streams.in_step(33, 0.25, 0.9, &[]);
        let mut due = Vec::new();
        streams.take_due_slowed(1.49, &mut due, 1.0, &[]);
        assert_eq!(due, [33], "a quarter of a second after it was asked for");
        streams.take_due_slowed(1.5, &mut due, 1.0, &[]);
        assert_eq!(due, [33, 1, 24]);
    }

    #[test]
    fn a_slowed_stream_catches_up_at_once_when_it_is_slow_no_more() {
        let mut streams = Streams::default();
        streams.every(1, 1.0, 1.0);
        let mut due = Vec::new();
        for tick in 0..145 {
            streams.take_due_slowed(1.02 + f64::from(tick) * 0.02, &mut due, 4.0, &[]);
        }
        assert!(due.is_empty(), "not before 4 s");
        streams.take_due_slowed(4.02, &mut due, 1.0, &[]);
        streams.take_due_slowed(4.5, &mut due, 1.0, &[]);
        assert_eq!(due, [1]);
        streams.take_due_slowed(5.02, &mut due, 1.0, &[]);
        assert_eq!(due, [1, 1]);
    }
}
