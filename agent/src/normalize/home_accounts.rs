//! Where home is by HOME_POSITION (242), and from which altitude the vehicle counts its own by GLOBAL_POSITION_INT (33): one home, or none that is
//! known.

use model::time::Moment;
use model::units::{AltitudeAmsl, Wgs84};
use model::vehicle::{FlightTruth, Vehicle};

/// Estimates on the ground wander by a meter or two.
pub(super) const AGREES_WITHIN_M: f64 = 3.0;

/// Both messages are of one estimate. What may lie between them is less, meters: air pressure of one day (8 m for each hectopascal), the first
/// satellites of a receiver (tens), and the ellipsoid taken for the sea level (107 at most).
const ONE_HOME_WITHIN_M: f64 = 200.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HomeAccounts {
    stated: Option<(Wgs84, AltitudeAmsl)>,
    counted: Option<AltitudeAmsl>,
    /// As it was counted twice in a row.
    counts_from: Option<AltitudeAmsl>,
}

impl HomeAccounts {
    /// Takes a HOME_POSITION.
    pub(super) fn state(&mut self, at: Option<Wgs84>, amsl: AltitudeAmsl) {
        self.stated = at.map(|at| (at, amsl)).or(self.stated);
    }

    /// Takes the altitude of home that follows from a GLOBAL_POSITION_INT.
    pub(super) fn count(&mut self, amsl: AltitudeAmsl) {
        let before = self.counted.replace(amsl);
        if before.is_some_and(|before| (before.0 - amsl.0).abs() <= AGREES_WITHIN_M) {
            self.counts_from = Some(amsl);
        }
    }

    pub(super) fn place(&self, vehicle: &mut Vehicle, now: Moment) {
        let Some((at, amsl)) = self.stated else { return };
        let above = self.counts_from.map(|counts_from| amsl.0 - counts_from.0);
        vehicle.home_disagrees_m = above.filter(|above| above.abs() > ONE_HOME_WITHIN_M);
        let on_ground = matches!(vehicle.truth(now), FlightTruth::Disarmed | FlightTruth::ArmedOnGround);
        if vehicle.home_disagrees_m.is_none() {
            vehicle.home_at = Some(at);
        } else if on_ground {
            vehicle.home_at = None;
        }
    }
}
