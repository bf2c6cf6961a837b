//! `skein ground` and `skein release`.
//!
//! Owns: naming the target and telling what was done. Must not: ask back, or give an order twice.

use crate::args::{GroundArgs, SwarmRef};
use crate::failure::Failure;
use crate::route::Route;
use crate::server::{OrderFailure, Server};
use proto::v1;
use proto::v1::ground_request::Target;
use std::collections::BTreeSet;
use std::io::Write;

/// The namespace of a Swarm that was named without one.
const DEFAULT_NAMESPACE: &str = "default";

/// Lands and keeps down.
///
/// # Errors
/// [`Failure`].
pub async fn ground(route: &Route, args: &GroundArgs) -> Result<(), Failure> {
    let target = target(args)?;
    let mut server = Server::connect(route).await?;
    let answer = server.ground(target.clone()).await;
    let done = explained(answer, &target, &mut server).await?;
    say(&grounded(&target, done))
}

/// Lets fly again.
///
/// # Errors
/// [`Failure`].
pub async fn release(route: &Route, args: &GroundArgs) -> Result<(), Failure> {
    let target = target(args)?;
    let mut server = Server::connect(route).await?;
    let answer = server.release(target.clone()).await;
    let done = explained(answer, &target, &mut server).await?;
    say(&released(&target, done))
}

fn say(text: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn target(args: &GroundArgs) -> Result<Target, Failure> {
    match &args.swarm {
        None => Ok(Target::All(v1::All {})),
        Some(swarm) => Ok(Target::Swarm(swarm_target(swarm, args.namespace.as_deref())?)),
    }
}

fn swarm_target(swarm: &SwarmRef, namespace: Option<&str>) -> Result<v1::SwarmTarget, Failure> {
    let namespace = match (swarm.namespace.as_deref(), namespace) {
        (Some(a), Some(b)) if a != b => {
            return Err(Failure::Usage(format!(
                "{swarm} is not in namespace {b}; leave out one of them"
            )));
        }
        (Some(n), _) | (None, Some(n)) => n,
        (None, None) => DEFAULT_NAMESPACE,
    };
    Ok(v1::SwarmTarget {
        namespace: namespace.to_owned(),
        name: swarm.name.clone(),
    })
}

async fn explained(
    answer: Result<v1::GroundResponse, OrderFailure>,
    target: &Target,
    server: &mut Server,
) -> Result<v1::GroundResponse, Failure> {
    match answer {
        Ok(done) => Ok(done),
        Err(OrderFailure::Other(failure)) => Err(failure),
        Err(OrderFailure::Unavailable(words)) => match server.list("").await {
            Err(not_ready @ Failure::NotReady { .. }) => Err(not_ready),
            _ => Err(Failure::Failed(words)),
        },
        Err(OrderFailure::NotFound) => {
            // What there is helps more than what there is not; the answer stands without it.
            let known = server.list("").await.unwrap_or_default();
            Err(Failure::Failed(unknown(target, &known)))
        }
    }
}

fn unknown(target: &Target, vehicles: &[v1::Vehicle]) -> String {
    let swarms: BTreeSet<String> = vehicles
        .iter()
        .filter(|v| !v.swarm.is_empty())
        .map(|v| format!("{}/{}", v.drone_namespace, v.swarm))
        .collect();
    let there = if swarms.is_empty() {
        "no Swarm has Drones; see `kubectl get swarms -A`".to_owned()
    } else {
        format!(
            "Swarms with Drones: {}",
            swarms.into_iter().collect::<Vec<_>>().join(", ")
        )
    };
    format!("there is no {}; nothing was done. {there}", name(target))
}

fn name(target: &Target) -> String {
    match target {
        Target::Swarm(s) => format!("Swarm {}/{}", s.namespace, s.name),
        Target::All(_) => "Swarm".into(),
    }
}

fn argument(target: &Target) -> String {
    match target {
        Target::Swarm(s) => format!("{}/{}", s.namespace, s.name),
        Target::All(_) => "--all".into(),
    }
}

fn whom(target: &Target) -> String {
    match target {
        Target::Swarm(_) => name(target),
        Target::All(_) => "all Swarms and Drones".into(),
    }
}

fn counts(done: v1::GroundResponse) -> String {
    let of = |n: u32, one: &str, many: &str| {
        if n == 1 {
            format!("1 {one}")
        } else {
            format!("{n} {many}")
        }
    };
    let agents = of(done.agents_told, "connected agent told", "connected agents told");
    format!("{}, {agents}", of(done.drones, "Drone", "Drones"))
}

fn grounded(target: &Target, done: v1::GroundResponse) -> String {
    let (whom, counts, argument) = (whom(target), counts(done), argument(target));
    format!(
        "Ground order given to {whom}: {counts}. Vehicles in the air land now (`skein watch`), \
         and stay down until `skein release {argument}`."
    )
}

fn released(target: &Target, done: v1::GroundResponse) -> String {
    let (whom, counts) = (whom(target), counts(done));
    format!("Ground order ended for {whom}: {counts}. Vehicles that are wished to fly take off (`skein watch`).")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::holding;

    fn swarm(text: &str, namespace: Option<&str>) -> Result<String, Failure> {
        swarm_target(&text.parse().unwrap(), namespace).map(|t| format!("{}/{}", t.namespace, t.name))
    }

    #[test]
    fn a_swarm_without_a_namespace_is_in_the_default_one() {
        assert_eq!(swarm("alpha", None).unwrap(), "default/alpha");
        assert_eq!(swarm("alpha", Some("field")).unwrap(), "field/alpha");
        assert_eq!(swarm("field/alpha", Some("field")).unwrap(), "field/alpha");
        assert!(matches!(swarm("field/alpha", Some("other")), Err(Failure::Usage(_))));
    }

    #[test]
    fn a_person_is_told_what_was_done_and_how_to_undo_it() {
        let target = Target::Swarm(v1::SwarmTarget {
            namespace: "field".into(),
            name: "alpha".into(),
        });
        assert_eq!(
            grounded(
                &target,
                v1::GroundResponse {
                    drones: 3,
                    agents_told: 1
                }
            ),
            "Ground order given to Swarm field/alpha: 3 Drones, 1 connected agent told. Vehicles in the air land now \
             (`skein watch`), and stay down until `skein release field/alpha`."
        );
        let all = grounded(
            &Target::All(v1::All {}),
            v1::GroundResponse {
                drones: 0,
                agents_told: 0,
            },
        );
        assert!(
            all.contains("all Swarms and Drones: 0 Drones") && all.ends_with("`skein release --all`."),
            "{all}"
        );
    }

    #[test]
    fn an_unknown_swarm_is_answered_with_those_that_exist() {
        let target = Target::Swarm(v1::SwarmTarget {
            namespace: "default".into(),
            name: "alhpa".into(),
        });
        assert_eq!(
            unknown(&target, &[holding("a"), holding("b")]),
            "there is no Swarm default/alhpa; nothing was done. Swarms with Drones: default/alpha"
        );
        assert!(unknown(&target, &[]).ends_with("no Swarm has Drones; see `kubectl get swarms -A`"));
    }
}
