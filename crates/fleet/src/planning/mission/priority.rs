//! Which Mission of a namespace has vehicles before the others.

use crate::planning::population::Existing;
use std::collections::BTreeMap;

/// Most Drones of one namespace's Missions that wait for vehicles: each is bound, reconciled and watched, and is of use once there is a
/// vehicle.
pub const MAX_WAITING_DRONES: usize = 500;

#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// Missions of other namespaces do not wait for it.
    pub namespace: &'a str,
    /// Higher has vehicles earlier.
    pub priority: i32,
    pub drones: Vec<Existing>,
}

impl Claim<'_> {
    fn waiting(&self) -> usize {
        let waits = |drone: &&Existing| !drone.leaving && !drone.has_vehicle;
        self.drones.iter().filter(waits).count()
    }
}

/// How many more Drones of Missions may be made in each namespace.
pub fn room<'a>(claims: &[Claim<'a>]) -> BTreeMap<&'a str, usize> {
    let mut room = BTreeMap::new();
    for claim in claims {
        let left = room.entry(claim.namespace).or_insert(MAX_WAITING_DRONES);
        *left = left.saturating_sub(claim.waiting());
    }
    room
}

/// For each namespace the index in `claims` of its highest priority that waits for vehicles, of equal ones the first. A Mission whose
/// nodeSelector selects no node (`has_node`) waits for none that another could take.
pub fn urgent<'a>(claims: &[Claim<'a>], has_node: impl Fn(usize) -> bool) -> BTreeMap<&'a str, usize> {
    let mut urgent = BTreeMap::<&str, (usize, i32)>::new();
    for (number, claim) in claims.iter().enumerate() {
        let highest = urgent.get(claim.namespace).map(|(_, priority)| *priority);
        let is_higher = highest.is_none_or(|highest| claim.priority > highest);
        if is_higher && claim.waiting() > 0 && has_node(number) {
            urgent.insert(claim.namespace, (number, claim.priority));
        }
    }
    urgent
        .into_iter()
        .map(|(namespace, (number, _))| (namespace, number))
        .collect()
}

/// Whether a Mission makes no Drones for now, as one of the priority `urgent` waits for vehicles.
pub const fn comes_before(urgent: i32, own: i32) -> bool {
    urgent > own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drone(has_vehicle: bool, leaving: bool) -> Existing {
        Existing {
            has_vehicle,
            leaving,
            lost: false,
        }
    }

    fn claim<'a>(namespace: &'a str, priority: i32, drones: &'a [Existing]) -> Claim<'a> {
        Claim {
            namespace,
            priority,
            drones: drones.to_vec(),
        }
    }

    #[test]
    fn the_highest_priority_that_waits_for_a_vehicle_is_urgent_in_its_namespace_only() {
        let waits = [drone(true, false), drone(false, false)];
        let claims = [
            claim("north", 1, &waits),
            claim("south", 5, &waits),
            claim("north", 3, &waits),
            claim("north", 3, &waits),
        ];
        let urgent = urgent(&claims, |_| true);
        assert_eq!(urgent, BTreeMap::from([("north", 2), ("south", 1)]));
    }

    #[test]
    fn a_mission_that_has_its_vehicles_or_can_have_none_is_not_urgent() {
        let (waits, served) = ([drone(false, false)], [drone(true, false)]);
        let leaves = [drone(false, true)];
        let claims = [
            claim("north", 1, &waits),
            claim("north", 9, &served),
            claim("north", 8, &leaves),
            claim("north", 7, &[]),
            claim("north", 6, &waits),
        ];
        assert_eq!(urgent(&claims, |_| true), BTreeMap::from([("north", 4)]));
        assert_eq!(urgent(&claims, |number| number != 4), BTreeMap::from([("north", 0)]));
        assert!(urgent(&claims, |_| false).is_empty());
    }

    #[test]
    fn a_namespace_has_only_the_waiting_drones_there_is_room_for_and_takes_no_others() {
        let waits = vec![drone(false, false); MAX_WAITING_DRONES - 1];
        let others = [drone(true, false), drone(false, true)];
        let claims = [
            claim("north", 1, &waits),
            claim("north", 1, &others),
            claim("south", 1, &others),
        ];
        assert_eq!(
            room(&claims),
            BTreeMap::from([("north", 1), ("south", MAX_WAITING_DRONES)])
        );
        let more = [claim("north", 1, &waits), claim("north", 1, &waits)];
        assert_eq!(room(&more), BTreeMap::from([("north", 0)]));
    }

    #[test]
    fn equal_priorities_do_not_wait_for_one_another() {
        assert!(comes_before(2, 1) && !comes_before(1, 1) && !comes_before(0, 1));
    }
}
