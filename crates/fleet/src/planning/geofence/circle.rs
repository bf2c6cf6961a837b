//! Circles as each autopilot measures them: a meter to the north on the ellipsoid is up to 0.7 % longer or shorter than on their spheres, 3
//! m at 500 m.

use model::rules::Side;
use model::units::Wgs84;
use model::vehicle::Autopilot;

/// Margin for the flat plane, and for single precision in the autopilot.
const RADIUS_SLACK_SHARE: f64 = 1e-4;

/// The sphere on which an autopilot measures distances.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    meters_per_degree: f64,
}

impl Measure {
    /// PX4: CONSTANTS_RADIUS_OF_EARTH, 6,371,000 m. ArduPilot: LOCATION_SCALING_FACTOR, 0.011131884502145034 m for each 10⁻⁷ degrees.
    pub const fn of(autopilot: Autopilot) -> Self {
        let meters_per_degree = match autopilot {
            Autopilot::Px4 => 6_371_000.0_f64.to_radians(),
            Autopilot::ArduPilot => 111_318.845_021_450_34,
        };
        Self { meters_per_degree }
    }

    /// The radius to send, so that the autopilot's circle is within the wanted one, or around it for an exclusion.
    pub fn radius(self, center: Wgs84, radius: f64, side: Side) -> f64 {
        let shares = self.shares(center);
        match side {
            Side::Inside => radius * (shares.0.min(shares.1) - RADIUS_SLACK_SHARE),
            Side::Outside => radius * (shares.0.max(shares.1) + RADIUS_SLACK_SHARE),
        }
    }

    /// The radius of a true circle within the autopilot's circle of this `radius`, or around it for an exclusion.
    pub fn true_radius(self, center: Wgs84, radius: f64, side: Side) -> f64 {
        let shares = self.shares(center);
        match side {
            Side::Inside => radius / (shares.0.max(shares.1) + RADIUS_SLACK_SHARE),
            Side::Outside => radius / (shares.0.min(shares.1) - RADIUS_SLACK_SHARE),
        }
    }

    /// Length on this sphere of a true meter to the east and to the north.
    fn shares(self, center: Wgs84) -> (f64, f64) {
        let (east, north) = model::geo::offset(
            center,
            Wgs84 {
                latitude_deg: center.latitude_deg + 1e-3,
                longitude_deg: center.longitude_deg + 1e-3,
            },
        );
        let degree = self.meters_per_degree * 1e-3;
        (degree * center.latitude_deg.to_radians().cos() / east, degree / north)
    }

    /// Meters, good enough for the distance of home from an edge.
    pub fn distance(self, from: Wgs84, to: Wgs84) -> f64 {
        let east = (to.longitude_deg - from.longitude_deg + 540.0).rem_euclid(360.0) - 180.0;
        let cos = f64::midpoint(from.latitude_deg, to.latitude_deg).to_radians().cos();
        (east * cos).hypot(to.latitude_deg - from.latitude_deg) * self.meters_per_degree
    }
}
