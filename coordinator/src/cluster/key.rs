//! Namespace and name of an object.

use kube::ResourceExt;
use model::ids::DroneName;
use std::fmt;

/// The namespace is empty for cluster-scoped objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub fn of(object: &impl ResourceExt) -> Self {
        Self {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
        }
    }

    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl From<&Key> for DroneName {
    fn from(key: &Key) -> Self {
        Self {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        }
    }
}
