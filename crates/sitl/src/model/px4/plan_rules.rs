//! PX4's side of the mission protocol, from recordings of a70a5583.

use crate::model::plan::{PlanKind, PlanRules, fence_item, verdict};
use crate::wire::PlanItem;

pub(super) static RULES: PlanRules = PlanRules {
    asks_the_old_way: false,
    repeat_s: 0.26,
    give_up_s: 5.0,
    gives_up_with: None,
    one_upload_at_a_time: true,
    atomic_missions: true,
    answer_to_wrong_sequence: None,
    any_item_is_life: true,
    answer_to_stray_item: None,
    gives_items_only_in_a_download: true,
    uploads_can_be_cancelled: true,
    keeps_a_flown_mission: false,
    first_item_is_home: false,
    marks_current: true,
    opaque_ids: true,
    limits: [500, 64, 32],
    judge,
    judge_whole: |_, _| Vec::new(),
    as_stored: |_, item| item,
};

pub(super) mod item {
    pub(in crate::model::px4) const WAYPOINT: u16 = 16;
    pub(in crate::model::px4) const LOITER_UNLIMITED: u16 = 17;
    pub(in crate::model::px4) const LOITER_TIME: u16 = 19;
    pub(in crate::model::px4) const RETURN_TO_LAUNCH: u16 = 20;
    pub(in crate::model::px4) const LAND: u16 = 21;
    pub(in crate::model::px4) const TAKEOFF: u16 = 22;
    pub(in crate::model::px4) const DELAY: u16 = 93;
}

/// Waypoint, loiter, land, takeoff and similar.
const WITH_PLACE: &[u16] = &[16, 17, 19, 21, 22, 31, 84, 85, 195, 201];
/// Return, delay, jump, speed, camera and gimbal.
const WITHOUT_PLACE: &[u16] = &[
    20, 80, 93, 177, 178, 179, 181, 183, 187, 197, 203, 205, 206, 211, 212, 214, 530, 2000, 2001, 2003, 2500, 2501,
    3000, 4501,
];
const RALLY_POINT: u16 = 5100;
const FEWEST_VERTICES: f32 = 3.0;
const FRAME_MISSION: u8 = 2;

pub(super) fn has_place(command: u16) -> bool {
    matches!(
        command,
        item::WAYPOINT | item::LOITER_UNLIMITED | item::LOITER_TIME | item::LAND | item::TAKEOFF
    )
}

/// A latitude of 123 degrees is accepted like any other (recorded).
fn judge(kind: PlanKind, _place: usize, item: &PlanItem) -> u8 {
    let global_frame = matches!(item.frame, 0 | 3 | 5 | 6);
    let in_frame = |fine: bool| match fine {
        true => verdict::ACCEPTED,
        false => verdict::UNSUPPORTED_FRAME,
    };
    match (kind, item.command) {
        (PlanKind::Mission, command) if WITH_PLACE.contains(&command) => in_frame(global_frame),
        (PlanKind::Mission, command) if WITHOUT_PLACE.contains(&command) => {
            in_frame(global_frame || item.frame == FRAME_MISSION)
        }
        (PlanKind::Fence, fence_item::POLYGON_IN | fence_item::POLYGON_OUT) if item.params[0] < FEWEST_VERTICES => {
            verdict::ERROR
        }
        (PlanKind::Fence, fence_item::RETURN_POINT..=fence_item::CIRCLE_OUT) | (PlanKind::Rally, RALLY_POINT) => {
            in_frame(global_frame)
        }
        _ => verdict::UNSUPPORTED,
    }
}
