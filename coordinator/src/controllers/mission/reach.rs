//! Whether a vehicle may fly all of a flight.
//!
//! Owns: [`allows`]. Must not: know parts or plans.

use crate::controllers::drone::facts::{DroneSnapshot, Observer};
use fleet::mission::{PlannedFlight, Waypoint};
use fleet::station::{Altitude, Manner, Place, Station};
use fleet::units::{AltitudeAboveHome, Wgs84};

/// Whether the vehicle of a Drone may fly all of a flight: within reach of its home, and where its Geofences allow it.
///
/// # Errors
/// Where it may not, and why, in a sentence.
pub fn allows(observer: &Observer, snapshot: &DroneSnapshot, flight: &PlannedFlight) -> Result<(), String> {
    let (Some(node), Some(report)) = (&snapshot.node, &snapshot.report) else {
        return Ok(());
    };
    let Some(home) = report.home else { return Ok(()) };
    let limits = &observer.airspace.rules().limits;
    for place in &flight.places {
        let asked = Place {
            at: place.at,
            altitude: place.altitude,
            manner: Manner::default(),
        };
        let suits = Station::new(asked, limits).and_then(|station| station.suits(home.at, home.amsl, limits));
        suits.map_err(|why| format!("its way leads to {}: {why}", at(place.at)))?;
    }
    let height = |place: &Waypoint| match place.altitude {
        Altitude::AboveHome(height) => height,
        Altitude::Amsl(amsl) => AltitudeAboveHome(amsl.0 - home.amsl.0),
    };
    let way: Vec<_> = flight.places.iter().map(|place| (place.at, height(place))).collect();
    let allowed = observer.rules.allow_way(node, &way);
    allowed.map_err(|why| format!("its way may not be flown: {why}"))
}

/// A place, as people read it.
fn at(place: Wgs84) -> String {
    format!("{:.6}, {:.6}", place.latitude_deg, place.longitude_deg)
}
