//! PX4's EVENT (410): why it does not arm, which it tells a companion computer in no other way.
//!
//! Owns: the arming-check events that were recorded from PX4 (main of August 2025), and how their arguments are laid
//! out: `navigation_mode_group_t` (u32, the modes that the check blocks), the health component (u8), then the check's own.
//! Must not: decide. An event that is not in the table keeps its number.
//!
//! A report of the checks is a burst: the arming summary, one event for each failing check, the health summary.

use link::dialect::EVENT_DATA;

/// First of a burst: `commander_arming_check_summary`.
const ARMING_SUMMARY: u32 = 27_825_120;
/// Last of a burst: `commander_health_summary`.
const HEALTH_SUMMARY: u32 = 18_691_879;
/// `commander_arm_denied_resolve_failures`.
const ARM_DENIED: u32 = 16_910_493;
/// Bit of AUTO.LOITER in `navigation_mode_group_t`: the mode in which we arm.
const LOITER: u32 = 1 << 4;
/// External log level up to which a check blocks: error. Warnings and information do not.
const ERROR: u8 = 3;

/// Events of failing arming checks: id, and PX4's own text.
const CHECKS: [(u32, &str); 13] = [
    (30_612_409, "Navigation error: No valid position estimate"),
    (26_788_467, "Navigation error: No valid global position estimate"),
    (29_467_116, "Navigation error: No valid altitude estimate"),
    (27_227_279, "No valid attitude estimate"),
    (17_154_777, "No valid mission available"),
    (19_865_031, "No offboard signal"),
    (17_231_145, "No manual control input"),
    (23_579_003, "No connection to the ground control station"),
    (MAGNETOMETERS, "Found too few compasses"),
    (18_648_929, "Mode not suitable for arming"),
    (21_826_980, "Low battery"),
    (19_404_811, "Critical battery"),
    (28_121_863, "Emergency battery level"),
];
/// `check_mag_sys_has_mag_missing`: "Found {3} compass (required: {4})".
const MAGNETOMETERS: u32 = 22_720_449;

/// What an event says about arming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A new report of the checks begins; earlier reasons are out of date.
    ChecksBegin,
    /// This check fails and blocks arming in our mode.
    Blocks {
        /// Id of the event.
        code: u32,
        /// What it says.
        text: String,
    },
    /// Arming was denied, for reasons told elsewhere.
    Denied(&'static str),
    /// Nothing about arming.
    Nothing,
}

/// Reads events in the order they come.
#[derive(Clone, Debug, Default)]
pub struct Events {
    in_report: bool,
}

impl Events {
    /// What `event` says about arming.
    pub fn hear(&mut self, event: &EVENT_DATA) -> Said {
        match event.id {
            ARMING_SUMMARY => {
                self.in_report = true;
                return Said::ChecksBegin;
            }
            HEALTH_SUMMARY => {
                self.in_report = false;
                return Said::Nothing;
            }
            ARM_DENIED => return Said::Denied("Resolve system health failures first"),
            _ => {}
        }
        let known = CHECKS.iter().find(|(id, _)| *id == event.id).map(|(_, text)| *text);
        if known.is_none() && !self.in_report {
            return Said::Nothing;
        }
        let a = &event.arguments;
        let modes = u32::from_le_bytes([a[0], a[1], a[2], a[3]]);
        if event.log_levels & 0x0F > ERROR || modes & LOITER == 0 {
            return Said::Nothing;
        }
        let text = match known {
            Some(_) if event.id == MAGNETOMETERS => format!("Found {} compass (required: {})", a[5], a[6]),
            Some(text) => text.to_owned(),
            None => format!("PX4 event 0x{:08x}", event.id),
        };
        Said::Blocks { code: event.id, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event as recorded: levels, and the first bytes of its arguments.
    fn event(id: u32, log_levels: u8, arguments: &[u8]) -> EVENT_DATA {
        let mut data = EVENT_DATA {
            id,
            log_levels,
            ..EVENT_DATA::default()
        };
        data.arguments[..arguments.len()].copy_from_slice(arguments);
        data
    }

    #[test]
    fn of_the_recorded_report_only_the_checks_that_block_our_mode_are_reasons() {
        let mut events = Events::default();
        assert_eq!(events.hear(&event(ARMING_SUMMARY, 0x88, &[])), Said::ChecksBegin);
        let heard: Vec<_> = [
            event(30_612_409, 0x33, &[0x7c, 0, 0x7e, 0, 0x11]),
            event(26_788_467, 0x33, &[0x38, 0, 0, 0, 0x18]),
            event(17_154_777, 0x66, &[0x08, 0, 0, 0, 0x14]),
            event(19_865_031, 0x33, &[0, 0x40, 0, 0, 0x14]),
            event(17_231_145, 0x44, &[0xff, 0xff, 0xff, 0xff, 7]),
            event(23_579_003, 0x66, &[0xff, 0xff, 0xff, 0xff, 12]),
            event(22_720_449, 0x33, &[0xff, 0xff, 0xff, 0xff, 0x1b, 1, 2]),
            event(0x0123_4567, 0x22, &[0xff, 0xff, 0xff, 0xff, 1]),
        ]
        .iter()
        .filter_map(|e| match events.hear(e) {
            Said::Blocks { text, .. } => Some(text),
            _ => None,
        })
        .collect();
        assert_eq!(
            heard,
            [
                "Navigation error: No valid position estimate",
                "Navigation error: No valid global position estimate",
                "Found 1 compass (required: 2)",
                "PX4 event 0x01234567",
            ]
        );
        assert_eq!(events.hear(&event(HEALTH_SUMMARY, 0x88, &[])), Said::Nothing);
        assert_eq!(
            events.hear(&event(0x0123_4567, 0x22, &[0xff; 4])),
            Said::Nothing,
            "outside a report"
        );
    }

    #[test]
    fn a_missing_ground_station_blocks_only_when_the_autopilot_says_so() {
        let mut events = Events::default();
        let all = [0xff, 0xff, 0xff, 0xff, 12];
        assert_eq!(events.hear(&event(23_579_003, 0x66, &all)), Said::Nothing);
        assert!(matches!(
            events.hear(&event(23_579_003, 0x33, &all)),
            Said::Blocks { .. }
        ));
    }
}
