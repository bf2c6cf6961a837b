//! Ground orders that must outlive the coordinator that gave them (invariant 9).
//!
//! A ground order is in force at once, but it can take long until it is recorded on the objects (`spec.grounded`), as while
//! the Kubernetes API is away. Until then it lives in the memory of the coordinator, and on the disk of every agent that
//! was notified: an agent keeps the order's id until it is notified that the order is recorded or released. A coordinator that
//! receives an id it does not know has been restarted since, and gives the order again.

use serde::{Deserialize, Serialize};

/// One ground order, by a number that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroundOrderId(pub u64);

/// What has become of a ground order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroundMark {
    /// It was given and is in memory only.
    Given(GroundOrderId),
    /// It is recorded on the objects, or was released before it was recorded: no agent needs to keep it any more.
    Done(GroundOrderId),
}

/// The order that an agent keeps after taking an assignment with `mark`, if it kept `before`. `ordered`: the assignment grounds the
/// vehicle because of a ground order.
pub fn kept(before: Option<GroundOrderId>, ordered: bool, mark: Option<GroundMark>) -> Option<GroundOrderId> {
    match mark {
        Some(GroundMark::Given(id)) if ordered => Some(id),
        Some(GroundMark::Done(id)) if before == Some(id) => None,
        Some(GroundMark::Given(_) | GroundMark::Done(_)) | None => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: GroundOrderId = GroundOrderId(7);
    const OTHER: GroundOrderId = GroundOrderId(8);

    #[test]
    fn an_order_is_kept_from_the_moment_it_is_given_until_it_is_done() {
        let given = Some(GroundMark::Given(ID));
        assert_eq!(kept(None, true, given), Some(ID));
        assert_eq!(kept(Some(OTHER), true, given), Some(ID), "the newer one is in force");
        for ordered in [false, true] {
            assert_eq!(kept(Some(ID), ordered, Some(GroundMark::Done(ID))), None);
            assert_eq!(kept(Some(ID), ordered, Some(GroundMark::Done(OTHER))), Some(ID));
            assert_eq!(kept(Some(ID), ordered, None), Some(ID));
            assert_eq!(kept(None, ordered, Some(GroundMark::Done(ID))), None);
        }
    }
}
