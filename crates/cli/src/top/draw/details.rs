//! Details of one row.

use super::{Line, Paint, span};
use crate::live::clock::Now;
use crate::table::{Tone, meters};
use crate::top::model::Model;
use crate::top::objects::Details;
use crate::top::rows::{Row, RowKey, age_of, seconds_since};
use crate::vehicle::{Vehicle, age_text, aged, printable};

const NAME_WIDTH: usize = 12;

const MAX_EVENTS: usize = 40;

const MAX_NAMED_VEHICLES: usize = 200;

pub(super) fn lines(model: &Model, key: &RowKey, now: Now, paint: Paint) -> Vec<Line> {
    let source = model.source(now);
    let mut lines = vec![Line::styled(heading(key), paint.strong())];
    let row = source.rows(model.list()).into_iter().find(|row| row.key == *key);
    match &row {
        Some(row) => lines.extend(facts_of_row(model, row)),
        None => lines.push(Line::styled("It is gone from the list.", paint.strong())),
    }
    let of = |vehicle: &&Vehicle| match key {
        RowKey::Drone(namespace, name) => vehicle.namespace == *namespace && vehicle.drone == *name,
        RowKey::Vehicle(node, _) => vehicle.node == *node,
        RowKey::Swarm(namespace, name) => vehicle.namespace == *namespace && vehicle.swarm == *name,
        RowKey::Mission(..) => row.as_ref().is_some_and(|row| row.has(vehicle)),
    };
    let vehicles = source.vehicles();
    let vehicles: Vec<&Vehicle> = vehicles.iter().filter(of).collect();
    let vehicle = match key {
        RowKey::Swarm(..) | RowKey::Mission(..) => None,
        RowKey::Drone(..) | RowKey::Vehicle(..) => vehicles.first(),
    };
    if let Some(vehicle) = vehicle {
        lines.extend(says(vehicle));
    }
    about_object(model, key, now, paint, &mut lines);
    if let Some(vehicle) = vehicle {
        lines.push(Line::styled("Vehicle", paint.strong()));
        lines.extend(facts(vehicle));
    }
    if let RowKey::Swarm(..) | RowKey::Mission(..) = key {
        lines.push(Line::styled("Drones", paint.strong()));
        lines.extend(vehicles.iter().take(MAX_NAMED_VEHICLES).map(|vehicle| {
            let text = format!(
                "  {:<30} {:<11} flying: {:<8} {}",
                vehicle.drone,
                vehicle.phase,
                vehicle.flying_text(),
                vehicle.message
            );
            Line::new(text).indented(4)
        }));
        if vehicles.len() > MAX_NAMED_VEHICLES {
            lines.push(Line::new(format!("  and {} more", vehicles.len() - MAX_NAMED_VEHICLES)));
        }
    }
    lines
}

fn heading(key: &RowKey) -> String {
    match key {
        RowKey::Drone(..) => format!("Drone {}", key.title()),
        RowKey::Swarm(..) => format!("Swarm {}", key.title()),
        RowKey::Mission(..) => format!("Mission {}", key.title()),
        RowKey::Vehicle(node, Some(name)) => format!("Vehicle {name} of node {node}"),
        RowKey::Vehicle(node, None) => format!("Vehicle of node {node}"),
    }
}

fn fact(name: &str, text: impl AsRef<str>) -> Line {
    Line::new(format!("  {name:<NAME_WIDTH$} {}", text.as_ref())).indented(NAME_WIDTH + 3)
}

fn facts_of_row(model: &Model, row: &Row) -> Vec<Line> {
    let columns = model.list().columns();
    let facts = columns.iter().zip(&row.cells).filter(|(column, cell)| {
        let in_heading = matches!(column.name, "NAMESPACE" | "SWARM" | "MISSION")
            || (column.name == "DRONE" && !row.drones.is_empty());
        cell.text != "-" && !in_heading
    });
    let facts = facts.map(|(column, cell)| format!("{} {}", column.name.to_lowercase(), cell.text));
    let mut lines = vec![Line::new(format!("  {}", facts.collect::<Vec<_>>().join("; "))).indented(2)];
    if !row.message.is_empty() {
        lines.push(fact("message", &row.message));
    }
    lines
}

fn says(v: &Vehicle) -> Vec<Line> {
    let report = match v.report_age_ms {
        None => "none".to_owned(),
        Some(0..2000) => "less than 2s ago".to_owned(),
        Some(age) => format!("{} ago", age_text(age)),
    };
    let agent = if v.agent_connected {
        "connected"
    } else {
        "NOT connected"
    };
    let activity = v.activity.as_deref().unwrap_or("activity unknown");
    let mut lines = vec![
        fact("by itself", format!("{}, {activity}", v.truth)),
        fact("agent", format!("{agent}, last report {report}")),
    ];
    let ready = v.ready.map(|ready| if ready { "pass" } else { "do NOT pass" });
    lines.extend(ready.map(|ready| fact("arming", format!("its checks {ready}"))));
    lines.extend(v.reasons.iter().map(|reason| fact("", reason)));
    lines
}

fn facts(v: &Vehicle) -> Vec<Line> {
    let position = v.position.as_ref().map(|p| {
        let place = format!("{:.6}, {:.6}", p.latitude_degrees, p.longitude_degrees);
        let above = meters(p.altitude_amsl_meters);
        aged(&format!("{place}, {above} above sea"), v.position_age_ms)
    });
    let volts = v
        .battery_volts
        .map(|volts| aged(&format!("{volts:.1} V"), v.battery_age_ms));
    let more = [
        ("drone", Some(v.title()).filter(|_| !v.drone.is_empty())),
        ("swarm", Some(v.swarm.clone()).filter(|swarm| !swarm.is_empty())),
        ("position", position),
        ("voltage", volts),
        ("autopilot", v.autopilot.clone()),
        ("firmware", v.firmware.clone()),
        ("system id", v.system_id.map(|id| id.to_string())),
        ("hardware", v.hardware_uid.clone()),
    ];
    let facts = more.into_iter();
    facts
        .filter_map(|(name, text)| text.map(|text| fact(name, text)))
        .collect()
}

fn about_object(model: &Model, key: &RowKey, now: Now, paint: Paint, lines: &mut Vec<Line>) {
    lines.push(Line::styled("Conditions", paint.strong()));
    let Some(object) = key.object() else {
        lines.push(Line::new("  The inventory has no object for it that is known here."));
        return;
    };
    if let Some(none) = &model.objects.none {
        lines.push(Line::new(format!("  Not shown, nor Events: {none}")).indented(2));
        return;
    }
    let reading = model
        .objects
        .details
        .as_ref()
        .filter(|(about, _)| *about == object)
        .map(|(_, reading)| reading);
    let Some(reading) = reading else {
        lines.push(Line::new("  being read …"));
        return;
    };
    if let Some(why) = &reading.problem {
        lines.push(Line::styled(format!("  {why}"), paint.strong()).indented(2));
    }
    let Some((details, at)) = &reading.last else { return };
    if reading.problem.is_some() {
        lines.push(Line::styled(
            format!("  as of {} ago:", span(now.since(*at))),
            paint.strong(),
        ));
    }
    read(details, now, paint, lines);
}

fn read(details: &Details, now: Now, paint: Paint, lines: &mut Vec<Line>) {
    for condition in &details.conditions {
        let tone = match condition.status.as_str() {
            "Unknown" => Tone::Bad,
            _ => Tone::Plain,
        };
        let age = age_of(seconds_since(now, condition.last_transition_time.0));
        let text = format!(
            "  {:<NAME_WIDTH$} {:<8} {} ({age} ago): {}",
            printable(&condition.type_),
            printable(&condition.status),
            printable(&condition.reason),
            printable(&condition.message)
        );
        lines.push(Line::styled(text, paint.tone(tone)).indented(NAME_WIDTH + 12));
    }
    if details.conditions.is_empty() {
        lines.push(Line::new("  none"));
    }
    lines.push(Line::styled("Events", paint.strong()));
    match &details.events {
        Err(why) => lines.push(Line::styled(format!("  {why}"), paint.strong()).indented(2)),
        Ok(events) if events.is_empty() => lines.push(Line::new("  none")),
        Ok(events) => lines.extend(events.iter().take(MAX_EVENTS).map(|event| {
            let age = event
                .at
                .map_or_else(|| "?".to_owned(), |at| age_of(seconds_since(now, at)));
            let times = if event.count > 1 {
                format!(" (×{})", event.count)
            } else {
                String::new()
            };
            let (kind, tone) = if event.warning {
                ("Warning", Tone::Waiting)
            } else {
                ("Normal", Tone::Plain)
            };
            let text = format!("  {age:>4} ago {kind:<8} {}{times}: {}", event.reason, event.text);
            Line::styled(text, paint.tone(tone)).indented(11)
        })),
    }
}
