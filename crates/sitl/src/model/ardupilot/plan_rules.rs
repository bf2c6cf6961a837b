//! ArduCopter's side of the mission protocol, from recordings of 90700977 and its documentation.

use crate::model::geo::Neu;
use crate::model::plan::{Fence, PlanKind, PlanRules, fence_item, verdict};
use crate::wire::PlanItem;

pub(super) static RULES: PlanRules = PlanRules {
    asks_the_old_way: true,
    repeat_s: 1.0,
    give_up_s: 8.0,
    gives_up_with: Some(verdict::CANCELLED),
    one_upload_at_a_time: false,
    atomic_missions: false,
    answer_to_wrong_sequence: Some(verdict::INVALID_SEQUENCE),
    any_item_is_life: false,
    answer_to_stray_item: Some(verdict::ERROR),
    gives_items_only_in_a_download: false,
    uploads_can_be_cancelled: false,
    keeps_a_flown_mission: true,
    first_item_is_home: true,
    marks_current: false,
    opaque_ids: false,
    limits: [650, 70, 84],
    judge,
    judge_whole,
    as_stored,
};

pub(super) mod item {
    pub(in crate::model::ardupilot) const WAYPOINT: u16 = 16;
    pub(in crate::model::ardupilot) const LOITER_UNLIMITED: u16 = 17;
    pub(in crate::model::ardupilot) const LOITER_TIME: u16 = 19;
    pub(in crate::model::ardupilot) const RETURN_TO_LAUNCH: u16 = 20;
    pub(in crate::model::ardupilot) const LAND: u16 = 21;
    pub(in crate::model::ardupilot) const TAKEOFF: u16 = 22;
    pub(in crate::model::ardupilot) const DELAY: u16 = 93;
    pub(in crate::model::ardupilot) const DO_JUMP: u16 = 177;
    pub(in crate::model::ardupilot) const DO_CHANGE_SPEED: u16 = 178;
}

const WITH_PLACE: &[u16] = &[16, 17, 18, 19, 21, 22, 31, 82, 94, 179, 189, 201];
const WITHOUT_PLACE: &[u16] = &[
    20, 92, 93, 112, 114, 115, 177, 178, 181, 182, 183, 184, 203, 205, 206, 207, 208, 211, 222, 2000, 2001, 2500, 2501,
];
const RALLY_POINT: u16 = 5100;
const HIGHEST_M: f32 = 83_000.0;

/// Moves the vehicle, or waits in the air.
pub(super) fn is_navigation(command: u16) -> bool {
    matches!(command, 16..=22 | 31 | 82 | 92 | 93 | 94)
}

pub(super) fn name(command: u16) -> &'static str {
    match command {
        item::WAYPOINT => "WP",
        item::LOITER_UNLIMITED => "LoitUnlim",
        18 => "LoitTurns",
        item::LOITER_TIME => "LoitTime",
        item::RETURN_TO_LAUNCH => "RTL",
        item::LAND => "Land",
        item::TAKEOFF => "Takeoff",
        82 => "SplineWP",
        item::DELAY => "Delay",
        item::DO_JUMP => "Jump",
        item::DO_CHANGE_SPEED => "ChangeSpeed",
        _ => "?",
    }
}

fn judge(kind: PlanKind, place: usize, item: &PlanItem) -> u8 {
    match kind {
        // Item 0, home, is always replaced by its own.
        PlanKind::Mission if place == 0 => verdict::ACCEPTED,
        PlanKind::Mission if WITHOUT_PLACE.contains(&item.command) => numbers(item),
        PlanKind::Mission if WITH_PLACE.contains(&item.command) => {
            first_refusal(&[numbers(item), place_and_frame(item)])
        }
        PlanKind::Fence if (fence_item::RETURN_POINT..=fence_item::CIRCLE_OUT).contains(&item.command) => {
            place_and_frame(item)
        }
        PlanKind::Rally if item.command == RALLY_POINT => place_and_frame(item),
        _ => verdict::UNSUPPORTED,
    }
}

fn first_refusal(verdicts: &[u8]) -> u8 {
    let refusal = verdicts.iter().find(|verdict| **verdict != verdict::ACCEPTED);
    refusal.copied().unwrap_or(verdict::ACCEPTED)
}

/// NaN is refused except for a yaw (parameter 4).
fn numbers(item: &PlanItem) -> u8 {
    let yaw_may_be_open = matches!(item.command, item::WAYPOINT | item::LAND | item::TAKEOFF);
    let bad = |(place, param): (usize, &f32)| {
        let open = place == 3 && yaw_may_be_open && param.is_nan();
        (!param.is_finite() && !open).then_some(verdict::INVALID_PARAM1 + place as u8)
    };
    item.params
        .iter()
        .enumerate()
        .find_map(bad)
        .unwrap_or(verdict::ACCEPTED)
}

fn place_and_frame(item: &PlanItem) -> u8 {
    if item.x.unsigned_abs() > 900_000_000 {
        return verdict::INVALID_PARAM5_X;
    }
    if item.y.unsigned_abs() > 1_800_000_000 {
        return verdict::INVALID_PARAM6_Y;
    }
    if !item.z.is_finite() || item.z.abs() >= HIGHEST_M {
        return verdict::INVALID_PARAM7;
    }
    match item.frame {
        0 | 3 | 5 | 6 | 10 | 11 => verdict::ACCEPTED,
        _ => verdict::UNSUPPORTED_FRAME,
    }
}

fn judge_whole(kind: PlanKind, items: &[PlanItem]) -> Vec<String> {
    if kind != PlanKind::Fence {
        return Vec::new();
    }
    let invalid = |why: String| vec![why, "Fence validation failed".to_owned()];
    match Fence::read(items, |_, _| Neu::default()) {
        Ok(fence) if fence.circles.iter().any(|circle| circle.radius_m <= 0.0) => {
            invalid("Non-positive circle radius".to_owned())
        }
        Ok(fence) if stored_bytes(&fence) > FENCE_BYTES => vec!["Fence exceeds storage size".to_owned()],
        Ok(_) => Vec::new(),
        Err(count) if count < 3 => invalid(format!("Invalid vertex count ({count})")),
        Err(_) => invalid("Incorrect item count".to_owned()),
    }
}

/// Refuses NaN except for a yaw (parameter 4).
const FENCE_BYTES: usize = 560;

fn stored_bytes(fence: &Fence) -> usize {
    let polygons = fence.polygons.iter().map(|polygon| 2 + 8 * polygon.vertices.len());
    5 + polygons.sum::<usize>() + 13 * fence.circles.len()
}

fn as_stored(kind: PlanKind, item: PlanItem) -> PlanItem {
    // Size by what the real one stored and refused: a polygon of 69 and 70, two of 34 and 35, circles 42 and 43.
    let frame = match item.frame {
        3 | 6 => 3,
        10 | 11 => 10,
        _ => 0,
    };
    match kind {
        PlanKind::Mission if WITH_PLACE.contains(&item.command) => PlanItem {
            frame,
            params: item.params.map(|param| if param.is_nan() { 0.0 } else { param }),
            autocontinue: 1,
            ..item
        },
        PlanKind::Mission => PlanItem {
            frame: 0,
            x: 0,
            y: 0,
            z: 0.0,
            autocontinue: 1,
            ..item
        },
        PlanKind::Fence => PlanItem {
            frame: 0,
            params: [item.params[0], 0.0, 0.0, 0.0],
            z: 0.0,
            autocontinue: 0,
            ..item
        },
        PlanKind::Rally => PlanItem {
            frame,
            autocontinue: 0,
            ..item
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waypoint() -> PlanItem {
        PlanItem {
            command: item::WAYPOINT,
            frame: 6,
            params: [0.0, 0.0, 0.0, f32::NAN],
            x: 473_977_420,
            y: 85_455_940,
            z: 10.0,
            autocontinue: 1,
        }
    }

    fn judged(item: PlanItem) -> u8 {
        judge(PlanKind::Mission, 1, &item)
    }

    #[test]
    fn each_bad_field_has_its_own_verdict() {
        let good = waypoint();
        let not_a_number = [f32::NAN, 0.0, 0.0, 0.0];
        assert_eq!(judged(good), verdict::ACCEPTED);
        assert_eq!(judged(PlanItem { command: 31999, ..good }), verdict::UNSUPPORTED);
        assert_eq!(judged(PlanItem { frame: 99, ..good }), verdict::UNSUPPORTED_FRAME);
        assert_eq!(
            judged(PlanItem {
                x: 1_234_567_890,
                ..good
            }),
            verdict::INVALID_PARAM5_X
        );
        assert_eq!(
            judged(PlanItem {
                y: -1_900_000_000,
                ..good
            }),
            verdict::INVALID_PARAM6_Y
        );
        assert_eq!(judged(PlanItem { z: 1e6, ..good }), verdict::INVALID_PARAM7);
        assert_eq!(
            judged(PlanItem {
                params: not_a_number,
                ..good
            }),
            verdict::INVALID_PARAM1
        );
    }

    #[test]
    fn a_fence_is_judged_as_a_whole_with_the_words_recorded() {
        let vertices = |count: u16, declared: f32| {
            let vertex = PlanItem {
                command: fence_item::POLYGON_IN,
                params: [declared, 0.0, 0.0, 0.0],
                ..waypoint()
            };
            vec![vertex; usize::from(count)]
        };
        let circles = |count: usize, radius: f32| {
            let circle = PlanItem {
                command: fence_item::CIRCLE_OUT,
                params: [radius, 0.0, 0.0, 0.0],
                ..waypoint()
            };
            vec![circle; count]
        };
        let said = |items: &[PlanItem]| judge_whole(PlanKind::Fence, items).join("; ");
        let failed = |why: &str| format!("{why}; Fence validation failed");
        for fits in [vertices(69, 69.0), vertices(68, 34.0), circles(42, 10.0)] {
            assert_eq!(said(&fits), "");
        }
        for full in [vertices(70, 70.0), vertices(70, 35.0), circles(43, 10.0)] {
            assert_eq!(said(&full), "Fence exceeds storage size");
        }
        assert_eq!(said(&vertices(2, 2.0)), failed("Invalid vertex count (2)"));
        assert_eq!(said(&vertices(4, 5.0)), failed("Incorrect item count"));
        assert_eq!(said(&circles(1, 0.0)), failed("Non-positive circle radius"));
    }

    #[test]
    fn an_item_is_read_back_in_the_frame_that_is_stored() {
        assert_eq!(as_stored(PlanKind::Mission, waypoint()).frame, 3);
        let home = PlanItem {
            command: item::RETURN_TO_LAUNCH,
            frame: 3,
            ..waypoint()
        };
        let stored = as_stored(PlanKind::Mission, home);
        assert_eq!((stored.frame, stored.x, stored.z), (0, 0, 0.0));
    }
}
