//! Many Missions at once, each flown by a vehicle of its own, and the coordinators' writes to the API for each.

use super::{Run, formation};
use crate::api::Write;
use crate::vehicle::Spot;
use http::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

const MISSIONS: &str = "/apis/skein.dev/v1alpha1/namespaces/default/missions";
const DRONES: &str = "/apis/skein.dev/v1alpha1/drones";
/// Meters from one home to the next: none is in the way of another.
const APART: f64 = 60.0;
/// Meters from home to the places.
const RADIUS: f64 = 15.0;
/// Places of every second Mission, and of the others.
const PLACES: [u32; 2] = [4, 60];
/// By the Mission itself: its object, and its Drone made and deleted.
const MOST_WRITES: usize = 10;
/// In all, with what any Drone costs, from binding to release: its status, the claim, Events, the inventory.
const MOST_IN_ALL: usize = 32;
const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_secs(5);
const BEFORE: &str = "flight-";

pub fn homes(count: usize) -> Vec<Spot> {
    formation::homes_apart(count, APART)
}

fn route(home: Spot, places: u32) -> Value {
    let place = |number: u32| {
        let (sin, cos) = (std::f64::consts::TAU * f64::from(number) / f64::from(places)).sin_cos();
        let spot = Spot {
            east: RADIUS.mul_add(sin, home.east),
            north: RADIUS.mul_add(cos, home.north),
            up: 0.0,
        };
        let (latitude, longitude) = spot.degrees();
        json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude, "altitudeMeters": 20})
    };
    json!({"waypoints": (0..places).map(place).collect::<Vec<_>>()})
}

/// By the name of the Mission or Drone in a write, or by the node in the name of a Lease.
fn mission_of(write: &Write) -> Option<usize> {
    if let Some((_, node)) = write.path.rsplit_once("/leases/node-node-") {
        return node.parse().ok();
    }
    let named = |text: &str| {
        let (_, rest) = text.split_once(BEFORE)?;
        rest.get(..4)?.parse().ok()
    };
    named(&write.path).or_else(|| named(&write.body))
}

fn is_own(write: &Write) -> bool {
    let makes = write.path.ends_with("/drones");
    let deletes = write.path.contains("/drones/") && write.body.contains("preconditions");
    write.path.contains("/missions/") || makes || deletes
}

fn about(write: &Write) -> &'static str {
    let kinds = ["leases", "events", "missions", "drones", "vehicles", "nodes"];
    let kind = kinds.into_iter().find(|kind| write.path.contains(&format!("/{kind}")));
    kind.unwrap_or("others")
}

impl Run<'_> {
    pub(super) fn through_missions(&mut self) -> Result<(), String> {
        let all = self.nodes.len();
        self.oracle.desire(Duration::ZERO, u32::try_from(all).unwrap());
        for number in 0..all {
            let label = json!({"metadata": {"labels": {"pad": number.to_string()}}});
            self.ask(
                Method::PATCH,
                &format!("/api/v1/nodes/{}", self.nodes[number].name()),
                &label,
            );
        }
        self.look("all agents to be heard", |run| {
            let list = run.ask(Method::GET, "/apis/skein.dev/v1alpha1/vehicles", &Value::Null);
            let known = list["items"].as_array().map_or(0, Vec::len);
            if known == all {
                Ok(())
            } else {
                Err(format!("{known} are known"))
            }
        })?;
        self.cluster.keep_writes();
        let began = self.sim.elapsed();
        for (number, home) in homes(all).into_iter().enumerate() {
            let spec = json!({"route": route(home, PLACES[number % 2]), "nodeSelector": {"pad": number.to_string()}});
            let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission",
                "metadata": {"name": format!("{BEFORE}{number:04}")}, "spec": spec});
            self.ask(Method::POST, MISSIONS, &object);
        }
        let mut most = 0;
        self.look("all Missions to be complete, and all vehicles free", |run| {
            most = most.max(run.up());
            let list = run.ask(Method::GET, MISSIONS, &Value::Null);
            let missions = list["items"].as_array().cloned().unwrap_or_default();
            let done = |mission: &&Value| mission["status"]["done"] == "100%" && mission["status"]["failures"] == 0;
            let (complete, others): (Vec<_>, Vec<_>) = missions.iter().partition(|mission| {
                let mut conditions = mission["status"]["conditions"].as_array().into_iter().flatten();
                conditions.any(|one| one["type"] == "Complete" && one["status"] == "True")
            });
            let drones = run.ask(Method::GET, DRONES, &Value::Null);
            let drones = drones["items"].as_array().map_or(0, Vec::len);
            if complete.len() == all && complete.iter().all(done) && drones == 0 && run.up() == 0 {
                return Ok(());
            }
            let first = others.first().map(|mission| mission["status"].to_string());
            Err(format!(
                "{} are complete, {drones} Drones are there: {first:?}",
                complete.len()
            ))
        })?;
        let took = self.sim.elapsed() - began;
        let writes = self.cluster.writes();
        self.oracle.tally.course = account(&writes, all, most, took)?;
        Ok(())
    }

    fn look(&mut self, what: &str, mut is: impl FnMut(&Self) -> Result<(), String>) -> Result<(), String> {
        let end = self.sim.elapsed() + PATIENCE;
        while let Err(why) = is(self) {
            if self.sim.elapsed() > end {
                return Err(format!("{PATIENCE:?} are not enough for {what}: {why}"));
            }
            self.pass(LOOK)?;
        }
        Ok(())
    }
}

fn account(writes: &[Write], all: usize, most: usize, took: Duration) -> Result<String, String> {
    let mut of: Vec<Vec<&Write>> = vec![Vec::new(); all];
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for write in writes
        .iter()
        .filter(|write| !write.path.ends_with("/leases/skein-coordinator"))
    {
        let Some(number) = mission_of(write) else { continue };
        of.get_mut(number).ok_or(&write.path)?.push(write);
        *kinds.entry(about(write)).or_default() += 1;
    }
    let mut text = format!(
        "{all} Missions, {most} vehicles in the air at once, all complete and free after {} s; writes",
        took.as_secs()
    );
    for (kind, count) in kinds {
        let _ = write!(text, ", {:.1} of {kind}", count as f64 / all as f64);
    }
    for (parity, places) in PLACES.into_iter().enumerate() {
        let counts = of.iter().skip(parity).step_by(2);
        let counts: Vec<[usize; 2]> = counts
            .map(|writes| [writes.iter().filter(|write| is_own(write)).count(), writes.len()])
            .collect();
        let most = |at: usize| counts.iter().map(|count| count[at]).max().unwrap_or_default();
        let mean = counts.iter().map(|count| count[1]).sum::<usize>() as f64 / counts.len().max(1) as f64;
        let (own, all) = (most(0), most(1));
        let _ = write!(
            text,
            "; with {places} places {own} by the Mission itself at most, {mean:.1} in all, {all} at most"
        );
        if own > MOST_WRITES || all > MOST_IN_ALL {
            let worst = of.iter().skip(parity).step_by(2).max_by_key(|writes| writes.len());
            let list = worst
                .into_iter()
                .flatten()
                .map(|write| format!("{} {}", write.path, write.body));
            return Err(format!(
                "{text}; the one with the most: {}",
                list.collect::<Vec<_>>().join("\n")
            ));
        }
    }
    Ok(text)
}
