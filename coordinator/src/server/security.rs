//! How the links of a coordinator are secured.

use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;
use trust::Enrolled;

/// A token for another audience is refused here, and ours is good nowhere else.
pub const AUDIENCE: &str = "skein-coordinator";

/// How long a session counts as authenticated before the agent has to show its credentials again.
pub const SESSION_LIFE: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Debug)]
pub enum Security {
    /// Everybody may do everything: for tests and demonstrations on one machine.
    Plaintext,
    /// TLS without a cluster; agents and people show certificates of an authority of ours.
    Certificates {
        /// The certificate to show and the trusted authorities.
        server: trust::Server,
        enrolled: watch::Receiver<Enrolled>,
    },
    /// TLS; agents show their ServiceAccount's token or a certificate of ours, people their Kubernetes credentials or a key that Kubernetes
    /// has noted to be theirs; the API server says who they are and what they may.
    Cluster(ClusterSecurity),
}

#[derive(Clone, Debug)]
pub struct ClusterSecurity {
    /// Folder with `tls.crt`, `tls.key` and `ca.crt`, such as a mounted Secret; `None`: Skein makes certificates itself.
    pub tls_dir: Option<PathBuf>,
    /// ServiceAccount of the agents, namespace and name.
    pub agent_account: (String, String),
    pub session_life: Duration,
}

impl Security {
    /// How long a session counts as authenticated; `None`: for ever.
    pub const fn session_life(&self) -> Option<Duration> {
        match self {
            Self::Plaintext => None,
            Self::Certificates { .. } => Some(SESSION_LIFE),
            Self::Cluster(cluster) => Some(cluster.session_life),
        }
    }
}
