//! A place in the sky where a vehicle is to hold, and whether it holds there.
//!
//! Owns: [`Station`], always of valid numbers within the operator's [`Limits`]; how far off a reported position is ([`Off`]); and
//! [`Arrival`], the memory for "on station".
//! Must not: know which vehicle holds it, or how it gets there.
//!
//!   Away --observed within the tolerance--> Arriving --so for HOLDS_FOR--> on station --observed outside, or not for a while--> Away

use crate::geo::{self, offset};
use crate::time::Moment;
use crate::units::{AltitudeAboveHome, AltitudeAmsl, Heading, Meters, MetersPerSecond, Wgs84};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Altitude {
    /// Of the vehicle that holds the station.
    AboveHome(AltitudeAboveHome),
    Amsl(AltitudeAmsl),
}

impl Altitude {
    /// The number alone.
    const fn meters(self) -> f64 {
        match self {
            Self::AboveHome(height) => height.0,
            Self::Amsl(height) => height.0,
        }
    }

    pub fn raised(self, by: Meters) -> Self {
        match self {
            Self::AboveHome(height) => Self::AboveHome(AltitudeAboveHome(height.0 + by.0)),
            Self::Amsl(height) => Self::Amsl(AltitudeAmsl(height.0 + by.0)),
        }
    }

    pub fn amsl(self, home: AltitudeAmsl) -> AltitudeAmsl {
        match self {
            Self::AboveHome(height) => home.up(height),
            Self::Amsl(height) => height,
        }
    }
}

/// A requested place, not checked yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub at: Wgs84,
    pub altitude: Altitude,
    pub manner: Manner,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manner {
    /// While it holds; `None` leaves it to the autopilot.
    pub heading: Option<Heading>,
    /// Over ground; `None` leaves it to the autopilot.
    pub speed: Option<MetersPerSecond>,
}

impl Manner {
    /// `None` when heading `now` is within 10 degrees of it.
    pub fn turn(&self, now: Heading) -> Option<Heading> {
        let off = |to: Heading| (to.0 - now.0 + 180.0).rem_euclid(360.0) - 180.0;
        self.heading.filter(|to| off(*to).abs() > LOOKS_WITHIN)
    }
}

/// Degrees; a compass is no better.
const LOOKS_WITHIN: f64 = 10.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub above_home: (AltitudeAboveHome, AltitudeAboveHome),
    /// Lowest and highest above mean sea level. The lowest keeps clear of terrain, which Skein does not know.
    pub amsl: Option<(AltitudeAmsl, AltitudeAmsl)>,
    /// Over ground from the home of the vehicle.
    pub reach: Meters,
    pub speed: MetersPerSecond,
}

impl Default for Limits {
    /// The altitudes that a Drone may ask for, and the reach of small vehicles.
    fn default() -> Self {
        Self {
            above_home: (AltitudeAboveHome(1.0), AltitudeAboveHome(120.0)),
            amsl: None,
            reach: Meters(5000.0),
            speed: MetersPerSecond(20.0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadStation {
    #[error("latitude {0} is not from -90 to 90; give degrees, north positive")]
    Latitude(f64),
    #[error("longitude {0} is not from -180 to 180; give degrees, east positive")]
    Longitude(f64),
    #[error("the altitude is not a finite number; give meters")]
    Altitude,
    #[error("heading {0} is not from 0 up to 360; give degrees clockwise from north")]
    Heading(f64),
    #[error("altitude {got} m is below {lowest} m, the lowest that is allowed; raise the station")]
    TooLow {
        /// Meters.
        got: f64,
        /// Meters, from the same reference.
        lowest: f64,
    },
    #[error("altitude {got} m is above {highest} m, the highest that is allowed; lower the station")]
    TooHigh {
        /// Meters.
        got: f64,
        /// Meters, from the same reference.
        highest: f64,
    },
    #[error(
        "no limits of altitude above mean sea level are set for this site; set them, or give the altitude above home"
    )]
    AmslNotAllowed,
    #[error(
        "the station is {got:.0} m from the home of its vehicle, farther than the {reach} m that are allowed; move it nearer"
    )]
    TooFar {
        /// Over ground, meters.
        got: f64,
        /// Meters.
        reach: f64,
    },
    /// Below home, the only ground that is known.
    #[error(
        "the station is {below:.0} m below the home of its vehicle and {away:.0} m from it, which is in the ground unless that falls \
         steeper than 45 degrees; raise the station"
    )]
    InGround {
        /// Below home, meters.
        below: f64,
        /// From home over ground, meters.
        away: f64,
    },
    #[error("speed {got} m/s is not above 0 and up to {fastest} m/s; choose one in that range")]
    Speed { got: f64, fastest: f64 },
}

/// A checked place in the sky where a vehicle may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station(Place);

impl Station {
    /// # Errors
    /// [`BadStation`], the first fault.
    pub fn new(place: Place, limits: &Limits) -> Result<Self, BadStation> {
        if geo::position(place.at).is_err() {
            let latitude = place.at.latitude_deg;
            return Err(if (-90.0..=90.0).contains(&latitude) {
                BadStation::Longitude(place.at.longitude_deg)
            } else {
                BadStation::Latitude(latitude)
            });
        }
        if !place.altitude.meters().is_finite() {
            return Err(BadStation::Altitude);
        }
        if let Some(Heading(heading)) = place.manner.heading.filter(|h| !(0.0..360.0).contains(&h.0)) {
            return Err(BadStation::Heading(heading));
        }
        if let Some(MetersPerSecond(got)) = place.manner.speed.filter(|s| !(s.0 > 0.0 && s.0 <= limits.speed.0)) {
            let fastest = limits.speed.0;
            return Err(BadStation::Speed { got, fastest });
        }
        let (lowest, highest) = match (place.altitude, limits.amsl) {
            (Altitude::AboveHome(_), _) => (limits.above_home.0.0, limits.above_home.1.0),
            (Altitude::Amsl(_), Some((lowest, highest))) => (lowest.0, highest.0),
            (Altitude::Amsl(_), None) => return Err(BadStation::AmslNotAllowed),
        };
        let got = place.altitude.meters();
        if got < lowest {
            return Err(BadStation::TooLow { got, lowest });
        }
        if got > highest {
            return Err(BadStation::TooHigh { got, highest });
        }
        Ok(Self(place))
    }

    /// Whether a vehicle with this home may hold here. The home is the only ground that is known.
    ///
    /// # Errors
    /// [`BadStation::TooFar`], [`BadStation::InGround`].
    pub fn suits(&self, home: Wgs84, ground: AltitudeAmsl, limits: &Limits) -> Result<(), BadStation> {
        let (east, north) = offset(home, self.0.at);
        let (away, Meters(reach)) = (east.hypot(north), limits.reach);
        // NaN allows nothing.
        if !matches!(away.partial_cmp(&reach), Some(Ordering::Less | Ordering::Equal)) {
            return Err(BadStation::TooFar { got: away, reach });
        }
        let below = ground.0 - self.0.altitude.amsl(ground).0;
        if below + limits.above_home.0.0 > away {
            return Err(BadStation::InGround { below, away });
        }
        Ok(())
    }

    pub const fn place(&self) -> &Place {
        &self.0
    }

    /// As [`Self::is_where`], and the same manner.
    pub fn is_as(&self, other: &Self, tolerance: Meters) -> bool {
        self.0.manner == other.0.manner && self.is_where(other, tolerance)
    }

    /// Whether `other` is this place, within `tolerance` over ground and in altitude.
    pub fn is_where(&self, other: &Self, tolerance: Meters) -> bool {
        let (one, other) = (&self.0, &other.0);
        let (east, north) = offset(one.at, other.at);
        let up = match (one.altitude, other.altitude) {
            (Altitude::AboveHome(one), Altitude::AboveHome(other)) => one.0 - other.0,
            (Altitude::Amsl(one), Altitude::Amsl(other)) => one.0 - other.0,
            (Altitude::AboveHome(_), Altitude::Amsl(_)) | (Altitude::Amsl(_), Altitude::AboveHome(_)) => return false,
        };
        east.hypot(north) <= tolerance.0 && up.abs() <= tolerance.0
    }

    /// The altitude is compared by the station's own reference.
    pub fn off(&self, at: Wgs84, amsl: AltitudeAmsl, above_home: AltitudeAboveHome) -> Off {
        let (east, north) = offset(self.0.at, at);
        let above = match self.0.altitude {
            Altitude::AboveHome(height) => above_home.0 - height.0,
            Altitude::Amsl(height) => amsl.0 - height.0,
        };
        Off {
            horizontal: Meters(east.hypot(north)),
            above: Meters(above),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Off {
    pub horizontal: Meters,
    /// Negative below the station.
    pub above: Meters,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub horizontal: Meters,
    pub vertical: Meters,
}

impl Default for Tolerance {
    /// What both autopilots hold in a moderate wind with an ordinary receiver.
    fn default() -> Self {
        Self {
            horizontal: Meters(2.0),
            vertical: Meters(1.5),
        }
    }
}

impl Tolerance {
    fn times(self, share: f64) -> Self {
        Self {
            horizontal: Meters(self.horizontal.0 * share),
            vertical: Meters(self.vertical.0 * share),
        }
    }

    /// How far off its station a vehicle stays on it once it is there: autopilots sway.
    pub fn swaying(self) -> Self {
        self.times(SWAYS)
    }

    /// NaN is outside.
    pub fn covers(&self, off: Off) -> bool {
        off.horizontal.0 <= self.horizontal.0 && off.above.0.abs() <= self.vertical.0
    }
}

/// Time within the tolerance that reports have to show.
pub const HOLDS_FOR: Duration = Duration::from_secs(1);

/// A vehicle on station leaves it at this many times the tolerance.
const SWAYS: f64 = 1.5;

/// Longest interval between two reports that says something of the time between them.
const GAP: Duration = Duration::from_secs(3);

/// What is remembered of one vehicle at one station; new for each station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival(Option<Within>);

/// Unbroken reports within the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Within {
    since: Moment,
    last: Moment,
}

impl Arrival {
    /// The state after a report received `at`. A report that is no newer than the last changes nothing.
    pub fn observe(self, off: Off, at: Moment, tolerance: Tolerance) -> Self {
        if self.0.is_some_and(|within| at <= within.last) {
            return self;
        }
        // A vehicle stays on station until it is clearly off: autopilots sway.
        let held = self
            .0
            .is_some_and(|within| within.last.since(within.since) >= HOLDS_FOR);
        let tolerance = if held { tolerance.swaying() } else { tolerance };
        if !tolerance.covers(off) {
            return Self(None);
        }
        let unbroken = self.0.filter(|within| at.since(within.last) <= GAP);
        let since = unbroken.map_or(at, |within| within.since);
        Self(Some(Within { since, last: at }))
    }

    /// When it was first and last observed there, without a break.
    pub fn within(self) -> Option<(Moment, Moment)> {
        self.0.map(|within| (within.since, within.last))
    }

    /// Observed there for [`HOLDS_FOR`], and lately.
    pub fn on_station(self, now: Moment) -> bool {
        self.0
            .is_some_and(|w| w.last.since(w.since) >= HOLDS_FOR && now.since(w.last) <= GAP)
    }
}

#[cfg(test)]
mod tests;
