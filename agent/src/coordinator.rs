//! The coordinator, by the agent's settings: where it is, and how both show each other who they are.

use crate::credentials::{Credentials, Files, Proof};
use crate::network::Network;
use clap::Args;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

/// Flags about the coordinator.
#[derive(Clone, Debug, Default, Args)]
pub struct CoordinatorFlags {
    /// The coordinator: https://HOST:PORT.
    #[arg(long, env = "SKEIN_COORDINATOR", value_name = "URL")]
    pub coordinator: Option<String>,
    /// File with the authority that signs the coordinator's certificate (PEM): ConfigMap `skein-ca`, or ca.crt of `skein enroll`.
    /// This and the next three are read again for each connection.
    #[arg(long, env = "SKEIN_COORDINATOR_CA", value_name = "FILE")]
    pub coordinator_ca: Option<PathBuf>,
    /// File with the token of the Pod's ServiceAccount, for audience `skein-coordinator`: who this agent is, in a cluster.
    #[arg(long, env = "SKEIN_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// File with the certificate that `skein enroll` made for this node (PEM): who this agent is, outside a cluster.
    #[arg(long, env = "SKEIN_CLIENT_CERT", value_name = "FILE")]
    pub client_cert: Option<PathBuf>,
    /// File with the key of that certificate (PEM).
    #[arg(long, env = "SKEIN_CLIENT_KEY", value_name = "FILE")]
    pub client_key: Option<PathBuf>,
    /// Allows http:// across a network: everybody on it can then fly this vehicle.
    #[arg(long, env = "SKEIN_INSECURE_PLAINTEXT")]
    pub insecure_plaintext: bool,
}

#[derive(Clone, Debug)]
pub struct Coordinator {
    /// As given, for the log.
    pub address: String,
    /// HOST:PORT, to dial.
    pub dial: String,
    pub security: Security,
    pub network: Network,
}

#[derive(Clone, Debug)]
pub enum Security {
    Plain,
    Files(Files),
    /// In memory: the coordinator is in this process.
    Held(Credentials),
}

/// Each is one line that says what to do.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadCoordinator {
    #[error("the coordinator is missing: set SKEIN_COORDINATOR or --coordinator, such as https://coordinator:50051")]
    Missing,
    #[error("SKEIN_COORDINATOR: {address:?} is not a coordinator: {why}; use https://HOST:PORT")]
    Address { address: String, why: &'static str },
    #[error(
        "SKEIN_COORDINATOR is https, but no authority to trust is named: set SKEIN_COORDINATOR_CA or \
         --coordinator-ca to the file of its authority (ConfigMap skein-ca, or ca.crt of `skein enroll`)"
    )]
    NoAuthority,
    #[error(
        "SKEIN_COORDINATOR is https, but nothing says who this agent is: set SKEIN_TOKEN_FILE (in a cluster), or \
         SKEIN_CLIENT_CERT and SKEIN_CLIENT_KEY (files of `skein enroll`)"
    )]
    NoProof,
    #[error("SKEIN_CLIENT_CERT and SKEIN_CLIENT_KEY belong together: set both, or neither")]
    HalfAPair,
    #[error("SKEIN_TOKEN_FILE and SKEIN_CLIENT_CERT both say who this agent is: set one of them")]
    TwoProofs,
    #[error(
        "credentials are given, but SKEIN_COORDINATOR is http, which would show them to everybody: use https://HOST:PORT"
    )]
    Shown,
    #[error(
        "SKEIN_COORDINATOR: {0:?} is plain text across a network: everybody on it could fly this vehicle; use \
         https://HOST:PORT, or --insecure-plaintext if you mean it"
    )]
    Plain(String),
}

impl CoordinatorFlags {
    pub fn check(self) -> Result<Coordinator, BadCoordinator> {
        let given = |file: Option<PathBuf>| file.filter(|path| !path.as_os_str().is_empty());
        let [authority, token, certificate, key] =
            [self.coordinator_ca, self.token_file, self.client_cert, self.client_key].map(given);
        let address = self.coordinator.filter(|address| !address.is_empty());
        let address = address.ok_or(BadCoordinator::Missing)?;
        let (scheme, dial) = parts(&address)?;
        let security = match scheme {
            Scheme::Http
                if [&authority, &token, &certificate, &key]
                    .iter()
                    .any(|file| file.is_some()) =>
            {
                return Err(BadCoordinator::Shown);
            }
            Scheme::Http
                if !self.insecure_plaintext && !is_loopback(dial.rsplit_once(':').map_or(&*dial, |(host, _)| host)) =>
            {
                return Err(BadCoordinator::Plain(address));
            }
            Scheme::Http => Security::Plain,
            Scheme::Https => Security::Files(Files {
                authority: authority.ok_or(BadCoordinator::NoAuthority)?,
                proof: match (token, certificate, key) {
                    (Some(token), None, None) => Proof::Token(token),
                    (None, Some(certificate), Some(key)) => Proof::Certificate { certificate, key },
                    (None, None, None) => return Err(BadCoordinator::NoProof),
                    (None, _, _) => return Err(BadCoordinator::HalfAPair),
                    (Some(_), _, _) => return Err(BadCoordinator::TwoProofs),
                },
            }),
        };
        Ok(Coordinator {
            address,
            dial,
            security,
            network: Network::default(),
        })
    }
}

impl Coordinator {
    /// In plain text, for tests and the demo; `address` must be http://HOST:PORT of this machine.
    pub fn plain(address: &str) -> Result<Self, BadCoordinator> {
        let flags = CoordinatorFlags {
            coordinator: Some(address.to_owned()),
            ..CoordinatorFlags::default()
        };
        flags.check()
    }

    /// The coordinator of this process listens at HOST:PORT.
    pub fn held(dial: String, credentials: Credentials) -> Self {
        Self {
            address: format!("https://{dial}"),
            dial,
            security: Security::Held(credentials),
            network: Network::default(),
        }
    }
}

impl fmt::Display for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

#[derive(Clone, Copy)]
enum Scheme {
    Http,
    Https,
}

fn parts(address: &str) -> Result<(Scheme, String), BadCoordinator> {
    let bad = |why| BadCoordinator::Address {
        address: address.to_owned(),
        why,
    };
    let (scheme, rest) = match (address.strip_prefix("https://"), address.strip_prefix("http://")) {
        (Some(rest), _) => (Scheme::Https, rest),
        (None, Some(rest)) => (Scheme::Http, rest),
        (None, None) => return Err(bad("it does not begin with https://")),
    };
    let dial = rest.strip_suffix('/').unwrap_or(rest);
    let (host, port) = dial.rsplit_once(':').ok_or_else(|| bad("the port is missing"))?;
    if host.is_empty() || host.contains('/') {
        return Err(bad("the host is missing"));
    }
    if host.contains(|c: char| c.is_whitespace() || "@?#\\".contains(c)) {
        return Err(bad("the host is none"));
    }
    if !port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Err(bad("the port is not a number from 1 to 65535"));
    }
    Ok((scheme, dial.to_owned()))
}

/// Whether `host`, as an address names it, is this machine, whatever name servers say.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(address: &str) -> CoordinatorFlags {
        CoordinatorFlags {
            coordinator: Some(address.into()),
            ..CoordinatorFlags::default()
        }
    }

    fn secured() -> CoordinatorFlags {
        CoordinatorFlags {
            coordinator_ca: Some("ca.crt".into()),
            token_file: Some("token".into()),
            ..flags("https://coordinator:50051")
        }
    }

    #[test]
    fn a_coordinator_behind_tls_is_dialled_by_its_address_with_what_was_given() {
        let coordinator = secured().check().unwrap();
        assert_eq!(coordinator.dial, "coordinator:50051");
        let Security::Files(files) = coordinator.security else {
            panic!("no TLS")
        };
        assert_eq!(files.proof, Proof::Token("token".into()));
        let enrolled = CoordinatorFlags {
            token_file: None,
            client_cert: Some("agent.crt".into()),
            client_key: Some("agent.key".into()),
            // As a template leaves it that sets every variable.
            ..secured()
        };
        let Security::Files(files) = enrolled.check().unwrap().security else {
            panic!("no TLS")
        };
        assert!(matches!(files.proof, Proof::Certificate { .. }));
    }

    #[test]
    fn what_would_be_unsafe_is_refused_with_what_to_set() {
        let none = || None;
        for (flags, words) in [
            (CoordinatorFlags::default(), "set SKEIN_COORDINATOR"),
            (
                CoordinatorFlags {
                    coordinator_ca: none(),
                    ..secured()
                },
                "set SKEIN_COORDINATOR_CA",
            ),
            (
                CoordinatorFlags {
                    coordinator_ca: Some("".into()),
                    ..secured()
                },
                "set SKEIN_COORDINATOR_CA",
            ),
            (
                CoordinatorFlags {
                    token_file: none(),
                    ..secured()
                },
                "set SKEIN_TOKEN_FILE",
            ),
            (
                CoordinatorFlags {
                    client_cert: Some("c".into()),
                    ..secured()
                },
                "set one of them",
            ),
            (
                CoordinatorFlags {
                    token_file: none(),
                    client_key: Some("k".into()),
                    ..secured()
                },
                "belong together",
            ),
            (
                CoordinatorFlags {
                    coordinator: Some("http://127.0.0.1:1".into()),
                    ..secured()
                },
                "show them to everybody",
            ),
            (flags("http://coordinator:50051"), "--insecure-plaintext if you mean it"),
            (
                flags("http://127.0.0.1.example:50051"),
                "--insecure-plaintext if you mean it",
            ),
        ] {
            let line = flags.check().unwrap_err().to_string();
            assert!(line.contains(words) && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn plain_text_stays_on_this_machine_unless_it_is_meant() {
        for address in [
            "http://127.0.0.1:1",
            "http://localhost:1",
            "http://[::1]:1",
            "http://127.7.7.7:1/",
        ] {
            assert!(
                matches!(flags(address).check().unwrap().security, Security::Plain),
                "{address}"
            );
        }
        let meant = CoordinatorFlags {
            insecure_plaintext: true,
            ..flags("http://coordinator:50051")
        };
        assert!(matches!(meant.check().unwrap().security, Security::Plain));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (address, words) in [
            ("coordinator:50051", "does not begin with https://"),
            ("https://coordinator", "the port is missing"),
            ("https://:50051", "the host is missing"),
            ("https://a/b:50051", "the host is missing"),
            ("https://a@b:50051", "the host is none"),
            ("https://coordinator:0", "not a number from 1 to 65535"),
        ] {
            let told = CoordinatorFlags {
                coordinator: Some(address.into()),
                ..secured()
            }
            .check()
            .unwrap_err()
            .to_string();
            assert!(told.contains(words), "{address}: {told}");
        }
    }
}
