//! Conversions of a Drone's failsafe to types of `model`.

use super::{Drone, Failsafe, OnCoordinatorLoss, OnLowBattery, Preflight};
use model::assignment::{self, USUAL_RESERVE};
use model::units::Percent;
use std::time::Duration;

impl Drone {
    /// `spec.failsafe`, or the default of the domain where it is left out.
    pub fn failsafe(&self) -> assignment::Failsafe {
        let failsafe = self.spec.failsafe.as_ref();
        failsafe.map_or_else(assignment::Failsafe::default, assignment::Failsafe::from)
    }
}

impl From<&Failsafe> for assignment::Failsafe {
    /// Numbers that are out of range are the usual ones.
    fn from(failsafe: &Failsafe) -> Self {
        Self {
            on_coordinator_loss: failsafe.on_coordinator_loss.into(),
            after: Duration::from_secs(u64::try_from(failsafe.coordinator_loss_seconds).unwrap_or(60)),
            on_low_battery: failsafe.on_low_battery.into(),
            reserve: u8::try_from(failsafe.reserve_percent)
                .ok()
                .and_then(Percent::new)
                .unwrap_or(USUAL_RESERVE),
            preflight: failsafe.preflight.into(),
        }
    }
}

impl From<OnCoordinatorLoss> for assignment::OnCoordinatorLoss {
    fn from(policy: OnCoordinatorLoss) -> Self {
        match policy {
            OnCoordinatorLoss::Continue => Self::Continue,
            OnCoordinatorLoss::Hold => Self::Hold,
            OnCoordinatorLoss::Return => Self::Return,
            OnCoordinatorLoss::Land => Self::Land,
        }
    }
}

impl From<OnLowBattery> for assignment::OnLowBattery {
    fn from(policy: OnLowBattery) -> Self {
        match policy {
            OnLowBattery::Continue => Self::Continue,
            OnLowBattery::Return => Self::Return,
            OnLowBattery::Land => Self::Land,
        }
    }
}

impl From<Preflight> for assignment::Preflight {
    fn from(policy: Preflight) -> Self {
        match policy {
            Preflight::Ignore => Self::Ignore,
            Preflight::Warn => Self::Warn,
            Preflight::Refuse => Self::Refuse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::to_value;

    #[test]
    fn a_policy_of_a_failsafe_is_the_one_of_that_name() {
        for policy in [
            OnCoordinatorLoss::Continue,
            OnCoordinatorLoss::Hold,
            OnCoordinatorLoss::Return,
            OnCoordinatorLoss::Land,
        ] {
            let domain = assignment::OnCoordinatorLoss::from(policy);
            assert_eq!(to_value(domain).unwrap(), to_value(policy).unwrap());
        }
        for policy in [OnLowBattery::Continue, OnLowBattery::Return, OnLowBattery::Land] {
            let domain = assignment::OnLowBattery::from(policy);
            assert_eq!(to_value(domain).unwrap(), to_value(policy).unwrap());
        }
        for policy in [Preflight::Ignore, Preflight::Warn, Preflight::Refuse] {
            let domain = assignment::Preflight::from(policy);
            assert_eq!(to_value(domain).unwrap(), to_value(policy).unwrap());
        }
    }

    #[test]
    fn numbers_of_a_failsafe_are_kept_and_the_usual_where_they_are_none() {
        let numbers = |coordinator_loss_seconds, reserve_percent| {
            let failsafe = Failsafe {
                coordinator_loss_seconds,
                reserve_percent,
                ..Failsafe::default()
            };
            let domain = assignment::Failsafe::from(&failsafe);
            (domain.after.as_secs(), domain.reserve.get())
        };
        assert_eq!(numbers(5, 80), (5, 80));
        for (seconds, percent) in [(-1, -1), (-1, 101), (-1, 300)] {
            assert_eq!(numbers(seconds, percent), (60, 20), "{percent} %");
        }
    }

    #[test]
    fn a_drone_without_a_failsafe_has_that_of_the_domain() {
        let mut drone = Drone::new("a", crate::DroneSpec::default());
        assert_eq!(drone.failsafe(), assignment::Failsafe::default());
        drone.spec.failsafe = Some(Failsafe {
            on_low_battery: OnLowBattery::Land,
            ..Failsafe::default()
        });
        assert_eq!(drone.failsafe().on_low_battery, assignment::OnLowBattery::Land);
    }
}
