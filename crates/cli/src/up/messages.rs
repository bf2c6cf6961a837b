//! Texts of `skein up`.

use crate::data_dir::DataDir;
use crate::station::Station;
use crate::terminal;
use agent::Ending;
use model::ids::NodeName;
use std::net::SocketAddr;
use std::path::Path;

pub const AT_ONCE: &str = "ended at once. Vehicles that are in the air go on by themselves, under their autopilots' own \
     failsafe; `skein up` on the same folder takes them up again";

pub const NOT_PAUSED: &str = "Not paused: nothing would take care of the vehicles. Open another terminal, or press Ctrl-C to land \
     the vehicles that are reached from here, and end";

pub fn how_to_use(station: &Station, folder: &Path, example: &Path) -> String {
    let option = if DataDir::usual().is_ok_and(|usual| usual.canonicalize().is_ok_and(|usual| usual == folder)) {
        String::new()
    } else {
        format!(" --station {}", terminal::shell_word(folder))
    };
    let nodes = match station.agents.nodes().as_slice() {
        [] => "No vehicle is reached from here (--node).".to_owned(),
        nodes => format!("Vehicles reached from here: {}.", list(nodes)),
    };
    format!(
        "Skein is up. {nodes} {}\n\
         Everything is kept in {}. In another terminal:\n\
         \x20 export KUBECONFIG={}\n\
         \x20 kubectl get nodes,swarms,drones\n\
         \x20 kubectl apply -f {}    # an example: vehicles that are ready TAKE OFF\n\
         \x20 skein{option} status\n\
         \x20 skein{option} map             # all of it on a live map, in a browser\n\
         \x20 skein{option} ground --all    # lands them, until `skein release --all`\n\
         Ctrl-C lands the vehicles that are reached from here, and ends.",
        elsewhere(station.listen(), &option),
        folder.display(),
        terminal::shell_word(station.api.kubeconfig()),
        terminal::shell_word(example),
    )
}

pub fn log_is_in(path: &Path) -> String {
    format!(
        "Below, a line for each change of the fleet (UTC). The log: {}",
        path.display()
    )
}

pub fn example_swarm(vehicles: usize) -> String {
    format!(
        "# An example, written again at each start of `skein up`: copy it before you change it. Apply it with `kubectl apply -f`.\n\
         apiVersion: skein.dev/v1alpha1\n\
         kind: Swarm\n\
         metadata:\n\
         \x20 name: example\n\
         \x20 namespace: default\n\
         spec:\n\
         \x20 replicas: {}                # so many vehicles fly; change it with `kubectl scale swarm/example --replicas=N`\n\
         \x20 template:\n\
         \x20   spec:\n\
         \x20     takeoffAltitudeMeters: 10   # above home\n\
         \x20     failsafe:\n\
         \x20       onCoordinatorLoss: Land   # what a vehicle does that has lost this station for so long\n\
         \x20       coordinatorLossSeconds: 60\n\
         \x20       reservePercent: 25        # at this charge it returns\n",
        vehicles.max(1)
    )
}

pub fn only_for_this_machine(listen: SocketAddr) -> String {
    format!(
        "--api-listen {listen}: the API is for its owner on this machine only; use an address such as 127.0.0.1:6443"
    )
}

fn elsewhere(listen: SocketAddr, option: &str) -> String {
    if listen.ip().is_loopback() {
        return format!("No other computer can reach it (--listen 0.0.0.0:{}).", listen.port());
    }
    format!("Agents elsewhere connect to {listen}, each with a certificate: skein enroll{option} NODE")
}

pub fn flight_wanted_from_before(drones: usize) -> String {
    format!(
        "NOTE: {} kept here from before: vehicles that are ready take off for {}. Keep them down with `skein ground --all` now, or `skein up --grounded` next time.",
        wants_flight(drones),
        it(drones)
    )
}

pub fn flight_still_wanted(drones: usize) -> String {
    format!(
        "{} kept: started again with this folder, vehicles take off for {} (not with --grounded).",
        wants_flight(drones),
        it(drones)
    )
}

fn wants_flight(drones: usize) -> String {
    match drones {
        1 => "1 Drone that wants flight is".to_owned(),
        n => format!("{n} Drones that want flight are"),
    }
}

const fn it(drones: usize) -> &'static str {
    if drones == 1 { "it" } else { "them" }
}

/// For vehicles of agents elsewhere, which this process does not land.
const ELSEWHERE: &str = "Vehicles of agents elsewhere go on as assigned, until the time is over after which they do what \
     their failsafe for a lost coordinator says (`kubectl explain swarm.spec.template.spec.failsafe`).";

pub fn landing(nodes: usize) -> String {
    if nodes == 0 {
        return format!("Asked to end. {ELSEWHERE}");
    }
    format!(
        "Asked to end: the vehicles that are reached from here land first. Ctrl-C again ends at once and leaves them to \
         their autopilots' own failsafe. {ELSEWHERE}"
    )
}

pub fn ended(node: &NodeName, ending: Ending) -> String {
    match ending {
        Ending::Landed => format!("{node}: down, or never up"),
        Ending::NotLanded => format!("{node}: NOT SEEN DOWN; search for it, its autopilot goes on by itself"),
    }
}

pub fn not_down(nodes: &[NodeName]) -> String {
    format!(
        "not observed landed and disarmed in time: {}; search for them, their autopilots go on by themselves",
        list(nodes)
    )
}

fn list(nodes: &[NodeName]) -> String {
    nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_others_reach_is_printed_with_how_to_admit_them() {
        let of = |listen: &str| elsewhere(listen.parse().unwrap(), " --station d");
        assert!(of("0.0.0.0:7").ends_with("skein enroll --station d NODE"));
        assert!(of("127.0.0.1:7").contains("--listen 0.0.0.0:7"));
    }

    #[test]
    fn the_example_is_a_swarm_of_all_vehicles_that_are_reached() {
        for (vehicles, replicas) in [(0, 1), (1, 1), (3, 3)] {
            let swarm: crds::Swarm = serde_saphyr::from_str(&example_swarm(vehicles)).unwrap();
            assert_eq!(swarm.spec.replicas, replicas);
            assert_eq!(swarm.spec.template.spec.failsafe.unwrap().reserve_percent, 25);
        }
    }

    #[test]
    fn one_drone_is_not_written_in_the_plural() {
        assert!(flight_still_wanted(1).starts_with("1 Drone that wants flight is kept"));
        assert!(flight_still_wanted(2).starts_with("2 Drones that want flight are kept"));
    }
}
