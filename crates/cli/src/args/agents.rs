//! Settings of the agents in this process besides their links: the same as those of `skein-agent`.

use agent::gcs::GcsFlags;
use agent::{flight_log, gcs};
use clap::Args;
use model::ids::NodeName;
use model::units::SystemId;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments about the agents in this process, of `skein up` and `skein demo`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agents in this process")]
pub struct AgentArgs {
    /// Where ground stations may connect to the vehicle of node NAME, such as alpha=udp:127.0.0.1:14550 or
    /// alpha=tcp:127.0.0.1:5760; may be repeated. Without NAME= where there is only one node. An address that other computers
    /// reach needs --gcs-allow-remote.
    #[arg(long, value_name = "[NAME=]PLACE")]
    pub gcs_listen: Vec<OfNode>,
    /// A ground station that waits for vehicles, such as QGroundControl: HOST:PORT; may be repeated. Every vehicle is shown
    /// there.
    #[arg(long, value_name = "HOST:PORT")]
    pub gcs_udp_to: Vec<String>,
    /// Ground stations watch and ask; what could change flight, parameters or missions does not pass.
    #[arg(long)]
    pub gcs_read_only: bool,
    /// Allow ground stations on other computers. Everybody who reaches the address can fly the vehicle, unless read-only.
    #[arg(long)]
    pub gcs_allow_remote: bool,
    /// Also send the heartbeat of a ground station to each vehicle, but only while the coordinator is in contact, so that the
    /// autopilot's own failsafe for the loss of its ground station acts when Skein is gone.
    #[arg(long)]
    pub gcs_heartbeat: bool,
    /// System id of that heartbeat; ArduPilot counts only the one in its MAV_GCS_SYSID (older: SYSID_MYGCS).
    #[arg(long, value_name = "ID", default_value_t = 255, value_parser = clap::value_parser!(u8).range(1..))]
    pub gcs_system: u8,
    /// Folder for flight logs (.tlog, every frame in both directions); without it nothing is logged.
    #[arg(long, value_name = "FOLDER")]
    pub flight_log_dir: Option<PathBuf>,
    /// Most that the flight logs of one node take together, in MiB; the oldest are removed. From 8 up.
    #[arg(long, value_name = "MIB", default_value_t = flight_log::Config::USUAL_MIB,
          value_parser = clap::value_parser!(u64).range(8..=1_048_576))]
    pub flight_log_max_mib: u64,
    /// Where Prometheus finds metrics of the fleet (http://HOST:PORT/metrics).
    #[arg(long, value_name = "HOST:PORT")]
    pub metrics_listen: Option<SocketAddr>,
}

/// Arguments about MAVLink signing, which simulated vehicles of the demo do without.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Agents in this process")]
pub struct SigningArgs {
    /// File with the key of MAVLink 2 signing of node NAME: 32 bytes, or 64 hexadecimal digits, readable by its owner alone; may be
    /// repeated. Without NAME= for every node that has none of its own. Frames to the autopilot are signed, and its own must be.
    #[arg(long, value_name = "[NAME=]FILE")]
    pub signing_key: Vec<OfNode>,
    /// Link id of these signatures; programs that use the same key need different ones.
    #[arg(long, value_name = "ID", default_value_t = 0)]
    pub signing_link_id: u8,
}

/// A value, perhaps for one node only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfNode {
    pub node: Option<NodeName>,
    pub value: String,
}

impl std::str::FromStr for OfNode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (node, value) = match text.split_once('=') {
            Some((node, value)) => (Some(NodeName::parse(node).map_err(|bad| bad.to_string())?), value),
            None => (None, text),
        };
        if value.is_empty() {
            return Err("nothing follows the node's name; write NAME=VALUE".to_owned());
        }
        let value = value.to_owned();
        Ok(Self { node, value })
    }
}

#[derive(Clone, Debug, Default)]
pub struct AgentSettings {
    pub gcs: gcs::Config,
    /// System id of the heartbeat that is sent as a ground station while the coordinator is in contact.
    pub ground_station: Option<SystemId>,
    pub flight_log: flight_log::Config,
    /// Key file and link id of MAVLink 2 signing.
    pub signing: Option<(PathBuf, u8)>,
}

impl AgentArgs {
    /// `all`: the nodes of this process.
    pub fn of(&self, node: &NodeName, all: &[NodeName], signing: &SigningArgs) -> Result<AgentSettings, String> {
        for named in self.gcs_listen.iter().chain(&signing.signing_key) {
            if let Some(name) = named.node.as_ref().filter(|name| !all.contains(name)) {
                return Err(format!(
                    "{name}={}: no vehicle of this process is named {name}; name one of: {}",
                    named.value,
                    list(all)
                ));
            }
        }
        let unnamed = self.gcs_listen.iter().find(|place| place.node.is_none());
        if let Some(place) = unnamed.filter(|_| all.len() > 1) {
            return Err(format!(
                "--gcs-listen {}: {} vehicles cannot be met at one place; say which with NAME={0}, or have all of them shown with \
                 --gcs-udp-to HOST:PORT",
                place.value,
                all.len()
            ));
        }
        let here = self
            .gcs_listen
            .iter()
            .filter(|place| place.node.as_ref().is_none_or(|n| n == node));
        let flags = GcsFlags {
            gcs_listen: here.map(|place| place.value.clone()).collect(),
            gcs_udp_to: self.gcs_udp_to.clone(),
            gcs_read_only: self.gcs_read_only,
            gcs_allow_remote: self.gcs_allow_remote,
            ..GcsFlags::default()
        };
        let keys = &signing.signing_key;
        let key = keys.iter().find(|key| key.node.as_ref() == Some(node));
        let key = key.or_else(|| keys.iter().find(|key| key.node.is_none()));
        Ok(AgentSettings {
            gcs: gcs::Config::try_from(flags)
                .map_err(|bad| bad.to_string().replace("SKEIN_GCS_LISTEN", "--gcs-listen"))?,
            ground_station: self.gcs_heartbeat.then_some(SystemId(self.gcs_system)),
            flight_log: flight_log::Config {
                folder: self.flight_log_dir.clone(),
                limit: self.flight_log_max_mib << 20,
            },
            signing: key.map(|key| (PathBuf::from(&key.value), signing.signing_link_id)),
        })
    }
}

fn list(nodes: &[NodeName]) -> String {
    nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::gcs::Place;

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    fn places(texts: &[&str], of: &str, all: &[&str]) -> Result<Vec<Place>, String> {
        let args = AgentArgs {
            gcs_listen: texts.iter().map(|text| text.parse().unwrap()).collect(),
            ..AgentArgs::default()
        };
        let all: Vec<NodeName> = all.iter().map(|name| node(name)).collect();
        let settings = args.of(&node(of), &all, &SigningArgs::default())?;
        Ok(settings.gcs.places)
    }

    #[test]
    fn each_vehicle_has_a_place_of_its_own_for_ground_stations() {
        let udp = |text: &str| Place::Udp(text.parse().unwrap());
        let two = ["alpha=udp:127.0.0.1:1", "bravo=udp:127.0.0.1:2"];
        assert_eq!(
            places(&two, "alpha", &["alpha", "bravo"]).unwrap(),
            [udp("127.0.0.1:1")]
        );
        assert_eq!(
            places(&two, "bravo", &["alpha", "bravo"]).unwrap(),
            [udp("127.0.0.1:2")]
        );
        assert_eq!(
            places(&["udp:127.0.0.1:1"], "alpha", &["alpha"]).unwrap(),
            [udp("127.0.0.1:1")]
        );
    }

    #[test]
    fn what_could_mean_several_vehicles_or_none_is_refused_with_what_to_write() {
        let error = places(&["udp:127.0.0.1:1"], "alpha", &["alpha", "bravo"]).unwrap_err();
        assert!(
            error.contains("NAME=udp:127.0.0.1:1") && error.contains("--gcs-udp-to"),
            "{error}"
        );
        let error = places(&["gamma=udp:127.0.0.1:1"], "alpha", &["alpha", "bravo"]).unwrap_err();
        assert!(error.ends_with("name one of: alpha, bravo"), "{error}");
        let error = places(&["alpha=udp:0.0.0.0:1"], "alpha", &["alpha"]).unwrap_err();
        assert!(error.contains("--gcs-allow-remote"), "{error}");
        assert!("alpha=".parse::<OfNode>().is_err());
    }

    #[test]
    fn a_key_that_is_named_for_a_node_counts_before_the_one_for_all() {
        let signing = SigningArgs {
            signing_key: vec!["all.key".parse().unwrap(), "bravo=b.key".parse().unwrap()],
            signing_link_id: 3,
        };
        let all = [node("alpha"), node("bravo")];
        let key = |name: &str| AgentArgs::default().of(&node(name), &all, &signing).unwrap().signing;
        assert_eq!(key("alpha"), Some(("all.key".into(), 3)));
        assert_eq!(key("bravo"), Some(("b.key".into(), 3)));
    }
}
