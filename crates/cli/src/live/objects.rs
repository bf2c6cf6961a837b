//! The Kubernetes API that belongs to a coordinator, with the rights of the person's kubeconfig.

use crate::cluster::{Choice, Cluster};
use crate::failure::Failure;
use crate::route::Route;
use crate::station_record::StationRecord;
use coordinator::cluster::api::error_chain;
use kube::Client;
use kube::api::{Api, ListParams};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::timeout;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Reading<T> {
    pub last: Option<(T, Duration)>,
    pub problem: Option<String>,
}

impl<T> Default for Reading<T> {
    fn default() -> Self {
        Self {
            last: None,
            problem: None,
        }
    }
}

impl<T> Reading<T> {
    pub fn value(&self) -> Option<&T> {
        self.last.as_ref().map(|(value, _)| value)
    }

    pub fn note(&mut self, answer: Result<T, String>, at: Duration) {
        match answer {
            Ok(value) => (self.last, self.problem) = (Some((value, at)), None),
            Err(why) => self.problem = Some(why),
        }
    }
}

pub struct Objects {
    choice: Choice,
    pub client: Client,
    pub from: String,
    /// Whether a new login, or a new address, may fix the last failure.
    renew: AtomicBool,
}

/// `named`: kubeconfig for a coordinator named by address. `Ok(Err)`: no known API. Errors: an unusable kubeconfig.
pub async fn objects(route: &Route, named: Option<Choice>) -> Result<Result<Objects, String>, Failure> {
    let choice = match route {
        Route::Cluster { choice, .. } => choice.clone(),
        Route::Station { folder, .. } => match StationRecord::read(folder) {
            Some(record) => Choice {
                kubeconfig: Some(record.kubeconfig),
                ..Choice::default()
            },
            None => {
                return Ok(Err(
                    "the station of this machine does not say where its API is".to_owned()
                ));
            }
        },
        // A person who names a coordinator by address also names its objects.
        Route::Plain(_) | Route::Files { .. } => match named {
            Some(choice) => choice,
            None => {
                return Ok(Err(
                    "no kubeconfig is named for this coordinator (--kubeconfig, KUBECONFIG)".to_owned(),
                ));
            }
        },
    };
    Ok(Ok(Objects {
        client: Cluster::of(&choice).await?.client,
        from: choice.to_string(),
        choice,
        renew: AtomicBool::new(false),
    }))
}

impl Objects {
    /// Reconnects after a failure that a new login or address may fix; returns whether there was one.
    pub async fn renew(&mut self) -> bool {
        let failed = self.renew.swap(false, Ordering::Relaxed);
        if failed && let Ok(cluster) = Cluster::of(&self.choice).await {
            self.client = cluster.client;
        }
        failed
    }

    /// `what`: the attempt, such as "list the Swarms".
    pub async fn list<K>(&self, what: &str, api: &Api<K>, params: &ListParams) -> Result<Vec<K>, String>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        Ok(self.answered(what, api.list(params)).await?.items)
    }

    pub async fn get<K>(&self, kind: &str, name: &str, api: &Api<K>) -> Result<K, String>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        self.answered(&format!("read the {kind}"), api.get(name)).await
    }

    pub async fn answered<T>(&self, what: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
        let answer = timeout(ANSWER_TIMEOUT, call).await;
        let refused = matches!(&answer, Ok(Err(kube::Error::Api(status))) if status.code != 401);
        if !refused && !matches!(&answer, Ok(Ok(_))) {
            self.renew.store(true, Ordering::Relaxed);
        }
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                Err(format!("you may not {what}: {}", status.message))
            }
            Ok(Err(kube::Error::Api(status))) => Err(format!("cannot {what}: {}", status.message)),
            Ok(Err(error)) => Err(format!("cannot {what}: {}", error_chain(&error))),
            Err(_) => Err(format!(
                "cannot {what}: the API server does not answer within {} s",
                ANSWER_TIMEOUT.as_secs()
            )),
        }
    }
}
