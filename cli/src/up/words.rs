//! What `skein up` says to the person who started it.
//!
//! Owns: the sentences. Must not: print them.

use crate::say;
use crate::station::Station;
use agent::Ending;
use fleet::ids::NodeName;
use std::net::SocketAddr;
use std::path::Path;

/// The end at once.
pub const AT_ONCE: &str = "ended at once. Vehicles that are in the air go on by themselves, under their autopilots' own \
     failsafe; `skein up` on the same folder takes them up again";

/// Ctrl-Z.
pub const NOT_PAUSED: &str = "Not paused: nobody would look after the vehicles. Open another terminal, or press Ctrl-C to land \
     the vehicles that are reached from here, and end";

/// The station can be used.
#[must_use]
pub fn how_to_use(station: &Station, folder: &Path) -> String {
    let server = station.server();
    let option = if server == "http://127.0.0.1:50051" {
        String::new()
    } else {
        format!(" --server {server}")
    };
    let nodes = match station.agents.nodes().as_slice() {
        [] => "No vehicle is reached from here (--node).".to_owned(),
        nodes => format!("Vehicles reached from here: {}.", list(nodes)),
    };
    format!(
        "Skein is up. {nodes} Agents elsewhere connect to {server} (SKEIN_COORDINATOR).\n\
         Everything is kept in {}. In another terminal:\n\
         \x20 export KUBECONFIG={}\n\
         \x20 kubectl get nodes,swarms,drones\n\
         \x20 skein{option} status\n\
         Ctrl-C lands the vehicles that are reached from here, and ends.",
        folder.display(),
        say::shell_word(station.api.kubeconfig()),
    )
}

/// The API was to be opened to others.
#[must_use]
pub fn only_for_this_machine(listen: SocketAddr) -> String {
    format!(
        "--api-listen {listen}: the API is for its owner on this machine only; use an address such as 127.0.0.1:6443"
    )
}

/// The uplink can be reached by others.
#[must_use]
pub fn open_port(listen: SocketAddr) -> String {
    format!(
        "WARNING: {listen} is open to the network, without encryption and without authentication: whoever reaches it can \
         fly or ground these vehicles. Use it on a network that you trust, and close it otherwise (--listen 127.0.0.1:{}).",
        listen.port()
    )
}

/// Objects of an earlier run wish vehicles into the air.
#[must_use]
pub fn wishes_from_before(drones: usize) -> String {
    format!(
        "NOTE: {} kept here from before: vehicles that are ready take off for {}. Keep them down with `skein ground --all` now, or `skein up --grounded` next time.",
        wish(drones),
        it(drones)
    )
}

/// The same, at the end.
#[must_use]
pub fn wishes_remain(drones: usize) -> String {
    format!(
        "{} kept: started again with this folder, vehicles take off for {} (not with --grounded).",
        wish(drones),
        it(drones)
    )
}

fn wish(drones: usize) -> String {
    match drones {
        1 => "1 Drone that wishes to fly is".to_owned(),
        n => format!("{n} Drones that wish to fly are"),
    }
}

const fn it(drones: usize) -> &'static str {
    if drones == 1 { "it" } else { "them" }
}

/// What becomes of vehicles that are not ours to land.
const ELSEWHERE: &str = "Vehicles of agents elsewhere go on as assigned, until the time is over after which they do what \
     their failsafe for a lost coordinator says (`kubectl explain swarm.spec.template.spec.failsafe`).";

/// The end in order begins.
#[must_use]
pub fn landing(nodes: usize) -> String {
    if nodes == 0 {
        return format!("Asked to end. {ELSEWHERE}");
    }
    format!(
        "Asked to end: the vehicles that are reached from here land first. Ctrl-C again ends at once and leaves them to \
         their autopilots' own failsafe. {ELSEWHERE}"
    )
}

/// An agent has ended.
#[must_use]
pub fn ended(node: &NodeName, ending: Ending) -> String {
    match ending {
        Ending::Settled => format!("{node}: down, or never up"),
        Ending::NotSettled => format!("{node}: NOT SEEN DOWN; look for it, its autopilot goes on by itself"),
    }
}

/// Not all came down.
#[must_use]
pub fn not_down(nodes: &[NodeName]) -> String {
    format!(
        "not seen landed and disarmed in time: {}; look for them, their autopilots go on by themselves",
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
    fn an_open_port_is_warned_of_with_the_way_to_close_it() {
        let words = open_port("0.0.0.0:7".parse().unwrap());
        assert!(
            words.contains("without authentication") && words.contains("--listen 127.0.0.1:7"),
            "{words}"
        );
    }

    #[test]
    fn one_drone_is_not_told_as_many() {
        assert!(wishes_remain(1).starts_with("1 Drone that wishes to fly is kept"));
        assert!(wishes_remain(2).starts_with("2 Drones that wish to fly are kept"));
    }
}
