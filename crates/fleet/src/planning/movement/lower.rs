//! Lower ways than above the place that a vehicle leaves.

use super::{Goal, Idle, Plan, Waiting, comes_any_way, try_ways, ways};
use crate::airspace::{Allows, Claims, Owner};
use model::ids::NodeName;
use model::time::Moment;
use std::collections::{BTreeMap, BTreeSet};

/// Vehicles cross in their lower layers where others stay in the way of all higher ones. While others only pass there they wait: below the
/// place that one leaves may be a hill.
pub(super) fn cross(
    claims: &mut Claims,
    (goals, tried): (&BTreeMap<NodeName, Goal>, &[&Idle<'_>]),
    (allowed, now): (Allows<'_>, Moment),
    plan: &mut Plan,
) {
    let mut blocked = Vec::new();
    for one in tried {
        let waits = matches!(plan.waiting.get(one.vehicle), Some(Waiting::For(_)));
        if waits && !one.layers.lower.is_empty() {
            blocked.push(*one);
        }
    }
    if blocked.is_empty() {
        return;
    }
    let held_up = held_up(claims, goals, &plan.waiting);
    for one in blocked {
        if held_up.contains(one.vehicle) {
            continue;
        }
        let mut outcome = try_ways(claims, one, ways::lower(one, claims.rules()), allowed, now);
        if comes_any_way(one, &outcome) {
            outcome = try_ways(claims, one, ways::lower(one, claims.rules()), &|_, _| Ok(()), now);
        }
        if let Ok(permit) = outcome {
            plan.permits.push(permit);
            plan.waiting.remove(one.vehicle);
        }
    }
}

/// Waiting vehicles whose ways will be free by themselves: those in the way fly to their goals, or wait for such only. One that flies a
/// plan has no goal, and may be there for long.
fn held_up(
    claims: &Claims,
    goals: &BTreeMap<NodeName, Goal>,
    waiting: &BTreeMap<NodeName, Waiting>,
) -> BTreeSet<NodeName> {
    let mut found: BTreeSet<NodeName> = BTreeSet::new();
    loop {
        let passes = |owner: &Owner| match owner {
            Owner::Vehicle(other) => found.contains(other) || (goals.contains_key(other) && claims.passes_by(other)),
            Owner::Traffic(_) => true,
        };
        let mut more = Vec::new();
        for (vehicle, why) in waiting {
            if let Waiting::For(owners) = why
                && !found.contains(vehicle)
                && !owners.is_empty()
                && owners.iter().all(&passes)
            {
                more.push(vehicle.clone());
            }
        }
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}
