//! One change of one object: its request, and the state of the object after it.

use kube::api::DynamicObject;
use kube::core::ObjectMeta;
use serde_json::{Value, json};

pub(crate) const FINALIZER: &str = "example.dev/held";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) uid: String,
    pub(crate) revision: u64,
    pub(crate) facts: Facts,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) spec: Option<u64>,
    pub(crate) status: Option<u64>,
    pub(crate) held: bool,
    pub(crate) deleting: bool,
}

impl From<&DynamicObject> for State {
    fn from(object: &DynamicObject) -> Self {
        let ObjectMeta {
            uid,
            resource_version,
            finalizers,
            deletion_timestamp,
            ..
        } = object.metadata.clone();
        Self {
            uid: uid.unwrap(),
            revision: resource_version.unwrap().parse().unwrap(),
            facts: Facts {
                spec: object.data["spec"]["count"].as_u64(),
                status: object.data["status"]["count"].as_u64(),
                held: finalizers.is_some_and(|all| all == [FINALIZER]),
                deleting: deletion_timestamp.is_some(),
            },
        }
    }
}

/// A number of its own each, so that changes cannot be confused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Create { count: u64, held: bool },
    PatchSpec(u64),
    PatchStatus(u64),
    Replace(u64),
    Delete,
    Release,
}

impl Change {
    pub(crate) fn after(self, before: Option<&State>) -> Option<Facts> {
        let facts = before.map(|state| state.facts.clone()).unwrap_or_default();
        match self {
            Self::Create { count, held } => Some(Facts {
                spec: Some(count),
                held,
                ..facts
            }),
            Self::PatchSpec(count) | Self::Replace(count) => Some(Facts {
                spec: Some(count),
                ..facts
            }),
            Self::PatchStatus(count) => Some(Facts {
                status: Some(count),
                ..facts
            }),
            Self::Delete => facts.held.then_some(Facts {
                deleting: true,
                ..facts
            }),
            Self::Release => (!facts.deleting).then_some(Facts { held: false, ..facts }),
        }
    }

    pub(crate) fn made(self, before: Option<&State>, now: Option<&State>) -> bool {
        match (before, now) {
            (Some(before), Some(now)) => {
                now.uid == before.uid
                    && now.revision > before.revision
                    && self.after(Some(before)).as_ref() == Some(&now.facts)
            }
            (None, Some(now)) => self.after(None).as_ref() == Some(&now.facts),
            (Some(before), None) => self.after(Some(before)).is_none(),
            (None, None) => false,
        }
    }

    pub(crate) fn patch(self) -> Value {
        match self {
            Self::PatchSpec(count) => json!({"spec": {"count": count}}),
            Self::PatchStatus(count) => json!({"status": {"count": count}}),
            _ => json!({"metadata": {"finalizers": null}}),
        }
    }
}
