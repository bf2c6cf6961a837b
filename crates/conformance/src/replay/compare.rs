//! Comparing two accounts of the same flight.
//!
//! Must not: excuse a difference; known ones and their reasons are with the test.
//!
//! Answers (acks, plans, parameters) must be equal in content and order, states in kind and order, and each statement
//! must come within [`Tolerance`] of the recorded one. Three things are not a difference, and the table counts the
//! first two:
//!
//! - A state that lasts no longer than the interval between two reports, a second, and that only one side reported.
//! - An answer that only the simulated vehicle gave, when sequence numbers show that the recorder lost a frame, which
//!   excuses one answer: a lost ack and one that was never sent look the same to the recorder.
//! - What the simulated vehicle sends after the recording ended: it flies on for a few seconds so that it can be late.
//!
//! Texts are counted but not judged: their order depends on queues, they contain measured numbers, and the simulated
//! vehicles know only a part of them.

use std::fmt;

use super::brief;
use super::channel::Channel;
use super::fact::{Fact, Statement};
use super::gaps::Gap;

/// Largest distance of two equal changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Both sides report with their next message, at least once a second; two such timers differ by up to two seconds.
    pub fixed_s: f64,
    /// Climbs, descents and spool-ups of two real flights differ by about a tenth of the time since the last common
    /// change.
    pub share: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self {
            fixed_s: 2.0,
            share: 0.1,
        }
    }
}

/// Margin around a gap: real answers come within 25 ms; the rest is for reading the autopilot's clock between messages.
const GAP_S: f64 = 0.1;

#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// `worst_s` is the largest difference in time.
    Same {
        count: usize,
        /// Simulated acks that the recorder may have lost.
        lost: usize,
        /// Brief states of one side.
        brief: usize,
        worst_s: f64,
    },
    /// Counts of texts, which are not judged.
    Texts {
        recorded: usize,
        common: usize,
        besides: usize,
    },
    /// The statement at `place` differs, or is missing on one side.
    Differs {
        place: usize,
        recorded: Option<Statement>,
        simulated: Option<Statement>,
    },
    /// The statement at `place` is equal but came too early or too late.
    OutOfTime {
        place: usize,
        recorded: Statement,
        /// Positive when the simulated one is late, seconds.
        late_s: f64,
    },
}

impl Verdict {
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same { .. } | Self::Texts { .. })
    }

    /// Number from 1.
    pub fn place(&self) -> Option<usize> {
        match self {
            Self::Same { .. } | Self::Texts { .. } => None,
            Self::Differs { place, .. } | Self::OutOfTime { place, .. } => Some(place + 1),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |statement: &Option<Statement>| match statement {
            Some(statement) => format!("{} at {:.1} s", statement.fact, statement.at_s),
            None => "nothing".to_owned(),
        };
        match self {
            Self::Same {
                count,
                lost,
                brief,
                worst_s,
            } => {
                write!(f, "{count}")?;
                if *lost > 0 {
                    write!(f, " and {lost} lost")?;
                }
                if *brief > 0 {
                    write!(f, " and {brief} brief")?;
                }
                write!(f, ", {worst_s:.1} s")
            }
            Self::Texts {
                recorded,
                common,
                besides,
            } => write!(f, "{common} of {recorded}, {besides} besides"),
            Self::Differs {
                place,
                recorded,
                simulated,
            } => write!(
                f,
                "#{}: {} but simulated {}",
                place + 1,
                text(recorded),
                text(simulated)
            ),
            Self::OutOfTime {
                place,
                recorded,
                late_s,
            } => write!(f, "#{}: {} {late_s:+.1} s", place + 1, recorded.fact),
        }
    }
}

/// Channels in the order of [`Channel::ALL`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison(pub Vec<(Channel, Verdict)>);

impl Comparison {
    pub fn is_same(&self) -> bool {
        self.differences().next().is_none()
    }

    pub fn differences(&self) -> impl Iterator<Item = &(Channel, Verdict)> {
        self.0
            .iter()
            .filter(|(channel, verdict)| channel.is_judged() && !verdict.is_same())
    }
}

/// `gaps`: frames of the real vehicle that the recorder lost; `end_s`: end of the recording, after which the simulated
/// vehicle went on.
pub fn compare(recorded: &[Statement], simulated: &[Statement], gaps: &[Gap], end_s: f64) -> Comparison {
    let only = |statements: &[Statement], channel: Channel| -> Vec<Statement> {
        let belongs = |statements: &&Statement| Channel::of(statements.fact) == channel;
        statements.iter().filter(belongs).copied().collect()
    };
    // One pool: a lost frame excuses one statement of any channel.
    let mut gaps = gaps.to_vec();
    let verdict = |channel: Channel| {
        let usable: &mut [Gap] = if channel.is_sent_once() { &mut gaps } else { &mut [] };
        let recorded = only(recorded, channel);
        let simulated = only(simulated, channel);
        if !channel.is_judged() {
            return (channel, count_texts(&recorded, &simulated));
        }
        (channel, judge(&recorded, &simulated, usable, end_s))
    };
    Comparison(Channel::ALL.into_iter().map(verdict).collect())
}

fn count_texts(recorded: &[Statement], simulated: &[Statement]) -> Verdict {
    let mut left: Vec<Option<[u8; 50]>> = simulated
        .iter()
        .map(|statement| without_numbers(statement.fact))
        .collect();
    let mut common = 0;
    for statement in recorded {
        let text = without_numbers(statement.fact);
        if let Some(place) = left.iter().position(|other| *other == text) {
            left.swap_remove(place);
            common += 1;
        }
    }
    Verdict::Texts {
        recorded: recorded.len(),
        common,
        besides: left.len(),
    }
}

fn without_numbers(fact: Fact) -> Option<[u8; 50]> {
    match fact {
        Fact::Text { text, .. } => Some(text.map(|byte| if byte.is_ascii_digit() { b'0' } else { byte })),
        _ => None,
    }
}

fn judge(recorded: &[Statement], simulated: &[Statement], gaps: &mut [Gap], end_s: f64) -> Verdict {
    let tolerance = Tolerance::default();
    let (mut worst_s, mut before_s) = (0.0_f64, 0.0);
    let (mut count, mut lost, mut brief) = (0, 0, 0);
    let (mut place, mut other) = (0, 0);
    loop {
        let (real, model) = (recorded.get(place).copied(), simulated.get(other).copied());
        let (Some(real_one), Some(model)) = (real, model) else {
            match (real, model) {
                (None, None) => break,
                // The recording ends before it could report it.
                (None, Some(model)) if model.at_s > end_s => break,
                (None, Some(model)) if take_gap(gaps, model.at_s) => {
                    lost += 1;
                    other += 1;
                    continue;
                }
                _ => {}
            }
            if let Some(after) = brief::skipped(recorded, place, simulated, other) {
                brief += 1;
                (place, other) = after;
                continue;
            }
            return Verdict::Differs {
                place,
                recorded: real,
                simulated: model,
            };
        };
        if real_one.fact != model.fact {
            if take_gap(gaps, model.at_s) {
                lost += 1;
                other += 1;
            } else if let Some(after) = brief::skipped(recorded, place, simulated, other) {
                brief += 1;
                (place, other) = after;
            } else {
                return Verdict::Differs {
                    place,
                    recorded: real,
                    simulated: Some(model),
                };
            }
            continue;
        }
        let late_s = model.at_s - real_one.at_s;
        if late_s.abs() > tolerance.fixed_s + tolerance.share * (real_one.at_s - before_s) {
            // The same answer may have been given twice, of which the first was lost.
            let again = simulated.get(other + 1).is_some_and(|next| next.fact == real_one.fact);
            if again && take_gap(gaps, model.at_s) {
                lost += 1;
                other += 1;
                continue;
            }
            if let Some(after) = brief::skipped(recorded, place, simulated, other) {
                brief += 1;
                (place, other) = after;
                continue;
            }
            return Verdict::OutOfTime {
                place,
                recorded: real_one,
                late_s,
            };
        }
        worst_s = worst_s.max(late_s.abs());
        before_s = real_one.at_s;
        count += 1;
        (place, other) = (place + 1, other + 1);
    }
    Verdict::Same {
        count,
        lost,
        brief,
        worst_s,
    }
}

/// Whether a frame may have been lost at `at_s`; uses it up.
fn take_gap(gaps: &mut [Gap], at_s: f64) -> bool {
    let around = |gap: &&mut Gap| gap.missing > 0 && (gap.from_s - GAP_S..=gap.to_s + GAP_S).contains(&at_s);
    match gaps.iter_mut().find(around) {
        Some(gap) => {
            gap.missing -= 1;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
