//! Settings: what a profile wants of any autopilot, by meaning and in one unit.

use model::parameter_meaning::{Meaning, Name, names};
use model::vehicle::Autopilot;

#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// As text, such as `returnAltitudeMeters`.
    pub field: &'static str,
    pub meaning: Meaning,
    pub value: SettingValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// In the unit of the meaning.
    Number(String),
    Action(Action),
}

/// Of an autopilot by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Return,
    Land,
}

impl Setting {
    /// The newest name on a stack; `None`: it has none, and nothing is to be set.
    pub fn name(&self, autopilot: Autopilot) -> Option<&'static Name> {
        names(autopilot, self.meaning).first()
    }
}

impl Action {
    /// `None`: the stack has no such action.
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
