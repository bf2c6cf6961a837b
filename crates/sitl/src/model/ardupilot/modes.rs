//! ArduCopter's mode numbers and what each mode allows.

use super::flight::Sink;

pub(super) const STABILIZE: u32 = 0;
pub(super) const AUTO: u32 = 3;
pub(super) const GUIDED: u32 = 4;
pub(super) const LOITER: u32 = 5;
pub(super) const RTL: u32 = 6;
pub(super) const LAND: u32 = 9;
pub(super) const BRAKE: u32 = 17;
pub(super) const THROW: u32 = 18;
pub(super) const AVOID_ADSB: u32 = 19;
pub(super) const GUIDED_NO_GPS: u32 = 20;

const NAMES: &[(u32, &str)] = &[
    (0, "STABILIZE"),
    (1, "ACRO"),
    (2, "ALT_HOLD"),
    (3, "AUTO"),
    (4, "GUIDED"),
    (5, "LOITER"),
    (6, "RTL"),
    (7, "CIRCLE"),
    (9, "LAND"),
    (11, "DRIFT"),
    (14, "FLIP"),
    (15, "AUTOTUNE"),
    (16, "POSHOLD"),
    (17, "BRAKE"),
    (18, "THROW"),
    (19, "AVOID_ADSB"),
    (20, "GUIDED_NOGPS"),
    (21, "SMART_RTL"),
    (23, "FOLLOW"),
    (24, "ZIGZAG"),
    (27, "AUTO RTL"),
];

pub(super) fn name(mode: u32) -> Option<&'static str> {
    NAMES.iter().find(|(number, _)| *number == mode).map(|&(_, name)| name)
}

pub(super) fn armable(mode: u32) -> bool {
    matches!(mode, 0 | 1 | 2 | 4 | 5 | 11 | 13 | 16 | 18 | 20 | 24)
}

pub(super) fn needs_position(mode: u32) -> bool {
    matches!(mode, 3 | 4 | 5 | 6 | 7 | 11 | 16 | 17 | 18 | 19 | 21 | 23 | 24)
}

pub(super) fn takes_off_by_stick(mode: u32) -> bool {
    matches!(mode, 5 | 16 | 24)
}

/// Unavailable here: no flip or tuning without a pilot, no vehicle to follow, no landing target.
pub(super) fn needs_more(mode: u32) -> bool {
    matches!(mode, 14 | 15 | 23 | 27)
}

/// Effect of a throttle stick at the bottom; `None`: it stays.
pub(super) fn sink(mode: u32) -> Option<Sink> {
    match mode {
        0 | 1 | 11 => Some(Sink::Falling),
        2 | 5 | 16 | 24 => Some(Sink::Steadily),
        7 => Some(Sink::Circling),
        _ => None,
    }
}

pub(super) fn takes_speeds(mode: u32) -> bool {
    matches!(mode, 3 | 4 | 6 | 19 | 20 | 21 | 23)
}

pub(super) fn follows_sticks(mode: u32) -> bool {
    matches!(mode, 0 | 1 | 2 | 5 | 11 | 13 | 14 | 15 | 16 | 24)
}

/// HEARTBEAT.base_mode without the armed bit: 81 in pilot modes, 89 in the others.
pub(super) fn base_mode_bits(mode: u32) -> u8 {
    if matches!(mode, 3..=7 | 9 | 16 | 17 | 20 | 21 | 23) {
        89
    } else {
        81
    }
}
