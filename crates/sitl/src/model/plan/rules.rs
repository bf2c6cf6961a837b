//! Differences between the mission protocols of the autopilots, and the numbers that they share.

use crate::wire::{PlanItem, PlanReply};

pub(super) const ALL_KINDS: u8 = 255;

pub(in crate::model) mod verdict {
    pub(in crate::model) const ACCEPTED: u8 = 0;
    pub(in crate::model) const ERROR: u8 = 1;
    pub(in crate::model) const UNSUPPORTED_FRAME: u8 = 2;
    pub(in crate::model) const UNSUPPORTED: u8 = 3;
    pub(in crate::model) const NO_SPACE: u8 = 4;
    pub(in crate::model) const INVALID_PARAM1: u8 = 6;
    pub(in crate::model) const INVALID_PARAM5_X: u8 = 10;
    pub(in crate::model) const INVALID_PARAM6_Y: u8 = 11;
    pub(in crate::model) const INVALID_PARAM7: u8 = 12;
    pub(in crate::model) const INVALID_SEQUENCE: u8 = 13;
    pub(in crate::model) const DENIED: u8 = 14;
    pub(in crate::model) const CANCELLED: u8 = 15;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum PlanKind {
    Mission,
    Fence,
    Rally,
}

impl PlanKind {
    pub(in crate::model) const ALL: [Self; 3] = [Self::Mission, Self::Fence, Self::Rally];

    pub(in crate::model) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    pub(in crate::model) fn number(self) -> u8 {
        match self {
            Self::Mission => 0,
            Self::Fence => 1,
            Self::Rally => 2,
        }
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.number())
    }
}

#[derive(Debug)]
pub(in crate::model) struct PlanRules {
    /// MISSION_REQUEST (40) instead of MISSION_REQUEST_INT (51).
    pub(in crate::model) asks_the_old_way: bool,
    pub(in crate::model) repeat_s: f64,
    pub(in crate::model) give_up_s: f64,
    /// MISSION_ACK of a given-up upload; `None`: no answer.
    pub(in crate::model) gives_up_with: Option<u8>,
    pub(in crate::model) one_upload_at_a_time: bool,
    /// Replaces a mission only after a complete upload, as it always does fences and rally points.
    pub(in crate::model) atomic_missions: bool,
    /// MISSION_ACK to an item that was not requested; the upload continues. `None`: no answer.
    pub(in crate::model) answer_to_wrong_sequence: Option<u8>,
    /// Keeps the upload alive by items that were not requested, too.
    pub(in crate::model) any_item_is_life: bool,
    /// MISSION_ACK to an item without an upload; `None`: no answer.
    pub(in crate::model) answer_to_stray_item: Option<u8>,
    /// Requires MISSION_REQUEST_LIST before items are sent.
    pub(in crate::model) gives_items_only_in_a_download: bool,
    /// Cancelled by MISSION_ACK 15 of the peer.
    pub(in crate::model) uploads_can_be_cancelled: bool,
    pub(in crate::model) keeps_a_flown_mission: bool,
    pub(in crate::model) first_item_is_home: bool,
    pub(in crate::model) marks_current: bool,
    pub(in crate::model) opaque_ids: bool,
    /// Items of mission, fence, rally.
    pub(in crate::model) limits: [usize; 3],
    /// MAV_MISSION_RESULT of an item at this index.
    pub(in crate::model) judge: fn(PlanKind, usize, &PlanItem) -> u8,
    pub(in crate::model) judge_whole: fn(PlanKind, &[PlanItem]) -> Vec<String>,
    pub(in crate::model) as_stored: fn(PlanKind, PlanItem) -> PlanItem,
}

impl PlanRules {
    pub(super) fn request(&self, seq: u16) -> PlanReply {
        PlanReply::Request {
            seq,
            old: self.asks_the_old_way,
        }
    }

    pub(super) fn is_atomic(&self, kind: PlanKind) -> bool {
        self.atomic_missions || kind != PlanKind::Mission
    }
}

/// FNV-1a over all fields of all items, 0 only for no items. The real number differs, but peers only compare it.
pub(super) fn opaque_id(items: &[PlanItem]) -> u32 {
    if items.is_empty() {
        return 0;
    }
    let fields = items.iter().flat_map(|item| {
        let mut bytes = Vec::with_capacity(31);
        bytes.extend(item.command.to_le_bytes());
        bytes.push(item.frame);
        bytes.extend(item.params.iter().flat_map(|param| param.to_le_bytes()));
        bytes.extend(item.x.to_le_bytes());
        bytes.extend(item.y.to_le_bytes());
        bytes.extend(item.z.to_le_bytes());
        bytes
    });
    let hash = fields.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash.max(1)
}
