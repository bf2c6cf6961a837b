//! Names of log files: `skein-NODE-UTC-N.tlog`, such as `skein-pine-20261121T080000Z-17.tlog`.
//!
//! N counts up over all files of a node and gives their order: a companion computer may start with a clock of 1970.

use crate::ids::NodeName;
use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;

/// Longest part of a node in a name, bytes: a name with it has no more than a [`super::LogName`] may have.
const LONGEST_NODE: usize = 150;

/// FNV-1a of 64 bits: its beginning, and its factor.
const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x0100_0000_01b3);

/// The node in the name of a file: its own name, of a long one the beginning and a number that all of it gives.
pub fn node_part(node: &NodeName) -> Cow<'_, str> {
    let whole = node.as_str();
    if whole.len() <= LONGEST_NODE {
        return Cow::Borrowed(whole);
    }
    let number = whole
        .bytes()
        .fold(FNV.0, |number, byte| (number ^ u64::from(byte)).wrapping_mul(FNV.1));
    let number = format!("-{number:016x}");
    let begin = whole.get(..LONGEST_NODE - number.len()).unwrap_or_default();
    Cow::Owned(format!("{}{number}", begin.trim_end_matches(['.', '-'])))
}

pub fn name(node: &NodeName, wall: SystemTime, number: u64) -> String {
    format!("skein-{}-{}-{number}.tlog", node_part(node), utc(wall))
}

pub fn number(node: &NodeName, name: &str) -> Option<u64> {
    let rest = name.strip_prefix("skein-")?;
    // Agents of older versions cut none.
    let rest = rest
        .strip_prefix(&*node_part(node))
        .or_else(|| rest.strip_prefix(node.as_str()))?;
    let rest = rest.strip_prefix('-')?.strip_suffix(".tlog")?;
    let (time, number) = rest.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (day, clock) = time.split_once('T')?;
    let is_time = day.len() >= 8 && digits(day) && clock.len() == 7 && clock.strip_suffix('Z').is_some_and(digits);
    (is_time && digits(number)).then(|| number.parse().ok())?
}

pub fn is_of_some_node(name: &str) -> bool {
    let node = || {
        let stem = name.strip_prefix("skein-")?.strip_suffix(".tlog")?;
        let (rest, _) = stem.rsplit_once('-')?;
        rest.rsplit_once('-').map(|(node, _)| node)
    };
    let node = node().and_then(|node| NodeName::parse(node).ok());
    node.is_some_and(|node| number(&node, name).is_some())
}

/// `20261121T080000Z`.
fn utc(wall: SystemTime) -> String {
    let seconds = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = date(seconds / DAY);
    let of_day = seconds % DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The Gregorian date `days` after 1970-01-01. Years are counted from March, so that the leap day is their last.
const fn date(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097;
    // 1970-01-01 is this many days after 0000-03-01.
    let days = days + 719_468;
    let (era, of_era) = (days / ERA, days % ERA);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn the_node_of_a_name_may_be_a_long_one_with_dots() {
        let long = node(&format!("drone-7.{}.example.com", ["field-station"; 7].join(".")));
        assert!(long.as_str().len() >= 115);
        let file = name(&long, at(0), 12);
        assert!(file.len() <= 255, "as long as a file system takes");
        assert_eq!((number(&long, &file), is_of_some_node(&file)), (Some(12), true));
    }

    #[test]
    fn a_name_tells_the_node_the_time_and_the_number() {
        for (seconds, text) in [
            (0, "skein-pine-19700101T000000Z-1.tlog"),
            (951_782_400, "skein-pine-20000229T000000Z-1.tlog"),
            (951_868_799, "skein-pine-20000229T235959Z-1.tlog"),
            (951_868_800, "skein-pine-20000301T000000Z-1.tlog"),
            (1_795_248_123, "skein-pine-20261121T080203Z-1.tlog"),
            (4_107_542_400, "skein-pine-21000301T000000Z-1.tlog"),
        ] {
            assert_eq!(name(&node("pine"), at(seconds), 1), text);
        }
    }

    #[test]
    fn only_our_own_logs_are_known_by_their_names() {
        for wall in [at(0), at(1_795_248_123)] {
            assert_eq!(number(&node("pine-2"), &name(&node("pine-2"), wall, 17)), Some(17));
            assert_eq!(number(&node("pine"), &name(&node("pine-2"), wall, 17)), None);
            assert_eq!(number(&node("pine-2"), &name(&node("pine"), wall, 17)), None);
            assert!(is_of_some_node(&name(&node("pine-2.field"), wall, 17)));
        }
        for other in [
            "skein-pine-1.tlog",
            "skein-pine-20261121T080203Z-.tlog",
            "skein-pine-20261121T080203Z-1.tlog.gz",
            "skein-pine-20261121T080203Z--1.tlog",
            "skein-pine-2026-11-21-1.tlog",
            "skein-pine-20261121T080203Z-99999999999999999999999.tlog",
            "notes.txt",
            "skein-.tlog",
            "skein--20261121T080203Z-1.tlog",
            "skein-../pine-20261121T080203Z-1.tlog",
        ] {
            assert_eq!(number(&node("pine"), other), None, "{other}");
            assert!(!is_of_some_node(other), "{other}");
        }
    }

    #[test]
    fn a_node_of_any_length_has_logs_that_any_disk_takes_and_that_are_its_own() {
        let node = |length: usize, last: &str| NodeName::parse(&format!("{}{last}", "a".repeat(length - 1))).unwrap();
        for length in [1, 150, 151, 253] {
            let (own, other) = (node(length, "b"), node(length, "c"));
            let name = name(&own, UNIX_EPOCH, u64::MAX);
            assert!(crate::logs::LogName::parse(&name).is_ok(), "{name}");
            assert_eq!(number(&own, &name), Some(u64::MAX));
            assert_eq!(number(&other, &name), None, "{name}");
            assert!(is_of_some_node(&name), "{name}");
        }
        let before = format!("skein-{}-19700101T000000Z-7.tlog", "a".repeat(160));
        assert_eq!(number(&node(160, "a"), &before), Some(7), "of an older version");
        let cut =
            node_part(&NodeName::parse(&format!("{}.{}", "a".repeat(132), "b".repeat(100))).unwrap()).into_owned();
        assert!(NodeName::parse(&cut).is_ok(), "{cut}");
    }
}
