//! The faults of a strategic merge patch, with the messages and codes of an API server.
//!
//! Owns: the messages. Must not: detect faults.

use crate::apply::typed::{shown, type_name};
use crate::patch::does_not_fit;
use crate::refusal::Refusal;
use serde_json::{Map, Value};

/// A fault of a patch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum Fault {
    /// `$retainKeys` is not a list of all fields of the patch.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$deleteFromPrimitiveList` without a field.
    #[error("invalid patch format of primitive list")]
    DeleteFrom,
    /// `$setElementOrder` without a field.
    #[error("invalid patch format of setElementOrder list")]
    SetOrder,
    /// A list in a merged list.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// An unknown `$patch`.
    #[error("unknown patch type: {} in map: {}", shown(.0), in_map(.1))]
    Directive(Value, Map<String, Value>),
    /// `$patch: merge` in an item of a list.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeItem,
    /// An item without the key by which its list is merged.
    #[error("map: {} does not contain declared merge key: {}", in_map(.0), .1)]
    NoKey(Map<String, Value>, String),
    /// Objects in a list that is merged as a set.
    #[error("cannot merge lists without merge key for this field")]
    NoMergeKey,
    /// Items of several types.
    #[error("list element types are not identical: [{} {}]", shown(.0), shown(.1))]
    MixedTypes(Value, Value),
    /// The order in the patch differs from the given one.
    #[error("The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n", shown(.0), shown(.1))]
    OtherOrder(Value, Value),
    /// A value of another type.
    #[error("expected a {}, but received a {}", .0, type_name(.1))]
    Type(&'static str, Value),
}

fn in_map(fields: &Map<String, Value>) -> String {
    shown(&Value::Object(fields.clone()))
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::RetainKeys | Fault::DeleteFrom | Fault::SetOrder => Self::bad_request(fault.to_string()),
            Fault::ListOfLists => does_not_fit(),
            other => Self::new(500, "", other.to_string()),
        }
    }
}
