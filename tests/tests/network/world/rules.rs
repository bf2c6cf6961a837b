//! Rules on board that are changed all the time, while agents and leaders are killed; in a share of the worlds of
//! disorder, too.

use super::{DRAW, Run};
use crate::oracle::rules::{GEOFENCES, has_fence_of, is_on_all};
use crate::vehicle::Spot;
use http::Method;
use rand::RngExt;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::ops::Range;
use std::time::Duration;

pub const VEHICLES: usize = 5;
const FLY: usize = 2;
pub const PROFILES: &str = "/apis/skein.dev/v1alpha1/parameterprofiles";
const DRONES: &str = "/apis/skein.dev/v1alpha1/namespaces/default/drones";
const NAME: &str = "north";
/// Seconds from one change to the next; some are given more time.
const BETWEEN: (f64, f64) = (1.0, 9.0);
const UNDISTURBED: f64 = 30.0;
/// Seconds that an agent or a leader is away.
const AGENT_AWAY: (f64, f64) = (0.1, 4.0);
const LEADER_AWAY: (f64, f64) = (1.0, 8.0);
/// Time until all is in force, once no process is killed and nothing changes.
const SETTLES: Duration = Duration::from_secs(180);
const SET: [(&str, f64); 2] = [("RTL_ALT", 1500.0), ("RTL_DESCEND_ALT", 30.0)];

/// Each second world with stations and wind has rules, and each second with stations and aircraft.
const SHARE: (u64, [u64; 2]) = (12, [5, 8]);
/// Seconds that an autopilot flies on without its ground station: longer than most agents are away.
pub const ALONE: f32 = 25.0;
/// Meters from the middle beyond which no vehicle flies on the way to a station.
const OUT_OF_THE_WAY: f64 = 80.0;
/// A ceiling above all ways to stations and home, meters.
const ABOVE_ALL_WAYS: Range<i32> = 130..200;

pub fn change_in(seed: u64) -> bool {
    SHARE.1.contains(&(seed % SHARE.0))
}

impl Run<'_> {
    pub(super) fn refuse_without_rules(&self, failsafe: &mut Value) {
        if self.oracle.rules.is_some() {
            failsafe["preflight"] = json!("Refuse");
            // An agent that refuses wants the autopilot's own failsafe to act no later than its own.
            let least = failsafe["coordinatorLossSeconds"].as_u64().unwrap_or_default();
            failsafe["coordinatorLossSeconds"] = json!(least.max(ALONE as u64));
        }
    }

    pub(super) fn rules_in_disorder(&mut self) {
        if self.oracle.rules.is_some() && self.chance(0.012) {
            self.change_a_rule(&ABOVE_ALL_WAYS);
        }
    }

    /// A vehicle on the ground without the desired rules at the end. One that flies keeps what it has.
    pub(super) fn without_rules(&self) -> Option<String> {
        self.oracle.rules.as_ref()?;
        let (fence, profile) = (self.object(GEOFENCES), self.object(PROFILES));
        let mut grounded = self.nodes.iter().filter(|node| !node.vehicle.armed());
        grounded.find_map(|node| {
            let wanted = |name: &str, before: f64| {
                let of = |stack: &str| profile["spec"][stack][name].as_str()?.parse::<f64>().ok();
                of("ardupilot").or_else(|| of("px4")).unwrap_or(before)
            };
            let differs = SET.iter().find_map(|(name, before)| {
                let (is, wanted) = (f64::from(node.vehicle.parameter(name)?), wanted(name, *before));
                (is != wanted).then(|| format!("{name} is {is} and is to be {wanted}"))
            });
            let why = differs.or_else(|| has_fence_of(&node.vehicle, &fence).err())?;
            Some(format!("{} is on the ground and {why}", node.name()))
        })
    }

    pub(super) fn through_uploads(&mut self, uploads: u32) -> Result<(), String> {
        let all = u32::try_from(self.nodes.len()).unwrap();
        self.oracle.desire(Duration::ZERO, all);
        self.label_all("north");
        while self.uploads() < uploads {
            self.change_a_rule(&(30..80));
            if self.chance(0.3) {
                self.toggle_a_drone();
            }
            let undisturbed = self.chance(0.15);
            let span = if undisturbed {
                UNDISTURBED
            } else {
                self.rng.random_range(BETWEEN.0..BETWEEN.1)
            };
            let end = self.sim.elapsed() + Duration::from_secs_f64(span);
            let mut kills: Vec<Duration> = Vec::new();
            if !undisturbed {
                for _ in 0..self.rng.random_range(1..4) {
                    kills.push(self.sim.elapsed() + Duration::from_secs_f64(self.rng.random_range(0.0..span)));
                }
            }
            while self.sim.elapsed() < end {
                let now = self.sim.elapsed();
                let due = kills.iter().filter(|at| **at <= now).count();
                kills.retain(|at| *at > now);
                for _ in 0..due {
                    self.kill();
                }
                self.end_what_is_over(now);
                self.pass(DRAW)?;
            }
        }
        self.end_what_is_over(Duration::MAX);
        for node in 0..FLY {
            self.ask(Method::DELETE, &format!("{DRONES}/d-{node}"), &Value::Null);
        }
        self.ask_for_a_fence(&(30..80));
        self.ask_for_a_profile();
        self.until("all of it to be in force", SETTLES, Self::is_in_force)?;
        self.ask_to_fly("last", 0);
        self.until("a vehicle to be armed", SETTLES, |run| run.is_armed(0, true))?;
        self.land("last");
        self.until("it to have landed", SETTLES, |run| run.is_armed(0, false))?;
        for path in [GEOFENCES, PROFILES] {
            self.ask(Method::DELETE, &format!("{path}/{NAME}"), &Value::Null);
        }
        self.until("all to have what they had before", SETTLES, Self::is_given_back)?;
        let judged = self.oracle.rules.as_ref().unwrap();
        tracing::info!(judged.arms, judged.claims, judged.statuses, "claims were judged");
        if judged.arms == 0 || judged.statuses == 0 {
            let (arms, statuses) = (judged.arms, judged.statuses);
            return Err(format!(
                "armed {arms} times, and {statuses} statuses said in force: nothing was judged"
            ));
        }
        Ok(())
    }

    pub(super) fn until(
        &mut self,
        what: &str,
        patience: Duration,
        is: impl Fn(&Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let end = self.sim.elapsed() + patience;
        while let Err(why) = is(self) {
            if self.sim.elapsed() > end {
                return Err(format!("{patience:?} are not enough for {what}: {why}"));
            }
            self.end_what_is_over(self.sim.elapsed());
            self.pass(DRAW)?;
        }
        Ok(())
    }

    pub(super) fn label_all(&self, site: &str) {
        for node in &self.nodes {
            let label = json!({"metadata": {"labels": {"site": site}}});
            self.ask(Method::PATCH, &format!("/api/v1/nodes/{}", node.name()), &label);
        }
    }

    pub(super) fn apply(&self, path: &str, kind: &str, name: &str, spec: &Value) {
        let there = self.ask(Method::GET, &format!("{path}/{name}"), &Value::Null);
        if there["kind"] == kind {
            self.ask(Method::PATCH, &format!("{path}/{name}"), &json!({"spec": spec}));
            return;
        }
        let object =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        self.ask(Method::POST, path, &object);
    }

    fn uploads(&self) -> u32 {
        self.nodes.iter().map(|node| node.vehicle.rules_wire().uploads).sum()
    }

    fn change_a_rule(&mut self, ceilings: &Range<i32>) {
        match self.rng.random_range(0..10) {
            0 => {
                self.ask(Method::DELETE, &format!("{GEOFENCES}/{NAME}"), &Value::Null);
            }
            1 => {
                self.ask(Method::DELETE, &format!("{PROFILES}/{NAME}"), &Value::Null);
            }
            2 | 3 => self.ask_for_a_profile(),
            _ => self.ask_for_a_fence(ceilings),
        }
    }

    fn ask_for_a_fence(&mut self, ceilings: &Range<i32>) {
        let vertices = self.rng.random_range(3..14);
        let reach = self.rng.random_range(120.0..220.0);
        let on_earth = |course: f64, far: f64| {
            let (east, north) = (far * course.sin(), far * course.cos());
            let (latitude, longitude) = Spot { east, north, up: 0.0 }.degrees();
            json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude})
        };
        let polygon: Vec<Value> = (0..vertices)
            .map(|vertex| on_earth(TAU * f64::from(vertex) / f64::from(vertices), reach))
            .collect();
        let mut exclude = Vec::new();
        if self.chance(0.3) {
            let center = on_earth(self.rng.random_range(0.0..TAU), OUT_OF_THE_WAY);
            exclude.push(json!({"circle": {"center": center, "radiusMeters": self.rng.random_range(5.0..12.0)}}));
        }
        let spec = json!({"vehicleSelector": {"matchLabels": {"site": "north"}}, "include": [{"polygon": polygon}],
            "exclude": exclude, "ceilingMeters": self.rng.random_range(ceilings.clone())});
        self.apply(GEOFENCES, "Geofence", NAME, &spec);
    }

    fn ask_for_a_profile(&mut self) {
        let most = self.rng.random_range(1..=VEHICLES);
        // Above the stations of the end, which lie below 6 m.
        let (copter, px4) = (self.rng.random_range(1500..3000), self.rng.random_range(5..40));
        let spec = json!({"vehicleSelector": {"matchLabels": {"site": "north"}}, "enforce": "Apply", "maxUnavailable": most,
            "ardupilot": {SET[0].0: copter.to_string()}, "px4": {SET[1].0: px4.to_string()}});
        self.apply(PROFILES, "ParameterProfile", NAME, &spec);
    }

    fn toggle_a_drone(&mut self) {
        let node = self.rng.random_range(0..FLY);
        let path = format!("{DRONES}/d-{node}");
        if self.ask(Method::GET, &path, &Value::Null)["kind"] == "Drone" {
            self.ask(Method::DELETE, &path, &Value::Null);
        } else {
            self.ask_to_fly(&format!("d-{node}"), node);
        }
    }

    pub(super) fn ask_to_fly(&self, name: &str, node: usize) {
        let failsafe = json!({"preflight": "Refuse", "onCoordinatorLoss": "Continue"});
        let spec = json!({"nodeName": self.nodes[node].name(), "failsafe": failsafe});
        let drone =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": name}, "spec": spec});
        self.ask(Method::POST, DRONES, &drone);
    }

    pub(super) fn land(&self, name: &str) {
        self.ask(Method::DELETE, &format!("{DRONES}/{name}"), &Value::Null);
    }

    fn kill(&mut self) {
        if self.chance(0.12) {
            let away = self.rng.random_range(LEADER_AWAY.0..LEADER_AWAY.1);
            self.kill_the_leader_for(Duration::from_secs_f64(away));
            return;
        }
        // Prefers a vehicle in the middle of an upload.
        let open = |node: &usize| self.nodes[*node].vehicle.rules_wire().is_open();
        let within: Vec<usize> = (0..self.nodes.len()).filter(open).collect();
        let node = match within.is_empty() {
            true => self.any_node(),
            false => within[self.rng.random_range(0..within.len())],
        };
        let host = self.host(node);
        if self.down.contains(&host) {
            return;
        }
        self.oracle.tally.kills_within += u32::from(!within.is_empty());
        let away = self.rng.random_range(AGENT_AWAY.0..AGENT_AWAY.1);
        self.crash_for(host, Duration::from_secs_f64(away));
    }

    fn object(&self, path: &str) -> Value {
        self.ask(Method::GET, &format!("{path}/{NAME}"), &Value::Null)
    }

    fn is_in_force(&self) -> Result<(), String> {
        for path in [GEOFENCES, PROFILES] {
            let object = self.object(path);
            if !is_on_all(&object) || object["status"]["selected"] != self.nodes.len() {
                return Err(object["status"].to_string());
            }
        }
        Ok(())
    }

    fn is_armed(&self, node: usize, armed: bool) -> Result<(), String> {
        let name = self.nodes[node].name();
        if self.nodes[node].vehicle.armed() == armed {
            Ok(())
        } else {
            Err(format!("{name}: {}", self.situation()))
        }
    }

    fn is_given_back(&self) -> Result<(), String> {
        for node in &self.nodes {
            let is = SET.map(|(name, before)| (name, node.vehicle.parameter(name), before));
            let parameters = is
                .iter()
                .all(|(_, is, before)| is.is_none_or(|is| f64::from(is) == *before));
            let fence = node.vehicle.fence();
            if !parameters || fence != Some(Vec::new()) {
                return Err(format!("{}: {is:?}, {fence:?}", node.name()));
            }
        }
        Ok(())
    }
}
