//! What a person sees of the vehicles: one row per node, from the Drone objects.
//!
//! Owns: reading them. Must not: ask for them, draw them. Works on what is there: a field that is absent shows as `-`.

use serde_json::Value;

/// One vehicle as the API server tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its node; empty for a Drone that has none yet.
    pub node: String,
    /// The Drone that it serves.
    pub drone: Option<String>,
    /// The Drone's phase.
    pub phase: String,
    /// What its autopilot says.
    pub flying: Option<bool>,
    /// Autopilot stack.
    pub autopilot: String,
    /// Flight mode by the autopilot's own name.
    pub mode: String,
    /// Height above home.
    pub height: String,
    /// Remaining battery.
    pub battery: String,
    /// Why it is in this phase: the Armable condition's words while that is not met, else those of Ready.
    pub message: String,
    /// It flies as asked: condition Ready.
    pub holding: bool,
}

/// One row for each node in this order, then one for each Drone without a node. `live` is what `skein status -o json`
/// prints: the API server is told of transitions only, so what moves all the time comes from there, where it is known.
pub fn rows(nodes: &[String], drones: &Value, live: &Value) -> Vec<Row> {
    let drones: Vec<&Value> = drones["items"].as_array().into_iter().flatten().collect();
    let of_node = |node: &String| {
        let drone = drones.iter().find(|drone| drone["spec"]["nodeName"] == node.as_str());
        let mut row = drone.map_or_else(|| idle(node), |drone| row(drone));
        let vehicles = live["vehicles"].as_array();
        if let Some(vehicle) = vehicles
            .into_iter()
            .flatten()
            .find(|vehicle| vehicle["node"] == node.as_str())
        {
            freshen(&mut row, vehicle);
        }
        row
    };
    let homeless = drones.iter().filter(|drone| drone["spec"]["nodeName"].is_null());
    nodes
        .iter()
        .map(of_node)
        .chain(homeless.map(|drone| row(drone)))
        .collect()
}

fn freshen(row: &mut Row, vehicle: &Value) {
    if let Some(autopilot) = vehicle["autopilot"].as_str() {
        autopilot.clone_into(&mut row.autopilot);
    }
    if let Some(mode) = vehicle["mode"].as_str() {
        mode.clone_into(&mut row.mode);
    }
    if let Some(height) = vehicle["position"]["altitudeAboveHomeMeters"].as_f64() {
        row.height = metres(height);
    }
    if let Some(percent) = vehicle["batteryPercent"].as_i64() {
        row.battery = format!("{percent} %");
    }
}

fn metres(height: f64) -> String {
    // Without a minus sign for what rounds to zero.
    let tenths = (height * 10.0).round() / 10.0 + 0.0;
    format!("{tenths:.1} m")
}

fn idle(node: &str) -> Row {
    let dash = || "-".to_owned();
    Row {
        node: node.to_owned(),
        drone: None,
        phase: "free".to_owned(),
        flying: None,
        autopilot: dash(),
        mode: dash(),
        height: dash(),
        battery: dash(),
        message: String::new(),
        holding: false,
    }
}

fn row(drone: &Value) -> Row {
    let status = &drone["status"];
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let condition = |kind: &str| {
        let all = status["conditions"].as_array();
        all.into_iter()
            .flatten()
            .find(|c| c["type"] == kind)
            .unwrap_or(&Value::Null)
    };
    let reason = if condition("Armable")["status"] == "False" {
        condition("Armable")
    } else {
        condition("Ready")
    };
    let flying = status["flying"].as_bool();
    Row {
        node: drone["spec"]["nodeName"].as_str().unwrap_or_default().to_owned(),
        drone: drone["metadata"]["name"].as_str().map(str::to_owned),
        phase: text(&status["phase"]),
        flying,
        autopilot: text(&status["vehicle"]["autopilot"]),
        mode: text(&status["mode"]),
        height: status["position"]["altitudeAboveHomeMeters"]
            .as_f64()
            .map_or("-".to_owned(), metres),
        battery: status["battery"]["remainingPercent"]
            .as_i64()
            .map_or("-".to_owned(), |p| format!("{p} %")),
        message: reason["message"].as_str().unwrap_or_default().to_owned(),
        holding: flying == Some(true) && condition("Ready")["status"] == "True",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn drone(name: &str, node: Value, ready: &str) -> Value {
        let status = json!({
            "phase": "Flying", "flying": true, "mode": "GUIDED", "vehicle": {"autopilot": "ArduPilot"},
            "position": {"altitudeAboveHomeMeters": 9.96}, "battery": {"remainingPercent": 87},
            "conditions": [{"type": "Ready", "status": ready, "message": "at 10 m"}],
        });
        json!({"metadata": {"name": name}, "spec": {"nodeName": node}, "status": status})
    }

    #[test]
    fn each_node_has_a_row_and_a_drone_without_a_node_follows() {
        let nodes = ["a".to_owned(), "b".to_owned()];
        let drones = json!({"items": [drone("y", Value::Null, "False"), drone("x", json!("b"), "True")]});
        let rows = rows(&nodes, &drones, &Value::Null);
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.node.as_str(), row.drone.as_deref(), row.holding))
            .collect();
        assert_eq!(
            seen,
            [("a", None, false), ("b", Some("x"), true), ("", Some("y"), false)]
        );
        assert_eq!((rows[1].height.as_str(), rows[1].battery.as_str()), ("10.0 m", "87 %"));
    }

    #[test]
    fn what_moves_comes_from_the_live_report() {
        let drones = json!({"items": [drone("x", json!("a"), "True")]});
        let live = json!({"vehicles": [{"node": "a", "mode": "LAND", "batteryPercent": 50,
            "position": {"altitudeAboveHomeMeters": -0.04}}]});
        let row = rows(&["a".to_owned()], &drones, &live).remove(0);
        assert_eq!(
            (row.mode.as_str(), row.battery.as_str(), row.height.as_str()),
            ("LAND", "50 %", "0.0 m")
        );
        assert_eq!((row.autopilot.as_str(), row.holding), ("ArduPilot", true));
    }

    #[test]
    fn a_vehicle_that_cannot_arm_says_why_in_its_own_words() {
        let mut drone = drone("x", json!("a"), "False");
        let why = json!({"type": "Armable", "status": "False", "message": "PreArm: Need Position Estimate"});
        drone["status"]["conditions"].as_array_mut().unwrap().push(why);
        assert_eq!(row(&drone).message, "PreArm: Need Position Estimate");
    }
}
