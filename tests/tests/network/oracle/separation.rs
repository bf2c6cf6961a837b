//! Whether vehicles keep apart, by where they truly are.
//!
//! Owns: rule 10, and who does not count; [`OfPersons`], whom persons move. Must not: know claims, routes or rules of `fleet`.
//!
//! 10. No two vehicles in the air, one of which moves along routes, are nearer than 5 m over ground and in height at once; but for
//!     one that its failsafe or a person brings down where it is, and one without a station that has come down away from home. Where all
//!     move ([`Separation::all_move`]), plans count as routes do, and away from home nobody is excused.

pub mod persons;

use crate::node::Node;
use crate::vehicle::Spot;
use model::assignment::Order;
use persons::OfPersons;
use std::time::Duration;

/// Nearer than this, over ground and in height, is too near, meters.
const APART: f64 = 5.0;
/// What the numbers of the simulation are off.
const ROUNDING: f64 = 0.05;
/// Higher than this it is in the air.
const LIFTED: f64 = 0.5;
/// A vehicle is at home within this, meters over ground.
const AT_HOME: f64 = 2.0;

#[derive(Default)]
pub struct Separation {
    /// Those which come down where they are, by failsafe or by a person, until they are on the ground.
    diverted: Vec<bool>,
    /// The least distance so far, millimeters.
    pub nearest: Option<u32>,
    /// Vehicles that persons move, where all others move by orders of ours.
    pub all_move: Option<OfPersons>,
}

struct Flight {
    number: usize,
    at: Spot,
    routed: bool,
    excused: bool,
}

impl Separation {
    /// This vehicle lands where it is, or by the way of its autopilot, and none of ours has chosen the place.
    pub fn divert(&mut self, number: usize) {
        if self.diverted.len() <= number {
            self.diverted.resize(number + 1, false);
        }
        self.diverted[number] = true;
    }

    fn is_diverted(&self, number: usize) -> bool {
        self.diverted.get(number).copied().unwrap_or_default()
    }

    /// Whether none of ours has chosen where it is.
    pub fn is_excused(&self, number: usize) -> bool {
        self.is_diverted(number) || (self.all_move.as_ref()).is_some_and(|persons| persons.moves(number))
    }

    /// # Errors
    /// Two that are too near.
    pub fn judge(&mut self, nodes: &[Node], at: Duration) -> Result<(), String> {
        let mut flying: Vec<Flight> = Vec::new();
        for node in nodes {
            let Some((spot, home)) = node.vehicle.spot() else {
                return Ok(());
            };
            if !node.vehicle.armed() {
                if let Some(diverted) = self.diverted.get_mut(node.number) {
                    *diverted = false;
                }
                if let Some(persons) = &mut self.all_move {
                    persons.landed(node.number);
                }
                continue;
            }
            if spot.up <= LIFTED {
                continue;
            }
            let routed = self.all_move.is_some()
                || matches!(&node.ledger.lock().unwrap().last_order, Some(Order::Assigned(a)) if a.routed);
            let excused = self.is_excused(node.number);
            flying.push(Flight {
                number: node.number,
                at: spot,
                routed,
                excused: excused || (!routed && spot.over_ground(home) > AT_HOME),
            });
        }
        if let Some(persons) = &mut self.all_move {
            let spots: Vec<_> = flying.iter().map(|one| (one.number, one.at, one.excused)).collect();
            persons.note(nodes, &spots, at);
        }
        // From west to east, so that of many vehicles only those are compared that can be nearer than any two before.
        flying.sort_by(|one, other| one.at.east.total_cmp(&other.at.east));
        for (i, one) in flying.iter().enumerate() {
            for other in flying[..i].iter().rev() {
                let nearest = self
                    .nearest
                    .map_or(f64::INFINITY, |nearest| f64::from(nearest + 1) / 1000.0);
                if one.at.east - other.at.east > nearest.max(APART) {
                    break;
                }
                self.pair(one, other, nodes, at)?;
            }
        }
        Ok(())
    }

    fn pair(&mut self, one: &Flight, other: &Flight, nodes: &[Node], at: Duration) -> Result<(), String> {
        if one.excused || other.excused || !(one.routed || other.routed) {
            return Ok(());
        }
        if (self.all_move.as_ref()).is_some_and(|persons| persons.brought_together(one.number, other.number)) {
            return Ok(());
        }
        let (over_ground, in_height) = (one.at.over_ground(other.at), (one.at.up - other.at.up).abs());
        let distance = f64::max(over_ground, in_height);
        let millimeters = (distance * 1000.0) as u32;
        self.nearest = Some(self.nearest.map_or(millimeters, |nearest| nearest.min(millimeters)));
        if distance >= APART - ROUNDING {
            return Ok(());
        }
        let story = |flight: &Flight| {
            let node = &nodes[flight.number];
            let (ledger, mode) = (node.ledger.lock().unwrap(), node.vehicle.mode());
            format!("{} at {:.1?} in mode {mode:#x}: {ledger:?}", node.name(), flight.at)
        };
        Err(format!(
            "at {at:?} two vehicles are {over_ground:.2} m apart over ground and {in_height:.2} m in height: {}; {}",
            story(one),
            story(other)
        ))
    }
}
