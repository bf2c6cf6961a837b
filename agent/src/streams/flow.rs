//! One message that we need: how it comes, and what was asked about it.
//!
//! Two things are asked for, each with a back-off of its own that no ACCEPTED resets: that it is sent often enough, and, while
//! it stays away longer than we can do without, a single one.

use super::needed::{How, Needed, Request, Terms};
use model::backoff::Backoff;
use model::time::Moment;
use std::time::Duration;

const FIRST_AGAIN: Duration = Duration::from_secs(2);
/// Cap for a message that comes, if not as often as we need it.
const SLOW_RETRY_CAP: Duration = Duration::from_secs(60);
/// A message that comes within this time after a single one was asked for is that one.
const SINGLE_WITHIN: Duration = Duration::from_secs(1);
/// A stream that was good for so long begins again from the start when it is not.
const GOOD_FOR: Duration = Duration::from_secs(60);
const GAP_AT_MOST: Duration = Duration::from_secs(30);
/// A stream that comes only while there is something to report is set so often, if the autopilot does not say that it is set.
const SELDOM_TRIES: u32 = 3;
/// Later than one and a half intervals by this much, a message of a stream is late.
const LATE_BY: Duration = Duration::from_millis(250);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interval {
    /// Not asked, or not answered.
    Unknown,
    /// The autopilot does not say.
    Untold,
    Off,
    Every(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    heard: Option<Moment>,
    /// The last one that came by itself.
    streamed: Option<Moment>,
    /// Mean time between those that come by themselves.
    gap: Option<Duration>,
    good_since: Option<Moment>,
    interval: Interval,
    /// Repairs since the stream was good.
    attempts: u32,
    repair_from: Moment,
    single: Option<Moment>,
    /// Single ones asked for since one came.
    singles: u32,
    single_from: Moment,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            heard: None,
            streamed: None,
            gap: None,
            good_since: None,
            interval: Interval::Unknown,
            attempts: 0,
            repair_from: Moment::default(),
            single: None,
            singles: 0,
            single_from: Moment::default(),
        }
    }
}

fn late(gap: Duration, every: Duration) -> bool {
    gap > every + every / 2 + LATE_BY
}

impl Flow {
    pub(super) fn received(&mut self, every: Option<Duration>, now: Moment) {
        let asked_for = self.single.take().is_some_and(|at| now.since(at) <= SINGLE_WITHIN);
        self.heard = Some(now);
        // On a full line what is asked for makes what comes by itself later still: there the back-off goes on.
        if !self.comes_late(every, now) {
            self.singles = 0;
        }
        if asked_for {
            return;
        }
        let gap = self.streamed.map(|at| now.since(at).min(GAP_AT_MOST));
        self.streamed = Some(now);
        if let Some(gap) = gap {
            self.gap = Some(self.gap.map_or(gap, |mean| (mean * 3 + gap) / 4));
        }
        if every.is_some_and(|every| self.is_thin(every, now)) {
            self.good_since = None;
        } else if now.since(*self.good_since.get_or_insert(now)) >= GOOD_FOR {
            self.attempts = 0;
        }
    }

    pub(super) const fn known(&mut self, now: Moment) {
        if self.heard.is_none() {
            self.heard = Some(now);
        }
    }

    /// From MESSAGE_INTERVAL (244), microseconds; 0 or less: not by itself.
    pub(super) fn confirmed(&mut self, interval_us: i32) {
        self.interval = match u64::try_from(interval_us) {
            Ok(us @ 1..) => Interval::Every(Duration::from_micros(us)),
            Ok(0) | Err(_) => Interval::Off,
        };
    }

    fn comes_late(&self, every: Option<Duration>, now: Moment) -> bool {
        let comes = self.streamed.zip(self.gap).zip(every);
        comes.is_some_and(|((at, gap), every)| now.since(at) <= gap * 3 && gap > every * 2 && gap < every * 4)
    }

    /// Whether it comes less often than needed, or never.
    fn is_thin(&self, every: Duration, now: Moment) -> bool {
        self.streamed.is_none_or(|at| late(now.since(at), every)) || self.gap.is_some_and(|gap| late(gap, every))
    }

    /// The request, and since when it is due. `mute`: the autopilot does not answer the question for intervals.
    pub(super) fn due(&self, needed: Needed, mute: bool, now: Moment) -> Option<(Moment, Request)> {
        let terms = needed.terms();
        let Some(every) = terms.every else {
            let due = self.heard.is_none() && now >= self.single_from;
            return due.then_some((
                self.single_from,
                Request {
                    needed,
                    how: How::Single,
                },
            ));
        };
        let set = matches!(self.interval, Interval::Every(set) if set <= every);
        if terms.seldom && (set || self.heard.is_some() || self.attempts >= SELDOM_TRIES) {
            return None;
        }
        let repair = (self.is_thin(every, now) && now >= self.repair_from).then(|| {
            let how = match self.interval {
                Interval::Unknown if mute && self.streamed.is_none() => How::Stream,
                Interval::Unknown => How::Interval,
                Interval::Every(set) if set <= every => How::Interval,
                Interval::Every(_) | Interval::Off | Interval::Untold => How::Stream,
            };
            (self.repair_from, Request { needed, how })
        });
        if terms.seldom {
            return repair;
        }
        // The stream first: it may be all that is needed.
        let wont = self.gap.map_or(Duration::ZERO, |gap| gap + gap / 2);
        let away = wont.clamp(terms.single_after, terms.single_by);
        let away_since = self.heard.map(|at| at.plus(away)).unwrap_or_default();
        let from = self.single_from.max(away_since);
        let single = (self.attempts > 0 && now >= from).then_some((
            from,
            Request {
                needed,
                how: How::Single,
            },
        ));
        match (repair, single) {
            (Some(repair), Some(single)) if single.0 < repair.0 => Some(single),
            (Some(repair), _) => Some(repair),
            (None, single) => single,
        }
    }

    pub(super) fn requested(&mut self, terms: &Terms, how: How, now: Moment, jitter: f64) {
        if how == How::Single {
            self.singles = self.singles.saturating_add(1);
            self.single = Some(now);
            let backoff = Backoff {
                first: terms.single_after,
                cap: terms.cap.max(terms.single_after),
            };
            self.single_from = now.plus(backoff.delay(self.singles, jitter));
            return;
        }
        // One attempt is the question for the interval and, where it is too long, the setting of it.
        if how == How::Interval || self.interval == Interval::Unknown {
            self.attempts = self.attempts.saturating_add(1);
        }
        if how == How::Interval {
            self.interval = Interval::Unknown;
        }
        let arrives = self.heard.is_some_and(|at| now.since(at) <= terms.single_after * 2);
        let backoff = Backoff {
            first: FIRST_AGAIN,
            cap: if arrives { SLOW_RETRY_CAP } else { terms.cap },
        };
        self.repair_from = now.plus(backoff.delay(self.attempts, jitter));
        if self.heard.is_none() {
            self.single_from = self.single_from.max(now.plus(terms.single_after));
        }
    }

    pub(super) fn ended(&mut self, terms: &Terms, how: How, accepted: bool, now: Moment) {
        let Some(every) = terms.every else { return };
        match how {
            How::Single => {}
            How::Interval => {
                if self.interval == Interval::Unknown && self.streamed.is_none() {
                    self.interval = Interval::Untold;
                }
                let enough = matches!(self.interval, Interval::Every(set) if set <= every);
                if !enough && self.interval != Interval::Unknown {
                    // Before all others: half a request is of no use.
                    self.repair_from = Moment::default();
                }
            }
            How::Stream if accepted => {
                self.interval = Interval::Every(every);
                // What was measured is of the old interval, and the first of the new one takes its time.
                self.gap = None;
                self.repair_from = self.repair_from.max(now.plus(every * 2));
            }
            How::Stream => self.interval = Interval::Unknown,
        }
    }
}
