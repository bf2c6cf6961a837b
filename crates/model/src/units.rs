//! Units of measurement, one type each, so that no number is taken for another.

use serde::{Deserialize, Serialize};

/// 0..=100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Percent(u8);

impl Percent {
    /// `None` above 100.
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 100 { Some(Self(value)) } else { None }
    }

    pub const fn get(self) -> u8 {
        self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Volts(pub f64);

impl Volts {
    /// As BATTERY_STATUS (147) and SYS_STATUS (1) have them.
    pub fn of_millivolts(millivolts: u32) -> Self {
        Self(f64::from(millivolts) / 1000.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Meters(pub f64);

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct MetersPerSecond(pub f64);

/// Degrees clockwise from true north.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Heading(pub f64);

/// Meters above the vehicle's home position (MAVLink: relative altitude).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct AltitudeAboveHome(pub f64);

/// Meters above mean sea level (MAVLink: AMSL).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct AltitudeAmsl(pub f64);

impl AltitudeAmsl {
    /// The altitude `above` a home that lies at `self`.
    pub fn up(self, above: AltitudeAboveHome) -> Self {
        Self(self.0 + above.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wgs84 {
    /// North positive.
    pub latitude_deg: f64,
    /// East positive.
    pub longitude_deg: f64,
}

impl Wgs84 {
    /// Over ground, on a sphere: good to half a percent.
    pub fn meters_to(self, other: Self) -> f64 {
        const EARTH_RADIUS_METERS: f64 = 6_371_000.0;
        let (from, to) = (self.latitude_deg.to_radians(), other.latitude_deg.to_radians());
        let half = |a: f64, b: f64| ((b - a) / 2.0).sin().powi(2);
        let east = half(self.longitude_deg.to_radians(), other.longitude_deg.to_radians());
        let chord = half(from, to) + from.cos() * to.cos() * east;
        2.0 * EARTH_RADIUS_METERS * chord.sqrt().min(1.0).asin()
    }
}

/// Of a vehicle, 1..=255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SystemId(pub u8);

/// Autopilots usually use 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ComponentId(pub u8);

/// Sender or addressee of a MAVLink frame. As a destination, zero means all. Written to files as `[system, component]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(SystemId, ComponentId)", into = "(SystemId, ComponentId)")]
pub struct Address {
    pub system: SystemId,
    pub component: ComponentId,
}

impl Address {
    pub const fn new(system: u8, component: u8) -> Self {
        Self {
            system: SystemId(system),
            component: ComponentId(component),
        }
    }
}

impl From<(SystemId, ComponentId)> for Address {
    fn from((system, component): (SystemId, ComponentId)) -> Self {
        Self { system, component }
    }
}

impl From<Address> for (SystemId, ComponentId) {
    fn from(address: Address) -> Self {
        (address.system, address.component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_over_ground_are_those_of_a_sphere() {
        let at = |latitude_deg, longitude_deg| Wgs84 {
            latitude_deg,
            longitude_deg,
        };
        assert!(at(47.0, 8.0).meters_to(at(47.0, 8.0)).abs() < 1e-6);
        // One degree of latitude, and one of longitude at 60 degrees north.
        assert!((at(47.0, 8.0).meters_to(at(48.0, 8.0)) - 111_195.0).abs() < 10.0);
        assert!((at(60.0, 8.0).meters_to(at(60.0, 9.0)) - 55_597.0).abs() < 10.0);
        assert!((at(0.0, 179.9).meters_to(at(0.0, -179.9)) - 22_239.0).abs() < 10.0);
    }
}
