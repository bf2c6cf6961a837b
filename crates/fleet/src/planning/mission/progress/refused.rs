//! Vehicles whose autopilots have refused a plan of the Mission.

use super::{Doing, Observed};
use model::backoff::Backoff;
use model::ids::NodeName;
use std::time::Duration;

/// As long as Jobs wait before they try again.
const REFUSED_BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(10),
    cap: Duration::from_secs(360),
};

/// The last ones are kept.
const MAX_REFUSED: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub node: NodeName,
    pub times: u32,
    pub words: String,
}

/// How long a vehicle that refused a plan so many times in a row is given none, however few others there are.
pub fn rest(times: u32) -> Duration {
    REFUSED_BACKOFF.delay(times, 1.0)
}

/// Counts the refusal of a vehicle with a part; forgets those of one that flies its part.
pub(super) fn update(all: &mut Vec<Refused>, seen: &Observed) {
    let Some(node) = &seen.node else { return };
    let known = all.iter().position(|one| one.node == *node);
    match &seen.doing {
        Doing::Refused(words) => {
            let before = known.map_or(0, |at| all.remove(at).times);
            all.push(Refused {
                node: node.clone(),
                times: before.saturating_add(1),
                words: words.clone(),
            });
            let over = all.len().saturating_sub(MAX_REFUSED);
            all.drain(..over);
        }
        _ if seen.begun || !seen.flown.is_empty() => {
            if let Some(at) = known {
                all.remove(at);
            }
        }
        _ => {}
    }
}
