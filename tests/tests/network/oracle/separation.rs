//! Whether vehicles keep apart, by their true places. Must not: know claims, routes or rules of `fleet`.
//!
//! 10. No two vehicles in the air, one of which moves along routes, are nearer than 5 m over ground and in altitude at
//!     once. Excused are a vehicle that its failsafe brings down without a coordinator, and one without a station that
//!     has come down away from home, unless all move ([`Separation::all_move`]). An autopilot's own return with a fence
//!     on board is excused only on its way, and not for those that our orders send there once it is known
//!     ([`own_return`]). A vehicle that lands where it is may come near only to those that were below it when that began.

pub mod own_return;
pub mod persons;

use crate::node::Node;
use crate::vehicle::Spot;
use model::assignment::Order;
use own_return::{OwnReturns, excuses};
use persons::OfPersons;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Meters over ground and in altitude.
const APART: f64 = 5.0;
/// Largest rounding error of the simulation, meters.
const ROUNDING: f64 = 0.05;
/// Meters above which it is in the air.
const LIFTED: f64 = 0.5;
/// Meters over ground within which a vehicle is at home.
const AT_HOME: f64 = 2.0;

#[derive(Default)]
pub struct Separation {
    /// Brought down by their failsafe without a coordinator, until they are on the ground.
    diverted: Vec<bool>,
    /// Vehicles that land where they are, until they are on the ground, with those below each.
    lands_on: BTreeMap<usize, BTreeSet<usize>>,
    /// Least distance so far, millimeters.
    pub nearest: Option<u32>,
    /// Vehicles that persons move, where all others move by our orders.
    pub all_move: Option<OfPersons>,
    /// Returns that autopilots with a fence on board begin by themselves, where such a return excuses its own way only.
    pub own_returns: Option<OwnReturns>,
}

struct Flight {
    number: usize,
    at: Spot,
    routed: bool,
    excused: bool,
    /// A return of its own autopilot is all that excuses it.
    returns: bool,
    lands: bool,
}

/// Vehicles of `others` that are lower than `at`, within `reach` over ground, meters.
pub fn lower(at: Spot, others: impl IntoIterator<Item = (usize, Spot)>, reach: f64) -> Vec<usize> {
    let is_below = |there: Spot| there.up < at.up && there.over_ground(at) <= reach;
    let below = others.into_iter().filter(|(_, there)| is_below(*there));
    below.map(|(number, _)| number).collect()
}

impl Separation {
    /// This vehicle lands where it is, or by the way of its autopilot, and Skein has not chosen the place.
    pub fn divert(&mut self, number: usize) {
        if self.diverted.len() <= number {
            self.diverted.resize(number + 1, false);
        }
        self.diverted[number] = true;
    }

    pub fn lands_on(&mut self, number: usize, below: impl IntoIterator<Item = usize>) {
        self.lands_on.entry(number).or_default().extend(below);
    }

    fn is_diverted(&self, number: usize) -> bool {
        self.diverted.get(number).copied().unwrap_or_default()
    }

    fn is_diverted_or_taken(&self, number: usize) -> bool {
        self.is_diverted(number) || (self.all_move.as_ref()).is_some_and(|persons| persons.moves(number))
    }

    /// Whether a failsafe, an autopilot or a person has chosen its place, not Skein.
    fn is_moved_by_others(&self, number: usize) -> bool {
        self.is_diverted_or_taken(number) || (self.own_returns.as_ref()).is_some_and(|returns| returns.explain(number))
    }

    pub fn is_excused(&self, number: usize) -> bool {
        self.is_moved_by_others(number) || self.lands_on.contains_key(&number)
    }

    /// Whether one of them lands where it is and was over the other when that began.
    fn comes_down_on(&self, one: &Flight, other: &Flight) -> bool {
        let lands_on = |upper: &Flight, lower: &Flight| {
            upper.lands && (self.lands_on.get(&upper.number)).is_some_and(|below| below.contains(&lower.number))
        };
        lands_on(one, other) || lands_on(other, one)
    }

    /// Whether rule 10 does not apply to their distance.
    fn leaves_out(&self, one: &Flight, other: &Flight) -> bool {
        let persons = self.all_move.as_ref();
        excuses(self.own_returns.as_ref(), one, other)
            || !(one.routed || other.routed)
            || self.comes_down_on(one, other)
            || persons.is_some_and(|persons| persons.brought_together(one.number, other.number))
    }

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
                self.lands_on.remove(&node.number);
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
            let came_down = !routed && spot.over_ground(home) > AT_HOME;
            let excused = came_down || self.is_moved_by_others(node.number);
            flying.push(Flight {
                number: node.number,
                at: spot,
                routed,
                excused,
                returns: excused && !came_down && !self.is_diverted_or_taken(node.number),
                lands: node.lands(),
            });
        }
        if let Some(persons) = &mut self.all_move {
            let lands_on_others = |number: usize| self.lands_on.contains_key(&number);
            let own_returns = self.own_returns.as_ref();
            let are_excused = |one: &Flight, other: &Flight| excuses(own_returns, one, other);
            persons.note(nodes, &flying, lands_on_others, are_excused, at);
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
        if self.leaves_out(one, other) {
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
            "at {at:?} two vehicles are {over_ground:.2} m apart over ground and {in_height:.2} m in altitude: {}; {}",
            story(one),
            story(other)
        ))
    }
}

pub fn a_landing_leaves_out_those_below_it_only() {
    let spot = |east: f64, up: f64| Spot { east, north: 0.0, up };
    let others = [(1, spot(10.0, 8.0)), (2, spot(10.0, 20.0)), (3, spot(60.0, 8.0))];
    assert_eq!(lower(spot(0.0, 15.0), others, 40.0), [1]);
    assert_eq!(lower(spot(0.0, 15.0), others, f64::INFINITY), [1, 3]);
    let flight = |number: usize, lands: bool| Flight {
        number,
        at: spot(0.0, 10.0),
        routed: true,
        excused: false,
        returns: false,
        lands,
    };
    let mut separation = Separation::default();
    separation.lands_on(0, [1]);
    let leaves_out = |one: (usize, bool), other: (usize, bool)| {
        separation.leaves_out(&flight(one.0, one.1), &flight(other.0, other.1))
    };
    assert!(leaves_out((0, true), (1, false)) && leaves_out((1, false), (0, true)));
    assert!(!leaves_out((0, true), (2, false)), "it was not below when that began");
    assert!(!leaves_out((1, false), (2, false)), "none of them lands");
    assert!(!leaves_out((0, false), (1, false)), "it lands no more");
    assert!(!leaves_out((0, false), (1, true)), "the lower one comes down on nobody");
    assert!(separation.is_excused(0) && !separation.is_excused(1));
}
