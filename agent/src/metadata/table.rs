//! The descriptions of an autopilot's events, and what an event says by them.

use super::template::fill;
use super::value::{Base, Value};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub(super) events: HashMap<u32, Event>,
    pub(super) enums: Vec<Enum>,
    /// `None`: the table does not say.
    pub(super) hold: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Chunk 0 is the first of a report in several.
    ReportBegins {
        chunk: u64,
        /// In the mode in which the vehicle holds its place; `None`: the report does not say.
        can_arm: Option<bool>,
    },
    ReportEnds,
    Check {
        /// In the mode in which the vehicle holds its place.
        in_hold: bool,
    },
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventText<'a> {
    /// Without the namespace.
    pub name: &'a str,
    pub subject: Subject,
    pub message: String,
    /// Often how to correct it; may be empty.
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) message: String,
    pub(super) description: String,
    pub(super) arguments: Vec<Argument>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ArmingSummary,
    HealthSummary,
    Check,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) base: Base,
    /// The enum's place in the table.
    pub(super) of: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Enum {
    pub(super) base: Base,
    pub(super) bitfield: bool,
    pub(super) separator: String,
    /// Names for people by value, or by bit.
    pub(super) entries: BTreeMap<u64, String>,
}

const BITS_AT_MOST: u32 = 16;

impl Table {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// `None`: it is not in the table.
    pub fn describe(&self, id: u32, arguments: &[u8]) -> Option<EventText<'_>> {
        let event = self.events.get(&id)?;
        let values = event.values(arguments);
        let shown = |number: usize, decimals| {
            let index = number.checked_sub(1)?;
            let (argument, value) = (event.arguments.get(index)?, *values.get(index)?);
            Some(match argument.of.and_then(|place| self.enums.get(place)) {
                Some(of) => of.shown(value),
                None => value.shown(decimals),
            })
        };
        let first = values.first().map_or(0, |value| value.bits());
        let in_hold = |modes: u64| modes & self.hold.unwrap_or(1 << 4) != 0;
        let subject = match event.kind {
            // Its arguments: chunk, parts of the vehicle with an error, with a warning, modes in which it can be armed, can fly.
            Kind::ArmingSummary => Subject::ReportBegins {
                chunk: first,
                can_arm: values.get(3).map(|modes| in_hold(modes.bits())),
            },
            Kind::HealthSummary => Subject::ReportEnds,
            Kind::Check => Subject::Check {
                in_hold: in_hold(first),
            },
            Kind::Other => Subject::Other,
        };
        Some(EventText {
            name: &event.name,
            subject,
            message: fill(&event.message, shown),
            description: fill(&event.description, shown),
        })
    }
}

impl Event {
    /// As many as the bytes suffice for.
    fn values(&self, bytes: &[u8]) -> Vec<Value> {
        let mut rest = bytes;
        let value = |argument: &Argument| {
            let value = argument.base.read(rest)?;
            rest = rest.get(argument.base.size()..)?;
            Some(value)
        };
        self.arguments.iter().map_while(value).collect()
    }
}

impl Enum {
    fn shown(&self, value: Value) -> String {
        let (bits, size) = (value.bits(), self.base.size());
        let mask = if size < 8 { (1_u64 << (8 * size)) - 1 } else { u64::MAX };
        let unknown = |bits: u64| format!("unknown ({bits})");
        if !self.bitfield {
            let name = self.entries.get(&(bits & mask));
            return name.cloned().unwrap_or_else(|| unknown(bits & mask));
        }
        let set = (0..64).map(|n| 1_u64 << n).filter(|bit| bits & mask & bit != 0);
        let names: Vec<String> = set
            .take(BITS_AT_MOST as usize)
            .map(|bit| self.entries.get(&bit).cloned().unwrap_or_else(|| unknown(bit)))
            .collect();
        let more = (bits & mask).count_ones() > BITS_AT_MOST;
        names.join(&self.separator) + if more { " …" } else { "" }
    }
}
