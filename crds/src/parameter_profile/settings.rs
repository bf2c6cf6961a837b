//! `spec.settings` of a ParameterProfile: values by meaning.

use fleet::planning::parameters::{Action, Setting, SettingValue};
use kube::KubeSchema;
use model::parameter_meaning::Meaning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Values by meaning, each in the unit of its name: a number as text ("30", "2.5"), or an expression ("{{ 30 + 5*number }}") with the variables
/// slot (of the Drone that the vehicle serves), number (the label skein.dev/number) and systemId.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[x_kube(validation = Rule::new("has(self.returnAltitudeMeters) || has(self.waypointRadiusMeters) || has(self.waypointSpeedMetersPerSecond) || has(self.climbSpeedMetersPerSecond) || has(self.descentSpeedMetersPerSecond) || has(self.landingSpeedMetersPerSecond) || has(self.groundStationLossSeconds) || has(self.onGroundStationLoss) || has(self.onLowBattery) || has(self.onRemoteControlLoss)").message("settings without a value do nothing; give one, or leave settings out"))]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Altitude to which a return climbs, meters above home: 2 to 500, or 0 for the altitude that the vehicle has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub return_altitude_meters: Option<String>,

    /// Distance from a waypoint at which it counts as reached, meters: 0.1 to 50. Routes and Missions are kept clear of others for 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub waypoint_radius_meters: Option<String>,

    /// Speed over ground between places, m/s: 0.3 to 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub waypoint_speed_meters_per_second: Option<String>,

    /// Speed of a climb, m/s: 0.2 to 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub climb_speed_meters_per_second: Option<String>,

    /// Speed of a descent, m/s: 0.2 to 15.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub descent_speed_meters_per_second: Option<String>,

    /// Speed of a landing just above the ground, m/s: 0.2 to 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub landing_speed_meters_per_second: Option<String>,

    /// Time without a heartbeat of a ground station, which an agent sends, after which it counts as lost, seconds: 1 to 300.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub ground_station_loss_seconds: Option<String>,

    /// What the autopilot does by itself when its ground station is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_ground_station_loss: Option<SettingAction>,

    /// What it does when its battery is low (PX4: critical).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_low_battery: Option<SettingAction>,

    /// What it does when the remote control is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_remote_control_loss: Option<SettingAction>,
}

/// What an autopilot does by itself.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingAction {
    /// It returns and lands.
    Return,
    /// It lands where it is.
    Land,
}

impl Settings {
    pub fn wanted(&self) -> Vec<Setting> {
        let numbers = [
            (
                "returnAltitudeMeters",
                Meaning::ReturnAltitude,
                &self.return_altitude_meters,
            ),
            (
                "waypointRadiusMeters",
                Meaning::WaypointRadius,
                &self.waypoint_radius_meters,
            ),
            (
                "waypointSpeedMetersPerSecond",
                Meaning::WaypointSpeed,
                &self.waypoint_speed_meters_per_second,
            ),
            (
                "climbSpeedMetersPerSecond",
                Meaning::ClimbSpeed,
                &self.climb_speed_meters_per_second,
            ),
            (
                "descentSpeedMetersPerSecond",
                Meaning::DescentSpeed,
                &self.descent_speed_meters_per_second,
            ),
            (
                "landingSpeedMetersPerSecond",
                Meaning::LandingSpeed,
                &self.landing_speed_meters_per_second,
            ),
            (
                "groundStationLossSeconds",
                Meaning::GroundStationLossTime,
                &self.ground_station_loss_seconds,
            ),
        ];
        let actions = [
            (
                "onGroundStationLoss",
                Meaning::GroundStationLossAction,
                self.on_ground_station_loss,
            ),
            ("onLowBattery", Meaning::LowBatteryAction, self.on_low_battery),
            (
                "onRemoteControlLoss",
                Meaning::RemoteControlLossAction,
                self.on_remote_control_loss,
            ),
        ];
        let numbers = numbers.into_iter().filter_map(|(field, meaning, number)| {
            let value = SettingValue::Number(number.clone()?);
            Some(Setting { field, meaning, value })
        });
        let actions = actions.into_iter().filter_map(|(field, meaning, action)| {
            let value = SettingValue::Action(match action? {
                SettingAction::Return => Action::Return,
                SettingAction::Land => Action::Land,
            });
            Some(Setting { field, meaning, value })
        });
        numbers.chain(actions).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::denied_parameters;
    use model::parameter_meaning::names;
    use model::vehicle::Autopilot;

    fn all(action: &str) -> Vec<Setting> {
        let json = serde_json::json!({
            "returnAltitudeMeters": "30",
            "waypointRadiusMeters": "2",
            "waypointSpeedMetersPerSecond": "7.5",
            "climbSpeedMetersPerSecond": "2.5",
            "descentSpeedMetersPerSecond": "1.5",
            "landingSpeedMetersPerSecond": "{{ 0.5 }}",
            "groundStationLossSeconds": "5",
            "onGroundStationLoss": action,
            "onLowBattery": action,
            "onRemoteControlLoss": action,
        });
        serde_json::from_value::<Settings>(json).unwrap().wanted()
    }

    #[test]
    fn each_field_sets_a_parameter_of_each_stack_that_a_profile_may_set() {
        for (word, action) in [("Return", Action::Return), ("Land", Action::Land)] {
            let all = all(word);
            assert_eq!(all.len(), 10);
            assert_eq!(all[0].value, SettingValue::Number("30".to_owned()));
            for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
                for setting in &all {
                    let names = names(autopilot, setting.meaning);
                    assert!(!names.is_empty(), "{}: none on {autopilot:?}", setting.field);
                    let value = match &setting.value {
                        SettingValue::Action(of) => {
                            assert_eq!(*of, action);
                            of.code(autopilot, setting.meaning).unwrap()
                        }
                        SettingValue::Number(_) => 2.0,
                    };
                    for name in names {
                        assert_eq!(
                            denied_parameters::aboard(autopilot, name.name, value),
                            None,
                            "{}",
                            name.name
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_set_that_is_left_out() {
        assert_eq!(Settings::default().wanted(), []);
    }
}
