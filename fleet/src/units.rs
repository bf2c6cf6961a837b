//! Units of measurement, one type each, so that a height is never taken for another number.
//!
//! Owns: the newtypes and their bounds. Must not: convert between references (that needs a home position).

use serde::{Deserialize, Serialize};

/// A share of a whole, 0..=100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Percent(u8);

impl Percent {
    /// `value` percent; `None` above 100.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 100 { Some(Self(value)) } else { None }
    }

    /// The number, 0..=100.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// Height in metres above the vehicle's home position (MAVLink: relative altitude).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct AltitudeAboveHome(pub f64);

/// Height in metres above mean sea level (MAVLink: AMSL).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct AltitudeAmsl(pub f64);

impl AltitudeAmsl {
    /// The height `above` a home that lies at `self`.
    #[must_use]
    pub fn up(self, above: AltitudeAboveHome) -> Self {
        Self(self.0 + above.0)
    }
}

/// A position on the WGS 84 ellipsoid, in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wgs84 {
    /// Degrees, north positive.
    pub latitude_deg: f64,
    /// Degrees, east positive.
    pub longitude_deg: f64,
}

/// MAVLink system id of a vehicle, 1..=255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SystemId(pub u8);

/// MAVLink component id within a system; autopilots usually use 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ComponentId(pub u8);
