//! States so short that only one side reported them: each side reports once a second, with its own phase, so a disarm
//! and an arming half a second later may fall between two reports.

use super::channel::Channel;
use super::fact::Statement;

/// Interval of reports, with a margin for the clocks.
const BRIEF_S: f64 = 1.1;

/// Indices in both accounts after a brief state at one of these two; if both are possible, those after which the
/// accounts agree.
pub(super) fn skipped(
    recorded: &[Statement],
    place: usize,
    simulated: &[Statement],
    other: usize,
) -> Option<(usize, usize)> {
    let without_real = after(recorded, place).map(|place| (place, other));
    let without_model = after(simulated, other).map(|other| (place, other));
    let agree = |(place, other): &(usize, usize)| match (recorded.get(*place), simulated.get(*other)) {
        (Some(real), Some(model)) => real.fact == model.fact,
        (None, None) => true,
        _ => false,
    };
    without_model
        .filter(agree)
        .or(without_real.filter(agree))
        .or(without_model)
        .or(without_real)
}

/// Index after a brief state and the return to the state before it.
fn after(account: &[Statement], place: usize) -> Option<usize> {
    let (now, next) = (account.get(place)?, account.get(place + 1)?);
    if Channel::of(now.fact).is_sent_once() || next.at_s - now.at_s > BRIEF_S {
        return None;
    }
    let before = place.checked_sub(1).and_then(|before| account.get(before));
    let returns = before.is_some_and(|before| before.fact == next.fact);
    Some(if returns { place + 2 } else { place + 1 })
}
