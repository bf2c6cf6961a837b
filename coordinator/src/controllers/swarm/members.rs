//! A Swarm's Drones, as input of its plan.

use crate::cluster::key::Key;
use crate::cluster::world::{World, owner, uid};
use crate::controllers::facts::{DroneSnapshot, Observer};
use crate::controllers::swarm::SwarmController;
use crate::controllers::takeoff_slots::policy;
use crds::{Drone, Swarm, labels};
use fleet::planning::drone::Ground;
use fleet::planning::swarm::assessment::{self, Assessment, Known};
use fleet::planning::swarm::placement::{Place, Placement, placement};
use fleet::planning::swarm::replacement::{self, Policy, Replace, Service};
use fleet::planning::swarm::{Member, Serving};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use model::ids::NodeName;
use model::report::Report;
use model::units::Percent;
use model::vehicle::FlightTruth;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Percent above the charge of a relief within which the battery is polled: reports are news only every ten percent.
const BATTERY_POLL_MARGIN_PERCENT: u8 = 11;

/// How often something is checked that no news reports.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);

/// By the Swarm's uid.
#[derive(Debug, Default)]
pub struct Assessments(Mutex<HashMap<String, OfSwarm>>);

/// By the Drone's uid.
#[derive(Debug, Default)]
struct OfSwarm {
    all: HashMap<String, Assessment>,
    to_replace: usize,
}

impl OfSwarm {
    fn put(&mut self, drone: &str, assessment: Assessment) -> Assessment {
        self.to_replace += usize::from(assessment.replace.is_some());
        let before = match self.all.get_mut(drone) {
            Some(known) => std::mem::replace(known, assessment),
            None => self.all.insert(drone.to_owned(), assessment).unwrap_or_default(),
        };
        self.to_replace -= usize::from(before.replace.is_some());
        before
    }

    fn remove(&mut self, drone: &str) {
        let before = self.all.remove(drone);
        self.to_replace -= usize::from(before.is_some_and(|before| before.replace.is_some()));
    }
}

impl Assessments {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, OfSwarm>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn calm(&self, swarm: &str) -> bool {
        self.lock()
            .get(swarm)
            .is_none_or(|assessments| assessments.to_replace == 0)
    }

    /// Whether the assessment is new, of a Drone that `is_there`, which is called while no Drone can be forgotten.
    fn put(&self, swarm: &str, drone: &str, assessment: Assessment, is_there: impl FnOnce() -> bool) -> bool {
        let mut all = self.lock();
        // It may have gone since the snapshot. A departure is handled after this, or was before.
        is_there() && all.entry(swarm.to_owned()).or_default().put(drone, assessment) != assessment
    }

    pub fn forget(&self, drone: &Drone) {
        let Some((swarm, _)) = owner(drone) else { return };
        let mut all = self.lock();
        if let Some(assessments) = all.get_mut(swarm) {
            assessments.remove(uid(drone));
            if assessments.all.is_empty() {
                all.remove(swarm);
            }
        }
    }
}

/// By the assessment of the last reconcile.
fn was_tired(assessments: &Assessments, swarm: &Swarm, snapshot: &DroneSnapshot) -> bool {
    let all = assessments.lock();
    let assessment = all
        .get(uid(swarm))
        .and_then(|assessments| assessments.all.get(snapshot.uid()));
    assessment.is_some_and(|assessment| assessment.replace == Some(Replace::Tired))
}

/// Assesses a Drone; wakes its Swarm if its plan may depend on that. Returns when to check again at the latest.
pub fn observe(observer: &Observer, assessments: &Assessments, snapshot: &DroneSnapshot) -> Option<Duration> {
    let world = observer.world();
    let swarm = world.swarm_of(&snapshot.drone)?;
    let policy = policy(&swarm);
    let service = service(observer, assessments, &swarm, snapshot);
    let assessment = assess(snapshot, &service, &policy);
    let is_there = || world.is_member(uid(swarm.as_ref()), snapshot.uid());
    if assessments.put(uid(swarm.as_ref()), snapshot.uid(), assessment, is_there) {
        observer.cluster.wakes.swarms.wake(Key::of(swarm.as_ref()));
    }
    let near = |percent: u8| {
        percent > policy.rotate_at.get()
            && percent <= policy.rotate_at.get().saturating_add(BATTERY_POLL_MARGIN_PERCENT)
    };
    let tiring = matches!(service.serving, Serving::Flying { .. }) && service.battery.is_some_and(|b| near(b.get()));
    let lost = service.serving == Serving::Unknown && policy.replace_lost_after.is_some();
    (tiring || lost).then_some(RECHECK_INTERVAL)
}

pub fn member(controller: &SwarmController, swarm: &Swarm, drone: &Arc<Drone>, now: Instant) -> Member {
    let SwarmController {
        observer, assessments, ..
    } = controller;
    let snapshot = DroneSnapshot::of(observer, Arc::clone(drone));
    let service = service(observer, assessments, swarm, &snapshot);
    let assessment = assess(&snapshot, &service, &policy(swarm));
    let leaving = snapshot.facts.deleting || controller.expectations.expects_deletion(snapshot.uid(), now);
    Member {
        serving: service.serving,
        ready: assessment.ready,
        stuck: assessment.stuck,
        replace: assessment.replace,
        uid: snapshot.facts.uid,
        name: drone.name_any(),
        leaving,
        slot: slot(drone),
        awaits: false,
    }
}

pub fn slot(drone: &Drone) -> Option<usize> {
    drone.labels().get(labels::SLOT)?.parse().ok()
}

pub fn serving(snapshot: &DroneSnapshot) -> Serving {
    match snapshot.report.as_deref().and_then(|report| report.truth.flying()) {
        _ if !snapshot.was_served() => Serving::NoVehicle,
        Some(true) => Serving::Flying {
            battery: battery(snapshot),
        },
        Some(false) => Serving::OnGround,
        None => Serving::Unknown,
    }
}

fn battery(snapshot: &DroneSnapshot) -> Option<Percent> {
    snapshot.report.as_ref()?.battery?.remaining
}

fn service(observer: &Observer, assessments: &Assessments, swarm: &Swarm, snapshot: &DroneSnapshot) -> Service {
    let report = snapshot.report.as_deref();
    let serving = serving(snapshot);
    Service {
        serving,
        over: report.is_some_and(Report::flight_is_over),
        was_tired: was_tired(assessments, swarm, snapshot),
        armed: report.is_some_and(|report| report.truth == FlightTruth::ArmedOnGround),
        battery: battery(snapshot),
        node: snapshot.usable,
        unknown_for: unknown_for(observer, snapshot, Timestamp::now()).filter(|_| serving == Serving::Unknown),
        misplaced: placed(observer.world(), swarm, &snapshot.drone) == Placement::Misplaced,
    }
}

/// What the node selector of `swarm` means for one of its Drones.
pub fn placed(world: &World, swarm: &Swarm, drone: &Drone) -> Placement {
    let wanted = swarm.spec.drone_node_selector();
    let node = drone.spec.node_name.as_deref();
    let facts = node.and_then(|node| world.node_facts(&NodeName::parse(node).ok()?));
    let place = match (node, &facts) {
        (None, _) => Place::Nowhere,
        (Some(_), Some(facts)) => Place::On(&facts.labels),
        (Some(_), None) => Place::Unknown,
    };
    placement(&drone.spec.node_selector, &wanted, place)
}

fn assess(snapshot: &DroneSnapshot, service: &Service, policy: &Policy) -> Assessment {
    let known = Known {
        uid: &snapshot.facts.uid,
        generation: snapshot.facts.generation,
        report: snapshot.report.as_deref(),
        service,
        deleting: snapshot.facts.deleting,
        grounded: snapshot.facts.ground != Ground::No,
        wants_flight: snapshot.wants_flight(),
        none_free: snapshot.node.is_none() && condition(&snapshot.drone, "Assigned", "False").is_some(),
    };
    assessment::assess(&known, policy)
}

/// Whether the agent of a Drone acts on its present spec.
pub fn acts_on_spec(snapshot: &DroneSnapshot) -> bool {
    assessment::acts_on(
        snapshot.report.as_deref(),
        &snapshot.facts.uid,
        snapshot.facts.generation,
    )
}

/// How long it has not been known whether it flies, for this leader.
fn unknown_for(observer: &Observer, snapshot: &DroneSnapshot, wall: Timestamp) -> Option<Duration> {
    let by_status = unknown_by_status(&snapshot.drone, wall);
    let node = snapshot.node.as_ref();
    let knew = node.and_then(|node| observer.sessions.knew_flight_ago(node));
    replacement::unknown_for(by_status, observer.leadership.led_for(), knew)
}

/// The same by its status alone, whose times are of the clock of the coordinator that wrote it.
fn unknown_by_status(drone: &Drone, now: Timestamp) -> Option<Duration> {
    let since = condition(drone, "Flying", "Unknown")?.last_transition_time.0;
    Duration::try_from(now.duration_since(since)).ok()
}

fn condition<'a>(drone: &'a Drone, kind: &str, status: &str) -> Option<&'a Condition> {
    let mut conditions = drone.status.as_ref()?.conditions.iter();
    conditions.find(|c| c.type_ == kind && c.status == status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::facts::tests::{bound, observer};
    use crate::server::auth::tests::scripted::Scripted;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

    fn drone(swarm: &str, uid: &str) -> Drone {
        let mut drone = Drone::new(uid, crds::DroneSpec::default());
        drone.metadata.uid = Some(uid.into());
        drone.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "skein.dev/v1alpha1".into(),
            kind: "Swarm".into(),
            name: "alpha".into(),
            uid: swarm.into(),
            controller: Some(true),
            block_owner_deletion: None,
        }]);
        drone
    }

    #[test]
    fn a_swarm_is_reconciled_when_an_assessment_changes_and_not_at_every_report() {
        let assessments = Assessments::default();
        let tired = Assessment {
            replace: Some(Replace::Tired),
            ..Assessment::default()
        };
        let put = |drone: &str, assessment: Assessment| assessments.put("s", drone, assessment, || true);
        assert!(!put("a", Assessment::default()), "nothing new");
        assert!(assessments.calm("s"));
        assert!(put("a", tired) && put("b", tired));
        assert!(!put("a", tired));
        assert!(!assessments.calm("s") && assessments.calm("other"));
        assert!(put("a", Assessment::default()));
        assert!(!assessments.calm("s"), "there is another");
        assessments.forget(&drone("s", "a"));
        assessments.forget(&drone("s", "unheard-of"));
        assessments.forget(&drone("s", "b"));
        assert!(assessments.calm("s") && assessments.lock().is_empty());
    }

    #[test]
    fn one_that_went_while_it_was_reconciled_is_not_remembered() {
        let assessments = Assessments::default();
        let tired = Assessment {
            replace: Some(Replace::Tired),
            ..Assessment::default()
        };
        assert!(!assessments.put("s", "a", tired, || false));
        assert!(assessments.calm("s") && assessments.lock().is_empty());
    }

    #[test]
    fn how_long_a_vehicle_is_lost_is_counted_from_the_status() {
        let mut lost = drone("s", "a");
        assert_eq!(unknown_by_status(&lost, Timestamp::UNIX_EPOCH), None);
        let status = serde_json::json!({"conditions": [{
            "type": "Flying", "status": "Unknown", "reason": "AgentSilent", "message": "",
            "lastTransitionTime": "1970-01-01T00:01:00Z",
        }]});
        lost.status = Some(serde_json::from_value(status).unwrap());
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(unknown_by_status(&lost, at(100)), Some(Duration::from_secs(40)));
        assert_eq!(unknown_by_status(&lost, at(10)), None, "clocks may be set back");
    }

    /// Clocks of coordinators may differ by minutes.
    #[tokio::test(start_paused = true)]
    async fn a_vehicle_that_was_lost_for_the_leader_before_is_lost_for_this_one_once_it_has_led_as_long() {
        let observer = observer(Scripted::new().client());
        let long_ago = |drone: &mut Drone| {
            let status = serde_json::json!({"conditions": [{
                "type": "Flying", "status": "Unknown", "reason": "AgentSilent", "message": "",
                "lastTransitionTime": "1970-01-01T00:01:00Z",
            }]});
            drone.status = Some(serde_json::from_value(status).unwrap());
        };
        let lost = bound(&observer, "n", long_ago);
        let seconds = || {
            let snapshot = DroneSnapshot::of(&observer, Arc::clone(&lost));
            unknown_for(&observer, &snapshot, Timestamp::now()).map(|lost| lost.as_secs())
        };
        assert_eq!(seconds(), Some(0), "the lead was taken just now");
        tokio::time::advance(Duration::from_secs(305)).await;
        assert_eq!(seconds(), Some(305));
        let node = NodeName::parse("n").unwrap();
        let opened = observer.sessions.open(&node, 1).unwrap();
        assert_eq!(seconds(), Some(305), "its agent does not know yet");
        let down = Report {
            truth: FlightTruth::Disarmed,
            ..Report::of_nothing(node.clone())
        };
        observer.sessions.report(&node, opened.epoch, down);
        tokio::time::advance(Duration::from_secs(2)).await;
        observer
            .sessions
            .report(&node, opened.epoch, Report::of_nothing(node.clone()));
        observer.sessions.close(&node, opened.epoch);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(seconds(), Some(7), "it was heard meanwhile");
    }
}
