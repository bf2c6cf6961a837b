//! Lists of rows.

use super::{Paint, counted, put, span};
use crate::live::clock::Now;
use crate::live::objects::Reading;
use crate::table::clip;
use crate::top::model::Model;
use crate::top::rows::{List, MESSAGE, Row};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::time::Duration;

const MAX_COLUMN_WIDTH: usize = 40;

/// Columns are left out until the message has this width.
const MIN_MESSAGE_WIDTH: usize = 10;

const SIGNS_WIDTH: usize = 2;

const COLUMN_GAP: usize = 2;

const OLD_AFTER: Duration = Duration::from_secs(15);

pub(super) fn draw(buffer: &mut Buffer, area: Rect, model: &Model, rows: &[Row], now: Now, paint: Paint) {
    let mut area = area;
    if let Some(note) = note(model, now) {
        put(buffer, area, 0, &note, paint.strong());
        area = below(area, 1);
    }
    let list = model.list();
    let columns = fitting(list, rows, usize::from(area.width));
    let style = paint.strong();
    let order = model.order();
    let heading = |index: usize| {
        let sign = match order {
            Some(order) if order.column == index && order.reversed => "↓",
            Some(order) if order.column == index => "↑",
            _ => "",
        };
        format!("{}{sign}", list.columns()[index].name)
    };
    let mut x = SIGNS_WIDTH;
    for (index, width) in &columns {
        text_at(buffer, area, (x, 0), &heading(*index), (*width, style));
        x += width + COLUMN_GAP;
    }
    text_at(
        buffer,
        area,
        (x, 0),
        MESSAGE.name,
        (usize::from(area.width).saturating_sub(x), style),
    );
    let area = below(area, 1);
    if rows.is_empty() {
        put(buffer, area, 0, &nothing(model, list), Style::new());
        return;
    }
    let height = usize::from(area.height).max(1);
    let selected = model.selected(rows).unwrap_or(0);
    // Page by page, so that rows seldom move.
    let first = selected / height * height;
    for (line, (index, row)) in rows.iter().enumerate().skip(first).take(height).enumerate() {
        let chosen = index == selected;
        let base = if chosen { paint.chosen() } else { Style::new() };
        if chosen {
            put(buffer, area, short(line), &" ".repeat(area.width.into()), base);
        }
        let sign = |is: bool, sign: &'static str| if is { sign } else { " " };
        let signs = format!("{}{}", sign(chosen, ">"), sign(model.marked.contains(&row.key), "*"));
        text_at(buffer, area, (0, line), &signs, (SIGNS_WIDTH, base));
        let mut x = SIGNS_WIDTH;
        for (index, width) in &columns {
            let cell = &row.cells[*index];
            text_at(
                buffer,
                area,
                (x, line),
                &cell.text,
                (*width, base.patch(paint.tone(cell.tone))),
            );
            x += width + COLUMN_GAP;
        }
        let width = usize::from(area.width).saturating_sub(x);
        text_at(buffer, area, (x, line), &row.message, (width, base));
    }
}

const fn below(area: Rect, rows: u16) -> Rect {
    Rect {
        y: area.y + rows,
        height: area.height.saturating_sub(rows),
        ..area
    }
}

fn text_at(buffer: &mut Buffer, area: Rect, (x, y): (usize, usize), text: &str, (width, style): (usize, Style)) {
    let room = usize::from(area.width).saturating_sub(x).min(width);
    if room > 0 && y < usize::from(area.height) {
        buffer.set_stringn(area.x + short(x), area.y + short(y), clip(text, room), room, style);
    }
}

fn short(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

fn fitting(list: List, rows: &[Row], width: usize) -> Vec<(usize, usize)> {
    let columns = list.columns();
    let wide = |index: usize| {
        let cells = rows.iter().map(|row| row.cells[index].text.chars().count());
        // One more for the sign of the order.
        cells
            .max()
            .unwrap_or(0)
            .max(columns[index].name.len() + 1)
            .min(MAX_COLUMN_WIDTH)
    };
    let mut fitting: Vec<(usize, usize)> = (0..columns.len()).map(|index| (index, wide(index))).collect();
    let one_namespace = rows.windows(2).all(|pair| pair[0].cells[0] == pair[1].cells[0]);
    loop {
        let taken: usize = SIGNS_WIDTH + fitting.iter().map(|(_, width)| width + COLUMN_GAP).sum::<usize>();
        if taken + MIN_MESSAGE_WIDTH <= width {
            return fitting;
        }
        // A namespace common to all rows is the least useful column.
        let spare = |index: usize| match columns[index] {
            column if column.name == "NAMESPACE" && one_namespace => u8::MAX,
            column => column.spare,
        };
        let most = (0..fitting.len())
            .filter(|at| spare(fitting[*at].0) > 0)
            .max_by_key(|at| spare(fitting[*at].0));
        match most {
            Some(at) => drop(fitting.remove(at)),
            None => return fitting,
        }
    }
}

pub(super) fn note(model: &Model, now: Now) -> Option<String> {
    let about = |state: Option<Duration>, problem: Option<&String>, what: &str| {
        let age = state.map(|at| now.since(at));
        match (age, problem) {
            (Some(age), Some(why)) => Some(format!("{what} as of {} ago: {why}", span(age))),
            (None, Some(why)) => Some(format!("{what} not shown: {why}")),
            (Some(age), None) if age > OLD_AFTER => Some(format!("{what} as of {} ago", span(age))),
            (Some(_), None) => None,
            (None, None) => Some(format!("{what}: being read …")),
        }
    };
    let problem = |problem: &Option<String>| problem.clone().or_else(|| model.objects.none.clone());
    match model.list() {
        List::Drones => None,
        List::Swarms => {
            let Reading { last, problem: why } = &model.objects.swarms;
            about(last.as_ref().map(|(_, at)| *at), problem(why).as_ref(), "Swarm objects")
        }
        List::Missions => {
            let Reading { last, problem: why } = &model.objects.missions;
            about(last.as_ref().map(|(_, at)| *at), problem(why).as_ref(), "Missions")
        }
        List::Vehicles => {
            let Reading { last, problem: why } = &model.objects.vehicles;
            about(last.as_ref().map(|(_, at)| *at), problem(why).as_ref(), "inventory")
        }
    }
}

fn nothing(model: &Model, list: List) -> String {
    if !model.find.is_empty() {
        return format!("nothing has {:?}; Esc shows all", model.find);
    }
    if model.fleet.received.is_none() {
        return String::new();
    }
    let idle = model
        .fleet
        .vehicles
        .iter()
        .filter(|vehicle| vehicle.drone_name.is_empty())
        .count();
    match list {
        List::Drones if idle > 0 => format!("No Drones; {}: press 3", counted(idle, "idle vehicle")),
        List::Drones => "No Drones".to_owned(),
        List::Swarms => "No Swarms".to_owned(),
        List::Missions if model.objects.missions.last.is_none() => String::new(),
        List::Missions => "No Missions".to_owned(),
        List::Vehicles => "No vehicles: no agent is connected".to_owned(),
    }
}
