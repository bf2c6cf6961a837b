//! The command lines about one Drone or its vehicle: `skein resume` and `skein kill`.

use super::WhereArgs;
use clap::Args;
use std::fmt;
use std::str::FromStr;

const DEFAULT_NAMESPACE: &str = "default";

/// Which Drone.
#[derive(Debug, Args)]
#[group(skip)]
pub struct DroneArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// The Drone, as NAME or NAMESPACE/NAME.
    pub drone: ObjectRef,
    /// Namespace of the Drone.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

/// Arguments of `skein resume`.
#[derive(Debug, Args)]
#[group(skip)]
pub struct ResumeArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// The Drone, as NAME or NAMESPACE/NAME.
    #[arg(required_unless_present = "vehicle", conflicts_with = "vehicle")]
    pub drone: Option<ObjectRef>,
    /// Namespace of the Drone.
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "vehicle")]
    pub namespace: Option<String>,
    /// The vehicle of this node, which stands down and does not serve the Drone any more that it flew for.
    #[arg(long, value_name = "NODE")]
    pub vehicle: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resumed {
    Drone(ObjectKey),
    /// By its node.
    Vehicle(String),
}

impl ResumeArgs {
    pub fn default_namespace(&mut self, namespace: Option<String>) {
        let named = self.drone.as_ref().is_some_and(ObjectRef::names_namespace);
        if self.vehicle.is_none() && !named && self.namespace.is_none() {
            self.namespace = namespace;
        }
    }

    pub fn meant(&self) -> Result<Resumed, String> {
        match (&self.vehicle, &self.drone) {
            (Some(node), _) => Ok(Resumed::Vehicle(node.clone())),
            (None, Some(drone)) => drone.key(self.namespace.as_deref(), None).map(Resumed::Drone),
            (None, None) => Err("name a Drone, or the node of a vehicle by --vehicle".to_owned()),
        }
    }
}

/// Arguments of `skein kill`.
#[derive(Debug, Args)]
#[group(skip)]
pub struct KillArgs {
    /// Which Drone.
    #[command(flatten)]
    pub drone: DroneArgs,
    /// The Drone's name once more, where nobody can be asked.
    #[arg(long, value_name = "NAME")]
    pub confirm: Option<String>,
    /// Stop the motors, in the air too, where nobody can be asked.
    #[arg(long)]
    pub yes_stop_the_motors: bool,
}

/// A Drone or a Swarm as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRef {
    namespace: Option<String>,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    pub namespace: String,
    pub name: String,
}

impl DroneArgs {
    pub fn default_namespace(&mut self, namespace: Option<String>) {
        if !self.drone.names_namespace() && self.namespace.is_none() {
            self.namespace = namespace;
        }
    }

    pub fn key(&self) -> Result<ObjectKey, String> {
        self.drone.key(self.namespace.as_deref(), None)
    }
}

impl ObjectRef {
    /// `namespace`: given apart from the object; `usual`: default.
    pub fn key(&self, namespace: Option<&str>, usual: Option<&str>) -> Result<ObjectKey, String> {
        let name = self.name.clone();
        let namespace = match (self.namespace.as_deref(), namespace) {
            (Some(a), Some(b)) if a != b => {
                return Err(format!("{a}/{name} is not in namespace {b}; leave out one of them"));
            }
            (Some(namespace), _) | (None, Some(namespace)) => namespace,
            (None, None) => usual.unwrap_or(DEFAULT_NAMESPACE),
        };
        let namespace = namespace.to_owned();
        Ok(ObjectKey { namespace, name })
    }

    pub(super) const fn names_namespace(&self) -> bool {
        self.namespace.is_some()
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl FromStr for ObjectRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') || namespace.as_deref() == Some("") {
            return Err("give it as NAME or NAMESPACE/NAME".into());
        }
        let name = name.to_owned();
        Ok(Self { namespace, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(drone: &str, namespace: Option<&str>) -> Result<String, String> {
        let args = DroneArgs {
            place: WhereArgs::default(),
            drone: drone.parse()?,
            namespace: namespace.map(Into::into),
        };
        args.key().map(|key| key.to_string())
    }

    #[test]
    fn a_drone_goes_on_or_the_vehicle_of_a_node() {
        let of = |drone: Option<&str>, vehicle: Option<&str>| {
            let args = ResumeArgs {
                place: WhereArgs::default(),
                drone: drone.map(|drone| drone.parse().unwrap()),
                namespace: None,
                vehicle: vehicle.map(Into::into),
            };
            args.meant()
        };
        let goose = ObjectKey {
            namespace: "default".into(),
            name: "goose".into(),
        };
        assert_eq!(of(Some("goose"), None), Ok(Resumed::Drone(goose)));
        assert_eq!(of(None, Some("pine")), Ok(Resumed::Vehicle("pine".into())));
        assert!(of(None, None).unwrap_err().contains("--vehicle"));
    }

    #[test]
    fn a_drone_without_a_namespace_is_in_the_default_one() {
        assert_eq!(key("goose", None).unwrap(), "default/goose");
        assert_eq!(key("goose", Some("field")).unwrap(), "field/goose");
        assert_eq!(key("field/goose", Some("field")).unwrap(), "field/goose");
        assert!(key("field/goose", Some("other")).unwrap_err().contains("leave out"));
        for bad in ["", "/", "a/", "/a", "a/b/c"] {
            assert!(key(bad, None).unwrap_err().contains("NAME or NAMESPACE/NAME"), "{bad}");
        }
    }
}
