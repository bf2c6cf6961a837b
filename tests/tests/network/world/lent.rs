//! Programs fly two vehicles fast, each in airspace of its own, while their agents, their radios and leaders are lost
//! at speed; two others are sent past that airspace.

use super::gate::{DRONES, condition, corner};
use super::{COORDINATORS, DRAW, Ends, LOOKED_AFTER, ON_STATION, Run};
use crate::node::Node;
use crate::program::Volume;
use crate::vehicle::Spot;
use agent_testkit::autopilot::Kind;
use http::Method;
use rand::RngExt;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::Duration;

const LENT: usize = 2;
pub const VEHICLES: usize = LENT + 2;
/// Meters from the middle of one airspace to that of the other.
const APART: f64 = 160.0;
const RADIUS: f64 = 60.0;
const HIGH: f64 = 18.0;
const UP: f64 = 35.0;
/// Meters north of the homes where all is flown.
const NORTH: f64 = 110.0;
/// Meters beside the airspace of programs, where the two others are in turn.
const BESIDE: f64 = 15.0;
const FARTHER: f64 = 60.0;
/// Meters per second from which a flight is fast.
const FAST: f64 = 4.5;
/// Lost one after the other, each once at the speed of each lent vehicle.
const LOSSES: [Loss; 4] = [Loss::Agent, Loss::Leader, Loss::Radio, Loss::AgentAndLeader];
/// Seconds of the loss.
const AGENT: Range<f64> = 0.5..9.0;
const LEADER: Range<f64> = 3.0..15.0;
const RADIO: Range<f64> = 3.0..20.0;
/// Seconds that are judged before the next.
const FOLLOWS: Range<f64> = 6.0..10.0;
/// By then the vehicles are received; by then a program flies its vehicle fast, and all is as declared.
const HEARD: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug)]
enum Loss {
    Agent,
    Leader,
    Radio,
    AgentAndLeader,
}

const fn spot(east: f64, north: f64, up: f64) -> Spot {
    Spot { east, north, up }
}

pub fn homes() -> Vec<Spot> {
    vec![
        spot(0.0, 0.0, 0.0),
        spot(APART, 0.0, 0.0),
        spot(APART / 2.0, 0.0, 0.0),
        spot(-APART / 2.0, 0.0, 0.0),
    ]
}

pub fn kind(number: usize) -> Kind {
    if number.is_multiple_of(2) {
        Kind::Px4
    } else {
        Kind::ArduCopter
    }
}

pub fn volume(number: usize) -> Option<Volume> {
    (number < LENT).then(|| Volume {
        middle: spot(APART * number as f64, NORTH, UP),
        radius: RADIUS,
        below: HIGH,
        above: HIGH,
    })
}

fn place(number: usize, round: usize) -> Spot {
    let (beside, far) = (RADIUS + BESIDE, if round.is_multiple_of(2) { 0.0 } else { FARTHER });
    if number == LENT {
        spot(beside, NORTH + far, UP - far / 4.0)
    } else {
        spot(-beside, NORTH + far, UP - far / 4.0)
    }
}

fn name(number: usize) -> String {
    format!("one-{number}")
}

fn asked(place: Spot) -> Value {
    let mut station = corner(place.east, place.north);
    station["altitudeMeters"] = json!(place.up);
    station
}

fn is_at(node: &Node, place: Spot) -> bool {
    let at = node.vehicle.spot();
    at.is_some_and(|(at, _)| at.over_ground(place) <= ON_STATION.0 && (at.up - place.up).abs() <= ON_STATION.1)
}

/// In the middle of its airspace, or its Drone says truly that the program flies it.
pub fn is_flown_or_at_its_station(drone: &Value, node: &Node) -> bool {
    let Some((program, (at, _))) = node.program.as_ref().zip(node.vehicle.spot()) else {
        return false;
    };
    if !node.is_up() || drone["spec"]["nodeName"] != node.name().as_str() {
        return false;
    }
    let (wide, high) = program.volume.depth(at);
    let is_flown = condition(drone, "Ready").is_some_and(|ready| ready["reason"] == "ExternalControl");
    is_at(node, program.volume.middle) || (is_flown && wide >= 0.0 && high >= 0.0)
}

impl Run<'_> {
    pub(super) fn through_what_is_lent(&mut self) -> Result<(), String> {
        self.oracle.desire(Duration::ZERO, u32::try_from(VEHICLES).unwrap());
        self.oracle.separation.persons();
        let mut story = Vec::new();
        self.fly_what_is_lent(&mut story).map_err(|why| {
            format!(
                "{why};\n  {}\n  {}",
                story.join("\n  "),
                self.situation().replace("; ", "\n  ")
            )
        })?;
        let tally = &self.oracle.tally;
        self.oracle.tally.course = format!(
            "{}; {} leaders killed, {} crashes, {} cuts; nearest {:.2} m; {} s simulated",
            self.oracle.lent.account(),
            tally.leaders,
            tally.crashes,
            tally.cuts,
            tally.nearest.map_or(f64::NAN, |nearest| f64::from(nearest) / 1000.0),
            self.sim.elapsed().as_secs()
        );
        Ok(())
    }

    fn fly_what_is_lent(&mut self, story: &mut Vec<String>) -> Result<(), String> {
        for number in 0..VEHICLES {
            let label = json!({"metadata": {"labels": {"kind": name(number)}}});
            let path = format!("/api/v1/nodes/{}", self.nodes[number].name());
            self.ask(Method::PATCH, &path, &label);
        }
        let heard = self.sim.elapsed() + HEARD;
        while self.list("/apis/skein.dev/v1alpha1/vehicles").len() < VEHICLES && self.sim.elapsed() < heard {
            self.pass(DRAW)?;
        }
        for (round, loss) in LOSSES.into_iter().flat_map(|loss| [loss; LENT]).enumerate() {
            let number = round % LENT;
            let speed = self.await_speed(number, round)?;
            let now = self.sim.elapsed();
            story.push(format!(
                "{:7.1} s node-{number} loses at {speed:.1} m/s: {loss:?}; {:?}",
                now.as_secs_f64(),
                self.nodes[number].program
            ));
            self.lose(loss, number);
            let end = now + Duration::from_secs_f64(self.rng.random_range(FOLLOWS));
            while self.sim.elapsed() < end {
                self.end_what_is_over(self.sim.elapsed());
                self.pass(DRAW)?;
            }
        }
        self.quiet();
        story.push(format!("{:7.1} s the faults end", self.sim.elapsed().as_secs_f64()));
        for program in self.nodes.iter().filter_map(|node| node.program.as_ref()) {
            program.calm();
        }
        let end = self.sim.elapsed() + PATIENCE;
        while let Some(why) = self.is_not_as_declared(0) {
            if self.sim.elapsed() > end {
                return Err(format!("{PATIENCE:?} after the faults {why}"));
            }
            self.look_after_what_is_lent(0);
            self.pass(LOOKED_AFTER)?;
        }
        Ok(())
    }

    fn await_speed(&mut self, number: usize, round: usize) -> Result<f64, String> {
        let (end, mut looks) = (self.sim.elapsed() + PATIENCE, Duration::ZERO);
        loop {
            let now = self.sim.elapsed();
            self.end_what_is_over(now);
            if let Some(speed) = self.oracle.lent.speed(number).filter(|speed| *speed >= FAST) {
                return Ok(speed);
            }
            if now > end {
                let node = &self.nodes[number];
                return Err(format!(
                    "for {PATIENCE:?} no program has flown node-{number} fast; {:?}; its agent: {:?}; its Drone: {}",
                    node.program,
                    node.reported.lock().unwrap(),
                    self.ask(Method::GET, &format!("{DRONES}/{}", name(number)), &Value::Null)["status"]
                ));
            }
            if now >= looks {
                looks = now + LOOKED_AFTER;
                self.look_after_what_is_lent(round);
            }
            self.pass(DRAW)?;
        }
    }

    fn lose(&mut self, loss: Loss, number: usize) {
        let mut seconds = |range: Range<f64>| Duration::from_secs_f64(self.rng.random_range(range));
        let (agent, leader, radio) = (seconds(AGENT), seconds(LEADER), seconds(RADIO));
        match loss {
            Loss::Agent => self.crash_for(self.host(number), agent),
            Loss::Leader => self.kill_the_leader_for(leader),
            Loss::Radio => {
                let (node, end) = (self.host(number), self.sim.elapsed() + radio);
                for coordinator in 0..COORDINATORS {
                    let coordinator = format!("coordinator-{coordinator}");
                    self.sim.partition(node.as_str(), coordinator.as_str());
                    self.ends.push((end, Ends::Cut(node.clone(), coordinator)));
                }
                self.oracle.tally.cuts += 1;
            }
            Loss::AgentAndLeader => {
                self.crash_for(self.host(number), agent);
                self.kill_the_leader_for(leader);
            }
        }
    }

    fn look_after_what_is_lent(&mut self, round: usize) {
        self.see_to_what_failsafes_did();
        for number in 0..VEHICLES {
            self.nodes[number].vehicle.carry_home();
            let station = volume(number).map_or_else(|| place(number, round), |volume| volume.middle);
            let path = format!("{DRONES}/{}", name(number));
            let there = self.ask(Method::GET, &path, &Value::Null);
            if there["kind"] == "Drone" {
                let patch = json!({"spec": {"station": asked(station)}});
                if number >= LENT && there["spec"]["station"] != patch["spec"]["station"] {
                    self.ask(Method::PATCH, &path, &patch);
                }
                continue;
            }
            let mut spec = json!({"station": asked(station), "nodeSelector": {"kind": name(number)}});
            if number < LENT {
                spec["control"] = json!("External");
                spec["external"] =
                    json!({"radiusMeters": RADIUS, "belowMeters": HIGH, "aboveMeters": HIGH, "leaseSeconds": 2});
                // This one flies on without its coordinator; the program of the other loses it.
                let on_loss = if number == 0 { "Continue" } else { "Hold" };
                spec["failsafe"] = json!({"onCoordinatorLoss": on_loss, "coordinatorLossSeconds": 8});
            }
            let drone = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": name(number)}, "spec": spec});
            self.ask(Method::POST, DRONES, &drone);
            self.oracle.tally.stations += 1;
        }
    }

    fn is_not_as_declared(&self, round: usize) -> Option<String> {
        let drones = self.drones();
        (0..VEHICLES).find_map(|number| {
            let node = &self.nodes[number];
            let drone = drones
                .iter()
                .find(|drone| drone["metadata"]["name"] == name(number).as_str())
                .cloned()
                .unwrap_or_default();
            let is_well = match volume(number) {
                Some(_) => is_flown_or_at_its_station(&drone, node),
                None => is_at(node, place(number, round)),
            };
            let ready = condition(&drone, "Ready").cloned().unwrap_or_default();
            (!is_well).then(|| format!("{} is at {:.1?}: {ready}", name(number), node.vehicle.spot()))
        })
    }
}
