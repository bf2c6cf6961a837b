//! Stages of one vehicle of the demo.
//!
//!   Booting -> Ready -> Arming -> Climbing -> Flying -> (TakenOver) -> Landing -> Landed;   Silent: no longer heard

use crate::vehicle::Vehicle;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not heard yet, or arming checks fail.
    #[default]
    Booting,
    Ready,
    Arming,
    Climbing,
    Flying,
    /// Flown by somebody else, or by a failsafe of its autopilot.
    TakenOver,
    Landing,
    Landed,
    Silent,
}

impl Stage {
    pub const ALL: [Self; 9] = [
        Self::Booting,
        Self::Ready,
        Self::Arming,
        Self::Climbing,
        Self::Flying,
        Self::TakenOver,
        Self::Landing,
        Self::Landed,
        Self::Silent,
    ];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Booting => "booting",
            Self::Ready => "ready",
            Self::Arming => "arming",
            Self::Climbing => "climbing",
            Self::Flying => "flying",
            Self::TakenOver => "taken over",
            Self::Landing => "landing",
            Self::Landed => "landed",
            Self::Silent => "not heard",
        }
    }

    const fn after_takeoff(self) -> bool {
        matches!(
            self,
            Self::Climbing | Self::Flying | Self::TakenOver | Self::Landing | Self::Landed
        )
    }

    pub fn of(vehicle: &Vehicle, before: Self) -> Self {
        let activity = vehicle.activity.as_deref().unwrap_or_default();
        match (vehicle.truth.as_str(), activity) {
            ("Disarmed", "Arming") if vehicle.ready == Some(true) => Self::Arming,
            ("Disarmed", _) if before.after_takeoff() => Self::Landed,
            ("Disarmed", _) if vehicle.ready == Some(true) => Self::Ready,
            ("Disarmed", _) => Self::Booting,
            ("ArmedOnGround", "Arming" | "TakingOff") => Self::Arming,
            ("ArmedOnGround", _) if before.after_takeoff() => Self::Landing,
            ("ArmedOnGround", _) => Self::Arming,
            ("TakingOff" | "InAir" | "Landing", activity) if activity.starts_with("HandsOff") => Self::TakenOver,
            ("Landing", _) | ("InAir", "Landing" | "LowBattery" | "Failsafe") => Self::Landing,
            ("InAir", "Holding") => Self::Flying,
            ("TakingOff" | "InAir", _) => Self::Climbing,
            _ if before > Self::Ready => Self::Silent,
            _ => Self::Booting,
        }
    }
}

/// Whether it holds by both its autopilot and its agent.
pub fn holds(vehicle: &Vehicle) -> bool {
    Stage::of(vehicle, Stage::default()) == Stage::Flying
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vehicle(truth: &str, activity: &str, ready: bool) -> Vehicle {
        Vehicle {
            truth: truth.into(),
            activity: Some(activity.into()),
            ready: Some(ready),
            ..Vehicle::default()
        }
    }

    #[test]
    fn a_flight_goes_through_the_stages_in_their_order() {
        let mut stage = Stage::default();
        let stages: Vec<Stage> = [
            vehicle("UnknownNeverHeard", "Idle", false),
            vehicle("Disarmed", "Arming", false),
            vehicle("Disarmed", "Idle", true),
            vehicle("Disarmed", "Arming", true),
            vehicle("ArmedOnGround", "TakingOff", true),
            vehicle("TakingOff", "TakingOff", true),
            vehicle("InAir", "TakingOff", true),
            vehicle("InAir", "Holding", true),
            vehicle("InAir", "HandsOffOtherMode", true),
            vehicle("InAir", "LowBattery", true),
            vehicle("Landing", "Landing", true),
            vehicle("ArmedOnGround", "Landing", true),
            vehicle("Disarmed", "Idle", true),
            vehicle("Disarmed", "Arming", true),
            vehicle("ArmedOnGround", "TakingOff", true),
            vehicle("TakingOff", "TakingOff", true),
        ]
        .iter()
        .map(|vehicle| {
            stage = Stage::of(vehicle, stage);
            stage
        })
        .collect();
        use Stage::{Arming, Booting, Climbing, Flying, Landed, Landing, Ready, TakenOver};
        let wanted = [
            Booting, Booting, Ready, Arming, Arming, Climbing, Climbing, Flying, TakenOver, Landing, Landing, Landing,
            Landed, Arming, Arming, Climbing,
        ];
        assert_eq!(stages, wanted);
    }

    #[test]
    fn a_vehicle_that_falls_silent_in_the_air_has_not_landed() {
        let silent = vehicle("UnknownLinkLost", "Waiting", false);
        assert_eq!(Stage::of(&silent, Stage::Flying), Stage::Silent);
        assert_eq!(Stage::of(&silent, Stage::Booting), Stage::Booting);
        let back = vehicle("InAir", "Holding", true);
        assert_eq!(Stage::of(&back, Stage::Silent), Stage::Flying);
    }

    #[test]
    fn only_a_vehicle_that_is_up_and_at_its_height_holds() {
        assert!(holds(&vehicle("InAir", "Holding", true)));
        assert!(!holds(&vehicle("InAir", "TakingOff", true)));
        assert!(!holds(&vehicle("Unknown", "Holding", true)));
    }
}
