//! The order of events: which were heard, which are missing, and which come twice (libevents; MAVLink guide,
//! services/events).
//!
//! Events are handed on once and in their order. A gap is asked about once, by REQUEST_EVENT (412); what does not come soon, or is refused by
//! RESPONSE_EVENT_ERROR (413), is passed over.
//!
//! The number is 16 bits and wraps within seconds of PX4's boot. A reboot starts it again: CURRENT_EVENT_SEQUENCE (411) says
//! so with a flag, or by going back twice.

use link::dialect::EVENT_DATA;
use model::time::Moment;
use std::time::Duration;

/// PX4 remembers about this many events: a longer gap is passed over.
const REMEMBERED: u16 = 20;
/// Events that overtook one another are sorted out by then.
const ASK_AFTER: Duration = Duration::from_millis(100);
/// A gap that is not filled by then stays.
const GIVE_UP_AFTER: Duration = Duration::from_millis(1200);

#[derive(Clone, Debug, Default)]
pub struct Sequence {
    next: Option<u16>,
    /// By their distance from `next`; at most [`REMEMBERED`].
    waiting: Vec<EVENT_DATA>,
    gap: Option<Gap>,
    /// The autopilot's own count was behind ours once.
    behind: bool,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    until: u16,
    since: Moment,
    asked: bool,
}

/// `None`: it is behind.
const fn ahead(a: u16, b: u16) -> Option<u16> {
    match b.wrapping_sub(a) {
        far @ 0..0x8000 => Some(far),
        _ => None,
    }
}

impl Sequence {
    /// Returns the events that can be handed on now.
    pub fn receive(&mut self, event: &EVENT_DATA, now: Moment) -> Vec<EVENT_DATA> {
        let next = *self.next.get_or_insert(event.sequence);
        match ahead(next, event.sequence) {
            None => Vec::new(),
            Some(0) => {
                self.next = Some(next.wrapping_add(1));
                let mut out = vec![event.clone()];
                out.extend(self.ready());
                out
            }
            Some(1..=REMEMBERED) => {
                if !self.waiting.iter().any(|w| w.sequence == event.sequence) {
                    self.waiting.push(event.clone());
                    self.exists(event.sequence, now);
                }
                Vec::new()
            }
            Some(_) => {
                let mut out = self.pass_over_all();
                self.next = Some(event.sequence.wrapping_add(1));
                out.push(event.clone());
                out
            }
        }
    }

    /// `latest`: number of the latest event.
    pub fn current(&mut self, latest: u16, began_again: bool, now: Moment) {
        // After a boot the event itself often follows. Otherwise it was before us, and what was before is not asked for.
        let first = if began_again { latest } else { latest.wrapping_add(1) };
        let Some(next) = self.next else {
            self.next = Some(first);
            return;
        };
        if next == latest.wrapping_add(1) {
            self.behind = false;
            return;
        }
        match ahead(next, latest) {
            Some(far) if far < REMEMBERED && !began_again => self.exists(latest, now),
            None if !began_again && !std::mem::replace(&mut self.behind, true) => {}
            _ => {
                *self = Self {
                    next: Some(first),
                    ..Self::default()
                }
            }
        }
    }

    /// Event `sequence` is not to be had, nor those before `oldest`.
    pub fn lost(&mut self, sequence: u16, oldest: u16) -> Vec<EVENT_DATA> {
        let (Some(next), Some(gap)) = (self.next, self.gap) else {
            return Vec::new();
        };
        if next != sequence {
            return Vec::new();
        }
        let skip = ahead(next, oldest)
            .filter(|far| (1..=REMEMBERED).contains(far))
            .unwrap_or(1);
        let end = ahead(next, gap.until).map_or(1, |far| far + 1);
        self.next = Some(next.wrapping_add(skip.min(end)));
        self.ready()
    }

    /// Returns the events that are not held back any longer.
    pub fn at(&mut self, now: Moment) -> Vec<EVENT_DATA> {
        match self.gap {
            Some(gap) if now.since(gap.since) >= GIVE_UP_AFTER => {
                let out = self.pass_over_all();
                self.next = Some(gap.until.wrapping_add(1));
                out
            }
            _ => Vec::new(),
        }
    }

    /// First and last number of a gap; each gap is asked about once.
    pub fn wanted(&mut self, now: Moment) -> Option<(u16, u16)> {
        let next = self.next?;
        let gap = self.gap.as_mut()?;
        if gap.asked || now.since(gap.since) < ASK_AFTER {
            return None;
        }
        gap.asked = true;
        let first_there = self.waiting.iter().filter_map(|w| ahead(next, w.sequence)).min();
        let last = first_there.map_or(gap.until, |far| next.wrapping_add(far).wrapping_sub(1));
        Some((next, last))
    }

    fn exists(&mut self, sequence: u16, now: Moment) {
        match &mut self.gap {
            Some(gap) if ahead(gap.until, sequence).is_some() => gap.until = sequence,
            Some(_) => {}
            None => {
                self.gap = Some(Gap {
                    until: sequence,
                    since: now,
                    asked: false,
                });
            }
        }
    }

    fn ready(&mut self) -> Vec<EVENT_DATA> {
        let mut out = Vec::new();
        while let Some(next) = self.next {
            // What was passed over is of no more use.
            self.waiting.retain(|w| ahead(next, w.sequence).is_some());
            let Some(place) = self.waiting.iter().position(|w| w.sequence == next) else {
                break;
            };
            out.push(self.waiting.swap_remove(place));
            self.next = Some(next.wrapping_add(1));
        }
        if let (Some(next), Some(gap)) = (self.next, self.gap)
            && ahead(next, gap.until).is_none()
        {
            self.gap = None;
        }
        out
    }

    fn pass_over_all(&mut self) -> Vec<EVENT_DATA> {
        let next = self.next.unwrap_or(0);
        let mut out = std::mem::take(&mut self.waiting);
        out.sort_by_key(|event| event.sequence.wrapping_sub(next));
        self.gap = None;
        out
    }
}

#[cfg(test)]
mod tests;
