//! Draws the state.
//!
//! Owns: places and looks: no meaning has only a color. Must not: change the state, or show old values as fresh.

mod details;
mod lists;
mod map_view;
mod pages;
mod words;

use super::model::{Model, Over, Prompt, View};
use super::rows::{List, Row};
use crate::live::clock::Now;
use crate::table::{Tone, clip};
use crate::vehicle::{Vehicle, age_text};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::time::Duration;

/// Columns and rows of the smallest useful screen.
const MIN_SCREEN: (u16, u16) = (30, 8);

#[derive(Debug, Clone, Copy)]
pub struct Paint {
    pub color: bool,
}

impl Paint {
    fn tone(self, tone: Tone) -> Style {
        let colored = |color| {
            if self.color {
                Style::new().fg(color)
            } else {
                Style::new()
            }
        };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Good => colored(Color::Green),
            Tone::Moving => colored(Color::Cyan),
            Tone::Waiting => colored(Color::Yellow),
            Tone::Bad => colored(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    fn alarm(self) -> Style {
        let style = Style::new()
            .add_modifier(Modifier::BOLD)
            .add_modifier(Modifier::REVERSED);
        if self.color { style.fg(Color::Red) } else { style }
    }

    const fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    text: String,
    style: Style,
    indent: usize,
}

impl Line {
    fn new(text: impl Into<String>) -> Self {
        Self::styled(text, Style::new())
    }

    fn styled(text: impl Into<String>, style: Style) -> Self {
        let (text, indent) = (text.into(), 0);
        Self { text, style, indent }
    }

    fn indented(self, indent: usize) -> Self {
        Self { indent, ..self }
    }
}

pub fn draw(frame: &mut Frame<'_>, model: &mut Model, now: Now, paint: Paint) {
    let area = frame.area();
    if area.is_empty() {
        return;
    }
    let buffer = frame.buffer_mut();
    if area.width < MIN_SCREEN.0 || area.height < MIN_SCREEN.1 {
        let text = format!(
            "skein top needs {} × {} characters at least",
            MIN_SCREEN.0, MIN_SCREEN.1
        );
        put(buffer, area, 0, &text, Style::new());
        return;
    }
    let rows = model.rows(now);
    put(buffer, area, 0, &format!("skein top  {}", model.route), paint.strong());
    let (text, style) = state_line(model, now, paint);
    put(buffer, area, 1, &text, style);
    put(buffer, area, 2, &tabs(model, area.width.into()), Style::new());
    let body = Rect {
        y: area.y + 3,
        height: area.height - 5,
        ..area
    };
    model.page = usize::from(body.height.saturating_sub(1)).max(1);
    match &model.over {
        Some(Over::Help) => pages::page(buffer, body, &pages::help(model, paint), &mut model.scroll),
        Some(Over::Details(key)) => {
            let lines = details::lines(model, key, now, paint);
            pages::page(buffer, body, &lines, &mut model.scroll);
        }
        _ => match model.view {
            View::List(_) => lists::draw(buffer, body, model, &rows, now, paint),
            View::Map => map_view::draw(frame, body, model, &rows, now, paint),
        },
    }
    let buffer = frame.buffer_mut();
    match &model.over {
        Some(Over::Confirm(order)) => {
            let lines = pages::confirm(model, order, now, paint);
            let last = "y: give the order    n or Esc: do nothing";
            pages::boxed(
                buffer,
                area,
                order.verb.word(),
                (&lines, last),
                &mut model.scroll,
                paint,
            );
        }
        Some(Over::Outcome(outcome)) => {
            let lines = pages::outcome(outcome, paint);
            pages::boxed(
                buffer,
                area,
                outcome.verb.word(),
                (&lines, "Enter or Esc: close"),
                &mut model.scroll,
                paint,
            );
        }
        _ => {}
    }
    let (text, style) = word_line(model, &rows, now, paint);
    put(buffer, area, area.height - 2, &text, style);
    put(buffer, area, area.height - 1, hints(model), Style::new());
}

fn put(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    let width = usize::from(area.width);
    let text = clip(text, width);
    buffer.set_stringn(area.x, area.y + row, text, width, style);
}

fn state_line(model: &Model, now: Now, paint: Paint) -> (String, Style) {
    let source = model.source(now);
    let Some(received) = model.fleet.received else {
        return match &model.fleet.lost {
            Some(lost) => (
                format!("NOT CONNECTED, nothing is known yet: {}", lost.why),
                paint.alarm(),
            ),
            None => (
                "waiting for the coordinator to report the fleet".to_owned(),
                Style::new(),
            ),
        };
    };
    let age = span(now.since(received));
    if let Some(lost) = &model.fleet.lost {
        let why = format!("NOT CONNECTED, all below is from {age} ago: {}", lost.why);
        return (why, paint.alarm());
    }
    if source.stale().is_some() {
        return (
            format!("NOTHING RECEIVED for {age}: all below is as old"),
            paint.alarm(),
        );
    }
    (counts(&source.vehicles()), Style::new())
}

fn counts(vehicles: &[Vehicle]) -> String {
    let drones: Vec<&Vehicle> = vehicles.iter().filter(|vehicle| !vehicle.drone.is_empty()).collect();
    let of = |flying| drones.iter().filter(|vehicle| vehicle.flying == flying).count();
    format!(
        "live  {}: {} flying, {} not flying, {} unknown; {}",
        counted(drones.len(), "Drone"),
        of(Some(true)),
        of(Some(false)),
        of(None),
        counted(vehicles.len() - drones.len(), "idle vehicle"),
    )
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn span(span: Duration) -> String {
    age_text(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

fn tabs(model: &Model, width: usize) -> String {
    let tabs = [
        ("1", "Drones", View::List(List::Drones)),
        ("2", "Swarms", View::List(List::Swarms)),
        ("3", "Vehicles", View::List(List::Vehicles)),
        ("4", "Missions", View::List(List::Missions)),
        ("5", "Map", View::Map),
    ];
    let mut rest = String::new();
    if !model.find.is_empty() {
        rest += &format!("  /{}", model.find);
    }
    if !model.marked.is_empty() {
        rest += &format!("  {} marked", model.marked.len());
    }
    let tab = |(key, name, view): &(&str, &str, View), short: bool| match (model.view == *view, short) {
        (true, _) => format!("[{key} {name}]"),
        (false, false) => format!(" {key} {name} "),
        (false, true) => format!(" {key} "),
    };
    let line = |short: bool| tabs.iter().map(|one| tab(one, short)).collect::<Vec<_>>().join(" ") + &rest;
    // The note on a filter is worth more than the names of the other lists.
    Some(line(false))
        .filter(|line| line.chars().count() <= width)
        .unwrap_or_else(|| line(true))
}

fn word_line(model: &Model, rows: &[Row], now: Now, paint: Paint) -> (String, Style) {
    match &model.prompt {
        Some(Prompt::Command(text)) => return (format!(":{text}_"), paint.strong()),
        Some(Prompt::Find(text, _)) => return (format!("/{text}_"), paint.strong()),
        None => {}
    }
    if let Some(notice) = &model.notice {
        return (notice.clone(), paint.strong());
    }
    if model.pending > 0 {
        let orders = if model.pending == 1 {
            "an order is"
        } else {
            "orders are"
        };
        return (format!("{orders} being given …"), paint.strong());
    }
    let selected = model.selected(rows).and_then(|index| rows.get(index));
    match selected {
        Some(row) if model.over.is_none() => {
            let then = model
                .source(now)
                .stale()
                .map_or_else(String::new, |age| format!(", {} ago", span(age)));
            (format!("{}{then}: {}", row.key.title(), row.message), Style::new())
        }
        _ => (String::new(), Style::new()),
    }
}

const fn hints(model: &Model) -> &'static str {
    match (&model.prompt, &model.over, model.view) {
        (Some(_), _, _) => "Enter: done  Esc: as before  Ctrl-U: clear",
        (None, Some(Over::Confirm(_)), _) => "y: give the order  n: do nothing",
        (None, Some(Over::Details(_)), _) => "Esc: back  j k: scroll  g ground  r release  u resume  Ctrl-C: quit",
        (None, Some(_), _) => "Esc: back  j k: scroll  Ctrl-C: quit",
        (None, None, View::Map) => "+ - zoom  arrows: move  0: all  j k: select  g ground  Enter: details  ? help",
        (None, None, View::List(_)) => "? help  / filter  d details  Space mark  g ground  r release  u resume  q quit",
    }
}
