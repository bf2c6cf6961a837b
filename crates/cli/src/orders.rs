//! Orders that a person gives from a view.

use crate::args::ObjectKey;
use crate::failure::Failure;
use crate::ground::{self, Verb as GroundVerb};
use crate::resume;
use crate::route::Route;
use crate::server::Server;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use proto::v1;
use proto::v1::ground_request::Target;
use std::fmt;

const CONCURRENT_ORDERS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Ground,
    Release,
    Resume,
}

impl Verb {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ground => "ground",
            Self::Release => "release",
            Self::Resume => "resume",
        }
    }

    pub const fn does(self) -> &'static str {
        match self {
            Self::Ground => "They land where they are, at once, and stay on the ground until they are released.",
            Self::Release => "Ground orders on them end: those that should fly TAKE OFF again.",
            Self::Resume => "Skein commands them again after somebody else had taken over: they may MOVE.",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    Swarm(String, String),
    Drone(String, String),
    Node(String),
    All,
}

impl Whom {
    fn target(&self) -> Target {
        let (namespace, name) = match self {
            Self::All => return Target::All(v1::All {}),
            Self::Node(name) => return Target::Node(v1::NodeTarget { name: name.clone() }),
            Self::Swarm(namespace, name) | Self::Drone(namespace, name) => (namespace.clone(), name.clone()),
        };
        match self {
            Self::Swarm(..) => Target::Swarm(v1::SwarmTarget { namespace, name }),
            _ => Target::Drone(v1::DroneTarget { namespace, name }),
        }
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swarm(namespace, name) => write!(f, "Swarm {namespace}/{name}"),
            Self::Drone(namespace, name) => write!(f, "Drone {namespace}/{name}"),
            Self::Node(name) => write!(f, "the vehicle of node {name}"),
            Self::All => f.write_str("ALL Swarms and Drones of all namespaces"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub verb: Verb,
    /// At least one.
    pub whom: Vec<Whom>,
}

impl Order {
    pub fn concerns(&self, vehicle: &v1::Vehicle) -> bool {
        self.whom.iter().any(|whom| ground::covers(&whom.target(), vehicle))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub verb: Verb,
    /// Texts, with whether each order was done in full.
    pub answers: Vec<(String, bool)>,
}

pub async fn give(route: &Route, order: Order) -> Outcome {
    let verb = order.verb;
    let lanes = order.whom.len().clamp(1, CONCURRENT_ORDERS);
    let mut giving: FuturesUnordered<_> = (0..lanes)
        .map(|lane| {
            let mine = order.whom.iter().skip(lane).step_by(lanes).cloned().collect();
            give_in_turn(route, verb, mine)
        })
        .collect();
    let mut answers = Vec::new();
    while let Some(some) = giving.next().await {
        answers.extend(some);
    }
    // Failures are read first.
    answers.sort_by_key(|(_, done)| *done);
    Outcome { verb, answers }
}

async fn give_in_turn(route: &Route, verb: Verb, whom: Vec<Whom>) -> Vec<(String, bool)> {
    let mut answers = Vec::new();
    let mut server = match Server::connect(route).await {
        Ok(server) => server,
        Err(failure) => {
            let not_given = |whom: &Whom| (format!("{whom}: NOT GIVEN: {failure}"), false);
            return whom.iter().map(not_given).collect();
        }
    };
    for whom in whom {
        match one(&mut server, verb, &whom).await {
            Ok(texts) => answers.extend(texts),
            Err(failure) => answers.push((format!("{whom}: {failure}"), false)),
        }
    }
    answers
}

async fn one(server: &mut Server, verb: Verb, whom: &Whom) -> Result<Vec<(String, bool)>, Failure> {
    let verb = match (verb, whom) {
        (Verb::Ground, _) => GroundVerb::Ground,
        (Verb::Release, _) => GroundVerb::Release,
        (Verb::Resume, Whom::Drone(namespace, name)) => {
            let drone = ObjectKey {
                namespace: namespace.clone(),
                name: name.clone(),
            };
            let answer = server.resume(&drone).await?;
            return Ok(vec![(resume::resumed(&drone, &answer), true)]);
        }
        (Verb::Resume, _) => return Err(Failure::Usage("only a Drone can be resumed".to_owned())),
    };
    let ground::Outcome { done, left } = ground::give(server, verb, &whom.target()).await?;
    let done = done.map(|text| (text, true));
    Ok(done.into_iter().chain(left.map(|text| (text, false))).collect())
}
