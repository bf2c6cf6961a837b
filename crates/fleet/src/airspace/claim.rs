//! What is known of one vehicle, and the volume that follows.
//!
//!   Unheard --heard--> Ground, Air or Other
//!   Ground, Air --granted--> Air, the whole route --reports--> Air, what is left of it --its agent holds--> Air, one place
//!   any --its agent has taken the order and is down--> Ground;  any --its agent has let go of it--> Other
//!   any --its agent flies, or is to take off for, a plan that is not known here--> Unplanned --the plan is known--> Air

use super::beyond::{FORESEEN, Heard, back_to, descending, drift, failsafe, flies_on, returning};
use super::index::Key;
use super::{Around, Margin, Route, Rules, Tube, Volume};
use model::geo::Local;
use model::route_order::OrderNumber;
use model::time::Moment;
use model::units::Meters;
use std::time::Duration;

/// So long a report and an order take at most, together, when all is well.
const FOLLOWS: Duration = Duration::from_secs(2);

/// Vehicles slow down by this much at least when they are ordered to stop, meters per second for each second: ArduCopter's WPNAV_ACCEL is 2.5,
/// PX4's MPC_ACC_HOR 3.
const BRAKES: f64 = 2.0;

/// A vehicle is not ordered to stop nearer than this, meters: it would have to turn back.
const LEAST_STOP: f64 = 3.0;

/// A vehicle that left the airspace in which a program flew it has stopped once two reports since then show no more than this, meters per
/// second: from there it brakes within the margin of its claim.
const STOPPED: f64 = 1.0;

/// Only its agent keeps a vehicle that a program flies in its airspace. Without a report for so long that agent may have ended: reports come
/// once a second.
const LENT_HEARD_WITHIN: Duration = Duration::from_secs(2);

/// What is known of a vehicle before its first report.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its home. Where it is observed on the ground, it has its home.
    pub home: Local,
    /// The height at which its autopilot returns, meters above mean sea level.
    pub return_height: f64,
    /// Where it may be; `None`: anywhere.
    pub last: Option<Volume>,
}

/// What an agent says that its vehicle does.
#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    /// On the ground, disarmed, and not ordered to take off.
    Grounded,
    /// In the air, holding at this place by our order, and nothing else to fly.
    Holding { at: Local },
    /// In the air or about to be, flying this route by our order.
    Flying { route: Route },
    /// In the air or about to be, climbing or sinking along this way by an order without a route.
    Upright { way: Route },
    /// In the air, on the way home by its autopilot's own return (RTL), whoever ordered it.
    Returning,
    /// In the air, and its autopilot lands it where it is (LAND), by order or by itself; a pilot may steer it.
    Descending,
    /// In the air, and Skein does not fly it: a pilot or a failsafe does, or it is not known. The agent has dropped any route.
    Other,
    /// Flying a plan of ours, or on the ground and ordered to fly one, of which it is not known here where it leads.
    Unplanned { in_air: bool },
}

/// One report of an agent, as far as airspace goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// When the vehicle was there, by the latest that it can have been: when the report arrived, less the age of the position in it.
    pub heard: Moment,
    pub at: Local,
    pub accuracy: Margin,
    /// The last order that the agent took.
    pub order: OrderNumber,
    pub doing: Doing,
}

/// Why a vehicle cannot be given a route now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFit {
    /// It is not known here.
    #[error("the vehicle is not known")]
    Unknown,
    /// Not heard, or not lately.
    #[error("the vehicle was not heard lately")]
    Silent,
    /// Skein does not fly it.
    #[error("somebody else flies the vehicle, or a failsafe does")]
    NotOurs,
    /// It is outside what it owns.
    #[error("the vehicle is not where it should be")]
    Astray,
    #[error("the vehicle is on its way")]
    UnderWay,
    /// It has nothing to fly that it could stop on.
    #[error("the vehicle flies no route on which it could stop")]
    Unstoppable,
    #[error("the route does not begin where the vehicle is")]
    StartsElsewhere,
}

/// A vehicle whose volume changes as time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsteady {
    /// It is not heard.
    Silent,
    /// Skein does not fly it.
    NotOurs,
    /// It is outside what it owns.
    Astray,
}

impl Heard {
    fn speed(&self) -> f64 {
        speed(self.velocity)
    }

    /// How far it flies on until it has stopped, when it is ordered to stop, meters.
    fn to_stop(&self) -> f64 {
        let speed = self.speed();
        LEAST_STOP + speed * FOLLOWS.as_secs_f64() + speed * speed / (2.0 * BRAKES)
    }
}

/// From two reports; `None` from such as are far apart in time, of which nothing is concluded.
fn velocity(from: Local, to: Local, time: Duration) -> Option<[f64; 3]> {
    if time.is_zero() || time > FORESEEN {
        return None;
    }
    let far = [to.east - from.east, to.north - from.north, to.up - from.up];
    Some(far.map(|far| far / time.as_secs_f64()))
}

fn speed(velocity: [f64; 3]) -> f64 {
    velocity.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// What it does, as far as is known.
#[derive(Clone, Debug)]
pub(super) enum State {
    Unheard,
    Ground(Local),
    Air {
        way: Route,
        flying: bool,
    },
    /// With what it would fly if an order that is under way to it arrived.
    Other {
        way: Option<Route>,
        by_itself: ByItself,
    },
    /// By an order of ours it may be anywhere. With what it would fly if an order that is under way to it arrived.
    Unplanned {
        way: Option<Route>,
        in_air: bool,
    },
}

/// The action of the autopilot of a vehicle that Skein does not fly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByItself {
    Anything,
    Returns,
    Lands,
}

/// What one vehicle owns, and why.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) key: Key,
    pub(super) known: Known,
    pub(super) last: Option<Heard>,
    /// The last order that was granted.
    pub(super) granted: OrderNumber,
    /// The order by which it flies the route that it owns: that one, unless it was ordered to stop on its way.
    pub(super) flown: OrderNumber,
    pub(super) state: State,
    /// A route that its agent flies besides, by an order that is not the last: an agent that has lost its memory.
    also: Option<Route>,
    /// Where it may take off at any moment, by an order without a route.
    pub(super) takeoff: Option<Route>,
    /// The airspace in which a program flew it, until it was observed to have stopped.
    leaving: Option<Route>,
    /// The way down to its home, over which it is to land: by an order without a route, or by itself.
    pub(super) landing: Option<Route>,
    /// When it was reported to be on the ground without a place: first, where it was not ours to fly; last, where it stands.
    down: Option<Moment>,
}

impl Claim {
    /// Of a vehicle that was not heard yet.
    pub(super) fn unheard(key: Key, known: Known) -> Self {
        Self {
            key,
            known,
            last: None,
            granted: OrderNumber::default(),
            flown: OrderNumber::default(),
            state: State::Unheard,
            also: None,
            takeoff: None,
            leaving: None,
            landing: None,
            down: None,
        }
    }

    /// Where it is on the ground or holds, and whether it is on the ground.
    pub(super) fn place(&self) -> Option<(Local, bool)> {
        match &self.state {
            State::Ground(at) => Some((*at, true)),
            State::Air { way, flying: false } => Some((way.end(), false)),
            State::Air { .. } | State::Unheard | State::Other { .. } | State::Unplanned { .. } => None,
        }
    }

    /// Where it will be at last, as far as it is ours.
    pub(super) fn end(&self) -> Option<Local> {
        match &self.state {
            State::Ground(at) => Some(*at),
            State::Air { way, .. } => Some(way.end()),
            State::Unheard | State::Other { .. } | State::Unplanned { .. } => None,
        }
    }

    /// How far it may be from where it should be.
    pub(super) fn margin(&self, rules: &Rules) -> Margin {
        let usual = || rules.margin(rules.accuracy);
        self.last.as_ref().map_or_else(usual, |last| last.margin)
    }

    /// Takes note of a report that is newer than the last, or of where the plan leads by which that was made.
    pub(super) fn take_in(&mut self, observed: Observation, rules: &Rules) {
        let margin = rules.margin(observed.accuracy);
        // The order that was granted last is still under way to the agent: what it allows stays claimed.
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
                    State::Ground(at) if at.over_ground(observed.at) <= margin.horizontal.0 => at,
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
                // What is left of the claim, by the first place where the vehicle may be.
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
            // Nothing is left of a route then; where it climbs or sinks already, what is left of that.
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
            velocity: velocity.unwrap_or_default(),
        });
        // What two reports do not show is not known. One that flew to and fro may be back where it was.
        let has_stopped = left_before && shown.is_some_and(|shown| speed(shown) <= STOPPED);
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

    /// Whether a program may fly it, or flew it and it was not observed to have stopped since.
    pub(super) const fn is_lent(&self) -> bool {
        self.room().is_some() || self.leaving.is_some()
    }

    /// Whether it has left the airspace in which a program flew it, and was not observed to have stopped since.
    pub(super) const fn leaves(&self) -> bool {
        self.leaving.is_some()
    }

    /// Where it is about to be: its place, or what it flies until it could stop and some seconds beyond; `None` on the ground, and for one
    /// of which nothing is known.
    pub(super) fn ahead(&self, now: Moment, rules: &Rules) -> Option<Volume> {
        let last = self.last.as_ref()?;
        match &self.state {
            State::Air { way, .. } if self.unsteady(now, rules).is_none() => {
                let far = last.to_stop() + last.speed() * FORESEEN.as_secs_f64();
                Some(way.first(far).volume(last.margin))
            }
            State::Air { .. } | State::Other { .. } | State::Unplanned { in_air: true, .. } => {
                self.foreseen(now, rules)
            }
            State::Unheard | State::Ground(_) | State::Unplanned { in_air: false, .. } => None,
        }
    }

    /// Whether it flies as it was granted, and its place is known worse than `rules` assume.
    pub(super) fn is_wide(&self, rules: &Rules) -> bool {
        let (margin, usual) = (self.margin(rules), rules.margin(rules.accuracy));
        let is_wide = margin.horizontal > usual.horizontal || margin.vertical > usual.vertical;
        is_wide && matches!(self.state, State::Air { .. })
    }

    /// Where it may be soon that keeps to its route or its place in the air as far as it knows, but knows its place worse than `rules` assume;
    /// `None` for any other.
    pub(super) fn grown(&self, now: Moment, rules: &Rules) -> Option<Volume> {
        let last = self.last.as_ref()?;
        let State::Air { way, .. } = &self.state else {
            return None;
        };
        if !self.is_wide(rules) || self.unsteady(now, rules).is_some() {
            return None;
        }
        let far = last.to_stop() + last.speed() * FORESEEN.as_secs_f64();
        // What wind and control do is in the margin of the other.
        let accuracy = Margin {
            horizontal: Meters(last.margin.horizontal.0 - rules.off_by.horizontal.0),
            vertical: Meters(last.margin.vertical.0 - rules.off_by.vertical.0),
        };
        Some(way.first(far).volume(accuracy))
    }

    /// Where it will be soon, if it flies on as observed, and on its whole way home if its autopilot returns; `None`: nothing is known of it.
    pub(super) fn foreseen(&self, now: Moment, rules: &Rules) -> Option<Volume> {
        let last = self.last.as_ref()?;
        let turns = matches!(self.state, State::Other { .. } | State::Unplanned { .. });
        let ahead = Volume::Tubes(vec![flies_on(last, turns, rules, self.moves_until(now))]);
        let State::Other { by_itself, .. } = &self.state else {
            return Some(ahead);
        };
        Some(match by_itself {
            ByItself::Returns => ahead.and(returning(last, self.known.home, self.known.return_height)),
            ByItself::Lands => ahead.and(descending(last, self.known.home)),
            ByItself::Anything => ahead,
        })
    }

    /// Whether `observed`, which was there when the vehicle was heard last, says where it goes of which that was not known.
    pub(super) fn explains(&self, observed: &Observation) -> bool {
        let same = self.last.as_ref().is_some_and(|last| observed.heard == last.heard);
        let known = !matches!(observed.doing, Doing::Unplanned { .. });
        same && known && matches!(self.state, State::Unplanned { .. })
    }

    /// Whether its autopilot brings it home.
    pub(super) const fn returns(&self) -> bool {
        let State::Other { by_itself, .. } = &self.state else {
            return false;
        };
        matches!(by_itself, ByItself::Returns)
    }

    /// The part of its route on which it can stop. Its agent must know no other order.
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

    /// What is left of its route after the place where it can stop.
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

    /// Why its volume grows, if it does.
    pub(super) fn unsteady(&self, now: Moment, rules: &Rules) -> Option<Unsteady> {
        let last = self.last.as_ref()?;
        let silent = now.since(last.heard) > rules.silent_after;
        match &self.state {
            State::Unheard | State::Ground(_) | State::Unplanned { in_air: false, .. } => None,
            State::Other { .. } | State::Unplanned { in_air: true, .. } => Some(Unsteady::NotOurs),
            State::Air { .. } if silent => Some(Unsteady::Silent),
            State::Air { way, .. } => {
                (self.also.is_some() || !way.has(last.at, last.margin)).then_some(Unsteady::Astray)
            }
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
                let radius = last.margin.horizontal.0 - rules.off_by.horizontal.0;
                let column = Tube::around(&[*at], radius, last.margin.vertical.0, rules.column.0);
                Volume::Tubes(vec![column.on_the_ground()])
            }
            State::Air { way, .. } => way.volume(last.margin),
            State::Other { way, by_itself } => {
                let heard = now.since(last.heard) <= rules.silent_after;
                let there = match (by_itself, self.foreseen(now, rules)) {
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
                let falls_back = failsafe(way, self.known.home, self.known.return_height, last.margin);
                let claimed = claimed.and(falls_back);
                // By the last set-point of a program it flies on, out of its airspace, and nobody is there to stop it.
                if way.has(last.at, last.margin) && !self.is_lent() {
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
