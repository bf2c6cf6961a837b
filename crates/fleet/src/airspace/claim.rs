//! What is known of one vehicle, and the volume that follows.
//!
//!   Unheard --heard--> Ground, Air or Other
//!   Ground, Air --granted--> Air, the whole route --reports--> Air, what is left of it --its agent holds--> Air, one place
//!   any --its agent has taken the order and is down--> Ground;  any --its agent has let go of it--> Other
//!   any --its agent flies, or is to take off for, a plan that is not known here--> Unplanned --the plan is known--> Air

use super::beyond::{Heard, PREDICTION_TIME, ReturnHeight, back_to, descending, drift, failsafe, flies_on, returning};
use super::index::Key;
use super::{Around, Margin, Route, Rules, Tube, Volume};
use model::geo::Local;
use model::route_order::OrderNumber;
use model::time::Moment;
use model::units::Meters;
use std::time::Duration;

/// Longest time of a report and an order together, when all is well.
const ORDER_LATENCY: Duration = Duration::from_secs(2);

/// Least deceleration after an order to stop: ArduCopter's WPNAV_ACCEL is 2.5, PX4's MPC_ACC_HOR 3.
const MIN_BRAKING_M_S2: f64 = 2.0;

/// Least stopping distance: nearer, it would have to turn back.
const MIN_STOP_M: f64 = 3.0;

/// A vehicle that left a program's airspace has stopped at this speed between two reports, meters per second: its claim's margin covers the
/// rest.
const STOPPED_SPEED_M_S: f64 = 1.0;

/// Only its agent keeps a lent vehicle in its airspace. After this silence that agent may have ended: reports come once a second.
const LENT_HEARD_WITHIN: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The place where it is observed on the ground, if it is.
    pub home: Local,
    pub return_height: ReturnHeight,
    /// `None`: anywhere.
    pub last: Option<Volume>,
}

/// Observations by a neighboring site of a vehicle that is not observed here, in the frame of this site.
#[derive(Clone, Debug)]
pub struct Neighbor {
    pub at: Local,
    /// Meters per second east, north and up.
    pub velocity: [f64; 3],
    /// Where it will be soon, if it does not keep to its claim there.
    pub foreseen: Option<Volume>,
    /// Whether it keeps to that by its own estimate, with a larger error than usual.
    pub has_grown: bool,
    pub returns: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    /// Disarmed, and not ordered to take off.
    Grounded,
    /// In the air at this place by our order, and nothing else to fly.
    Holding { at: Local },
    /// In the air or about to be, on this route by our order.
    Flying { route: Route },
    /// In the air or about to be, climbing or sinking along this way by an order without a route.
    Upright { way: Route },
    /// In the air, in its autopilot's own return (RTL), whoever ordered it.
    Returning,
    /// In the air, and its autopilot lands it where it is (LAND), by order or by itself; a pilot may steer it.
    Descending,
    /// In the air, flown by a pilot or a failsafe, or not known. The agent has dropped any route.
    Other,
    /// Flies a plan of ours, or is on the ground and ordered to, whose path is not known here.
    Unplanned { in_air: bool },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The latest time that the vehicle can have been there: arrival of the report, less the age of its position.
    pub heard: Moment,
    pub at: Local,
    pub accuracy: Margin,
    pub order: OrderNumber,
    pub doing: Doing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFit {
    #[error("the vehicle is not known")]
    Unknown,
    #[error("the vehicle was not heard lately")]
    Silent,
    #[error("somebody else flies the vehicle, or a failsafe does")]
    NotOurs,
    #[error("the vehicle is not where it should be")]
    Astray,
    #[error("the vehicle is on its way")]
    UnderWay,
    #[error("the vehicle flies no route on which it could stop")]
    Unstoppable,
    #[error("the route does not begin where the vehicle is")]
    StartsElsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsteady {
    Silent,
    NotOurs,
    /// It is outside its claim.
    Astray,
}

impl Neighbor {
    pub(crate) fn placed(self, place: impl Fn([f64; 2]) -> [f64; 2]) -> Self {
        let [east, north] = place([self.at.east, self.at.north]);
        let up = self.at.up;
        Self {
            at: Local { east, north, up },
            foreseen: self.foreseen.map(|volume| volume.placed(place)),
            ..self
        }
    }
}

impl Heard {
    fn speed(&self) -> f64 {
        speed(self.velocity)
    }

    /// Stopping distance from the order to stop, meters.
    fn to_stop(&self) -> f64 {
        let speed = self.speed();
        MIN_STOP_M + speed * ORDER_LATENCY.as_secs_f64() + speed * speed / (2.0 * MIN_BRAKING_M_S2)
    }
}

/// `None` for reports too far apart in time.
fn velocity(from: Local, to: Local, time: Duration) -> Option<[f64; 3]> {
    if time.is_zero() || time > PREDICTION_TIME {
        return None;
    }
    let far = [to.east - from.east, to.north - from.north, to.up - from.up];
    Some(far.map(|far| far / time.as_secs_f64()))
}

const fn wider(margin: Margin, by: Meters) -> Margin {
    Margin {
        horizontal: Meters(margin.horizontal.0 + by.0),
        vertical: margin.vertical,
    }
}

fn speed(velocity: [f64; 3]) -> f64 {
    velocity.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[derive(Clone, Debug)]
pub(super) enum State {
    Unheard,
    Ground(Local),
    Air {
        way: Route,
        flying: bool,
    },
    /// With the route of an order that is still on its way.
    Other {
        way: Option<Route>,
        by_itself: ByItself,
    },
    /// By an order of ours it may be anywhere. With the route of an order that is still on its way.
    Unplanned {
        way: Option<Route>,
        in_air: bool,
    },
}

/// What its autopilot does by itself, when Skein does not fly the vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByItself {
    Anything,
    Returns,
    Lands,
}

#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) key: Key,
    pub(super) known: Known,
    pub(super) last: Option<Heard>,
    /// Only counts while it is not observed here.
    pub(super) neighbor: Option<Neighbor>,
    pub(super) granted: OrderNumber,
    /// The order of its route: `granted`, unless it was ordered to stop on its way.
    pub(super) flown: OrderNumber,
    pub(super) state: State,
    /// A second route that its agent flies by an earlier order: that agent lost its memory.
    also: Option<Route>,
    /// Where it may take off at any moment, by an order without a route.
    pub(super) takeoff: Option<Route>,
    /// The airspace in which a program flew it, until it is observed to have stopped.
    leaving: Option<Route>,
    /// The way down to its home, by an order without a route, or by itself.
    pub(super) landing: Option<Route>,
    /// How much farther it strays at the places of its plan than [`Rules::off_by`].
    corners: Meters,
    /// Whether its autopilot may return elsewhere than straight home, as it may until that was read.
    detours: bool,
    /// When it was reported to be on the ground without a place: first, where it was not ours to fly; last, where it stands.
    down: Option<Moment>,
}

impl Claim {
    pub(super) fn unheard(key: Key, known: Known) -> Self {
        Self {
            key,
            known,
            last: None,
            neighbor: None,
            granted: OrderNumber::default(),
            flown: OrderNumber::default(),
            state: State::Unheard,
            also: None,
            takeoff: None,
            leaving: None,
            landing: None,
            corners: Meters(0.0),
            detours: true,
            down: None,
        }
    }

    pub(super) fn neighbor(&self) -> Option<&Neighbor> {
        self.neighbor.as_ref().filter(|_| self.last.is_none())
    }

    /// Where it holds or is on the ground, and whether it is on the ground.
    pub(super) fn place(&self) -> Option<(Local, bool)> {
        match &self.state {
            State::Ground(at) => Some((*at, true)),
            State::Air { way, flying: false } => Some((way.end(), false)),
            State::Air { .. } | State::Unheard | State::Other { .. } | State::Unplanned { .. } => None,
        }
    }

    pub(super) fn end(&self) -> Option<Local> {
        match &self.state {
            State::Ground(at) => Some(*at),
            State::Air { way, .. } => Some(way.end()),
            State::Unheard | State::Other { .. } | State::Unplanned { .. } => None,
        }
    }

    pub(super) fn margin(&self, rules: &Rules) -> Margin {
        let usual = || rules.margin(rules.accuracy);
        self.last.as_ref().map_or_else(usual, |last| last.margin)
    }

    pub(super) const fn corners(&self) -> Meters {
        self.corners
    }

    pub(super) const fn detours(&self) -> bool {
        self.detours
    }

    pub(super) const fn takes_detours(&mut self, detours: bool) {
        self.detours = detours;
    }

    pub(super) const fn cuts_corners(&mut self, by: Meters) {
        self.corners = by;
        if let Some(last) = &mut self.last {
            last.margin = wider(last.at_rest, by);
        }
    }

    /// Takes in a report that is newer than the last, or newly known path of its plan.
    pub(super) fn take_in(&mut self, observed: Observation, rules: &Rules) {
        let at_rest = rules.margin(observed.accuracy);
        let margin = wider(at_rest, self.corners);
        // The last granted order is still on its way to the agent: its airspace stays claimed.
        let under_way = observed.order < self.granted;
        self.also = None;
        self.down = None;
        let (left, left_before) = match &self.state {
            State::Air { way, .. } if way.room().is_some() => (Some(way.clone()), false),
            _ => (self.leaving.take(), true),
        };
        match observed.doing {
            Doing::Grounded => {
                let stays = match self.state {
                    // Its altitude wavers within the margin, and drifts far beyond it with the pressure of the air.
                    State::Ground(at) if at.over_ground(observed.at) <= at_rest.horizontal.0 => {
                        let is_level = (at.up - observed.at.up).abs() <= margin.vertical.0;
                        at.at_height(if is_level { at.up } else { observed.at.up })
                    }
                    _ => observed.at,
                };
                self.known.home = stays;
                if !under_way {
                    self.state = State::Ground(stays);
                }
            }
            Doing::Holding { at } => {
                if !under_way {
                    let way = Route::hold(at);
                    self.state = State::Air { way, flying: false };
                }
            }
            Doing::Flying { route } => match &self.state {
                // The rest of the claim, from the first place where the vehicle may be.
                State::Air { way, flying: true } if observed.order == self.flown => {
                    let way = way.from(observed.at, margin);
                    self.state = State::Air { way, flying: true };
                }
                _ if under_way => self.also = Some(route),
                _ => {
                    let way = route.from(observed.at, margin);
                    self.state = State::Air { way, flying: true };
                    (self.granted, self.flown) = (observed.order, observed.order);
                }
            },
            // No route is left; for one that climbs or sinks already, the rest of that.
            Doing::Upright { way } => match &self.state {
                State::Air {
                    way: left,
                    flying: true,
                } if observed.order == self.flown && left.is_upright_to(way.end()) => {
                    let way = left.from(observed.at, margin);
                    self.state = State::Air { way, flying: true };
                }
                _ if under_way => self.also = Some(way),
                _ => {
                    let way = way.from(observed.at, margin);
                    self.state = State::Air { way, flying: true };
                    (self.granted, self.flown) = (observed.order, observed.order);
                }
            },
            Doing::Other | Doing::Returning | Doing::Descending | Doing::Unplanned { .. } => {
                let way = match &self.state {
                    State::Air { way, .. } if under_way => Some(way.clone()),
                    State::Other { way, .. } | State::Unplanned { way, .. } if under_way => way.clone(),
                    _ => None,
                };
                let other = |way, by_itself| State::Other { way, by_itself };
                self.state = match observed.doing {
                    Doing::Unplanned { in_air } => State::Unplanned { way, in_air },
                    Doing::Returning => other(way, ByItself::Returns),
                    Doing::Descending => other(way, ByItself::Lands),
                    _ => other(way, ByItself::Anything),
                };
            }
        }
        let moved = |last: &Heard| velocity(last.at, observed.at, observed.heard.since(last.heard));
        let shown = self.last.as_ref().and_then(moved);
        let same = self.last.as_ref().filter(|last| last.heard == observed.heard);
        let velocity = shown.or_else(|| same.map(|last| last.velocity));
        self.last = Some(Heard {
            heard: observed.heard,
            at: observed.at,
            margin,
            at_rest,
            velocity: velocity.unwrap_or_default(),
        });
        // Unknown velocity is not stopped: a vehicle that flew to and fro may be back at its place.
        let has_stopped = left_before && shown.is_some_and(|shown| speed(shown) <= STOPPED_SPEED_M_S);
        let stays = matches!(&self.state, State::Air { way, .. } if way.room().is_some());
        let is_down = matches!(self.state, State::Ground(_));
        self.leaving = left.filter(|_| !stays && !is_down && !has_stopped);
    }

    /// Takes note that somebody else flies it, or that its autopilot `lands` it by itself, by a report that does not say where it was since it
    /// was heard last. `order` is the last that its agent took.
    pub(super) fn lose_sight(&mut self, order: OrderNumber, lands: bool) {
        let down = self.down.take();
        let way = match (&self.state, &mut self.last) {
            (State::Air { way, .. }, _) => (order < self.granted).then(|| way.clone()),
            // Until then it stood there.
            (State::Ground(_), Some(last)) => {
                last.heard = down.map_or(last.heard, |down| down.max(last.heard));
                None
            }
            _ => return,
        };
        let by_itself = if lands { ByItself::Lands } else { ByItself::Anything };
        self.also = None;
        self.state = State::Other { way, by_itself };
    }

    /// Takes note that it is on the ground, by a report of then that does not say where.
    pub(super) fn comes_down(&mut self, then: Moment) {
        self.down = match self.state {
            State::Other { .. } => self.down.or(Some(then)),
            State::Ground(_) => Some(then),
            State::Unheard | State::Air { .. } | State::Unplanned { .. } => None,
        };
    }

    /// Until when it may have gone on from where it was heard last: one that came down in other hands goes nowhere since.
    fn moves_until(&self, now: Moment) -> Moment {
        match self.state {
            State::Other { .. } => self.down.map_or(now, |down| down.min(now)),
            State::Unheard | State::Ground(_) | State::Air { .. } | State::Unplanned { .. } => now,
        }
    }

    /// The airspace around its place in which a program may fly it.
    pub(super) const fn room(&self) -> Option<Around> {
        match &self.state {
            State::Air { way, .. } => way.room(),
            State::Unheard | State::Ground(_) | State::Other { .. } | State::Unplanned { .. } => None,
        }
    }

    /// Also after a program flew it, until it is observed to have stopped.
    pub(super) const fn is_lent(&self) -> bool {
        self.room().is_some() || self.leaving.is_some()
    }

    /// Whether it left the airspace of a program, and was not observed to have stopped since.
    pub(super) const fn leaves(&self) -> bool {
        self.leaving.is_some()
    }

    /// Where it is about to be: its place, or its path until it could stop and some seconds beyond; `None` on the ground, and where nothing
    /// is known.
    pub(super) fn ahead(&self, now: Moment, rules: &Rules) -> Option<Volume> {
        let last = self.last.as_ref()?;
        match &self.state {
            State::Air { way, .. } if self.unsteady(now, rules).is_none() => {
                let far = last.to_stop() + last.speed() * PREDICTION_TIME.as_secs_f64();
                Some(way.first(far).volume(last.margin))
            }
            State::Air { .. } | State::Other { .. } | State::Unplanned { in_air: true, .. } => {
                self.foreseen(now, rules)
            }
            State::Unheard | State::Ground(_) | State::Unplanned { in_air: false, .. } => None,
        }
    }

    /// Whether it flies as granted, with a position error larger than `rules` assume.
    pub(super) fn is_wide(&self, rules: &Rules) -> bool {
        let usual = rules.margin(rules.accuracy);
        let margin = self.last.as_ref().map_or(usual, |last| last.at_rest);
        let is_wide = margin.horizontal > usual.horizontal || margin.vertical > usual.vertical;
        is_wide && matches!(self.state, State::Air { .. })
    }

    /// Where such a vehicle may be soon, if it keeps to its route or place by its own estimate; `None` for any other.
    pub(super) fn grown(&self, now: Moment, rules: &Rules) -> Option<Volume> {
        let last = self.last.as_ref()?;
        let State::Air { way, .. } = &self.state else {
            return None;
        };
        if !self.is_wide(rules) || self.unsteady(now, rules).is_some() {
            return None;
        }
        let far = last.to_stop() + last.speed() * PREDICTION_TIME.as_secs_f64();
        // The margin of the other covers wind and control.
        let accuracy = Margin {
            horizontal: Meters(last.margin.horizontal.0 - rules.off_by.horizontal.0),
            vertical: Meters(last.margin.vertical.0 - rules.off_by.vertical.0),
        };
        Some(way.first(far).volume(accuracy))
    }

    /// Where it will be soon if it flies on as observed, or all of its way home if its autopilot returns; `None`: nothing is known of it.
    pub(super) fn foreseen(&self, now: Moment, rules: &Rules) -> Option<Volume> {
        let last = self.last.as_ref()?;
        let turns = matches!(self.state, State::Other { .. } | State::Unplanned { .. });
        let ahead = Volume::Tubes(vec![flies_on(last, turns, rules, self.moves_until(now))]);
        let State::Other { by_itself, .. } = &self.state else {
            return Some(ahead);
        };
        Some(match by_itself {
            ByItself::Returns => ahead.and(returning(last, self.known.home, self.known.return_height.highest())),
            ByItself::Lands => ahead.and(descending(last, self.known.home)),
            ByItself::Anything => ahead,
        })
    }

    /// Whether `observed`, as old as the last report, adds a path that was not known.
    pub(super) fn explains(&self, observed: &Observation) -> bool {
        let same = self.last.as_ref().is_some_and(|last| observed.heard == last.heard);
        let known = !matches!(observed.doing, Doing::Unplanned { .. });
        same && known && matches!(self.state, State::Unplanned { .. })
    }

    pub(super) const fn returns(&self) -> bool {
        let State::Other { by_itself, .. } = &self.state else {
            return false;
        };
        matches!(by_itself, ByItself::Returns)
    }

    /// The part of its route on which it can stop; its agent must know no other order.
    pub(super) fn stop(&self) -> Option<Route> {
        let last = self.last.as_ref()?;
        match &self.state {
            State::Air { way, flying: true } if self.flown == self.granted => {
                let stop = way.first(last.to_stop());
                (stop.end() != way.end()).then_some(stop)
            }
            _ => None,
        }
    }

    pub(super) fn rest(&self, stop: &Route) -> Option<Route> {
        const ON_IT: Margin = Margin {
            horizontal: Meters(0.1),
            vertical: Meters(0.1),
        };
        match &self.state {
            State::Air { way, .. } => Some(way.from(stop.end(), ON_IT)),
            _ => None,
        }
    }

    /// `None`: its volume does not grow.
    pub(super) fn unsteady(&self, now: Moment, rules: &Rules) -> Option<Unsteady> {
        let last = self.last.as_ref()?;
        let silent = now.since(last.heard) > rules.silent_after;
        match &self.state {
            State::Unheard | State::Ground(_) | State::Unplanned { in_air: false, .. } => None,
            State::Other { .. } | State::Unplanned { in_air: true, .. } => Some(Unsteady::NotOurs),
            State::Air { .. } if silent => Some(Unsteady::Silent),
            State::Air { .. } => self.is_off_its_way().then_some(Unsteady::Astray),
        }
    }

    /// Whether it was last heard where no order of ours that is known here leads, silent since or not.
    pub(super) fn is_off_its_way(&self) -> bool {
        match (&self.state, &self.last) {
            (State::Air { way, .. }, Some(last)) => self.also.is_some() || !way.has(last.at, last.margin),
            _ => false,
        }
    }

    pub(super) fn volume(&self, now: Moment, rules: &Rules) -> Volume {
        let Some(last) = &self.last else {
            return self.known.last.clone().unwrap_or(Volume::Everywhere);
        };
        let until = self.moves_until(now);
        let drifts = |then| Volume::Tubes(vec![drift(last.at, last.margin, then, until, rules)]);
        let claimed = match &self.state {
            State::Unheard | State::Unplanned { .. } => Volume::Everywhere,
            State::Ground(at) => {
                let radius = last.at_rest.horizontal.0 - rules.off_by.horizontal.0;
                let column = Tube::around(&[*at], radius, last.margin.vertical.0, rules.column.0);
                Volume::Tubes(vec![column.on_the_ground()])
            }
            State::Air { way, .. } => way.volume(last.margin),
            State::Other { way, by_itself } => {
                let heard = now.since(last.heard) <= rules.silent_after;
                let there = match (by_itself, self.foreseen(now, rules)) {
                    (ByItself::Returns, Some(home)) if heard && self.detours => home.and(drifts(last.heard)),
                    (ByItself::Returns, Some(home)) if heard => home,
                    (ByItself::Lands, _) => drifts(last.heard).and(descending(last, self.known.home)),
                    _ => drifts(last.heard),
                };
                way.iter().fold(there, |there, way| there.and(way.volume(last.margin)))
            }
        };
        let besides = self
            .also
            .iter()
            .chain(&self.takeoff)
            .chain(&self.landing)
            .chain(&self.leaving);
        let claimed = besides.fold(claimed, |claimed, route| claimed.and(route.volume(last.margin)));
        match (self.unsteady(now, rules), &self.state) {
            (Some(Unsteady::Astray), State::Air { way, .. }) => {
                let back = Volume::Tubes(vec![back_to(way, last.at, last.margin)]);
                claimed.and(drifts(last.heard)).and(back)
            }
            (Some(Unsteady::Silent), State::Air { way, .. }) => {
                let returns_at = self.known.return_height.highest();
                let falls_back = failsafe(way, self.known.home, returns_at, last.margin);
                let claimed = claimed.and(falls_back);
                // A program's last set-point would carry it on, out of its airspace, and nobody stops it there.
                if way.has(last.at, last.margin) && !self.is_lent() && !self.detours {
                    claimed
                } else {
                    claimed.and(drifts(last.heard))
                }
            }
            _ if self.is_lent() && now.since(last.heard) > LENT_HEARD_WITHIN => claimed.and(drifts(last.heard)),
            _ => claimed,
        }
    }
}
