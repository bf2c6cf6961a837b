//! The rest of a ground order: actions that are left, and who takes them.

use crate::vehicle::Vehicle;

const MAX_NAMED_VEHICLES: usize = 8;

/// `vehicles`: covered by the order, as last reported.
pub fn outstanding(vehicles: &[Vehicle]) -> String {
    let (mut ordered, mut others, mut unknown, mut down) = (Vec::new(), Vec::new(), Vec::new(), 0_usize);
    for vehicle in vehicles.iter().filter(|vehicle| !vehicle.node.is_empty()) {
        // Skein commands no vehicle without a Drone; an autopilot in a failsafe still obeys a ground order.
        let left = |activity: &str| activity.starts_with("HandsOff") && activity != "HandsOffAutopilotFailsafe";
        let hands_off = vehicle.drone.is_empty() || vehicle.activity.as_deref().is_some_and(left);
        match vehicle.flying {
            None => unknown.push(vehicle.title()),
            // Somebody else who armed it on the ground has to disarm it.
            _ if hands_off && vehicle.truth != "Disarmed" => others.push(vehicle.title()),
            Some(true) => ordered.push(vehicle.title()),
            Some(false) => down += 1,
        }
    }
    let mut parts = Vec::new();
    match ordered.len() {
        0 => {}
        n => parts.push(format!("{} in the air, ordered to land", vehicles_of(n))),
    }
    match down {
        0 => {}
        n => parts.push(format!("{} on the ground", vehicles_of(n))),
    }
    if parts.is_empty() && others.is_empty() && unknown.is_empty() {
        return "No vehicle is covered by it now.".to_owned();
    }
    let mut text = String::new();
    if !parts.is_empty() {
        text = format!("{}.", parts.join(", "));
    }
    let mut add = |sentence: String| {
        if !text.is_empty() {
            text.push(' ');
        }
        text += &sentence;
    };
    if !others.is_empty() {
        add(format!(
            "NOT landed by Skein, because somebody else is in command: {}: the person who flies it has to land it, or give it back and \
             `skein resume` it.",
            names(&others)
        ));
    }
    if !unknown.is_empty() {
        add(format!(
            "NOT KNOWN, because the agent or the autopilot is not heard: {}: the order holds, and the agent carries it out once both are \
             heard; look for the vehicle.",
            names(&unknown)
        ));
    }
    text
}

fn vehicles_of(count: usize) -> String {
    if count == 1 {
        "1 vehicle".to_owned()
    } else {
        format!("{count} vehicles")
    }
}

fn names(all: &[String]) -> String {
    let first = all
        .iter()
        .take(MAX_NAMED_VEHICLES)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match all.len().saturating_sub(MAX_NAMED_VEHICLES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::{holding, pending};
    use proto::v1;

    fn doing(name: &str, truth: v1::FlightTruth, activity: v1::Activity) -> Vehicle {
        let mut vehicle = holding(name);
        if let Some(report) = vehicle.report.as_mut() {
            (report.truth, report.activity) = (truth.into(), activity.into());
        }
        vehicle.into()
    }

    #[test]
    fn landing_flown_by_others_and_not_heard_are_distinguished() {
        use v1::{Activity as A, FlightTruth as T};
        let text = outstanding(&[
            doing("a", T::InAir, A::Holding),
            doing("b", T::InAir, A::HandsOffOtherMode),
            doing("c", T::UnknownLinkLost, A::Waiting),
            doing("d", T::Disarmed, A::HandsOffFlightOver),
        ]);
        assert!(
            text.starts_with("1 vehicle in the air, ordered to land, 1 vehicle on the ground. NOT landed by"),
            "{text}"
        );
        assert!(
            text.contains("in command: default/b: the person who flies it") && text.contains("not heard: default/c:"),
            "{text}"
        );
        assert!(!text.contains("land now"), "{text}");
        let text = outstanding(&[doing("a", T::InAir, A::HandsOffAutopilotFailsafe)]);
        assert!(text.starts_with("1 vehicle in the air, ordered to land"), "{text}");
    }

    #[test]
    fn a_flying_vehicle_without_a_drone_is_not_reported_as_landing() {
        let idle = |truth: v1::FlightTruth| Vehicle {
            drone: String::new(),
            ..doing("a", truth, v1::Activity::Idle)
        };
        let text = outstanding(&[idle(v1::FlightTruth::InAir)]);
        assert!(
            text.starts_with("NOT landed by Skein") && text.contains("node node-a"),
            "{text}"
        );
        assert_eq!(
            outstanding(&[idle(v1::FlightTruth::Disarmed)]),
            "1 vehicle on the ground."
        );
    }

    #[test]
    fn where_there_is_no_vehicle_nothing_lands() {
        assert_eq!(outstanding(&[]), "No vehicle is covered by it now.");
        assert_eq!(outstanding(&[pending("a").into()]), "No vehicle is covered by it now.");
        let many: Vec<Vehicle> = (0..10)
            .map(|n| {
                doing(
                    &format!("d{n}"),
                    v1::FlightTruth::UnknownLinkLost,
                    v1::Activity::Waiting,
                )
            })
            .collect();
        assert!(
            outstanding(&many).contains("default/d7 and 2 more"),
            "{}",
            outstanding(&many)
        );
    }
}
