//! Who is in danger from a vehicle that does not keep to its claim, and what to do about it.
//!
//! Owns: [`Claims::dangers`], and [`shared_returns`], a hazard that can be seen on the ground. Must not: order anything.

use super::claims::Claims;
use super::{Owner, Route};
use crate::geo::Local;
use crate::ids::NodeName;
use crate::time::Moment;

/// What one vehicle is to do about another that may come too near.
#[derive(Clone, Debug, PartialEq)]
pub enum Avoidance {
    /// Stop and hold where it is, on the route that it owns; then it is judged again.
    Hold,
    /// Climb or descend along this route, to where it is clear.
    StepAside(Route),
    /// It stays: there is nowhere to go that is clear, or it is not ours to move now.
    Stay,
}

/// A vehicle in danger.
#[derive(Clone, Debug, PartialEq)]
pub struct Danger {
    /// Who does not keep to its claim: a vehicle that is silent, astray or in other hands, or foreign traffic.
    pub from: Owner,
    /// Who is in its way.
    pub vehicle: NodeName,
    /// What that one is to do.
    pub avoidance: Avoidance,
}

impl Claims {
    /// Who is in danger now. `heights` are those, meters above mean sea level, to which a vehicle may step aside.
    #[must_use]
    pub fn dangers(&self, heights: &[f64], now: Moment) -> Vec<Danger> {
        let from = self.strays(now);
        let mut found = Vec::new();
        for owner in from {
            for near in self.near(&owner) {
                if let Owner::Vehicle(vehicle) = near {
                    let avoidance = self.avoidance(&vehicle, heights, now);
                    let from = owner.clone();
                    found.push(Danger {
                        from,
                        vehicle,
                        avoidance,
                    });
                }
            }
        }
        found
    }

    fn avoidance(&self, vehicle: &NodeName, heights: &[f64], now: Moment) -> Avoidance {
        if self.under_way(vehicle) {
            return Avoidance::Hold;
        }
        let Ok((at, false)) = self.fit(vehicle, now) else {
            // On the ground it stays there, and one that is not ours to move, or not heard, cannot be asked.
            return Avoidance::Stay;
        };
        let mut ways: Vec<f64> = heights.to_vec();
        ways.sort_by(|one, other| (one - at.up).abs().total_cmp(&(other - at.up).abs()));
        ways.into_iter()
            .filter_map(|height| Route::through([at, at.at_height(height)]).ok())
            .find(|route| self.leads_away(vehicle, route))
            .map_or(Avoidance::Stay, Avoidance::StepAside)
    }

    /// Whether `route` leads `vehicle` upright away from all whose volumes overlap its own now, to where it is clear of everybody, and
    /// through nobody else's volume. To stay would not be safer.
    #[must_use]
    pub fn leads_away(&self, vehicle: &NodeName, route: &Route) -> bool {
        let (start, end) = (route.start(), route.end());
        let upright = route.places().len() == 2 && start.over_ground(end) < 0.01;
        let near = self.near(&Owner::Vehicle(vehicle.clone()));
        let away = |owner: &Owner| {
            let height = self.height(owner);
            height.is_some_and(|height| (end.up - start.up) * (start.up - height) >= 0.0)
        };
        upright
            && !near.is_empty()
            && near.iter().all(away)
            && self.in_the_way(vehicle, &Route::hold(end)).is_empty()
            && self.in_the_way(vehicle, route).is_subset(&near)
    }
}

/// Vehicles that would meet if all returned home at once.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedReturn {
    /// One of them.
    pub one: NodeName,
    /// The other.
    pub other: NodeName,
    /// Its return height, meters above mean sea level.
    pub height: f64,
}

/// Pairs of vehicles whose ways home cross, from where they are to hold, at heights that are not a separation apart: a failsafe of
/// all at once, such as the loss of the ground station, would bring them together. A hazard to be named at preflight; each vehicle
/// wants a return height of its own.
#[must_use]
pub fn shared_returns(claims: &Claims, holds: &[(NodeName, Local)]) -> Vec<SharedReturn> {
    let rules = claims.rules();
    let margin = rules.margin(rules.accuracy);
    let known: std::collections::BTreeMap<_, _> = claims.returns().collect();
    let ways: Vec<_> = holds
        .iter()
        .filter_map(|(name, hold)| {
            let known = known.get(name)?;
            let height = known.return_height.max(hold.up);
            let route = Route::through([hold.at_height(height), known.home.at_height(height)]).ok()?;
            Some((name, height, route.volume(margin)))
        })
        .collect();
    let mut found = Vec::new();
    for (i, (one, height, volume)) in ways.iter().enumerate() {
        for (other, _, others) in &ways[..i] {
            if !volume.clear_of(others, rules) {
                let (one, other, height) = ((*one).clone(), (*other).clone(), *height);
                found.push(SharedReturn { one, other, height });
            }
        }
    }
    found
}
