//! How well a vehicle knows where it is, as its own autopilot reports it.

use crate::units::Meters;

/// Cap of a reported deviation, meters: receivers without a fix report thousands of kilometers.
const MOST_M: f64 = 1000.0;

/// Reported deviations are rounded up to this, meters.
const STEP_M: f64 = 0.1;

/// One standard deviation of a position; `None` where it is not known.
///
/// - GPS_RAW_INT (24): `h_acc`, `v_acc` with a 3D fix. They are MAVLink 2 extensions; 0 is not known.
/// - ESTIMATOR_STATUS (230) of PX4: `pos_horiz_accuracy`, `pos_vert_accuracy`, of its filter.
/// - EKF_STATUS_REPORT (193) of ArduPilot gives no meters; where its filter has no position or rejects its receiver: [`Self::UNTRUSTED`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    pub horizontal: Option<Meters>,
    /// Of the altitude above mean sea level.
    pub vertical: Option<Meters>,
}

impl Accuracy {
    /// For a filter without an absolute position, or one that rejects its receiver: far worse than any bound of ours.
    pub const UNTRUSTED: Meters = Meters(50.0);

    /// Meters; a number that is not above 0 is not known.
    pub fn of_meters(horizontal: f64, vertical: f64) -> Self {
        let known = |meters: f64| {
            let rounded = (meters.min(MOST_M) / STEP_M - 1e-6).ceil() * STEP_M;
            (meters > 0.0).then_some(Meters(rounded))
        };
        Self {
            horizontal: known(horizontal),
            vertical: known(vertical),
        }
    }

    /// The worse of both, each part by itself; an unknown part adds nothing.
    pub fn or_worse(self, other: Self) -> Self {
        let worse = |one: Option<Meters>, other: Option<Meters>| match (one, other) {
            (Some(one), Some(other)) => Some(Meters(one.0.max(other.0))),
            (one, other) => one.or(other),
        };
        Self {
            horizontal: worse(self.horizontal, other.horizontal),
            vertical: worse(self.vertical, other.vertical),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_what_is_no_number_are_not_known_and_the_rest_is_rounded_up() {
        let meters = |horizontal, vertical| {
            let of = Accuracy::of_meters(horizontal, vertical);
            (of.horizontal.map(|m| m.0), of.vertical.map(|m| m.0))
        };
        assert_eq!(meters(0.0, f64::NAN), (None, None));
        assert_eq!(meters(-1.0, f64::INFINITY), (None, Some(1000.0)));
        let (horizontal, vertical) = meters(0.91, 4_294_967.0);
        assert!((horizontal.unwrap() - 1.0).abs() < 1e-9 && (vertical.unwrap() - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn the_worse_account_counts_and_one_that_is_not_known_hides_none() {
        let (gps, filter) = (Accuracy::of_meters(0.9, 0.0), Accuracy::of_meters(0.3, 2.5));
        let both = gps.or_worse(filter);
        assert_eq!(both, filter.or_worse(gps));
        assert_eq!((both.horizontal, both.vertical), (gps.horizontal, filter.vertical));
        assert_eq!(Accuracy::default().or_worse(both), both);
    }
}
