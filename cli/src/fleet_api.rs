//! The Kubernetes API that this process stands on.
//!
//! Owns: starting it and ending it, and the one Namespace that the coordinator needs. Must not: know what is kept in it.

use crate::failure::Failure;
use embedded_api::serve::folder::Folder;
use embedded_api::serve::{self, Serving, in_process};
use embedded_api::verbs::{self, Api};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Namespace of the coordinator's own objects.
pub const SYSTEM: &str = "skein-system";

/// One call takes at most this long.
const ANSWER: Duration = Duration::from_secs(10);

/// Which API.
#[derive(Clone, Debug)]
pub enum Source {
    /// The embedded one, with its data in this folder.
    Embedded {
        /// Folder for its data and credentials.
        folder: PathBuf,
        /// Where tools reach it; port 0 is the one of the last time, or a free one.
        listen: SocketAddr,
        /// Where the kubeconfig goes.
        kubeconfig: PathBuf,
    },
    /// A server that runs already, reached by this kubeconfig; the custom resources are applied there.
    Existing(PathBuf),
}

/// A running API.
pub struct FleetApi {
    client: Client,
    kubeconfig: PathBuf,
    embedded: Option<Embedded>,
}

/// What runs in this process for it.
struct Embedded {
    api: Api,
    serving: Serving,
    /// Ends the watches of clients in this process.
    end: CancellationToken,
}

impl FleetApi {
    /// Starts it. Once this returns, tools are answered and the coordinator's namespace exists.
    ///
    /// # Errors
    /// What cannot be had, with what to do.
    pub async fn start(source: Source) -> Result<Self, Failure> {
        let api = match source {
            Source::Embedded {
                folder,
                listen,
                kubeconfig,
            } => embedded(&folder, listen, kubeconfig).await?,
            Source::Existing(kubeconfig) => Self {
                client: existing(&kubeconfig).await?,
                kubeconfig,
                embedded: None,
            },
        };
        ensure_namespace(&api.client).await?;
        Ok(api)
    }

    /// A client of it.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The kubeconfig for other programs.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Ends it in order. What was acknowledged is on the disk, with or without this.
    pub async fn end(self) {
        let Some(Embedded { api, serving, end }) = self.embedded else {
            return;
        };
        end.cancel();
        serving.end().await;
        api.close().await;
    }
}

async fn embedded(folder: &Path, listen: SocketAddr, kubeconfig: PathBuf) -> Result<FleetApi, Failure> {
    let crds = crds::yaml::documents().map_err(|error| cannot(&error))?;
    let opened = Api::open(verbs::Options::new(folder, crds)).await;
    let api = opened.map_err(|error| cannot(&error))?;
    let options = serve::Options {
        listen,
        kubeconfig: Some(kubeconfig),
        context: "skein".to_owned(),
        ..serve::Options::default()
    };
    let folder = Folder::open(folder).map_err(|error| cannot(&error))?;
    let serving = serve::start(api.clone(), &folder, options).await;
    let serving = serving.map_err(|error| cannot(&error))?;
    if let Some(port) = serving.moved_from {
        tracing::warn!(
            port,
            now = serving.address.port(),
            "another program has the API's port of the last time; copies of the kubeconfig name the old one"
        );
    }
    let end = CancellationToken::new();
    Ok(FleetApi {
        client: in_process::client(api.clone(), end.clone()),
        kubeconfig: serving.kubeconfig.clone(),
        embedded: Some(Embedded { api, serving, end }),
    })
}

/// An error of the embedded API with its sources, each said once.
fn cannot(error: &dyn std::error::Error) -> Failure {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        source = error.source();
    }
    Failure::Failed(told)
}

async fn existing(path: &Path) -> Result<Client, Failure> {
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let wrong = |why: String| Failure::Failed(format!("cannot use the kubeconfig {}: {why}", path.display()));
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| wrong(error.to_string()))?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| wrong(error.to_string()))?;
    Client::try_from(config).map_err(|error| wrong(error.to_string()))
}

async fn ensure_namespace(client: &Client) -> Result<(), Failure> {
    let namespaces: kube::Api<Namespace> = kube::Api::all(client.clone());
    let system = Namespace {
        metadata: ObjectMeta {
            name: Some(SYSTEM.to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let params = PostParams::default();
    let made = timeout(ANSWER, namespaces.create(&params, &system)).await;
    let why = match made {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", ANSWER.as_secs()),
    };
    Err(Failure::Failed(format!("cannot make the namespace {SYSTEM}: {why}")))
}
