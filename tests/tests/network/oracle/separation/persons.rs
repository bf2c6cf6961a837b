//! Vehicles that persons move: by stick, by a mode of their own, by a return that they order.
//!
//!   ours ──taken──► held ──given back──► left ──our command──► put ──left the place──► ours
//!
//! Where a person has put it, it may be too near to another, and Skein has not chosen that place.

use super::{APART, Flight, Separation};
use crate::node::Node;
use crate::vehicle::Spot;
use link::dialect::MavCmd;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Meters from the place where a person put it, beyond which it has left.
const LEFT: f64 = 3.0;
/// Commands that were on their way when a person took it do not end that.
const ON_ITS_WAY: Duration = Duration::from_secs(2);
/// By then a leader has observed a return, and others in its way were ordered to move.
const KNOWN_AFTER: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
enum Has {
    Held,
    /// The person has let go of it, and Skein has not moved it since.
    Left(Duration),
    /// It was ordered to move, and is still here.
    Put(Spot),
}

#[derive(Clone, Debug, Default)]
pub struct OfPersons {
    has: BTreeMap<usize, Has>,
    /// Pairs that an excused vehicle brought together, and that have been near to one another since.
    together: BTreeSet<(usize, usize)>,
    returns: BTreeMap<usize, Duration>,
    /// Millimeters between a returning vehicle and another: at once, and once it could have been known for a while.
    pub returned: [Option<u32>; 2],
}

fn moves_it(command: MavCmd) -> bool {
    matches!(
        command,
        MavCmd::MAV_CMD_DO_SET_MODE
            | MavCmd::MAV_CMD_DO_REPOSITION
            | MavCmd::MAV_CMD_MISSION_START
            | MavCmd::MAV_CMD_NAV_LAND
            | MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH
            | MavCmd::MAV_CMD_NAV_TAKEOFF
            | MavCmd::MAV_CMD_DO_CHANGE_ALTITUDE
    )
}

impl OfPersons {
    pub fn take(&mut self, number: usize) {
        self.has.insert(number, Has::Held);
    }

    pub fn let_go(&mut self, number: usize, at: Duration) {
        self.has.insert(number, Has::Left(at));
    }

    pub fn landed(&mut self, number: usize) {
        self.has.remove(&number);
        self.returns.remove(&number);
        self.together.retain(|(one, other)| *one != number && *other != number);
    }

    pub fn moves(&self, number: usize) -> bool {
        self.has.contains_key(&number)
    }

    /// Whether they have been too near since one of them was excused.
    pub fn brought_together(&self, one: usize, other: usize) -> bool {
        self.together.contains(&(one.min(other), one.max(other)))
    }

    pub fn commanded(&mut self, node: &Node, command: MavCmd, at: Duration) {
        let Some(Has::Left(since)) = self.has.get(&node.number) else {
            return;
        };
        if moves_it(command)
            && at > *since + ON_ITS_WAY
            && let Some((spot, _)) = node.vehicle.spot()
        {
            self.has.insert(node.number, Has::Put(spot));
        }
    }

    pub(super) fn note(
        &mut self,
        nodes: &[Node],
        flying: &[Flight],
        lands_on_others: impl Fn(usize) -> bool,
        are_excused: impl Fn(&Flight, &Flight) -> bool,
        now: Duration,
    ) {
        for flight in flying {
            let (number, spot) = (flight.number, flight.at);
            if let Some(Has::Put(place)) = self.has.get(&number)
                && (place.over_ground(spot) > LEFT || (place.up - spot.up).abs() > LEFT)
            {
                self.has.remove(&number);
            }
            if nodes[number].returns() {
                self.returns.entry(number).or_insert(now);
            } else {
                self.returns.remove(&number);
            }
        }
        let of_return = |flight: &Flight| (flight.number, flight.excused || lands_on_others(flight.number));
        for (index, one) in flying.iter().enumerate() {
            for other in &flying[..index] {
                let pair = (one.number.min(other.number), one.number.max(other.number));
                let distance = f64::max(one.at.over_ground(other.at), (one.at.up - other.at.up).abs());
                if distance >= APART {
                    self.together.remove(&pair);
                } else if are_excused(one, other) {
                    self.together.insert(pair);
                }
                self.note_return(of_return(one), of_return(other), distance, now);
            }
        }
    }

    fn note_return(&mut self, one: (usize, bool), other: (usize, bool), distance: f64, now: Duration) {
        for ((returner, _), (_, excused)) in [(one, other), (other, one)] {
            let Some(since) = self.returns.get(&returner).filter(|_| !excused) else {
                continue;
            };
            let millimeters = (distance * 1000.0) as u32;
            let late = now > *since + KNOWN_AFTER;
            for least in self.returned.iter_mut().take(1 + usize::from(late)) {
                *least = Some(least.map_or(millimeters, |known| known.min(millimeters)));
            }
        }
    }
}

impl Separation {
    pub fn persons(&mut self) -> &mut OfPersons {
        self.all_move.get_or_insert_default()
    }
}
