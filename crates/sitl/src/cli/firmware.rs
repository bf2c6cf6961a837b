//! Versions of autopilots, as a flag.

use clap::ValueEnum;

use crate::model::Firmware;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FirmwareKind {
    /// ArduCopter 4.6: names of parameters as until then.
    #[value(name = "copter-4.6")]
    Copter46,
    /// ArduCopter 4.8: names and units of parameters as from 4.7 on.
    #[value(name = "copter-4.8")]
    Copter48,
    /// PX4 1.16.
    #[value(name = "px4-1.16")]
    Px4V116,
    /// PX4 1.18: cuts corners at 10 m where a waypoint names no radius.
    #[value(name = "px4-1.18")]
    Px4V118,
}

impl From<FirmwareKind> for Firmware {
    fn from(kind: FirmwareKind) -> Self {
        match kind {
            FirmwareKind::Copter46 => Self::Copter46,
            FirmwareKind::Copter48 => Self::Copter48,
            FirmwareKind::Px4V116 => Self::Px4V116,
            FirmwareKind::Px4V118 => Self::Px4V118,
        }
    }
}
