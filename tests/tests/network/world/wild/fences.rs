//! Geofences that come, change and go over vehicles that fly, and the judge of them, which uses nothing that `fleet`
//! computes.
//!
//! Once all coordinators had the time to read a Geofence, and a vehicle's agent has been in touch with a leader:
//!
//! 1. A vehicle that flies by our orders does not come from the right side of a shape to the wrong one, except on a
//!    route that was ordered before, and on its way home, as it is not kept in the air for what came after its takeoff.
//! 2. A vehicle that was on the wrong side leaves, or holds.
//!
//! A vehicle that took off on the wrong side does not count: its autopilot can be given no such fence, and the object
//! says so.

use super::Wild;
use super::course::{Course, Fault};
use super::outline::Outline;
use super::{edits, swarm};
use crate::node::Node;
use crate::oracle::rules::GEOFENCES;
use crate::vehicle::Spot;
use crate::world::gate::{corner, sound};
use crate::world::{COORDINATORS, DRAW, Ends, Run};
use http::Method;
use model::assignment::Order;
use model::route_order::OrderNumber;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

pub const FIELD: &str = "field";
pub const HOLE: &str = "hole";
const HOLES: f64 = 0.01;
/// Share of changes in which a hole goes, and in which one comes over a vehicle that flies.
const GOES: f64 = 0.35;
const OVER: f64 = 0.7;
/// Meters: its radius, and its distance from homes and from the last places.
const RADIUS: Range<f64> = 6.0..18.0;
const CLEAR: f64 = 9.0;
/// Largest distance from the vehicle over which it comes, meters east and north.
const BESIDE: f64 = 14.0;
/// Other places, meters east and north.
const ANYWHERE: (Range<f64>, Range<f64>) = (-30.0..95.0, 20.0..100.0);
const TRIES: u32 = 40;
/// Time in which a coordinator without a fault has listed all objects, and in which late watches catch up.
const LISTS: Duration = Duration::from_secs(12);
const CATCHES_UP: Duration = Duration::from_secs(3);
/// Time in which a Geofence leads to orders.
const REACTS: Duration = Duration::from_secs(15);
/// Meters above which a vehicle is in the air.
const LIFTED: f64 = 1.0;
/// Meters from the edge within which a home has no such fence.
const HOME: f64 = 6.0;
const QUIET: Duration = Duration::from_secs(45);
const QUIET_HOLES: u32 = 2;
/// Now, by the clock of the coordinators.
const EPOCH: &str = "1970-01-01T00:00:00Z";

#[derive(Debug, Default)]
pub struct Fences {
    known: Vec<Declared>,
    in_touch: BTreeMap<usize, Duration>,
    /// The coordinator that leads without a fault, and since when.
    leads: Option<(usize, Duration)>,
    ground: BTreeMap<usize, Spot>,
    pub judged: Duration,
    pub came: u32,
    at: Duration,
}

#[derive(Debug)]
struct Declared {
    name: String,
    spec: Value,
    include: Vec<Outline>,
    exclude: Vec<Outline>,
    since: Duration,
    read_by: [bool; COORDINATORS],
    known: Option<Duration>,
    courses: BTreeMap<usize, Course>,
    routes: BTreeMap<usize, Option<OrderNumber>>,
}

fn outlines(areas: &Value) -> Vec<Outline> {
    let areas = areas.as_array().into_iter().flatten();
    areas.filter_map(Outline::of).collect()
}

impl Declared {
    fn new(name: String, spec: Value, since: Duration) -> Self {
        Self {
            name,
            include: outlines(&spec["include"]),
            exclude: outlines(&spec["exclude"]),
            spec,
            since,
            read_by: [false; COORDINATORS],
            known: None,
            courses: BTreeMap::new(),
            routes: BTreeMap::new(),
        }
    }

    fn holds(&self) -> bool {
        let windows = self.spec["windows"].as_array();
        windows.is_none_or(|windows| {
            windows.is_empty()
                || windows.iter().any(|window| {
                    let begun = window["from"].as_str().is_none_or(|from| from <= EPOCH);
                    begun && window["until"].as_str().is_none_or(|until| until > EPOCH)
                })
        })
    }

    fn selects(&self, kind: &str) -> bool {
        selects(&self.spec["vehicleSelector"], kind)
    }

    /// Meters on the wrong side of a shape; negative: on the right side of all.
    fn depth(&self, at: Spot) -> f64 {
        let outside = self.include.iter().map(|outline| -outline.depth(at));
        let inside = self.exclude.iter().map(|outline| outline.depth(at));
        outside.chain(inside).fold(f64::NEG_INFINITY, f64::max)
    }
}

pub fn selects(selector: &Value, kind: &str) -> bool {
    let mut labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let is_among = |expression: &Value| {
        let mut values = expression["values"].as_array().into_iter().flatten();
        expression["key"] == "kind" && values.any(|value| value == kind)
    };
    labels.all(|(key, value)| key == "kind" && value == kind) && expressions.all(is_among)
}

impl Fences {
    fn take_in(&mut self, objects: &[Value], now: Duration) {
        let is_same = |declared: &Declared, object: &Value| {
            object["metadata"]["name"] == declared.name.as_str() && object["spec"] == declared.spec
        };
        self.known
            .retain(|declared| objects.iter().any(|object| is_same(declared, object)));
        for object in objects {
            if !self.known.iter().any(|declared| is_same(declared, object)) {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                self.known.push(Declared::new(name, object["spec"].clone(), now));
            }
        }
    }

    fn note_coordinator(&mut self, number: usize, is_well: bool, now: Duration) {
        for declared in &mut self.known {
            declared.read_by[number] |= is_well && declared.since + CATCHES_UP < now;
            if declared.known.is_none() && declared.read_by.iter().all(|read| *read) {
                declared.known = Some(now);
            }
        }
    }

    fn note_leader(&mut self, leader: Option<usize>, now: Duration) {
        self.leads = match (leader, self.leads) {
            (Some(leader), Some((before, since))) if leader == before => Some((leader, since)),
            (Some(leader), _) => Some((leader, now)),
            (None, _) => None,
        };
    }
}

impl Run<'_> {
    pub(super) fn ask_for_the_field(&self) {
        let spec = json!({"vehicleSelector": edits::all_here(), "include": edits::field()});
        self.apply(GEOFENCES, "Geofence", FIELD, &spec);
    }

    pub(super) fn change_the_holes(&mut self, wild: &mut Wild) {
        if wild.rng.random_bool(HOLES) {
            if self.is_there(HOLE) && wild.rng.random_bool(GOES) {
                self.fill_the_hole();
            } else {
                self.dig_a_hole(wild);
            }
        }
    }

    fn is_there(&self, name: &str) -> bool {
        self.ask(Method::GET, &format!("{GEOFENCES}/{name}"), &Value::Null)["kind"] == "Geofence"
    }

    pub(super) fn fill_the_hole(&mut self) {
        if self.is_there(HOLE) {
            self.tell("the hole goes");
            self.ask(Method::DELETE, &format!("{GEOFENCES}/{HOLE}"), &Value::Null);
        }
    }

    fn dig_a_hole(&mut self, wild: &mut Wild) {
        let Some(area) = self.place_for_a_hole(&mut wild.rng) else {
            return;
        };
        self.tell(&format!("a hole comes: {area}"));
        self.oracle.tally.edits += 1;
        wild.fences.came += 1;
        let spec = json!({"vehicleSelector": edits::all_here(), "exclude": [area]});
        self.apply(GEOFENCES, "Geofence", HOLE, &spec);
    }

    fn place_for_a_hole(&self, rng: &mut StdRng) -> Option<Value> {
        let here = |node: &&Node| self.kind_of(node.number) != "far";
        let spots = self.nodes.iter().filter(here).filter_map(|node| node.vehicle.spot());
        let (mut fly, mut kept) = (Vec::new(), Vec::new());
        for (at, home) in spots {
            kept.push(home);
            if at.up > LIFTED {
                fly.push(at);
            } else {
                kept.push(at);
            }
        }
        kept.extend((0..2).map(sound));
        kept.extend(swarm::SOUND);
        for _ in 0..TRIES {
            let radius = rng.random_range(RADIUS).round();
            let center = if !fly.is_empty() && rng.random_bool(OVER) {
                let over = fly[rng.random_range(0..fly.len())];
                Spot {
                    east: over.east + rng.random_range(-BESIDE..BESIDE),
                    north: over.north + rng.random_range(-BESIDE..BESIDE),
                    up: 0.0,
                }
            } else {
                Spot {
                    east: rng.random_range(ANYWHERE.0),
                    north: rng.random_range(ANYWHERE.1),
                    up: 0.0,
                }
            };
            // A square reaches farther than its circle.
            let reach = radius * 1.5 + CLEAR;
            if kept.iter().all(|place| place.over_ground(center) >= reach) {
                let (west, east) = (center.east - radius, center.east + radius);
                let (south, north) = (center.north - radius, center.north + radius);
                let square = [
                    corner(west, south),
                    corner(east, south),
                    corner(east, north),
                    corner(west, north),
                ];
                return Some(match rng.random_bool(0.5) {
                    true => json!({"circle": {"center": corner(center.east, center.north), "radiusMeters": radius}}),
                    false => json!({"polygon": square}),
                });
            }
        }
        None
    }

    pub(in crate::world) fn hold_to_holes(&mut self) -> Result<(), String> {
        if self.wild.is_none() {
            return Ok(());
        }
        self.quiet();
        self.tell("the faults of the network end");
        if let Some(mut wild) = self.wild.take() {
            self.silence_the_liar(&mut wild);
            self.wild = Some(wild);
        }
        for _ in 0..QUIET_HOLES {
            if let Some(mut wild) = self.wild.take() {
                self.dig_a_hole(&mut wild);
                self.wild = Some(wild);
            }
            let end = self.sim.elapsed() + QUIET;
            while self.sim.elapsed() < end {
                self.go_on_with_what_is_due(self.sim.elapsed());
                self.pass_in_the_air(DRAW)?;
            }
        }
        Ok(())
    }

    pub(in crate::world) fn judge_fences(&mut self) -> Result<(), String> {
        let Some(mut wild) = self.wild.take() else {
            return Ok(());
        };
        let judged = self.judge_by(&mut wild.fences);
        self.wild = Some(wild);
        judged
    }

    fn judge_by(&self, fences: &mut Fences) -> Result<(), String> {
        let now = self.sim.elapsed();
        let passed = now.saturating_sub(fences.at);
        fences.at = now;
        fences.take_in(&self.list(GEOFENCES), now);
        let is_well = |number: usize| {
            self.steady[number].saturating_add(LISTS) < now && self.cluster.late_until(number) + CATCHES_UP < now
        };
        for number in 0..COORDINATORS {
            fences.note_coordinator(number, is_well(number), now);
        }
        fences.note_leader(self.cluster.leader().filter(|leader| is_well(*leader)), now);
        for node in &self.nodes {
            if let Some((at, _)) = node.vehicle.spot().filter(|(at, _)| at.up <= LIFTED) {
                fences.ground.insert(node.number, at);
            }
            if self.is_cut_off(node) {
                fences.in_touch.remove(&node.number);
            } else {
                fences.in_touch.entry(node.number).or_insert(now);
            }
        }
        let Fences {
            known,
            in_touch,
            leads,
            ground,
            judged,
            ..
        } = fences;
        for declared in known.iter_mut().filter(|declared| declared.holds()) {
            let known = declared.known.zip(*leads).map(|(known, (_, since))| known.max(since));
            for node in &self.nodes {
                if !declared.selects(self.kind_of(node.number)) {
                    continue;
                }
                let since = known
                    .zip(in_touch.get(&node.number))
                    .map(|(known, since)| known.max(*since));
                let home = ground.get(&node.number);
                let is_fenced = home.is_some_and(|home| declared.depth(*home) < -HOME);
                let in_time = is_fenced && since.is_some_and(|since| since + REACTS < now);
                if self.judge_one(declared, node, in_time, now)? {
                    *judged += passed;
                }
            }
        }
        Ok(())
    }

    fn is_cut_off(&self, node: &Node) -> bool {
        let host = self.host(node.number);
        let is_broken = self.ends.iter().any(|(_, what)| match what {
            Ends::Cut(one, _) | Ends::Held(one, _) | Ends::Down(one) => *one == host,
            Ends::Way(_) | Ends::Unready(_) | Ends::Alone(_) | Ends::BackUp | Ends::Restore | Ends::Confirm => false,
        });
        is_broken || node.ledger.lock().unwrap().alone_since.is_some()
    }

    /// `in_time`: all could know the Geofence for long enough. Returns whether the vehicle counts.
    fn judge_one(&self, declared: &mut Declared, node: &Node, in_time: bool, now: Duration) -> Result<bool, String> {
        let number = node.number;
        let Some((at, _)) = node.vehicle.spot() else {
            return Ok(false);
        };
        let (is_wanted_up, route) = {
            let ledger = node.ledger.lock().unwrap();
            let route = match &ledger.last_order {
                Some(Order::Assigned(a)) if a.plan.is_none() => a.route.as_ref().map(|route| route.number),
                _ => None,
            };
            (ledger.wants_flight(), route)
        };
        let is_on_old_route = in_time && {
            let first = *declared.routes.entry(number).or_insert(route);
            route.is_some() && first == route
        };
        if !node.vehicle.armed() || at.up <= LIFTED {
            declared.courses.remove(&number);
            return Ok(false);
        }
        let counts = in_time
            && is_wanted_up
            && !is_on_old_route
            && !node.lands()
            && !self.oracle.separation.is_excused(number)
            && !self.oracle.tired.contains(&number)
            && !self.is_taken(number);
        let depth = declared.depth(at);
        let before = declared.courses.get(&number).copied();
        let (course, fault) = Course::follow(before, depth, at, counts, now);
        declared.courses.insert(number, course);
        let does = match fault {
            None => return Ok(counts),
            Some(Fault::Enters) => "enters what it forbids",
            Some(Fault::FliesAbout) => "flies about in what it forbids",
        };
        Err(format!(
            "at {now:?} {} {does}, {depth:.1} m deep, at {at:.1?}: Geofence {}, as it is since {:?} and known since {:?}: {}; {:?}",
            node.name(),
            declared.name,
            declared.since,
            declared.known,
            declared.spec,
            node.ledger.lock().unwrap()
        ))
    }
}
