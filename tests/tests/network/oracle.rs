//! Whether the events are allowed, judged from the vehicles themselves, from the messages to agents, and from the
//! objects. Shares no rule with `fleet`. Must not: read the state of agents or coordinators.
//!
//! 1. A vehicle is armed only while a leading coordinator orders flight on the open stream, or 2 s later at the latest.
//! 2. Nothing arms or takes off once the agent has an order to be on the ground, until it gets another one.
//! 3. No landing but one that was ordered, or that the failsafe requires: a short silence lands no vehicle.
//! 4. At most one Drone per node, for ever; an agent gets orders for Drones of its own node only.
//! 5. A Drone's object stays until its vehicle is disarmed.
//! 6. Whichever vehicles take off, no more are in the air than desired, plus the surge.
//! 7. No flight is ordered against a ground order or a cordon that was recorded for a while, however late watches are.
//! 8. No flight is ordered when the Lease has had the note for a while that the store went back in time.
//! 9. A leader that read and wrote its Lease without a fault before and after the store went back has noted that soon.
//! 10. Vehicles keep apart; see [`separation`].
//! 11. Vehicles keep away from an aircraft that they observe; see [`traffic`].
//! 12. Statements about rules on board are true, and nothing is armed without the rules; see [`rules`].
//! 13. No status is written on another object that was made again under the same name.
//! 14. A vehicle whose battery runs low comes home or lands, but not by its autopilot's return while a coordinator is
//!     there. Nobody comes below it where it lands; a vehicle there when it began could not be moved away.
//! 15. A vehicle that a program flies stays in the airspace that was ordered for that; see [`lent`].

pub mod lent;
pub mod rules;
pub mod separation;
pub mod traffic;

use crate::api::Cluster;
use crate::node::Node;
use fleet::safety::ARM_LIFE;
use http::Method;
use lent::Lent;
use link::dialect::MavCmd;
use model::assignment::{Desired, GroundedWhy, Order};
use rules::RulesOracle;
use separation::{Separation, lower};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use traffic::Traffic;

/// From the agent's receipt of a message to the last command that may already have been on its way to the autopilot.
const ON_ITS_WAY: Duration = Duration::from_millis(300);
/// Largest difference of the clocks of agent and oracle.
const TICK: Duration = Duration::from_millis(500);
/// Largest delay between a valid order and an act on it.
const MAX_ORDER_DELAY: Duration = Duration::from_secs(30);

/// Time for which a leader may not know what is recorded: the age of its own answer, and the longest delay of an order.
const OLD_KNOWLEDGE: Duration = Duration::from_secs(22);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub arms: u32,
    pub landings: u32,
    pub failsafes: u32,
    pub binds: u32,
    pub crashes: u32,
    pub cuts: u32,
    pub late: u32,
    pub lifts: u32,
    pub terms: u64,
    pub streams: u32,
    pub repeated: u32,
    pub ground_orders: u32,
    pub kept: u32,
    pub restores: u32,
    pub noted: u32,
    pub liars: u32,
    pub stations: u32,
    pub moves: u32,
    pub aircraft: u32,
    /// Least distance of vehicles that keep apart, millimeters.
    pub nearest: Option<u32>,
    pub formations: u32,
    pub reliefs: u32,
    pub leaders: u32,
    pub uploads: u32,
    pub armed_with_rules: u32,
    pub kills_within: u32,
    pub pilots: u32,
    pub returns: u32,
    pub edits: u32,
    pub in_the_air: Duration,
    pub course: String,
    pub simulated: Duration,
    pub trace: u64,
}

#[derive(Default)]
pub struct Oracle {
    pub tally: Tally,
    pub traffic: Traffic,
    pub rules: Option<RulesOracle>,
    seen: Vec<usize>,
    revision: u64,
    /// The node of each Drone that was ever bound, and whether its object exists.
    bound: BTreeMap<String, (String, bool)>,
    /// Drones that a backup had without a vehicle: orders for the vehicle that they had may still arrive.
    unbound: BTreeSet<String>,
    /// Drones that were gone until a backup brought them back: their vehicles may serve others.
    back: BTreeSet<String>,
    desired: Vec<(Duration, u32)>,
    surge: u32,
    read_every: Duration,
    read_at: Duration,
    /// Since when what is recorded forbids flights from a node.
    barred: BTreeMap<String, Duration>,
    went_back: bool,
    pub separation: Separation,
    pub lent: Lent,
    pub tired: BTreeSet<usize>,
    trace: DefaultHasher,
}

/// Meters over ground when a landing begins, beyond which nobody can be below it.
const BELOW: f64 = 40.0;

fn below(node: &Node, nodes: &[Node], reach: f64, may_fly: impl Fn(&Node) -> bool) -> Vec<usize> {
    let Some((at, _)) = node.vehicle.spot() else {
        return Vec::new();
    };
    let others = nodes.iter().filter(|other| other.number != node.number);
    let counted = others.filter(|other| other.vehicle.armed() || may_fly(other));
    let spots = counted.filter_map(|other| Some((other.number, other.vehicle.spot()?.0)));
    lower(at, spots, reach)
}

fn is_descent(command: MavCmd) -> bool {
    matches!(command, MavCmd::MAV_CMD_NAV_LAND | MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH)
}

impl Oracle {
    pub fn new(nodes: usize, surge: u32, read_every: Duration) -> Self {
        Self {
            seen: vec![0; nodes],
            surge,
            read_every,
            ..Self::default()
        }
    }

    pub fn desire(&mut self, at: Duration, replicas: u32) {
        self.desired.push((at, replicas));
    }

    fn most(&self, at: Duration) -> u32 {
        let since = at.saturating_sub(MAX_ORDER_DELAY);
        let before = self.desired.iter().rev().find(|(from, _)| *from <= since);
        let during = self.desired.iter().filter(|(from, _)| *from > since);
        let most = during.chain(before).map(|(_, count)| *count).max();
        most.unwrap_or_default() + self.surge
    }

    /// Until then leaders cannot be relied on to read and write objects.
    pub fn disturbed(&mut self, until: Duration) {
        if let Some(rules) = &mut self.rules {
            rules.disturbed = rules.disturbed.max(until);
        }
    }

    /// Drones that were made since the backup are gone without a landing, as after a real restore.
    pub fn restored(&mut self, cluster: &Cluster, at: Duration) {
        self.tally.restores += 1;
        if let Some(rules) = &mut self.rules {
            rules.restored = Some(at);
        }
        let list = cluster.ask(Method::GET, "/apis/skein.dev/v1alpha1/drones", &Value::Null);
        let drones = list["items"].as_array().into_iter().flatten();
        let there: BTreeMap<&str, bool> = drones
            .filter_map(|drone| {
                Some((
                    drone["metadata"]["uid"].as_str()?,
                    drone["spec"]["nodeName"].is_string(),
                ))
            })
            .collect();
        // A Drone that the backup has without a vehicle gets one again, and its previous vehicle lands.
        let unbound: Vec<String> = (there.iter())
            .filter(|(_, has_vehicle)| !**has_vehicle)
            .map(|(uid, _)| (*uid).to_owned())
            .collect();
        self.bound.retain(|uid, _| !unbound.contains(uid));
        self.unbound.extend(unbound);
        // The record is another from now on, and cannot be known sooner.
        self.barred.clear();
        for (uid, (_, is_there)) in &mut self.bound {
            let was_there = std::mem::replace(is_there, there.contains_key(uid.as_str()));
            if *is_there && !was_there {
                self.back.insert(uid.clone());
            }
        }
        self.revision = 0;
    }

    /// Judges the events since the last call, at `at`. The error: an event that is not allowed.
    pub fn judge(&mut self, nodes: &[Node], cluster: &Cluster, at: Duration) -> Result<(), String> {
        if let Some(astray) = cluster.astray() {
            return Err(astray);
        }
        for node in nodes {
            self.commands(node, nodes, at)?;
        }
        if cluster.revision() != self.revision && at >= self.read_at + self.read_every {
            self.revision = cluster.revision();
            self.read_at = at;
            self.objects(nodes, cluster)?;
            self.note_what_is_barred(nodes, cluster, at);
        }
        if self.rules.is_some() {
            // A vehicle whose agent is away comes home by its own failsafe.
            for node in nodes.iter().filter(|node| node.returns()) {
                self.separation.divert(node.number);
            }
        }
        self.lifts(nodes, cluster)?;
        if let Some(returns) = &mut self.separation.own_returns {
            returns.note(nodes, &self.tired, at);
        }
        self.separation.judge(nodes, at)?;
        self.tally.nearest = self.separation.nearest;
        self.lent
            .judge(nodes, |number| self.separation.is_excused(number), at)?;
        // A program flies anywhere in its airspace, also nearer.
        let is_excused = |number| self.separation.is_excused(number) || self.lent.is_lent(number);
        self.traffic.judge(nodes, is_excused, at)?;
        if let Some(rules) = &mut self.rules {
            rules.judge(nodes, cluster, at)?;
            self.tally.armed_with_rules = rules.arms;
        }
        self.tally.trace = self.trace.finish();
        Ok(())
    }

    fn note_what_is_barred(&mut self, nodes: &[Node], cluster: &Cluster, at: Duration) {
        let items = |path: &str| {
            let list = cluster.ask(Method::GET, path, &Value::Null);
            list["items"].as_array().cloned().unwrap_or_default()
        };
        let swarms = items("/apis/skein.dev/v1alpha1/swarms");
        let orders = items("/apis/skein.dev/v1alpha1/groundorders");
        // All orders of the person are for everything, and there is one Swarm at most; what an agent remembers of a
        // lost order is for its Drone alone, if that is no Swarm's.
        let one_swarm = nodes.iter().all(|node| node.vehicle.spot().is_none());
        let (everything, some): (Vec<&Value>, Vec<&Value>) = (orders.iter()).partition(|order| {
            let scope = &order["spec"]["scope"];
            scope == "All" || (one_swarm && scope != "Drone")
        });
        let grounded = swarms.iter().any(|swarm| swarm["spec"]["grounded"] == true);
        let all = !everything.is_empty() || (grounded && one_swarm);
        let drones = items("/apis/skein.dev/v1alpha1/drones");
        let of_the_swarm = |name: &str| {
            let mut own = drones.iter().filter(|drone| drone["spec"]["nodeName"] == name);
            own.any(|drone| drone["metadata"]["labels"]["skein.dev/swarm"].is_string())
        };
        let named = |name: &str| {
            let nodes = some.iter().filter_map(|order| order["spec"]["nodes"].as_array());
            nodes.flatten().any(|node| node == name)
        };
        let went_back = cluster.went_back();
        self.tally.noted += u32::from(went_back && !self.went_back);
        self.went_back = went_back;
        let objects = items("/api/v1/nodes");
        for node in nodes {
            let object = objects.iter().find(|object| object["metadata"]["name"] == node.name());
            let cordoned = object.is_some_and(|object| object["spec"]["unschedulable"] == true);
            let grounded = grounded && of_the_swarm(&node.name());
            if all || grounded || cordoned || went_back || named(&node.name()) {
                self.barred.entry(node.name()).or_insert(at);
            } else {
                self.barred.remove(&node.name());
            }
        }
    }

    fn lifts(&mut self, nodes: &[Node], cluster: &Cluster) -> Result<(), String> {
        for node in nodes {
            let Some(at) = node.ledger.lock().unwrap().lifted.take() else {
                continue;
            };
            self.tally.lifts += 1;
            let barred = self.barred.get(&node.name());
            if let Some(since) = barred.filter(|since| at.saturating_sub(**since) > OLD_KNOWLEDGE) {
                return Err(format!(
                    "{} is ordered to fly at {at:?}, and that was forbidden since {since:?}: {:?}; ground orders: {}",
                    node.name(),
                    node.ledger.lock().unwrap(),
                    cluster.ask(Method::GET, "/apis/skein.dev/v1alpha1/groundorders", &Value::Null)["items"]
                ));
            }
        }
        Ok(())
    }

    fn commands(&mut self, node: &Node, nodes: &[Node], at: Duration) -> Result<(), String> {
        let mut ledger = node.ledger.lock().unwrap();
        let new = node.vehicle.commands(self.seen[node.number]);
        self.seen[node.number] += new.len();
        let within =
            |moment: Option<Duration>, span: Duration| moment.is_some_and(|then| at.saturating_sub(then) <= span);
        for command in new {
            (at, node.number, command as u32).hash(&mut self.trace);
            if let Some(persons) = &mut self.separation.all_move {
                persons.commanded(node, command, at);
            }
            let what = || format!("{} at {at:?}: {command:?}; {ledger:?}", node.name());
            let takes_off = matches!(
                command,
                MavCmd::MAV_CMD_COMPONENT_ARM_DISARM | MavCmd::MAV_CMD_NAV_TAKEOFF
            );
            if takes_off && !ledger.wants_flight() && !within(ledger.last_up, ON_ITS_WAY) {
                return Err(format!("takes off although ordered to be on the ground: {}", what()));
            }
            if command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM {
                self.tally.arms += 1;
                if !within(ledger.last_up, ARM_LIFE) {
                    return Err(format!(
                        "arms although no order asks for it on the open stream: {}",
                        what()
                    ));
                }
                let up = 1 + nodes
                    .iter()
                    .filter(|other| other.number != node.number && other.is_up())
                    .count();
                if u32::try_from(up).unwrap() > self.most(at) {
                    return Err(format!("{up} up, and at most {} should be: {}", self.most(at), what()));
                }
            }
            self.tally.moves += u32::from(command == MavCmd::MAV_CMD_DO_REPOSITION);
            if is_descent(command) {
                self.tally.landings += 1;
                // Its failsafe may have been on its way when an order came.
                let just_ended = ledger.was_alone.filter(|(_, until)| within(Some(*until), ON_ITS_WAY));
                let since = ledger.alone_since.or(just_ended.map(|(since, _)| since));
                let alone = since.map_or(Duration::ZERO, |since| at.saturating_sub(since));
                let failsafe = alone + TICK >= ledger.failsafe_after();
                self.tally.failsafes += u32::from(failsafe && ledger.wants_flight());
                let by_a_person = ledger.kept.is_some()
                    || matches!(&ledger.last_order, Some(Order::Assigned(a))
                        if a.desired == Desired::Grounded { why: GroundedWhy::Ordered });
                let tired = self.tired.contains(&node.number);
                let returns = command == MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH;
                if failsafe && (ledger.wants_flight() || returns) {
                    self.separation.divert(node.number);
                } else if by_a_person {
                    // With an order to fly it may be on a way through the ground there that it was granted before.
                    let may_fly = |other: &Node| other.ledger.lock().unwrap().wants_flight();
                    let there = below(node, nodes, f64::INFINITY, may_fly);
                    self.separation.lands_on(node.number, there);
                }
                if tired && returns && alone.is_zero() {
                    return Err(format!("returns by a way that nobody has granted: {}", what()));
                }
                if tired && returns {
                    self.separation.divert(node.number);
                } else if tired {
                    let there = below(node, nodes, BELOW, |_| false);
                    if !there.is_empty() {
                        self.separation.lands_on(node.number, there);
                    }
                }
                if ledger.wants_flight() && !within(ledger.last_down, ON_ITS_WAY) && !failsafe && !tired {
                    return Err(format!(
                        "lands although it is wanted up, alone for {alone:?}: {}",
                        what()
                    ));
                }
            }
        }
        if !node.vehicle.armed() {
            ledger.on_ground();
        }
        ledger.note(at);
        Ok(())
    }

    fn objects(&mut self, nodes: &[Node], cluster: &Cluster) -> Result<(), String> {
        let list = cluster.ask(Method::GET, "/apis/skein.dev/v1alpha1/drones", &Value::Null);
        let drones = list["items"].as_array().ok_or_else(|| list.to_string())?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let there: BTreeMap<String, Option<String>> = drones
            .iter()
            .map(|drone| {
                (
                    text(&drone["metadata"]["uid"]).unwrap(),
                    text(&drone["spec"]["nodeName"]),
                )
            })
            .collect();
        let mut on_node = BTreeMap::new();
        for (uid, node) in &there {
            let Some(node) = node else { continue };
            if let Some(other) = on_node.insert(node.clone(), uid.clone()) {
                return Err(format!("Drones {uid} and {other} are both on {node}"));
            }
            match self.bound.get(uid) {
                None => self.tally.binds += 1,
                Some((before, _)) if before == node => {}
                Some((before, _)) => return Err(format!("Drone {uid} went from {before} to {node}")),
            }
            self.bound.insert(uid.clone(), (node.clone(), true));
        }
        for (uid, (name, is_there)) in &mut self.bound {
            if there.contains_key(uid) || !std::mem::replace(is_there, false) {
                continue;
            }
            let Some(node) = nodes.iter().find(|node| node.name() == *name) else {
                continue;
            };
            let of_another = self.back.contains(uid) && node.ledger.lock().unwrap().serves_another_than(uid);
            if node.vehicle.armed() && !of_another {
                return Err(format!("Drone {uid} is gone, and its vehicle at {name} is armed"));
            }
        }
        for node in nodes {
            let ledger = node.ledger.lock().unwrap();
            for uid in &ledger.served {
                let elsewhere = self.bound.get(uid).is_some_and(|(name, _)| *name != node.name());
                if elsewhere && !self.unbound.contains(uid) {
                    return Err(format!(
                        "{} was ordered to fly Drone {uid}, which is not bound to it",
                        node.name()
                    ));
                }
            }
        }
        Ok(())
    }

    pub fn account(mut self, nodes: &[Node]) -> Tally {
        for node in nodes {
            let ledger = node.ledger.lock().unwrap();
            self.tally.streams += ledger.streams;
            self.tally.repeated += ledger.repeated;
            self.tally.kept += ledger.ordered_down;
            self.tally.terms = self.tally.terms.max(ledger.highest_term);
            (ledger.words, ledger.streams).hash(&mut self.trace);
        }
        self.tally.trace = self.trace.finish();
        self.tally
    }
}

impl Node {
    pub fn is_up(&self) -> bool {
        self.vehicle.armed() && !self.lands()
    }

    /// In a mode that brings it down: ArduCopter's and PX4's to land, and a simulated one's to return.
    pub fn lands(&self) -> bool {
        self.returns() || matches!(self.vehicle.mode(), 9 | 0x0604_0000)
    }

    pub fn returns(&self) -> bool {
        self.vehicle.spot().is_some() && matches!(self.vehicle.mode(), 6 | 0x0504_0000)
    }
}
