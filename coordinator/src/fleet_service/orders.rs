//! Ground and Release: for a Swarm, a Drone, a vehicle, for all, or for a label selector.

use super::{FleetHandles, FleetService, who};
use crate::cluster::api::ApiError;
use crate::cluster::key::Key;
use crate::cluster::selection::Selection;
use crate::cluster::world::World;
use crate::ground::{self, Ground, GroundError, Kind, Marked, Reach, Target};
use crate::server::auth::right::{GROUND, RELEASE};
use crate::server::auth::{Refusal, Right, Who};
use futures::{StreamExt, stream};
use model::ids::NodeName;
use proto::v1;
use proto::v1::ground_request::Target as Asked;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::{Request, Response, Status};

/// Each object is asked about after it.
const FLEET_WIDE_CHECK_TIMEOUT: Duration = Duration::from_millis(250);

/// Objects that are not allowed by then are not ordered.
const OBJECT_CHECKS_TIMEOUT: Duration = Duration::from_secs(4);

const CONCURRENT_CHECKS: usize = 32;

/// Objects named in an answer that refuses all.
const MAX_NAMED_OBJECTS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Ground,
    Release,
}

impl Verb {
    const fn text(self) -> &'static str {
        match self {
            Self::Ground => GROUND,
            Self::Release => RELEASE,
        }
    }
}

/// Gives the requested order, as far as the caller may.
pub(super) async fn carry_out(
    service: &FleetService,
    verb: Verb,
    request: &Request<v1::GroundRequest>,
) -> Result<Response<v1::GroundResponse>, Status> {
    let handles = service.gate.handles()?;
    let (target, right) = match &request.get_ref().target {
        Some(Asked::All(_)) => (Target::All, Right::to_order_all(verb.text(), None)),
        Some(Asked::Swarm(swarm)) if !swarm.name.is_empty() && !swarm.namespace.is_empty() => {
            let key = Key::new(&swarm.namespace, &swarm.name);
            let right = Right::to_order(verb.text(), &key);
            (Target::Swarm(key), right)
        }
        Some(Asked::Selector(target)) => {
            let selection = Selection::to_order(&target.namespace, &target.selector);
            let selection = selection.map_err(|error| Status::invalid_argument(error.to_string()))?;
            return selected(service, &handles, verb, request, &selection).await;
        }
        Some(Asked::Drone(drone)) if !drone.name.is_empty() && !drone.namespace.is_empty() => {
            let key = Key::new(&drone.namespace, &drone.name);
            let known = handles
                .observer
                .world()
                .get_drone(&key)
                .map(|drone| Marked::drone(&drone));
            // Without the right to its namespace nobody learns that an object does not exist.
            let right = known.map_or_else(
                || Right::to_order_all(verb.text(), Some(&key.namespace)),
                |drone| needed(handles.observer.world(), verb, &drone),
            );
            (Target::Drone(key), right)
        }
        // A vehicle may serve anybody's Drones.
        Some(Asked::Node(node)) => {
            let node = NodeName::parse(&node.name).map_err(|error| Status::invalid_argument(error.to_string()))?;
            (Target::Node(node), Right::to_order_all(verb.text(), None))
        }
        Some(Asked::Swarm(_) | Asked::Drone(_)) | None => {
            let words = "name a Swarm or Drone with its namespace, a node, a selector, or all";
            return Err(Status::invalid_argument(words));
        }
    };
    service.allow(request, &right).await?;
    let who = who(request)?;
    let may_all = is_for_all(&right) || may_release_all(service, &handles.observer.ground, verb, &who).await;
    let reach = give(&handles.observer.ground, verb, target.clone(), (who.name(), may_all)).await?;
    let mut response = answer(reach);
    if verb == Verb::Release {
        response.not_done = still_grounded(&handles.observer.ground, handles.observer.world(), &target);
    }
    Ok(Response::new(response))
}

/// The released objects that a wider order still grounds.
fn still_grounded(ground: &Ground, world: &World, target: &Target) -> Vec<v1::NotDone> {
    let object = match target {
        Target::Swarm(key) => world.get_swarm(key).map(|swarm| Marked::swarm(&swarm)),
        Target::Drone(key) => world.get_drone(key).map(|drone| Marked::drone(&drone)),
        Target::Node(node) => world.drones_on(node).first().map(|drone| Marked::drone(drone)),
        Target::All | Target::Selector(..) | Target::Selected(_) => None,
    };
    let kept = object.and_then(|object| Some((ground::grounded_by(ground, &object)?, object)));
    kept.into_iter().map(|(why, object)| not_done(&object, why)).collect()
}

/// Gives the order for the part of `selection` that the caller may order.
async fn selected(
    service: &FleetService,
    handles: &FleetHandles,
    verb: Verb,
    request: &Request<v1::GroundRequest>,
    selection: &Selection,
) -> Result<Response<v1::GroundResponse>, Status> {
    let who = who(request)?;
    let wide = Right::to_order_all(verb.text(), selection.namespace());
    let meant = ground::selected(selection, handles.observer.world());
    if meant.is_empty()
        && verb == Verb::Release
        && ground::orders(&handles.observer.ground).any(|order| order.is_by(selection))
    {
        service.allow(request, &wide).await?;
        let target = Target::Selector(selection.clone(), vec![]);
        let may_all = is_for_all(&wide) || may_release_all(service, &handles.observer.ground, verb, &who).await;
        let reach = give(&handles.observer.ground, verb, target, (who.name(), may_all)).await?;
        return Ok(Response::new(answer(reach)));
    }
    if meant.is_empty() {
        let sees = Right::to_see(selection.namespace().unwrap_or_default());
        if service.auth.may(&who, &sees).await.is_err() {
            service.allow(request, &wide).await?;
        }
        let place = selection
            .namespace()
            .map_or_else(String::new, |n| format!(" in namespace {n}"));
        return Err(Status::not_found(format!(
            "no Swarm or Drone{place} has labels that match; nothing was done. See `kubectl get swarms,drones -A --show-labels`"
        )));
    }
    let ((may, all), refused) = sorted(service, handles.observer.world(), &who, verb, &wide, meant).await;
    if may.is_empty() {
        return Err(all_refused(service, request, &who, &wide, refused).await);
    }
    tracing::info!(
        by = who.name(),
        what = verb.text(),
        objects = may.len(),
        refused = refused.len(),
        "order taken"
    );
    // Who may order everything there orders later objects, too.
    let target = match all {
        true => Target::Selector(selection.clone(), may.clone()),
        false => Target::Selected(may.clone()),
    };
    let may_all = (all && is_for_all(&wide)) || may_release_all(service, &handles.observer.ground, verb, &who).await;
    let reach = give(&handles.observer.ground, verb, target, (who.name(), may_all)).await;
    let reach = reach.map_err(|status| with_refused(&status, refused.len()))?;
    let mut response = answer(reach);
    let (seen, hidden) = refused_part(service, &who, refused).await;
    response.not_done = seen
        .into_iter()
        .map(|(object, why)| not_done(&object, why.to_string()))
        .collect();
    response.hidden = small(hidden);
    for object in may {
        match ground::grounded_by(&handles.observer.ground, &object).filter(|_| verb == Verb::Release) {
            Some(why) => response.not_done.push(not_done(&object, why)),
            None => response.done.push(name(&object)),
        }
    }
    Ok(Response::new(response))
}

/// The part of `selection` that the caller may order, whether that is because all may be ordered, and the refused part.
async fn sorted(
    service: &FleetService,
    world: &World,
    who: &Who,
    verb: Verb,
    wide: &Right,
    meant: Vec<Marked>,
) -> ((Vec<Marked>, bool), Vec<(Marked, Arc<Refusal>)>) {
    if let Ok(Ok(())) = timeout(FLEET_WIDE_CHECK_TIMEOUT, service.auth.may(who, wide)).await {
        return ((meant, true), vec![]);
    }
    let until = Instant::now() + OBJECT_CHECKS_TIMEOUT;
    let needed = meant.into_iter().map(|object| (needed(world, verb, &object), object));
    let needed: Vec<(Right, Marked)> = needed.collect();
    let rights: BTreeSet<Right> = needed.iter().map(|(right, _)| right.clone()).collect();
    let asked = rights.into_iter().map(|right| async move {
        let answer = timeout_at(until, service.auth.may(who, &right)).await;
        let late = || {
            Refusal::Unasked(ApiError::TimedOut {
                what: "ask what the caller may do",
            })
        };
        (right, answer.unwrap_or_else(|_| Err(late())).map_err(Arc::new))
    });
    let answers: BTreeMap<Right, Result<(), Arc<Refusal>>> =
        stream::iter(asked).buffer_unordered(CONCURRENT_CHECKS).collect().await;
    let (mut may, mut refused) = (vec![], vec![]);
    for (right, object) in needed {
        match answers.get(&right) {
            Some(Ok(())) => may.push(object),
            Some(Err(refusal)) => refused.push((object, Arc::clone(refusal))),
            None => refused.push((object, Arc::new(Refusal::Busy))),
        }
    }
    ((may, false), refused)
}

/// The right to the object's Swarm, or to its namespace if it has none.
fn needed(world: &World, verb: Verb, object: &Marked) -> Right {
    let drone = || world.get_drone(&object.key);
    let swarm = match object.kind {
        Kind::Swarm => Some(object.key.clone()),
        Kind::Drone => drone().and_then(|drone| {
            let swarm = world.swarm_of(&drone);
            swarm.map(|swarm| Key::of(swarm.as_ref()))
        }),
    };
    swarm.map_or_else(
        || Right::to_order_all(verb.text(), Some(&object.key.namespace)),
        |swarm| Right::to_order(verb.text(), &swarm),
    )
}

/// The refused objects that the caller may see, and how many more there are.
async fn refused_part(
    service: &FleetService,
    who: &Who,
    refused: Vec<(Marked, Arc<Refusal>)>,
) -> (Vec<(Marked, Arc<Refusal>)>, usize) {
    let spaces: BTreeSet<String> = refused.iter().map(|(object, _)| object.key.namespace.clone()).collect();
    let until = Instant::now() + OBJECT_CHECKS_TIMEOUT;
    let asked = spaces.into_iter().map(|space| async move {
        let right = Right::to_see(&space);
        let sees = timeout_at(until, service.auth.may(who, &right)).await;
        matches!(sees, Ok(Ok(()))).then_some(space)
    });
    let seen: Vec<Option<String>> = stream::iter(asked).buffer_unordered(CONCURRENT_CHECKS).collect().await;
    let seen: BTreeSet<String> = seen.into_iter().flatten().collect();
    let all = refused.len();
    let shown: Vec<_> = refused
        .into_iter()
        .filter(|(object, _)| seen.contains(&object.key.namespace))
        .collect();
    let hidden = all - shown.len();
    (shown, hidden)
}

/// The answer when nothing of a selection may be ordered: to one who may not see any of it, the same as when there is nothing.
async fn all_refused(
    service: &FleetService,
    request: &Request<v1::GroundRequest>,
    who: &Who,
    wide: &Right,
    refused: Vec<(Marked, Arc<Refusal>)>,
) -> Status {
    let count = refused.len();
    let (seen, _) = refused_part(service, who, refused).await;
    let Some((_, first)) = seen.first() else {
        return match service.auth.may(who, wide).await {
            Err(refusal) => service.refuse(request, refusal),
            Ok(()) => Status::unavailable("what you may do has just changed; nothing was done, try again"),
        };
    };
    let status = Status::from(first.as_ref());
    let named = seen
        .iter()
        .take(MAX_NAMED_OBJECTS)
        .map(|(object, why)| format!("{}: {why}", named(object)));
    let named: Vec<String> = named.collect();
    Status::new(
        status.code(),
        format!(
            "nothing was done, for none of the {count} that are selected: {}",
            named.join("; ")
        ),
    )
}

const fn is_for_all(right: &Right) -> bool {
    right.namespace.is_none() && right.name.is_none()
}

/// Whether the caller may release the whole fleet; asked only where an order for all namespaces is in force.
async fn may_release_all(service: &FleetService, ground: &Ground, verb: Verb, who: &Who) -> bool {
    let is_needed = verb == Verb::Release && ground::orders(ground).any(|order| order.order.fleet_wide);
    let right = Right::to_order_all(verb.text(), None);
    is_needed
        && matches!(
            timeout(OBJECT_CHECKS_TIMEOUT, service.auth.may(who, &right)).await,
            Ok(Ok(()))
        )
}

/// `may_all`: the caller may release the whole fleet.
async fn give(ground: &Ground, verb: Verb, target: Target, (by, may_all): (String, bool)) -> Result<Reach, Status> {
    let ground = ground.clone();
    // On a task of its own: an order goes through even if the caller hangs up.
    let order = tokio::spawn(async move {
        match verb {
            Verb::Ground => ground::ground(&ground, &target, &by).await,
            Verb::Release => ground::release(&ground, &target, &by, may_all).await,
        }
    });
    match order.await {
        Ok(Ok(reach)) => Ok(reach),
        Ok(Err(error @ (GroundError::NoSuchSwarm(_) | GroundError::NoSuchDrone(_) | GroundError::NoSuchNode(_)))) => {
            Err(Status::not_found(error.to_string()))
        }
        Ok(Err(error)) => Err(Status::unavailable(error.to_string())),
        Err(_) => Err(Status::internal("the order was cut off; repeat it")),
    }
}

fn answer(reach: Reach) -> v1::GroundResponse {
    v1::GroundResponse {
        drones: small(reach.drones),
        agents_told: small(reach.agents),
        ..v1::GroundResponse::default()
    }
}

/// A failure, with how many objects were not even tried.
fn with_refused(status: &Status, refused: usize) -> Status {
    let more = match refused {
        0 => String::new(),
        n => format!("; {n} more are selected that you may not order"),
    };
    Status::new(status.code(), format!("{}{more}", status.message()))
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

const fn kind(object: &Marked) -> &'static str {
    match object.kind {
        Kind::Swarm => "Swarm",
        Kind::Drone => "Drone",
    }
}

fn named(object: &Marked) -> String {
    format!("{} {}", kind(object), object.key)
}

fn name(object: &Marked) -> v1::ObjectName {
    v1::ObjectName {
        kind: kind(object).to_owned(),
        namespace: object.key.namespace.clone(),
        name: object.key.name.clone(),
    }
}

fn not_done(object: &Marked, why: String) -> v1::NotDone {
    v1::NotDone {
        object: Some(name(object)),
        why,
    }
}
