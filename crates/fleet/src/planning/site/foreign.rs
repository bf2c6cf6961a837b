//! Aircraft of others that our vehicles receive.

use super::{Expected, Site};
use crate::airspace::{Margin, Traffic};
use model::geo::Frame;
use model::ids::NodeName;
use model::time::Moment;
use model::traffic::{Aircraft, Altitude};
use model::units::{AltitudeAmsl, Meters};
use std::collections::BTreeMap;

/// An aircraft is where it reports to within this, meters: what controllers ask of it (NACp 8, 93 m).
const OFF_BY: f64 = 100.0;

/// Its receiver may mean its height above the ellipsoid, which differs from that above the sea by no more than this, meters.
const SATELLITE: f64 = 120.0;

/// It may mean its height by standard pressure, which differs from that above the sea by no more than this, meters: 35 hPa.
const PRESSURE: f64 = 300.0;

/// One that does not report its height may be at any height over the ground, meters.
const ANY_HEIGHT: f64 = 20_000.0;

/// A transponder this near over ground to a vehicle of ours, meters, may be its own.
pub(super) const OWN_WITHIN: f64 = 50.0;

impl Site {
    /// Takes in the sightings that the vehicles report, each by itself: one agent may be wrong or captured (invariant 18).
    pub(super) fn hear_traffic(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        for (node, expected) in vehicles {
            let Some((report, received)) = expected.report else {
                continue;
            };
            for aircraft in &report.traffic {
                let age = report.made.since(aircraft.seen);
                let heard = Moment::at(received.since_epoch().saturating_sub(age));
                let Some(traffic) = sighting(&self.frame, aircraft, heard) else {
                    continue;
                };
                let own = aircraft.may_be_uncrewed && self.claims.someone_within(traffic.at, OWN_WITHIN);
                if !own {
                    self.claims.hear_traffic(node, traffic, now);
                }
            }
        }
    }
}

/// What a sighting says in the plane of `frame`; `None` for one that is far from it.
pub(super) fn sighting(frame: &Frame, aircraft: &Aircraft, heard: Moment) -> Option<Traffic> {
    let (amsl, off) = match aircraft.altitude {
        Some(Altitude::Satellite(amsl)) => (amsl, SATELLITE),
        Some(Altitude::Pressure(amsl)) => (amsl, PRESSURE),
        None => (AltitudeAmsl(0.0), ANY_HEIGHT),
    };
    Some(Traffic {
        icao: aircraft.icao,
        at: frame.local(aircraft.at, amsl).ok()?,
        velocity: aircraft.velocity,
        climb: aircraft.climb,
        accuracy: Margin {
            horizontal: Meters(OFF_BY),
            vertical: Meters(off),
        },
        heard,
    })
}
