//! Whether a vehicle may fly all of a flight, and whether it still may fly the rest.

use crate::controllers::facts::{DroneSnapshot, Observer};
use fleet::planning::geofence::{Wanted, rest_outside};
use fleet::planning::mission::PlannedFlight;
use model::plan::Waypoint;
use model::route_order;
use model::station::{Altitude, Manner, Place, Station};
use model::units::{AltitudeAboveHome, Wgs84};
use std::sync::Arc;

/// Whether the vehicle may fly all of a flight: within reach of its home, and where its Geofences allow it. The error is a sentence.
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
    let way: Vec<_> = flight
        .places
        .iter()
        .map(|place| (place.at, height(place, home)))
        .collect();
    let allowed = observer.rules.allow_way(node, &way);
    allowed.map_err(|why| format!("its way may not be flown: {why}"))
}

#[derive(Debug)]
pub struct Judged {
    home: Wgs84,
    fences: Vec<Arc<Wanted>>,
    /// Where the vehicle may not fly on, and why.
    pub verdict: Result<(), String>,
}

/// Whether the vehicle of a Drone may fly the rest of a flight, of which it has `reached` these items, though its Geofences may have
/// changed since it began. The finding from `before` holds while they are the same. `None`: the vehicle is unknown.
pub fn goes_on(
    observer: &Observer,
    snapshot: &DroneSnapshot,
    flight: &PlannedFlight,
    reached: impl Fn(usize) -> bool,
    before: Option<Judged>,
) -> Option<Judged> {
    let home = snapshot.report.as_ref()?.home?;
    let fences = observer.rules.fences_of(snapshot.node.as_ref()?);
    let before = before.filter(|before| before.fences == fences && before.home == home.at);
    Some(before.unwrap_or_else(|| {
        let last = flight
            .to_reach()
            .take_while(|item| reached(*item))
            .count()
            .saturating_sub(1);
        let rest = flight.places.iter().skip(last);
        let rest: Vec<_> = rest.map(|place| (place.at, height(place, home))).collect();
        let wanted: Vec<&Wanted> = fences.iter().map(AsRef::as_ref).collect();
        let verdict = rest_outside(&wanted, home.at, &rest);
        Judged {
            home: home.at,
            verdict: verdict.map_err(|why| format!("the rest of its way may not be flown: {why}")),
            fences,
        }
    }))
}

fn height(place: &Waypoint, home: route_order::Waypoint) -> AltitudeAboveHome {
    match place.altitude {
        Altitude::AboveHome(height) => height,
        Altitude::Amsl(amsl) => AltitudeAboveHome(amsl.0 - home.amsl.0),
    }
}

fn at(place: Wgs84) -> String {
    format!("{:.6}, {:.6}", place.latitude_deg, place.longitude_deg)
}
