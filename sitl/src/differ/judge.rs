//! What came of a script on both sides.
//!
//! Owns: which statements are dropped, and in how many ways the simulated side is tried. Must not: shrink.

use super::live::Run;
use super::simulated::{Warp, simulated};
use crate::replay::{Channel, Comparison, Heard, compare};

/// See the module text.
#[derive(Debug)]
pub enum Outcome {
    /// The same.
    Same,
    /// The same when messages near a transition reach the simulated vehicle a little earlier or later.
    SameWarped,
    /// Another, in every way it was tried. The comparison is that of the plain run.
    Differs(Comparison),
}

impl Outcome {
    /// No difference.
    #[must_use]
    pub fn is_same(&self) -> bool {
        !matches!(self, Self::Differs(_))
    }
}

/// Judges a run of the real autopilot against the simulator.
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
    let simulated = simulated(run, warp);
    let real = without_late(&run.heard, &simulated, run.end_s);
    compare(&real, &simulated, &[], run.end_s)
}

/// What the real autopilot reported after the last step is dropped where the simulated one has reported less: it may come
/// later still.
fn without_late(real: &[Heard], simulated: &[Heard], end_s: f64) -> Vec<Heard> {
    let mut kept = Vec::new();
    for channel in Channel::ALL {
        let of = |heard: &&Heard| Channel::of(heard.fact) == channel;
        let allowed = simulated.iter().filter(of).count();
        let own = real.iter().filter(of).copied().enumerate();
        kept.extend(
            own.filter(|(place, heard)| heard.at_s <= end_s || *place < allowed)
                .map(|(_, heard)| heard),
        );
    }
    kept
}
