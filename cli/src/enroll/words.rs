//! What `skein enroll` says.
//!
//! Owns: the sentences, and the agent's command line. Must not: print them.

use super::Files;
use crate::say::shell_word;
use trust::{Peer, Validity};

/// The last year that a certificate can name; it means without end.
const WITHOUT_END: i16 = 9999;

/// The name of a holder.
#[must_use]
pub fn name(peer: &Peer) -> String {
    match peer {
        Peer::Agent { node } => node.to_string(),
        Peer::Operator { name } => name.clone(),
    }
}

/// HOST:PORT by which another computer reaches what listens on `listen`.
#[must_use]
pub fn from_elsewhere(listen: &str) -> String {
    let everywhere = ["0.0.0.0:", "[::]:"].iter().find_map(|all| listen.strip_prefix(all));
    match everywhere {
        None => listen.to_owned(),
        Some(port) => {
            let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
            let host = host.trim();
            format!("{}:{port}", if host.is_empty() { "HOST" } else { host })
        }
    }
}

/// A certificate was made. `address`: where the coordinator is reached, if that is known.
#[must_use]
pub fn enrolled(peer: &Peer, files: &Files, address: Option<&str>, life: Validity) -> String {
    let end = end(life);
    let address = address.unwrap_or("HOST:50051");
    let [authority, certificate, key] = [&files.authority, &files.certificate, &files.key].map(|path| shell_word(path));
    match peer {
        Peer::Agent { node } => format!(
            "Node {node} is enrolled: {certificate}, {key} and {authority}, {end}. Take them to its companion computer, and start there, \
             with its own paths and link:\n\
             \x20 skein-agent --node {node} --link serial:/dev/ttyACM0:921600 --coordinator https://{address} \\\n\
             \x20   --coordinator-ca {authority} --client-cert {certificate} --client-key {key}\n\
             Whoever has {key} can speak for {node}. To take it back: skein enroll --revoke {node}"
        ),
        Peer::Operator { name } => format!(
            "{name} is enrolled as an operator: {certificate}, {key} and {authority}, {end}:\n\
             \x20 skein --server https://{address} --server-ca {authority} --client-cert {certificate} --client-key {key} status\n\
             Whoever has {key} may ground, release and kill. To take it back: skein enroll --revoke --operator {name}"
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

/// Certificates count no more.
#[must_use]
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
    use fleet::ids::NodeName;
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn the_command_can_be_copied_and_tells_until_when_it_works() {
        let peer = Peer::agent(NodeName::parse("alpha").unwrap());
        let files = Files::of(&peer, Path::new("out dir"));
        let life = Validity::of(UNIX_EPOCH, Duration::from_secs(86_400));
        let told = enrolled(&peer, &files, Some("10.0.0.1:7"), life);
        assert!(told.contains("--coordinator https://10.0.0.1:7 "), "{told}");
        assert!(told.contains("--client-key 'out dir/agent.key'"), "{told}");
        assert!(told.contains("good until 1970-01-02"), "{told}");
        let told = enrolled(&peer, &files, None, Validity::any_time());
        assert!(
            told.contains("good without end") && told.contains("https://HOST:50051"),
            "{told}"
        );
    }

    #[test]
    fn what_listens_on_one_address_is_reached_there() {
        assert_eq!(from_elsewhere("10.0.0.1:7"), "10.0.0.1:7");
        assert!(from_elsewhere("0.0.0.0:7").ends_with(":7") && !from_elsewhere("0.0.0.0:7").starts_with("0."));
    }
}
