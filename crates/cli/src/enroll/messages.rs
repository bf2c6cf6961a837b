//! Texts of `skein enroll`.

use super::Files;
use crate::terminal::shell_word;
use std::net::SocketAddr;
use trust::{Peer, Validity};

/// Year in which a certificate without an end expires.
const WITHOUT_END: i16 = 9999;

pub fn name(peer: &Peer) -> String {
    match peer {
        Peer::Agent { node } => node.to_string(),
        Peer::Operator { name } => name.clone(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// HOST:PORT.
    At(String),
    /// On this port.
    OnlyFromHere(u16),
    Unknown,
}

impl Address {
    /// `listen`: a socket address, or already an address for others.
    pub fn from_elsewhere(listen: &str) -> Self {
        let Ok(address) = listen.parse::<SocketAddr>() else {
            return Self::At(listen.to_owned());
        };
        if address.ip().is_loopback() {
            return Self::OnlyFromHere(address.port());
        }
        if !address.ip().is_unspecified() {
            return Self::At(listen.to_owned());
        }
        let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        let host = host.trim();
        Self::At(format!(
            "{}:{}",
            if host.is_empty() { "HOST" } else { host },
            address.port()
        ))
    }

    fn text(&self) -> String {
        match self {
            Self::At(address) => address.clone(),
            Self::OnlyFromHere(port) => format!("HOST:{port}"),
            Self::Unknown => "HOST:50051".to_owned(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::At(_) => String::new(),
            Self::OnlyFromHere(port) => format!(
                "\nNOTE: the ground station listens on this computer only, and no other reaches it: end it, and start it with \
                 `skein up --listen 0.0.0.0:{port}`. HOST is the name or address of this computer."
            ),
            Self::Unknown => "\nHOST:50051 is where the coordinator is reached from there; say it with --coordinator HOST:PORT to have it \
                 in this command."
                .to_owned(),
        }
    }
}

pub fn enrolled(peer: &Peer, files: &Files, address: &Address, life: Validity) -> String {
    let end = end(life);
    let hint = address.hint();
    let address = address.text();
    let [authority, certificate, key] = [&files.authority, &files.certificate, &files.key].map(|path| shell_word(path));
    match peer {
        Peer::Agent { node } => format!(
            "Node {node} is enrolled: {certificate}, {key} and {authority}, {end}. Take them to its companion computer, and start there, \
             with its own paths and link:\n\
             \x20 skein-agent --node {node} --link serial:/dev/ttyACM0:921600 --coordinator https://{address} \\\n\
             \x20   --coordinator-ca {authority} --client-cert {certificate} --client-key {key}\n\
             Everybody who has {key} can speak for {node}. To take it back: skein enroll --revoke {node}{hint}"
        ),
        Peer::Operator { name } => format!(
            "{name} is enrolled as an operator: {certificate}, {key} and {authority}, {end}:\n\
             \x20 skein --server https://{address} --server-ca {authority} --client-cert {certificate} --client-key {key} status\n\
             Everybody who has {key} may ground, release and kill. To take it back: skein enroll --revoke --operator {name}{hint}"
        ),
    }
}

fn end(life: Validity) -> String {
    match jiff::Timestamp::try_from(life.not_after) {
        Ok(at) => {
            let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
            if date.year() >= WITHOUT_END {
                "good without end".to_owned()
            } else {
                format!("good until {date}")
            }
        }
        Err(_) => "good without end".to_owned(),
    }
}

pub fn revoked(peer: &Peer, count: usize) -> String {
    let name = name(peer);
    match count {
        0 => format!("{name} has no certificate that counts; nothing was changed"),
        1 => format!("1 certificate of {name} counts no more; the coordinator knows within seconds"),
        n => format!("{n} certificates of {name} count no more; the coordinator knows within seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::NodeName;
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_command_can_be_copied_and_shows_until_when_it_works() {
        let peer = Peer::agent(NodeName::parse("alpha").unwrap());
        let files = Files::of(&peer, Path::new("out dir"));
        let life = Validity::of(UNIX_EPOCH, Duration::from_secs(86_400));
        let text = enrolled(&peer, &files, &Address::At("10.0.0.1:7".into()), life);
        assert!(text.contains("--coordinator https://10.0.0.1:7 "), "{text}");
        assert!(text.contains("--client-key 'out dir/agent.key'"), "{text}");
        assert!(text.contains("good until 1970-01-02"), "{text}");
        let text = enrolled(&peer, &files, &Address::Unknown, Validity::any_time());
        assert!(
            text.contains("good without end") && text.contains("https://HOST:50051"),
            "{text}"
        );
    }

    #[test]
    fn what_listens_on_one_address_is_reached_there() {
        let of = Address::from_elsewhere;
        assert_eq!(of("10.0.0.1:7"), Address::At("10.0.0.1:7".into()));
        for everywhere in ["0.0.0.0:7", "[::]:7"] {
            let text = of(everywhere).text();
            assert!(text.ends_with(":7") && !text.starts_with(['0', '[']), "{text}");
        }
    }

    #[test]
    fn another_computer_never_gets_a_loopback_address() {
        for here in ["127.0.0.1:50051", "[::1]:50051"] {
            let peer = Peer::agent(NodeName::parse("alpha").unwrap());
            let files = Files::of(&peer, Path::new("alpha"));
            let text = enrolled(&peer, &files, &Address::from_elsewhere(here), Validity::any_time());
            assert!(
                text.contains("--coordinator https://HOST:50051") && text.contains("`skein up --listen 0.0.0.0:50051`"),
                "{text}"
            );
            assert!(!text.contains("127.0.0.1") && !text.contains("[::1]"), "{text}");
        }
    }
}
