//! Aircraft of others that our vehicles receive.

use super::{Expected, Site};
use crate::airspace::{Margin, Traffic};
use model::geo::Frame;
use model::ids::NodeName;
use model::time::Moment;
use model::traffic::{Aircraft, Altitude};
use model::units::{AltitudeAmsl, Meters};
use std::collections::BTreeMap;

/// Position error of an aircraft, meters: what controllers require (NACp 8, 93 m).
const OFF_BY: f64 = 100.0;

/// Largest difference of ellipsoid and sea level, meters: its receiver may report either.
const SATELLITE: f64 = 120.0;

/// Largest difference of standard pressure altitude and sea level, meters: 35 hPa.
const PRESSURE: f64 = 300.0;

/// Highest altitude above ground of an aircraft that reports none, meters.
const ANY_HEIGHT: f64 = 20_000.0;

/// A transponder this near over ground to a vehicle of ours may be its own, meters.
pub(super) const OWN_WITHIN: f64 = 50.0;

impl Site {
    /// Each reporter counts by itself: one agent may be wrong or captured (invariant 18).
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

/// In the plane of `frame`; `None` when far from it.
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
