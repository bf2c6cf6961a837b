//! The verdict on a script from both sides.
//!
//! Owns: which statements are dropped, and how many variants of the simulated side are tried. Must not: shrink.

use super::live::Run;
use super::simulated::{Warp, simulated};
use crate::replay::{Channel, Comparison, Fact, Statement, compare};

/// The largest time between two acks of one command.
const TOGETHER_S: f64 = 0.3;

/// See the module text.
#[derive(Debug)]
pub enum Outcome {
    /// Equal.
    Same,
    /// Equal when messages near a transition reach the simulated vehicle a little earlier or later.
    SameWarped,
    /// Different, in every variant. The comparison is that of the plain run.
    Differs(Comparison),
}

impl Outcome {
    /// No difference.
    #[must_use]
    pub fn is_same(&self) -> bool {
        !matches!(self, Self::Differs(_))
    }
}

/// Compares a run of the real autopilot with the simulator.
#[must_use]
pub fn judge(run: &Run) -> Outcome {
    let plain = against(run, &Warp::default());
    if plain.is_same() {
        return Outcome::Same;
    }
    if Warp::all(run).any(|warp| against(run, &warp).is_same()) {
        return Outcome::SameWarped;
    }
    Outcome::Differs(plain)
}

fn against(run: &Run, warp: &Warp) -> Comparison {
    let simulated = in_one_order(simulated(run, warp));
    let real = without_late(&in_one_order(run.statements.clone()), &simulated, run.end_s);
    compare(&real, &simulated, &[], run.end_s)
}

/// Two acks of the same command at nearly the same time are put in order: PX4's link and its commander both answer a change
/// of mode, and which of them is first is random.
fn in_one_order(mut statements: Vec<Statement>) -> Vec<Statement> {
    let ack = |statements: &Statement| match statements.fact {
        Fact::Ack { command, result } => Some((command, result)),
        _ => None,
    };
    let places: Vec<usize> = (0..statements.len())
        .filter(|&place| ack(&statements[place]).is_some())
        .collect();
    for pair in places.windows(2) {
        let (one, two) = (statements[pair[0]], statements[pair[1]]);
        if let (Some((command, first)), Some((other, second))) = (ack(&one), ack(&two))
            && command == other
            && first > second
            && two.at_s - one.at_s < TOGETHER_S
        {
            statements[pair[0]].fact = two.fact;
            statements[pair[1]].fact = one.fact;
        }
    }
    statements
}

/// What the real autopilot reported after the last step is dropped if the simulated one has reported less: it may come
/// later.
fn without_late(real: &[Statement], simulated: &[Statement], end_s: f64) -> Vec<Statement> {
    let mut judged = Vec::new();
    for channel in Channel::ALL {
        let of = |statement: &&Statement| Channel::of(statement.fact) == channel;
        let allowed = simulated.iter().filter(of).count();
        let own = real.iter().filter(of).copied().enumerate();
        judged.extend(
            own.filter(|(place, statement)| statement.at_s <= end_s || *place < allowed)
                .map(|(_, statement)| statement),
        );
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_acks_of_one_change_of_mode_may_come_in_either_order() {
        let ack = |at_s: f64, result: u8| Statement {
            at_s,
            fact: Fact::Ack { command: 176, result },
        };
        let either = in_one_order(vec![ack(1.0, 1), ack(1.02, 0)]);
        assert_eq!(either, in_one_order(vec![ack(1.0, 0), ack(1.02, 1)]));
        let apart = vec![ack(1.0, 1), ack(2.0, 0)];
        assert_eq!(in_one_order(apart.clone()), apart);
    }
}
