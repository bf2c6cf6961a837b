//! Which messages we need from the autopilot, and asking for those that are missing.
//!
//! Owns: [`Streams`]: SET_MESSAGE_INTERVAL (511) for streams and REQUEST_MESSAGE (512) for the rest, one at a time and
//! paced (PX4 loses answers to bursts), again with a capped back-off while one stays away: the autopilot rebooted, or a
//! command or its answer was lost. Must not: send. These requests move nothing and are allowed at any time.

use crate::recipe::{Command, Form, Place};
use fleet::backoff::Backoff;
use fleet::time::Moment;
use link::dialect::{MavCmd, MavMessage};
use std::time::Duration;

/// A message that we need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Want {
    /// EXTENDED_SYS_STATE (245): landed_state.
    Landed,
    /// SYS_STATUS (1): readiness.
    SysStatus,
    /// GLOBAL_POSITION_INT (33).
    Position,
    /// AUTOPILOT_VERSION (148), once.
    Version,
    /// HOME_POSITION (242), once.
    Home,
    /// BATTERY_STATUS (147).
    Battery,
    /// HEARTBEAT (0), once and now: the mode has just been set.
    BeatNow,
    /// SYS_STATUS (1), once and now: the arming checks have just been run.
    ReadyNow,
}

/// In the order in which they are asked for.
const WANTS: [Want; 6] = [
    Want::Landed,
    Want::SysStatus,
    Want::Position,
    Want::Version,
    Want::Home,
    Want::Battery,
];

/// Asked for only when somebody waits for them; the order is that of need.
const AT_ONCE: [Want; 2] = [Want::BeatNow, Want::ReadyNow];
const KINDS: usize = WANTS.len() + AT_ONCE.len();

/// Between two requests.
const PACE: Duration = Duration::from_millis(60);
/// Before the same is asked for a second time.
const FIRST_AGAIN: Duration = Duration::from_secs(2);
/// Longest time between two requests for a stream that comes, although the autopilot never granted it.
const UNANSWERED_CAP: Duration = Duration::from_secs(60);

struct Terms {
    id: u16,
    /// Interval to ask for; `None` for a message that is wanted once.
    interval: Option<Duration>,
    /// Missing after this long.
    silence: Duration,
    /// Longest time between two requests.
    cap: Duration,
}

impl Want {
    const fn terms(self) -> Terms {
        const fn stream(id: u16, interval_ms: u64, silence_ms: u64, cap_s: u64) -> Terms {
            let interval = Some(Duration::from_millis(interval_ms));
            Terms {
                id,
                interval,
                silence: Duration::from_millis(silence_ms),
                cap: Duration::from_secs(cap_s),
            }
        }
        const fn once(id: u16, cap_s: u64) -> Terms {
            Terms {
                id,
                interval: None,
                silence: Duration::MAX,
                cap: Duration::from_secs(cap_s),
            }
        }
        match self {
            Self::Landed => stream(245, 500, 2000, 4),
            Self::SysStatus => stream(1, 500, 2500, 4),
            Self::Position => stream(33, 500, 3000, 10),
            Self::Battery => stream(147, 2000, 10_000, 60),
            Self::Version => once(148, 60),
            Self::Home => once(242, 20),
            Self::BeatNow => once(0, 4),
            Self::ReadyNow => once(1, 4),
        }
    }

    /// The want that a message fulfils.
    #[must_use]
    pub const fn fulfilled_by(message: &MavMessage) -> Option<Self> {
        Some(match message {
            MavMessage::EXTENDED_SYS_STATE(_) => Self::Landed,
            MavMessage::SYS_STATUS(_) => Self::SysStatus,
            MavMessage::GLOBAL_POSITION_INT(_) => Self::Position,
            MavMessage::BATTERY_STATUS(_) => Self::Battery,
            MavMessage::AUTOPILOT_VERSION(_) => Self::Version,
            MavMessage::HOME_POSITION(_) => Self::Home,
            _ => return None,
        })
    }

    /// The command that asks for it.
    #[must_use]
    pub fn command(self) -> Command {
        let terms = self.terms();
        let id = f32::from(terms.id);
        let (command, params) = match terms.interval {
            #[allow(
                clippy::cast_precision_loss,
                reason = "a few million microseconds are exact in an f32"
            )]
            Some(interval) => (
                MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL,
                [id, interval.as_micros() as f32, 0.0, 0.0],
            ),
            None => (MavCmd::MAV_CMD_REQUEST_MESSAGE, [id, 0.0, 0.0, 0.0]),
        };
        Command {
            command,
            params,
            place: Place::Zero,
            z: 0.0,
            form: Form::Long,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    heard: Option<Moment>,
    /// The interval was set, and the autopilot said so.
    granted: bool,
    asked: u32,
    not_before: Moment,
}

/// What was heard of each message that we need, and asked for.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    states: [State; KINDS],
    not_before: Moment,
    at_once: [bool; AT_ONCE.len()],
}

impl Streams {
    /// A message of our autopilot has come.
    pub fn heard(&mut self, message: &MavMessage, now: Moment) {
        if let Some(want) = Want::fulfilled_by(message) {
            self.states[want as usize].heard = Some(now);
        }
    }

    /// Somebody waits for `want`, which is one of those that are asked for at once: once, without regard to the pace.
    pub fn hurry(&mut self, want: Want) {
        for (asked, _) in self.at_once.iter_mut().zip(AT_ONCE).filter(|(_, w)| *w == want) {
            *asked = true;
        }
    }

    /// What to ask for now, if anything. Call it when no command is outstanding and the autopilot is being heard.
    #[must_use]
    pub fn next(&self, now: Moment) -> Option<Want> {
        if let Some((_, want)) = self.at_once.iter().zip(AT_ONCE).find(|(asked, _)| **asked) {
            return Some(want);
        }
        if now < self.not_before {
            return None;
        }
        let due = WANTS.into_iter().filter(|&want| {
            let (state, terms) = (&self.states[want as usize], want.terms());
            let missing = state.heard.is_none_or(|at| now.since(at) > terms.silence);
            let unset = terms.interval.is_some() && !state.granted;
            (missing || unset) && now >= state.not_before
        });
        // The one that has waited longest, so that none keeps the others waiting; in order of need at first.
        due.min_by_key(|&want| self.states[want as usize].not_before)
    }

    /// `want` is being asked for.
    pub fn asked(&mut self, want: Want, now: Moment, jitter: f64) {
        for (asked, _) in self.at_once.iter_mut().zip(AT_ONCE).filter(|(_, w)| *w == want) {
            *asked = false;
        }
        let (state, terms) = (&mut self.states[want as usize], want.terms());
        // One that comes, only not as asked or without an answer to the asking, is not urgent.
        let comes = state.heard.is_some_and(|at| now.since(at) <= terms.silence);
        let backoff = Backoff {
            first: FIRST_AGAIN,
            cap: if comes { UNANSWERED_CAP } else { terms.cap },
        };
        state.asked = state.asked.saturating_add(1);
        state.not_before = now.plus(backoff.delay(state.asked, jitter));
    }

    /// The asking has ended, with or without success.
    pub fn ended(&mut self, want: Want, accepted: bool, now: Moment) {
        if accepted {
            let state = &mut self.states[want as usize];
            state.granted = true;
            // Should it stop later, asking begins afresh; a message wanted once is counted until it comes.
            if want.terms().interval.is_some() {
                state.asked = 0;
            }
        }
        self.not_before = now.plus(PACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::dialect::{
        AUTOPILOT_VERSION_DATA, BATTERY_STATUS_DATA, EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA,
        HOME_POSITION_DATA, SYS_STATUS_DATA,
    };

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn answer(want: Want) -> MavMessage {
        match want {
            Want::Landed => MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA::default()),
            Want::SysStatus => MavMessage::SYS_STATUS(SYS_STATUS_DATA::default()),
            Want::Position => MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA::default()),
            Want::Version => MavMessage::AUTOPILOT_VERSION(AUTOPILOT_VERSION_DATA::default()),
            Want::Home => MavMessage::HOME_POSITION(HOME_POSITION_DATA::default()),
            Want::Battery => MavMessage::BATTERY_STATUS(BATTERY_STATUS_DATA::default()),
            Want::BeatNow | Want::ReadyNow => MavMessage::SYS_STATUS(SYS_STATUS_DATA::default()),
        }
    }

    /// Asks until nothing is asked any more, `answers` being what the autopilot sends; returns what was asked.
    fn ask_all(streams: &mut Streams, from: u64, answers: bool) -> Vec<Want> {
        let mut asked = Vec::new();
        for ms in from..from + 1500 {
            if let Some(want) = streams.next(at(ms)) {
                asked.push(want);
                streams.asked(want, at(ms), 1.0);
                streams.ended(want, answers, at(ms));
                if answers {
                    streams.heard(&answer(want), at(ms));
                }
            }
        }
        asked
    }

    #[test]
    fn everything_is_asked_for_once_in_order_of_need() {
        let mut streams = Streams::default();
        assert_eq!(ask_all(&mut streams, 0, true), WANTS);
        WANTS.iter().for_each(|&w| streams.heard(&answer(w), at(1600)));
        assert_eq!(streams.next(at(1700)), None);
    }

    #[test]
    fn a_stream_that_stops_is_asked_for_again() {
        let mut streams = Streams::default();
        ask_all(&mut streams, 0, true);
        for ms in (1500..8000).step_by(500) {
            WANTS
                .iter()
                .filter(|&&w| w != Want::Landed)
                .for_each(|&w| streams.heard(&answer(w), at(ms)));
        }
        assert_eq!(streams.next(at(8000)), Some(Want::Landed));
    }

    #[test]
    fn an_autopilot_that_answers_nothing_is_not_flooded() {
        let mut streams = Streams::default();
        let mut count = 0;
        for ms in 0..600_000 {
            if let Some(want) = streams.next(at(ms)) {
                count += 1;
                streams.asked(want, at(ms), 0.5);
                streams.ended(want, false, at(ms));
            }
        }
        assert!((100..800).contains(&count), "{count} requests in ten minutes");
    }

    #[test]
    fn an_autopilot_that_obeys_without_answering_is_soon_asked_for_everything() {
        let mut streams = Streams::default();
        let mut asked = Vec::new();
        let mut now = 0;
        while now < 10_000 {
            if let Some(want) = streams.next(at(now)) {
                asked.push(want);
                streams.asked(want, at(now), 1.0);
                now += 800; // no answer
                streams.ended(want, false, at(now));
            }
            asked.iter().for_each(|&w| streams.heard(&answer(w), at(now)));
            now += 50;
        }
        assert_eq!(asked[..6], WANTS);
        assert!(asked.len() <= 12, "{asked:?}");
    }

    #[test]
    fn what_somebody_waits_for_is_asked_for_first_and_once() {
        let mut streams = Streams::default();
        ask_all(&mut streams, 0, true);
        streams.hurry(Want::ReadyNow);
        streams.hurry(Want::BeatNow);
        for want in AT_ONCE {
            assert_eq!(streams.next(at(1500)), Some(want));
            streams.asked(want, at(1500), 0.0);
            streams.ended(want, false, at(1500));
        }
        assert_eq!(streams.next(at(1500)), None);
    }

    #[test]
    fn requests_are_paced() {
        let mut streams = Streams::default();
        let want = streams.next(at(0)).unwrap();
        streams.asked(want, at(0), 0.0);
        streams.ended(want, true, at(10));
        assert_eq!(streams.next(at(11)), None);
        assert!(streams.next(at(100)).is_some());
    }
}
