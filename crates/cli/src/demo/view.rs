//! The demo's picture: redrawn in place on a terminal, lines of changes elsewhere.

use super::flights::{Flight, Flights};
use crate::output::Output;
use crate::terminal;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

/// The changes of a larger fleet share a line.
const SMALL_FLEET_VEHICLES: usize = 10;

const MAX_NAMED_CHANGES: usize = 6;

const MAX_LINES: usize = 8;

/// Free rows below the picture.
const FREE_ROWS_BELOW: usize = 2;

const MAX_MESSAGE_CHARS: usize = 80;

#[derive(Debug)]
pub struct View {
    out: Output,
    drawn: Option<usize>,
    last: VecDeque<String>,
}

impl View {
    pub fn new(out: Output) -> Self {
        Self {
            out,
            drawn: None,
            last: VecDeque::new(),
        }
    }

    /// `changed`: nodes whose vehicles reached another stage.
    pub fn show(&mut self, elapsed: Duration, flights: &Flights, changed: &[String]) {
        let small = flights.iter().count() <= SMALL_FLEET_VEHICLES;
        let news = if small {
            singly(elapsed, flights, changed)
        } else {
            together(elapsed, flights, changed)
        };
        let Some((_, rows)) = self.out.size() else {
            news.iter().for_each(|line| terminal::line(line));
            return;
        };
        self.last.extend(news);
        while self.last.len() > MAX_LINES {
            self.last.pop_front();
        }
        let picture = picture(table(flights), &self.last, rows);
        self.draw(elapsed, flights, &picture);
    }

    pub fn keep_shown(&mut self) {
        self.drawn = None;
    }

    fn draw(&mut self, elapsed: Duration, flights: &Flights, picture: &[String]) {
        let mut text = String::new();
        if let Some(lines) = self.drawn {
            let _ = write!(text, "\x1b[{lines}A\x1b[J");
        }
        // No wrapping: a long line would break the count of lines.
        text.push_str("\x1b[?7l");
        for line in picture {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, "{:>6.0} s  {}\x1b[?7h", elapsed.as_secs_f32(), counted(flights));
        self.drawn = Some(picture.len() + 1);
        let mut out = std::io::stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// The whole table where it fits, else the last changes: rows that left the top of the screen cannot be redrawn.
fn picture(whole: Vec<String>, last: &VecDeque<String>, rows: usize) -> Vec<String> {
    if whole.len() + FREE_ROWS_BELOW < rows {
        return whole;
    }
    let room = rows.saturating_sub(FREE_ROWS_BELOW + 1);
    last.iter().skip(last.len().saturating_sub(room)).cloned().collect()
}

/// `3 booting, 2 flying`.
fn counted(flights: &Flights) -> String {
    let counts = flights.counts();
    let texts = counts.iter().map(|(stage, count)| format!("{count} {}", stage.label()));
    texts.collect::<Vec<_>>().join(", ")
}

fn clock(elapsed: Duration) -> String {
    format!("{:>6.1} s", elapsed.as_secs_f32())
}

fn singly(elapsed: Duration, flights: &Flights, changed: &[String]) -> Vec<String> {
    let text = |node: &String| flights.get(node).map(|flight| row(node, flight));
    let rows = changed.iter().filter_map(text);
    rows.map(|row| format!("{}  {row}", clock(elapsed))).collect()
}

fn together(elapsed: Duration, flights: &Flights, changed: &[String]) -> Vec<String> {
    if changed.is_empty() {
        return Vec::new();
    }
    let text = |node: &String| {
        flights
            .get(node)
            .map(|flight| format!("{node} {}", flight.stage.label()))
    };
    let mut named: Vec<String> = changed.iter().filter_map(text).take(MAX_NAMED_CHANGES).collect();
    if changed.len() > MAX_NAMED_CHANGES {
        named.push(format!("and {} more", changed.len() - MAX_NAMED_CHANGES));
    }
    vec![format!(
        "{}  {}  ({})",
        clock(elapsed),
        counted(flights),
        named.join(", ")
    )]
}

fn table(flights: &Flights) -> Vec<String> {
    let rows = flights.iter().map(|(node, flight)| row(node, flight));
    let head = format!(
        "{:<12} {:<10} {:<9} {:<12} {:>8}  {}",
        "NODE", "STAGE", "AUTOPILOT", "MODE", "ALTITUDE", "WHY"
    );
    std::iter::once(head).chain(rows).collect()
}

fn row(node: &str, flight: &Flight) -> String {
    let vehicle = &flight.vehicle;
    let height = vehicle.position.as_ref().map_or("-".to_owned(), |p| {
        // `+ 0.0` removes the minus sign of a rounded zero.
        format!("{:.1} m", (p.altitude_above_home_meters * 10.0).round() / 10.0 + 0.0)
    });
    let line = format!(
        "{node:<12} {:<10} {:<9} {:<12} {height:>8}  {}",
        flight.stage.label(),
        vehicle.autopilot.as_deref().unwrap_or("-"),
        vehicle.mode.as_deref().unwrap_or("-"),
        first_sentence(&vehicle.message),
    );
    line.trim_end().to_owned()
}

/// For a row of the picture; `kubectl describe` shows all.
fn first_sentence(message: &str) -> String {
    let sentence = message.split(". ").next().unwrap_or_default();
    match sentence.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::stage::Stage;
    use crate::demo::{keys, messages};
    use crate::vehicle::Vehicle;

    fn fleet(size: usize) -> Flights {
        let mut flights = Flights::default();
        let vehicle = |n: usize| Vehicle {
            node: format!("v-{n:03}"),
            truth: if n.is_multiple_of(2) { "InAir" } else { "TakingOff" }.into(),
            activity: Some("Holding".into()),
            autopilot: Some("PX4".into()),
            message: "flies as asked. More of it".into(),
            ..Vehicle::default()
        };
        let fleet: Vec<Vehicle> = (0..size).map(vehicle).collect();
        flights.note(Duration::ZERO, &fleet);
        flights
    }

    fn all(flights: &Flights) -> Vec<String> {
        flights.iter().map(|(node, _)| node.to_owned()).collect()
    }

    #[test]
    fn of_a_small_fleet_each_change_is_a_line_with_its_reason() {
        let flights = fleet(2);
        let lines = singly(Duration::from_millis(12_340), &flights, &all(&flights));
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("  12.3 s  v-000        flying     PX4"),
            "{lines:?}"
        );
        assert!(lines[0].ends_with("flies as asked"), "{lines:?}");
    }

    #[test]
    fn of_a_large_fleet_many_changes_at_once_are_one_line() {
        let flights = fleet(50);
        let lines = together(Duration::ZERO, &flights, &all(&flights));
        assert_eq!(lines.len(), 1);
        assert!(
            lines[0].contains("25 climbing, 25 flying  (v-000 flying, v-001 climbing,"),
            "{lines:?}"
        );
        assert!(lines[0].ends_with("and 44 more)"), "{lines:?}");
        assert_eq!(together(Duration::ZERO, &flights, &[]), [""; 0]);
    }

    #[test]
    fn a_picture_is_never_taller_than_the_terminal() {
        let last: VecDeque<String> = (0..MAX_LINES).map(|n| n.to_string()).collect();
        for size in [1, 2, 5, 50] {
            for rows in 1..60 {
                let drawn = picture(table(&fleet(size)), &last, rows);
                assert!(
                    drawn.is_empty() || drawn.len() + FREE_ROWS_BELOW < rows,
                    "{size} on {rows}: {drawn:?}"
                );
            }
        }
        assert_eq!(picture(table(&fleet(50)), &last, 5), ["6", "7"]);
    }

    #[test]
    fn the_picture_of_the_readme_says_what_the_demo_says_now() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images/demo.svg");
        let picture = std::fs::read_to_string(file).unwrap().replace("&gt;", ">");
        let head = table(&fleet(1)).swap_remove(0);
        let (boarding, landing) = (messages::boarding(5, 10.0), messages::LANDING);
        let keys = keys::HELP.split(';').next().unwrap();
        for text in [&head, &boarding, landing, keys] {
            assert!(picture.contains(text), "it lacks `{text}`; run `cargo xtask picture`");
        }
        for stage in [
            Stage::Booting,
            Stage::Climbing,
            Stage::Flying,
            Stage::Landing,
            Stage::Landed,
        ] {
            let label = format!(" {:<10} ", stage.label());
            assert!(
                picture.contains(&label),
                "it lacks `{label}`; run `cargo xtask picture`"
            );
        }
    }

    #[test]
    fn the_columns_of_the_table_line_up() {
        let table = table(&fleet(2));
        let column = table[0].find("STAGE").unwrap();
        assert!(table[1][column..].starts_with("flying"), "{table:#?}");
        let why = table[0].find("WHY").unwrap();
        assert!(table[1][why..].starts_with("flies as asked"), "{table:#?}");
    }
}
