//! Objects of which one that cannot be read does not hide the others.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::Resource;
use kube::core::ObjectMeta;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Debug;

#[derive(Clone, Debug)]
pub enum Readable<K> {
    Read(K),
    /// Admitted by an API server and yet invalid: of another version, or made before a check.
    Unread(Box<Unread>),
}

/// The readable part of an unreadable object.
#[derive(Clone, Debug)]
pub struct Unread {
    pub metadata: ObjectMeta,
    /// `spec.vehicleSelector`, where that can be read.
    pub selector: Option<LabelSelector>,
    pub conditions: Vec<Condition>,
    pub why: String,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Readable<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        let why = match K::deserialize(&object) {
            Ok(read) => return Ok(Self::Read(read)),
            Err(why) => why.to_string(),
        };
        let part = |pointer: &str| object.pointer(pointer).cloned();
        let metadata = part("/metadata").ok_or_else(|| D::Error::missing_field("metadata"))?;
        Ok(Self::Unread(Box::new(Unread {
            metadata: serde_json::from_value(metadata).map_err(D::Error::custom)?,
            selector: part("/spec/vehicleSelector").and_then(|selector| serde_json::from_value(selector).ok()),
            conditions: part("/status/conditions")
                .and_then(|conditions| serde_json::from_value(conditions).ok())
                .unwrap_or_default(),
            why,
        })))
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Readable<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Read(object) => object.meta(),
            Self::Unread(unread) => &unread.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Read(object) => object.meta_mut(),
            Self::Unread(unread) => &mut unread.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::Geofence;
    use kube::ResourceExt;
    use serde_json::json;

    fn geofence(until: &str) -> Value {
        json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Geofence",
            "metadata": {"name": "night", "generation": 4, "uid": "u"},
            "spec": {
                "vehicleSelector": {"matchLabels": {"site": "north"}},
                "ceilingMeters": 60, "windows": [{"until": until}],
            },
        })
    }

    #[test]
    fn an_object_of_which_a_part_cannot_be_read_is_known_by_name_and_by_what_it_selects() {
        let read = |object: Value| serde_json::from_value::<Readable<Geofence>>(object).unwrap();
        assert!(matches!(read(geofence("2030-01-01T00:00:00Z")), Readable::Read(_)));
        let bad = read(geofence("9999-12-31T23:59:59Z"));
        assert_eq!((bad.name_any(), bad.meta().generation), ("night".to_owned(), Some(4)));
        let Readable::Unread(unread) = bad else {
            panic!("it is read")
        };
        let labels = unread.selector.unwrap().match_labels.unwrap();
        assert_eq!(labels.get("site").map(String::as_str), Some("north"));
        assert!(!unread.why.is_empty());
        let mut worse = geofence("never");
        worse["spec"]["vehicleSelector"] = json!("all");
        let Readable::Unread(unread) = read(worse) else {
            panic!("it is read")
        };
        assert!(unread.selector.is_none());
    }
}
