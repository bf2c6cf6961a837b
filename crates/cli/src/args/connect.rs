//! The command line of `skein connect`.

use super::WhereArgs;
use super::drone::{ObjectKey, ObjectRef};
use crate::failure::Failure;
use clap::{ArgGroup, Args};
use fleet::planning::selector::Selector;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Default of QGroundControl and most others.
const USUAL_UDP_PORT: u16 = 14550;

/// Arguments of `skein connect`.
#[derive(Debug, Args)]
#[group(skip)]
#[command(group = ArgGroup::new("which").required(true).args(["drones", "selector"]))]
pub struct ConnectArgs {
    /// Which coordinator.
    #[command(flatten)]
    pub place: WhereArgs,
    /// The Drones, each as NAME or NAMESPACE/NAME.
    #[arg(value_name = "DRONE")]
    pub drones: Vec<ObjectRef>,
    /// Drones with these labels, their own or their Swarm's, as kubectl's -l has it; those that come later, too.
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<Selector>,
    /// Namespace of the Drones.
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with = "all_namespaces")]
    pub namespace: Option<String>,
    /// With --selector: in all namespaces; this is the default.
    #[arg(short = 'A', long, requires = "selector")]
    pub all_namespaces: bool,
    /// Sends to a ground station that listens there, as QGroundControl does: udp:HOST:PORT. May be repeated.
    ///
    /// udp:127.0.0.1:14550 where neither --to nor --listen is given. Each port has at most 250 vehicles. More of them are on the next higher
    /// port, and so on.
    #[arg(long, value_name = "PORT", value_delimiter = ',', value_parser = Port::sent_to)]
    pub to: Vec<Port>,
    /// Waits there for ground stations that connect: tcp:HOST:PORT. May be repeated.
    #[arg(long, value_name = "PORT", value_delimiter = ',')]
    pub listen: Vec<Port>,
    /// Only watches the vehicles: nothing that a ground station sends reaches them.
    #[arg(long)]
    pub watch_only: bool,
    /// Flies the vehicle by a program of yours, within the volume of its Drone's spec.external, and no more than that.
    ///
    /// Passed on are position and velocity set-points, GUIDED, OFFBOARD and Hold, and what only asks; each HEARTBEAT and each set-point renews
    /// the lease. Nothing arms, lands, or changes the vehicle.
    #[arg(long, conflicts_with_all = ["watch_only", "selector"])]
    pub control: bool,
    /// Allows a port of another computer, or one that others reach. Everybody who reaches it can do with the vehicles what you may.
    #[arg(long)]
    pub allow_remote: bool,
}

/// Where a ground station and we meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Port {
    /// The address at which it listens.
    Udp {
        /// Without brackets.
        host: String,
        /// Port of the first 250 vehicles.
        port: u16,
    },
    /// The address at which we listen.
    Tcp(SocketAddr),
}

impl ConnectArgs {
    /// `before`: namespace named before the command; `usual`: default namespace.
    pub fn named(
        &mut self,
        before: Option<String>,
        usual: impl FnOnce() -> Option<String>,
    ) -> Result<Vec<ObjectKey>, Failure> {
        if before.is_some() && self.all_namespaces {
            return Err(Failure::Usage(
                "-n and -A exclude one another: leave out one of them".to_owned(),
            ));
        }
        self.namespace = self.namespace.take().or(before);
        let usual = if self.namespace.is_none() && self.selector.is_none() {
            usual()
        } else {
            None
        };
        let mut keys = Vec::new();
        for drone in &self.drones {
            let key = drone
                .key(self.namespace.as_deref(), usual.as_deref())
                .map_err(Failure::Usage)?;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    pub fn ports(&self) -> Vec<Port> {
        let named: Vec<Port> = self.to.iter().chain(&self.listen).cloned().collect();
        if named.is_empty() { vec![Port::usual()] } else { named }
    }

    /// For a form of `--listen` that will be removed.
    pub fn hint(&self) -> Option<String> {
        let old = self.listen.iter().find(|port| matches!(port, Port::Udp { .. }))?;
        Some(format!(
            "--listen {old} sends there and does not listen: write --to {old}; a later version refuses the old form"
        ))
    }

    /// Refuses a port that others reach without `--allow-remote`.
    pub fn check_ports(&self) -> Result<(), Failure> {
        match self.to.iter().chain(&self.listen).find(|port| !port.is_local()) {
            Some(port) if !self.allow_remote => Err(Failure::Usage(format!(
                "{port} is beyond this computer, and everybody there could do with the vehicles what you may; use 127.0.0.1, or add \
                 --allow-remote"
            ))),
            _ => Ok(()),
        }
    }
}

impl Port {
    fn usual() -> Self {
        Self::Udp {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: USUAL_UDP_PORT,
        }
    }

    fn sent_to(text: &str) -> Result<Self, String> {
        match text.parse::<Self>()? {
            Self::Tcp(address) => Err(format!(
                "a ground station connects by TCP, nothing is sent there before: write --listen tcp:{address}"
            )),
            udp @ Self::Udp { .. } => Ok(udp),
        }
    }

    pub const fn option(&self) -> &'static str {
        match self {
            Self::Udp { .. } => "--to",
            Self::Tcp(_) => "--listen",
        }
    }

    /// Group `index`, from 0, has 250 vehicles. Errors: no such port.
    pub fn of_group(&self, index: usize) -> Result<Self, Failure> {
        let next = |port: u16| {
            let next = u16::try_from(index).ok().and_then(|index| port.checked_add(index));
            next.ok_or_else(|| {
                Failure::Failed(format!(
                    "there is no port {index} above {port}; choose a lower one with {}",
                    self.option()
                ))
            })
        };
        Ok(match self {
            Self::Udp { host, port } => Self::Udp {
                host: host.clone(),
                port: next(*port)?,
            },
            Self::Tcp(address) => Self::Tcp(SocketAddr::new(address.ip(), next(address.port())?)),
        })
    }

    fn is_local(&self) -> bool {
        match self {
            Self::Udp { host, .. } => host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
            Self::Tcp(address) => address.ip().is_loopback(),
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp { host, port } if host.contains(':') => write!(f, "udp:[{host}]:{port}"),
            Self::Udp { host, port } => write!(f, "udp:{host}:{port}"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is no port of a ground station; use udp:127.0.0.1:14550 or tcp:127.0.0.1:5760");
        let (kind, rest) = text.split_once(':').ok_or_else(bad)?;
        let (host, port) = rest.rsplit_once(':').ok_or_else(bad)?;
        let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(bad)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        match kind {
            "udp" if !host.is_empty() && !host.contains('/') && (bare.is_some() || !host.contains(':')) => {
                Ok(Self::Udp {
                    host: host.to_owned(),
                    port,
                })
            }
            "tcp" => {
                let host = if host == "localhost" { "127.0.0.1" } else { host };
                let ip: IpAddr = host.parse().map_err(|_| bad())?;
                Ok(Self::Tcp(SocketAddr::new(ip, port)))
            }
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: ConnectArgs,
    }

    fn args(words: &[&str]) -> ConnectArgs {
        Program::try_parse_from([&["skein"], words].concat()).unwrap().args
    }

    #[test]
    fn a_port_is_read_in_all_its_forms_and_printed_as_it_was_given() {
        for text in [
            "udp:127.0.0.1:14550",
            "udp:[::1]:14550",
            "udp:laptop:14550",
            "tcp:127.0.0.1:5760",
            "tcp:[::1]:5760",
        ] {
            assert_eq!(text.parse::<Port>().unwrap().to_string(), text);
        }
        assert_eq!(
            "tcp:localhost:1".parse::<Port>().unwrap().to_string(),
            "tcp:127.0.0.1:1"
        );
        for text in [
            "14550",
            "udp:14550",
            "udp::14550",
            "udp:a:0",
            "tcp:laptop:1",
            "serial:/dev/x:1",
            "udp:::1:7",
        ] {
            assert!(
                text.parse::<Port>().unwrap_err().contains("udp:127.0.0.1:14550"),
                "{text}"
            );
        }
    }

    #[test]
    fn frames_are_sent_to_a_station_by_udp_and_a_station_is_awaited_by_tcp() {
        let ports = |words: &[&str]| {
            let args = args(&[&["alpha"], words].concat());
            let ports: Vec<String> = args.ports().iter().map(ToString::to_string).collect();
            (ports, args.hint())
        };
        assert_eq!(ports(&[]), (vec!["udp:127.0.0.1:14550".to_owned()], None));
        assert_eq!(
            ports(&["--listen", "tcp:127.0.0.1:5760", "--to", "udp:127.0.0.1:14551"]),
            (
                vec!["udp:127.0.0.1:14551".to_owned(), "tcp:127.0.0.1:5760".to_owned()],
                None
            )
        );
        let refused = Program::try_parse_from(["skein", "alpha", "--to", "tcp:127.0.0.1:5760"]);
        let words = refused.err().unwrap().to_string();
        assert!(words.contains("--listen tcp:127.0.0.1:5760"), "{words}");
    }

    #[test]
    fn the_old_form_that_sends_still_does_with_a_line_that_says_how_it_is_written_now() {
        let args = args(&["alpha", "--listen=udp:127.0.0.1:14551"]);
        assert_eq!(args.ports()[0].to_string(), "udp:127.0.0.1:14551");
        let hint = args.hint().unwrap();
        assert!(
            hint.contains("write --to udp:127.0.0.1:14551") && !hint.contains('\n'),
            "{hint}"
        );
    }

    #[test]
    fn a_port_that_others_reach_has_to_be_meant() {
        for (option, port) in [
            ("--listen", "tcp:0.0.0.0:5760"),
            ("--listen", "tcp:[::]:5760"),
            ("--listen", "udp:192.0.2.7:14550"),
            ("--to", "udp:192.0.2.7:14550"),
            ("--to", "udp:laptop:14550"),
        ] {
            let refused = args(&["alpha", option, port]).check_ports().unwrap_err().to_string();
            assert!(refused.contains("--allow-remote"), "{refused}");
            args(&["alpha", option, port, "--allow-remote"]).check_ports().unwrap();
        }
        args(&["alpha"]).check_ports().unwrap();
    }

    #[test]
    fn the_vehicles_beyond_250_are_on_the_next_port() {
        let port: Port = "udp:127.0.0.1:65534".parse().unwrap();
        assert_eq!(port.of_group(1).unwrap().to_string(), "udp:127.0.0.1:65535");
        assert!(port.of_group(2).unwrap_err().to_string().contains("choose a lower one"));
    }

    #[test]
    fn drones_are_named_once_in_the_namespace_that_was_said() {
        let keys = args(&["a", "field/b", "field/a"])
            .named(None, || Some("field".into()))
            .unwrap();
        assert_eq!(
            keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["field/a", "field/b"]
        );
        assert!(Program::try_parse_from(["skein"]).is_err(), "which ones?");
        assert!(
            Program::try_parse_from(["skein", "a", "-l", "x=y"]).is_err(),
            "one or the other"
        );
        assert!(args(&["-l", "x=y", "-A"]).named(Some("n".into()), || None).is_err());
    }
}
