//! How the vehicles are shown: a table that is drawn anew on a terminal, a line per change elsewhere.
//!
//! Owns: the drawing. Must not: know where the rows come from.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::picture::Row;
use crate::say;

const HEAD: [&str; 8] = [
    "NODE",
    "DRONE",
    "PHASE",
    "FLYING",
    "AUTOPILOT",
    "MODE",
    "HEIGHT",
    "BATTERY",
];

/// How much of a message is shown, in characters.
const LONGEST_MESSAGE: usize = 120;

/// The view of one demo.
pub struct View {
    redraw: bool,
    drawn: Option<usize>,
    last: Vec<Row>,
}

impl View {
    /// One that suits standard output.
    pub fn new() -> Self {
        Self {
            redraw: std::io::stdout().is_terminal(),
            drawn: None,
            last: Vec::new(),
        }
    }

    /// Shows the rows as they are `elapsed` after the start.
    pub fn show(&mut self, elapsed: Duration, rows: &[Row]) {
        if self.redraw {
            self.draw(elapsed, rows);
        } else {
            for row in rows.iter().filter(|row| !self.last.iter().any(|last| same(last, row))) {
                say::line(&format!(
                    "{:>7}  {}",
                    format!("{:.1} s", elapsed.as_secs_f32()),
                    told(row)
                ));
            }
        }
        self.last = rows.to_vec();
    }

    /// From here on other lines follow; the table stays where it is.
    pub fn settle(&mut self) {
        self.drawn = None;
    }

    fn draw(&mut self, elapsed: Duration, rows: &[Row]) {
        let mut text = String::new();
        if let Some(lines) = self.drawn {
            // Up to the table's first line, and clear from there.
            let _ = write!(text, "\x1b[{lines}A\x1b[J");
        }
        // Without wrapping, so that a long message does not break the count of lines.
        text.push_str("\x1b[?7l");
        let table = table(rows);
        for line in &table {
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(text, "{:.0} s\x1b[?7h", elapsed.as_secs_f32());
        self.drawn = Some(table.len() + 1);
        let mut out = std::io::stdout();
        // If standard output is closed, nobody watches.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// Whether a person would call it no change: height and battery move all the time.
fn same(a: &Row, b: &Row) -> bool {
    let quiet = |row: &Row| Row {
        height: String::new(),
        battery: String::new(),
        ..row.clone()
    };
    quiet(a) == quiet(b)
}

fn cells(row: &Row) -> [String; 8] {
    let flying = row.flying.map_or("-", |flying| if flying { "yes" } else { "no" });
    let drone = row.drone.as_deref().unwrap_or("-");
    let node = if row.node.is_empty() { "-" } else { &row.node };
    [
        node,
        drone,
        &row.phase,
        flying,
        &row.autopilot,
        &row.mode,
        &row.height,
        &row.battery,
    ]
    .map(str::to_owned)
}

fn told(row: &Row) -> String {
    let [node, drone, phase, flying, autopilot, mode, height, _] = cells(row);
    let flying = if flying == "yes" {
        format!("flying at {height}")
    } else {
        String::new()
    };
    format!(
        "{node:<8} {drone:<28} {phase:<11} {autopilot:<9} {mode:<12} {flying:<16} {}",
        first_sentence(&row.message)
    )
    .trim_end()
    .into()
}

/// What fits beside the rest of a row; `kubectl describe` has all of it.
fn first_sentence(message: &str) -> String {
    let sentence = message.split(". ").next().unwrap_or_default();
    match sentence.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

fn table(rows: &[Row]) -> Vec<String> {
    let body: Vec<([String; 8], String)> = rows
        .iter()
        .map(|row| (cells(row), first_sentence(&row.message)))
        .collect();
    let width = |i: usize| {
        body.iter()
            .map(|(cells, _)| cells[i].chars().count())
            .chain([HEAD[i].len()])
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 8] = std::array::from_fn(width);
    let line = |cells: &[String; 8], rest: &str| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded
            .chain([rest.to_owned()])
            .collect::<Vec<_>>()
            .join("  ")
            .trim_end()
            .to_owned()
    };
    let head = line(&HEAD.map(str::to_owned), "MESSAGE");
    std::iter::once(head)
        .chain(body.iter().map(|(cells, message)| line(cells, message)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::picture::rows;
    use serde_json::{Value, json};

    fn one(phase: &str, height: f64) -> Vec<Row> {
        let status = json!({"phase": phase, "flying": true, "position": {"altitudeAboveHomeMeters": height}});
        let drones = json!({"items": [{"metadata": {"name": "x"}, "spec": {"nodeName": "a"}, "status": status}]});
        rows(&["a".to_owned(), "a-longer-name".to_owned()], &drones, &Value::Null)
    }

    #[test]
    fn columns_line_up_whatever_is_in_them() {
        let table = table(&one("Flying", 10.0));
        let phase = table[0].find("PHASE").unwrap();
        assert!(table[1][phase..].starts_with("Flying"), "{table:#?}");
        assert!(table[2][phase..].starts_with("free"), "{table:#?}");
    }

    #[test]
    fn a_new_phase_is_a_change_and_a_new_height_is_not() {
        let row = |phase, height| one(phase, height).remove(0);
        assert!(same(&row("TakingOff", 1.0), &row("TakingOff", 5.0)));
        assert!(!same(&row("TakingOff", 5.0), &row("Flying", 5.0)));
    }

    #[test]
    fn an_empty_list_is_all_idle() {
        let idle = rows(&["a".to_owned()], &Value::Null, &Value::Null);
        assert_eq!(
            table(&idle)[1].split_whitespace().collect::<Vec<_>>(),
            ["a", "-", "free", "-", "-", "-", "-", "-"]
        );
    }
}
