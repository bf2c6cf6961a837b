//! The flags that say which coordinator is asked, and as whom.

use crate::server_url::ServerUrl;
use clap::Args;
use std::path::PathBuf;

/// Which coordinator, for commands that ask one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[group(skip)]
#[command(next_help_heading = "Which coordinator")]
pub struct WhereArgs {
    /// Where the coordinator listens: https://HOST:PORT [env: SKEIN_SERVER]
    ///
    /// When neither this nor another flag says which one: the ground station (`skein up`) of this machine, if there is one,
    /// else the cluster of the kubeconfig.
    #[arg(long, value_name = "URL")]
    pub server: Option<ServerUrl>,
    /// Authority of the certificate at --server (PEM); left out: the one that the cluster of the kubeconfig publishes
    /// [env: SKEIN_SERVER_CA]
    #[arg(long, value_name = "FILE")]
    pub server_ca: Option<PathBuf>,
    /// Certificate to show at --server (PEM), with --server-ca [env: SKEIN_CLIENT_CERT]
    #[arg(long, value_name = "FILE")]
    pub client_cert: Option<PathBuf>,
    /// Its key (PEM) [env: SKEIN_CLIENT_KEY]
    #[arg(long, value_name = "FILE")]
    pub client_key: Option<PathBuf>,
    /// File with the bearer token to show at --server, with --server-ca, instead of a certificate
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Allows http:// at --server across a network: who answers is not proven
    #[arg(long)]
    pub insecure_plaintext: bool,
    /// The ground station on this machine that keeps its data in DIR [env: SKEIN_STATION]
    #[arg(long, value_name = "DIR")]
    pub station: Option<PathBuf>,
    /// The cluster of this kubeconfig; its coordinator is reached through the API server [env: KUBECONFIG]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the coordinator [default: skein-system]
    #[arg(long, value_name = "NAMESPACE")]
    pub coordinator_namespace: Option<String>,
}

impl WhereArgs {
    pub fn or(self, others: Self) -> Self {
        Self {
            server: self.server.or(others.server),
            server_ca: self.server_ca.or(others.server_ca),
            client_cert: self.client_cert.or(others.client_cert),
            client_key: self.client_key.or(others.client_key),
            token_file: self.token_file.or(others.token_file),
            insecure_plaintext: self.insecure_plaintext || others.insecure_plaintext,
            station: self.station.or(others.station),
            kubeconfig: self.kubeconfig.or(others.kubeconfig),
            context: self.context.or(others.context),
            coordinator_namespace: self.coordinator_namespace.or(others.coordinator_namespace),
        }
    }
}
