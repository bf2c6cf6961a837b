//! Keeping clear of what does not keep to its airspace: a vehicle in a pilot's hands, in its failsafe, blown away; foreign traffic.

use super::{CEILING, Desire, Expected, Site, climbs, kept_within, plan_way};
use crate::airspace::{Avoidance, Danger, Owner};
use crate::planning::geofence::{Origin, Wanted};
use crate::safety::{may_fly, may_stop};
use model::ids::NodeName;
use model::report::Activity;
use model::time::Moment;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Time after which an unobserved danger is over: reports come once a second, and a passing vehicle is near again and again.
const OVER_AFTER: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Stops,
    StepsAside,
    Stays,
}

/// In the last seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endangered {
    pub action: Action,
    last: Moment,
}

impl Action {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stops => "stops on its way",
            Self::StepsAside => "climbs out of the way",
            Self::Stays => {
                "is not moved: no way out is clear and inside its Geofences, or it is not for Skein to move it now"
            }
        }
    }

    /// After "it".
    pub fn sentence(self, from: &Owner) -> String {
        let strays = match from {
            Owner::Vehicle(_) => ", which is not known to keep to its own airspace",
            Owner::Traffic(_) => "",
        };
        format!("{}; near is {from}{strays}", self.words())
    }
}

impl Site {
    /// Vehicles in danger in the last seconds, from which other, and what was done.
    pub const fn endangered(&self) -> &BTreeMap<(Owner, NodeName), Endangered> {
        &self.endangered
    }

    pub(super) fn keeps_clear(&self, node: &NodeName) -> Option<String> {
        let mut own = self.endangered.iter().filter(|((_, vehicle), _)| vehicle == node);
        own.find(|(_, what)| what.action != Action::Stays)
            .map(|((from, _), what)| what.action.sentence(from))
    }

    pub(super) fn avoid(
        &mut self,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        homes: &BTreeMap<NodeName, f64>,
        now: Moment,
    ) {
        self.endangered.retain(|_, what| now.since(what.last) <= OVER_AFTER);
        // Unknown Geofences keep no vehicle in a danger.
        let known: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>> = self.fences.as_ref().map(|fences| {
            let is_known = |wanted: &&Arc<Wanted>| wanted.origin != Origin::Unknown;
            let all = fences.iter();
            all.map(|(node, of)| (node.clone(), of.iter().filter(is_known).cloned().collect()))
                .collect()
        });
        let dangers = self.claims.dangers(
            &|node| homes.get(node).map_or(f64::INFINITY, |home| home + CEILING),
            &|node, route| match &known {
                Some(fences) => kept_within(self.frame, Some(fences), homes)(node, route),
                // Away from a danger is better than to stay, whatever the Geofences.
                None => Ok(()),
            },
            now,
        );
        for danger in dangers {
            if self.claims.has_grown(&danger.from, now) && !is_separated(vehicles.get(&danger.vehicle)) {
                continue;
            }
            let did = self.make_way(&danger, vehicles.get(&danger.vehicle), now);
            let pair = (danger.from, danger.vehicle);
            let before = self.endangered.get(&pair).map(|before| before.action);
            // An action lasts until the danger is over.
            let action = match (did, before) {
                (Action::Stays, Some(before)) => before,
                (did, _) => did,
            };
            self.endangered.insert(pair, Endangered { action, last: now });
        }
    }

    fn make_way(&mut self, danger: &Danger, expected: Option<&Expected<'_>>, now: Moment) -> Action {
        let report = expected.and_then(|expected| expected.report).map(|(report, _)| report);
        let of_plan = report.filter(|_| expected.is_some_and(|expected| expected.desire == Desire::Plan));
        // On its way up it is on no plan yet: it stops there as on a route.
        let rises = report.is_some_and(climbs);
        if let (Avoidance::Stop, Some(report)) = (&danger.avoidance, of_plan.filter(|_| !rises)) {
            return match self.stop_plan(&danger.vehicle, report) {
                true => Action::Stops,
                false => Action::Stays,
            };
        }
        // A vehicle that holds, and whose order names no plan, follows routes as those with stations do.
        let holds = of_plan.is_some_and(|report| !report.plan.flying && !plan_way::names_one(report));
        let on_route = |expected: &Expected<'_>| match expected.desire {
            Desire::At(_) | Desire::Home => true,
            Desire::Plan => rises,
            Desire::AboveHome(_) | Desire::Nothing => false,
        };
        let routed = holds || expected.is_some_and(on_route);
        let moves = rises || report.is_some_and(|report| report.activity == Activity::Moving);
        let (permit, did) = match &danger.avoidance {
            Avoidance::Stop if routed && moves => {
                (may_stop(&mut self.claims, &danger.vehicle, now).ok(), Action::Stops)
            }
            Avoidance::StepAside(route) if routed => (
                may_fly(&mut self.claims, &danger.vehicle, route.clone(), now).ok(),
                Action::StepsAside,
            ),
            Avoidance::Stop | Avoidance::StepAside(_) | Avoidance::Stay => (None, Action::Stays),
        };
        match permit {
            Some(permit) => {
                self.order(&permit, false);
                if let Some(report) = of_plan {
                    self.stop_plan(&danger.vehicle, report);
                }
                did
            }
            None => Action::Stays,
        }
    }
}

/// Vehicles that hold above their homes are where people put them.
fn is_separated(expected: Option<&Expected<'_>>) -> bool {
    expected.is_some_and(|expected| matches!(expected.desire, Desire::At(_) | Desire::Plan | Desire::Home))
}
