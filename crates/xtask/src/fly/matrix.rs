//! The table of docs/compatibility.md: which versions were flown, how much of it passed, and what fell short.

use std::fmt::Write;

use serde::Deserialize;
use testkit::autopilots::Stack;

const BEGIN: &str = "<!-- The rows of `cargo xtask fly --matrix` begin. -->";
const END: &str = "<!-- They end. -->";

const HEADER: &str =
    "| autopilot | version | commit | set | passed | flown | what fell short |\n|---|---|---|---|---|---|---|\n";

const LONGEST_REASON: usize = 240;

#[derive(Clone, Debug, Deserialize)]
pub struct Flown {
    stack: String,
    scenario: String,
    ok: bool,
    verdict: String,
    /// As the autopilot reported it; `None`: it was not heard.
    version: Option<String>,
    commit: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    Long,
    /// The set of an ordinary test run.
    Short,
}

/// Results, one a line; a line that a run was ended in the middle of is skipped.
pub fn read(lines: &str) -> Vec<Flown> {
    let flown = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
    flown.collect()
}

/// A row of the table; `folder` names a program that was not heard. `None`: it flew nothing.
pub fn row(stack: Stack, folder: &str, set: Set, date: &str, flown: &[Flown]) -> Option<String> {
    let own: Vec<&Flown> = flown.iter().filter(|one| one.stack == stack.name()).collect();
    if own.is_empty() {
        return None;
    }
    let autopilot = match stack {
        Stack::ArduPilot => "ArduCopter",
        Stack::Px4 => "PX4",
    };
    let version = own.iter().find_map(|one| one.version.as_deref()).unwrap_or(folder);
    let commit = own
        .iter()
        .find_map(|one| one.commit.as_deref())
        .unwrap_or("not reported");
    let set = match set {
        Set::Long => "long",
        Set::Short => "short",
    };
    let passed = own.iter().filter(|one| one.ok).count();
    let mut short = String::new();
    for one in own.iter().filter(|one| !one.ok) {
        let gap = if short.is_empty() { "" } else { "<br>" };
        let _ = write!(short, "{gap}`{}`: {}", one.scenario, cell(&one.verdict));
    }
    Some(format!(
        "| {autopilot} | {} | {} | {set} | {passed} of {} | {date} | {short} |",
        cell(version),
        cell(commit),
        own.len()
    ))
}

fn cell(text: &str) -> String {
    let one_line = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|");
    let mut clipped: String = one_line.chars().take(LONGEST_REASON).collect();
    if clipped.len() < one_line.len() {
        clipped.push('…');
    }
    clipped
}

/// `page` with these rows, each in place of that with its `key`.
pub fn placed(page: &str, rows: &[String]) -> anyhow::Result<String> {
    let parts = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| rest.split_once(END).map(|(old, after)| (before, old, after)));
    let Some((before, old, after)) = parts else {
        anyhow::bail!("docs/compatibility.md has no place for the table; put the lines {BEGIN} and {END} into it");
    };
    let head = HEADER.lines().collect::<Vec<_>>();
    let old = old.lines().filter(|line| line.starts_with('|') && !head.contains(line));
    let mut all: Vec<&str> = rows.iter().map(String::as_str).collect();
    for line in old {
        if !all.iter().any(|new| key(new) == key(line)) {
            all.push(line);
        }
    }
    all.sort_by_key(|line| order(line));
    let mut text = format!("{before}{BEGIN}\n\n{HEADER}");
    for line in all {
        let _ = writeln!(text, "{line}");
    }
    let _ = write!(text, "\n{END}{after}");
    Ok(text)
}

/// Autopilot, version, commit and set.
fn key(row: &str) -> Vec<&str> {
    row.split('|').skip(1).take(4).map(str::trim).collect()
}

fn order(row: &str) -> (String, Vec<u32>, Vec<String>) {
    let key = key(row);
    let part = |at: usize| key.get(at).copied().unwrap_or_default().to_owned();
    let numbers = testkit::prerequisites::version_numbers(&part(1));
    (part(0), numbers, (1..4).map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"
{"stack":"ardupilot","scenario":"boot","ok":true,"verdict":"","version":null,"commit":null}
{"stack":"ardupilot","scenario":"fence","ok":false,"verdict":"a | b\nwas 3 m off","version":"4.6.2","commit":"c02b7ff9"}
{"stack":"px4","scenario":"boot","ok":true,"verdict":"","version":"1.18.0","commit":"a70a5583"}
{"stack":"ardupilot","scen"#;

    const PAGE: &str = "# Compatibility\n\n<!-- The rows of `cargo xtask fly --matrix` begin. -->\nNo run yet.\n<!-- They end. -->\n\nmore\n";

    #[test]
    fn a_row_has_what_the_autopilot_reported_and_each_that_fell_short_with_its_reason() {
        let flown = read(LINES);
        assert_eq!(flown.len(), 3);
        let row = row(Stack::ArduPilot, "copter-4.6", Set::Short, "2026-11-28", &flown).unwrap();
        assert_eq!(
            row,
            "| ArduCopter | 4.6.2 | c02b7ff9 | short | 1 of 2 | 2026-11-28 | `fence`: a \\| b was 3 m off |"
        );
        assert_eq!(super::row(Stack::Px4, "px4", Set::Long, "", &flown[..2]), None);
    }

    #[test]
    fn rows_take_the_place_of_those_of_the_same_version_and_others_stay() {
        let row = |version: &str, passed: &str| format!("| PX4 | {version} | c | short | {passed} | d |  |");
        let first = placed(PAGE, &[row("1.18.0", "3 of 4"), row("1.9.0", "4 of 4")]).unwrap();
        assert!(
            !first.contains("No run yet") && first.ends_with("-->\n\nmore\n"),
            "{first}"
        );
        let second = placed(&first, &[row("1.18.0", "4 of 4")]).unwrap();
        let rows: Vec<&str> = second.lines().filter(|line| line.starts_with("| PX4")).collect();
        assert_eq!(rows, [row("1.9.0", "4 of 4"), row("1.18.0", "4 of 4")]);
        assert_eq!(second.matches("| autopilot |").count(), 1);
        assert_eq!(placed(&second, &[]).unwrap(), second, "nothing new");
        assert!(placed("# Compatibility\n", &[]).is_err());
    }

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let page = testkit::control_plane::workspace_root().join("docs/compatibility.md");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(placed(&page, &[]).is_ok());
    }
}
