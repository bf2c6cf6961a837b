//! The Swarm controller: keeps as many Drones as are desired, and removes its own, and only its own, when it goes.
//!
//! Owns: one reconcile of one Swarm, as observe, plan, apply, status. Its Drones are those whose owner reference has its uid, not those
//! with its labels. Must not: bind Drones or hold their finalizers.

pub mod expectations;
pub mod formation;
pub mod members;
pub mod rollout;
pub mod status;

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::selection::swarm_label;
use crate::cluster::world::{World, uid};
use crate::controllers::facts::Observer;
use crate::controllers::pacing::Paces;
use crate::controllers::takeoff_slots::bounds;
use crate::controllers::{self, ORPHAN, overtaken_is_no_failure};
use crate::leadership::state::AFTER_DOUBT;
use crate::metrics::Reconciles;
use crate::spans;
use crds::{Drone, Swarm, labels};
use expectations::Expectations;
use fleet::planning::formation::BadFormation;
use fleet::planning::names::drone_names;
use fleet::planning::population::{Existing, creations};
use fleet::planning::reception::{RECONNECT_TIME, Reception};
use fleet::planning::swarm::replacement::Replace;
use fleet::planning::swarm::{Member, Serving, mark_awaiting, mark_stuck, plan};
use formation::{Coverages, Filled};
use futures::StreamExt;
use futures::stream;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, Patch};
use kube::runtime::reflector::Store;
use kube::{Resource, ResourceExt};
use members::{Assessments, member};
use model::ids::DroneUid;
use model::station::Station;
use serde_json::json;
use std::collections::HashSet;
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument, Span};

const CONCURRENT_RECONCILES: u16 = 4;

/// Made or deleted; the rest follows in the next.
const MAX_DRONES_PER_RECONCILE: usize = 50;

const CONCURRENCY: usize = 8;

/// Rest after a reconcile, for each Drone of the Swarm: each is gone through, and may wake the Swarm. It is several times the length of a
/// reconcile, so that a large Swarm in motion takes only a part of one core.
const REST_PER_DRONE: Duration = Duration::from_micros(10);

/// Names tried beyond those needed, before giving up until the cache shows what is in the way.
const SPARE_NAMES: usize = 20_000;

/// Least time between two creations after one that the API server refuses.
const LEAST_REST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct SwarmController {
    pub observer: Observer,
    pub assessments: Arc<Assessments>,
    /// Creations and deletions that the caches do not show yet, or that were refused.
    pub expectations: Expectations,
    pub paces: Paces,
    pub coverages: Arc<Coverages>,
    pub reception: Mutex<Reception>,
}

impl SwarmController {
    /// Whether so few agents report that the silence of one means nothing.
    fn is_cut_off(&self) -> bool {
        let Observer {
            cluster,
            sessions,
            leadership,
            ..
        } = &self.observer;
        let (agents, serving) = (sessions.how_many(), cluster.world.nodes_in_service());
        let mut reception = self.reception.lock().unwrap_or_else(PoisonError::into_inner);
        reception.is_cut_off(agents, serving, leadership.state.now())
    }
}

pub fn start(controller: SwarmController, swarms: Store<Swarm>, reconciles: Reconciles, tasks: &mut JoinSet<()>) {
    let shared = Arc::new(controller);
    let Observer {
        cluster, leadership, ..
    } = &shared.observer;
    let world = Arc::clone(&cluster.world);
    let rest =
        move |key: &Key| REST_PER_DRONE.saturating_mul(u32::try_from(world.size_of_swarm(key)).unwrap_or(u32::MAX));
    tasks.spawn(controllers::run(
        swarms,
        Arc::clone(&cluster.wakes.swarms),
        CONCURRENT_RECONCILES,
        leadership.ending.clone(),
        reconciles,
        rest,
        move |key| {
            let controller = Arc::clone(&shared);
            let swarm = controller.observer.world().get_swarm(&key);
            let span = swarm.map_or_else(Span::none, |swarm| spans::object(swarm.as_ref()));
            async move { overtaken_is_no_failure(Box::pin(reconcile(&controller, &key)).await) }.instrument(span)
        },
    ));
}

async fn reconcile(controller: &SwarmController, key: &Key) -> Result<Option<Duration>, ApiError> {
    let Observer {
        cluster,
        leadership,
        takeoff_slots,
        ..
    } = &controller.observer;
    if !leadership.state.acts() {
        return Ok(Some(AFTER_DOUBT));
    }
    let Some(swarm) = cluster.world.get_swarm(key) else {
        return Ok(None);
    };
    let drones = cluster.world.drones_of_swarm(uid(swarm.as_ref()));
    let guarded = swarm.finalizers().iter().any(|f| f == labels::DRONES_FINALIZER);
    if swarm.metadata.deletion_timestamp.is_some() {
        if !guarded {
            return Ok(None);
        }
        let orphaning = swarm.finalizers().iter().any(|f| f == ORPHAN);
        let expected = controller
            .expectations
            .expects_creations(uid(swarm.as_ref()), Instant::now());
        if orphaning || (drones.is_empty() && !expected) {
            set_finalizers(cluster, &swarm, |f| f.retain(|f| f != labels::DRONES_FINALIZER)).await?;
            controller.paces.forget(uid(swarm.as_ref()));
            takeoff_slots.forget_swarm(uid(swarm.as_ref()));
            controller.expectations.forget(uid(swarm.as_ref()));
            tracing::info!(orphaning, "released");
            return Ok(None);
        }
    } else if !guarded {
        set_finalizers(cluster, &swarm, |f| f.push(labels::DRONES_FINALIZER.to_owned())).await?;
        // The Drones come with the next reconcile, which finds the finalizer in place.
        return Ok(Some(Duration::ZERO));
    }
    let rolled = rollout::roll(&controller.observer, &swarm, &drones).await;
    let slots = formation::slots(&swarm, controller.observer.airspace.rules());
    let converged = converge(controller, &swarm, &drones, slots.as_ref()).await;
    let converged = converged.and_then(|later| rolled.map(|()| later));
    let refusal = converged.as_ref().err().filter(|error| error.is_refusal());
    let trouble = match (refusal, slots) {
        (Some(refusal), _) => Some(("Refused", refusal.to_string())),
        (None, Some(Err(why))) => Some((status::BAD_FORMATION, bad_formation(&why))),
        (None, _) => {
            let refusal = controller.expectations.refusal(uid(swarm.as_ref()), Instant::now());
            refusal.map(|(why, _)| ("Refused", why))
        }
    };
    let later = status::write(controller, &swarm, trouble).await?;
    Ok([converged?, later].into_iter().flatten().min())
}

/// One sentence.
fn bad_formation(why: &BadFormation) -> String {
    match why.source() {
        Some(source) => format!("spec.formation: {why}: {source}"),
        None => format!("spec.formation: {why}"),
    }
}

/// Makes and deletes Drones, and gives them the formation's slots. For a formation that cannot be flown none is made, and none is moved.
async fn converge(
    controller: &SwarmController,
    swarm: &Swarm,
    drones: &[Arc<Drone>],
    slots: Option<&Result<Vec<Station>, BadFormation>>,
) -> Result<Option<Duration>, ApiError> {
    let Observer {
        cluster,
        leadership,
        takeoff_slots,
        ..
    } = &controller.observer;
    let bounds = bounds(swarm);
    let desired = bounds.replicas;
    let now = Instant::now();
    let unseen = controller.expectations.unseen_creations(uid(swarm), drones, now);
    let stays = |drone: &&Arc<Drone>| {
        drone.metadata.deletion_timestamp.is_none()
            && !controller.expectations.expects_deletion(uid(drone.as_ref()), now)
    };
    // A Drone that is gone before it was observed would count for ever: reconcile again when it is given up.
    let recheck = (!unseen.is_empty()).then_some(expectations::EXPECTATION_TIMEOUT);
    let calm = controller.assessments.calm(uid(swarm)) || swarm.metadata.deletion_timestamp.is_some();
    if slots.is_none() && calm && drones.iter().filter(stays).count() + unseen.len() == desired {
        takeoff_slots.lost(uid(swarm), 0);
        controller.expectations.not_refused(uid(swarm));
        return Ok(recheck);
    }
    let mut members: Vec<Member> = drones
        .iter()
        .map(|drone| member(controller, swarm, drone, now))
        .collect();
    members.extend(unseen.iter().map(|(name, uid)| Member {
        uid: DroneUid(uid.clone()),
        name: name.clone(),
        serving: Serving::NoVehicle,
        ready: false,
        stuck: false,
        replace: None,
        leaving: false,
        slot: None,
        awaits: false,
    }));
    if let Some(Ok(slots)) = slots {
        let of = controller.observer.airspace.rules();
        let asking = drones.iter().filter(|drone| formation::asks_for_slot(drone, slots, of));
        let asking: HashSet<&str> = asking.map(|drone| uid(drone.as_ref())).collect();
        mark_awaiting(&mut members, |drone| asking.contains(drone.0.as_str()));
    }
    let full = takeoff_slots.are_full(swarm);
    mark_stuck(&mut members, full, |drone| {
        takeoff_slots.has(uid(swarm), &drone.0, false)
    });
    let lost = members
        .iter()
        .filter(|m| !m.leaving && m.replace == Some(Replace::Lost));
    let lost = lost.count();
    takeoff_slots.lost(uid(swarm), lost);
    let cut_off = lost > 0 && controller.is_cut_off();
    // A Swarm that is being deleted releases all Drones anyway.
    let grace = leadership
        .grace_left()
        .filter(|_| swarm.metadata.deletion_timestamp.is_none());
    let mut plan = plan(bounds, &members, grace.is_none());
    if cut_off {
        plan = plan.while_cut_off(&members);
    }
    // Whatever the plan says. Those on the ground that it lets go make room at once.
    let going: HashSet<&DroneUid> = plan.delete.iter().collect();
    let existing = members.iter().map(|member| Existing {
        has_vehicle: member.serving != Serving::NoVehicle,
        leaving: member.leaving || going.contains(&member.uid),
        lost: member.replace == Some(Replace::Lost),
    });
    plan.create = creations(plan.create, existing, bounds.most());
    if plan.create == 0 {
        controller.expectations.not_refused(uid(swarm));
    }
    // The slots of Drones that were just made are known once these are observed.
    if slots.is_some_and(|slots| slots.is_err() || !unseen.is_empty()) {
        plan.create = 0;
    }
    let key = Key::of(swarm);
    let may_ask = controller
        .expectations
        .may_ask(uid(swarm), swarm.metadata.generation, now);
    let making = plan.create.min(MAX_DRONES_PER_RECONCILE).min(may_ask);
    let names = free_names(&cluster.world, swarm, &unseen, making);
    let filled = match slots {
        Some(Ok(slots)) if unseen.is_empty() => {
            let chosen: HashSet<&DroneUid> = plan.delete.iter().collect();
            let stay: Vec<Member> = members.iter().filter(|m| !chosen.contains(&m.uid)).cloned().collect();
            // No formation has more slots than can be matched.
            Filled::of(&controller.observer, slots, (drones, &stay), &names).unwrap_or_default()
        }
        _ => Filled::default(),
    };
    if !names.is_empty() {
        tracing::info!(desired, making = names.len(), "making Drones");
        create_all(controller, swarm, names, &filled).await?;
    }
    if !plan.delete.is_empty() {
        let chosen: HashSet<&DroneUid> = plan.delete.iter().take(MAX_DRONES_PER_RECONCILE).collect();
        tracing::info!(desired, removing = chosen.len(), "removing Drones");
        let chosen: Vec<Member> = members.iter().filter(|m| chosen.contains(&m.uid)).cloned().collect();
        run(chosen.into_iter().map(|member| {
            delete(
                &controller.observer,
                &controller.expectations,
                key.namespace.clone(),
                member,
            )
        }))
        .await?;
    }
    filled.write(&controller.observer, drones).await?;
    let refused = controller.expectations.refusal(uid(swarm), Instant::now());
    // Not where none is to be made now, by a formation that cannot be, or is not known yet.
    let ask_again = refused
        .filter(|_| plan.create > 0)
        .map(|(_, rest)| rest.max(LEAST_REST));
    let more = (plan.create > making && ask_again.is_none()) || plan.delete.len() > MAX_DRONES_PER_RECONCILE;
    // Just started: airborne and idle vehicles are known once the agents have connected.
    let unsure = grace.filter(|_| plan.unsure);
    let cut_off = cut_off.then_some(RECONNECT_TIME);
    let later = more.then_some(Duration::ZERO).or(unsure).or(cut_off).or(recheck);
    Ok([later, ask_again].into_iter().flatten().min())
}

fn free_names(world: &World, swarm: &Swarm, unseen: &[(String, String)], count: usize) -> Vec<String> {
    let namespace = swarm.namespace().unwrap_or_default();
    let mut names: Vec<String> = Vec::with_capacity(count);
    for name in drone_names(&swarm.name_any(), uid(swarm)).take(count + SPARE_NAMES) {
        if names.len() == count {
            break;
        }
        let used = world.drone_exists(&Key::new(&namespace, &name)) || unseen.iter().any(|(n, _)| *n == name);
        if !used && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Runs all calls, a few at a time; returns the first failure.
async fn run(calls: impl Iterator<Item = impl Future<Output = Result<(), ApiError>>>) -> Result<(), ApiError> {
    let results: Vec<_> = stream::iter(calls).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

/// Makes Drones until the API server refuses one, which is noted and no failure: what else is to be done for the Swarm is done.
async fn create_all(
    controller: &SwarmController,
    swarm: &Swarm,
    names: Vec<String>,
    filled: &Filled,
) -> Result<(), ApiError> {
    let (cluster, expectations) = (&controller.observer.cluster, &controller.expectations);
    let is_refused = &AtomicBool::new(false);
    let calls = names.into_iter().map(move |name| async move {
        if is_refused.load(Ordering::Relaxed) {
            return Ok(());
        }
        let made = create(cluster, expectations, swarm, name, filled).await;
        if made.as_ref().is_err_and(ApiError::is_refusal) {
            is_refused.store(true, Ordering::Relaxed);
        }
        made
    });
    match run(calls).await {
        Ok(()) => expectations.not_refused(uid(swarm)),
        Err(error) if error.is_refusal() => {
            let times = expectations.refused(uid(swarm), swarm.metadata.generation, &error, Instant::now());
            // Often enough to be noticed.
            if times.is_power_of_two() {
                tracing::warn!(%error, failures = times, "the API server refuses Drones; will be tried again");
            }
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

async fn create(
    cluster: &Cluster,
    expectations: &Expectations,
    swarm: &Swarm,
    name: String,
    filled: &Filled,
) -> Result<(), ApiError> {
    let namespace = swarm.namespace().unwrap_or_default();
    let drones: Api<Drone> = Api::namespaced(cluster.client(), &namespace);
    let mut drone = build(swarm, &name);
    filled.give(&mut drone);
    match api::call("create a Drone", drones.create(&api::posting(), &drone)).await {
        Ok(made) => {
            expectations.created(uid(swarm), &name, uid(&made), Instant::now());
            Ok(())
        }
        // Another coordinator, or we with an older cache, chose the same name: the Drone exists.
        Err(error) if error.is_already_exists() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Marks the Drone first where its vehicle stands down, as no person deletes it.
async fn delete(
    observer: &Observer,
    expectations: &Expectations,
    namespace: String,
    member: Member,
) -> Result<(), ApiError> {
    let drones: Api<Drone> = Api::namespaced(observer.cluster.client(), &namespace);
    let uid = member.uid.0;
    if stands_down(observer, &Key::new(&namespace, &member.name)) {
        let mark = json!({"metadata": {"uid": uid, "annotations": {labels::RECALLED: "true"}}});
        let (params, mark) = (api::merging(), Patch::Merge(&mark));
        let marked = drones.patch(&member.name, &params, &mark);
        match api::call("mark a Drone that is to be deleted", marked).await {
            Ok(marked) => observer.world().learn_drone(marked),
            // It is gone, or another object has its name.
            Err(error) if error.is_not_found() || error.is_conflict() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    let params = api::only(&uid);
    match api::call("delete a Drone", drones.delete(&member.name, &params)).await {
        Ok(_) => {
            expectations.deleted(&uid, Instant::now());
            Ok(())
        }
        // It is gone, or another object has its name: either way it leaves.
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether the vehicle of the Drone `key` is left to a person.
fn stands_down(observer: &Observer, key: &Key) -> bool {
    let drone = observer.world().get_drone(key);
    let node = drone.and_then(|drone| observer.sessions.node_of(&drone));
    let report = node.and_then(|node| observer.sessions.current(&node));
    report.is_some_and(|report| report.stand_down.is_some())
}

fn build(swarm: &Swarm, name: &str) -> Drone {
    let template = swarm.spec.template.metadata.clone().unwrap_or_default();
    let mut drone = Drone::new(name, swarm.spec.drone_spec());
    let mut all = template.labels;
    all.insert(labels::MANAGED_BY.to_owned(), labels::COORDINATOR.to_owned());
    all.extend(swarm_label(swarm));
    drone.metadata.namespace = swarm.namespace();
    drone.metadata.labels = Some(all);
    drone.metadata.annotations = Some(template.annotations).filter(|a| !a.is_empty());
    drone.metadata.finalizers = Some(vec![labels::LANDED_FINALIZER.to_owned()]);
    drone.metadata.owner_references = Some(vec![OwnerReference {
        api_version: Swarm::api_version(&()).into_owned(),
        kind: Swarm::kind(&()).into_owned(),
        name: swarm.name_any(),
        uid: uid(swarm).to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]);
    drone
}

async fn set_finalizers(
    cluster: &Cluster,
    swarm: &Swarm,
    change: impl FnOnce(&mut Vec<String>),
) -> Result<(), ApiError> {
    let swarms: Api<Swarm> = Api::namespaced(cluster.client(), &swarm.namespace().unwrap_or_default());
    let mut finalizers = swarm.finalizers().to_vec();
    change(&mut finalizers);
    let patch = json!({"metadata": {
        "uid": uid(swarm),
        "resourceVersion": swarm.metadata.resource_version,
        "finalizers": finalizers,
    }});
    match api::call(
        "set the finalizer of a Swarm",
        swarms.patch(&swarm.name_any(), &api::merging(), &Patch::Merge(&patch)),
    )
    .await
    {
        Ok(written) => {
            cluster.world.learn_swarm(written);
            Ok(())
        }
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::world::Change;
    use crate::controllers::facts::tests::observer;
    use crds::SwarmSpec;
    use fleet::planning::freshness::Knowledge;
    use http::{Method, Request, Response, StatusCode};
    use kube::client::Body;
    use std::convert::Infallible;
    use std::sync::atomic::AtomicUsize;
    use tower::service_fn;

    #[test]
    fn a_drone_is_owned_by_its_swarm_labeled_and_held_until_it_has_landed() {
        let mut swarm = Swarm::new(
            "alpha",
            SwarmSpec {
                replicas: 1,
                ..SwarmSpec::default()
            },
        );
        swarm.metadata.namespace = Some("field".into());
        swarm.metadata.uid = Some("u-1".into());
        let mut metadata = crds::swarm::TemplateMetadata::default();
        metadata.labels.insert("team".into(), "red".into());
        metadata.labels.insert(labels::SWARM.into(), "somebody-elses".into());
        swarm.spec.template.metadata = Some(metadata);
        let drone = build(&swarm, "alpha-good-bird");
        assert_eq!(drone.labels()["team"], "red");
        assert_eq!(drone.labels()[labels::SWARM], "alpha", "the Swarm's own label wins");
        assert_eq!(drone.finalizers(), [labels::LANDED_FINALIZER]);
        assert_eq!(crate::cluster::world::owner(&drone), Some(("u-1", "alpha")));
        assert_eq!(drone.owner_references()[0].block_owner_deletion, Some(true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_swarm_at_the_quota_of_its_namespace_asks_for_one_drone_at_a_time_however_often_it_is_woken() {
        let swarm = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
            "metadata": {
                "name": "alpha", "namespace": "north", "uid": "u-1", "resourceVersion": "1", "generation": 1,
                "finalizers": [labels::DRONES_FINALIZER],
            },
            "spec": {"replicas": 100},
        });
        let asked = Arc::new(AtomicUsize::new(0));
        let (count, stored, mut edited) = (Arc::clone(&asked), swarm.clone(), swarm.clone());
        let service = service_fn(move |request: Request<Body>| {
            let refusal = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
                "message": "drones.skein.dev \"a\" is forbidden: exceeded quota: small, limited: count/drones.skein.dev=0"});
            let (code, body) = if request.method() == Method::POST {
                count.fetch_add(1, Ordering::Relaxed);
                (StatusCode::FORBIDDEN, refusal)
            } else {
                (StatusCode::OK, stored.clone())
            };
            let mut answer = Response::new(Body::from(body.to_string().into_bytes()));
            *answer.status_mut() = code;
            async move { Ok::<_, Infallible>(answer) }
        });
        let observer = observer(kube::Client::new(service, "north"));
        observer.leadership.state.knows(Knowledge::Current);
        let swarm: Swarm = serde_json::from_value(swarm).unwrap();
        observer.world().swarm(Change::Is(Arc::new(swarm)));
        let controller = SwarmController {
            observer,
            assessments: Arc::default(),
            expectations: Expectations::default(),
            paces: Paces::default(),
            coverages: Arc::default(),
            reception: Mutex::default(),
        };
        let key = Key::new("north", "alpha");
        let woken = async |times: u32| {
            for _ in 0..times {
                let state = &controller.observer.leadership.state;
                state.confirm(state.now());
                let later = reconcile(&controller, &key).await.unwrap();
                assert!(later.is_some(), "it goes on by itself");
                tokio::time::advance(Duration::from_millis(100)).await;
            }
            asked.load(Ordering::Relaxed)
        };
        let first = woken(1).await;
        assert!((1..=CONCURRENCY).contains(&first), "{first} Drones at once");
        let later = woken(3000).await - first;
        assert!((10..=35).contains(&later), "{later} in five minutes");
        let (why, _) = controller.expectations.refusal("u-1", Instant::now()).unwrap();
        assert!(
            why.starts_with("cannot create a Drone: exceeded quota: small,"),
            "{why}"
        );

        let place = json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5, "altitudeMeters": 20});
        edited["metadata"]["generation"] = json!(2);
        edited["spec"]["formation"] = json!({"shape": "Points", "points": [place]});
        let swarm: Swarm = serde_json::from_value(edited).unwrap();
        controller.observer.world().swarm(Change::Is(Arc::new(swarm)));
        tokio::time::advance(Duration::from_secs(60)).await;
        let state = &controller.observer.leadership.state;
        state.confirm(state.now());
        let later = reconcile(&controller, &key).await.unwrap();
        assert!(
            later != Some(Duration::ZERO),
            "its places are too few for it: nothing is asked for"
        );
    }
}
