//! Reads an events file (libevents JSON, `all_events.json`) into a [`Table`].
//!
//! A file that is too much of anything is refused; a single event or enum that makes no sense is left out.
//!
//!   {"version", "components": {ID: {"namespace", "enums": {NAME: …}, "event_groups": {GROUP: {"events": {SUB_ID: …}}},
//!     "navigation_mode_groups": {"groups": {BIT: [custom modes]}}}}}    event number = component << 24 | sub id

use super::table::{Argument, Enum, Event, Kind, Table};
use super::value::Base;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, HashMap};

/// PX4's custom mode of Hold: main mode 4 (AUTO), sub mode 3 (LOITER).
const HOLD: u64 = 0x0304_0000;
const EVENTS_AT_MOST: usize = 8192;
const ENUMS_AT_MOST: usize = 1024;
const ENTRIES_AT_MOST: usize = 16_384;
/// As many as EVENT (410) has bytes.
const ARGUMENTS_AT_MOST: usize = 40;
const TEXT_AT_MOST: usize = 4000;

#[derive(Debug, thiserror::Error)]
pub(super) enum Misread {
    #[error("it is not the JSON of an events file: {0}")]
    Shape(#[source] serde_json::Error),
    #[error("it describes too many events or enums")]
    TooMuch,
    #[error("it describes no event")]
    Nothing,
}

#[derive(Deserialize)]
struct Document {
    components: BTreeMap<String, Component>,
}

#[derive(Deserialize)]
struct Component {
    namespace: String,
    #[serde(default)]
    enums: BTreeMap<String, Lenient<EnumText>>,
    #[serde(default)]
    event_groups: BTreeMap<String, GroupText>,
    #[serde(default)]
    navigation_mode_groups: Option<Lenient<ModeGroups>>,
}

/// Part of the file that is left out when it makes no sense.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lenient<T> {
    Good(T),
    Bad(IgnoredAny),
}

impl<T> Lenient<T> {
    fn good(self) -> Option<T> {
        match self {
            Self::Good(it) => Some(it),
            Self::Bad(IgnoredAny) => None,
        }
    }
}

#[derive(Deserialize)]
struct ModeGroups {
    groups: BTreeMap<String, Vec<u64>>,
}

#[derive(Deserialize)]
struct EnumText {
    #[serde(rename = "type")]
    base: String,
    #[serde(default)]
    is_bitfield: bool,
    separator: Option<String>,
    #[serde(default)]
    entries: BTreeMap<String, EntryText>,
}

#[derive(Deserialize)]
struct EntryText {
    name: String,
    description: Option<String>,
}

#[derive(Deserialize)]
struct GroupText {
    #[serde(default)]
    events: BTreeMap<String, Lenient<EventText>>,
}

#[derive(Deserialize)]
struct EventText {
    name: String,
    message: String,
    #[serde(default)]
    description: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    arguments: Vec<ArgumentText>,
}

#[derive(Deserialize)]
struct ArgumentText {
    #[serde(rename = "type")]
    of: String,
}

pub(super) fn read(text: &[u8]) -> Result<Table, Misread> {
    let document: Document = serde_json::from_slice(text).map_err(Misread::Shape)?;
    let mut table = Table::default();
    let mut places = HashMap::new();
    let mut entries = 0;
    let mut groups = Vec::new();
    for (id, component) in document.components {
        let Component {
            namespace,
            enums,
            event_groups,
            navigation_mode_groups,
        } = component;
        for (name, text) in enums {
            let Some((it, loiter)) = text.good().and_then(enumeration) else {
                continue;
            };
            entries += it.entries.len();
            if table.enums.len() >= ENUMS_AT_MOST || entries > ENTRIES_AT_MOST {
                return Err(Misread::TooMuch);
            }
            if name == "navigation_mode_group_t" {
                table.hold = table.hold.or(loiter);
            }
            places.insert(format!("{namespace}::{name}"), table.enums.len());
            table.enums.push(it);
        }
        let modes = navigation_mode_groups.and_then(Lenient::good);
        table.hold = modes.and_then(|modes| hold(&modes)).or(table.hold);
        if let Ok(id) = id.parse::<u8>() {
            groups.push((u32::from(id) << 24, namespace, event_groups));
        }
    }
    // An argument may be of an enum of another component, so that all enums must be known first.
    for (high, namespace, event_groups) in groups {
        for (group, GroupText { events }) in event_groups {
            for (sub_id, text) in events {
                let Some(sub_id) = sub_id.parse::<u32>().ok().filter(|id| *id < 1 << 24) else {
                    continue;
                };
                let Some(event) = text
                    .good()
                    .and_then(|t| event(t, &group, &namespace, &table.enums, &places))
                else {
                    continue;
                };
                if table.events.len() >= EVENTS_AT_MOST {
                    return Err(Misread::TooMuch);
                }
                table.events.insert(high | sub_id, event);
            }
        }
    }
    if table.is_empty() {
        Err(Misread::Nothing)
    } else {
        Ok(table)
    }
}

fn hold(modes: &ModeGroups) -> Option<u64> {
    let group = modes.groups.iter().find(|(_, modes)| modes.contains(&HOLD));
    let bit = group?.0.parse::<u32>().ok()?;
    1_u64.checked_shl(bit)
}

/// The enum, and the value of its entry "loiter".
fn enumeration(text: EnumText) -> Option<(Enum, Option<u64>)> {
    let base = Base::named(&text.base).filter(|base| *base != Base::Float)?;
    let mut loiter = None;
    let mut entries = BTreeMap::new();
    for (value, entry) in text.entries {
        let signed = || value.parse::<i64>().ok().map(i64::cast_unsigned);
        let Some(value) = value.parse::<u64>().ok().or_else(signed) else {
            continue;
        };
        if entry.name == "loiter" {
            loiter = Some(value);
        }
        let shown = entry.description.filter(|text| !text.is_empty()).unwrap_or(entry.name);
        entries.insert(value & mask(base), cut(&shown, 80));
    }
    let separator = text.separator.map_or_else(|| "|".to_owned(), |text| cut(&text, 4));
    let it = Enum {
        base,
        bitfield: text.is_bitfield,
        separator,
        entries,
    };
    Some((it, loiter))
}

const fn mask(base: Base) -> u64 {
    match base.size() {
        8.. => u64::MAX,
        size => (1 << (8 * size)) - 1,
    }
}

fn event(
    text: EventText,
    group: &str,
    namespace: &str,
    enums: &[Enum],
    places: &HashMap<String, usize>,
) -> Option<Event> {
    let argument = |ArgumentText { of }: &ArgumentText| {
        if let Some(base) = Base::named(of) {
            return Some(Argument { base, of: None });
        }
        let full = if of.contains("::") {
            of.clone()
        } else {
            format!("{namespace}::{of}")
        };
        let place = *places.get(&full)?;
        let base = enums.get(place)?.base;
        Some(Argument { base, of: Some(place) })
    };
    if text.arguments.len() > ARGUMENTS_AT_MOST {
        return None;
    }
    // Behind an argument of unknown size nothing can be read, so that the event is left out.
    let arguments = text.arguments.iter().map(argument).collect::<Option<Vec<_>>>()?;
    let kind = match (group, text.kind.as_str()) {
        ("arming_check", "summary") => Kind::ArmingSummary,
        ("health", "summary") => Kind::HealthSummary,
        // A check has at least the modes that it is about and the part of the vehicle.
        ("arming_check" | "health", "") if arguments.len() >= 2 => Kind::Check,
        _ => Kind::Other,
    };
    Some(Event {
        name: cut(&text.name, 100),
        kind,
        message: cut(&text.message, TEXT_AT_MOST),
        description: cut(&text.description, TEXT_AT_MOST),
        arguments,
    })
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests;
