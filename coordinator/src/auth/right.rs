//! What a person's call needs to be allowed, in the words of Kubernetes RBAC.
//!
//! Owns: verbs and resources. Must not: ask whether they are granted.
//!
//! | call | verb | resource |
//! |---|---|---|
//! | List, Get, Watch | `get` | `drones` |
//! | Ground | `ground` | `swarms` |
//! | Release | `release` | `swarms` |
//! | Resume | `resume` | `drones` |
//! | Kill | `kill` | `drones`, or `swarms` for the Swarm that the Drone is of |
//!
//! All in API group `skein.dev`. What is asked for all namespaces, or of all Swarms, needs a ClusterRoleBinding.

use crate::key::Key;
use std::fmt;

/// The API group.
pub const GROUP: &str = "skein.dev";

/// A verb on a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Right {
    /// Verb.
    pub verb: &'static str,
    /// Resource.
    pub resource: &'static str,
    /// Namespace; `None`: all.
    pub namespace: Option<String>,
    /// Name; `None`: all.
    pub name: Option<String>,
}

/// The verb that grounds.
pub const GROUND: &str = "ground";

impl Right {
    /// To see Drones of a namespace, or of all when it is empty.
    #[must_use]
    pub fn to_see(namespace: &str) -> Self {
        Self::new("get", "drones", Some(namespace), None)
    }

    /// To see one Drone.
    #[must_use]
    pub fn to_see_one(drone: &Key) -> Self {
        Self::of("get", "drones", drone)
    }

    /// To ground a Swarm, or all.
    #[must_use]
    pub fn to_ground(swarm: Option<&Key>) -> Self {
        swarm.map_or_else(
            || Self::new(GROUND, "swarms", None, None),
            |swarm| Self::of(GROUND, "swarms", swarm),
        )
    }

    /// To release a Swarm, or all.
    #[must_use]
    pub fn to_release(swarm: Option<&Key>) -> Self {
        swarm.map_or_else(
            || Self::new("release", "swarms", None, None),
            |swarm| Self::of("release", "swarms", swarm),
        )
    }

    /// To go on commanding a Drone that somebody had taken over.
    #[must_use]
    pub fn to_resume(drone: &Key) -> Self {
        Self::of("resume", "drones", drone)
    }

    /// To stop the motors of a Drone.
    #[must_use]
    pub fn to_kill(drone: &Key) -> Self {
        Self::of("kill", "drones", drone)
    }

    /// To stop the motors of any Drone of a Swarm.
    #[must_use]
    pub fn to_kill_of(swarm: &Key) -> Self {
        Self::of("kill", "swarms", swarm)
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

    /// Whether it is more than looking.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.verb != "get"
    }

    /// The rule that grants it.
    #[must_use]
    pub fn rule(&self) -> String {
        format!(
            "apiGroups: [{GROUP}], resources: [{}], verbs: [{}]",
            self.resource, self.verb
        )
    }

    /// Where the rule has to be bound.
    #[must_use]
    pub fn place(&self) -> String {
        self.namespace.as_ref().map_or_else(
            || "by a ClusterRoleBinding".to_owned(),
            |namespace| format!("in namespace {namespace}"),
        )
    }
}

/// As it completes "may not …".
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, resource, .. } = self;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, "{verb} {resource}.{GROUP} {namespace}/{name}"),
            (Some(namespace), None) => write!(f, "{verb} {resource}.{GROUP} in namespace {namespace}"),
            (None, _) => write!(f, "{verb} {resource}.{GROUP} in all namespaces"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_told_with_the_rule_that_grants_it() {
        let right = Right::to_kill(&Key::new("north", "alpha-1"));
        assert_eq!(right.to_string(), "kill drones.skein.dev north/alpha-1");
        assert_eq!(
            right.rule(),
            "apiGroups: [skein.dev], resources: [drones], verbs: [kill]"
        );
        assert_eq!(right.place(), "in namespace north");
        let all = Right::to_ground(None);
        assert_eq!(all.to_string(), "ground swarms.skein.dev in all namespaces");
        assert_eq!(all.place(), "by a ClusterRoleBinding");
        assert_eq!(Right::to_see("").namespace, None);
    }
}
