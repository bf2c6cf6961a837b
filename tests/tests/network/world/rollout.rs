//! A fence and a profile that reach a whole fleet: order, number at once, death of a leader, a vehicle that refuses a
//! value.

use super::rules::PROFILES;
use super::{DRAW, HOLDING, Run};
use crate::oracle::rules::{GEOFENCES, is_on_all};
use crate::vehicle::Spot;
use agent_testkit::autopilot::Kind;
use http::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const NAME: &str = "wide";
const MOST: usize = 6;
/// In the order of their names: vehicles that fly when the profile comes, and the first that may refuse the value.
const FLY: [usize; 2] = [4, 31];
const REFUSES_FROM: usize = 20;
/// The leader is killed after so many have the value.
const KILLED_AFTER: usize = 10;
const AWAY: Duration = Duration::from_secs(20);
/// Changes that are granted at one time arrive within this.
const TOGETHER: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(150);
const QUIET: Duration = Duration::from_secs(20);

const fn wanted(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::ArduCopter => ("RTL_ALT", "2500"),
        Kind::Px4 => ("RTL_DESCEND_ALT", "20"),
    }
}

#[derive(Default)]
struct Course {
    got: BTreeMap<usize, Duration>,
    most: Vec<String>,
    left_out: Option<usize>,
}

impl Run<'_> {
    pub(super) fn through_a_rollout(&mut self) -> Result<(), String> {
        let all = self.nodes.len();
        self.oracle.desire(Duration::ZERO, u32::try_from(FLY.len()).unwrap());
        self.label_all(NAME);
        let (latitude, longitude) = Spot {
            east: 0.0,
            north: 0.0,
            up: 0.0,
        }
        .degrees();
        let center = json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude});
        let fence = json!({"vehicleSelector": {"matchLabels": {"site": NAME}}, "ceilingMeters": 60,
            "include": [{"circle": {"center": center, "radiusMeters": 200}}]});
        self.until("all agents to be heard", PATIENCE, |run| {
            let known = run.by_name().len();
            if known == all {
                Ok(())
            } else {
                Err(format!("{known} are known"))
            }
        })?;
        let asked = self.sim.elapsed();
        let before = self.on_the_wire();
        self.apply(GEOFENCES, "Geofence", NAME, &fence);
        self.until("the fence to be on all", PATIENCE, |run| run.is_on(GEOFENCES, all, all))?;
        let fenced = self.sim.elapsed() - asked;
        let for_the_fence = self.on_the_wire() - before;

        let names = self.by_name();
        let fly = FLY.map(|place| names[place].1);
        for node in fly {
            self.ask_to_fly(&format!("f-{node}"), node);
        }
        let flies = |run: &Self, node: usize| run.nodes[node].is_up() && run.nodes[node].vehicle.height() >= HOLDING;
        self.until("two to fly", PATIENCE, |run| {
            fly.iter()
                .all(|node| flies(run, *node))
                .then_some(())
                .ok_or_else(|| "not yet".to_owned())
        })?;
        let mut others = names.iter().skip(REFUSES_FROM);
        let refuses = others.find(|(_, node)| self.kind(*node) == Kind::ArduCopter && !fly.contains(node));
        let (refusing, refuses) = refuses.cloned().ok_or("no ArduCopter")?;
        self.nodes[refuses].vehicle.make_read_only("RTL_ALT");

        let profile = json!({"vehicleSelector": {"matchLabels": {"site": NAME}}, "enforce": "Apply", "maxUnavailable": MOST,
            "ardupilot": {"RTL_ALT": wanted(Kind::ArduCopter).1}, "px4": {"RTL_DESCEND_ALT": wanted(Kind::Px4).1}});
        let (asked, before) = (self.sim.elapsed(), self.on_the_wire());
        self.apply(PROFILES, "ParameterProfile", NAME, &profile);
        let mut course = Course::default();
        self.watch(&mut course, "some to have the value", |_, course| {
            course.got.len() >= KILLED_AFTER
        })?;
        self.kill_the_leader_for(AWAY);
        let killed = self.sim.elapsed();
        let says = |run: &Self, reason: &str, words: &str| {
            let object = run.object_of(PROFILES);
            let mut unsettled = object["status"]["unsettled"].as_array().into_iter().flatten();
            unsettled.any(|one| one["reason"] == reason && one["message"].as_str().is_some_and(|is| is.contains(words)))
        };
        let stopped = format!(
            "Vehicle {refusing} refuses a value, so no other gets it; change the profile, or that vehicle's labels"
        );
        self.watch(&mut course, "the rollout to stop", |run, _| {
            says(run, "Stopped", &stopped)
        })?;
        let has = "RTL_ALT is 1500 and is to be 2500: the autopilot does not let RTL_ALT be written";
        if !says(self, "Refused", has) || !self.is_stalled() {
            return Err(self.object_of(PROFILES)["status"].to_string());
        }
        let at_the_stop = course.got.len();
        let end = self.sim.elapsed() + QUIET;
        self.watch(&mut course, "a while", |run, _| run.sim.elapsed() >= end)?;
        if course.got.len() != at_the_stop {
            return Err(format!(
                "{at_the_stop} had the value at the refusal, and {} have it now",
                course.got.len()
            ));
        }
        self.is_in_order(&names, &course, killed)?;

        let label = json!({"metadata": {"labels": {"site": null}}});
        self.ask(
            Method::PATCH,
            &format!("/api/v1/nodes/{}", self.nodes[refuses].name()),
            &label,
        );
        course.left_out = Some(refuses);
        self.watch(&mut course, "all on the ground to have it", |run, _| {
            run.is_on(PROFILES, all - 3, all - 1).is_ok() && says(run, "WaitsForItsTurn", "it flies")
        })?;
        if fly.iter().any(|node| course.got.contains_key(node)) {
            return Err("one that flies got the value".to_owned());
        }
        for node in fly {
            self.land(&format!("f-{node}"));
        }
        self.watch(&mut course, "all to have it", |run, _| {
            run.is_on(PROFILES, all - 1, all - 1).is_ok()
        })?;
        let (took, for_the_profile) = (self.sim.elapsed() - asked, self.on_the_wire() - before);
        if course.most.len() > MOST {
            return Err(format!(
                "{} were unavailable at once: {:#?}",
                course.most.len(),
                course.most
            ));
        }

        let (changed, end) = (self.changes(), self.sim.elapsed() + QUIET);
        let before = self.on_the_wire();
        while self.sim.elapsed() < end {
            self.pass(DRAW)?;
        }
        if self.changes() != changed {
            return Err("something was changed on autopilots while nothing was to change".to_owned());
        }
        self.oracle.tally.course = format!(
            "{all} vehicles: a fence on all in {:.1} s with {for_the_fence} messages; a profile, {} at once at most, stopped by a refusal \
             after {at_the_stop} vehicles, a leader killed, two that land later: {:.0} s with {for_the_profile} messages; none that changes \
             anything and {} that read in {} s of rest; {} s simulated",
            fenced.as_secs_f64(),
            course.most.len(),
            took.as_secs_f64(),
            self.on_the_wire() - before,
            QUIET.as_secs(),
            self.sim.elapsed().as_secs()
        );
        Ok(())
    }

    /// Steps until `is`, and notes who has the value and who is being changed.
    fn watch(&mut self, course: &mut Course, what: &str, is: impl Fn(&Self, &Course) -> bool) -> Result<(), String> {
        let end = self.sim.elapsed() + PATIENCE;
        let mut judged = Duration::ZERO;
        loop {
            self.end_what_is_over(self.sim.elapsed());
            self.step()?;
            let mut changing = Vec::new();
            for node in self.nodes.iter().filter(|node| course.left_out != Some(node.number)) {
                let name = wanted(self.kind(node.number)).0;
                let ledger = node.ledger.lock().unwrap();
                let Some((at, last)) = ledger.last_rules.last() else {
                    continue;
                };
                if !ledger.rules[last].parameters.iter().any(|one| one.name == name) {
                    continue;
                }
                course.got.entry(node.number).or_insert(*at);
                let reported = node.reported.lock().unwrap();
                let report = reported.as_ref().and_then(|reported| reported.borrow().report.clone());
                let rules = report.map(|report| report.rules.clone());
                if !rules
                    .as_ref()
                    .is_some_and(|rules| rules.in_force && rules.held.as_ref() == Some(last))
                {
                    changing.push(format!(
                        "at {:?} {}: sent {last:?} at {at:?}; {rules:?}",
                        self.sim.elapsed(),
                        node.name()
                    ));
                }
            }
            if changing.len() > course.most.len() {
                course.most = changing;
            }
            if self.sim.elapsed() < judged + DRAW {
                continue;
            }
            judged = self.sim.elapsed();
            if is(self, course) {
                return Ok(());
            }
            if judged > end {
                let status = self.object_of(PROFILES)["status"].to_string();
                return Err(format!(
                    "{PATIENCE:?} are not enough for {what}: {:?}, {status}",
                    course.got
                ));
            }
        }
    }

    /// On the ground in the order of names; what was on its way when the leader was killed has no order.
    fn is_in_order(&self, names: &[(String, usize)], course: &Course, killed: Duration) -> Result<(), String> {
        let at: Vec<(&str, Duration)> = names
            .iter()
            .filter_map(|(name, node)| Some((name.as_str(), *course.got.get(node)?)))
            .collect();
        for (place, (name, got)) in at.iter().enumerate() {
            let later = at.iter().skip(place + 1);
            let mut before = later.filter(|(_, other)| *other + TOGETHER < *got && *other + TOGETHER < killed);
            if let Some((other, _)) = before.next() {
                return Err(format!("{other} got the value before {name}: {at:?}"));
            }
        }
        let missed = names
            .iter()
            .take(at.len())
            .filter(|(_, node)| !course.got.contains_key(node));
        if missed.clone().count() > FLY.len() {
            return Err(format!("{} were passed over: {at:?}", missed.count()));
        }
        Ok(())
    }

    fn by_name(&self) -> Vec<(String, usize)> {
        let list = self.ask(Method::GET, "/apis/skein.dev/v1alpha1/vehicles", &Value::Null);
        let vehicles = list["items"].as_array().into_iter().flatten();
        let mut names: Vec<(String, usize)> = vehicles
            .filter_map(|vehicle| {
                let node = vehicle["spec"]["nodeName"]
                    .as_str()?
                    .strip_prefix("node-")?
                    .parse()
                    .ok()?;
                Some((vehicle["metadata"]["name"].as_str()?.to_owned(), node))
            })
            .collect();
        names.sort();
        names
    }

    fn kind(&self, node: usize) -> Kind {
        match self.nodes[node].vehicle.parameter("RTL_ALT") {
            Some(_) => Kind::ArduCopter,
            None => Kind::Px4,
        }
    }

    fn object_of(&self, path: &str) -> Value {
        self.ask(Method::GET, &format!("{path}/{NAME}"), &Value::Null)
    }

    fn is_stalled(&self) -> bool {
        let object = self.object_of(PROFILES);
        let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|one| one["type"] == "Stalled" && one["status"] == "True")
    }

    fn is_on(&self, path: &str, count: usize, of: usize) -> Result<(), String> {
        let object = self.object_of(path);
        let status = &object["status"];
        let current = status["observedGeneration"] == object["metadata"]["generation"];
        let is = current && status["inForce"] == count && status["selected"] == of;
        if is && (count < of || is_on_all(&object)) {
            Ok(())
        } else {
            Err(status.to_string())
        }
    }

    fn changes(&self) -> u32 {
        self.nodes.iter().map(|node| node.vehicle.rules_wire().changes).sum()
    }

    fn on_the_wire(&self) -> u32 {
        let count = |node: &crate::node::Node| {
            let wire = node.vehicle.rules_wire();
            wire.changes + wire.reads
        };
        self.nodes.iter().map(count).sum()
    }
}
