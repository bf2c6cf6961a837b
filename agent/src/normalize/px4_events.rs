//! PX4's EVENT (410): why it does not arm, which it reports to a companion computer in no other way.
//!
//! Owns: what an event says about arming: by the autopilot's own descriptions once they are there ([`Table`]), and until then
//! by a table of the arming checks that were recorded from PX4 (main of August 2025), and how their arguments are laid
//! out: `navigation_mode_group_t` (u32, the modes that the check blocks), the health component (u8), then the check's own.
//! Must not: decide. An event that neither describes keeps its number.
//!
//! A report of the checks is a burst: the arming summary, one event for each failing check, the health summary.
//!
//! Why a mission is not flown is said once, however often that mission is uploaded again: such an event is read also when it came before
//! the descriptions.

use super::classes::class;
use crate::command::OUR_COMPONENT;
use crate::metadata::{EventText, Sequence, Subject, Table};
use link::dialect::{EVENT_DATA, MavEventCurrentSequenceFlags, MavMessage};
use model::time::Moment;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// First of a burst: `commander_arming_check_summary`.
const ARMING_SUMMARY: u32 = 27_825_120;
/// Last of a burst: `commander_health_summary`.
const HEALTH_SUMMARY: u32 = 18_691_879;
/// `commander_arm_denied_resolve_failures`.
const ARM_DENIED: u32 = 16_910_493;
/// Bit of AUTO.LOITER in `navigation_mode_group_t`: the mode in which we arm.
const LOITER: u32 = 1 << 4;
/// External log level up to which a check blocks: error. Warnings and information mostly do not, see [`Report::end`].
const ERROR: u8 = 3;
const LESSER_AT_MOST: usize = 16;
const UNREAD_AT_MOST: usize = 16;
/// Prefix of events that say why a mission is not flown.
const OF_MISSIONS: &str = "navigator_mis_";
/// External log level up to which an event is worth a line in the log: information.
const INFORMATION: u8 = 6;
/// Longest description that is shown with the message, characters.
const SHORT: usize = 120;
/// `commander_failsafe_enter_hold`: mode (u32), action (u8), wait in seconds (u16), cause (u8).
const FAILSAFE_HOLD: u32 = 30_481_910;
/// `commander_failsafe_enter`: mode (u32), action (u8), cause (u8).
const FAILSAFE: u32 = 26_528_394;
/// `commander_failsafe_enter_generic_hold` and `commander_failsafe_enter_generic`: the same without a cause.
const FAILSAFE_GENERIC_HOLD: u32 = 21_279_712;
const FAILSAFE_GENERIC: u32 = 31_382_480;
const FAILSAFES: [u32; 4] = [FAILSAFE_HOLD, FAILSAFE, FAILSAFE_GENERIC_HOLD, FAILSAFE_GENERIC];
/// `commander_gcs_lost`.
const GCS_LOST: u32 = 27_571_288;
/// `commander_failsafe_enter_low_bat`.
const LOW_BATTERY: u32 = 28_993_875;
/// From `failsafe_reason_t`.
const CAUSES: [&str; 6] = [
    "",
    "manual control loss",
    "ground station loss",
    "low battery level",
    "critical battery level",
    "emergency battery level",
];
const DENIED: [&str; 2] = ["Arming denied: ", "Arming denied! "];

/// PX4's own texts, by id.
const CHECKS: [(u32, &str); 15] = [
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
    // `check_gf_violation` and `check_gf_violation_max_alt`.
    (29_908_441, "Geofence violation"),
    (30_700_832, "Geofence violation: above the maximum altitude"),
];
/// `check_mag_sys_has_mag_missing`: "Found {3} compass (required: {4})".
const MAGNETOMETERS: u32 = 22_720_449;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventMeaning {
    /// Earlier reasons are out of date.
    ChecksBegin,
    Blocks {
        code: u32,
        text: String,
    },
    /// For reasons reported elsewhere or for this one.
    Denied(String),
    Line(String),
    /// It waits in Hold, or acts.
    Failsafe(String),
}

#[derive(Clone, Debug, Default)]
pub struct Events {
    report: Report,
    sequence: Sequence,
    table: Option<Arc<Table>>,
    /// What came before the descriptions, and says nothing without them.
    unread: VecDeque<EVENT_DATA>,
}

type Check = (u32, String);

#[derive(Clone, Debug, Default)]
struct Report {
    open: bool,
    forbids: bool,
    has_error: bool,
    lesser: Vec<Check>,
    /// Checks of a lesser level that failed while the vehicle could be armed.
    harmless: BTreeSet<u32>,
}

impl Report {
    fn begin(&mut self, can_arm: Option<bool>) {
        self.open = true;
        self.forbids = can_arm == Some(false);
        self.has_error = false;
        self.lesser.clear();
    }

    /// Returns what it says if it blocks.
    fn check(&mut self, level: u8, code: u32, text: String) -> Option<EventMeaning> {
        if level <= ERROR {
            self.has_error = true;
            return Some(EventMeaning::Blocks { code, text });
        }
        if self.open && self.lesser.len() < LESSER_AT_MOST {
            self.lesser.push((code, text));
        }
        None
    }

    /// PX4 gives some checks that block a lesser level: a required mission that is missing (COM_ARM_MIS_REQ) is information. Where a
    /// report forbids arming and has no error, those are the reasons, without what did not keep the vehicle from arming before.
    fn end(&mut self) -> Vec<EventMeaning> {
        self.open = false;
        let lesser = std::mem::take(&mut self.lesser);
        if self.has_error {
            return Vec::new();
        }
        if !self.forbids {
            let free = LESSER_AT_MOST.saturating_sub(self.harmless.len());
            self.harmless
                .extend(lesser.into_iter().map(|(code, _)| code).take(free));
            return Vec::new();
        }
        let (known, new): (Vec<Check>, Vec<Check>) =
            lesser.into_iter().partition(|(code, _)| self.harmless.contains(code));
        let reasons = if new.is_empty() { known } else { new };
        reasons
            .into_iter()
            .map(|(code, text)| EventMeaning::Blocks { code, text })
            .collect()
    }
}

impl Events {
    pub fn described(&mut self, table: Arc<Table>) {
        self.table = Some(table);
    }

    /// First and last number to ask for, once.
    pub fn missed(&mut self, now: Moment) -> Option<(u16, u16)> {
        self.sequence.wanted(now)
    }

    /// Events that can be read now, in their order.
    pub fn receive(&mut self, message: &MavMessage, now: Moment) -> Vec<EventMeaning> {
        let mut events = match message {
            MavMessage::EVENT(m) => self.sequence.receive(m, now),
            MavMessage::RESPONSE_EVENT_ERROR(m) if m.target_component == OUR_COMPONENT.0 => {
                self.sequence.lost(m.sequence, m.sequence_oldest_available)
            }
            MavMessage::CURRENT_EVENT_SEQUENCE(m) => {
                let reset = MavEventCurrentSequenceFlags::MAV_EVENT_CURRENT_SEQUENCE_FLAGS_RESET;
                self.sequence.current(m.sequence, m.flags.contains(reset), now);
                Vec::new()
            }
            _ => Vec::new(),
        };
        events.extend(self.sequence.at(now));
        let ours = |event: &&EVENT_DATA| [0, OUR_COMPONENT.0].contains(&event.destination_component);
        let mut meanings = self.late();
        meanings.extend(events.iter().filter(ours).flat_map(|event| self.read(event)));
        meanings
    }

    fn late(&mut self) -> Vec<EventMeaning> {
        let Some(table) = &self.table else { return Vec::new() };
        let unread = std::mem::take(&mut self.unread);
        let described = unread
            .iter()
            .rev()
            .filter_map(|event| table.describe(event.id, &event.arguments));
        let of_missions = described.filter(|text| text.name.starts_with(OF_MISSIONS));
        of_missions.map(|text| EventMeaning::Line(text.message)).collect()
    }

    fn read(&mut self, event: &EVENT_DATA) -> Vec<EventMeaning> {
        let table = self.table.clone();
        let described = table
            .as_ref()
            .and_then(|table| table.describe(event.id, &event.arguments));
        let ends = described
            .as_ref()
            .map_or(event.id == HEALTH_SUMMARY, |text| text.subject == Subject::ReportEnds);
        if ends {
            return self.report.end();
        }
        let meaning = match described {
            Some(text) => self.by_description(text, event),
            None => self.built_in(event),
        };
        if meaning.is_none() && table.is_none() {
            self.unread.truncate(UNREAD_AT_MOST - 1);
            self.unread.push_front(event.clone());
        }
        meaning.into_iter().collect()
    }

    fn by_description(&mut self, described: EventText<'_>, event: &EVENT_DATA) -> Option<EventMeaning> {
        let level = event.log_levels & 0x0F;
        match described.subject {
            Subject::ReportBegins { chunk: 0, can_arm } => {
                self.report.begin(can_arm);
                Some(EventMeaning::ChecksBegin)
            }
            // A further part of the same report.
            Subject::ReportBegins { .. } => {
                self.report.open = true;
                None
            }
            Subject::ReportEnds => None,
            Subject::Check { in_hold } => {
                let text = with_description(described.message, &described.description);
                in_hold.then(|| self.report.check(level, event.id, text)).flatten()
            }
            Subject::Other if described.name.starts_with("commander_arm_denied") => {
                let reason = DENIED.iter().find_map(|prefix| described.message.strip_prefix(prefix));
                Some(EventMeaning::Denied(reason.unwrap_or(&described.message).to_owned()))
            }
            Subject::Other if FAILSAFES.contains(&event.id) => Some(EventMeaning::Failsafe(described.message)),
            Subject::Other => (level <= INFORMATION).then_some(EventMeaning::Line(described.message)),
        }
    }

    /// For events that the autopilot has not described.
    fn built_in(&mut self, event: &EVENT_DATA) -> Option<EventMeaning> {
        match event.id {
            ARMING_SUMMARY => {
                let modes = event.arguments.get(9..13).and_then(|modes| modes.try_into().ok());
                self.report
                    .begin(modes.map(|modes| u32::from_le_bytes(modes) & LOITER != 0));
                return Some(EventMeaning::ChecksBegin);
            }
            FAILSAFE_HOLD => return Some(EventMeaning::Failsafe(failsafe(event.arguments.get(7).copied(), true))),
            FAILSAFE => return Some(EventMeaning::Failsafe(failsafe(event.arguments.get(5).copied(), false))),
            FAILSAFE_GENERIC_HOLD => return Some(EventMeaning::Failsafe(failsafe(None, true))),
            FAILSAFE_GENERIC => return Some(EventMeaning::Failsafe(failsafe(None, false))),
            GCS_LOST => return Some(EventMeaning::Line("Connection to ground station lost".to_owned())),
            LOW_BATTERY => return Some(EventMeaning::Line("Low battery level".to_owned())),
            ARM_DENIED => return Some(EventMeaning::Denied("Resolve system health failures first".to_owned())),
            _ => {}
        }
        let known = CHECKS.iter().find(|(id, _)| *id == event.id).map(|(_, text)| *text);
        if known.is_none() && !self.report.open {
            return None;
        }
        let a = &event.arguments;
        let modes = u32::from_le_bytes([a[0], a[1], a[2], a[3]]);
        if modes & LOITER == 0 {
            return None;
        }
        let text = match known {
            Some(_) if event.id == MAGNETOMETERS => format!("Found {} compass (required: {})", a[5], a[6]),
            Some(text) => text.to_owned(),
            None => format!("PX4 event 0x{:08x}", event.id),
        };
        self.report.check(event.log_levels & 0x0F, event.id, text)
    }
}

/// `cause`: PX4's number.
fn failsafe(cause: Option<u8>, waits: bool) -> String {
    let cause = cause
        .and_then(|cause| CAUSES.get(usize::from(cause)))
        .filter(|cause| !cause.is_empty());
    let because = cause.map_or_else(String::new, |cause| format!(" ({cause})"));
    let waits = if waits { ", waiting in Hold" } else { "" };
    format!("Failsafe activated{because}{waits}")
}

/// The message, and the description behind it if that is short and does not change for which mode or person the reason is: the
/// class of a reason is read from its text, and advice on calibrating makes no position estimate a matter for a person.
fn with_description(message: String, description: &str) -> String {
    let whole = format!("{message}: {description}");
    let fits = !description.is_empty() && description.chars().count() <= SHORT;
    if fits && class(&whole) == class(&message) {
        whole
    } else {
        message
    }
}

#[cfg(test)]
mod tests;
