//! Link URLs: where the autopilot is reached.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// All forms but `auto`, as helps and errors list them.
pub const FORMS: &str = "serial:/dev/ttyACM0:921600, udp-listen:0.0.0.0:14540, udp:HOST:PORT or tcp:HOST:PORT";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkUrl {
    /// `device` such as `/dev/ttyACM0`, a stable `/dev/serial/by-id/...` name, or a pseudo-terminal.
    Serial { device: PathBuf, baud: u32 },
    /// Any serial device on which an autopilot beats.
    Auto {
        /// `None`: all usual rates.
        baud: Option<u32>,
    },
    /// Wait for the autopilot's datagrams on a local address and answer to their sender.
    UdpListen { local: HostPort },
    /// Send datagrams to the autopilot's address first.
    Udp { remote: HostPort },
    /// Connects by TCP.
    Tcp { remote: HostPort },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Serial { baud: Option<u32> },
    Network,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Name, IPv4 address, or IPv6 address without brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got:?} is not a link: {why}; use auto, auto:57600, {}", FORMS)]
pub struct BadLinkUrl {
    pub got: String,
    pub why: &'static str,
}

impl LinkUrl {
    #[must_use]
    pub const fn line(&self) -> Line {
        match self {
            Self::Serial { baud, .. } => Line::Serial { baud: Some(*baud) },
            Self::Auto { baud } => Line::Serial { baud: *baud },
            Self::UdpListen { .. } | Self::Udp { .. } | Self::Tcp { .. } => Line::Network,
        }
    }
}

impl FromStr for LinkUrl {
    type Err = BadLinkUrl;

    fn from_str(text: &str) -> Result<Self, BadLinkUrl> {
        parse(text).map_err(|why| BadLinkUrl {
            got: text.to_owned(),
            why,
        })
    }
}

fn parse(text: &str) -> Result<LinkUrl, &'static str> {
    if text == "auto" {
        return Ok(LinkUrl::Auto { baud: None });
    }
    let (scheme, rest) = text.split_once(':').ok_or("it names no transport")?;
    // As other programs write it. The path of a serial port begins with one.
    if matches!(scheme, "udp-listen" | "udp" | "tcp") && rest.starts_with("//") {
        return Err("there are no slashes behind the transport here");
    }
    match scheme {
        "serial" => {
            let (device, baud) = rest.rsplit_once(':').ok_or("the baud rate is missing")?;
            if device.is_empty() {
                return Err("the device is missing");
            }
            Ok(LinkUrl::Serial {
                device: device.into(),
                baud: baud_rate(baud)?,
            })
        }
        "auto" => Ok(LinkUrl::Auto {
            baud: Some(baud_rate(rest)?),
        }),
        "udp-listen" => Ok(LinkUrl::UdpListen {
            local: host_port(rest)?,
        }),
        "udp" => {
            let remote = host_port(rest)?;
            if remote.is_any_address() {
                return Err("nothing is sent to that address; to listen at it is udp-listen here");
            }
            Ok(LinkUrl::Udp { remote })
        }
        "tcp" => Ok(LinkUrl::Tcp {
            remote: host_port(rest)?,
        }),
        "udpin" => Err("what others call udpin is udp-listen here"),
        "udpout" => Err("what others call udpout is udp here"),
        "tcpout" => Err("what others call tcpout is tcp here"),
        "tcpin" => Err("a link does not listen by TCP; let the other end listen, or use UDP"),
        _ => Err("the transport is unknown"),
    }
}

fn baud_rate(text: &str) -> Result<u32, &'static str> {
    let baud = text.parse().ok().filter(|&baud| baud > 0);
    baud.ok_or("the baud rate is not a number above 0")
}

fn host_port(text: &str) -> Result<HostPort, &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("the port is missing")?;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner
            .strip_suffix(']')
            .ok_or("the bracket of the IPv6 address is not closed")?,
        None if host.contains(':') => return Err("an IPv6 address needs brackets"),
        None => host,
    };
    if host.is_empty() {
        return Err("the host is missing");
    }
    if host.contains(['/', ' ']) {
        return Err("the host is not a name or an address");
    }
    let port = port
        .parse()
        .ok()
        .filter(|&p| p > 0)
        .ok_or("the port is not a number from 1 to 65535")?;
    Ok(HostPort {
        host: host.to_owned(),
        port,
    })
}

impl HostPort {
    /// An address at which one listens, and that nobody has.
    fn is_any_address(&self) -> bool {
        self.host
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_unspecified())
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for LinkUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { device, baud } => write!(f, "serial:{}:{baud}", device.display()),
            Self::Auto { baud: None } => f.write_str("auto"),
            Self::Auto { baud: Some(baud) } => write!(f, "auto:{baud}"),
            Self::UdpListen { local } => write!(f, "udp-listen:{local}"),
            Self::Udp { remote } => write!(f, "udp:{remote}"),
            Self::Tcp { remote } => write!(f, "tcp:{remote}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_link_reads_and_prints_the_same() {
        for text in [
            "auto",
            "auto:57600",
            "serial:/dev/ttyACM0:921600",
            "serial:///dev/ttyACM0:57600",
            "serial:/dev/serial/by-id/usb-a:b-if00:57600",
            "serial:/dev/serial/by-path/pci-0000:00:14.0-usb-0:1.2:1.0-port0:57600",
            "serial:/host/dev/serial/by-path/platform-fd500000.pcie-pci-0000:01:00.0-usb-0:1.1:1.0:921600",
            "udp-listen:0.0.0.0:14540",
            "udp:127.0.0.1:14580",
            "udp:[::1]:14580",
            "tcp:sitl.example:5760",
        ] {
            let url: LinkUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), text);
        }
    }

    #[test]
    fn the_error_for_a_bad_link_names_the_fault_and_lists_the_forms() {
        for (text, why) in [
            ("", "it names no transport"),
            ("/dev/ttyACM0", "it names no transport"),
            ("bluetooth:x:1", "the transport is unknown"),
            ("serial:/dev/ttyACM0", "the baud rate is missing"),
            ("serial::57600", "the device is missing"),
            ("serial:/dev/ttyACM0:fast", "the baud rate is not a number above 0"),
            (
                "serial:/dev/serial/by-path/pci-0000:00:14.0-usb-0:1.2:1.0",
                "the baud rate is not a number above 0",
            ),
            ("auto:", "the baud rate is not a number above 0"),
            ("auto:/dev/ttyACM0", "the baud rate is not a number above 0"),
            ("serial:/dev/ttyACM0:0", "the baud rate is not a number above 0"),
            ("udp:host", "the port is missing"),
            ("udp::14550", "the host is missing"),
            ("tcp:host:0", "the port is not a number from 1 to 65535"),
            ("tcp:host:70000", "the port is not a number from 1 to 65535"),
            ("tcp:::1:5760", "an IPv6 address needs brackets"),
            ("tcp:host/x:14550", "the host is not a name or an address"),
            ("udp://host:14550", "there are no slashes behind the transport here"),
            ("udp://:14540", "there are no slashes behind the transport here"),
            ("udpin:0.0.0.0:14550", "what others call udpin is udp-listen here"),
            ("udpin://0.0.0.0:14540", "what others call udpin is udp-listen here"),
            ("udpout:10.0.0.2:14550", "what others call udpout is udp here"),
            (
                "tcpin:0.0.0.0:5760",
                "a link does not listen by TCP; let the other end listen, or use UDP",
            ),
            (
                "udp:0.0.0.0:14550",
                "nothing is sent to that address; to listen at it is udp-listen here",
            ),
            (
                "udp:[::]:14550",
                "nothing is sent to that address; to listen at it is udp-listen here",
            ),
        ] {
            let error = text.parse::<LinkUrl>().unwrap_err();
            assert_eq!(error.why, why, "{text}");
            let line = error.to_string();
            assert!(
                line.contains("serial:/dev/ttyACM0:921600") && line.contains("udp-listen:"),
                "{line}"
            );
            assert!(!line.contains('\n'));
        }
    }
}
