//! `--node NAME=LINK`: a vehicle that is reached from this machine.

use agent::LinkUrl;
use model::ids::NodeName;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLink {
    pub name: NodeName,
    pub link: LinkUrl,
}

impl FromStr for NodeLink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, link) = text
            .split_once('=')
            .ok_or("give the node as NAME=LINK, such as alpha=serial:/dev/ttyUSB0:57600")?;
        Ok(Self {
            name: NodeName::parse(name).map_err(|error| error.to_string())?,
            link: link
                .parse()
                .map_err(|error: <LinkUrl as FromStr>::Err| error.to_string())?,
        })
    }
}

impl fmt::Display for NodeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.link)
    }
}

/// Two agents on one autopilot would both command it.
pub fn each_once(nodes: &[NodeLink]) -> Result<(), String> {
    for (index, node) in nodes.iter().enumerate() {
        let before = nodes.get(..index).unwrap_or_default();
        if before.iter().any(|other| other.name == node.name) {
            return Err(format!(
                "--node: {} is given twice; every node needs its own name",
                node.name
            ));
        }
        if let Some(other) = before.iter().find(|other| same(&other.link, &node.link)) {
            return Err(format!(
                "--node: {} and {} have the same link {}; one autopilot has one agent",
                other.name, node.name, node.link
            ));
        }
    }
    Ok(())
}

/// Whether both certainly lead to one autopilot: a serial port has one, by any name and rate.
fn same(one: &LinkUrl, other: &LinkUrl) -> bool {
    match (one, other) {
        (LinkUrl::Serial { device: one, .. }, LinkUrl::Serial { device: other, .. }) => real(one) == real(other),
        _ => one == other,
    }
}

/// Resolves names such as /dev/serial/by-id/...; an absent device keeps its name.
fn real(device: &Path) -> PathBuf {
    device.canonicalize().unwrap_or_else(|_| device.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> NodeLink {
        text.parse().unwrap()
    }

    #[test]
    fn a_node_is_a_name_and_a_link() {
        let node = of("alpha=serial:/dev/ttyUSB0:57600");
        assert_eq!(node.name.as_str(), "alpha");
        assert_eq!(node.to_string(), "alpha=serial:/dev/ttyUSB0:57600");
    }

    #[test]
    fn faults_of_a_node_are_reported_with_what_to_write_instead() {
        for (text, expected) in [
            ("alpha", "NAME=LINK"),
            ("Alpha 1=udp:h:1", "is not a node name"),
            ("=udp:h:1", "is not a node name"),
            ("alpha=/dev/ttyUSB0", "use auto, auto:57600, serial:/dev/ttyACM0:921600"),
            ("alpha=serial:/dev/ttyUSB0", "the baud rate is missing"),
        ] {
            let refusal = text.parse::<NodeLink>().unwrap_err();
            assert!(refusal.contains(expected), "{text}: {refusal}");
        }
    }

    #[test]
    fn two_agents_never_share_a_name_or_an_autopilot() {
        let (a, b) = (of("alpha=udp:h:1"), of("bravo=udp:h:2"));
        assert_eq!(each_once(&[a.clone(), b.clone()]), Ok(()));
        let name = each_once(&[a.clone(), of("alpha=udp:h:2")]).unwrap_err();
        assert!(name.contains("alpha is given twice"), "{name}");
        let link = each_once(&[a, of("bravo=udp:h:1")]).unwrap_err();
        assert!(link.contains("alpha and bravo have the same link"), "{link}");
    }

    #[test]
    fn a_serial_port_has_one_autopilot_by_whichever_name_and_rate() {
        let folder = tempfile::tempdir().unwrap();
        let (device, by_id) = (folder.path().join("ttyUSB0"), folder.path().join("by-id"));
        std::fs::write(&device, "").unwrap();
        std::os::unix::fs::symlink(&device, &by_id).unwrap();
        let node = |name: &str, device: &Path, baud: u32| of(&format!("{name}=serial:{}:{baud}", device.display()));
        let a = node("alpha", &device, 57_600);
        for other in [node("bravo", &device, 115_200), node("bravo", &by_id, 57_600)] {
            let error = each_once(&[a.clone(), other]).unwrap_err();
            assert!(error.contains("alpha and bravo have the same link"), "{error}");
        }
        let missing = |name, number: u32| node(name, &folder.path().join(number.to_string()), 57_600);
        assert_eq!(each_once(&[a, missing("bravo", 1), missing("charlie", 2)]), Ok(()));
        assert!(each_once(&[missing("alpha", 1), missing("bravo", 1)]).is_err());
    }
}
