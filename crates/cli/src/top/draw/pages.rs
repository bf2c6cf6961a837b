//! Pages of text: help, an order to confirm, the result of one.

use super::words::wrap;
use super::{Line, Paint, put, span};
use crate::live::clock::Now;
use crate::orders::{Order, Outcome, Whom};
use crate::table::meters;
use crate::top::model::Model;
use crate::vehicle::{Vehicle, aged};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, Widget};

/// Longer lines are hard to read.
const MAX_LINE_WIDTH: u16 = 100;

const KEYS: &[(&str, &str)] = &[
    (
        "1 2 3 4 5",
        "Drones, Swarms, Vehicles, Missions, map; also :drones :ms and so on",
    ),
    ("j k, arrows", "select; PgUp PgDn Ctrl-B Ctrl-F, Home End"),
    ("Enter, d", "details, with conditions and Events; Esc back"),
    ("/", "filter: rows that have the text; with ! before it, the others"),
    ("Space", "mark; g, r and u are then meant for all that are marked"),
    ("g", "ground: land and stay on the ground. It asks first"),
    ("r", "release: ends ground orders. It asks first"),
    ("u", "resume a Drone after somebody has taken it over. It asks first"),
    (":ground all", "the whole fleet, all namespaces; :release all"),
    ("+ - 0, arrows", "on the map: closer, further, all, move"),
    ("Ctrl-L, Ctrl-Z", "redraw; back to the shell, `fg` returns"),
    ("q, :q, Ctrl-C", "quit; nothing that flies is touched"),
];

pub(super) fn help(model: &Model, paint: Paint) -> Vec<Line> {
    let mut lines = vec![Line::styled("Keys", paint.strong())];
    let key = |(key, does): &(&str, &str)| Line::new(format!("  {key:<14} {does}")).indented(17);
    lines.extend(KEYS.iter().map(key));
    lines.push(Line::styled("Sort, once more for the other way", paint.strong()));
    let by = model
        .list()
        .columns()
        .iter()
        .map(|column| format!("Shift-{} {}", column.key, column.name));
    lines.push(Line::new(format!("  {}", by.collect::<Vec<_>>().join("  "))).indented(2));
    lines.push(Line::styled("What is shown", paint.strong()));
    for text in [
        "FLYING is what the vehicle's own autopilot says; unknown when that is older than 5 s.",
        "A figure that is older than 3 s has its age beside it. While the coordinator is away, the second line says so and since when, and \
         each phase is what it WAS.",
    ] {
        lines.push(Line::new(format!("  {text}")).indented(2));
    }
    if !model.objects_from.is_empty() {
        lines.push(Line::new(format!("  Objects, conditions and Events: {}", model.objects_from)).indented(2));
    }
    lines
}

pub(super) fn confirm(model: &Model, order: &Order, now: Now, paint: Paint) -> Vec<Line> {
    let source = model.source(now);
    let stale = source.stale();
    let concerned = source.raw().filter(|vehicle| order.concerns(vehicle));
    let concerned: Vec<Vehicle> = concerned.map(|vehicle| source.aged(vehicle, stale.is_some())).collect();
    let mut lines: Vec<Line> = order
        .whom
        .iter()
        .map(|whom| Line::styled(format!("{} {whom}?", order.verb.word()), paint.strong()))
        .collect();
    lines.push(Line::new(order.verb.does()));
    lines.push(Line::styled(
        match (concerned.len(), stale) {
            (0, None) => "It concerns nothing that is known here now.".to_owned(),
            (1, None) => "It concerns this one:".to_owned(),
            (n, None) => format!("It concerns these {n}:"),
            (n, Some(age)) => format!("It concerned these {n}, as they were {} AGO:", span(age)),
        },
        paint.strong(),
    ));
    let narrow = model.filter.namespace.is_some() || model.filter.selector.is_some();
    if narrow && order.whom.iter().any(|whom| matches!(whom, Whom::All | Whom::Node(_))) {
        let text =
            "and others: this view was started for a part of the fleet (-n, -l), the order is not for that part alone.";
        lines.push(Line::styled(text, paint.strong()));
    }
    for vehicle in &concerned {
        lines.push(Line::new(format!("  {}", state(vehicle))).indented(4));
    }
    lines
}

fn state(vehicle: &Vehicle) -> String {
    let node = if vehicle.drone.is_empty() || vehicle.node.is_empty() {
        String::new()
    } else {
        format!(" on {}", vehicle.node)
    };
    let flying = match vehicle.flying {
        Some(true) => "flying",
        Some(false) => "not flying",
        None => "UNKNOWN whether it flies",
    };
    let height = vehicle
        .position
        .as_ref()
        .filter(|_| vehicle.flying != Some(false))
        .map(|position| aged(&meters(position.altitude_above_home_meters), vehicle.position_age_ms));
    let height = height
        .filter(|height| height != "-")
        .map_or_else(String::new, |height| format!(", {height}"));
    format!("{}{node}: {}, {flying}{height}", vehicle.title(), vehicle.phase)
}

pub(super) fn outcome(outcome: &Outcome, paint: Paint) -> Vec<Line> {
    let line = |(text, done): &(String, bool)| {
        if *done {
            Line::new(text.clone()).indented(2)
        } else {
            Line::styled(format!("NOT DONE: {text}"), paint.strong()).indented(2)
        }
    };
    outcome.answers.iter().map(line).collect()
}

fn laid_out(lines: &[Line], width: u16) -> Vec<(String, Style)> {
    let wrapped = |line: &Line| {
        let style = line.style;
        wrap(&line.text, width.into(), line.indent)
            .into_iter()
            .map(move |text| (text, style))
    };
    lines.iter().flat_map(wrapped).collect()
}

/// Skips `scroll` lines, and corrects it where there are fewer.
pub(super) fn page(buffer: &mut Buffer, area: Rect, lines: &[Line], scroll: &mut usize) {
    let lines = laid_out(lines, area.width);
    let height = usize::from(area.height);
    *scroll = (*scroll).min(lines.len().saturating_sub(height));
    for (row, (text, style)) in (0..area.height).zip(lines.iter().skip(*scroll)) {
        put(buffer, area, row, text, *style);
    }
    let hidden = lines.len().saturating_sub(*scroll + height);
    if hidden > 0 && height > 1 {
        let text = format!("… {} more lines", hidden + 1);
        put(
            buffer,
            area,
            area.height - 1,
            &format!("{text:<width$}", width = area.width.into()),
            Style::new(),
        );
    }
}

pub(super) fn boxed(
    buffer: &mut Buffer,
    area: Rect,
    title: &str,
    (lines, last): (&[Line], &str),
    scroll: &mut usize,
    paint: Paint,
) {
    let width = area.width.saturating_sub(2).min(MAX_LINE_WIDTH);
    let inside = width.saturating_sub(4);
    let needed = u16::try_from(laid_out(lines, inside).len()).unwrap_or(u16::MAX);
    let height = needed.saturating_add(4).min(area.height.saturating_sub(2));
    let outer = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(outer, buffer);
    let block = Block::bordered().title(format!(" {title} "));
    let inner = block.inner(outer);
    block.render(outer, buffer);
    let text = Rect {
        x: inner.x + 1,
        width: inside,
        height: inner.height.saturating_sub(2),
        ..inner
    };
    page(buffer, text, lines, scroll);
    let foot = Rect {
        y: inner.y + inner.height.saturating_sub(1),
        height: 1,
        ..text
    };
    put(buffer, foot, 0, last, paint.strong());
}
