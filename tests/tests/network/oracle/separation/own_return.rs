//! Returns that autopilots begin by themselves, as after a pilot flew out of the fence, and the way that each explains.
//!
//!   column where it began ──leaves it──► straight home, at that altitude ──► column at home, down to the ground
//!
//! Skein has not chosen the place where a return ends in the air, until a leader has observed the end. It does choose
//! who is sent into the way of a return that it knows: that one is not excused.

use super::Flight;
use crate::node::Node;
use crate::oracle::traffic::route;
use crate::vehicle::Spot;
use model::ids::Term;
use model::route_order::OrderNumber;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Half of the width of a column or the way, and of the way's depth, meters: estimates are off, and winds blow.
const WIDE: f64 = 4.0;
const HIGH: f64 = 3.0;
/// Parameters for the altitude of a return, and how many of its units are a meter: ArduCopter until 4.6 and from 4.7 on, PX4.
const RETURN_ALTITUDES: [(&str, f32); 3] = [("RTL_ALT", 100.0), ("RTL_ALT_M", 1.0), ("RTL_RETURN_ALT", 1.0)];
/// Seconds before it brakes, and its deceleration, meters per second for each second.
const FOLLOWS: f64 = 0.7;
const BRAKES: f64 = 1.4;
/// By then a leader has observed that it ended.
const KNOWN_AFTER: Duration = Duration::from_secs(10);

/// By then each leader knows of a return, and earlier orders have been received, however late they came.
const ORDERED_AFTER: Duration = Duration::from_secs(20);
/// Meters over ground from the way within which a flying vehicle may have been ordered to stop or to make way.
const MAKES_WAY: f64 = 40.0;

#[derive(Clone, Copy, Debug, PartialEq)]
struct OwnReturn {
    began: Spot,
    home: Spot,
    /// Meters that it may come while it brakes.
    brakes_in: f64,
    /// Largest altitude, meters.
    top: f64,
    left: Option<Spot>,
    ended: Option<(Spot, Duration)>,
    explains: bool,
}

/// The last orders of all others, from when each leader knows of a return.
#[derive(Clone, Debug)]
struct Orders {
    since: Duration,
    last: BTreeMap<usize, Option<OrderNumber>>,
    /// Vehicles that have got another order since, and were on the ground then, or far from the way.
    sent: BTreeSet<usize>,
}

impl Orders {
    fn note(&mut self, number: usize, order: Option<OrderNumber>, is_clear: bool) {
        let before = self.last.entry(number).or_insert(order);
        if order > *before {
            *before = order;
            if is_clear {
                self.sent.insert(number);
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct OwnReturns {
    of: BTreeMap<usize, OwnReturn>,
    last: BTreeMap<usize, (Duration, Spot)>,
    orders: BTreeMap<usize, Orders>,
}

/// Whether `other` moves by an order that was given when each leader knew of the return that alone excuses `one`.
fn is_sent_into(returns: &OwnReturns, one: &Flight, other: &Flight) -> bool {
    let orders = returns.orders.get(&one.number).filter(|_| one.returns);
    let is_sent = orders.is_some_and(|orders| orders.sent.contains(&other.number));
    is_sent && !other.excused && !other.lands
}

/// Whether one of the two excuses their distance.
pub(super) fn excuses(returns: Option<&OwnReturns>, one: &Flight, other: &Flight) -> bool {
    let is_sent = |one: &Flight, other: &Flight| returns.is_some_and(|returns| is_sent_into(returns, one, other));
    (one.excused && !is_sent(one, other)) || (other.excused && !is_sent(other, one))
}

/// Meters over ground from the straight line between two places.
fn from_line(at: Spot, one: Spot, other: Spot) -> f64 {
    let (east, north) = (other.east - one.east, other.north - one.north);
    let squared = east * east + north * north;
    let along = match squared > 0.0 {
        true => ((at.east - one.east) * east + (at.north - one.north) * north) / squared,
        false => 0.0,
    };
    let along = along.clamp(0.0, 1.0);
    at.over_ground(Spot {
        east: one.east + along * east,
        north: one.north + along * north,
        up: 0.0,
    })
}

impl OwnReturn {
    fn begins(began: Spot, home: Spot, speed: f64, return_altitude: f64) -> Self {
        Self {
            began,
            home,
            brakes_in: speed * FOLLOWS + speed * speed / (2.0 * BRAKES),
            top: began.up.max(return_altitude),
            left: None,
            ended: None,
            explains: true,
        }
    }

    fn follow(&mut self, at: Spot, returns: bool, now: Duration) {
        if !returns {
            let (place, since) = *self.ended.get_or_insert((at, now));
            let is_there = at.over_ground(place) <= WIDE + self.brakes_in && (at.up - place.up).abs() <= HIGH;
            self.explains = self.explains && is_there && now <= since + KNOWN_AFTER;
            return;
        }
        self.ended = None;
        let is_low = at.up <= self.top + HIGH;
        let in_first = at.over_ground(self.began) <= WIDE + self.brakes_in;
        let in_last = at.over_ground(self.home) <= WIDE;
        if !in_first && self.left.is_none() {
            self.left = Some(at);
        }
        let on_the_way = self.left.is_some_and(|left| {
            from_line(at, left, self.home) <= WIDE
                && from_line(left, self.began, self.home) <= WIDE + self.brakes_in
                && (at.up - left.up).abs() <= HIGH
        });
        let in_column = in_first && self.left.is_none_or(|left| (at.up - left.up).abs() <= HIGH);
        self.explains = is_low && (in_column || on_the_way || in_last);
    }
}

/// Meters above home of a return, unless it is higher already.
fn return_altitude(parameter: impl Fn(&str) -> Option<f32>) -> f64 {
    let mut all = RETURN_ALTITUDES.into_iter();
    let altitude = all.find_map(|(name, in_a_meter)| Some(parameter(name)? / in_a_meter));
    altitude.map_or(0.0, f64::from)
}

impl OwnReturns {
    pub fn explain(&self, number: usize) -> bool {
        self.of.get(&number).is_some_and(|own| own.explains)
    }

    /// Notes where all are. Of the `tired` none returns by its autopilot.
    pub fn note(&mut self, nodes: &[Node], tired: &BTreeSet<usize>, now: Duration) {
        for node in nodes {
            let number = node.number;
            let Some((at, home)) = node.vehicle.spot() else {
                continue;
            };
            let before = self.last.insert(number, (now, at));
            if !node.vehicle.armed() {
                self.of.remove(&number);
                continue;
            }
            if let Some(own) = self.of.get_mut(&number) {
                own.follow(at, node.lands(), now);
                if own.ended.is_some() && !own.explains {
                    self.of.remove(&number);
                }
            } else if node.returns() && !tired.contains(&number) && node.vehicle.fence() != Some(Vec::new()) {
                let speed = before.map_or(0.0, |(then, there)| {
                    let passed = now.saturating_sub(then).as_secs_f64();
                    if passed > 0.0 {
                        there.over_ground(at) / passed
                    } else {
                        0.0
                    }
                });
                let own = OwnReturn::begins(at, home, speed, return_altitude(|name| node.vehicle.parameter(name)));
                self.of.insert(number, own);
            }
        }
        self.note_orders(nodes, now);
    }

    fn note_orders(&mut self, nodes: &[Node], now: Duration) {
        self.orders.retain(|number, _| self.of.contains_key(number));
        for (number, own) in &self.of {
            let orders = self.orders.entry(*number).or_insert_with(|| Orders {
                since: now + ORDERED_AFTER,
                last: BTreeMap::new(),
                sent: BTreeSet::new(),
            });
            if now < orders.since {
                continue;
            }
            for node in nodes.iter().filter(|node| node.number != *number) {
                let Some((at, _)) = node.vehicle.spot() else { continue };
                let is_far = from_line(at, own.began, own.home) > own.brakes_in + MAKES_WAY;
                orders.note(node.number, route(node), is_far || !node.vehicle.armed());
            }
        }
    }
}

pub fn a_return_altitude_is_known_under_each_name() {
    for (name, stored) in [("RTL_ALT", 10_000.0), ("RTL_ALT_M", 100.0), ("RTL_RETURN_ALT", 100.0)] {
        let altitude = return_altitude(|asked| (asked == name).then_some(stored));
        assert!((altitude - 100.0).abs() < 0.01, "{name}: {altitude}");
    }
}

pub fn one_that_is_sent_into_a_known_return_is_not_excused() {
    let order = |count: u64| {
        let term = Term(3);
        Some(OrderNumber { term, count })
    };
    let mut orders = Orders {
        since: Duration::ZERO,
        last: BTreeMap::new(),
        sent: BTreeSet::new(),
    };
    for (number, before, after, is_clear) in [
        (1, order(1), order(2), true),
        (2, order(1), order(1), true),
        (3, order(1), order(2), false),
        (4, None, order(2), true),
    ] {
        orders.note(number, before, is_clear);
        orders.note(number, after, is_clear);
    }
    assert_eq!(orders.sent, BTreeSet::from([1, 4]));
    let returns = OwnReturns {
        orders: BTreeMap::from([(0, orders)]),
        ..OwnReturns::default()
    };
    let flight = |number: usize, returns: bool| Flight {
        number,
        at: Spot {
            east: 0.0,
            north: 0.0,
            up: 10.0,
        },
        routed: true,
        excused: returns,
        returns,
        lands: false,
    };
    let own = flight(0, true);
    let own_excuses = |other: &Flight| {
        let is = excuses(Some(&returns), &own, other);
        assert_eq!(is, excuses(Some(&returns), other, &own));
        is
    };
    assert!(!own_excuses(&flight(1, false)), "it was ordered there");
    assert!(own_excuses(&flight(2, false)), "its order is older");
    assert!(own_excuses(&flight(3, false)), "it was in the way, and makes way");
    assert!(own_excuses(&flight(1, true)), "its own autopilot moves it");
    let lands = Flight {
        lands: true,
        ..flight(1, false)
    };
    assert!(own_excuses(&lands), "it comes down where it is");
    let of_a_person = Flight {
        returns: false,
        ..flight(0, true)
    };
    assert!(excuses(Some(&returns), &of_a_person, &flight(1, false)));
}

pub fn a_return_explains_its_way_only() {
    let spot = |east: f64, north: f64, up: f64| Spot { east, north, up };
    let second = Duration::from_secs(1);
    // It begins 100 m east of home, 10 m up, and returns 30 m up.
    let own = || OwnReturn::begins(spot(100.0, 0.0, 10.0), spot(0.0, 0.0, 0.0), 0.0, 30.0);
    for (what, way, explains) in [
        ("it climbs", &[spot(100.0, 1.0, 20.0)][..], true),
        (
            "it flies home",
            &[spot(95.0, 0.0, 30.0), spot(50.0, 1.0, 29.0)][..],
            true,
        ),
        (
            "it lands there",
            &[spot(95.0, 0.0, 30.0), spot(50.0, 1.0, 29.0), spot(1.0, 1.0, 5.0)][..],
            true,
        ),
        (
            "it is beside its way",
            &[spot(95.0, 0.0, 30.0), spot(50.0, 9.0, 30.0)][..],
            false,
        ),
        (
            "it sinks on its way",
            &[spot(95.0, 0.0, 30.0), spot(50.0, 0.0, 12.0)][..],
            false,
        ),
        ("it is higher than it returns", &[spot(100.0, 0.0, 40.0)][..], false),
        ("it flies another way", &[spot(110.0, 0.0, 30.0)][..], false),
    ] {
        let mut own = own();
        for at in way {
            own.follow(*at, true, second);
        }
        assert_eq!(own.explains, explains, "{what}: {own:?}");
    }
    let mut own = own();
    let place = spot(60.0, 0.0, 30.0);
    for at in [spot(95.0, 0.0, 30.0), place] {
        own.follow(at, true, second);
    }
    own.follow(place, false, second * 2);
    assert!(own.explains, "nobody could know that yet");
    let mut stays = own;
    stays.follow(place, false, second * 13);
    assert!(!stays.explains, "it could be known for long");
    own.follow(spot(60.0, 20.0, 30.0), false, second * 3);
    assert!(!own.explains, "it is elsewhere by now");
    // A fast one comes farther.
    let mut fast = OwnReturn::begins(spot(100.0, 0.0, 10.0), spot(0.0, 0.0, 0.0), 8.0, 30.0);
    fast.follow(spot(120.0, 0.0, 12.0), true, second);
    assert!(fast.explains, "it brakes");
    fast.follow(spot(140.0, 0.0, 12.0), true, second);
    assert!(!fast.explains, "no autopilot brakes for so long");
}
