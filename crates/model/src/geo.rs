//! A flat frame over one site, in which distances and shapes are plain geometry.
//!
//! Owns: [`Frame`], the plane that touches the WGS 84 ellipsoid at its origin, and [`Local`], a point in it.
//! Must not: know of vehicles or of separation.
//!
//! The map is linear in latitude and longitude, with the two radii of curvature at the origin. Within [`REACH`] of an origin below
//! [`HIGHEST_LATITUDE`], a short distance is true to within [`SCALE_ERROR`], since a degree of longitude shrinks northward by tan(latitude)
//! per Earth radius. Exact geodesics give no plane in which to describe a volume; the error is added to the separation instead.

use crate::units::{AltitudeAmsl, Wgs84};

/// Largest distance of a point from the origin, north or east, meters.
pub const REACH: f64 = 20_000.0;

/// Largest latitude of an origin, degrees.
pub const HIGHEST_LATITUDE: f64 = 70.0;

/// The share by which a distance in the frame may differ from the true one: tan(70°) × 20 km / 6,357 km, rounded up.
pub const SCALE_ERROR: f64 = 0.01;

/// Semi-major axis of WGS 84, meters.
const EQUATOR_RADIUS: f64 = 6_378_137.0;

/// First eccentricity of WGS 84, squared.
const ECCENTRICITY_2: f64 = 6.694_379_990_141_3e-3;

/// A point in a [`Frame`], meters. Up is altitude above mean sea level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Local {
    pub east: f64,
    pub north: f64,
    pub up: f64,
}

impl Local {
    /// The same place over ground at another altitude above mean sea level.
    pub const fn at_height(self, up: f64) -> Self {
        Self { up, ..self }
    }

    pub const fn shifted(self, east: f64, north: f64) -> Self {
        Self {
            east: self.east + east,
            north: self.north + north,
            up: self.up,
        }
    }

    /// Distance over ground, meters.
    pub fn over_ground(self, other: Self) -> f64 {
        (self.east - other.east).hypot(self.north - other.north)
    }

    pub const fn is_finite(self) -> bool {
        self.east.is_finite() && self.north.is_finite() && self.up.is_finite()
    }
}

/// The plane over one site. All vehicles that keep clear of one another are placed in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    origin: Wgs84,
    east_per_degree: f64,
    north_per_degree: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoPlace {
    #[error("latitude {latitude_deg}, longitude {longitude_deg} is no position; see what the vehicle reports")]
    NoPosition { latitude_deg: f64, longitude_deg: f64 },
    #[error(
        "latitude {0} is too near to a pole; Skein flies between {HIGHEST_LATITUDE}° south and {HIGHEST_LATITUDE}° north"
    )]
    Polar(f64),
    #[error("the position is farther than {} km from the center of the site; give it a site of its own", REACH / 1000.0)]
    OutOfReach,
}

impl Frame {
    /// # Errors
    /// [`NoPlace`], when `origin` is invalid or too near to a pole.
    pub fn at(origin: Wgs84) -> Result<Self, NoPlace> {
        let origin = position(origin)?;
        if origin.latitude_deg.abs() > HIGHEST_LATITUDE {
            return Err(NoPlace::Polar(origin.latitude_deg));
        }
        Ok(Self::touching(origin))
    }

    fn touching(origin: Wgs84) -> Self {
        let (sin, cos) = origin.latitude_deg.to_radians().sin_cos();
        let flat = 1.0 - ECCENTRICITY_2 * sin * sin;
        let prime_vertical = EQUATOR_RADIUS / flat.sqrt();
        let meridian = prime_vertical * (1.0 - ECCENTRICITY_2) / flat;
        Self {
            origin,
            east_per_degree: (prime_vertical * cos).to_radians(),
            north_per_degree: meridian.to_radians(),
        }
    }

    /// # Errors
    /// [`NoPlace`], when `at` is invalid, or out of [`REACH`].
    pub fn local(&self, at: Wgs84, height: AltitudeAmsl) -> Result<Local, NoPlace> {
        let (east, north) = self.offset(position(at)?);
        if east.abs() > REACH || north.abs() > REACH || !height.0.is_finite() {
            return Err(NoPlace::OutOfReach);
        }
        Ok(Local {
            east,
            north,
            up: height.0,
        })
    }

    fn offset(&self, at: Wgs84) -> (f64, f64) {
        // The shorter way around the Earth.
        let east_deg = (at.longitude_deg - self.origin.longitude_deg + 540.0).rem_euclid(360.0) - 180.0;
        let north_deg = at.latitude_deg - self.origin.latitude_deg;
        (east_deg * self.east_per_degree, north_deg * self.north_per_degree)
    }

    pub fn position(&self, point: Local) -> (Wgs84, AltitudeAmsl) {
        let longitude = self.origin.longitude_deg + point.east / self.east_per_degree;
        let at = Wgs84 {
            latitude_deg: self.origin.latitude_deg + point.north / self.north_per_degree,
            longitude_deg: (longitude + 540.0).rem_euclid(360.0) - 180.0,
        };
        (at, AltitudeAmsl(point.up))
    }
}

/// `at`, if it is a position on Earth.
///
/// # Errors
/// [`NoPlace::NoPosition`] when out of range or NaN.
pub fn position(at: Wgs84) -> Result<Wgs84, NoPlace> {
    // NaN is in no range.
    if (-90.0..=90.0).contains(&at.latitude_deg) && (-180.0..=180.0).contains(&at.longitude_deg) {
        Ok(at)
    } else {
        Err(NoPlace::NoPosition {
            latitude_deg: at.latitude_deg,
            longitude_deg: at.longitude_deg,
        })
    }
}

/// Meters east and north from `from` to `to`, in the plane that touches the Earth at `from`: true to 0.1 % within 2 km at mid latitudes,
/// and to 1 % within [`REACH`].
pub fn offset(from: Wgs84, to: Wgs84) -> (f64, f64) {
    Frame::touching(from).offset(to)
}

/// The position `east` and `north` of `from`, meters.
pub fn shifted(from: Wgs84, east: f64, north: f64) -> Wgs84 {
    let point = Local { east, north, up: 0.0 };
    Frame::touching(from).position(point).0
}

#[cfg(test)]
mod tests;
