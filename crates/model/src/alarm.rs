//! A failsafe that an autopilot announces, and what made it act.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    pub cause: Cause,
    pub words: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cause {
    Battery,
    GroundStation,
    RemoteControl,
    Fence,
    /// Its position: satellites, estimator.
    Position,
    /// Motors, thrust, attitude.
    Propulsion,
    /// Stays last: [`Self::ALL`] counts by it.
    #[default]
    Other,
}

impl Cause {
    pub const ALL: [Self; Self::Other as usize + 1] = [
        Self::Battery,
        Self::GroundStation,
        Self::RemoteControl,
        Self::Fence,
        Self::Position,
        Self::Propulsion,
        Self::Other,
    ];

    pub const fn text(self) -> &'static str {
        match self {
            Self::Battery => "battery",
            Self::GroundStation => "ground station lost",
            Self::RemoteControl => "remote control lost",
            Self::Fence => "geofence",
            Self::Position => "position lost",
            Self::Propulsion => "motors or attitude",
            Self::Other => "cause not reported",
        }
    }
}
