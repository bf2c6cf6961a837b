//! What a person's call needs to be allowed, in the words of Kubernetes RBAC.
//!
//! | call | verb | resource |
//! |---|---|---|
//! | List, Get, Watch | `get` | `drones` |
//! | Ground | `ground` | `swarms`; of a Drone: for its Swarm, or in its namespace if it has none; of a node's vehicle: all |
//! | Release | `release` | `swarms`; likewise |
//! | Resume | `resume` | `drones`; of a node's vehicle that stands down: the Drone that it flew for |
//! | Join | `connect` to command the vehicle, `get` to watch it | `drones` |
//! | Kill | `kill` | `drones`, or `swarms` for the Swarm that the Drone is of |
//! | Logs | `get` | `drones/log`; of a node's vehicle: `vehicles/log`, of all |
//!
//! All in API group `skein.dev`. What is asked for all namespaces, or of all Swarms, needs a ClusterRoleBinding.

use crate::cluster::key::Key;
use std::fmt;

pub const GROUP: &str = "skein.dev";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Right {
    pub verb: &'static str,
    /// Resource, with its subresource behind a slash.
    pub resource: &'static str,
    /// `None`: all.
    pub namespace: Option<String>,
    /// `None`: all.
    pub name: Option<String>,
}

pub const GROUND: &str = "ground";

pub const RELEASE: &str = "release";

/// The verb of a ground station that may command.
pub const CONNECT: &str = "connect";

/// The subresource of a program that flies.
const EXTERNAL: &str = "drones/external";

pub const SEE: &str = "get";

/// No name in Kubernetes is longer (RFC 1123, a host's name).
const MAX_NAME_LENGTH: usize = 253;

impl Right {
    /// Of all namespaces when it is empty.
    pub fn to_see(namespace: &str) -> Self {
        Self::new(SEE, "drones", Some(namespace), None)
    }

    pub fn to_see_one(drone: &Key) -> Self {
        Self::of(SEE, "drones", drone)
    }

    /// `verb` is [`GROUND`] or [`RELEASE`].
    pub fn to_order(verb: &'static str, swarm: &Key) -> Self {
        Self::of(verb, "swarms", swarm)
    }

    /// In a namespace, or in all.
    pub fn to_order_all(verb: &'static str, namespace: Option<&str>) -> Self {
        Self::new(verb, "swarms", namespace, None)
    }

    pub fn to_resume(drone: &Key) -> Self {
        Self::of("resume", "drones", drone)
    }

    /// To let the vehicle of a node fly again that stands down; `flew_for` is the Drone that it flew for.
    pub fn to_stand_up(flew_for: Option<&Key>) -> Self {
        flew_for.map_or_else(|| Self::new("resume", "drones", None, None), Self::to_resume)
    }

    /// To reach a Drone's vehicle with a ground station: of all in its namespace, asked first as one answer does for all, or of this one.
    pub fn to_connect(drone: &Key) -> [Self; 2] {
        let all = Self::new(CONNECT, "drones", Some(&drone.namespace), None);
        [all, Self::of(CONNECT, "drones", drone)]
    }

    /// To fly the vehicle of a Drone by a program, within the volume of its spec.external. The right to command it includes that.
    pub fn to_control(drone: &Key) -> [Self; 4] {
        let [all, one] = Self::to_connect(drone);
        let own = Self::new(CONNECT, EXTERNAL, Some(&drone.namespace), None);
        [own, Self::of(CONNECT, EXTERNAL, drone), all, one]
    }

    pub fn to_kill(drone: &Key) -> Self {
        Self::of("kill", "drones", drone)
    }

    /// To stop the motors of any Drone of a Swarm.
    pub fn to_kill_of(swarm: &Key) -> Self {
        Self::of("kill", "swarms", swarm)
    }

    pub fn to_read_logs(drone: &Key) -> Self {
        Self::of(SEE, "drones/log", drone)
    }

    pub fn to_read_all_logs() -> Self {
        Self::new(SEE, "vehicles/log", None, None)
    }

    fn of(verb: &'static str, resource: &'static str, key: &Key) -> Self {
        Self::new(verb, resource, Some(&key.namespace), Some(&key.name))
    }

    fn new(verb: &'static str, resource: &'static str, namespace: Option<&str>, name: Option<&str>) -> Self {
        let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            verb,
            resource,
            namespace: given(namespace),
            name: given(name),
        }
    }

    pub fn parts(&self) -> (&'static str, Option<&'static str>) {
        match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource)),
            None => (self.resource, None),
        }
    }

    /// Whether it is more than reading.
    pub fn changes(&self) -> bool {
        self.verb != SEE
    }

    /// Whether an object can have that name. An impossible one is neither asked about, nor cached, nor logged.
    pub fn can_be(&self) -> bool {
        let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let label = |part: &str| {
            let bytes = part.as_bytes();
            let edges = [bytes.first(), bytes.last()];
            edges.into_iter().all(|byte| byte.copied().is_some_and(edge))
                && bytes.iter().all(|&byte| edge(byte) || byte == b'-')
        };
        let name = |name: &String| name.len() <= MAX_NAME_LENGTH && name.split('.').all(label);
        self.namespace.iter().chain(&self.name).all(name)
    }

    /// This right, and those that contain it: to all in its namespace, and to all.
    pub fn wider(&self) -> [Self; 3] {
        let in_namespace = Self {
            name: None,
            ..self.clone()
        };
        let everywhere = Self {
            namespace: None,
            ..in_namespace.clone()
        };
        [self.clone(), in_namespace, everywhere]
    }

    /// To ground all in this right's namespace, and everything.
    pub fn grounding(&self) -> [Self; 2] {
        let there = self.namespace.as_deref();
        [there, None].map(|namespace| Self::new(GROUND, "swarms", namespace, None))
    }

    pub fn rule(&self) -> String {
        format!(
            "apiGroups: [{GROUP}], resources: [{}], verbs: [{}]",
            self.resource, self.verb
        )
    }

    /// Where the rule has to be bound.
    pub fn place(&self) -> String {
        self.namespace.as_ref().map_or_else(
            || "by a ClusterRoleBinding".to_owned(),
            |namespace| format!("in namespace {namespace}"),
        )
    }
}

/// Completes "may not …".
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resource, subresource) = self.parts();
        write!(f, "{} {resource}.{GROUP}", self.verb)?;
        if let Some(subresource) = subresource {
            write!(f, "/{subresource}")?;
        }
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (Some(namespace), None) => write!(f, " in namespace {namespace}"),
            (None, _) => write!(f, " in all namespaces"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_names_the_rule_that_grants_it() {
        let right = Right::to_kill(&Key::new("north", "alpha-1"));
        assert_eq!(right.to_string(), "kill drones.skein.dev north/alpha-1");
        assert_eq!(
            right.rule(),
            "apiGroups: [skein.dev], resources: [drones], verbs: [kill]"
        );
        assert_eq!(right.place(), "in namespace north");
        let all = Right::to_order_all(GROUND, None);
        assert_eq!(all.to_string(), "ground swarms.skein.dev in all namespaces");
        assert_eq!(all.place(), "by a ClusterRoleBinding");
        assert_eq!(Right::to_see("").namespace, None);
        let logs = Right::to_read_logs(&Key::new("north", "alpha-1"));
        assert_eq!(logs.to_string(), "get drones.skein.dev/log north/alpha-1");
        assert_eq!(logs.parts(), ("drones", Some("log")));
        assert_eq!(
            logs.rule(),
            "apiGroups: [skein.dev], resources: [drones/log], verbs: [get]"
        );
    }

    #[test]
    fn a_right_to_all_or_to_a_namespace_holds_for_each_in_it() {
        let one = Right::to_order(GROUND, &Key::new("north", "alpha"));
        let wider: Vec<String> = one.wider().iter().map(Right::to_string).collect();
        assert_eq!(
            wider,
            [
                "ground swarms.skein.dev north/alpha",
                "ground swarms.skein.dev in namespace north",
                "ground swarms.skein.dev in all namespaces"
            ]
        );
    }
}
