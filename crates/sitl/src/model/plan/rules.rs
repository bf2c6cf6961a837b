//! The differences between the mission protocols of the autopilots, and the numbers that they share.

use crate::wire::{PlanItem, PlanReply};

/// MAV_MISSION_TYPE_ALL, for clearing.
pub(super) const ALL_KINDS: u8 = 255;

/// MAV_MISSION_RESULT numbers.
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

/// MAV_MISSION_TYPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum PlanKind {
    /// 0.
    Mission,
    /// 1.
    Fence,
    /// 2.
    Rally,
}

impl PlanKind {
    /// All, in the order of their numbers.
    pub(in crate::model) const ALL: [Self; 3] = [Self::Mission, Self::Fence, Self::Rally];

    /// The kind with this MAV_MISSION_TYPE number.
    pub(in crate::model) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// MAV_MISSION_TYPE number.
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

/// The behavior of one autopilot in the mission protocol.
#[derive(Debug)]
pub(in crate::model) struct PlanRules {
    /// Requests items with MISSION_REQUEST (40) instead of MISSION_REQUEST_INT (51).
    pub(in crate::model) asks_the_old_way: bool,
    /// A request without answer is repeated after this.
    pub(in crate::model) repeat_s: f64,
    /// An upload is given up when nothing was received for this long.
    pub(in crate::model) give_up_s: f64,
    /// MISSION_ACK with which an upload is given up; `None`: no answer.
    pub(in crate::model) gives_up_with: Option<u8>,
    /// Uploads of another kind are not begun while one is open.
    pub(in crate::model) one_upload_at_a_time: bool,
    /// A mission is replaced only once all of it was received. Fences and rally points always are.
    pub(in crate::model) atomic_missions: bool,
    /// MISSION_ACK to an item that was not requested now; the upload continues. `None`: no answer.
    pub(in crate::model) answer_to_wrong_sequence: Option<u8>,
    /// An item that was not requested now keeps the upload alive.
    pub(in crate::model) any_item_is_life: bool,
    /// MISSION_ACK to an item without an upload; `None`: no answer.
    pub(in crate::model) answer_to_stray_item: Option<u8>,
    /// Items are sent only after MISSION_REQUEST_LIST.
    pub(in crate::model) gives_items_only_in_a_download: bool,
    /// MISSION_ACK 15 of the peer ends an upload.
    pub(in crate::model) uploads_can_be_cancelled: bool,
    /// A mission that is being flown is not cleared.
    pub(in crate::model) keeps_a_flown_mission: bool,
    /// Item 0 of a mission is home.
    pub(in crate::model) first_item_is_home: bool,
    /// Downloaded items have the current flag.
    pub(in crate::model) marks_current: bool,
    /// Plans have an identity computed from their content.
    pub(in crate::model) opaque_ids: bool,
    /// The limits of items: mission, fence, rally.
    pub(in crate::model) limits: [usize; 3],
    /// MAV_MISSION_RESULT on one item at a place of the plan.
    pub(in crate::model) judge: fn(PlanKind, usize, &PlanItem) -> u8,
    /// Why a whole plan cannot be stored, as texts; empty when it can.
    pub(in crate::model) judge_whole: fn(PlanKind, &[PlanItem]) -> Vec<String>,
    /// The item as it is read back.
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

/// A number computed from all fields of all items, never 0 unless there are none (FNV-1a; the real number differs, but
/// peers only compare it).
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
