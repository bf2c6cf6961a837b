//! Conformance: the inputs of a recorded flight are sent to a simulated vehicle, and its answers are compared with
//! those of the real autopilot.
//!
//! Must not: know any recording by name, or show the model that it is replayed.
//!
//! A recording is NAME.tlog (both directions) and NAME.jsonl (the transcript). The simulated vehicle boots at the same
//! place and in the same way ([`Circumstances`]), receives the same messages at the same times of its own clock, and
//! the messages of both are read the same way ([`facts`]) and compared ([`compare`]).
//!
//! Tolerances: answers (acks, plans, parameters) must be equal and in the same order. A statement may come 2 s early or
//! late, because both sides report a change with their next message of 1 Hz at the slowest, and each such timer has its
//! own phase; and a tenth of the time since the last common statement more, because two flights of the same real
//! vehicle through the same maneuver differ by that much (the recorded landings from 10 m took 20.5 to 22.1 s).

mod boot_clock;
mod brief;
mod changes;
mod channel;
mod circumstances;
mod compare;
mod explained;
mod fact;
mod gaps;
mod home;
mod param_requests;
mod recording;
mod simulate;
mod table;
mod tlog;

pub use changes::Changes;
pub use channel::Channel;
pub use circumstances::Circumstances;
pub use compare::{Comparison, Tolerance, Verdict, compare};
pub use explained::{Explained, ExplainedError, Explanation};
pub use fact::{Fact, Statement, facts};
pub use gaps::Gap;
pub use param_requests::ParamRequests;
pub use recording::{Recording, RecordingError};
pub use simulate::simulate;
pub use table::{LEGEND, table};

use std::path::Path;

#[derive(Debug)]
pub struct Outcome {
    pub name: String,
    pub result: Result<Comparison, RecordingError>,
}

impl Outcome {
    pub fn is_same(&self) -> bool {
        self.result.as_ref().is_ok_and(Comparison::is_same)
    }
}

/// Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgment {
    Same,
    /// A difference, or an explanation without one.
    Deviates,
    Unreadable,
}

pub fn folder(folder: &Path) -> Result<Vec<Outcome>, RecordingError> {
    let replay = |name: String| {
        let compared = |recording: Recording| {
            compare(
                &recording.statements,
                &simulate(&recording),
                &recording.gaps,
                recording.end_s,
            )
        };
        let result = Recording::read(folder, &name).map(compared);
        Outcome { name, result }
    };
    Ok(recording::names(folder)?.into_iter().map(replay).collect())
}

/// Explanations that match no difference.
pub fn idle<'a>(outcomes: &[Outcome], explained: &'a Explained) -> Vec<&'a Explanation> {
    let read = outcomes.iter().filter_map(|outcome| {
        let comparison = outcome.result.as_ref().ok()?;
        Some((outcome.name.as_str(), comparison))
    });
    explained.idle(&read.collect::<Vec<_>>())
}

pub fn judge(outcomes: &[Outcome], explained: &Explained) -> Judgment {
    let one = |outcome: &Outcome| {
        let Ok(comparison) = &outcome.result else {
            return Judgment::Unreadable;
        };
        let known = |(channel, verdict): &(Channel, Verdict)| {
            let place = verdict.place();
            place.is_some_and(|place| explained.reason(&outcome.name, channel.name(), place).is_some())
        };
        if comparison.differences().all(known) {
            Judgment::Same
        } else {
            Judgment::Deviates
        }
    };
    let worst = outcomes.iter().map(one).max().unwrap_or(Judgment::Same);
    if idle(outcomes, explained).is_empty() {
        worst
    } else {
        worst.max(Judgment::Deviates)
    }
}
