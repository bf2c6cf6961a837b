//! Whether a vehicle may fly all of a flight.
//!
//! Owns: [`allows`]. Must not: know parts or plans.

use crate::controllers::drone::facts::{DroneSnapshot, Observer};
use fleet::mission::{PlannedFlight, Waypoint};
use fleet::station::{Altitude, Manner, Place, Station};
use fleet::units::{AltitudeAboveHome, Wgs84};

/// Between two places of a plan it is looked whether a Geofence allows the way, this often, meters.
const LOOKS: f64 = 20.0;

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
    for pair in flight.places.windows(2) {
        let [from, to] = pair else { continue };
        let (east, north) = fleet::geo::offset(from.at, to.at);
        let steps = (east.hypot(north) / LOOKS).ceil().clamp(1.0, 1000.0);
        let height = |place: &Waypoint| match place.altitude {
            Altitude::AboveHome(height) => height,
            Altitude::Amsl(amsl) => AltitudeAboveHome(amsl.0 - home.amsl.0),
        };
        let mut number = 0.0;
        while number <= steps {
            let here = fleet::geo::shifted(from.at, east * number / steps, north * number / steps);
            let up = height(from).0 + (height(to).0 - height(from).0) * number / steps;
            let allowed = observer.rules.allow(node, Some(here), Some(AltitudeAboveHome(up)));
            allowed.map_err(|why| format!("its way leads past {}: {why}", at(here)))?;
            number += 1.0;
        }
    }
    Ok(())
}

/// A place, as people read it.
fn at(place: Wgs84) -> String {
    format!("{:.6}, {:.6}", place.latitude_deg, place.longitude_deg)
}
