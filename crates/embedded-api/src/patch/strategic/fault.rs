//! Faults of a strategic merge patch, with the codes of an API server.

use crate::patch::does_not_fit;
use crate::refusal::Refusal;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum Fault {
    #[error("$retainKeys must be a list of all fields of the patch")]
    RetainKeys,
    #[error("$deleteFromPrimitiveList must be followed by / and a field")]
    DeleteFrom,
    #[error("$setElementOrder must be followed by / and a field")]
    SetOrder,
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// Unknown, or not for an item of a list.
    #[error("$patch cannot be this here")]
    Directive,
    #[error("an item of the list has no {0:?}, by which it is merged")]
    NoKey(String),
    /// Objects in a list that is merged as a set.
    #[error("the items of the list must be plain values")]
    NoMergeKey,
    #[error("the items of the list must have one type")]
    MixedTypes,
    #[error("the items of the list are not in the order that $setElementOrder gives")]
    OtherOrder,
    #[error("the value must be {0}")]
    Type(&'static str),
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
