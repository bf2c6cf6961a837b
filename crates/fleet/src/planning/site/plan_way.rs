//! The way of a plan that a vehicle flies by itself, and the gate for it in the air (invariant 17).
//!
//!   takeoff granted ──► granted ──begun──► flown ──danger, outgrown──► stopped
//!                          ▲                 └─pilot, hold, drift──► left      │
//!                          └── the rest from here is clear of all ◄──┴────────┘

mod adopted;

use super::{Desire, Expected, FENCES_UNKNOWN, Site, WANDERS, climbs, kept_within, sentence, takes_off};
use crate::airspace::{Margin, NotFit, Route};
use crate::planning::movement::Waiting;
use adopted::Unasked;
use model::geo::Local;
use model::ids::NodeName;
use model::plan::PlanDigest;
use model::report::{Activity, Report};
use model::reported_flight::SoFar;
use model::route_order::Waypoint;
use model::time::Moment;
use model::units::Meters;
use model::vehicle::{Airborne, Autopilot, FlightTruth};
use std::collections::BTreeMap;

/// A granted way ends at the places of its plan within this distance, meters: both are computed from the same numbers.
const PLACE_EPSILON_M: f64 = 0.1;

/// The path of a plan that a vehicle is to fly by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Corridor {
    pub digest: PlanDigest,
    /// From the ground at its home to the ground.
    pub places: Vec<Waypoint>,
    /// Index in `places` of the vehicle's next place by its own account; `None`: it has come to the end.
    pub next: Option<usize>,
    /// Why the vehicle must not fly straight to that place, whoever owns the airspace: a hole of the area lies between.
    pub barred: Option<String>,
}

/// A [`Corridor`] in the frame of the site. The way begins on the ground, at the altitude of home.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    digest: PlanDigest,
    way: Route,
    next: Option<Rest>,
    barred: Option<String>,
}

#[derive(Clone, Debug)]
struct Rest {
    places: Vec<Local>,
    /// With the leg to that place.
    way: Route,
}

/// As granted; not computed again while the vehicle flies it.
#[derive(Clone, Debug)]
pub(super) struct Granted {
    pub(super) digest: PlanDigest,
    way: Route,
    /// At the grant, meters above mean sea level.
    home_up: f64,
    /// How much wider than usual the vehicle turns: least since the grant, as others may own the rest by now.
    corners: Meters,
    /// The vehicle has to hold, and be granted the rest anew.
    stopped: bool,
    unasked: Unasked,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PlanWay<'a> {
    pub(super) digest: &'a PlanDigest,
    pub(super) way: &'a Route,
    /// By this leader. Else by the leader before, on the ground, which had written the plan down.
    pub(super) is_granted: bool,
}

impl Planned {
    pub(super) const fn digest(&self) -> &PlanDigest {
        &self.digest
    }

    pub(super) const fn way(&self) -> &Route {
        &self.way
    }
}

impl Granted {
    pub(super) fn on_the_ground(planned: &Planned, at: Local, corners: Meters) -> Self {
        Self {
            digest: planned.digest.clone(),
            way: from_ground(&planned.way, at),
            home_up: planned.way.start().up,
            corners,
            stopped: false,
            unasked: Unasked::default(),
        }
    }

    pub(super) const fn way(&self) -> &Route {
        &self.way
    }

    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// All were asked, and none is in its way.
    pub(super) const fn go_on(&mut self) {
        self.stopped = false;
    }

    /// The vehicle turns no wider than this any more.
    pub(super) const fn turns_within(&mut self, corners: Meters) {
        self.corners = corners;
    }

    /// Whether it was granted for this plan, home and the vehicle on the ground have hardly moved since, and it turns no wider.
    pub(super) fn is_of(&self, planned: &Planned, at: Local, corners: Meters) -> bool {
        let moved = (self.home_up - planned.way.start().up).abs() > WANDERS.1;
        let (start, now) = (self.way.start(), from_ground(&planned.way, at).start());
        let stays = start.over_ground(at) <= WANDERS.0 && (start.up - now.up).abs() <= WANDERS.1;
        self.digest == planned.digest && !moved && stays && corners <= self.corners
    }
}

/// Whether the straight line from `at` to `next`, a place of `way`, stays on it within `margin`.
fn leads(way: &Route, at: Local, next: Local, margin: Margin) -> bool {
    let near = |place: &Local| {
        place.over_ground(next) <= PLACE_EPSILON_M && (place.up - next.up).abs() <= WANDERS.1 + PLACE_EPSILON_M
    };
    way.leg_to(near, at, margin)
}

/// Up to where a vehicle at `at` climbs before it flies to `next`, a higher place of its plan: PX4 does, ArduCopter flies there straight.
pub(super) fn climbs_first(report: &Report, at: Local, next: Local) -> Option<Local> {
    let is_px4 = report
        .identity
        .as_ref()
        .is_some_and(|identity| identity.autopilot == Autopilot::Px4);
    (is_px4 && next.up > at.up).then(|| at.at_height(next.up))
}

/// `way` for a takeoff from `at` instead of the plan's begin: up from there, and straight to the plan's first place.
pub(super) fn from_ground(way: &Route, at: Local) -> Route {
    let places = way.places();
    let Some(top) = places.get(1) else { return way.clone() };
    let ground = at.at_height(at.up.min(way.start().up));
    let up = [ground, at.at_height(top.up)];
    let all = up.into_iter().chain(places.iter().skip(2).copied());
    Route::along(all).unwrap_or_else(|_| way.clone())
}

/// Whether the agent holds an order to fly a plan, and so may begin or continue at any moment.
pub(super) fn names_one(report: &Report) -> bool {
    let details = report.held.as_ref().and_then(|held| held.details.as_ref());
    details.is_some_and(|details| details.plan.is_some())
}

/// Whether the agent's order names another plan than `plan`, the only one of its vehicle that is known here.
pub(super) fn names_unknown(report: &Report, plan: Option<PlanWay<'_>>) -> bool {
    let held = report.held.as_ref().filter(|held| !held.grounded);
    let named = held.and_then(|held| held.details.as_ref()?.plan.as_ref());
    named.is_some_and(|named| plan.is_none_or(|plan| plan.digest != named))
}

/// Of a vehicle on the ground that is still to take off for it.
pub(super) fn begins_unknown(report: &Report, plan: Option<PlanWay<'_>>) -> bool {
    report.so_far == SoFar::Fresh && names_unknown(report, plan)
}

fn holds(report: &Report, digest: &PlanDigest) -> bool {
    report.plan.held.as_ref() == Some(digest)
}

fn in_other_hands(report: &Report) -> bool {
    matches!(
        report.activity,
        Activity::HandsOff(_) | Activity::Failsafe | Activity::LowBattery
    )
}

fn flies_or_holds(report: &Report) -> bool {
    let lands = report.activity == Activity::Landing;
    matches!(report.truth, FlightTruth::Airborne(up) if up != Airborne::Landing) && !lands
}

impl Site {
    /// A vehicle takes off for its plan once the whole corridor is clear of all others, and owns the rest of it until it has landed.
    pub fn plans(&mut self, plans: &BTreeMap<NodeName, Corridor>) {
        let planned = |corridor: &Corridor| {
            let local = |place: &Waypoint| self.frame.local(place.at, place.amsl).ok();
            let places: Option<Vec<Local>> = corridor.places.iter().map(local).collect();
            let places = places?;
            let rest = |next: usize| {
                let rest = places.get(next..).filter(|rest| !rest.is_empty())?;
                let leg = places.get(next.saturating_sub(1)..)?;
                Some(Rest {
                    places: rest.to_vec(),
                    way: Route::along(leg.iter().copied()).ok()?,
                })
            };
            Some(Planned {
                digest: corridor.digest.clone(),
                next: corridor.next.and_then(rest),
                barred: corridor.barred.clone(),
                way: Route::along(places).ok()?,
            })
        };
        let known = plans.iter().filter_map(|(node, of)| Some((node.clone(), planned(of)?)));
        self.plans = known.collect();
    }

    /// Of all that are flown, or are to be: as granted, if they are.
    pub(super) fn plan_ways(&self, vehicles: &BTreeMap<NodeName, Expected<'_>>) -> BTreeMap<NodeName, &Route> {
        let with_plans = vehicles.iter().filter(|(_, expected)| expected.desire == Desire::Plan);
        let way = |node: &NodeName| {
            let granted = self.granted_plans.get(node).map(Granted::way);
            granted.or_else(|| self.plans.get(node).map(Planned::way))
        };
        with_plans
            .filter_map(|(node, _)| Some((node.clone(), way(node)?)))
            .collect()
    }

    /// Of the plan that the agent of `node` holds by its report, or is to hold.
    pub(super) fn plan_way(&self, node: &NodeName, report: &Report) -> Option<PlanWay<'_>> {
        let granted = self
            .granted_plans
            .get(node)
            .filter(|granted| holds(report, &granted.digest));
        let granted = granted.map(|granted| PlanWay {
            digest: &granted.digest,
            way: &granted.way,
            is_granted: true,
        });
        let planned = || {
            let planned = self.plans.get(node)?;
            Some(PlanWay {
                digest: &planned.digest,
                way: &planned.way,
                is_granted: false,
            })
        };
        granted.or_else(planned)
    }

    /// Whether the order for a vehicle in the air may name the plan `digest`: it flies that plan as granted, or the rest was granted from
    /// its place. Else it holds.
    pub fn may_fly_on(&self, node: &NodeName, digest: &PlanDigest, report: &Report) -> bool {
        let Some(granted) = self.granted_plans.get(node).filter(|granted| granted.digest == *digest) else {
            return flies_as_written(digest, report);
        };
        if granted.stopped || in_other_hands(report) {
            return false;
        }
        report.plan.flying || takes_off(report) || self.is_on_way(node, granted, report)
    }

    /// Why the vehicle cannot go on with its plan from its place, whoever owns the airspace; `None`: it can, or is on its way.
    pub fn plan_barred(&self, node: &NodeName) -> Option<&str> {
        self.takeoffs.barred.get(node).map(String::as_str)
    }

    /// Whether the agent's order wrongly names the plan, or leaves it out: another order is due. An order is made from the newest report,
    /// which may be newer than the one at the grant.
    pub fn plan_order_is_due(&self, node: &NodeName, report: &Report) -> bool {
        let airborne = matches!(report.truth, FlightTruth::Airborne(_));
        let planned = self.plans.get(node).filter(|_| airborne);
        planned.is_some_and(|planned| names_one(report) != self.may_fly_on(node, &planned.digest, report))
    }

    fn is_on_way(&self, node: &NodeName, granted: &Granted, report: &Report) -> bool {
        let next = self
            .plans
            .get(node)
            .and_then(|planned| planned.next.as_ref()?.places.first());
        let (Some(next), Some(at)) = (next, self.place_of(report)) else {
            return false;
        };
        let margin = self.usual_margin();
        let leads_from = |from: Local| leads(&granted.way, from, *next, margin);
        // A lower climb strays from the straight way by no more than its margin.
        let top = climbs_first(report, at, *next).filter(|top| top.up - at.up > margin.vertical.0);
        let Some(top) = top else {
            return leads_from(at);
        };
        let is_top = |place: &Local| {
            place.over_ground(top) <= margin.horizontal.0 && (place.up - top.up).abs() <= WANDERS.1 + PLACE_EPSILON_M
        };
        granted.way.leg_to(is_top, at, margin) && leads_from(top)
    }

    pub(super) fn usual_margin(&self) -> Margin {
        let rules = self.claims.rules();
        rules.margin(rules.accuracy)
    }

    fn place_of(&self, report: &Report) -> Option<Local> {
        let position = report.position?;
        self.frame.local(position.at, position.amsl).ok()
    }

    /// Keeps grants on the ground by an order of this leader or the one before, and drops finished ones.
    pub(super) fn keep_granted_plans(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        for (node, expected) in vehicles {
            let Some((report, _)) = expected.report else { continue };
            if !matches!(report.truth, FlightTruth::Disarmed | FlightTruth::ArmedOnGround) {
                continue;
            }
            let planned = self.plans.get(node).filter(|_| expected.desire == Desire::Plan);
            let Some(planned) = planned else {
                if !self.takeoffs.plans.contains_key(node) {
                    self.granted_plans.remove(node);
                }
                continue;
            };
            let known = self
                .granted_plans
                .get(node)
                .is_some_and(|granted| granted.digest == planned.digest);
            let Some(at) = self.place_of(report) else { continue };
            if known {
                self.ask_those_unknown(node, (report, at), now);
            } else if self.claims.under_way(node) && holds(report, &planned.digest) {
                let planned = planned.clone();
                self.adopt(node, &planned, (report, at), now);
            }
        }
    }

    /// Grants vehicles in the air the rest of their plans from their places; takes it back from those that left their way, or may not fly
    /// it any more.
    pub(super) fn grant_plans_in_air(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.takeoffs.barred.clear();
        for (node, expected) in vehicles {
            let Some((report, _)) = expected.report.filter(|_| expected.desire == Desire::Plan) else {
                continue;
            };
            if !flies_or_holds(report) {
                continue;
            }
            let (Some(planned), Some(at)) = (self.plans.get(node).cloned(), self.place_of(report)) else {
                continue;
            };
            if in_other_hands(report) {
                self.take_back_plan(node, report, now);
                continue;
            }
            self.ask_those_unknown(node, (report, at), now);
            if report.plan.flying && holds(report, &planned.digest) {
                self.keep_flying(node, &planned, (report, at), vehicles, now);
            } else if report.plan.ended || report.plan.finished || self.keeps_way(node, &planned, report, vehicles, now)
            {
            } else {
                self.take_back_plan(node, report, now);
                self.grant_rest(node, &planned, at, vehicles, now);
            }
        }
    }

    /// Whether a vehicle that does not fly its plan yet still owns its granted way.
    fn keeps_way(
        &self,
        node: &NodeName,
        planned: &Planned,
        report: &Report,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        now: Moment,
    ) -> bool {
        let granted = self.granted_plans.get(node);
        let Some(granted) = granted.filter(|granted| granted.digest == planned.digest && !granted.stopped) else {
            return false;
        };
        takes_off(report)
            || (self.is_on_way(node, granted, report)
                && !self.has_outgrown(node, granted, planned)
                && self.come_into(node, &granted.way, vehicles, now).is_empty())
    }

    /// Whether home has moved since the grant, so that autopilots fly the rest at another altitude; or the vehicle turns wider at its places.
    fn has_outgrown(&self, node: &NodeName, granted: &Granted, planned: &Planned) -> bool {
        let moved = (granted.home_up - planned.way.start().up).abs() > WANDERS.1;
        moved || (planned.next.is_some() && self.claims.corners(node) > granted.corners)
    }

    /// The vehicle flies its plan. What it has [outgrown](Self::has_outgrown) is granted anew, or it stops.
    fn keep_flying(
        &mut self,
        node: &NodeName,
        planned: &Planned,
        (report, at): (&Report, Local),
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        now: Moment,
    ) {
        let granted = match self.granted_plans.get(node) {
            Some(granted) if granted.digest == planned.digest => granted.clone(),
            // Its agent flies what is written down; any other was never begun.
            _ => self.adopt(node, planned, (report, at), now),
        };
        if granted.stopped || !self.has_outgrown(node, &granted, planned) {
            if !granted.stopped {
                self.claims.claim_takeoff(node, None, now);
                let corners = self.claims.corners(node);
                if let Some(granted) = self.granted_plans.get_mut(node) {
                    granted.turns_within(corners);
                }
            }
            return;
        }
        self.grant_rest(node, planned, at, vehicles, now);
        if self.has_outgrown(node, &self.granted_plans[node], planned) {
            self.stop_plan(node, report);
        }
    }

    /// Grants the rest of its plan to a vehicle that holds or flies at `at`, as a route is granted.
    fn grant_rest(
        &mut self,
        node: &NodeName,
        planned: &Planned,
        at: Local,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        now: Moment,
    ) {
        let Some(rest) = &planned.next else { return };
        if self.wait_for_accuracy(node, "does not go on with its plan") {
            return;
        }
        if self.keeps_clear(node).is_some() {
            return;
        }
        let held = match self.claims.fit(node, now) {
            Ok((held, false)) => held,
            Ok((_, true)) => return,
            Err(NotFit::UnderWay) => at,
            Err(NotFit::NotOurs) => {
                let why = "waits until its agent has let go of its plan";
                self.waiting.insert(node.clone(), why.to_owned());
                return;
            }
            Err(why) => {
                self.waiting
                    .insert(node.clone(), format!("does not go on with its plan: {why}"));
                return;
            }
        };
        let expected = vehicles.get(node).and_then(|expected| expected.report);
        let top = expected.and_then(|(report, _)| climbs_first(report, at, *rest.places.first()?));
        let Ok(way) = Route::along([at].into_iter().chain(top).chain(rest.places.iter().copied())) else {
            return;
        };
        let home = expected.and_then(|(report, _)| self.home(report)).map(|home| home.up);
        let homes: BTreeMap<NodeName, f64> = home.into_iter().map(|home| (node.clone(), home)).collect();
        let first = Route::along([at].into_iter().chain(top).chain(rest.places.first().copied()));
        let fenced = first
            .ok()
            .map(|first| kept_within(self.frame, self.fences.as_ref(), &homes)(node, &first));
        if self.fences.is_none() {
            self.waiting
                .insert(node.clone(), format!("does not go on with its plan: {FENCES_UNKNOWN}"));
            return;
        }
        let barred = planned.barred.clone().or_else(|| fenced.and_then(Result::err));
        // On its own way it may go on along a hole.
        let on_way = rest
            .places
            .first()
            .is_some_and(|next| leads(&planned.way, at, *next, self.usual_margin()));
        let barred = barred.filter(|_| !on_way);
        if let Some(why) = barred {
            let why = format!("cannot go on with its plan from where it is: {why}");
            self.waiting.insert(node.clone(), why.clone());
            self.takeoffs.barred.insert(node.clone(), why);
            return;
        }
        let mut others = self.claims.in_the_way(node, &way);
        if held.over_ground(at) > WANDERS.0 {
            others.extend(self.claims.in_the_way(node, &Route::hold(held)));
        }
        if !others.is_empty() {
            let note = self.corners_note(node, &others);
            self.waiting
                .insert(node.clone(), sentence(&Waiting::For(others)) + &note);
            return;
        }
        if let Some(other) = self.station_above(node, &way, vehicles) {
            let lies = self.lies_below(node, &other);
            let why = format!("does not go on with its plan: the rest of its way {lies}");
            self.waiting.insert(node.clone(), why);
            return;
        }
        self.claims.claim_takeoff(node, Some(way.clone()), now);
        let granted = Granted {
            digest: planned.digest.clone(),
            way,
            home_up: planned.way.start().up,
            corners: self.claims.corners(node),
            stopped: false,
            unasked: Unasked::default(),
        };
        self.granted_plans.insert(node.clone(), granted);
    }

    /// The vehicle does not fly its plan any more. The grant stays while its agent may begin to fly it.
    fn take_back_plan(&mut self, node: &NodeName, report: &Report, now: Moment) {
        if names_one(report) && !in_other_hands(report) {
            if let Some(granted) = self.granted_plans.get_mut(node) {
                granted.stopped = true;
            }
            return;
        }
        if self.granted_plans.remove(node).is_some() {
            self.claims.claim_takeoff(node, None, now);
        }
    }

    /// Has a vehicle that flies its plan, or climbs for it, hold: its order drops the plan. Returns whether it did.
    pub(super) fn stop_plan(&mut self, node: &NodeName, report: &Report) -> bool {
        let granted = self
            .granted_plans
            .get_mut(node)
            .filter(|granted| holds(report, &granted.digest));
        let stops = granted.is_some() && (report.plan.flying || climbs(report));
        if let Some(granted) = granted.filter(|_| stops) {
            granted.stopped = true;
        }
        stops
    }
}

/// Whether the vehicle flies the plan `digest`, which its Mission has written down: the leader that ordered it had it granted.
pub fn flies_as_written(digest: &PlanDigest, report: &Report) -> bool {
    report.plan.flying && holds(report, digest) && !in_other_hands(report)
}
