//! Whether vehicles keep away from an aircraft that all of them hear, by where they truly are.
//!
//! Owns: rule 11. Must not: know claims, routes or rules of `fleet`.
//!
//! 11. A vehicle that moves along routes comes no nearer over ground to an aircraft that is close by, nor does it leave the ground, once
//!     the aircraft was heard for a while; but for one that its failsafe or a person brings down.

use crate::node::Node;
use crate::vehicle::Spot;
use fleet::assignment::Order;
use std::time::Duration;

/// Orders of the time before are flown to their ends by now, however late they came.
const KNOWN_AFTER: Duration = Duration::from_secs(35);
/// This near an aircraft is close by, over ground and in height, meters.
const CLOSE: f64 = 200.0;
/// One that holds moves about by this much, meters.
const WANDERS: f64 = 5.0;
/// Higher than this it has left the ground, meters.
const LIFTED: f64 = 1.0;

/// The aircraft that is or was close by, and what each vehicle did since it is known.
#[derive(Default)]
pub struct Traffic {
    last: Option<(Spot, Duration, Duration)>,
    since: Vec<Option<Since>>,
}

/// A vehicle since it knows of the aircraft.
#[derive(Clone, Copy)]
struct Since {
    /// The farthest that it was off over ground.
    farthest: f64,
    on_ground: bool,
}

impl Traffic {
    pub fn is_here(&self, now: Duration) -> bool {
        self.last.is_some_and(|(_, _, until)| now <= until)
    }

    pub fn comes(&mut self, at: Spot, now: Duration, until: Duration) {
        self.last = Some((at, now, until));
        self.since.clear();
    }

    /// # Errors
    /// One that came nearer, or that rose.
    pub fn judge(&mut self, nodes: &[Node], excused: impl Fn(usize) -> bool, now: Duration) -> Result<(), String> {
        let Some((aircraft, came, until)) = self.last else {
            return Ok(());
        };
        if now < came + KNOWN_AFTER || now > until {
            return Ok(());
        }
        self.since.resize(nodes.len(), None);
        for (node, since) in nodes.iter().zip(&mut self.since) {
            let Some((at, _)) = node.vehicle.spot() else { continue };
            let off = at.over_ground(aircraft);
            let routed = matches!(&node.ledger.lock().unwrap().wish, Some(Order::Assigned(a)) if a.routed);
            if !routed || excused(node.number) || off > CLOSE || (at.up - aircraft.up).abs() > CLOSE {
                *since = None;
                continue;
            }
            let on_ground = at.up < LIFTED;
            let before = since.get_or_insert(Since {
                farthest: off,
                on_ground,
            });
            if off < before.farthest - WANDERS || (before.on_ground && !on_ground) {
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
