//! What an autopilot has answered to commands whose effect does not show.

use crate::takeover::Descent;
use crate::time::Moment;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    #[default]
    Awaited,
    /// No answer in the time that it has.
    Missing,
    Accepted,
    /// Another final MAV_RESULT, by its name.
    Refused(String),
}

/// A descent that was commanded, and that the vehicle is not observed to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    pub descent: Descent,
    pub times: u32,
    pub since: Moment,
    pub answer: Answer,
}

/// Orders to fly to the next place of a route, none of which brought the vehicle nearer to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stalled {
    pub answer: Answer,
    /// Its STATUSTEXT to one of them; may be empty. PX4 accepts a place outside of its fence, and says so only on links with a ground
    /// station.
    pub words: String,
}
