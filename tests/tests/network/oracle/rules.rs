//! Whether statements about rules on board are true, by the fence and the parameters that the autopilots truly have.
//!
//! 1. An agent that reports its rules in force has them on its autopilot.
//! 2. Nothing is armed without the rules that its order names, or named until just now (all have `preflight: Refuse`).
//! 3. A Geofence that is in force on all by its present status is on each autopilot, unless the status is from a
//!    backup.
//! 4. The status of a Vehicle in contact was true a while ago at the latest, unless leaders are killed or cut off.

use crate::api::Cluster;
use crate::node::Node;
use crate::vehicle::Vehicle;
use http::Method;
use model::rules::{Enforce, Outline, Rules, RulesDigest, Side};
use model::units::Wgs84;
use serde_json::Value;
use sitl::wire::PlanItem;
use std::collections::HashMap;
use std::time::Duration;

/// Largest age of a report.
const REPORTED_WITHIN: Duration = Duration::from_millis(200);
const ARMED_WITHIN: Duration = Duration::from_millis(2500);
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);
/// Degrees × 10⁷; coordinates that differ by no more are the same.
const UNIT: u32 = 1;
/// Each autopilot rounds radii in its own way.
const RADIUS: f32 = 0.01;

pub const GEOFENCES: &str = "/apis/skein.dev/v1alpha1/geofences";
const VEHICLES: &str = "/apis/skein.dev/v1alpha1/vehicles";

#[derive(Debug, Default)]
pub struct RulesOracle {
    nodes: Vec<OfNode>,
    revision: u64,
    /// Until when a leader was killed, or kept from reading or writing objects.
    pub disturbed: Duration,
    /// Time of the last restore, with all statements in the backup.
    pub restored: Option<Duration>,
    pub arms: u32,
    pub claims: u64,
    pub statuses: u64,
}

#[derive(Debug, Default)]
struct OfNode {
    armed: bool,
    wrong_since: Option<Duration>,
    had: HashMap<RulesDigest, Duration>,
}

/// A vertex, with the number of its polygon's vertices, or a circle, with its radius.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wanted {
    command: u16,
    parameter: f32,
    at: (i32, i32),
}

impl RulesOracle {
    pub fn judge(&mut self, nodes: &[Node], cluster: &Cluster, at: Duration) -> Result<(), String> {
        self.nodes.resize_with(nodes.len(), OfNode::default);
        for node in nodes {
            self.node(node, at)?;
        }
        if cluster.revision() != self.revision {
            self.revision = cluster.revision();
            self.objects(nodes, cluster, at)?;
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, at: Duration) -> Result<(), String> {
        let ledger = node.ledger.lock().unwrap();
        let of = &mut self.nodes[node.number];
        if let Some((_, digest)) = ledger.last_rules.last()
            && has(&node.vehicle, &ledger.rules[digest]).is_ok()
        {
            of.had.insert(digest.clone(), at);
        }
        let reported = node.reported.lock().unwrap();
        let report = reported.as_ref().and_then(|reported| reported.borrow().report.clone());
        let claimed = report
            .filter(|report| report.rules.in_force)
            .and_then(|report| report.rules.held);
        let wrong = claimed.as_ref().and_then(|digest| {
            self.claims += 1;
            let rules = ledger.rules.get(digest).ok_or_else(|| "they were not sent".to_owned());
            rules.and_then(|rules| has(&node.vehicle, rules)).err()
        });
        match (wrong, of.wrong_since) {
            (None, _) => of.wrong_since = None,
            (Some(_), None) => of.wrong_since = Some(at),
            (Some(why), Some(since)) if at - since > REPORTED_WITHIN => {
                return Err(format!(
                    "{} reports {claimed:?} in force since {since:?}: {why}",
                    node.name()
                ));
            }
            (Some(_), Some(_)) => {}
        }
        let armed = node.vehicle.armed();
        if armed && !std::mem::replace(&mut of.armed, armed) {
            let named = ledger.named.iter().rev();
            let old = named
                .clone()
                .position(|(since, _)| *since + ARMED_WITHIN < at)
                .unwrap_or(usize::MAX);
            let mut named = named.take(old.saturating_add(1)).map(|(_, named)| named);
            let is_so = |named: &Option<RulesDigest>| match named {
                None => true,
                Some(digest) => ledger
                    .rules
                    .get(digest)
                    .is_some_and(|rules| has(&node.vehicle, rules).is_ok()),
            };
            if !named.any(is_so) {
                return Err(format!(
                    "{} is armed at {at:?} without its rules: named {:?}, on it {:?}",
                    node.name(),
                    ledger.named,
                    node.vehicle.fence()
                ));
            }
            self.arms += 1;
        }
        of.armed = armed;
        Ok(())
    }

    fn objects(&mut self, nodes: &[Node], cluster: &Cluster, at: Duration) -> Result<(), String> {
        let items = |path: &str| {
            let list = cluster.ask(Method::GET, path, &Value::Null);
            list["items"].as_array().cloned().unwrap_or_default()
        };
        // A backup's statements about rules were true when it was made.
        self.restored = self
            .restored
            .filter(|restored| at < self.disturbed.max(*restored) + WRITTEN_WITHIN);
        for fence in items(GEOFENCES) {
            if self.restored.is_some() || !is_on_all(&fence) {
                continue;
            }
            self.statuses += 1;
            let (name, wanted) = (&fence["metadata"]["name"], of_object(&fence["spec"]));
            let site = &fence["spec"]["vehicleSelector"]["matchLabels"]["site"];
            let (objects, vehicles) = (items("/api/v1/nodes"), items(VEHICLES));
            // A vehicle without a Vehicle yet is not selected yet.
            let is_selected = |node: &&Node| {
                let labeled = objects.iter().any(|object| {
                    object["metadata"]["name"] == node.name() && object["metadata"]["labels"]["site"] == *site
                });
                labeled
                    && vehicles
                        .iter()
                        .any(|vehicle| vehicle["spec"]["nodeName"] == node.name())
            };
            let selected: Vec<&Node> = nodes.iter().filter(is_selected).collect();
            if fence["status"]["selected"] != selected.len() {
                continue;
            }
            for node in selected {
                if let Err(why) = has_fence(&node.vehicle, &wanted) {
                    return Err(format!(
                        "at {at:?} Geofence {name} says that it is in force on all, and on {}: {why}",
                        node.name()
                    ));
                }
            }
        }
        for vehicle in items(VEHICLES) {
            let rules = &vehicle["status"]["rules"];
            let mut conditions = vehicle["status"]["conditions"].as_array().into_iter().flatten();
            if !conditions.any(|one| one["type"] == "Ready" && one["status"] == "True") {
                continue;
            }
            let all = rules["parameters"].is_i64() && rules["parameters"] == rules["parametersInForce"];
            let (Some(sent), true) = (rules["sent"].as_str(), rules["fence"] == "InForce" && all) else {
                continue;
            };
            let name = vehicle["spec"]["nodeName"].as_str().unwrap_or_default();
            let Some(node) = nodes.iter().find(|node| node.name() == name) else {
                continue;
            };
            let had = self.nodes[node.number].had.get(&RulesDigest(sent.to_owned()));
            let since = (had.copied().unwrap_or_default())
                .max(self.disturbed)
                .max(self.restored.unwrap_or_default());
            // Some disturbance may last.
            if at.saturating_sub(since) > WRITTEN_WITHIN {
                return Err(format!(
                    "at {at:?} Vehicle of {name} says that {sent} is in force, which was so at {had:?}: {rules}"
                ));
            }
        }
        Ok(())
    }
}

/// For an object that is gone, the autopilot must have no fence. The error: the difference.
pub fn has_fence_of(vehicle: &Vehicle, geofence: &Value) -> Result<(), String> {
    has_fence(vehicle, &of_object(&geofence["spec"]))
}

pub fn is_on_all(object: &Value) -> bool {
    let (status, generation) = (&object["status"], &object["metadata"]["generation"]);
    let counts = (status["inForce"].as_i64(), status["selected"].as_i64());
    status["observedGeneration"] == *generation && matches!(counts, (Some(of), Some(all)) if of == all && all > 0)
}

fn has(vehicle: &Vehicle, rules: &Rules) -> Result<(), String> {
    has_fence(vehicle, &of_rules(rules))?;
    for wanted in rules
        .parameters
        .iter()
        .filter(|wanted| wanted.enforce == Enforce::Apply)
    {
        let is = vehicle.parameter(&wanted.name).map(f64::from);
        if is.is_none_or(|is| (is - wanted.value).abs() > 1e-4) {
            return Err(format!("{} is {is:?} and is to be {}", wanted.name, wanted.value));
        }
    }
    Ok(())
}

fn has_fence(vehicle: &Vehicle, wanted: &[Wanted]) -> Result<(), String> {
    let Some(items) = vehicle.fence() else {
        return Err(format!("a part of its fence does not count, which is to be {wanted:?}"));
    };
    let is_there = |wanted: &Wanted| items.iter().any(|item| wanted.is(item));
    if items.len() == wanted.len() && wanted.iter().all(is_there) {
        Ok(())
    } else {
        Err(format!("its fence is {items:?} and is to be {wanted:?}"))
    }
}

impl Wanted {
    fn new(side: Side, polygon: Option<usize>, radius: f32, at: Wgs84) -> Self {
        // MAV_CMD_NAV_FENCE_*.
        let command = match (polygon, side) {
            (Some(_), Side::Inside) => 5001,
            (Some(_), Side::Outside) => 5002,
            (None, Side::Inside) => 5003,
            (None, Side::Outside) => 5004,
        };
        Self {
            command,
            parameter: polygon.map_or(radius, |vertices| vertices as f32),
            at: (
                (at.latitude_deg * 1e7).round() as i32,
                (at.longitude_deg * 1e7).round() as i32,
            ),
        }
    }

    fn is(&self, item: &PlanItem) -> bool {
        let near = item.x.abs_diff(self.at.0) <= UNIT && item.y.abs_diff(self.at.1) <= UNIT;
        near && item.command == self.command && (item.params[0] - self.parameter).abs() <= self.parameter * RADIUS
    }
}

fn of_rules(rules: &Rules) -> Vec<Wanted> {
    let shapes = rules.fence.iter().flat_map(|fence| &fence.shapes);
    let items = shapes.flat_map(|shape| match &shape.outline {
        Outline::Polygon(vertices) => {
            let all = Some(vertices.len());
            vertices
                .iter()
                .map(|at| Wanted::new(shape.side, all, 0.0, *at))
                .collect::<Vec<_>>()
        }
        Outline::Circle { center, radius } => vec![Wanted::new(shape.side, None, radius.0 as f32, *center)],
    });
    items.collect()
}

fn of_object(spec: &Value) -> Vec<Wanted> {
    let number = |value: &Value| value.as_f64().unwrap();
    let at = |value: &Value| Wgs84 {
        latitude_deg: number(&value["latitudeDegrees"]),
        longitude_deg: number(&value["longitudeDegrees"]),
    };
    let mut wanted = Vec::new();
    for (list, side) in [("include", Side::Inside), ("exclude", Side::Outside)] {
        for shape in spec[list].as_array().into_iter().flatten() {
            match shape["polygon"].as_array() {
                Some(all) => wanted.extend(all.iter().map(|one| Wanted::new(side, Some(all.len()), 0.0, at(one)))),
                None => {
                    let (center, radius) = (&shape["circle"]["center"], &shape["circle"]["radiusMeters"]);
                    wanted.push(Wanted::new(side, None, number(radius) as f32, at(center)));
                }
            }
        }
    }
    wanted
}
