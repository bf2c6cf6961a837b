//! Texts of the demo between its pictures.

use super::SWARM;
use super::flights::Flights;
use super::stage::Stage;
use crate::station::Station;
use crate::terminal;
use std::time::Duration;

pub const LANDING: &str = "deleting the Swarm: all land (Ctrl-C again ends at once)";

pub fn landed_by_pilots(nodes: &[String]) -> String {
    let named = nodes
        .iter()
        .take(MAX_NAMED_NODES)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let more = match nodes.len().saturating_sub(MAX_NAMED_NODES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{named}{more}: in the hands of a pilot, whom Skein leaves in command; the pilot lands now")
}

pub const AT_ONCE: &str = "ended at once; the simulated vehicles are gone with it, wherever they were";

pub const INTERRUPTED: &str = "interrupted; all that flew has landed";

const MAX_NAMED_NODES: usize = 8;

pub fn boarding(wanted: usize, altitude: f64) -> String {
    let who = if wanted == 1 {
        "1 vehicle boots".to_owned()
    } else {
        format!("{wanted} vehicles boot")
    };
    format!("{who}; to be armed, taken off and held at {altitude} m (Ctrl-C lands)")
}

pub fn boots_faster(boot: f64, flight: f64) -> String {
    let then = if (flight - 1.0).abs() < f64::EPSILON {
        "in real time".to_owned()
    } else {
        format!("at {flight} times real time")
    };
    format!("    each boots at {boot} times real time until it knows its position; all after that is {then}")
}

pub fn all_hold(wanted: usize, after: Duration) -> String {
    format!(
        "all {wanted} hold, {} after the Swarm was applied",
        terminal::duration(after)
    )
}

pub fn things_to_try(station: &Station, drones: u16, altitude: f64) -> String {
    let skein = std::env::current_exe().map_or_else(|_| "skein".to_owned(), |path| terminal::shell_word(&path));
    format!(
        "The vehicles hold until Ctrl-C. Try, in another terminal:\n\
         \x20 export KUBECONFIG={} SKEIN_SERVER={}\n\
         \x20 kubectl get drones                        # what their own autopilots say\n\
         \x20 kubectl scale swarm/{SWARM} --replicas=1      # all but one land\n\
         \x20 {skein} map                               # all of it on a live map, in a browser\n\
         \x20 {skein} ground {SWARM}    # all land and stay down, until `release`\n\
         \x20 # A Swarm as you would apply it; with another altitude all go there, one after the other:\n\
         \x20 echo '{}' | kubectl apply --server-side --force-conflicts -f -\n",
        terminal::shell_word(station.api.kubeconfig()),
        station.server(),
        swarm(drones, altitude + 5.0),
    )
}

fn swarm(drones: u16, altitude: f64) -> String {
    format!(
        "{{apiVersion: skein.dev/v1alpha1, kind: Swarm, metadata: {{name: {SWARM}}}, spec: {{replicas: {drones}, template: {{spec: \
         {{takeoffAltitudeMeters: {}}}}}}}}}",
        altitude.min(120.0)
    )
}

pub fn not_flown(flights: &Flights) -> String {
    format!("not all vehicles came to hold: {}", others(flights, Stage::Flying))
}

pub fn not_landed(flights: &Flights) -> String {
    format!("not all vehicles landed: {}", others(flights, Stage::Landed))
}

fn others(flights: &Flights, stage: Stage) -> String {
    let others = flights.iter().filter(|(_, flight)| flight.reached(stage).is_none());
    let others: Vec<_> = others
        .map(|(node, flight)| format!("{node} is {} ({})", flight.stage.label(), flight.vehicle.message))
        .collect();
    let more = others.len().saturating_sub(MAX_NAMED_NODES);
    let mut text = others.into_iter().take(MAX_NAMED_NODES).collect::<Vec<_>>().join("; ");
    if more > 0 {
        text += &format!("; and {more} more");
    }
    if text.is_empty() {
        "all did by their agents' account, but the API does not say so".clone_into(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::Vehicle;

    #[test]
    fn the_screen_says_how_fast_vehicles_boot_and_how_fast_they_fly() {
        let said = boots_faster(4.0, 1.0);
        assert!(said.contains("boots at 4 times real time"), "{said}");
        assert!(said.ends_with("in real time"), "{said}");
        assert!(boots_faster(4.0, 0.5).ends_with("at 0.5 times real time"));
    }

    #[test]
    fn those_that_did_not_fly_are_named_with_the_reason() {
        let mut flights = Flights::default();
        let vehicle = |n: usize, truth: &str| Vehicle {
            node: format!("n{n}"),
            truth: truth.into(),
            activity: Some("Holding".into()),
            message: "Compass not healthy".into(),
            ..Vehicle::default()
        };
        flights.note(Duration::ZERO, &[vehicle(1, "InAir"), vehicle(2, "Disarmed")]);
        let text = not_flown(&flights);
        assert_eq!(
            text,
            "not all vehicles came to hold: n2 is booting (Compass not healthy)"
        );
        assert!(not_landed(&flights).contains("n1 is flying"));
    }
}
