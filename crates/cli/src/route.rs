//! A way to a coordinator.
//!
//! Owns: the kinds there are. Must not: choose one ([`crate::server_choice`]) or go there ([`crate::server`]).

use crate::cluster;
use crate::server_url::ServerUrl;
use agent::credentials::Files;
use std::fmt;
use std::path::PathBuf;

/// A way to a coordinator, with what is shown there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Plain text; nothing is shown.
    Plain(ServerUrl),
    /// TLS, with an authority and credentials from files.
    Files {
        /// Where.
        server: ServerUrl,
        /// What is believed and shown.
        files: Files,
    },
    /// The same, to a ground station (`skein up`) on this machine.
    Station {
        /// Where.
        server: ServerUrl,
        /// Its data folder.
        folder: PathBuf,
        /// What is believed and shown.
        files: Files,
    },
    /// TLS, with the authority that a cluster publishes and the credential of its kubeconfig.
    Cluster {
        /// The cluster.
        choice: cluster::Choice,
        /// Where; `None`: through the API server.
        server: Option<ServerUrl>,
    },
}

impl Route {
    /// The namespace of objects that are named without one, where the way there names one.
    #[must_use]
    pub fn default_namespace(&self) -> Option<String> {
        match self {
            Self::Cluster { choice, .. } => choice.default_namespace(),
            Self::Plain(_) | Self::Files { .. } | Self::Station { .. } => None,
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
