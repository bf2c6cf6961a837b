//! `skein ground` and `skein release`.
//!
//! Owns: naming the target, and the answer. Must not: ask back, or give an order twice.

mod in_force;
mod outstanding;

use crate::args::{GroundArgs, ObjectKey, ObjectRef};
use crate::cluster::Choice;
use crate::failure::Failure;
use crate::route::Route;
use crate::server::{OrderFailure, Server, Which};
use crate::vehicle::{Vehicle, printable};
use crds::labels;
use in_force::InForce;
use proto::v1;
use proto::v1::ground_request::Target;
use std::collections::BTreeSet;
use std::io::Write;

const MAX_NAMED_VEHICLES: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Ground,
    Release,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub done: Option<String>,
    pub left: Option<String>,
}

pub async fn ground(route: &Route, args: &GroundArgs) -> Result<(), Failure> {
    let target = target(args)?;
    print(give(&mut Server::connect(route).await?, Verb::Ground, &target).await?)
}

pub async fn give(server: &mut Server, verb: Verb, target: &Target) -> Result<Outcome, Failure> {
    let done = carried_out(server, verb, target).await?;
    let (text, word) = match verb {
        Verb::Ground => {
            // A person who may ground may lack the right to list.
            let covered = server.list(&which(target)).await.ok();
            let covered = covered.map(|all| covered_by(target, all));
            (grounded(target, &done, covered.as_deref()), "grounded")
        }
        Verb::Release => (released(target, &done, None), "released"),
    };
    Ok(outcome(&done, text, word))
}

async fn carried_out(server: &mut Server, verb: Verb, target: &Target) -> Result<v1::GroundResponse, Failure> {
    let answer = match verb {
        Verb::Ground => server.ground(target.clone()).await,
        Verb::Release => server.release(target.clone()).await,
    };
    explained(answer, verb, target, server).await
}

fn outcome(done: &v1::GroundResponse, text: String, word: &str) -> Outcome {
    let left = not_done(done, word);
    let text = (left.is_none() || !done.done.is_empty()).then_some(text);
    Outcome { done: text, left }
}

fn which(target: &Target) -> Which {
    match target {
        Target::Swarm(swarm) => Which {
            namespace: swarm.namespace.clone(),
            ..Which::default()
        },
        Target::Selector(chosen) => Which {
            namespace: chosen.namespace.clone(),
            selector: chosen.selector.clone(),
            ..Which::default()
        },
        Target::Drone(drone) => Which {
            namespace: drone.namespace.clone(),
            ..Which::default()
        },
        // Its vehicle may serve a Drone of any namespace, or none.
        Target::Node(_) | Target::All(_) => Which::default(),
    }
}

fn covered_by(target: &Target, all: Vec<v1::Vehicle>) -> Vec<Vehicle> {
    let covered = all.into_iter().filter(|vehicle| covers(target, vehicle));
    covered.map(Vehicle::from).collect()
}

/// A selector covers everything that was listed with it: labels are not known here.
pub(crate) fn covers(target: &Target, vehicle: &v1::Vehicle) -> bool {
    match target {
        Target::Swarm(swarm) => vehicle.swarm == swarm.name && vehicle.drone_namespace == swarm.namespace,
        Target::Drone(drone) => vehicle.drone_name == drone.name && vehicle.drone_namespace == drone.namespace,
        Target::Node(node) => vehicle.node == node.name,
        Target::Selector(_) | Target::All(_) => !vehicle.drone_name.is_empty(),
    }
}

/// `named`: kubeconfig for a coordinator named by address.
pub async fn release(route: &Route, args: &GroundArgs, named: Option<Choice>) -> Result<(), Failure> {
    let target = target(args)?;
    let (server, orders) = tokio::join!(Server::connect(route), in_force::Orders::of(route, named));
    let mut server = server?;
    let before = orders.read().await;
    let done = carried_out(&mut server, Verb::Release, &target).await?;
    // The coordinator answers once everything that the release ends is written.
    let after = match before {
        Some(_) => orders.read().await,
        None => None,
    };
    let text = released(&target, &done, InForce::ended(before.as_ref(), after.as_ref()));
    print(outcome(&done, text, "released"))
}

/// Fails if a part was left undone.
fn print(outcome: Outcome) -> Result<(), Failure> {
    if let Some(text) = outcome.done {
        writeln!(std::io::stdout(), "{text}")?;
    }
    outcome.left.map_or(Ok(()), |left| Err(Failure::Failed(left)))
}

fn target(args: &GroundArgs) -> Result<Target, Failure> {
    let key = |named: &ObjectRef| named.key(args.namespace.as_deref(), None).map_err(Failure::Usage);
    if let Some(drone) = &args.drone {
        let ObjectKey { namespace, name } = key(drone)?;
        return Ok(Target::Drone(v1::DroneTarget { namespace, name }));
    }
    if let Some(node) = &args.vehicle {
        return Ok(Target::Node(v1::NodeTarget { name: node.clone() }));
    }
    match (&args.swarm, &args.selector) {
        (Some(swarm), _) => {
            let ObjectKey { namespace, name } = key(swarm)?;
            Ok(Target::Swarm(v1::SwarmTarget { namespace, name }))
        }
        (None, Some(selector)) => Ok(Target::Selector(v1::SelectorTarget {
            selector: selector.to_string(),
            namespace: args.namespace.clone().unwrap_or_default(),
        })),
        // Never for want of a target: `--all` must be given.
        (None, None) if args.all => Ok(Target::All(v1::All {})),
        (None, None) => Err(Failure::Usage(
            "say which: a Swarm, --drone, --vehicle, --selector or --all".to_owned(),
        )),
    }
}

async fn explained(
    answer: Result<v1::GroundResponse, OrderFailure>,
    verb: Verb,
    target: &Target,
    server: &mut Server,
) -> Result<v1::GroundResponse, Failure> {
    match answer {
        Ok(done) => Ok(done),
        Err(OrderFailure::Other(failure)) => Err(failure),
        Err(OrderFailure::Unavailable(text)) => match server.list(&Which::default()).await {
            Err(not_ready @ Failure::NotReady { .. }) => Err(not_ready),
            _ => Err(Failure::Failed(text)),
        },
        Err(OrderFailure::NotFound(text)) if !matches!(target, Target::Swarm(_)) => {
            Err(Failure::Failed(format!("{}: {text}", argument(target))))
        }
        Err(OrderFailure::NotFound(_)) => {
            if let Some(text) = of_mission(verb, target, server).await {
                return Err(Failure::Failed(text));
            }
            // Suggests existing targets; without them the answer is still complete.
            let known = server.list(&Which::default()).await.unwrap_or_default();
            Err(Failure::Failed(unknown(target, &known)))
        }
    }
}

async fn of_mission(verb: Verb, target: &Target, server: &mut Server) -> Option<String> {
    let Target::Swarm(named) = target else { return None };
    let which = Which {
        namespace: named.namespace.clone(),
        selector: format!("{}={}", labels::MISSION, named.name),
        ..Which::default()
    };
    let drones = server.list(&which).await.ok()?;
    let chosen = Target::Selector(v1::SelectorTarget {
        selector: which.selector,
        namespace: which.namespace,
    });
    let command = match verb {
        Verb::Ground => "ground",
        Verb::Release => "release",
    };
    (!drones.is_empty()).then(|| {
        format!(
            "there is no {}; nothing was done. Mission {}/{} flies {}: give the order to its Drones with `skein {command} {}`",
            name(target),
            named.namespace,
            named.name,
            of(u32::try_from(drones.len()).unwrap_or(u32::MAX), "Drone", "Drones"),
            argument(&chosen)
        )
    })
}

fn unknown(target: &Target, vehicles: &[v1::Vehicle]) -> String {
    if let Target::Swarm(swarm) = target {
        let drone = Target::Drone(v1::DroneTarget {
            namespace: swarm.namespace.clone(),
            name: swarm.name.clone(),
        });
        if vehicles.iter().any(|vehicle| covers(&drone, vehicle)) {
            let (it, argument) = (name(&drone), argument(&drone));
            return format!(
                "there is no {}; nothing was done. {it} is given as {argument}",
                name(target)
            );
        }
    }
    let swarms: BTreeSet<String> = vehicles
        .iter()
        .filter(|v| !v.swarm.is_empty())
        .map(|v| format!("{}/{}", v.drone_namespace, v.swarm))
        .collect();
    let there = if swarms.is_empty() {
        "No Swarm has Drones; see `kubectl get swarms -A`".to_owned()
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
        Target::Drone(d) => format!("Drone {}/{}", d.namespace, d.name),
        Target::Node(n) => format!("the vehicle of node {}", n.name),
        Target::All(_) | Target::Selector(_) => "Swarm".into(),
    }
}

fn argument(target: &Target) -> String {
    match target {
        Target::Swarm(s) => format!("{}/{}", s.namespace, s.name),
        Target::All(_) => "--all".into(),
        Target::Drone(d) => format!("--drone {}/{}", d.namespace, d.name),
        Target::Node(n) => format!("--vehicle {}", n.name),
        Target::Selector(s) if s.namespace.is_empty() => format!("-l '{}'", s.selector),
        Target::Selector(s) => format!("-l '{}' -n {}", s.selector, s.namespace),
    }
}

fn whom(target: &Target, done: &v1::GroundResponse) -> String {
    match target {
        Target::Swarm(_) | Target::Drone(_) | Target::Node(_) => name(target),
        Target::All(_) => "all Swarms and Drones".into(),
        Target::Selector(_) => some_of(&done.done.iter().map(object).collect::<Vec<_>>(), ", "),
    }
}

fn object(o: &v1::ObjectName) -> String {
    format!(
        "{} {}/{}",
        printable(&o.kind),
        printable(&o.namespace),
        printable(&o.name)
    )
}

fn some_of(all: &[String], between: &str) -> String {
    let first: Vec<&str> = all.iter().take(MAX_NAMED_VEHICLES).map(String::as_str).collect();
    match all.len().saturating_sub(MAX_NAMED_VEHICLES) {
        0 => first.join(between),
        more => format!("{}{between}and {more} more", first.join(between)),
    }
}

fn not_done(done: &v1::GroundResponse, verb: &str) -> Option<String> {
    let lines = done.not_done.iter().map(|left| {
        let name = left.object.as_ref().map_or_else(|| "an object".to_owned(), object);
        format!("{name}: {}", printable(&left.why))
    });
    let lines: Vec<String> = lines.collect();
    let mut text = match lines.len() {
        0 => String::new(),
        n => format!("{n} of what is selected NOT {verb}: {}", some_of(&lines, "; ")),
    };
    if done.hidden > 0 {
        let and = if text.is_empty() { "" } else { "; and " };
        text += &format!(
            "{and}{} of what is selected NOT {verb}, which you may neither order nor see",
            done.hidden
        );
    }
    (!text.is_empty()).then_some(text)
}

fn of(n: u32, one: &str, many: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    }
}

fn counts(done: &v1::GroundResponse) -> String {
    let agents = of(
        done.agents_told,
        "connected agent notified",
        "connected agents notified",
    );
    format!("{}, {agents}", of(done.drones, "Drone", "Drones"))
}

fn grounded(target: &Target, done: &v1::GroundResponse, covered: Option<&[Vehicle]>) -> String {
    let (whom, counts, argument) = (whom(target, done), counts(done), argument(target));
    let outstanding = covered.map_or_else(
        || "You may not see what its vehicles do.".to_owned(),
        outstanding::outstanding,
    );
    format!(
        "Ground order given to {whom}: {counts}. {outstanding} What comes of it: `skein watch`. It holds until `skein release {argument}`."
    )
}

/// `ended`: whether an order was in force, if known.
fn released(target: &Target, done: &v1::GroundResponse, ended: Option<bool>) -> String {
    let (whom, counts) = (whom(target, done), counts(done));
    match ended {
        Some(true) => {
            format!("Ground order ended for {whom}: {counts}. Vehicles that should fly take off (`skein watch`).")
        }
        Some(false) => {
            format!("No ground order was in force for {whom}: nothing was changed (`kubectl get groundorders`).")
        }
        None => {
            format!(
                "No ground order holds {whom} any more: {counts}. Vehicles that should fly take off (`skein watch`)."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::holding;

    #[test]
    fn the_output_says_what_was_done_and_how_to_undo_it() {
        let target = Target::Swarm(v1::SwarmTarget {
            namespace: "field".into(),
            name: "alpha".into(),
        });
        assert_eq!(
            grounded(
                &target,
                &v1::GroundResponse {
                    drones: 3,
                    agents_told: 1,
                    ..v1::GroundResponse::default()
                },
                Some(&[holding("a").into()])
            ),
            "Ground order given to Swarm field/alpha: 3 Drones, 1 connected agent notified. 1 vehicle in the air, ordered to land. What \
             comes of it: `skein watch`. It holds until `skein release field/alpha`."
        );
        let all = grounded(&Target::All(v1::All {}), &v1::GroundResponse::default(), None);
        assert!(
            all.contains("all Swarms and Drones: 0 Drones") && all.ends_with("`skein release --all`."),
            "{all}"
        );
    }

    #[test]
    fn a_release_claims_no_more_than_is_known() {
        let target = Target::Swarm(v1::SwarmTarget {
            namespace: "field".into(),
            name: "alpha".into(),
        });
        let text = |ended| released(&target, &v1::GroundResponse::default(), ended);
        assert!(text(Some(true)).starts_with("Ground order ended for Swarm field/alpha: 0 Drones"));
        assert_eq!(
            text(Some(false)),
            "No ground order was in force for Swarm field/alpha: nothing was changed (`kubectl get groundorders`)."
        );
        assert!(text(None).starts_with("No ground order holds Swarm field/alpha any more: 0 Drones"));
    }

    #[test]
    fn a_drone_covers_its_own_vehicle_and_a_node_the_one_that_it_carries() {
        let idle = v1::Vehicle {
            drone_namespace: String::new(),
            drone_name: String::new(),
            swarm: String::new(),
            ..holding("c")
        };
        let elsewhere = v1::Vehicle {
            drone_namespace: "south".into(),
            node: "node-d".into(),
            ..holding("a")
        };
        let all = vec![holding("a"), holding("b"), idle, elsewhere];
        let nodes = |target: &Target| {
            let covered = covered_by(target, all.clone());
            covered.into_iter().map(|vehicle| vehicle.node).collect::<Vec<_>>()
        };
        let drone = Target::Drone(v1::DroneTarget {
            namespace: "default".into(),
            name: "a".into(),
        });
        let node = |name: &str| Target::Node(v1::NodeTarget { name: name.into() });
        assert_eq!(nodes(&drone), ["node-a"]);
        assert_eq!(which(&drone).namespace, "default");
        assert_eq!(nodes(&node("node-b")), ["node-b"]);
        assert_eq!(nodes(&node("node-c")), ["node-c"], "it may serve a Drone later");
        assert_eq!(which(&node("node-c")).namespace, "", "whosever Drone it serves");
        let text = grounded(&node("node-b"), &v1::GroundResponse::default(), None);
        assert!(
            text.starts_with("Ground order given to the vehicle of node node-b: ")
                && text.ends_with("It holds until `skein release --vehicle node-b`."),
            "{text}"
        );
    }

    fn named(kind: &str, namespace: &str, name: &str) -> v1::ObjectName {
        v1::ObjectName {
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    #[test]
    fn a_selection_is_listed_by_name_with_how_to_undo_it_and_what_was_left_out() {
        let target = |namespace: &str| {
            Target::Selector(v1::SelectorTarget {
                selector: "team in (red)".into(),
                namespace: namespace.into(),
            })
        };
        let mut done = v1::GroundResponse {
            drones: 3,
            agents_told: 3,
            done: vec![named("Swarm", "field", "alpha"), named("Drone", "field", "lone")],
            ..v1::GroundResponse::default()
        };
        let text = grounded(&target(""), &done, None);
        assert!(
            text.starts_with(
                "Ground order given to Swarm field/alpha, Drone field/lone: 3 Drones, 3 connected agents notified."
            ) && text.ends_with("until `skein release -l 'team in (red)'`."),
            "{text}"
        );
        assert!(grounded(&target("field"), &done, None).ends_with("-l 'team in (red)' -n field`."));
        assert_eq!(not_done(&done, "grounded"), None);
        done.not_done.push(v1::NotDone {
            object: Some(named("Swarm", "south", "bravo")),
            why: "ann may not ground it".into(),
        });
        assert_eq!(
            not_done(&done, "grounded").unwrap(),
            "1 of what is selected NOT grounded: Swarm south/bravo: ann may not ground it"
        );
        done.hidden = 2;
        let text = not_done(&done, "grounded").unwrap();
        assert!(
            text.ends_with("; and 2 of what is selected NOT grounded, which you may neither order nor see"),
            "{text}"
        );
        done.done = (0..30).map(|n| named("Drone", "field", &format!("d-{n}"))).collect();
        let text = grounded(&target(""), &done, None);
        assert!(text.contains("Drone field/d-11, and 18 more: 3 Drones"), "{text}");
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
        let drone = Target::Swarm(v1::SwarmTarget {
            namespace: "default".into(),
            name: "a".into(),
        });
        assert_eq!(
            unknown(&drone, &[holding("a")]),
            "there is no Swarm default/a; nothing was done. Drone default/a is given as --drone default/a"
        );
        assert!(unknown(&target, &[]).ends_with("No Swarm has Drones; see `kubectl get swarms -A`"));
    }
}
