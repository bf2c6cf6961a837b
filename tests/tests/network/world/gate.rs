//! Missions in layers beside stations and a parked vehicle, while persons move vehicles and edit, and leaders and
//! agents die.

use super::{DRAW, LOOKED_AFTER, ON_STATION, Run, wild};
use crate::station::PersonOrder;
use crate::vehicle::Spot;
use http::Method;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use sitl::faults::ModeNumber;
use std::collections::BTreeMap;
use std::time::Duration;

const MISSIONS: &str = "/apis/skein.dev/v1alpha1/namespaces/default/missions";
pub(super) const DRONES: &str = "/apis/skein.dev/v1alpha1/namespaces/default/drones";
const VEHICLES: &str = "/apis/skein.dev/v1alpha1/vehicles";
/// Meters from one home to the next.
const HOMES: f64 = 25.0;
/// Edges of the work, from and to, east and north, meters.
const WORK: ([f64; 2], [f64; 2]) = ([-20.0, 95.0], [25.0, 95.0]);
/// Altitude of the lowest layer, meters: above what a parked vehicle owns.
pub(super) const UP: std::ops::Range<f64> = 19.0..30.0;
const SPEED: f64 = 6.0;
const DISORDER: std::ops::Range<f64> = 150.0..300.0;
/// Share of the faults of other worlds, as vehicles are to fly meanwhile.
const FAULTS: f64 = 0.15;
/// By then all is flown, and all that holds has stated why.
const PATIENCE: Duration = Duration::from_secs(1500);
const HEARD: Duration = Duration::from_secs(60);
/// A vehicle hovers that has not moved by more meters for so long.
const STAYS: f64 = 1.5;
const HOVERS: Duration = Duration::from_secs(45);
/// Meters over ground: the widest tolerance of a formation, which a vehicle leaves at one and a half of it, and estimates.
const HOLDS_WITHIN: f64 = 25.0;
/// Meters over ground, up and down, that a pilot moves a vehicle; never lower.
const SIDEWAYS: f64 = 45.0;
const UPWARD: f64 = 20.0;
const LOWEST: f64 = 6.0;
/// Seconds that a pilot has a vehicle: a Mission gives its part to another after a minute.
const HAS: std::ops::Range<f64> = 4.0..80.0;
/// Seconds until a person says `resume`.
const SAYS: std::ops::Range<f64> = 0.5..20.0;
const STEPS: [f64; 7] = [0.0, 5.0, 10.0, 12.0, 15.0, 15.0, 20.0];
const RETURN: ModeNumber = ModeNumber {
    px4: Some(0x0504_0000),
    ardupilot: Some(6),
};
const HOLD: ModeNumber = ModeNumber {
    px4: Some(0x0304_0000),
    ardupilot: Some(4),
};

#[derive(Clone, Debug)]
enum Due {
    /// A pilot moves the vehicle of this number, lets go of it, and says `resume`.
    Moves(usize, Spot),
    LetsGo(usize),
    Resumes(usize),
    PutsBack(String, Value),
    Undoes(String, Value),
    Releases,
}

impl Due {
    const fn vehicle(&self) -> Option<usize> {
        match self {
            Self::Moves(number, _) | Self::LetsGo(number) | Self::Resumes(number) => Some(*number),
            Self::PutsBack(..) | Self::Undoes(..) | Self::Releases => None,
        }
    }
}

pub struct Gate {
    missions: Vec<String>,
    posts: Vec<Spot>,
    first_post: usize,
    parked: usize,
    due: Vec<(Duration, Due)>,
    /// A pilot has their vehicles, or had them without a `resume` since.
    taken: Vec<usize>,
    story: Vec<String>,
    still: BTreeMap<usize, (Duration, Spot)>,
}

/// Three or four for Missions, one or two for stations, and a parked one.
pub fn vehicles(rng: &mut StdRng) -> usize {
    rng.random_range(5..=7)
}

fn fly_missions(count: usize) -> usize {
    if count > 5 { 4 } else { 3 }
}

pub fn homes(count: usize, rng: &mut StdRng) -> Vec<Spot> {
    let missions = fly_missions(count);
    let ground = |east: f64, north: f64| Spot { east, north, up: 0.0 };
    let home = |number: usize| match number {
        number if number < missions => ground(number as f64 * HOMES, 0.0),
        number if number + 1 < count => ground(-30.0, 20.0 + 25.0 * (number - missions) as f64),
        _ => ground(rng.random_range(0.0..60.0), rng.random_range(35.0..85.0)),
    };
    (0..count).map(home).collect()
}

pub(super) fn corner(east: f64, north: f64) -> Value {
    let (latitude, longitude) = Spot { east, north, up: 0.0 }.degrees();
    json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude})
}

fn anywhere(rng: &mut StdRng) -> [f64; 2] {
    let (east, north) = WORK;
    [rng.random_range(east[0]..east[1]), rng.random_range(north[0]..north[1])]
}

fn work(rng: &mut StdRng, up: f64, least: usize) -> Value {
    if rng.random_bool(0.5) {
        let places = rng.random_range(least..least + 6);
        let waypoint = |at: [f64; 2]| {
            let mut place = corner(at[0], at[1]);
            place["altitudeMeters"] = json!(up);
            place["speedMetersPerSecond"] = json!(SPEED);
            place
        };
        let waypoints: Vec<Value> = (0..places).map(|_| waypoint(anywhere(rng))).collect();
        return json!({"route": {"waypoints": waypoints}});
    }
    let (east, north) = (rng.random_range(-15.0..30.0), rng.random_range(28.0..45.0));
    let (wide, deep) = (rng.random_range(40.0..65.0), rng.random_range(30.0..50.0));
    let polygon = [
        corner(east, north),
        corner(east + wide, north),
        corner(east + wide, north + deep),
        corner(east, north + deep),
    ];
    json!({"survey": {"area": {"polygon": polygon}, "lineSpacingMeters": rng.random_range(8.0..16.0), "altitudeMeters": up,
        "speedMetersPerSecond": SPEED}})
}

/// The spec of a Mission for so many vehicles, with this number of places at least, in layers `step` meters apart.
pub(super) fn mission(rng: &mut StdRng, up: f64, (least, parallelism): (usize, usize), step: f64) -> Value {
    let mut spec = work(rng, up, least);
    spec["parallelism"] = json!(parallelism);
    spec["altitudeStepMeters"] = json!(step);
    spec["nodeSelector"] = json!({"kind": "mission"});
    spec["backoffLimit"] = json!(100);
    spec["failsafe"] = failsafe(rng);
    spec
}

fn failsafe(rng: &mut StdRng) -> Value {
    let action = ["Continue", "Continue", "Hold", "Return", "Land"][rng.random_range(0..5)];
    json!({"onCoordinatorLoss": action, "coordinatorLossSeconds": rng.random_range(10..60)})
}

fn post(number: usize) -> String {
    format!("post-{number}")
}

fn asked(place: Spot) -> Value {
    let mut asked = corner(place.east, place.north);
    asked["altitudeMeters"] = json!(place.up);
    asked
}

/// Clear of all work and all homes.
pub(super) fn sound(number: usize) -> Spot {
    Spot {
        east: -45.0 - 25.0 * number as f64,
        north: -30.0,
        up: 12.0,
    }
}

pub(super) fn condition<'a>(object: &'a Value, of: &str) -> Option<&'a Value> {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|one| one["type"] == of)
}

fn is(object: &Value, of: &str) -> bool {
    condition(object, of).is_some_and(|one| one["status"] == "True")
}

fn says(object: &Value, of: &str) -> String {
    condition(object, of).map_or_else(String::new, |one| format!("{}: {}", one["reason"], one["message"]))
}

/// Whether it is far from the station that its Drone's status is about.
fn is_elsewhere(drone: &Value, at: Spot) -> bool {
    let place = &drone["spec"]["station"];
    let degrees = place["latitudeDegrees"]
        .as_f64()
        .zip(place["longitudeDegrees"].as_f64());
    let is_current = drone["status"]["observedGeneration"] == drone["metadata"]["generation"];
    // A program flies about in its airspace.
    let holds = is_current && drone["spec"]["control"] != "External";
    holds && degrees.is_some_and(|(lat, lon)| at.over_ground(Spot::at_degrees(lat, lon)) > HOLDS_WITHIN)
}

impl Run<'_> {
    pub(super) fn through_the_gate(&mut self) -> Result<(), String> {
        let result = self.fly_through_the_gate();
        let Some(gate) = &self.gate else { return result };
        let story = gate.story.join("\n  ");
        let told = result.map_err(|why| {
            let missions = self.missions();
            let missions = missions.iter().map(|mission| {
                format!(
                    "{} {} {}",
                    mission["metadata"]["name"], mission["spec"]["altitudeStepMeters"], mission["status"]
                )
            });
            format!(
                "{why};\nMissions: {}\n{}\n  {story}",
                missions.collect::<Vec<_>>().join("\n  "),
                self.situation().replace("; ", "\n  ")
            )
        });
        told?;
        let (tally, elapsed) = (&self.oracle.tally, self.sim.elapsed());
        let meters = |least: Option<u32>| least.map_or(f64::NAN, |least| f64::from(least) / 1000.0);
        let returned = self.oracle.separation.persons().returned;
        self.oracle.tally.course = format!(
            "{} edits, {} ground orders, {} pilots, {} returns, {} leaders killed, {} crashes, {} cuts, {} aircraft, {} failsafes; {:.3} \
             vehicle-hours in the air, nearest {:.2} m, of returns {:.2} m, and {:.2} m once they were known; {} s simulated",
            tally.edits,
            tally.ground_orders,
            tally.pilots,
            tally.returns,
            tally.leaders,
            tally.crashes,
            tally.cuts,
            tally.aircraft,
            tally.failsafes,
            tally.in_the_air.as_secs_f64() / 3600.0,
            meters(tally.nearest),
            meters(returned[0]),
            meters(returned[1]),
            elapsed.as_secs()
        );
        let wild = self.wild_account();
        self.oracle.tally.course += &wild;
        Ok(())
    }

    fn fly_through_the_gate(&mut self) -> Result<(), String> {
        let all = self.nodes.len() - self.besides();
        self.oracle
            .desire(Duration::ZERO, u32::try_from(self.nodes.len()).unwrap());
        self.oracle.separation.persons();
        let missions = fly_missions(all);
        let posts = all - missions - 1;
        let posts = (0..posts).map(|_| self.any_post()).collect();
        self.gate = Some(Gate {
            missions: Vec::new(),
            posts,
            first_post: missions,
            parked: all - 1,
            due: Vec::new(),
            taken: Vec::new(),
            story: Vec::new(),
            still: BTreeMap::new(),
        });
        for number in 0..all {
            let label = json!({"metadata": {"labels": {"kind": self.kind_of(number)}}});
            let path = format!("/api/v1/nodes/{}", self.nodes[number].name());
            self.ask(Method::PATCH, &path, &label);
        }
        let heard = self.sim.elapsed() + HEARD;
        while self.list(VEHICLES).len() < self.nodes.len() && self.sim.elapsed() < heard {
            self.pass(DRAW)?;
        }
        self.begin_the_wild();
        self.ask_for_posts();
        self.ask_for_missions();
        let disorder = if self.wild.is_some() { wild::DISORDER } else { DISORDER };
        let end = self.sim.elapsed() + Duration::from_secs_f64(self.rng.random_range(disorder));
        while self.sim.elapsed() < end {
            if self.chance(FAULTS) {
                self.mishap();
            } else {
                self.end_what_is_over(self.sim.elapsed());
            }
            self.disturb(end);
            self.disturb_wildly();
            self.go_on_with_what_is_due(self.sim.elapsed());
            self.pass_in_the_air(DRAW)?;
        }
        self.hold_to_holes()?;
        self.ground_for_hours()?;
        self.wind_down();
        self.await_all()
    }

    fn gate(&mut self) -> &mut Gate {
        self.gate.as_mut().unwrap()
    }

    pub(super) fn kind_of(&self, number: usize) -> &'static str {
        let Some(gate) = &self.gate else { return "none" };
        match number {
            number if number < gate.first_post => "mission",
            number if number < gate.parked => "post",
            number if number == gate.parked => "none",
            number => wild::kind(number - gate.parked - 1),
        }
    }

    /// Whether a pilot has it, or had it without a `resume` since.
    pub(super) fn is_taken(&self, number: usize) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.taken.contains(&number))
    }

    pub(super) fn is_to_be_undone(&self, path: &str) -> bool {
        let is_due = |(_, what): &(Duration, Due)| matches!(what, Due::Undoes(of, _) if of == path);
        self.gate.as_ref().is_some_and(|gate| gate.due.iter().any(is_due))
    }

    pub(super) fn tell(&mut self, what: &str) {
        let now = self.sim.elapsed();
        tracing::info!(?now, what, "somebody does something");
        self.gate().story.push(format!("{:7.1} s {what}", now.as_secs_f64()));
    }

    pub(super) fn list(&self, path: &str) -> Vec<Value> {
        let list = self.ask(Method::GET, path, &Value::Null);
        list["items"].as_array().cloned().unwrap_or_default()
    }

    pub(super) fn missions(&self) -> Vec<Value> {
        self.list(MISSIONS)
    }

    pub(super) fn pass_in_the_air(&mut self, span: Duration) -> Result<(), String> {
        let before = self.sim.elapsed();
        self.pass(span)?;
        let passed = self.sim.elapsed() - before;
        let flying = self.nodes.iter().filter(|node| node.vehicle.armed()).count();
        self.oracle.tally.in_the_air += passed * u32::try_from(flying).unwrap();
        self.judge_fences()
    }

    fn any_post(&mut self) -> Spot {
        let [east, north] = anywhere(&mut self.rng);
        Spot {
            east: east - self.rng.random_range(0.0..30.0),
            north: north - self.rng.random_range(0.0..20.0),
            up: self.rng.random_range(8.0..75.0),
        }
    }

    fn ask_for_posts(&mut self) {
        let posts = self.gate().posts.clone();
        for (number, place) in posts.into_iter().enumerate() {
            let there = self.ask(Method::GET, &format!("{DRONES}/{}", post(number)), &Value::Null);
            if there["kind"] == "Drone" {
                continue;
            }
            let failsafe = failsafe(&mut self.rng);
            let drone = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": post(number)},
                "spec": {"station": asked(place), "failsafe": failsafe, "nodeSelector": {"kind": "post"}}});
            self.ask(Method::POST, DRONES, &drone);
            self.oracle.tally.stations += 1;
        }
    }

    fn place_post(&mut self, number: usize, place: Spot) {
        self.gate().posts[number] = place;
        let path = format!("{DRONES}/{}", post(number));
        self.ask(Method::PATCH, &path, &json!({"spec": {"station": asked(place)}}));
        self.oracle.tally.stations += 1;
    }

    fn ask_for_missions(&mut self) {
        let most = self.gate().first_post;
        let up = self.rng.random_range(UP);
        let step = [10.0, 12.0, 15.0][self.rng.random_range(0..3)];
        self.ask_for_mission("work", up, (8, most), step);
        if self.chance(0.3) {
            let up = up + self.rng.random_range(-3.0..30.0);
            self.ask_for_mission("more", up, (2, 1), 0.0);
        }
    }

    fn ask_for_mission(&mut self, name: &str, up: f64, size: (usize, usize), step: f64) {
        let spec = mission(&mut self.rng, up, size, step);
        self.begin_mission(name, &spec);
        let (_, parallelism) = size;
        self.tell(&format!(
            "Mission {name}, {up:.1} m up, for {parallelism}, {step} m apart"
        ));
    }

    pub(super) fn begin_mission(&mut self, name: &str, spec: &Value) {
        let object =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission", "metadata": {"name": name}, "spec": spec});
        self.ask(Method::POST, MISSIONS, &object);
        self.gate().missions.push(name.to_owned());
    }

    fn disturb(&mut self, end: Duration) {
        if self.chance(0.005) {
            let away = Duration::from_secs_f64(self.rng.random_range(0.5..30.0));
            self.tell("the leader is killed");
            self.kill_the_leader_for(away);
        }
        if self.chance(0.012) {
            self.edit_a_mission();
        }
        if self.chance(0.004) {
            self.take_a_vehicle();
        }
        if self.chance(0.001) {
            self.order_a_return();
        }
        if self.chance(0.001) {
            self.an_aircraft_comes(end);
            self.tell("an aircraft comes");
        }
        if self.chance(0.005) {
            let posts = self.gate().posts.len();
            let number = self.rng.random_range(0..posts);
            let place = self.any_post();
            self.tell(&format!("station {number} is moved to {place:.1?}"));
            self.ask_for_posts();
            self.place_post(number, place);
        }
        if self.chance(0.003) {
            let (node, cordoned) = (self.any_node(), self.rng.random_bool(0.4));
            self.cordon(node, cordoned);
        }
        if self.chance(0.001) {
            self.delete_a_drone();
        }
    }

    pub(super) fn mission_names(&mut self) -> Vec<String> {
        self.gate().missions.clone()
    }

    /// Edits a Mission for so many seconds, unless another edit of it is still to be undone.
    pub(super) fn edit_for_a_while(&mut self, name: &str, spec: &Value, back: Value, seconds: f64) {
        let pending = |(_, what): &(Duration, Due)| matches!(what, Due::PutsBack(of, _) if of == name);
        if self.gate().due.iter().any(pending) {
            return;
        }
        let until = self.sim.elapsed() + Duration::from_secs_f64(seconds);
        self.gate().due.push((until, Due::PutsBack(name.to_owned(), back)));
        self.patch_mission(name, spec);
    }

    pub(super) fn edit(&mut self, path: &str, patch: &Value) {
        self.oracle.tally.edits += 1;
        self.tell(&format!("{path} is edited: {patch}"));
        self.ask(Method::PATCH, path, patch);
    }

    pub(super) fn undo_later(&mut self, seconds: f64, path: String, patch: Value) {
        let at = self.sim.elapsed() + Duration::from_secs_f64(seconds);
        self.gate().due.push((at, Due::Undoes(path, patch)));
    }

    pub(super) fn release_later(&mut self, seconds: f64) {
        let at = self.sim.elapsed() + Duration::from_secs_f64(seconds);
        self.gate().due.push((at, Due::Releases));
    }

    pub(super) fn patch_mission(&mut self, name: &str, spec: &Value) {
        self.oracle.tally.edits += 1;
        self.tell(&format!("Mission {name} is edited: {spec}"));
        self.ask(Method::PATCH, &format!("{MISSIONS}/{name}"), &json!({"spec": spec}));
    }

    fn edit_a_mission(&mut self) {
        let missions = self.gate().missions.clone();
        let name = missions[self.rng.random_range(0..missions.len())].clone();
        let is_back = |due: &[(Duration, Due)]| {
            !due.iter()
                .any(|(_, what)| matches!(what, Due::PutsBack(of, _) if *of == name))
        };
        let is_back = is_back(&self.gate().due);
        let rng = &mut self.rng;
        let mut for_a_while = None;
        let spec = match rng.random_range(0..17) {
            0..=6 => json!({"altitudeStepMeters": STEPS[rng.random_range(0..STEPS.len())]}),
            7..=9 => json!({"parallelism": rng.random_range(1..=4)}),
            10 => json!({"priority": rng.random_range(-5..=5)}),
            11 if is_back => {
                for_a_while = Some(json!({"suspend": false}));
                json!({"suspend": true})
            }
            // A Mission that is flown for ever has no number of times.
            12 if self.wild.is_none() || is_back => json!({"completions": rng.random_range(1..=2)}),
            13 => {
                json!({"handover": {"overlapSeconds": rng.random_range(0..15)}, "backoffLimit": rng.random_range(50..=100)})
            }
            14 => json!({"failsafe": failsafe(rng)}),
            15 if is_back => {
                let mission = self.ask(Method::GET, &format!("{MISSIONS}/{name}"), &Value::Null);
                let of = if mission["spec"]["route"].is_null() {
                    "survey"
                } else {
                    "route"
                };
                let mut other = mission["spec"][of].clone();
                for_a_while = Some(json!({of: other.clone()}));
                match of {
                    "survey" => other["altitudeMeters"] = json!(UP.end),
                    _ => other["waypoints"][0]["altitudeMeters"] = json!(UP.end),
                }
                json!({of: other})
            }
            _ => return self.edit_a_drone(),
        };
        if let Some(spec) = for_a_while {
            let until = self.sim.elapsed() + Duration::from_secs_f64(self.rng.random_range(1.0..30.0));
            self.gate().due.push((until, Due::PutsBack(name.clone(), spec)));
        }
        self.patch_mission(&name, &spec);
    }

    fn edit_a_drone(&mut self) {
        let drones = self.drones();
        let of_missions: Vec<&Value> = drones
            .iter()
            .filter(|drone| drone["spec"]["station"].is_null())
            .collect();
        if of_missions.is_empty() {
            return;
        }
        let name = of_missions[self.rng.random_range(0..of_missions.len())]["metadata"]["name"].clone();
        let up = self.rng.random_range(3.0..60.0_f64).round();
        self.oracle.tally.edits += 1;
        self.tell(&format!("Drone {name} is to take off to {up} m"));
        let path = format!("{DRONES}/{}", name.as_str().unwrap_or_default());
        self.ask(Method::PATCH, &path, &json!({"spec": {"takeoffAltitudeMeters": up}}));
    }

    fn delete_a_drone(&mut self) {
        let drones = self.drones();
        if drones.is_empty() {
            return;
        }
        let which = self.rng.random_range(0..drones.len());
        self.tell(&format!("Drone {} is deleted", drones[which]["metadata"]["name"]));
        self.delete(&drones[which]);
    }

    fn any_that_flies(&mut self) -> Option<(usize, Spot)> {
        let taken = self.gate().taken.clone();
        let fly = self.nodes.iter().filter_map(|node| {
            let (spot, _) = node.vehicle.spot()?;
            let flies = node.vehicle.armed() && spot.up > LOWEST && !node.lands() && !taken.contains(&node.number);
            flies.then_some((node.number, spot))
        });
        let fly: Vec<(usize, Spot)> = fly.collect();
        (!fly.is_empty()).then(|| fly[self.rng.random_range(0..fly.len())])
    }

    fn take_a_vehicle(&mut self) {
        let Some((number, spot)) = self.any_that_flies() else {
            return;
        };
        let now = self.sim.elapsed();
        let to = Spot {
            east: spot.east + self.rng.random_range(-SIDEWAYS..SIDEWAYS),
            north: spot.north + self.rng.random_range(-SIDEWAYS..SIDEWAYS),
            up: (spot.up + self.rng.random_range(-UPWARD..UPWARD)).max(LOWEST),
        };
        let after = |seconds: f64| now + Duration::from_secs_f64(seconds);
        let has = self.rng.random_range(HAS);
        let says = self.rng.random_range(SAYS);
        self.tell(&format!(
            "a pilot takes node-{number} at {spot:.1?} to {to:.1?} for {has:.1} s, and says resume {says:.1} s later"
        ));
        self.nodes[number].vehicle.fly_by_stick(spot);
        self.oracle.separation.persons().take(number);
        self.oracle.tally.pilots += 1;
        let gate = self.gate();
        gate.taken.push(number);
        gate.due.extend([
            (after(has * 0.2), Due::Moves(number, to)),
            (after(has), Due::LetsGo(number)),
            (after(has + says), Due::Resumes(number)),
        ]);
    }

    fn order_a_return(&mut self) {
        let Some((number, spot)) = self.any_that_flies() else {
            return;
        };
        self.tell(&format!(
            "a ground station orders node-{number} at {spot:.1?} to return"
        ));
        self.nodes[number].vehicle.change_mode(RETURN);
        self.oracle.separation.persons().take(number);
        self.oracle.tally.returns += 1;
        self.gate().taken.push(number);
    }

    pub(super) fn go_on_with_what_is_due(&mut self, now: Duration) {
        for number in 0..self.nodes.len() {
            if !self.nodes[number].vehicle.armed() {
                let gate = self.gate();
                gate.taken.retain(|taken| *taken != number);
                gate.due.retain(|(_, what)| what.vehicle() != Some(number));
            }
        }
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.gate().due)
            .into_iter()
            .partition(|(at, _)| *at <= now);
        self.gate().due = later;
        for (_, what) in due {
            match what {
                Due::Moves(number, to) => self.nodes[number].vehicle.fly_by_stick(to),
                Due::LetsGo(number) => {
                    self.nodes[number].vehicle.change_mode(HOLD);
                    let at = self.sim.elapsed();
                    self.oracle.separation.persons().let_go(number, at);
                }
                Due::Resumes(number) => {
                    self.resume(number);
                    self.gate().taken.retain(|taken| *taken != number);
                }
                Due::PutsBack(name, spec) => self.patch_mission(&name, &spec),
                Due::Undoes(path, patch) => self.edit(&path, &patch),
                Due::Releases => {
                    self.tell("everything is released");
                    self.say(PersonOrder::Release);
                }
            }
        }
    }

    fn resume(&mut self, number: usize) {
        let node = self.nodes[number].name();
        let drones = self.drones();
        let drone = drones.iter().find(|drone| drone["spec"]["nodeName"] == node);
        if let Some(name) = drone.and_then(|drone| drone["metadata"]["name"].as_str()) {
            self.tell(&format!("resume of {name} on {node}"));
            self.say(PersonOrder::Resume(name.to_owned()));
        }
    }

    fn wind_down(&mut self) {
        self.quiet();
        self.tell("the faults end");
        self.gate()
            .due
            .retain(|(_, what)| !matches!(what, Due::Moves(..) | Due::Resumes(_)));
        self.go_on_with_what_is_due(Duration::MAX);
        let parked = self.gate().parked;
        (0..self.nodes.len())
            .filter(|node| *node != parked)
            .for_each(|node| self.cordon(node, false));
        self.ask_for_posts();
        for number in 0..self.gate().posts.len() {
            self.place_post(number, sound(number));
        }
        self.settle_the_wild();
    }

    fn await_all(&mut self) -> Result<(), String> {
        let end = self.sim.elapsed() + PATIENCE;
        loop {
            let Some(why) = self.why_not_done() else { return Ok(()) };
            if self.sim.elapsed() > end {
                return Err(format!("{PATIENCE:?} after the faults {why}"));
            }
            self.nothing_hovers_without_a_reason()?;
            self.see_to_what_failsafes_did();
            for node in &self.nodes {
                node.vehicle.carry_home();
            }
            self.ask_for_posts();
            self.look_after_the_wild();
            self.pass_in_the_air(LOOKED_AFTER)?;
        }
    }

    fn why_not_done(&mut self) -> Option<String> {
        let missions = self.missions();
        if let Some(open) = missions.iter().find(|mission| !is(mission, "Complete")) {
            return Some(format!(
                "Mission {} is not complete: {}",
                open["metadata"]["name"],
                says(open, "Progressing")
            ));
        }
        let drones = self.drones();
        let posts = self.gate().posts.clone();
        for (number, place) in posts.iter().enumerate() {
            let drone = drones.iter().find(|drone| drone["metadata"]["name"] == post(number));
            let node = drone.and_then(|drone| self.nodes.iter().find(|node| drone["spec"]["nodeName"] == node.name()));
            let at = node.and_then(|node| node.vehicle.spot());
            let is_there = at.is_some_and(|(at, _)| {
                at.over_ground(*place) <= ON_STATION.0 && (at.up - place.up).abs() <= ON_STATION.1
            });
            if !is_there {
                return Some(format!("{} is not at {place:.1?}", post(number)));
            }
        }
        let of_missions = drones.iter().find(|drone| drone["spec"]["station"].is_null());
        if let Some(drone) = of_missions {
            return Some(format!("Drone {} is still there", drone["metadata"]["name"]));
        }
        if let Some(why) = self.is_not_settled() {
            return Some(why);
        }
        (self.up() != posts.len() + self.besides()).then(|| format!("{} are in the air", self.up()))
    }

    /// For a vehicle that stays where it is in the air, its Drone says why, unless that is its station.
    pub(super) fn nothing_hovers_without_a_reason(&mut self) -> Result<(), String> {
        let now = self.sim.elapsed();
        let drones = self.drones();
        for number in 0..self.nodes.len() {
            let node = &self.nodes[number];
            let name = node.name();
            let spot = node
                .vehicle
                .spot()
                .filter(|(spot, _)| node.vehicle.armed() && spot.up > 1.0);
            let Some((spot, _)) = spot else {
                self.gate().still.remove(&number);
                continue;
            };
            let (since, at) = *self.gate().still.entry(number).or_insert((now, spot));
            if at.over_ground(spot) > STAYS || (at.up - spot.up).abs() > STAYS {
                self.gate().still.insert(number, (now, spot));
                continue;
            }
            if now < since + HOVERS {
                continue;
            }
            let Some(drone) = drones.iter().find(|drone| drone["spec"]["nodeName"] == name) else {
                return Err(format!("{name} has hovered since {since:?}, and no Drone has it"));
            };
            let place = &drone["spec"]["station"];
            let ready = condition(drone, "Ready");
            let reason = ready.and_then(|ready| ready["reason"].as_str()).unwrap_or_default();
            let is_ready = ready.is_some_and(|ready| ready["status"] == "True");
            let on_station = !place.is_null() && is_ready && !is_elsewhere(drone, spot);
            let says_why = !matches!(
                reason,
                "" | "InTheAir" | "Holding" | "Moving" | "Updating" | "TakingOff"
            );
            if !on_station && !says_why {
                return Err(format!(
                    "{name} has hovered at {spot:.1?} since {since:?}, and its Drone does not say why: {}",
                    says(drone, "Ready")
                ));
            }
        }
        Ok(())
    }
}
