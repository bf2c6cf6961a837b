//! The authority of a cluster's coordinator: Secret `skein-ca`, and ConfigMap `skein-enrolled` with valid certificates.

use super::Signed;
use crate::cluster::authority::NAME as AUTHORITY;
use crate::cluster::refusal::Refusal;
use crate::cluster::{Choice, Cluster, answer_of};
use crate::failure::Failure;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use std::collections::BTreeMap;
use std::time::SystemTime;
use trust::{Authorities, Enrolled, Peer, Validity};

const LIST: &str = "skein-enrolled";

const KEY: &str = "authorities.pem";

const MAX_TRIES: usize = 5;

/// Leaves the list unchanged on an error.
pub async fn issue(choice: &Choice, peer: &Peer, life: Validity, now: SystemTime) -> Result<Signed, Failure> {
    let cluster = Cluster::of(choice).await?;
    let authorities = authorities(&cluster).await?;
    let identity = change(&cluster, |list| {
        let made = list.issue(authorities.signer(now), peer, life, now);
        made.map_err(|why| Failure::Failed(why.to_string()))
    });
    Ok(Signed {
        identity: identity.await?,
        authority: authorities.bundle(now),
    })
}

/// Returns the number of revoked certificates.
pub async fn revoke(choice: &Choice, peer: &Peer) -> Result<usize, Failure> {
    let cluster = Cluster::of(choice).await?;
    change(&cluster, |list| Ok(list.revoke(peer))).await
}

async fn authorities(cluster: &Cluster) -> Result<Authorities, Failure> {
    let namespace = &cluster.namespace;
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), namespace);
    let what = format!("get secrets/{AUTHORITY} in namespace {namespace}");
    let secret = match answer_of(&what, secrets.get(AUTHORITY)).await {
        Err(Refusal::Missing { .. }) => {
            return Err(Failure::Failed(format!(
                "there is no Secret {namespace}/{AUTHORITY}: the coordinator makes it when it first runs with certificates of its own; \
                 with certificates from elsewhere (--tls-dir), have agents' certificates made there"
            )));
        }
        answer => answer?,
    };
    let text = secret.data.and_then(|mut data| data.remove(KEY));
    let text = text
        .and_then(|bytes| String::from_utf8(bytes.0).ok())
        .unwrap_or_default();
    Authorities::from_pem(&text).map_err(|why| Failure::Failed(format!("Secret {namespace}/{AUTHORITY}: {why}")))
}

/// Starts again from the newest version after a conflict.
async fn change<T>(cluster: &Cluster, mut edit: impl FnMut(&mut Enrolled) -> Result<T, Failure>) -> Result<T, Failure> {
    let namespace = &cluster.namespace;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), namespace);
    let what = |verb: &str| format!("{verb} configmaps/{LIST} in namespace {namespace}");
    for _ in 0..MAX_TRIES {
        let found = answer_of(&what("get"), maps.get_opt(LIST)).await?;
        let before: BTreeMap<String, String> = found.as_ref().and_then(|map| map.data.clone()).unwrap_or_default();
        let list = Enrolled::from_map(&before);
        let mut list = list.map_err(|why| Failure::Failed(format!("ConfigMap {namespace}/{LIST}: {why}")))?;
        let edited = edit(&mut list)?;
        let data = list.to_map();
        if data == before {
            return Ok(edited);
        }
        let params = PostParams::default();
        let written = match found {
            Some(map) => {
                let map = ConfigMap {
                    data: Some(data),
                    ..map
                };
                answer_of(&what("update"), async { once(maps.replace(LIST, &params, &map).await) }).await?
            }
            None => {
                let map = ConfigMap {
                    metadata: ObjectMeta {
                        name: Some(LIST.to_owned()),
                        labels: Some(BTreeMap::from([(
                            "app.kubernetes.io/part-of".to_owned(),
                            "skein".to_owned(),
                        )])),
                        ..ObjectMeta::default()
                    },
                    data: Some(data),
                    ..ConfigMap::default()
                };
                answer_of(&what("create"), async { once(maps.create(&params, &map).await) }).await?
            }
        };
        if written {
            return Ok(edited);
        }
    }
    Err(Failure::Failed(format!(
        "ConfigMap {namespace}/{LIST} is changed by somebody else all the time; try again"
    )))
}

/// `false` on a conflict.
fn once(written: kube::Result<ConfigMap>) -> kube::Result<bool> {
    match written {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}
