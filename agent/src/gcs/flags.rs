//! Settings of guests, by flags and environment, checked.

use super::switch::Policy;
use clap::{Args, ValueEnum};
use link::LinkUrl;
use link::url::Line;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Bits on a serial line for each byte.
const BITS_PER_BYTE: u32 = 10;
/// A serial line of unknown speed is taken for the slowest in use.
const SLOWEST_BAUD: u32 = 57_600;
/// What guests may write when the autopilot is on a network, bytes per second.
const ON_NETWORK: u32 = 65_536;

/// Ground stations that connect to the agent.
#[derive(Args, Clone, Debug, Default)]
pub struct GcsFlags {
    /// Where ground stations may connect: udp:127.0.0.1:14550 or tcp:127.0.0.1:5760; may be repeated. An address that
    /// other computers reach needs --gcs-allow-remote.
    #[arg(long, env = "SKEIN_GCS_LISTEN", value_name = "PLACE", value_delimiter = ',')]
    pub gcs_listen: Vec<String>,
    /// A ground station that waits for us, such as QGroundControl: HOST:PORT; may be repeated.
    #[arg(long, env = "SKEIN_GCS_UDP_TO", value_name = "HOST:PORT", value_delimiter = ',')]
    pub gcs_udp_to: Vec<String>,
    /// Ground stations watch and ask; what could change flight, parameters or missions does not pass.
    #[arg(long, env = "SKEIN_GCS_READ_ONLY")]
    pub gcs_read_only: bool,
    /// Allow ground stations on other computers. Everybody who reaches the address can fly the vehicle, unless read-only.
    #[arg(long, env = "SKEIN_GCS_ALLOW_REMOTE")]
    pub gcs_allow_remote: bool,
    /// Whether the autopilot receives the heartbeats of the ground station in charge, so that its failsafe watches over that
    /// one: pass, the default, or hold, the default with --gcs-read-only. With --gcs-heartbeat they are always held.
    #[arg(long, env = "SKEIN_GCS_GUEST_HEARTBEATS")]
    pub gcs_guest_heartbeats: Option<Heartbeats>,
}

/// What becomes of the heartbeats of ground stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Heartbeats {
    /// The autopilot receives those of the one in charge.
    Pass,
    /// It receives none.
    Hold,
}

/// A place where guests and the agent meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Guests speak to us first, by UDP.
    Udp(SocketAddr),
    /// Guests connect to us by TCP.
    Tcp(SocketAddr),
    /// We speak first, by UDP, to this host and port.
    UdpTo(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp:{address}"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::UdpTo(address) => write!(f, "udp-to:{address}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Empty: no guests.
    pub places: Vec<Place>,
    /// Whether other computers reach some of them.
    pub remote: bool,
    pub policy: Policy,
    pub bytes_per_second: u32,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadGcs {
    #[error("SKEIN_GCS_LISTEN: {0:?} is no place to listen; use udp:127.0.0.1:14550 or tcp:127.0.0.1:5760")]
    Listen(String),
    #[error("SKEIN_GCS_UDP_TO: {0:?} is no address; use HOST:PORT, such as 127.0.0.1:14550")]
    UdpTo(String),
    #[error(
        "{0:?} is beyond this computer, and everybody there could fly the vehicle; use 127.0.0.1, or add --gcs-allow-remote"
    )]
    Remote(String),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            remote: false,
            policy: Policy {
                read_only: false,
                pass_heartbeats: true,
            },
            bytes_per_second: SLOWEST_BAUD / BITS_PER_BYTE / 2,
        }
    }
}

impl Config {
    /// Guests get half of a serial line. When the agent itself beats as a ground station for the coordinator, no guest does: the
    /// autopilot could not notice that the coordinator is lost.
    pub fn beside(self, link: &LinkUrl, agent_is_ground_station: bool) -> Self {
        let bytes_per_second = match link.line() {
            Line::Network => ON_NETWORK,
            Line::Serial { baud } => baud.unwrap_or(SLOWEST_BAUD) / BITS_PER_BYTE / 2,
        };
        let policy = Policy {
            pass_heartbeats: self.policy.pass_heartbeats && !agent_is_ground_station,
            ..self.policy
        };
        Self {
            policy,
            bytes_per_second,
            ..self
        }
    }
}

impl TryFrom<GcsFlags> for Config {
    type Error = BadGcs;

    /// The share of the line is that of the slowest; see [`Config::beside`].
    fn try_from(flags: GcsFlags) -> Result<Self, BadGcs> {
        let (mut places, mut remote) = (Vec::new(), false);
        for text in flags.gcs_listen.iter().filter(|text| !text.is_empty()) {
            let place = listen(text).ok_or_else(|| BadGcs::Listen(text.clone()))?;
            remote |= is_allowed(text, is_local(&place), flags.gcs_allow_remote)?;
            places.push(place);
        }
        for text in flags.gcs_udp_to.iter().filter(|text| !text.is_empty()) {
            let place = udp_to(text).ok_or_else(|| BadGcs::UdpTo(text.clone()))?;
            remote |= is_allowed(text, is_local(&place), flags.gcs_allow_remote)?;
            places.push(place);
        }
        let heartbeats = flags.gcs_guest_heartbeats.unwrap_or(if flags.gcs_read_only {
            Heartbeats::Hold
        } else {
            Heartbeats::Pass
        });
        let policy = Policy {
            read_only: flags.gcs_read_only,
            pass_heartbeats: heartbeats == Heartbeats::Pass,
        };
        Ok(Self {
            places,
            remote,
            policy,
            ..Self::default()
        })
    }
}

fn is_allowed(text: &str, local: bool, allow_remote: bool) -> Result<bool, BadGcs> {
    if local || allow_remote {
        Ok(!local)
    } else {
        Err(BadGcs::Remote(text.to_owned()))
    }
}

fn listen(text: &str) -> Option<Place> {
    let (kind, rest) = text.split_once(':')?;
    let rest = rest.replacen("localhost:", "127.0.0.1:", 1);
    let address = rest.parse().ok()?;
    match kind {
        "udp" => Some(Place::Udp(address)),
        "tcp" => Some(Place::Tcp(address)),
        _ => None,
    }
}

fn udp_to(text: &str) -> Option<Place> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_ok = !host.is_empty() && (bare.is_some() || !host.contains([':', '/']));
    let port_ok = port.parse::<u16>().is_ok_and(|port| port > 0);
    (host_ok && port_ok).then(|| Place::UdpTo(text.to_owned()))
}

fn is_local(place: &Place) -> bool {
    match place {
        Place::Udp(address) | Place::Tcp(address) => address.ip().is_loopback(),
        Place::UdpTo(text) => {
            let host = text.rsplit_once(':').map_or("", |(host, _)| host);
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
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
        gcs: GcsFlags,
    }

    fn config(flags: &[&str]) -> Result<Config, BadGcs> {
        let all = std::iter::once("program").chain(flags.iter().copied());
        Program::try_parse_from(all).unwrap().gcs.try_into()
    }

    #[test]
    fn without_flags_nobody_is_let_in() {
        assert_eq!(config(&[]), Ok(Config::default()));
        assert_eq!(Config::default().places, []);
    }

    #[test]
    fn places_are_taken_in_all_their_forms() {
        let flags = [
            "--gcs-listen=udp:127.0.0.1:14550",
            "--gcs-listen=tcp:localhost:5760,udp:[::1]:14551",
            "--gcs-udp-to=127.0.0.1:14550",
            "--gcs-udp-to=localhost:14551,[::1]:14552",
        ];
        let config = config(&flags).unwrap();
        assert_eq!(config.places.len(), 6);
        assert_eq!(config.places[1], Place::Tcp("127.0.0.1:5760".parse().unwrap()));
        assert!(!config.remote);
    }

    #[test]
    fn an_address_that_others_reach_must_be_allowed() {
        for flag in [
            "--gcs-listen=udp:0.0.0.0:14550",
            "--gcs-listen=tcp:192.0.2.1:5760",
            "--gcs-listen=tcp:[::]:5760",
            "--gcs-udp-to=192.0.2.1:14550",
            "--gcs-udp-to=laptop:14550",
        ] {
            let refused = config(&[flag]).unwrap_err();
            assert!(matches!(refused, BadGcs::Remote(_)), "{flag}: {refused}");
            assert!(refused.to_string().contains("--gcs-allow-remote"));
            assert!(config(&[flag, "--gcs-allow-remote"]).unwrap().remote);
        }
    }

    #[test]
    fn what_is_no_place_is_one_line_that_shows_one() {
        for flag in [
            "--gcs-listen=14550",
            "--gcs-listen=udp:14550",
            "--gcs-listen=serial:127.0.0.1:1",
            "--gcs-listen=udp:laptop:14550",
            "--gcs-udp-to=14550",
            "--gcs-udp-to=:14550",
            "--gcs-udp-to=laptop:0",
            "--gcs-udp-to=udp:laptop:14550",
        ] {
            let line = config(&[flag, "--gcs-allow-remote"]).unwrap_err().to_string();
            assert!(
                line.contains("127.0.0.1:14550") && !line.contains('\n'),
                "{flag}: {line}"
            );
        }
    }

    #[test]
    fn onlookers_heartbeats_are_held_unless_that_is_configured() {
        for (flags, pass_heartbeats) in [
            (&[][..], true),
            (&["--gcs-guest-heartbeats=hold"], false),
            (&["--gcs-read-only"], false),
            (&["--gcs-read-only", "--gcs-guest-heartbeats=pass"], true),
        ] {
            assert_eq!(
                config(flags).unwrap().policy.pass_heartbeats,
                pass_heartbeats,
                "{flags:?}"
            );
        }
    }

    #[test]
    fn no_guest_beats_beside_an_agent_that_beats_for_the_coordinator() {
        let link = "serial:/dev/ttyACM0:921600".parse().unwrap();
        for (agent_beats, guests_beat) in [(false, true), (true, false)] {
            let config = Config::default().beside(&link, agent_beats);
            assert_eq!(config.policy.pass_heartbeats, guests_beat);
        }
    }

    #[test]
    fn guests_get_half_of_a_serial_line() {
        let share = |link: &str| Config::default().beside(&link.parse().unwrap(), false).bytes_per_second;
        assert_eq!(share("serial:/dev/ttyACM0:921600"), 46_080);
        assert_eq!(share("serial:/dev/ttyUSB0:57600"), 2880);
        assert_eq!(share("udp:127.0.0.1:14580"), 65_536);
        assert_eq!(share("auto:921600"), 46_080);
        assert_eq!(share("auto"), 2880, "it may be a slow one");
    }
}
