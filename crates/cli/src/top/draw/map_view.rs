//! The map on the screen.

use super::{Paint, put};
use crate::live::clock::Now;
use crate::table::clip;
use crate::table::{Tone, flying_tone};
use crate::top::map::{Frame as Part, Meters, Places, Plane, length_text};
use crate::top::model::Model;
use crate::top::rows::{Row, RowKey};
use crate::vehicle::Vehicle;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::canvas::{Canvas, Line as Stroke, Points};
use std::collections::HashSet;

const HOME: &str = "⌂";
const STATION: &str = "+";
const LEGEND: &str = "▲ flies  ■ on the ground  ? unknown  ⌂ home  + station";

struct Shown {
    vehicle: Vehicle,
    places: Places,
}

const fn sign(vehicle: &Vehicle) -> &'static str {
    match vehicle.flying {
        Some(true) => "▲",
        Some(false) => "■",
        None => "?",
    }
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model, rows: &[Row], now: Now, paint: Paint) {
    let source = model.source(now);
    let stale = source.stale().is_some();
    let listed: HashSet<&str> = rows.iter().filter_map(|row| node_of(&row.key)).collect();
    let shown: Vec<Shown> = source
        .raw()
        .filter(|vehicle| listed.contains(vehicle.node.as_str()))
        .map(|vehicle| Shown {
            vehicle: source.aged(vehicle, stale),
            places: Places::of(vehicle),
        })
        .collect();
    let all: Vec<_> = shown
        .iter()
        .flat_map(|one| one.places.all().collect::<Vec<_>>())
        .collect();
    let placed = shown.iter().filter(|one| one.places.at.is_some()).count();
    let without = listed.len().saturating_sub(placed);
    let Some(plane) = Plane::around(&all) else {
        put(
            frame.buffer_mut(),
            area,
            0,
            "No vehicle has reported a position.",
            Style::new(),
        );
        return;
    };
    let ground = Rect {
        height: area.height.saturating_sub(1).max(1),
        ..area
    };
    let dots = (f64::from(ground.width) * 2.0, f64::from(ground.height) * 4.0);
    let on_plane: Vec<Meters> = all.iter().map(|place| plane.meters(*place)).collect();
    let part = Part::showing(&on_plane, dots, model.viewport);
    let color = |color| if paint.color { color } else { Color::Reset };
    let (scale, length) = part.scale(dots.0 / 4.0);
    let canvas = Canvas::default()
        .marker(Marker::Braille)
        .x_bounds(part.east)
        .y_bounds(part.north)
        .paint(|context| {
            for one in &shown {
                let corners: Vec<Meters> = one.places.route.iter().map(|place| plane.meters(*place)).collect();
                for leg in corners.windows(2) {
                    context.draw(&Stroke::new(leg[0].0, leg[0].1, leg[1].0, leg[1].1, color(Color::Cyan)));
                }
                let at: Vec<Meters> = one.places.at.iter().map(|place| plane.meters(*place)).collect();
                context.draw(&Points::new(&at, color(Color::White)));
            }
            let (x, y) = (part.east[0] + 4.0 * part.dot, part.north[0] + 2.0 * part.dot);
            context.draw(&Stroke::new(x, y, x + length * part.dot, y, Color::Reset));
            for end in [x, x + length * part.dot] {
                context.draw(&Stroke::new(end, y, end, y + 2.0 * part.dot, Color::Reset));
            }
        });
    frame.render_widget(canvas, ground);
    let mut labels = Labels {
        buffer: frame.buffer_mut(),
        area: ground,
        part,
        taken: HashSet::new(),
    };
    let selected = model.selected(rows).and_then(|index| node_of(&rows[index].key));
    for one in &shown {
        let style = paint.tone(flying_tone(&one.vehicle));
        if let Some(at) = one.places.at {
            let chosen = selected == Some(one.vehicle.node.as_str());
            let style = if chosen { style.patch(paint.chosen()) } else { style };
            labels.sign(plane.meters(at), sign(&one.vehicle), style, true);
        }
    }
    for one in &shown {
        if let Some(home) = one.places.home {
            labels.sign(plane.meters(home), HOME, paint.tone(Tone::Plain), false);
        }
        if let Some(station) = one.places.route.last() {
            labels.sign(plane.meters(*station), STATION, paint.tone(Tone::Moving), false);
        }
    }
    // The name of the selected vehicle first, so that it has room.
    let first = shown.iter().filter(|one| selected == Some(one.vehicle.node.as_str()));
    let others = shown.iter().filter(|one| selected != Some(one.vehicle.node.as_str()));
    for one in first.chain(others) {
        if let Some(at) = one.places.at {
            labels.name(plane.meters(at), &one.vehicle.node);
        }
    }
    let right = format!("{}north up", if part_is_moved(model) { "0: all  " } else { "" });
    let buffer = frame.buffer_mut();
    let from = ground.width.saturating_sub(u16::try_from(right.len()).unwrap_or(0));
    buffer.set_stringn(ground.x + from, ground.y, &right, right.len(), Style::new());
    let scale_x = ground.x + 3 + to_cells(length / 2.0, ground.width);
    buffer.set_stringn(
        scale_x,
        ground.y + ground.height - 1,
        length_text(scale),
        10,
        Style::new(),
    );
    let without = match without {
        0 => String::new(),
        n => format!("; {n} without a position"),
    };
    let last = Rect {
        y: area.y + area.height - 1,
        height: 1,
        ..area
    };
    put(buffer, last, 0, &format!("{LEGEND}{without}"), Style::new());
}

fn part_is_moved(model: &Model) -> bool {
    model.viewport != crate::top::model::Viewport::default()
}

const fn node_of(key: &RowKey) -> Option<&str> {
    match key {
        RowKey::Vehicle(node, _) => Some(node.as_str()),
        RowKey::Drone(..) | RowKey::Swarm(..) | RowKey::Mission(..) => None,
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cut to the width before; a cast saturates"
)]
fn to_cells(cells: f64, most: u16) -> u16 {
    cells.clamp(0.0, f64::from(most.saturating_sub(1))) as u16
}

/// Labels that never cover other text.
struct Labels<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    part: Part,
    taken: HashSet<(u16, u16)>,
}

impl Labels<'_> {
    fn cell(&self, place: Meters) -> Option<(u16, u16)> {
        self.part.has(place).then(|| {
            let right = (place.0 - self.part.east[0]) / self.part.dot / 2.0;
            let down = (self.part.north[1] - place.1) / self.part.dot / 4.0;
            (
                self.area.x + to_cells(right, self.area.width),
                self.area.y + to_cells(down, self.area.height),
            )
        })
    }

    fn sign(&mut self, place: Meters, sign: &str, style: Style, over: bool) {
        let Some((x, y)) = self.cell(place) else { return };
        if self.taken.insert((x, y)) || over {
            self.buffer.set_stringn(x, y, sign, 1, style);
        }
    }

    fn name(&mut self, place: Meters, name: &str) {
        let Some((x, y)) = self.cell(place) else { return };
        let room = (self.area.x + self.area.width).saturating_sub(x + 2);
        let name = clip(name, room.into());
        let cells: Vec<(u16, u16)> = (x + 2..).zip(name.chars()).map(|(x, _)| (x, y)).collect();
        if name.chars().count() >= 3 && cells.iter().all(|cell| !self.taken.contains(cell)) {
            self.taken.extend(cells);
            self.buffer.set_stringn(x + 2, y, &name, room.into(), Style::new());
        }
    }
}
