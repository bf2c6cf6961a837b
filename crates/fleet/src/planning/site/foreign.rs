//! Aircraft of others that our vehicles receive.

use super::{Expected, Site};
use crate::airspace::{Margin, Rules, Traffic};
use model::geo::Frame;
use model::ids::NodeName;
use model::time::Moment;
use model::traffic::{Aircraft, Altitude};
use model::units::{AltitudeAmsl, Meters};
use std::collections::{BTreeMap, BTreeSet};

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

/// ICAO addresses of transponders, and the vehicles of ours that carry them as people have declared: no agent adds one.
pub type Transponders = BTreeMap<u32, BTreeSet<NodeName>>;

/// Distance from a sighting of its declared transponder at which a vehicle may be by now, meters over ground.
pub(super) fn flown_since(heard: Moment, now: Moment, rules: &Rules) -> f64 {
    OWN_WITHIN + rules.fastest.0 * now.since(heard).as_secs_f64()
}

impl Site {
    /// From now on these are no aircraft of others while they are near to their vehicles.
    pub fn declare_transponders(&mut self, declared: Transponders) {
        self.transponders = declared;
    }

    fn is_declared(&self, traffic: &Traffic, now: Moment) -> bool {
        let within = flown_since(traffic.heard, now, self.claims.rules());
        let mut carriers = self.transponders.get(&traffic.icao).into_iter().flatten();
        carriers.any(|node| self.claims.is_within(node, traffic.at, within))
    }

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
                if self.is_declared(&traffic, now) {
                    self.claims.forget_traffic(node, traffic.icao, traffic.heard);
                    continue;
                }
                let own = match aircraft.may_be_uncrewed {
                    true => self.claims.who_is_within(traffic.at, OWN_WITHIN),
                    false => BTreeSet::new(),
                };
                self.claims.hear_traffic_of(node, traffic, own, now);
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
