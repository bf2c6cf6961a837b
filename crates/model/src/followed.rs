//! A vehicle followed through its flights by one observer, by the autopilot's account: when it took off, and when it landed.
//!
//!   Unseen --on the ground--> Down --in the air--> Flying (seen) --disarmed--> Down
//!   Unseen --in the air--> Flying (not seen)       Down --not heard--> Unseen, since it may take off meanwhile

use crate::vehicle::{FlightTruth, WhyUnknown};

/// Where a vehicle is, as far as its observer knows; `F` is what is remembered of its flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Followed<F> {
    #[default]
    Unseen,
    Down,
    Flying(F),
}

impl<F> Followed<F> {
    /// The state after `truth` (`None`: nothing reported), and the flight that ended. `took_off` is called at a takeoff, with whether it
    /// was seen.
    pub fn after(self, truth: Option<FlightTruth>, took_off: impl FnOnce(bool) -> F) -> (Self, Option<F>) {
        match (truth, self) {
            (Some(FlightTruth::Airborne(_)), Self::Down) => (Self::Flying(took_off(true)), None),
            (Some(FlightTruth::Airborne(_)), Self::Unseen) => (Self::Flying(took_off(false)), None),
            (Some(FlightTruth::Disarmed), Self::Flying(flight)) => (Self::Down, Some(flight)),
            (_, Self::Flying(flight)) => (Self::Flying(flight), None),
            (Some(FlightTruth::Disarmed | FlightTruth::ArmedOnGround), _) => (Self::Down, None),
            (None | Some(FlightTruth::Unknown(WhyUnknown::NeverHeard | WhyUnknown::LinkLost)), _) => {
                (Self::Unseen, None)
            }
            (Some(FlightTruth::Unknown(_)), before) => (before, None),
        }
    }
}
