//! The Kubernetes API of a ground station.

use crate::failure::Failure;
use coordinator::cluster::api::error_chain;
use coordinator::cluster::proxy;
use embedded_api::serve::folder::Folder;
use embedded_api::serve::{self, Serving, in_process};
use embedded_api::store;
use embedded_api::verbs::{self, Api, OpenError};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub const SYSTEM: &str = "skein-system";

const CONTEXT: &str = "skein";

/// Time for the API of another station on this machine to answer.
const OTHER_STATION_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Agents learn from an empty API that the Drones they serve are gone.
const WITHOUT_OBJECTS: &str = "Started with no objects, every vehicle that is in the air LANDS WHERE IT IS, because its Drone is \
     gone, also if its Swarm is applied again: see first that each of them can land there, or bring it down by its remote \
     control. Then apply the Swarms from your own files (`kubectl get swarms -A -o yaml` saves them)";

#[derive(Clone, Debug)]
pub enum Source {
    Embedded {
        folder: PathBuf,
        /// Port 0: the one of the last time, or a free one.
        listen: SocketAddr,
        kubeconfig: PathBuf,
    },
    Existing(PathBuf),
}

pub struct FleetApi {
    client: Client,
    kubeconfig: PathBuf,
    embedded: Option<Embedded>,
}

struct Embedded {
    api: Api,
    serving: Serving,
    end: CancellationToken,
}

impl FleetApi {
    /// Returns once tools are answered and the coordinator's namespace exists.
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

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Acknowledged writes are on disk already.
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
    not_in_use(&kubeconfig).await?;
    let crds = crds::yaml::documents().map_err(|error| cannot(&error))?;
    let opened = Api::open(verbs::Options::new(folder, crds)).await;
    let api = opened.map_err(|error| not_opened(&error))?;
    let options = serve::Options {
        listen,
        kubeconfig: Some(kubeconfig),
        context: CONTEXT.to_owned(),
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

fn cannot(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::Failed(error_chain(error))
}

fn not_opened(error: &OpenError) -> Failure {
    match error {
        OpenError::Store(store::OpenError::Damaged { .. } | store::OpenError::Missing { .. }) => {
            Failure::Failed(format!("{}. {WITHOUT_OBJECTS}", error_chain(error)))
        }
        error => cannot(error),
    }
}

/// Refuses a file that leads to another running station: its users would command our vehicles instead.
async fn not_in_use(path: &Path) -> Result<(), Failure> {
    let Ok(found) = Kubeconfig::read_from(path) else {
        return Ok(());
    };
    // A kubeconfig of something else is refused later, without asking its server.
    if !matches!(found.clusters.as_slice(), [one] if one.name == CONTEXT) {
        return Ok(());
    }
    let answers = async { existing(path).await.ok()?.apiserver_version().await.ok() };
    match timeout(OTHER_STATION_ANSWER_TIMEOUT, answers).await {
        Ok(Some(_)) => Err(Failure::Failed(format!(
            "the kubeconfig {} is in use: the ground station that it leads to is running; end that one, or name another \
             file with --kubeconfig",
            path.display()
        ))),
        Ok(None) | Err(_) => Ok(()),
    }
}

async fn existing(path: &Path) -> Result<Client, Failure> {
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let wrong = |why: String| Failure::Failed(format!("cannot use the kubeconfig {}: {why}", path.display()));
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| wrong(error.to_string()))?;
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| wrong(error.to_string()))?;
    proxy::apply(&mut config).map_err(|error| wrong(error.to_string()))?;
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
    let made = timeout(ANSWER_TIMEOUT, namespaces.create(&params, &system)).await;
    let why = match made {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", ANSWER_TIMEOUT.as_secs()),
    };
    Err(Failure::Failed(format!("cannot make the namespace {SYSTEM}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn opened(folder: &Path) -> Result<(), String> {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let api = embedded(folder, listen, folder.join("kubeconfig")).await;
        match api {
            Ok(api) => {
                api.end().await;
                Ok(())
            }
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[tokio::test]
    async fn a_start_without_objects_warns_that_vehicles_land_then() {
        let folder = tempfile::tempdir().unwrap();
        let api = folder.path().join("api");
        opened(&api).await.unwrap();
        let largest = std::fs::read_dir(&api)
            .unwrap()
            .map(|entry| entry.unwrap())
            .max_by_key(|entry| entry.metadata().unwrap().len())
            .unwrap();
        std::fs::write(largest.path(), "damaged").unwrap();
        let damaged = opened(&api).await.unwrap_err();
        assert!(
            damaged.contains("is damaged") && damaged.contains("LANDS WHERE IT IS"),
            "{damaged}"
        );
        std::fs::remove_file(largest.path()).unwrap();
        let missing = opened(&api).await.unwrap_err();
        assert!(
            missing.contains("is missing") && missing.contains("LANDS WHERE IT IS"),
            "{missing}"
        );
    }

    #[tokio::test]
    async fn the_kubeconfig_of_a_station_that_runs_is_not_overwritten_by_another() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        let kubeconfig = folder.path().join("kubeconfig");
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let first = embedded(&one, listen, kubeconfig.clone()).await.unwrap();
        let before = std::fs::read_to_string(&kubeconfig).unwrap();
        let error = embedded(&other, listen, kubeconfig.clone())
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("is in use") && error.contains("--kubeconfig"), "{error}");
        assert_eq!(std::fs::read_to_string(&kubeconfig).unwrap(), before);
        first.end().await;
        let second = embedded(&other, listen, kubeconfig.clone()).await.unwrap();
        assert_ne!(std::fs::read_to_string(&kubeconfig).unwrap(), before);
        second.end().await;
    }

    #[tokio::test]
    async fn a_store_that_is_in_use_is_no_reason_to_speak_of_landing() {
        let folder = tempfile::tempdir().unwrap();
        let api = folder.path().join("api");
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let first = embedded(&api, listen, folder.path().join("another")).await.unwrap();
        let second = opened(&api).await.unwrap_err();
        assert!(second.contains("is in use by") && !second.contains("LANDS"), "{second}");
        first.end().await;
    }
}
