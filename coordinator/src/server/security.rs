//! How the links of a coordinator are secured.

use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;
use trust::Enrolled;

/// The audience of agents' tokens: a token for anything else is none for us, and ours is good nowhere else.
pub const AUDIENCE: &str = "skein-coordinator";

/// How long a session counts as authenticated before the agent has to show its credentials again.
pub const SESSION_LIFE: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Debug)]
pub enum Security {
    /// Not secured: everybody may do everything: for tests and demonstrations on one machine.
    Plaintext,
    /// TLS; agents and people show certificates of an authority of ours. Without a cluster.
    Certificates {
        /// What is shown and who is believed.
        server: trust::Server,
        enrolled: watch::Receiver<Enrolled>,
    },
    /// TLS; agents show their ServiceAccount's token or a certificate of ours, people what they show to Kubernetes
    /// or a key that it has noted to be theirs, and the API server says who they are and what they may.
    Cluster(ClusterSecurity),
}

/// What is to be known of the cluster.
#[derive(Clone, Debug)]
pub struct ClusterSecurity {
    /// Folder with `tls.crt`, `tls.key` and `ca.crt`, such as a mounted Secret; `None`: Skein makes certificates itself.
    pub tls_dir: Option<PathBuf>,
    /// ServiceAccount of the agents, `NAMESPACE/NAME`.
    pub agent_account: (String, String),
    /// How long a session counts as authenticated.
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
