//! Changes between two pictures of the fleet, a line for each vehicle.

use crate::vehicle::Vehicle;
use std::collections::BTreeMap;

/// Lines in the order of `after`, vehicles that are gone last.
pub fn lines(before: &[Vehicle], after: &[Vehicle]) -> Vec<String> {
    let old: BTreeMap<String, &Vehicle> = before.iter().map(|v| (key(v), v)).collect();
    let new: BTreeMap<String, &Vehicle> = after.iter().map(|v| (key(v), v)).collect();
    let changes = after.iter().filter_map(|v| match old.get(&key(v)) {
        Some(was) => changed(was, v),
        None => Some(appeared(v)),
    });
    let gone = before
        .iter()
        .filter(|v| !new.contains_key(&key(v)))
        .map(|v| format!("{}: gone", v.title()));
    changes.chain(gone).collect()
}

/// By Drone rather than node, so that a Drone keeps its line when it gets a node.
fn key(v: &Vehicle) -> String {
    v.title()
}

fn appeared(v: &Vehicle) -> String {
    let node = if v.node.is_empty() || v.drone.is_empty() {
        String::new()
    } else {
        format!(" on {}", v.node)
    };
    let flying = if v.node.is_empty() {
        String::new()
    } else {
        format!(", flying: {}", v.flying_text())
    };
    let message = if v.message.is_empty() {
        String::new()
    } else {
        format!(" ({})", v.message)
    };
    format!("{}: {}{node}{flying}{message}", v.title(), v.phase)
}

fn changed(was: &Vehicle, is: &Vehicle) -> Option<String> {
    let mut parts = Vec::new();
    if was.phase != is.phase {
        parts.push(format!("{} -> {}", was.phase, is.phase));
    }
    if was.node != is.node && !is.node.is_empty() {
        parts.push(format!("on {}", is.node));
    }
    if was.flying != is.flying {
        parts.push(format!("flying: {}", is.flying_text()));
    }
    if was.mode != is.mode
        && let Some(mode) = &is.mode
    {
        parts.push(format!("mode: {mode}"));
    }
    if was.agent_connected != is.agent_connected {
        parts.push(if is.agent_connected {
            "agent connected".into()
        } else {
            "agent lost".into()
        });
    }
    if tens(was) != tens(is)
        && let Some(percent) = is.battery_percent
    {
        parts.push(format!("battery: {percent}%"));
    }
    if was.message != is.message && !is.message.is_empty() {
        parts.push(format!("({})", is.message));
    }
    (!parts.is_empty()).then(|| format!("{}: {}", is.title(), parts.join(", ").replace(", (", " (")))
}

fn tens(v: &Vehicle) -> Option<u32> {
    v.battery_percent.map(|p| p.div_ceil(10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::{holding, pending};

    fn goose() -> Vehicle {
        holding("goose").into()
    }

    #[test]
    fn the_first_list_has_a_line_for_each_vehicle() {
        let lines = lines(&[], &[goose(), pending("crane").into()]);
        assert_eq!(
            lines[0],
            "default/goose: Flying on node-goose, flying: yes (flies as asked)"
        );
        assert!(
            lines[1].starts_with("default/crane: Pending (no vehicle is free"),
            "{}",
            lines[1]
        );
    }

    #[test]
    fn nothing_new_gives_no_line() {
        let mut later = goose();
        later.report_age_ms = Some(900);
        later.battery_percent = Some(86);
        later.position.as_mut().unwrap().altitude_above_home_meters = 10.2;
        assert!(lines(&[goose()], &[later]).is_empty());
    }

    #[test]
    fn a_landing_is_one_line() {
        let later = Vehicle {
            phase: "Landing".into(),
            mode: Some("AUTO.LAND".into()),
            message: "lands: being deleted".into(),
            battery_percent: Some(79),
            ..goose()
        };
        assert_eq!(
            lines(&[goose()], &[later]),
            ["default/goose: Flying -> Landing, mode: AUTO.LAND, battery: 79% (lands: being deleted)"]
        );
    }

    #[test]
    fn a_lost_agent_and_a_deleted_drone_have_a_line_each() {
        let lost = Vehicle {
            agent_connected: false,
            flying: None,
            ..goose()
        };
        assert_eq!(
            lines(&[goose()], &[lost]),
            ["default/goose: flying: unknown, agent lost"]
        );
        assert_eq!(lines(&[goose()], &[]), ["default/goose: gone"]);
    }
}
