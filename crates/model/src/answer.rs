//! What an autopilot has answered to commands whose effect does not show.

use crate::takeover::Descent;
use crate::time::Moment;

/// What an autopilot has answered to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    #[default]
    Awaited,
    /// Nothing, in the time that it has.
    Missing,
    Accepted,
    /// Another final result, by its name.
    Refused(String),
}

/// A way down that was commanded, and that the vehicle is not observed to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    pub descent: Descent,
    pub times: u32,
    /// When it was first commanded.
    pub since: Moment,
    /// What the autopilot answered last.
    pub answer: Answer,
}

/// Orders to fly to the next place of a route, none of which has brought the vehicle nearer to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalled {
    /// What the autopilot answered to the last that it had the time to answer.
    pub answer: Answer,
    /// What it said to one of them; empty when it said nothing. PX4 accepts a place outside of its fence, and says so only
    /// on links on which it receives a ground station.
    pub words: String,
}
