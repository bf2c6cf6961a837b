//! Ground orders that must outlive the coordinator that gave them (invariant 9).
//!
//! A ground order is in force at once, but recording it on the objects (`spec.grounded`) waits while the Kubernetes API is away. Until then
//! the coordinator keeps it in memory, and every notified agent keeps its id on disk until the order is recorded or released. A coordinator
//! that receives an unknown id has restarted since, and gives the order again.

use serde::{Deserialize, Serialize};

/// Unique number of a ground order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroundOrderId(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroundMark {
    /// In memory only.
    Given(GroundOrderId),
    /// Recorded on the objects, or released before: agents drop it.
    Done(GroundOrderId),
}

/// The order that an agent keeps after an assignment with `mark`. `ordered`: the assignment grounds the vehicle because of a ground order.
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
