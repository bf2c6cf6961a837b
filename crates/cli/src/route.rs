//! A way to a coordinator.

use crate::cluster;
use crate::server_url::ServerUrl;
use agent::credentials::Files;
use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Plain text, without credentials.
    Plain(ServerUrl),
    /// TLS with an authority and credentials from files.
    Files { server: ServerUrl, files: Files },
    /// The same, for a ground station on this machine.
    Station {
        server: ServerUrl,
        folder: PathBuf,
        files: Files,
    },
    /// TLS with the cluster's authority and the kubeconfig's credential.
    Cluster {
        choice: cluster::Choice,
        /// `None`: through the API server.
        server: Option<ServerUrl>,
    },
}

impl Route {
    pub fn default_namespace(&self) -> Option<String> {
        match self {
            Self::Cluster { choice, .. } => choice.default_namespace(),
            Self::Plain(_) | Self::Files { .. } | Self::Station { .. } => None,
        }
    }

    /// Advice when nothing answers, other than to name what the person named.
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Plain(_) | Self::Files { .. } | Self::Cluster { server: Some(_), .. } => {
                "does a coordinator run there? Correct --server (or SKEIN_SERVER), or leave it out for the ground station of this machine or \
                 the cluster of the kubeconfig"
            }
            Self::Station { .. } => {
                "start the ground station again with `skein up`, or name another coordinator with --server, --station or --context"
            }
            Self::Cluster { server: None, .. } => {
                "see whether its Pods run (`kubectl get pods -n skein-system`), or name another coordinator with --server, --station or \
                 --context"
            }
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(server) | Self::Files { server, .. } => server.fmt(f),
            Self::Station { server, folder, .. } => write!(f, "{server} (ground station {})", folder.display()),
            Self::Cluster {
                server: Some(server), ..
            } => server.fmt(f),
            Self::Cluster { choice, server: None } => choice.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_answers_a_person_is_not_told_to_name_what_was_named() {
        let server: ServerUrl = "http://127.0.0.1:1".parse().unwrap();
        let named = Route::Plain(server.clone()).advice();
        assert!(
            named.contains("Correct --server") && named.contains("leave it out"),
            "{named}"
        );
        let choice = cluster::Choice::default();
        let forwarded = Route::Cluster {
            choice: choice.clone(),
            server: Some(server),
        };
        assert_eq!(forwarded.advice(), named);
        let cluster = Route::Cluster { choice, server: None };
        assert!(cluster.advice().contains("name another coordinator with --server"));
    }
}
