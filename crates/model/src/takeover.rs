//! A pilot, a ground station or a failsafe takes over in flight: from then on the agent sends nothing, until it is ordered to go on.
//!
//! The agent counts takeovers under one Drone and reports the number; a person writes that number into the Drone to let Skein go on
//! (`spec.resumeAfterTakeovers`, `skein resume`). A repeated or late order therefore resumes nothing that was taken over since.
//!
//! Owns: who is in command of a vehicle in the air ([`InCommand::after`]), when the agent has let go ([`let_go`]), and its activity then
//! ([`activity`]). The count is part of `fleet::flight_record::FlightRecord`.
//! Must not: send anything. While the agent has let go there is no failsafe and no landing by a ground order either, because the pilot
//! flies. One exception: a return that has ended in a hover over home, which no stick flies, is landed by a ground order
//! (`fleet::flight::converge`).
//!
//! Only modes show who is in command: steering in a mode of ours, as a ground station may in GUIDED, is not noticed.

use crate::activity::{Activity, HandsOff};
use crate::vehicle::{FlightTruth, Mode};
use serde::{Deserialize, Serialize};

/// As far as the mode of a vehicle in the air shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InCommand {
    /// In a mode in which we command.
    #[default]
    Us,
    OurLanding,
    OurReturn,
    /// A pilot, a ground station, or the autopilot's own failsafe.
    SomebodyElse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Descent {
    Land,
    Return,
}

impl InCommand {
    /// Who is in command after `truth` and `mode` were observed. `sent`: the descent that we commanded lately. `wants_ground`: a landing is
    /// wanted then, and a restarted agent does not know that it ordered it.
    ///
    /// Unknown state changes nothing, and on the ground nobody takes over.
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
            // We send nothing under somebody else's command, so the descent is theirs too.
            (Mode::Foreign, _, _) | (_, Self::SomebodyElse, _) => Self::SomebodyElse,
            (Mode::Land, Self::OurLanding, _) | (Mode::Land, _, Some(Descent::Land)) => Self::OurLanding,
            // A return ends in a landing, and is one from the start without a position.
            (Mode::Land | Mode::Return, Self::OurReturn, _) | (Mode::Land | Mode::Return, _, Some(Descent::Return)) => {
                Self::OurReturn
            }
            (Mode::Land, Self::Us, None) if wants_ground => Self::OurLanding,
            (Mode::Land | Mode::Return, _, _) => Self::SomebodyElse,
        }
    }
}

/// More takeovers by somebody else than the order to go on covers.
pub const fn let_go(takeovers: u32, resume_after: u32) -> bool {
    takeovers > resume_after
}

/// The activity of an agent that has let go.
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
