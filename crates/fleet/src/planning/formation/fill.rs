//! Which Drone of a Swarm has which slot of its formation, and where each holds.
//!
//! Owns: [`fill`]. A Drone keeps its slot until the formation changes; then all whose place moved are matched again. A relief holds beside
//! its slot, and takes it over once the other leaves. Must not: decide which Drones there are ([`crate::planning::swarm::plan`] does), or
//! how they get there.

use super::assign::{Seeker, TooMany, assign};
use crate::airspace::Rules;
use model::geo::{Local, offset, shifted};
use model::ids::DroneUid;
use model::station::{Limits, Place, Station};
use model::units::{Meters, Wgs84};
use std::collections::BTreeMap;

/// Two requested places within this are the same.
const PLACE_EPSILON_M: f64 = 0.05;

/// Most Drones on the ground that are weighed: this runs at each reconcile.
const MAX_WEIGHED_ON_GROUND: usize = 100;

/// A Drone that is to have a slot: not one that is leaving or lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub uid: DroneUid,
    /// Its former slot.
    pub slot: Option<usize>,
    pub station: Option<Station>,
    pub at: Option<Wgs84>,
    pub may_fly: bool,
    /// Whether another comes to relieve it.
    pub replace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InSlot {
    pub slot: usize,
    /// The slot's place, or one beside it.
    pub station: Station,
    /// Whether it holds beside another, to relieve it.
    pub relieves: bool,
}

/// The slots of `candidates`, which are ordered by age. A candidate without an entry is one too many: it stays as it is.
///
/// # Errors
/// [`TooMany`], when too many are to be matched again.
pub fn fill(
    slots: &[Station],
    candidates: &[Candidate],
    rules: &Rules,
    limits: &Limits,
) -> Result<BTreeMap<DroneUid, InSlot>, TooMany> {
    let Some(first) = slots.first() else {
        return Ok(BTreeMap::new());
    };
    let local = |at: Wgs84| {
        let (east, north) = offset(first.place().at, at);
        // Altitudes above different homes cannot be compared.
        Local { east, north, up: 0.0 }
    };
    let mut holders = holders(slots, candidates);
    let (reliefs, mut free) = others(&holders, candidates);

    let waits = |holder: &&Option<usize>| holder.is_some_and(|one| !candidates[one].may_fly);
    let weighs_all = holders.iter().filter(waits).count() <= MAX_WEIGHED_ON_GROUND;

    // A Drone that has to move anyway, or has not taken off, is matched with the slots of all of these.
    let mut movers: BTreeMap<usize, Seeker> = BTreeMap::new();
    let mut open: Vec<usize> = Vec::new();
    for (slot, holder) in holders.iter_mut().enumerate() {
        match *holder {
            Some(one) if (weighs_all && !candidates[one].may_fly) || !is_at(&candidates[one], &slots[slot]) => {
                if let Some(at) = candidates[one].at {
                    let (at, holds) = (local(at), Some(open.len()));
                    movers.insert(one, Seeker { at, holds });
                    open.push(slot);
                    *holder = None;
                }
            }
            Some(_) => {}
            None if !free.is_empty() => {
                let one = free.remove(0);
                match candidates[one].at {
                    Some(at) => {
                        let at = local(at);
                        movers.insert(one, Seeker { at, holds: None });
                        open.push(slot);
                    }
                    None => *holder = Some(one),
                }
            }
            None => {}
        }
    }
    let places: Vec<Local> = open.iter().map(|slot| local(slots[*slot].place().at)).collect();
    for (found, one) in assign(&movers, &places, rules.pitch().horizontal)? {
        holders[open[found]] = Some(one);
    }
    Ok(stations(slots, candidates, &holders, &reliefs, free, rules, limits))
}

fn is_at(candidate: &Candidate, slot: &Station) -> bool {
    candidate
        .station
        .as_ref()
        .is_some_and(|station| station.is_where(slot, Meters(PLACE_EPSILON_M)))
}

/// The holder of each slot: of those with that slot, one that is asked to hold there, or else the oldest.
fn holders(slots: &[Station], candidates: &[Candidate]) -> Vec<Option<usize>> {
    let mut holders: Vec<Option<usize>> = vec![None; slots.len()];
    for (one, candidate) in candidates.iter().enumerate() {
        let Some(slot) = candidate.slot.filter(|slot| *slot < slots.len()) else {
            continue;
        };
        let there = |one: usize| is_at(&candidates[one], &slots[slot]);
        match holders[slot] {
            Some(holder) if there(holder) || !there(one) => {}
            _ => holders[slot] = Some(one),
        }
    }
    holders
}

/// The others: which relieves which holder, and which are free.
fn others(holders: &[Option<usize>], candidates: &[Candidate]) -> (BTreeMap<usize, usize>, Vec<usize>) {
    let (mut reliefs, mut free) = (BTreeMap::new(), Vec::new());
    for (one, candidate) in candidates.iter().enumerate() {
        if holders.contains(&Some(one)) {
            continue;
        }
        let holder = candidate.slot.and_then(|slot| *holders.get(slot)?);
        match holder {
            Some(holder) if candidates[holder].replace && !candidate.replace && !reliefs.contains_key(&holder) => {
                reliefs.insert(holder, one);
            }
            _ => free.push(one),
        }
    }
    let empty = holders.iter().filter(|holder| holder.is_none()).count();
    while free.len() < empty {
        let Some((_, one)) = reliefs.pop_first() else { break };
        free.push(one);
    }
    // Those in the air are there sooner, and those to be replaced are the last to get a slot.
    free.sort_by_key(|one| (candidates[*one].replace, !candidates[*one].may_fly));
    (reliefs, free)
}

fn stations(
    slots: &[Station],
    candidates: &[Candidate],
    holders: &[Option<usize>],
    reliefs: &BTreeMap<usize, usize>,
    free: Vec<usize>,
    rules: &Rules,
    limits: &Limits,
) -> BTreeMap<DroneUid, InSlot> {
    let mut all = BTreeMap::new();
    let mut free = free.into_iter().filter(|one| !candidates[*one].replace);
    let mut occupied: Vec<Station> = slots.to_vec();
    for (slot, (holder, station)) in holders.iter().zip(slots).enumerate() {
        let Some(holder) = *holder else { continue };
        let mut give = |one: usize, station: Station, relieves: bool| {
            let slot = InSlot {
                slot,
                station,
                relieves,
            };
            all.insert(candidates[one].uid.clone(), slot);
        };
        give(holder, *station, false);
        if !candidates[holder].replace {
            continue;
        }
        let Some(relief) = reliefs.get(&holder).copied().or_else(|| free.next()) else {
            continue;
        };
        // Without a free place beside, it waits on the ground until the other has left.
        let station = beside(slot, slots, &occupied, rules, limits).unwrap_or(*station);
        occupied.push(station);
        give(relief, station, true);
    }
    all
}

/// A place clear of all others from which the slot can be taken over: beside it at its altitude, or else below it.
fn beside(slot: usize, slots: &[Station], occupied: &[Station], rules: &Rules, limits: &Limits) -> Option<Station> {
    let of = slots[slot].place();
    // More than needed, as both wander.
    let (far, below) = (rules.pitch().horizontal.0 + 1.0, rules.pitch().vertical.0 + 1.0);
    let ring = (0..8).map(|eighth| {
        let (sin, cos) = (f64::from(eighth) * std::f64::consts::FRAC_PI_4).sin_cos();
        Place {
            at: shifted(of.at, far * sin, far * cos),
            ..*of
        }
    });
    let under = Place {
        altitude: of.altitude.raised(Meters(-below)),
        ..*of
    };
    let clear = |station: &Station, but: Option<usize>| {
        let others = occupied.iter().enumerate().filter(|(other, _)| Some(*other) != but);
        let apart = |other: &Station| {
            let (east, north) = offset(other.place().at, station.place().at);
            east.hypot(north)
        };
        others.map(|(_, other)| apart(other)).fold(f64::INFINITY, f64::min)
    };
    let valid = |place| Station::new(place, limits).ok();
    let room = |station: &Station| clear(station, Some(slot)) >= rules.pitch().horizontal.0;
    let widest = ring.filter_map(valid).filter(room).max_by(|a, b| {
        // In decimeters, so that rounding does not decide.
        let room = |station: &Station| (clear(station, Some(slot)).min(1e6) * 10.0).round();
        room(a).total_cmp(&room(b)).then_with(|| std::cmp::Ordering::Greater)
    });
    widest.or_else(|| valid(under).filter(room))
}

#[cfg(test)]
mod tests;
