//! How far down the ground may be.

use model::geo::Local;

/// So near to its home over ground a vehicle lands at the altitude of that, meters.
const AT_HOME_M: f64 = 3.0;

/// Depths are rounded up to this, meters: a vehicle that drifts a little as it lands keeps its way down.
const STEP_M: f64 = 50.0;

/// The lowest place on the ground below `at`, for a vehicle with this `home`. The ground is not known. It falls from home by 45 degrees at most, as
/// below a station ([`model::station::Station::suits`]).
pub fn ground_below(at: Local, home: Local) -> Local {
    let away = at.over_ground(home);
    let falls = match away > AT_HOME_M {
        true => (away / STEP_M).ceil() * STEP_M,
        false => 0.0,
    };
    at.at_height(at.up.min(home.up - falls))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::airspace::tests::at;

    #[test]
    fn the_ground_is_as_high_as_home_there_and_may_be_far_below_elsewhere() {
        let home = at(0.0, 0.0, 488.0);
        for (place, up) in [
            (at(0.0, 2.5, 508.0), 488.0),
            (at(0.0, 40.0, 508.0), 438.0),
            (at(0.0, -260.0, 508.0), 188.0),
            (at(0.0, 40.0, 400.0), 400.0),
        ] {
            assert_eq!(ground_below(place, home), place.at_height(up));
        }
    }
}
