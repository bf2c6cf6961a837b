//! Plans that vehicles fly, or are about to take off for, by orders of the leader before.

use super::{Granted, Planned, from_ground, leads};
use crate::airspace::{Margin, Route};
use crate::planning::movement::Waiting;
use crate::planning::site::{Site, sentence, takes_off};
use model::geo::Local;
use model::ids::NodeName;
use model::report::Report;
use model::time::Moment;
use model::vehicle::FlightTruth;

impl Planned {
    /// What a vehicle at `at`, which is on its way within `margin`, has left of it to fly: at the end of it, the way down.
    fn left(&self, at: Local, margin: Margin) -> Route {
        let places = self.way.places();
        let down = || Route::along(places.iter().skip(places.len().saturating_sub(2)).copied());
        let way = self.next.as_ref().map_or_else(down, |rest| Ok(rest.way.clone()));
        way.map_or_else(|_| self.way.clone(), |way| way.from(at, margin))
    }
}

impl Site {
    /// Takes on the plan that a vehicle flies, or is about to take off for, by an order of the leader before: what is granted to it, and what it
    /// owns from now on. It asks again, and stops in the air until then, where another owns a part of what it has left to fly: that was granted
    /// while nobody knew here where its plan leads. And beside its plan: that leader may have granted a leg back, which is written nowhere.
    ///
    /// Those that may be anywhere stop no vehicle in the air: a new leader knows of none at first where it is.
    pub(super) fn adopt(
        &mut self,
        node: &NodeName,
        planned: &Planned,
        (report, at): (&Report, Local),
        now: Moment,
    ) -> Granted {
        let begins = matches!(report.truth, FlightTruth::Disarmed | FlightTruth::ArmedOnGround) || takes_off(report);
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
        // Its report told of the way from where its plan begins.
        if begins {
            self.claims.adopt(node, &way, now);
        }
        let mut others = self.claims.in_the_way(node, &left);
        others.retain(|owner| !self.claims.may_be_anywhere(owner));
        if report.truth != FlightTruth::Disarmed && !others.is_empty() {
            self.claims.count_as_intruder(node);
        }
        let granted = Granted {
            digest: planned.digest.clone(),
            way,
            home_up: planned.way.start().up,
            stopped: !keeps_to_it || !others.is_empty(),
        };
        self.granted_plans.insert(node.clone(), granted.clone());
        if !others.is_empty() {
            self.waiting.insert(node.clone(), sentence(&Waiting::For(others)));
        }
        granted
    }
}
