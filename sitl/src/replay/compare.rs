//! Two accounts of the same flight, side by side.
//!
//! Owns: what counts as the same. Must not: excuse a difference; what is known and why stands with the test.
//!
//! Answers must be equal in command, verdict and order. States must be equal in kind and order, and each change must
//! come within [`Tolerance`] of the recorded one.

use super::fact::{Fact, Heard};
use std::fmt;

/// How far apart two equal changes may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Both sides tell of a change with their next periodic message, once a second at the slowest; two such clocks
    /// differ by up to two seconds.
    pub fixed_s: f64,
    /// Climbs, descents and spool-ups of two flights of the same real vehicle differ by about a tenth; the time since
    /// the last common change is what can have drifted.
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

/// What is compared on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// COMMAND_ACK.
    Acks,
    /// Armed or not.
    Armed,
    /// Flight mode.
    Mode,
    /// MAV_STATE.
    Status,
    /// MAV_LANDED_STATE.
    Landed,
}

impl Channel {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Acks, Self::Armed, Self::Mode, Self::Landed, Self::Status];

    fn holds(self, fact: Fact) -> bool {
        matches!(
            (self, fact),
            (Self::Acks, Fact::Ack { .. })
                | (Self::Armed, Fact::Armed(_))
                | (Self::Mode, Fact::Mode(_))
                | (Self::Status, Fact::Status(_))
                | (Self::Landed, Fact::Landed(_))
        )
    }
}

/// How a channel compares.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All `count` statements are the same, in order and in time; `worst_s` is the largest difference in time.
    Same {
        /// How many.
        count: usize,
        /// Seconds.
        worst_s: f64,
    },
    /// The statement at `place` is another, or is missing on one side.
    Differs {
        /// Index.
        place: usize,
        /// What the real autopilot said.
        recorded: Option<Heard>,
        /// What the simulated one said.
        simulated: Option<Heard>,
    },
    /// The statement at `place` is the same but came too early or too late.
    OutOfTime {
        /// Index.
        place: usize,
        /// What the real autopilot said.
        recorded: Heard,
        /// Seconds that the simulated one was later.
        late_s: f64,
    },
}

impl Verdict {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |heard: &Option<Heard>| match heard {
            Some(heard) => format!("{:?} at {:.1} s", heard.fact, heard.at_s),
            None => "nothing".to_owned(),
        };
        match self {
            Self::Same { count, worst_s } => write!(f, "{count} same, {worst_s:.1} s"),
            Self::Differs {
                place,
                recorded,
                simulated,
            } => write!(
                f,
                "#{}: {} but simulated {}",
                place + 1,
                told(recorded),
                told(simulated)
            ),
            Self::OutOfTime {
                place,
                recorded,
                late_s,
            } => write!(f, "#{}: {:?} {late_s:+.1} s", place + 1, recorded.fact),
        }
    }
}

/// How a replay compares, channel by channel, in the order of [`Channel::ALL`].
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison(pub Vec<(Channel, Verdict)>);

impl Comparison {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.0.iter().all(|(_, verdict)| verdict.is_same())
    }

    /// What differs.
    pub fn differences(&self) -> impl Iterator<Item = &(Channel, Verdict)> {
        self.0.iter().filter(|(_, verdict)| !verdict.is_same())
    }
}

/// Compares what a real and a simulated vehicle said.
#[must_use]
pub fn compare(recorded: &[Heard], simulated: &[Heard]) -> Comparison {
    let only = |heard: &[Heard], channel: Channel| -> Vec<Heard> {
        heard
            .iter()
            .filter(|heard| channel.holds(heard.fact))
            .copied()
            .collect()
    };
    let verdict = |channel: Channel| {
        judge(
            &only(recorded, channel),
            &only(simulated, channel),
            Tolerance::default(),
        )
    };
    Comparison(
        Channel::ALL
            .into_iter()
            .map(|channel| (channel, verdict(channel)))
            .collect(),
    )
}

fn judge(recorded: &[Heard], simulated: &[Heard], tolerance: Tolerance) -> Verdict {
    let (mut worst_s, mut before_s) = (0.0_f64, 0.0);
    for place in 0..recorded.len().max(simulated.len()) {
        let (real, model) = (recorded.get(place).copied(), simulated.get(place).copied());
        let (Some(real), Some(model)) = (real, model) else {
            return Verdict::Differs {
                place,
                recorded: real,
                simulated: model,
            };
        };
        if real.fact != model.fact {
            return Verdict::Differs {
                place,
                recorded: Some(real),
                simulated: Some(model),
            };
        }
        let late_s = model.at_s - real.at_s;
        if late_s.abs() > tolerance.fixed_s + tolerance.share * (real.at_s - before_s) {
            return Verdict::OutOfTime {
                place,
                recorded: real,
                late_s,
            };
        }
        worst_s = worst_s.max(late_s.abs());
        before_s = real.at_s;
    }
    Verdict::Same {
        count: recorded.len(),
        worst_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(at_s: f64, armed: bool) -> Heard {
        Heard {
            at_s,
            fact: Fact::Armed(armed),
        }
    }

    fn verdict(recorded: &[Heard], simulated: &[Heard]) -> Verdict {
        judge(recorded, simulated, Tolerance::default())
    }

    #[test]
    fn equal_accounts_are_the_same() {
        let flight = [armed(1.0, false), armed(40.0, true)];
        assert_eq!(verdict(&flight, &flight), Verdict::Same { count: 2, worst_s: 0.0 });
    }

    #[test]
    fn a_change_that_only_one_side_tells_of_is_a_difference() {
        let flight = [armed(1.0, false), armed(40.0, true)];
        let missing = Verdict::Differs {
            place: 1,
            recorded: Some(flight[1]),
            simulated: None,
        };
        assert_eq!(verdict(&flight, &flight[..1]), missing);
    }

    #[test]
    fn a_change_may_be_late_by_the_clocks_of_both_sides_and_a_tenth_of_the_time_since_the_last() {
        let real = [armed(1.0, false), armed(21.0, true)];
        assert!(verdict(&real, &[armed(1.0, false), armed(24.9, true)]).is_same());
        assert!(!verdict(&real, &[armed(1.0, false), armed(25.1, true)]).is_same());
    }
}
