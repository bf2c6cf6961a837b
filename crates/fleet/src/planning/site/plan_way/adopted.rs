//! Plans in flight, or before takeoff, by orders of the leader before.

use super::{Granted, Planned, from_ground, leads};
use crate::airspace::{Margin, Owner, Route};
use crate::planning::movement::Waiting;
use crate::planning::site::{Site, sentence, takes_off};
use model::geo::Local;
use model::ids::NodeName;
use model::report::Report;
use model::time::Moment;
use model::vehicle::FlightTruth;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Agents report to a new leader within this, if they do.
const HEARD_WITHIN: Duration = Duration::from_secs(30);

/// Owners that could be anywhere when a plan was adopted, and when that was.
#[derive(Clone, Debug, Default)]
pub(super) struct Unasked {
    owners: Arc<BTreeSet<Owner>>,
    since: Moment,
}

/// Whether a vehicle is still to climb to the begin of its plan.
fn begins(report: &Report) -> bool {
    matches!(report.truth, FlightTruth::Disarmed | FlightTruth::ArmedOnGround) || takes_off(report)
}

impl Planned {
    /// The rest of its way for a vehicle at `at`; at the end of it, the way down.
    fn left(&self, at: Local, margin: Margin) -> Route {
        let places = self.way.places();
        let down = || Route::along(places.iter().skip(places.len().saturating_sub(2)).copied());
        let way = self.next.as_ref().map_or_else(down, |rest| Ok(rest.way.clone()));
        way.map_or_else(|_| self.way.clone(), |way| way.from(at, margin))
    }
}

impl Site {
    /// Adopts a plan in flight, or before takeoff, by an order of the leader before: what is granted, and what it owns from now on. It asks
    /// again, and in the air stops until then, where another owns a part of the rest, granted while nobody knew this plan here; and off its
    /// plan: that leader may have granted a leg back, which is written nowhere.
    ///
    /// Vehicles that may be anywhere stop no vehicle in the air: a new leader at first knows no vehicle's place. They are asked once it does;
    /// see [`Self::ask_those_unknown`].
    pub(super) fn adopt(
        &mut self,
        node: &NodeName,
        planned: &Planned,
        (report, at): (&Report, Local),
        now: Moment,
    ) -> Granted {
        let begins = begins(report);
        let next = planned.next.as_ref().and_then(|rest| rest.places.first());
        let margin = self.usual_margin();
        let keeps_to_it = begins || next.is_none_or(|next| leads(&planned.way, at, *next, margin));
        let way = match begins {
            true => from_ground(&planned.way, at),
            false => planned.way.clone(),
        };
        let left = match begins {
            true => way.from(at, margin),
            false => planned.left(at, margin),
        };
        // Its report gave the way from where its plan begins.
        if begins {
            self.claims.adopt(node, &way, now);
        }
        let mut others = self.claims.in_the_way(node, &left);
        let mut unasked = others.clone();
        unasked.retain(|owner| self.claims.may_be_anywhere(owner));
        others.retain(|owner| !unasked.contains(owner));
        if report.truth != FlightTruth::Disarmed && !others.is_empty() {
            self.claims.count_as_intruder(node);
        }
        let granted = Granted {
            digest: planned.digest.clone(),
            way,
            home_up: planned.way.start().up,
            corners: self.claims.corners(node),
            stopped: !keeps_to_it || !others.is_empty(),
            unasked: Unasked {
                owners: Arc::new(unasked),
                since: now,
            },
        };
        self.granted_plans.insert(node.clone(), granted.clone());
        if !others.is_empty() {
            self.waiting.insert(node.clone(), sentence(&Waiting::For(others)));
        }
        granted
    }

    /// Asks those that could be anywhere when its plan was adopted, as soon as it is known where they are: where one owns a part of what is
    /// left, the vehicle stops as on adoption. One that stays unknown stops nobody, and is named.
    pub(super) fn ask_those_unknown(&mut self, node: &NodeName, (report, at): (&Report, Local), now: Moment) {
        let Some((granted, planned)) = self.granted_plans.get(node).zip(self.plans.get(node)) else {
            return;
        };
        if granted.stopped || granted.unasked.owners.is_empty() || granted.digest != planned.digest {
            return;
        }
        let is_unknown = |owner: &Owner| self.claims.may_be_anywhere(owner);
        let unasked = granted.unasked.clone();
        if unasked.owners.iter().all(is_unknown) {
            self.name_unknown(node, &unasked, now);
            return;
        }
        let margin = self.usual_margin();
        let left = match begins(report) {
            true => granted.way.from(at, margin),
            false => planned.left(at, margin),
        };
        let mut others = self.claims.in_the_way(node, &left);
        others.retain(|owner| unasked.owners.contains(owner) && !is_unknown(owner));
        let unknown = unasked.owners.iter().filter(|owner| is_unknown(owner)).cloned();
        let unasked = Unasked {
            owners: Arc::new(unknown.collect()),
            ..unasked
        };
        let stops = !others.is_empty();
        if stops && report.truth != FlightTruth::Disarmed {
            self.claims.count_as_intruder(node);
        }
        if stops {
            self.waiting.insert(node.clone(), sentence(&Waiting::For(others)));
        } else {
            self.name_unknown(node, &unasked, now);
        }
        if let Some(granted) = self.granted_plans.get_mut(node) {
            granted.stopped = stops;
            granted.unasked = unasked;
        }
    }

    fn name_unknown(&mut self, node: &NodeName, unasked: &Unasked, now: Moment) {
        let is_late = now.since(unasked.since) > HEARD_WITHIN;
        if let Some(unknown) = unasked.owners.first().filter(|_| is_late) {
            let why = format!("flies on, though it is not known where {unknown} is, which could be in its way");
            self.waiting.insert(node.clone(), why);
        }
    }
}
