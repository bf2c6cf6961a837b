//! Settings: what a profile wants of any autopilot, by meaning and in one unit.
//!
//! Owns: [`Setting`], and the number that it is on each stack. Must not: know under which of its names an autopilot has a parameter; its agent
//! finds that out.

use model::parameter_meaning::{Meaning, Name, names};
use model::vehicle::Autopilot;

/// One setting of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its field, for words: `returnAltitudeMeters`.
    pub field: &'static str,
    /// Its meaning.
    pub meaning: Meaning,
    /// Its value.
    pub value: SettingValue,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// A number in the unit of the meaning, or an expression.
    Number(String),
    /// An action.
    Action(Action),
}

/// An action of an autopilot by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It returns and lands.
    Return,
    /// It lands where it is.
    Land,
}

impl Setting {
    /// The newest name of its parameter on a stack; `None` where the stack has none, and nothing is to be set.
    #[must_use]
    pub fn name(&self, autopilot: Autopilot) -> Option<&'static Name> {
        names(autopilot, self.meaning).first()
    }
}

impl Action {
    /// Its number in the parameter of `meaning`; `None` where a stack has no such action.
    #[must_use]
    pub const fn code(self, autopilot: Autopilot, meaning: Meaning) -> Option<f64> {
        Some(match (autopilot, meaning, self) {
            // FS_GCS_ENABLE.
            (Autopilot::ArduPilot, Meaning::GroundStationLossAction, Self::Return) => 1.0,
            (Autopilot::ArduPilot, Meaning::GroundStationLossAction, Self::Land) => 5.0,
            // BATT_FS_LOW_ACT.
            (Autopilot::ArduPilot, Meaning::LowBatteryAction, Self::Return) => 2.0,
            (Autopilot::ArduPilot, Meaning::LowBatteryAction, Self::Land) => 1.0,
            // FS_THR_ENABLE.
            (Autopilot::ArduPilot, Meaning::RemoteControlLossAction, Self::Return) => 1.0,
            (Autopilot::ArduPilot, Meaning::RemoteControlLossAction, Self::Land) => 3.0,
            // NAV_DLL_ACT, NAV_RCL_ACT.
            (Autopilot::Px4, Meaning::GroundStationLossAction | Meaning::RemoteControlLossAction, Self::Return) => 2.0,
            (Autopilot::Px4, Meaning::GroundStationLossAction | Meaning::RemoteControlLossAction, Self::Land) => 3.0,
            // COM_LOW_BAT_ACT.
            (Autopilot::Px4, Meaning::LowBatteryAction, Self::Return) => 3.0,
            (Autopilot::Px4, Meaning::LowBatteryAction, Self::Land) => 2.0,
            _ => return None,
        })
    }
}
