//! A simple world to try plans in: vehicles that follow orders, a network that loses and delays, and an oracle.
//!
//! Owns: the truth, and how near vehicles really come to each other. Must not: use the geometry of `airspace`: distances are measured
//! through the Earth, between positions.

use crate::airspace::{Claims, Doing, Known, Margin, Observation, ReturnHeight, Route, Rules};
use crate::planning::movement::{Goal, Layers, Plan, plan};
use model::geo::{Frame, Local};
use model::ids::{NodeName, Term};
use model::route_order::OrderNumber;
use model::time::Moment;
use model::units::Meters;
use std::collections::BTreeMap;
use std::time::Duration;

/// Seconds.
const STEP: f64 = 0.1;

pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + self.share() * (high - low)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        ((self.share() * end as f64) as usize).min(end - 1)
    }

    pub(super) fn happens(&mut self, share: f64) -> bool {
        self.share() < share
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trouble {
    /// Share of messages.
    pub lost: f64,
    /// Largest delay of messages, seconds.
    pub late: f64,
    /// Mean time between changes of the leader, seconds; 0: never.
    pub leaders: f64,
    /// Share of agents that are silent for a time, at any time.
    pub silent: f64,
}

pub(super) const NO_TROUBLE: Trouble = Trouble {
    lost: 0.0,
    late: 0.0,
    leaders: 0.0,
    silent: 0.0,
};

struct Flyer {
    name: NodeName,
    home: Local,
    /// The autopilot's own position, without its wander.
    at: Local,
    flying: bool,
    route: Option<(Route, usize)>,
    lands: bool,
    order: OrderNumber,
    term: Term,
    speed: f64,
    phase: f64,
    silent_until: f64,
    next_report: f64,
}

impl Flyer {
    /// Where the autopilot keeps it, by its own estimate: off the path by wind.
    fn reckoned(&self, now: f64, rules: &Rules) -> Local {
        let off = 0.65 * rules.off_by.horizontal.0;
        let up = 0.65 * rules.off_by.vertical.0;
        if !self.flying {
            return self.at;
        }
        let angle = self.phase + now * 0.7;
        self.at
            .shifted(off * angle.cos(), off * angle.sin())
            .at_height(self.at.up + up * (angle * 1.3).sin())
    }

    /// The true place: the estimate is wrong.
    fn really(&self, now: f64, rules: &Rules) -> Local {
        let reckoned = self.reckoned(now, rules);
        let angle = self.phase * 2.0 + now * 0.11;
        let far = 0.99 * rules.accuracy.horizontal.0;
        let up = 0.99 * rules.accuracy.vertical.0;
        let flies = if self.flying { up * (angle * 0.9).cos() } else { 0.0 };
        reckoned
            .shifted(far * angle.cos(), far * angle.sin())
            .at_height(reckoned.up + flies)
    }

    fn fly(&mut self) {
        let Some((route, leg)) = &mut self.route else { return };
        let Some(to) = route.places().get(*leg).copied() else {
            self.flying = !self.lands;
            self.at = route.end();
            return;
        };
        self.flying = true;
        let (e, n, u) = (to.east - self.at.east, to.north - self.at.north, to.up - self.at.up);
        let far = (e * e + n * n + u * u).sqrt();
        let upright = e.hypot(n) < 0.5;
        let step = STEP * if upright { self.speed * 0.4 } else { self.speed };
        if far <= step.max(0.25) {
            *leg += 1;
            return;
        }
        let share = step / far;
        self.at = self.at.shifted(e * share, n * share).at_height(self.at.up + u * share);
    }

    fn doing(&self) -> Doing {
        match &self.route {
            Some((route, leg)) if *leg < route.places().len() => Doing::Flying { route: route.clone() },
            Some((route, _)) if self.flying => Doing::Holding { at: route.end() },
            None if self.flying => Doing::Holding { at: self.at },
            Some(_) | None => Doing::Grounded,
        }
    }
}

type Order = (usize, OrderNumber, Route, bool);

pub(super) struct World {
    pub rules: Rules,
    pub layers: Layers,
    pub goals: BTreeMap<NodeName, Goal>,
    pub claims: Claims,
    pub routes: usize,
    pub now: f64,
    /// The least distance as a share of the separation: below 1 is too near.
    pub nearest: f64,
    frame: Frame,
    flyers: Vec<Flyer>,
    trouble: Trouble,
    dice: Dice,
    orders: BTreeMap<usize, (OrderNumber, Route, bool)>,
    orders_under_way: Vec<(f64, Order)>,
    reports_under_way: Vec<(f64, Term, NodeName, Observation)>,
    term: Term,
    next_leader: f64,
}

fn moment(seconds: f64) -> Moment {
    Moment::at(Duration::from_secs_f64(seconds))
}

pub(super) fn name(number: usize) -> NodeName {
    NodeName::parse(&format!("v-{number:04}")).unwrap()
}

impl World {
    pub(super) fn new(
        frame: Frame,
        rules: Rules,
        layers: Layers,
        places: &[(Local, bool)],
        trouble: Trouble,
        seed: u64,
    ) -> Self {
        let mut dice = Dice::new(seed);
        let flyer = |(number, (at, flying)): (usize, &(Local, bool))| Flyer {
            name: name(number),
            home: at.at_height(0.0),
            at: *at,
            flying: *flying,
            route: None,
            lands: false,
            order: OrderNumber::default(),
            term: Term(1),
            speed: dice.within(2.0, 6.0),
            phase: dice.within(0.0, 6.3),
            silent_until: 0.0,
            next_report: 0.0,
        };
        let flyers = places.iter().enumerate().map(flyer).collect();
        let mut world = Self {
            rules,
            layers,
            goals: BTreeMap::new(),
            claims: Claims::new(Term(1), rules),
            routes: 0,
            now: 0.0,
            nearest: f64::INFINITY,
            frame,
            flyers,
            trouble,
            dice,
            orders: BTreeMap::new(),
            orders_under_way: Vec::new(),
            reports_under_way: Vec::new(),
            term: Term(0),
            next_leader: 0.0,
        };
        world.lead();
        world
    }

    /// It knows nothing but which vehicles there are.
    fn lead(&mut self) {
        self.term = Term(self.term.0 + 1);
        self.claims = Claims::new(self.term, self.rules);
        self.orders.clear();
        for flyer in &self.flyers {
            let known = Known {
                home: flyer.home,
                return_height: ReturnHeight::Read(1000.0),
                last: None,
            };
            self.claims.expect(flyer.name.clone(), known, moment(self.now));
            self.claims.takes_detours(&flyer.name, false, moment(self.now));
        }
        let mean = self.trouble.leaders;
        self.next_leader = if mean > 0.0 {
            self.now + self.dice.within(0.5, 1.5) * mean
        } else {
            f64::INFINITY
        };
    }

    pub(super) fn arrived(&self) -> bool {
        self.flyers.iter().all(|flyer| {
            let Some(goal) = self.goals.get(&flyer.name) else {
                return true;
            };
            let there = flyer.at.over_ground(goal.at) < 0.5 && (flyer.at.up - goal.at.up).abs() < 0.5;
            let done = !matches!(flyer.doing(), Doing::Flying { .. });
            there && done && flyer.flying != goal.lands
        })
    }

    pub(super) fn drawn(&self) -> String {
        let line = |flyer: &Flyer| {
            let goal = self.goals.get(&flyer.name);
            let Local { east, north, up } = flyer.at;
            let to = goal.map_or(String::new(), |g| {
                format!("{:.1} {:.1} {:.1} lands {}", g.at.east, g.at.north, g.at.up, g.lands)
            });
            format!(
                "\n{} at {east:.1} {north:.1} {up:.1} flies {} to {to}",
                flyer.name, flyer.flying
            )
        };
        self.flyers.iter().map(line).collect()
    }

    /// One second: reports, plan, orders, flight.
    pub(super) fn second(&mut self) -> Plan {
        if self.now >= self.next_leader {
            self.lead();
        }
        self.deliver_reports();
        self.claims.advance(moment(self.now));
        let plan = plan(
            &mut self.claims,
            &self.goals,
            &self
                .goals
                .keys()
                .map(|name| (name.clone(), self.layers.clone()))
                .collect(),
            &|_, _| Ok(()),
            moment(self.now),
        );
        self.routes += plan.permits.len();
        for permit in &plan.permits {
            let number = self.flyers.iter().position(|f| f.name == *permit.vehicle()).unwrap();
            let lands = permit.route().end().up < 0.5;
            self.orders
                .insert(number, (permit.number(), permit.route().clone(), lands));
        }
        self.send_orders();
        for _ in 0..(1.0 / STEP) as usize {
            self.step();
        }
        plan
    }

    fn send_orders(&mut self) {
        for (flyer, (number, route, lands)) in self.orders.clone() {
            if !self.dice.happens(self.trouble.lost) {
                let at = self.now + self.dice.within(0.0, self.trouble.late);
                self.orders_under_way.push((at, (flyer, number, route, lands)));
            }
        }
    }

    fn deliver_reports(&mut self) {
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.reports_under_way.drain(..).partition(|(at, ..)| *at <= now);
        self.reports_under_way = later;
        for (_, term, name, observation) in due {
            if term == self.term {
                self.claims.observe(&name, observation, moment(now));
            }
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) = self.orders_under_way.drain(..).partition(|(at, _)| *at <= now);
        self.orders_under_way = later;
        for (_, (flyer, number, route, lands)) in due {
            let flyer = &mut self.flyers[flyer];
            // An agent refuses what is not newer, or comes from an earlier leader.
            if number > flyer.order && number.term >= flyer.term {
                (flyer.order, flyer.term) = (number, number.term);
                flyer.route = Some((route, 0));
                flyer.lands = lands;
            }
        }
        for i in 0..self.flyers.len() {
            self.flyers[i].fly();
            self.report(i);
        }
        self.judge();
    }

    fn report(&mut self, i: usize) {
        let (now, trouble, rules) = (self.now, self.trouble, self.rules);
        let dice = &mut self.dice;
        let flyer = &mut self.flyers[i];
        if now < flyer.next_report {
            return;
        }
        flyer.next_report = now + dice.within(0.4, 1.0);
        if dice.happens(trouble.silent / 100.0) {
            flyer.silent_until = now + dice.within(5.0, 30.0);
        }
        // It connects to the new leader when it first receives from it, and refuses the old one from then on.
        if now < flyer.silent_until || dice.happens(trouble.lost) {
            return;
        }
        flyer.term = self.term;
        let jitter = 0.1 * rules.off_by.horizontal.0;
        let at = flyer
            .reckoned(now, &rules)
            .shifted(dice.within(-jitter, jitter), dice.within(-jitter, jitter));
        let observation = Observation {
            heard: moment(now),
            at,
            accuracy: Margin {
                horizontal: Meters(0.5),
                vertical: Meters(0.5),
            },
            order: flyer.order,
            doing: flyer.doing(),
        };
        let arrives = now + dice.within(0.0, trouble.late);
        self.reports_under_way
            .push((arrives, self.term, flyer.name.clone(), observation));
    }

    fn judge(&mut self) {
        let (now, rules) = (self.now, self.rules);
        let center = |flyer: &Flyer| {
            let (at, height) = self.frame.position(flyer.really(now, &rules));
            let (sin_lat, cos_lat) = at.latitude_deg.to_radians().sin_cos();
            let (sin_lon, cos_lon) = at.longitude_deg.to_radians().sin_cos();
            let e2 = 0.006_694_379_990_14;
            let n = 6_378_137.0 / (1.0 - e2 * sin_lat * sin_lat).sqrt();
            (
                [n * cos_lat * cos_lon, n * cos_lat * sin_lon, n * (1.0 - e2) * sin_lat],
                height.0,
                flyer.flying,
            )
        };
        let all: Vec<_> = self.flyers.iter().map(center).collect();
        for (i, (one, one_height, one_flies)) in all.iter().enumerate() {
            for (other, other_height, other_flies) in &all[..i] {
                if !one_flies && !other_flies {
                    continue;
                }
                let in_height = (one_height - other_height).abs() / rules.separation.vertical.0;
                if in_height >= self.nearest {
                    continue;
                }
                let chord: f64 = (0..3).map(|k| (one[k] - other[k]).powi(2)).sum::<f64>().sqrt();
                let needed = if *one_flies && *other_flies {
                    rules.separation.horizontal
                } else {
                    rules.pads
                };
                self.nearest = self.nearest.min((chord / needed.0).max(in_height));
            }
        }
    }
}
