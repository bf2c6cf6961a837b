//! A pilot, a ground station or a failsafe takes over in flight: from then on the agent lets go, until it is ordered to go on.
//!
//! The agent counts takeovers under one Drone and reports the number; a person who wants Skein to go on writes that number into
//! the Drone (`spec.resumeAfterTakeovers`, `skein resume`). A repeated or late order therefore resumes nothing that was
//! taken over since.
//!
//! Owns: who is in command of a vehicle in the air ([`InCommand::after`]), when the agent has let go ([`let_go`]), and what
//! it reports as its activity then ([`activity`]). The count itself is part of `fleet::flight_record::FlightRecord`.
//! Must not: send anything. While the agent has let go nothing is sent: no failsafe, and no landing by a ground order
//! either, because the pilot flies. The one exception is a return that has ended in a hover over home, which no stick
//! flies: a ground order lands it (`fleet::flight::converge`).
//!
//! Only modes show who is in command. Somebody who steers in a mode of ours, as a ground station may in GUIDED, is not
//! noticed.

use crate::activity::{Activity, HandsOff};
use crate::vehicle::{FlightTruth, Mode};
use serde::{Deserialize, Serialize};

/// Who is in command of a vehicle in the air, as far as its mode shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InCommand {
    /// We are: it is in a mode in which we command.
    #[default]
    Us,
    /// It lands because we ordered it.
    OurLanding,
    /// It returns because we ordered it.
    OurReturn,
    /// Somebody else: a pilot, a ground station, or the autopilot's own failsafe.
    SomebodyElse,
}

/// A way down on which an agent sends its vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Descent {
    Land,
    Return,
}

impl InCommand {
    /// Who is in command after the vehicle was observed in `truth` and `mode`. `sent` is the descent that we commanded
    /// lately, and `wants_ground` whether it should be on the ground: a landing is then what is wanted, and an agent that
    /// was restarted in the middle of one does not know that it was its own.
    ///
    /// What is not known changes nothing, and on the ground nobody takes over.
    pub const fn after(
        self,
        truth: FlightTruth,
        mode: Option<Mode>,
        sent: Option<Descent>,
        wants_ground: bool,
    ) -> Self {
        match (truth, mode) {
            (FlightTruth::Disarmed, _) => Self::Us,
            (FlightTruth::Airborne(_), Some(mode)) => self.flying_in(mode, sent, wants_ground),
            (FlightTruth::Unknown(_) | FlightTruth::ArmedOnGround, _) | (FlightTruth::Airborne(_), None) => self,
        }
    }

    const fn flying_in(self, mode: Mode, sent: Option<Descent>, wants_ground: bool) -> Self {
        match (mode, self, sent) {
            (Mode::Station | Mode::Takeoff | Mode::Mission, _, _) => Self::Us,
            // Nothing is sent to a vehicle in somebody else's command, so the descent is theirs too.
            (Mode::Foreign, _, _) | (_, Self::SomebodyElse, _) => Self::SomebodyElse,
            (Mode::Land, Self::OurLanding, _) | (Mode::Land, _, Some(Descent::Land)) => Self::OurLanding,
            // A return ends in a landing, and is one from the start where there is no position.
            (Mode::Land | Mode::Return, Self::OurReturn, _) | (Mode::Land | Mode::Return, _, Some(Descent::Return)) => {
                Self::OurReturn
            }
            (Mode::Land, Self::Us, None) if wants_ground => Self::OurLanding,
            (Mode::Land | Mode::Return, _, _) => Self::SomebodyElse,
        }
    }
}

/// Whether the agent has let go of its vehicle: somebody has taken over more often than it was ordered to go on after.
pub const fn let_go(takeovers: u32, resume_after: u32) -> bool {
    takeovers > resume_after
}

/// What an agent that has let go reports as its activity.
pub const fn activity(truth: FlightTruth, mode: Option<Mode>, wants_ground: bool) -> Activity {
    match (truth, mode) {
        (FlightTruth::Unknown(_), _) | (FlightTruth::Airborne(_), None) => Activity::Waiting,
        (FlightTruth::Disarmed, _) if wants_ground => Activity::Idle,
        (FlightTruth::Airborne(_), Some(Mode::Foreign | Mode::Land | Mode::Return)) => {
            Activity::HandsOff(HandsOff::OtherMode)
        }
        (FlightTruth::Airborne(_), Some(Mode::Station | Mode::Takeoff | Mode::Mission))
        | (FlightTruth::Disarmed | FlightTruth::ArmedOnGround, _) => Activity::HandsOff(HandsOff::TakenOver),
    }
}
