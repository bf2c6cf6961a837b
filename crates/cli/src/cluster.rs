//! The coordinator of a cluster, reached through the API server with a person's kubeconfig.
//!
//! Owns: the connection, and what both ends prove: the coordinator by the authority that the cluster publishes, the
//! person by the client certificate of the kubeconfig or a key that the API server confirms ([`person`]). Must not:
//! show a token to anything but the API server: a person who may write the published authority could be the other end.

pub mod authority;
pub mod credential;
pub mod forward;
pub mod person;
pub mod plugin;
pub mod pod;
pub mod refusal;
pub mod stored_proof;

use crate::failure::Failure;
use coordinator::cluster::proxy;
use credential::Credential;
use kube::Client;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use refusal::Refusal;
use secrecy::ExposeSecret;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use stored_proof::StoredProof;
use tokio::time::timeout;

pub const SYSTEM: &str = "skein-system";

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    pub kubeconfig: Option<PathBuf>,
    pub context: Option<String>,
    pub coordinator_namespace: Option<String>,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.context, &self.kubeconfig) {
            (Some(context), _) => write!(f, "the cluster of context {context}"),
            (None, Some(path)) => write!(f, "the cluster of {}", path.display()),
            (None, None) => f.write_str("the cluster of the kubeconfig"),
        }
    }
}

impl Choice {
    /// `None` also for an unreadable kubeconfig, which connecting reports.
    pub fn default_namespace(&self) -> Option<String> {
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let kubeconfig = kubeconfig.ok()?;
        let name = self.context.as_ref().or(kubeconfig.current_context.as_ref())?;
        let named = kubeconfig.contexts.iter().find(|context| context.name == *name)?;
        named
            .context
            .as_ref()?
            .namespace
            .clone()
            .filter(|namespace| !namespace.is_empty())
    }
}

#[derive(Clone)]
pub struct Cluster {
    pub client: Client,
    pub credential: Credential,
    /// `None` for a certificate, or without a folder to store it.
    stored: Option<StoredProof>,
    pub namespace: String,
}

impl Cluster {
    /// Runs the exec plugin of the kubeconfig, if any, which may ask the person to log in.
    pub async fn of(choice: &Choice) -> Result<Self, Failure> {
        // Fails only if a provider is installed already, which is as good.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let wrong = |why: &(dyn std::error::Error + 'static)| {
            let file = match &choice.kubeconfig {
                Some(path) => path.display().to_string(),
                None => "(KUBECONFIG, or ~/.kube/config)".to_owned(),
            };
            Failure::Usage(format!(
                "cannot use the kubeconfig {file}: {}; name one with --kubeconfig, and see `kubectl config get-contexts`",
                coordinator::cluster::api::error_chain(why)
            ))
        };
        let options = KubeConfigOptions {
            context: choice.context.clone(),
            ..KubeConfigOptions::default()
        };
        let config = match &choice.kubeconfig {
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path).map_err(|error| wrong(&error))?;
                kube::Config::from_custom_kubeconfig(kubeconfig, &options).await
            }
            None => kube::Config::from_kubeconfig(&options).await,
        };
        let mut config = config.map_err(|error| match proxy::advice(&error) {
            Some(advice) => Failure::Usage(format!("{}; {advice}", coordinator::cluster::api::error_chain(&error))),
            None => wrong(&error),
        })?;
        proxy::apply(&mut config).map_err(|error| Failure::Usage(error.to_string()))?;
        plugin::resolve(&mut config.auth_info).await?;
        let credential = credential::of(&config).await?;
        let mut stored = None;
        if let Credential::Token(token) = &credential {
            stored = StoredProof::of(&config, token.expose_secret());
            // Keeps a login program of another kind (`auth-provider`) from running again.
            config.auth_info = AuthInfo {
                token: Some(token.clone()),
                ..AuthInfo::default()
            };
        }
        let client = Client::try_from(config).map_err(|error| wrong(&error))?;
        let namespace = choice.coordinator_namespace.clone();
        Ok(Self {
            client,
            credential,
            stored,
            namespace: namespace.unwrap_or_else(|| SYSTEM.to_owned()),
        })
    }
}

/// Translates errors; `what` is the attempt, such as "get configmaps/skein-ca in namespace skein-system".
pub(crate) async fn answer_of<T>(what: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, Refusal> {
    match timeout(ANSWER_TIMEOUT, call).await {
        Ok(answer) => answer.map_err(|error| Refusal::of(what, error)),
        Err(_) => Err(Refusal::Silent {
            seconds: ANSWER_TIMEOUT.as_secs(),
        }),
    }
}
