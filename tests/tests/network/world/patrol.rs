//! A patrol for ever, flown by three vehicles in turn: the gaps in which none is on the way, by their true places.

use super::Run;
use crate::node::Node;
use crate::vehicle::Spot;
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;

const MISSION: &str = "/apis/skein.dev/v1alpha1/namespaces/default/missions";
/// As in `cargo xtask fly patrol`.
pub const VEHICLES: usize = 3;
const APART: f64 = 25.0;
const UP: f64 = 20.0;
const STEP: f64 = 15.0;
const SPEED: f64 = 5.0;
const OVERLAP: u32 = 10;
const AROUND: [[f64; 2]; 6] = [
    [25.0, 40.0],
    [75.0, 40.0],
    [75.0, 100.0],
    [-25.0, 100.0],
    [-25.0, 40.0],
    [25.0, 40.0],
];
const RELIEFS: u64 = 12;
/// Meters from the way within which a vehicle is on it.
const ON_THE_WAY: f64 = 8.0;
/// Longest gap, as real autopilots have to show.
const MOST: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(2400);

pub fn homes() -> Vec<Spot> {
    let home = |number: usize| Spot {
        east: number as f64 * APART,
        north: 0.0,
        up: 0.0,
    };
    (0..VEHICLES).map(home).collect()
}

fn is_on_the_way(spot: Spot) -> bool {
    let legs = AROUND.windows(2).map(|leg| {
        let way = [leg[1][0] - leg[0][0], leg[1][1] - leg[0][1]];
        let from = [spot.east - leg[0][0], spot.north - leg[0][1]];
        let share = (from[0] * way[0] + from[1] * way[1]) / (way[0] * way[0] + way[1] * way[1]);
        let share = share.clamp(0.0, 1.0);
        (from[0] - way[0] * share).hypot(from[1] - way[1] * share)
    });
    spot.up > UP - 4.0 && legs.fold(f64::INFINITY, f64::min) < ON_THE_WAY
}

impl Run<'_> {
    pub(super) fn through_a_patrol(&mut self) -> Result<(), String> {
        self.oracle.desire(Duration::ZERO, u32::try_from(VEHICLES).unwrap());
        let place = |[east, north]: [f64; 2]| {
            let (latitude, longitude) = Spot { east, north, up: UP }.degrees();
            json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude, "altitudeMeters": UP, "speedMetersPerSecond": SPEED})
        };
        let waypoints: Vec<Value> = AROUND.into_iter().map(place).collect();
        let spec = json!({"repeat": "Forever", "altitudeStepMeters": STEP, "handover": {"overlapSeconds": OVERLAP},
                          "route": {"waypoints": waypoints}});
        let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission", "metadata": {"name": "patrol"}, "spec": spec});
        self.ask(Method::POST, MISSION, &object);
        let end = self.sim.elapsed() + PATIENCE;
        let (mut last, mut gaps) = (None::<Duration>, Vec::new());
        let mut story: Vec<String> = Vec::new();
        loop {
            self.pass(LOOK)?;
            let now = self.sim.elapsed();
            let spots = self.nodes.iter().filter_map(|node| node.vehicle.spot());
            if spots.into_iter().any(|(spot, _)| is_on_the_way(spot)) {
                let gap = last.map(|last| now - last).filter(|gap| *gap > LOOK);
                gaps.extend(gap);
                last = Some(now);
            }
            let object = self.ask(Method::GET, &format!("{MISSION}/patrol"), &Value::Null);
            let status = &object["status"];
            let scene = self.scene(status);
            if story.last().is_none_or(|line| !line.ends_with(&scene)) {
                story.push(format!("{:7.1} s {scene}", now.as_secs_f64()));
            }
            if status["completed"].as_u64() >= Some(RELIEFS) {
                break;
            }
            if status["failures"].as_u64() > Some(0) || now > end {
                return Err(format!("after {now:?}: {status}:\n{}", story.join("\n")));
            }
        }
        let worst = gaps.iter().max().copied().unwrap_or_default();
        let text = format!("{RELIEFS} reliefs of a patrol; no vehicle was on the way for {gaps:?}");
        if worst > MOST {
            return Err(format!("{text}:\n{}", story.join("\n")));
        }
        self.oracle.tally.course = text;
        Ok(())
    }

    fn scene(&self, status: &Value) -> String {
        let does = |node: &Node| {
            let height = node.vehicle.height();
            match node.vehicle.spot() {
                Some((spot, _)) if is_on_the_way(spot) => "way ",
                _ if height > 2.0 => "up  ",
                _ if node.vehicle.armed() => "low ",
                _ => "down",
            }
        };
        let vehicles: Vec<&str> = self.nodes.iter().map(does).collect();
        let drones = self.ask(Method::GET, "/apis/skein.dev/v1alpha1/drones", &Value::Null);
        let drones = drones["items"].as_array().cloned().unwrap_or_default();
        let node = |name: &Value| {
            let drone = drones.iter().find(|drone| drone["metadata"]["name"] == *name);
            drone.map_or(Value::Null, |drone| drone["spec"]["nodeName"].clone())
        };
        let part = |part: &Value| {
            let number = |name: &str| part[name].as_i64().unwrap_or_default();
            format!(
                "{} in layer {} +{}",
                node(&part["drone"]),
                number("layer"),
                number("roundsAhead")
            )
        };
        let parts = status["parts"].as_array().cloned().unwrap_or_default();
        let parts: Vec<String> = parts.iter().map(part).collect();
        let waits: Vec<String> = drones
            .iter()
            .map(|drone| {
                let deleted = drone["metadata"]["deletionTimestamp"].is_string();
                let phase = drone["status"]["phase"].as_str().unwrap_or("-");
                let node = drone["spec"]["nodeName"].as_str().unwrap_or("-");
                format!("{node} {phase}{}", if deleted { " leaves" } else { "" })
            })
            .collect();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let says = conditions.iter().find(|one| one["type"] == "Progressing");
        let says = says.map_or(Value::Null, |one| one["message"].clone());
        format!(
            "{} {vehicles:?} {says} parts {parts:?} Drones {waits:?}",
            status["completed"]
        )
    }
}
