//! The table of a vehicle's logs, and the person's choice.

use crate::failure::Failure;
use crate::vehicle::{age_text, printable};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proto::v1::LogFile;
use std::fmt::Write;

const HEADINGS: [&str; 8] = [
    "LOG", "BEGUN", "LENGTH", "IN AIR", "HIGHEST", "SIZE", "UPLOADED", "NAME",
];
const MAX_NAMED_LOGS: usize = 8;

const UPLOADED_COLUMN: usize = 6;

pub fn table(logs: &[LogFile], zone: &TimeZone) -> String {
    let rows = logs.iter().map(|log| {
        [
            printable(number(log)),
            begun(log, zone),
            span(log.length_ms),
            span(log.in_air_ms),
            if log.in_air_ms == 0 {
                "-".to_owned()
            } else {
                format!("{:.0} m", log.highest_m)
            },
            size(log.bytes) + if log.growing { "+" } else { "" },
            if log.uploaded_as.is_empty() { "-" } else { "yes" }.to_owned(),
            printable(&log.name),
        ]
    });
    let lines: Vec<_> = std::iter::once(HEADINGS.map(str::to_owned)).chain(rows).collect();
    let uploads = logs.iter().any(|log| !log.uploaded_as.is_empty());
    let width = |column: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<_> = (0..HEADINGS.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        let cells = line.iter().zip(&widths).enumerate();
        for (_, (cell, width)) in cells.filter(|(column, _)| uploads || *column != UPLOADED_COLUMN) {
            // Writing to a String cannot fail.
            let _ = write!(row, "{cell:<width$}   ");
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

/// Last part of its name, for the command line.
pub fn number(log: &LogFile) -> &str {
    let stem = log.name.rsplit_once('.').map_or(log.name.as_str(), |(stem, _)| stem);
    let number = stem.rsplit_once('-').map_or(stem, |(_, number)| number);
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        number
    } else {
        stem
    }
}

/// Named logs, or all, else the newest with a flight, else the newest.
pub fn chosen(logs: &[LogFile], named: &[String], all: bool) -> Result<Vec<LogFile>, Failure> {
    if all {
        return Ok(logs.to_vec());
    }
    if named.is_empty() {
        let flight = logs.iter().find(|log| log.in_air_ms > 0);
        return Ok(flight.or(logs.first()).cloned().into_iter().collect());
    }
    let find = |name: &String| {
        let short = |text: &str| text.trim_start_matches('0').to_owned();
        let is_it = |log: &&LogFile| log.name == *name || short(number(log)) == short(name);
        let found = logs.iter().find(is_it);
        found
            .cloned()
            .ok_or_else(|| Failure::Failed(format!("there is no log {}; {}", printable(name), there(logs))))
    };
    named.iter().map(find).collect()
}

fn there(logs: &[LogFile]) -> String {
    let names: Vec<String> = logs
        .iter()
        .take(MAX_NAMED_LOGS)
        .map(|log| printable(number(log)))
        .collect();
    let names = names.join(", ");
    match logs.len().checked_sub(MAX_NAMED_LOGS) {
        _ if logs.is_empty() => "there are no logs yet".to_owned(),
        None | Some(0) => format!("there are: {names}"),
        Some(more) => {
            format!("there are: {names}, and {more} older (the same command without --log and --download lists them)")
        }
    }
}

fn begun(log: &LogFile, zone: &TimeZone) -> String {
    let at = i64::try_from(log.begun_ms).ok().filter(|ms| *ms > 0);
    let at = at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || "-".to_owned(),
        |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

fn span(ms: u64) -> String {
    if ms == 0 { "-".to_owned() } else { age_text(ms) }
}

pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str, in_air_ms: u64) -> LogFile {
        LogFile {
            name: name.to_owned(),
            bytes: 1_572_864,
            begun_ms: 1_795_248_123_000,
            length_ms: 95_000,
            in_air_ms,
            highest_m: 12.4,
            ..LogFile::default()
        }
    }

    #[test]
    fn a_log_is_a_line_with_what_the_vehicle_did_in_it() {
        let mut logs = [
            log("skein-pine-20261121T080203Z-17.tlog", 61_000),
            log("00000003.BIN", 0),
        ];
        logs[1].growing = true;
        assert_eq!(
            table(&logs, &TimeZone::UTC),
            "\
LOG        BEGUN                 LENGTH   IN AIR   HIGHEST   SIZE       NAME
17         2026-11-21 08:02:03   95s      61s      12 m      1.5 MiB    skein-pine-20261121T080203Z-17.tlog
00000003   2026-11-21 08:02:03   95s      -        -         1.5 MiB+   00000003.BIN
"
        );
        logs[0].uploaded_as = "pine/skein-pine-20261121T080203Z-17-0123456789ab.tlog".to_owned();
        assert_eq!(
            table(&logs, &TimeZone::UTC).lines().nth(1),
            Some(
                "17         2026-11-21 08:02:03   95s      61s      12 m      1.5 MiB    yes        skein-pine-20261121T080203Z-17.tlog"
            )
        );
        let bad = LogFile {
            name: "a\u{1b}[2J".to_owned(),
            begun_ms: u64::MAX,
            ..LogFile::default()
        };
        assert!(!table(&[bad], &TimeZone::UTC).contains('\u{1b}'));
    }

    #[test]
    fn the_last_flight_is_meant_where_nothing_is_named() {
        let logs = [
            log("skein-pine-1-3.tlog", 0),
            log("skein-pine-1-2.tlog", 5),
            log("skein-pine-1-1.tlog", 5),
        ];
        let names = |named: &[&str], all| {
            let named: Vec<_> = named.iter().map(|name| (*name).to_owned()).collect();
            let chosen = chosen(&logs, &named, all).map_err(|why| why.to_string())?;
            Ok::<_, String>(chosen.iter().map(|log| number(log).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(names(&[], false).unwrap(), ["2"]);
        assert_eq!(names(&["3", "skein-pine-1-1.tlog"], false).unwrap(), ["3", "1"]);
        assert_eq!(names(&[], true).unwrap().len(), 3);
        assert_eq!(
            names(&["4"], false).unwrap_err(),
            "there is no log 4; there are: 3, 2, 1"
        );
        let many: Vec<_> = (0..20)
            .map(|number| log(&format!("skein-pine-1-{number}.tlog"), 0))
            .collect();
        let why = chosen(&many, &["99".to_owned()], false).unwrap_err().to_string();
        assert!(why.contains("6, 7, and 12 older"), "{why}");
        let why = chosen(&[], &["99".to_owned()], false).unwrap_err().to_string();
        assert_eq!(why, "there is no log 99; there are no logs yet");
        assert_eq!(
            chosen(&logs[..1], &[], false).unwrap().len(),
            1,
            "no flight: the newest"
        );
        assert!(chosen(&[], &[], false).unwrap().is_empty());
    }
}
