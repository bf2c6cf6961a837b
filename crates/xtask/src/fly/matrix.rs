//! The table of docs/compatibility.md: which versions were flown, how much of it passed, and what fell short.

use std::fmt::Write;

use serde::Deserialize;
use testkit::autopilots::Stack;

const BEGIN: &str = "<!-- The rows of `cargo xtask fly --matrix` begin. -->";
const END: &str = "<!-- They end. -->";

const HEADER: &str =
    "| autopilot | version | commit | set | passed | flown | what fell short |\n|---|---|---|---|---|---|---|\n";

/// Page of known faults, from the folder of the table's page.
pub const FAULTS: &str = "design/autopilot-faults.md";

/// Cell of a program that flew nothing.
const UNFLOWN: &str = "not flown";

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

fn label(stack: Stack) -> &'static str {
    match stack {
        Stack::ArduPilot => "ArduCopter",
        Stack::Px4 => "PX4",
    }
}

impl Set {
    fn label(self) -> &'static str {
        match self {
            Self::Long => "long",
            Self::Short => "short",
        }
    }
}

/// A row of a program of which nothing was flown.
pub fn row_of_unflown(stack: Stack, folder: &str, set: Set, date: &str, why: &str) -> String {
    format!(
        "| {} | {} | not reported | {} | {UNFLOWN} | {date} | {} |",
        label(stack),
        cell(folder),
        set.label(),
        cell(why)
    )
}

/// Whether a row of the page of faults is about this version of the autopilot and names the scenario.
fn is_known(faults: &str, autopilot: &str, version: &str, scenario: &str) -> bool {
    let mut numbers = version.split('.');
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        return false;
    };
    let (about, named) = (format!("{autopilot} {major}.{minor}"), format!("`{scenario}`"));
    let mut rows = faults.lines().filter(|line| line.starts_with('|'));
    rows.any(|row| row.split('|').nth(1).is_some_and(|cell| cell.contains(&about)) && row.contains(&named))
}

/// A row of the table, with a link where the page of `faults` has the reason; `folder` names a program that was not heard. `None`: it flew
/// nothing.
pub fn row(stack: Stack, folder: &str, set: Set, date: &str, flown: &[Flown], faults: &str) -> Option<String> {
    let own: Vec<&Flown> = flown.iter().filter(|one| one.stack == stack.name()).collect();
    if own.is_empty() {
        return None;
    }
    let autopilot = label(stack);
    let version = own.iter().find_map(|one| one.version.as_deref()).unwrap_or(folder);
    let commit = own
        .iter()
        .find_map(|one| one.commit.as_deref())
        .unwrap_or("not reported");
    let set = set.label();
    let passed = own.iter().filter(|one| one.ok).count();
    let mut short = String::new();
    for one in own.iter().filter(|one| !one.ok) {
        let gap = if short.is_empty() { "" } else { "<br>" };
        let _ = write!(short, "{gap}`{}`: {}", one.scenario, cell(&one.verdict));
        if is_known(faults, autopilot, version, &one.scenario) {
            let _ = write!(short, " ([why]({FAULTS}))");
        }
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

/// `page` with these rows, each in place of that with its `key`. A row of a program that was not flown stays until programs of its stack are
/// `searched` again.
pub fn placed(page: &str, rows: &[String], searched: &[Stack]) -> anyhow::Result<String> {
    let parts = page
        .split_once(BEGIN)
        .and_then(|(before, rest)| rest.split_once(END).map(|(old, after)| (before, old, after)));
    let Some((before, old, after)) = parts else {
        anyhow::bail!("docs/compatibility.md has no place for the table; put the lines {BEGIN} and {END} into it");
    };
    let head = HEADER.lines().collect::<Vec<_>>();
    let old = old.lines().filter(|line| line.starts_with('|') && !head.contains(line));
    let mut all: Vec<&str> = rows.iter().map(String::as_str).collect();
    let was_searched = |line: &str| {
        let autopilot = key(line).first().copied().unwrap_or_default();
        searched.iter().any(|stack| label(*stack) == autopilot)
    };
    for line in old {
        let is_unflown = line.split('|').nth(5).is_some_and(|cell| cell.trim() == UNFLOWN);
        if !(all.iter().any(|new| key(new) == key(line)) || is_unflown && was_searched(line)) {
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
        let row = row(Stack::ArduPilot, "copter-4.6", Set::Short, "2026-11-28", &flown, "").unwrap();
        assert_eq!(
            row,
            "| ArduCopter | 4.6.2 | c02b7ff9 | short | 1 of 2 | 2026-11-28 | `fence`: a \\| b was 3 m off |"
        );
        assert_eq!(super::row(Stack::Px4, "px4", Set::Long, "", &flown[..2], ""), None);
    }

    #[test]
    fn a_scenario_that_fell_short_has_a_link_where_the_page_of_faults_has_its_version() {
        let why = |faults: &str| {
            let row = row(Stack::ArduPilot, "", Set::Long, "d", &read(LINES), faults).unwrap();
            row.contains("was 3 m off ([why](design/autopilot-faults.md))")
        };
        assert!(why("| ArduCopter 4.6 | does | `fence` |\n"));
        assert!(!why("| ArduCopter 4.8 | does | `fence` |\n"), "another version");
        assert!(
            !why("| ArduCopter 4.6 | does | `fence-mission` |\n"),
            "another scenario"
        );
    }

    #[test]
    fn a_program_that_was_not_flown_has_a_row_until_its_stack_is_searched_again() {
        let row = row_of_unflown(Stack::Px4, "px4-1.16", Set::Long, "d", "PX4 is missing: etc | bin");
        assert_eq!(
            row,
            "| PX4 | px4-1.16 | not reported | long | not flown | d | PX4 is missing: etc \\| bin |"
        );
        let page = placed(PAGE, std::slice::from_ref(&row), &Stack::ALL).unwrap();
        assert!(page.contains(&row));
        assert!(placed(&page, &[], &[Stack::ArduPilot]).unwrap().contains(&row));
        assert!(!placed(&page, &[], &Stack::ALL).unwrap().contains(&row));
    }

    #[test]
    fn rows_take_the_place_of_those_of_the_same_version_and_others_stay() {
        let row = |version: &str, passed: &str| format!("| PX4 | {version} | c | short | {passed} | d |  |");
        let first = placed(PAGE, &[row("1.18.0", "3 of 4"), row("1.9.0", "4 of 4")], &Stack::ALL).unwrap();
        assert!(
            !first.contains("No run yet") && first.ends_with("-->\n\nmore\n"),
            "{first}"
        );
        let second = placed(&first, &[row("1.18.0", "4 of 4")], &Stack::ALL).unwrap();
        let rows: Vec<&str> = second.lines().filter(|line| line.starts_with("| PX4")).collect();
        assert_eq!(rows, [row("1.9.0", "4 of 4"), row("1.18.0", "4 of 4")]);
        assert_eq!(second.matches("| autopilot |").count(), 1);
        assert_eq!(placed(&second, &[], &Stack::ALL).unwrap(), second, "nothing new");
        assert!(placed("# Compatibility\n", &[], &[]).is_err());
    }

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let page = testkit::control_plane::workspace_root().join("docs/compatibility.md");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(placed(&page, &[], &[]).is_ok());
    }
}
