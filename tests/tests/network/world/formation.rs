//! A Swarm that a person sends from one random formation to the next while batteries run low.

use super::{DRAW, LOOKED_AFTER, ON_STATION, Run, SWARM};
use crate::vehicle::Spot;
use http::Method;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::f64::consts::{PI, TAU};
use std::time::Duration;

/// Meters.
const HOMES: f64 = 14.0;
/// Meters from all homes to slots, so that no takeoff or landing is in the way of another.
const CLEAR_OF_HOMES: f64 = 14.0;
/// Meters from slot to slot: little more than vehicles need, and plenty.
const SPACING: (f64, f64) = (10.3, 20.0);
/// Altitudes of anchors, and largest distance of slots from them in altitude, meters.
const HEIGHT: (f64, f64) = (16.0, 24.0);
const STEPS: f64 = 12.0;
/// Percent: vehicles are replaced at this charge; those with a low battery.
const ROTATE_AT: u32 = 45;
const LOW: (f64, f64) = (32.0, 43.0);
const RESERVE: u32 = 20;
const RECHARGE: Duration = Duration::from_secs(20);
const LOSS: (f64, f64) = (0.000_05, 0.000_4);
/// Share of formations that are changed before they are complete.
const CHANGED_ON_THE_WAY: f64 = 0.3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub vehicles: usize,
    pub formations: u32,
    pub reliefs: u32,
}

impl Size {
    pub const fn nodes(self) -> usize {
        self.vehicles + self.spare()
    }

    const fn spare(self) -> usize {
        2 + self.vehicles / 10
    }

    pub const fn surge(self) -> usize {
        1 + self.vehicles / 40
    }

    fn disorder(self, rng: &mut StdRng) -> Duration {
        Duration::from_secs_f64(rng.random_range(15.0..40.0) + self.vehicles as f64 * rng.random_range(0.2..0.8))
    }

    /// Time to a complete formation without faults: few vehicles cross at a time, and reliefs come one after the other.
    fn patience(self) -> Duration {
        let reliefs = self.reliefs.div_ceil(self.formations);
        Duration::from_secs(300 + 14 * self.vehicles as u64 + 200 * u64::from(reliefs))
    }

    pub fn longest(self) -> Duration {
        (self.patience() * 2 + Duration::from_secs(100)) * self.formations
    }
}

/// Shapes with their own parameters, besides anchor, heading, spacing and step.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Points,
    Line,
    Column,
    Grid { columns: usize },
    Circle,
    Vee { half_angle: f64 },
}

#[derive(Clone, Debug)]
struct Flown {
    shape: Shape,
    anchor: Spot,
    heading: f64,
    spacing: f64,
    step: f64,
    places: Vec<Spot>,
}

pub struct Formations {
    pub size: Size,
    homes: Vec<Spot>,
    flown: Option<Flown>,
    due: Vec<Duration>,
    low: Vec<usize>,
    resting: Vec<(Duration, usize)>,
    next_round: Duration,
}

pub fn homes(count: usize) -> Vec<Spot> {
    homes_apart(count, HOMES)
}

pub fn homes_apart(count: usize, apart: f64) -> Vec<Spot> {
    let side = (1..).find(|side| side * side >= count).unwrap();
    let middle = (side - 1) as f64 / 2.0;
    let home = |number: usize| Spot {
        east: ((number % side) as f64 - middle) * apart,
        north: ((number / side) as f64 - middle) * apart,
        up: 0.0,
    };
    (0..count).map(home).collect()
}

impl Formations {
    pub const fn new(size: Size, homes: Vec<Spot>) -> Self {
        Self {
            size,
            homes,
            flown: None,
            due: Vec::new(),
            low: Vec::new(),
            resting: Vec::new(),
            next_round: Duration::ZERO,
        }
    }

    fn choose(&self, slots: usize, rng: &mut StdRng) -> Flown {
        let mut reach = 40.0;
        loop {
            let flown = Flown::random(slots, reach, rng);
            let clear = |place: &Spot| self.homes.iter().all(|home| home.over_ground(*place) >= CLEAR_OF_HOMES);
            if flown.places.iter().all(clear) {
                return flown;
            }
            reach *= 1.1;
        }
    }
}

impl Flown {
    fn random(slots: usize, reach: f64, rng: &mut StdRng) -> Self {
        let shape = match rng.random_range(0..6) {
            0 => Shape::Points,
            1 => Shape::Line,
            2 => Shape::Column,
            3 => Shape::Grid {
                columns: rng.random_range(1..=slots.clamp(2, 20)),
            },
            4 => Shape::Circle,
            _ => Shape::Vee {
                half_angle: rng.random_range(20.0..80.0),
            },
        };
        let mut flown = Self {
            shape,
            anchor: Spot {
                east: rng.random_range(-reach..reach),
                north: rng.random_range(-reach..reach),
                up: rng.random_range(HEIGHT.0..HEIGHT.1),
            },
            heading: rng.random_range(0.0..360.0),
            spacing: rng.random_range(SPACING.0..SPACING.1),
            step: 0.0,
            places: Vec::new(),
        };
        if let Shape::Vee { half_angle } = shape {
            // The arms are nearest to one another where they begin.
            flown.spacing = flown.spacing.max(SPACING.0 / (2.0 * half_angle.to_radians().sin()));
        }
        let ranks = (0..slots).map(|slot| flown.slot(slot, slots).2).fold(1.0, f64::max);
        flown.step = rng.random_range(-STEPS..STEPS) / ranks;
        flown.places = match shape {
            Shape::Points => scattered(slots, flown.anchor, flown.spacing, rng),
            _ => (0..slots).map(|slot| flown.place(slot, slots)).collect(),
        };
        flown
    }

    /// Spacings ahead of the anchor and to its right, and steps higher.
    fn slot(&self, slot: usize, of: usize) -> (f64, f64, f64) {
        let nth = slot as f64;
        let place = (nth / 2.0).ceil();
        let side = if slot % 2 == 1 { place } else { -place };
        match self.shape {
            Shape::Points => (0.0, 0.0, 0.0),
            Shape::Line => (0.0, side, place),
            Shape::Column => (-nth, 0.0, nth),
            Shape::Grid { columns } => {
                let (row, column) = ((slot / columns) as f64, (slot % columns) as f64);
                (-row, column - (columns as f64 - 1.0) / 2.0, row)
            }
            Shape::Circle => {
                let radius = if of < 2 { 0.0 } else { 0.5 / (PI / of as f64).sin() };
                let (sin, cos) = (TAU * nth / of as f64).sin_cos();
                (radius * cos, radius * sin, nth)
            }
            Shape::Vee { half_angle } => {
                let (sin, cos) = half_angle.to_radians().sin_cos();
                (-place * cos, side * sin, place)
            }
        }
    }

    fn place(&self, slot: usize, of: usize) -> Spot {
        let (ahead, right, steps) = self.slot(slot, of);
        let (sin, cos) = self.heading.to_radians().sin_cos();
        Spot {
            east: self.anchor.east + self.spacing * (ahead * sin + right * cos),
            north: self.anchor.north + self.spacing * (ahead * cos - right * sin),
            up: self.anchor.up + steps * self.step,
        }
    }

    fn asked(&self) -> Value {
        let mut asked = json!({"shape": null, "points": null, "anchor": asked(self.anchor), "headingDegrees": self.heading,
            "spacingMeters": self.spacing, "altitudeStepMeters": self.step, "columns": null, "halfAngleDegrees": null});
        let shape = match self.shape {
            Shape::Points => {
                asked["points"] = self
                    .places
                    .iter()
                    .map(|place| super::formation::asked(*place))
                    .collect();
                "Points"
            }
            Shape::Line => "Line",
            Shape::Column => "Column",
            Shape::Grid { columns } => {
                asked["columns"] = json!(columns);
                "Grid"
            }
            Shape::Circle => "Circle",
            Shape::Vee { half_angle } => {
                asked["halfAngleDegrees"] = json!(half_angle);
                "Vee"
            }
        };
        asked["shape"] = json!(shape);
        asked
    }
}

fn asked(place: Spot) -> Value {
    let (latitude, longitude) = place.degrees();
    json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude, "altitudeMeters": place.up})
}

fn scattered(slots: usize, middle: Spot, spacing: f64, rng: &mut StdRng) -> Vec<Spot> {
    let reach = spacing * (slots as f64).sqrt();
    let mut places: Vec<Spot> = Vec::new();
    while places.len() < slots {
        let place = Spot {
            east: middle.east + rng.random_range(-reach..reach),
            north: middle.north + rng.random_range(-reach..reach),
            up: middle.up + rng.random_range(-STEPS..STEPS),
        };
        if places.iter().all(|other| place.over_ground(*other) >= spacing) {
            places.push(place);
        }
    }
    places
}

/// Places are counted on a round Earth: the flattened one differs by up to this share of the distance from the origin.
const ROUND_EARTH: f64 = 0.002;

impl Run<'_> {
    pub(super) fn through_formations(&mut self, size: Size) -> Result<(), String> {
        for number in 0..size.formations {
            let began = self.sim.elapsed();
            let span = size.disorder(&mut self.rng);
            self.give_a_formation(number == 0);
            self.let_batteries_run_low(
                size.reliefs * (number + 1) / size.formations - size.reliefs * number / size.formations,
                span,
            );
            let leader_dies = began + span.mul_f64(self.rng.random_range(0.05..0.95));
            let mut kills = vec![leader_dies];
            let loss = self.rng.random_range(LOSS.0..LOSS.1);
            self.sim.set_fail_rate(loss);
            while self.sim.elapsed() < began + span {
                self.mishap();
                if kills.pop_if(|at| *at <= self.sim.elapsed()).is_some() {
                    self.kill_the_leader();
                }
                self.attend();
                self.pass(DRAW)?;
            }
            self.oracle.tally.formations += 1;
            let is_last = number + 1 == size.formations;
            if !is_last && self.chance(CHANGED_ON_THE_WAY) {
                continue;
            }
            self.sim.set_fail_rate(0.0);
            self.quiet();
            let calm = self.sim.elapsed();
            while !self.is_complete() {
                if self.sim.elapsed() > calm + size.patience() {
                    return Err(self.why_incomplete(number));
                }
                let next = self.sim.elapsed() + LOOKED_AFTER;
                while self.sim.elapsed() < next {
                    self.attend();
                    self.pass(DRAW)?;
                }
            }
            let (tally, at) = (&self.oracle.tally, self.sim.elapsed());
            tracing::info!(number, ?at, after_faults = ?(at - calm), reliefs = tally.reliefs, nearest = tally.nearest, "the formation is complete");
        }
        Ok(())
    }

    fn give_a_formation(&mut self, is_first: bool) {
        let Some(formations) = &self.formations else { return };
        let size = formations.size;
        let fewest = size.vehicles - (size.vehicles / 20).max(1);
        let replicas = self.rng.random_range(fewest..=size.vehicles);
        let flown = formations.choose(replicas, &mut self.rng);
        tracing::info!(replicas, shape = ?flown.shape, anchor = ?flown.anchor, heading = flown.heading, spacing = flown.spacing,
            step = flown.step, "a formation is asked for");
        self.replicas = u32::try_from(replicas).unwrap();
        let spec = json!({"replicas": replicas, "formation": flown.asked()});
        self.note_desired();
        if is_first {
            let action = ["Land", "Continue", "Return", "Hold"][self.rng.random_range(0..4)];
            let failsafe = json!({"onCoordinatorLoss": action, "coordinatorLossSeconds": self.rng.random_range(15..60),
                "reservePercent": RESERVE});
            let mut spec = spec;
            spec["maxSurge"] = json!(size.surge());
            spec["rotateAtPercent"] = json!(ROTATE_AT);
            spec["template"] = json!({"spec": {"failsafe": failsafe}});
            let swarm = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha"}, "spec": spec});
            self.ask(Method::POST, SWARM.trim_end_matches("/alpha"), &swarm);
        } else {
            self.ask(Method::PATCH, SWARM, &json!({"spec": spec}));
        }
        if let Some(formations) = &mut self.formations {
            formations.flown = Some(flown);
        }
    }

    fn let_batteries_run_low(&mut self, count: u32, within: Duration) {
        let now = self.sim.elapsed();
        for _ in 0..count {
            let at = now + within.mul_f64(self.rng.random_range(0.2..1.0));
            if let Some(formations) = &mut self.formations {
                formations.due.push(at);
            }
        }
    }

    fn kill_the_leader(&mut self) {
        let leader = self.leader();
        self.crash(leader);
        self.oracle.tally.leaders += 1;
    }

    pub(super) fn kill_the_leader_for(&mut self, away: Duration) {
        let leader = self.leader();
        if !self.down.contains(&leader) {
            self.crash_for(leader, away);
            self.oracle.tally.leaders += 1;
            self.oracle.disturbed(self.sim.elapsed());
        }
    }

    fn leader(&mut self) -> String {
        let leader = self.cluster.leader();
        format!("coordinator-{}", leader.unwrap_or_else(|| self.any_coordinator()))
    }

    /// Batteries run low and are changed; vehicles that landed by themselves are carried home and made again.
    fn attend(&mut self) {
        let now = self.sim.elapsed();
        let Some(mut formations) = self.formations.take() else {
            return;
        };
        let mut due = std::mem::take(&mut formations.due);
        due.retain(|at| *at > now || !self.empties_a_battery(&mut formations));
        formations.due = due;
        let nodes = &self.nodes;
        let (flying, landed): (Vec<usize>, Vec<usize>) = formations
            .low
            .iter()
            .partition(|number| nodes[**number].vehicle.armed());
        formations.low = flying;
        for number in landed {
            let at_home = nodes[number]
                .vehicle
                .spot()
                .is_some_and(|(at, home)| at.over_ground(home) <= ON_STATION.0);
            let by_itself = nodes[number].ledger.lock().unwrap().wants_flight();
            self.oracle.tally.reliefs += u32::from(at_home && !by_itself);
            formations.resting.push((now + RECHARGE, number));
        }
        formations.resting.retain(|(until, number)| {
            if *until <= now {
                nodes[*number].vehicle.set_battery(100.0);
            }
            *until > now
        });
        let round = formations.next_round <= now;
        if round {
            formations.next_round = now + LOOKED_AFTER;
        }
        self.formations = Some(formations);
        if round {
            tracing::debug!(
                ?now,
                up = self.up(),
                uncovered = self.uncovered().len(),
                of = self.replicas,
                "round"
            );
            self.see_to_what_failsafes_did();
            self.nodes.iter().for_each(|node| node.vehicle.carry_home());
        }
    }

    fn empties_a_battery(&mut self, formations: &mut Formations) -> bool {
        let flies = |number: &usize| {
            let node = &self.nodes[*number];
            node.is_up() && node.vehicle.height() > HEIGHT.0 / 2.0 && node.ledger.lock().unwrap().wants_flight()
        };
        let fresh: Vec<usize> = (0..self.nodes.len())
            .filter(flies)
            .filter(|number| !formations.low.contains(number))
            .collect();
        if fresh.is_empty() {
            return false;
        }
        let number = fresh[self.rng.random_range(0..fresh.len())];
        let left = self.rng.random_range(LOW.0..LOW.1);
        tracing::info!(node = number, left, "a battery runs low");
        self.nodes[number].vehicle.set_battery(left);
        formations.low.push(number);
        true
    }

    /// A vehicle is at each place and nowhere else, and the Swarm is covered.
    fn is_complete(&self) -> bool {
        let Some(formations) = &self.formations else {
            return true;
        };
        formations.due.is_empty()
            && formations.low.is_empty()
            && self.uncovered().is_empty()
            && self.up() == self.replicas as usize
            && self.says_covered()
    }

    fn uncovered(&self) -> Vec<(usize, Spot)> {
        let places = self
            .formations
            .iter()
            .filter_map(|formations| formations.flown.as_ref())
            .flat_map(|flown| &flown.places);
        let spots: Vec<Spot> = self
            .nodes
            .iter()
            .filter(|node| node.is_up())
            .filter_map(|node| Some(node.vehicle.spot()?.0))
            .collect();
        let is_at = |place: &Spot, spot: &&Spot| {
            let far = place.east.hypot(place.north) * ROUND_EARTH;
            spot.over_ground(*place) <= ON_STATION.0 + far && (spot.up - place.up).abs() <= ON_STATION.1
        };
        let places = places.copied().enumerate();
        places
            .filter(|(_, place)| spots.iter().filter(|spot| is_at(place, spot)).count() != 1)
            .collect()
    }

    fn says_covered(&self) -> bool {
        let swarm = self.ask(Method::GET, SWARM, &Value::Null);
        let covered = swarm["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|one| one["type"] == "Covered");
        swarm["status"]["observedGeneration"] == swarm["metadata"]["generation"]
            && swarm["status"]["coveredSlots"] == self.replicas
            && covered.is_some_and(|covered| covered["status"] == "True")
    }

    fn why_incomplete(&self, number: u32) -> String {
        let swarm = self.ask(Method::GET, SWARM, &Value::Null);
        let (low, due) = self
            .formations
            .iter()
            .map(|formations| (formations.low.clone(), formations.due.len()))
            .next()
            .unwrap_or_default();
        format!(
            "formation {number} is not complete: {} up of {}, batteries low: {low:?}, {due} due, not covered: {:.1?}; {}; {}",
            self.up(),
            self.replicas,
            self.uncovered(),
            swarm["status"]["conditions"],
            self.situation()
        )
    }
}
