//! Whether vehicles keep away from an aircraft that all of them observe, by their true places.
//!
//! 11. Once an aircraft close by was observed for a while, no vehicle leaves the ground, and no route that is ordered
//!     then leads a vehicle nearer to it over ground, except to stop, and unless its failsafe or a person brings it
//!     down. Earlier routes are not judged in the air: a vehicle may be out of reach.

use crate::node::Node;
use crate::vehicle::Spot;
use model::assignment::Order;
use model::route_order::OrderNumber;
use std::time::Duration;

/// By then each leader knows of it, and earlier orders have been received, however late they came.
const KNOWN_AFTER: Duration = Duration::from_secs(20);
/// Meters from an aircraft that is close by, over ground and in altitude.
const CLOSE: f64 = 200.0;
/// Meters within which a vehicle stops when ordered, or moves about while it holds.
const STOPS: f64 = 12.0;
/// Meters above which it has left the ground.
const LIFTED: f64 = 1.0;

#[derive(Default)]
pub struct Traffic {
    last: Option<(Spot, Duration, Duration)>,
    before: Vec<Option<OrderNumber>>,
    since: Vec<Option<Since>>,
}

/// A vehicle since it got a route that was ordered when the aircraft was known.
#[derive(Clone, Copy)]
struct Since {
    farthest: f64,
    on_ground: bool,
}

/// The number of a later order is greater.
pub(super) fn route(node: &Node) -> Option<OrderNumber> {
    match &node.ledger.lock().unwrap().last_order {
        Some(Order::Assigned(a)) if a.routed => a.route.as_ref().map(|route| route.number),
        _ => None,
    }
}

fn is_routed(node: &Node) -> bool {
    matches!(&node.ledger.lock().unwrap().last_order, Some(Order::Assigned(a)) if a.routed)
}

impl Traffic {
    pub fn is_here(&self, now: Duration) -> bool {
        self.last.is_some_and(|(_, _, until)| now <= until)
    }

    pub fn comes(&mut self, at: Spot, now: Duration, until: Duration) {
        self.last = Some((at, now, until));
        self.before.clear();
        self.since.clear();
    }

    pub fn judge(&mut self, nodes: &[Node], excused: impl Fn(usize) -> bool, now: Duration) -> Result<(), String> {
        let Some((aircraft, came, until)) = self.last else {
            return Ok(());
        };
        if now < came + KNOWN_AFTER || now > until {
            return Ok(());
        }
        if self.before.is_empty() {
            self.before = nodes.iter().map(route).collect();
            self.since.resize(nodes.len(), None);
        }
        for ((node, before), since) in nodes.iter().zip(&self.before).zip(&mut self.since) {
            let Some((at, _)) = node.vehicle.spot() else { continue };
            let off = at.over_ground(aircraft);
            let on_ground = at.up < LIFTED && is_routed(node);
            let takes_off = since.is_some_and(|since| since.on_ground) && at.up >= LIFTED;
            let is_new = route(node) > *before;
            if !(is_new || on_ground || takes_off)
                || excused(node.number)
                || off > CLOSE
                || (at.up - aircraft.up).abs() > CLOSE
            {
                *since = None;
                continue;
            }
            let before = since.get_or_insert(Since {
                farthest: off,
                on_ground,
            });
            if off < before.farthest - STOPS || takes_off {
                return Err(format!(
                    "at {now:?} {} is at {at:.1?}, {off:.1} m over ground from the aircraft at {aircraft:.1?} that is here since {came:?}; \
                     it was {:.1} m off, on the ground: {}: {:?}",
                    node.name(),
                    before.farthest,
                    before.on_ground,
                    node.ledger.lock().unwrap()
                ));
            }
            before.farthest = before.farthest.max(off);
            before.on_ground = on_ground;
        }
        Ok(())
    }
}
