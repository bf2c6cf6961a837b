//! The mission file that a Mission names, out of its ConfigMap.
//!
//! Owns: [`read`], whether its namespace may have it flown, and when it is read again ([`is_due`]). Must not: judge whether it can be flown.

use crate::cluster::api::{self, ApiError};
use crds::labels;
use crds::mission::ConfigMapKey;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt;
use kube::api::Api;
use std::time::Duration;

/// Its text, or why there is none, in a sentence.
pub type File = Result<String, String>;

/// From one reading to the next: what has begun cannot change, and a new leader could not go on with another file.
const AGAIN: Duration = Duration::from_secs(60);

/// The same, of one that was not there or cannot be flown.
const AGAIN_IF_BAD: Duration = Duration::from_secs(10);

/// Whether a file that was read so long ago is to be read again.
#[must_use]
pub fn is_due(ago: Duration, good: bool) -> bool {
    ago >= if good { AGAIN } else { AGAIN_IF_BAD }
}

/// Reads it.
///
/// # Errors
/// [`ApiError`], when it is not known what there is.
pub async fn read(client: kube::Client, namespace: &str, from: &ConfigMapKey) -> Result<File, ApiError> {
    let ConfigMapKey { name, key } = from;
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = match api::call("read the ConfigMap of a Mission", api.get_opt(name)).await {
        Ok(Some(map)) => map,
        Ok(None) => {
            return Ok(Err(format!(
                "there is no ConfigMap {name} in namespace {namespace}; create it with the mission file under the key {key}"
            )));
        }
        Err(error) if error.is_refusal() => {
            return Ok(Err(format!(
                "the coordinator may not read ConfigMap {name}; let its ServiceAccount get configmaps in namespace {namespace}"
            )));
        }
        Err(error) => return Err(error),
    };
    if let Some(text) = map.data.unwrap_or_default().remove(key) {
        return may_fly(client, namespace, text).await;
    }
    Ok(Err({
        let binary = map.binary_data.is_some_and(|data| data.contains_key(key));
        let what = if binary {
            "under binaryData, and no text"
        } else {
            "not there"
        };
        format!("key {key} of ConfigMap {name} is {what}; put the text of the mission file under data.{key}")
    }))
}

/// The text of a file, unless it moves actuators and `namespace` may not have that flown. A right to create Missions is none to
/// order what drops something over people.
async fn may_fly(client: kube::Client, namespace: &str, text: String) -> Result<File, ApiError> {
    // A file that cannot be read is named where it is planned.
    let items = plan_files::read(&text).map(|file| file.items).unwrap_or_default();
    let Some(item) = items.iter().find(|item| item.moves_actuator()) else {
        return Ok(Ok(text));
    };
    let api: Api<Namespace> = Api::all(client);
    let read = api::call("read the namespace of a Mission", api.get_opt(namespace)).await;
    let found = match read {
        Err(error) if !error.is_refusal() => return Err(error),
        found => found.ok().flatten(),
    };
    let is_allowed = |namespace: &Namespace| {
        let label = namespace.labels().get(labels::ACTUATORS);
        label.is_some_and(|value| value == labels::ALLOWED)
    };
    if found.as_ref().is_some_and(is_allowed) {
        return Ok(Ok(text));
    }
    Ok(Err(format!(
        "the file moves something on board ({}), and namespace {namespace} may not order that; people who may edit the namespace allow it \
         with `kubectl label namespace {namespace} {}={}`; or import the file with `--leave-out`",
        item.name(),
        labels::ACTUATORS,
        labels::ALLOWED
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use serde_json::{Value, json};
    use std::convert::Infallible;
    use tower::service_fn;

    const DROPS: &str = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.4\t8.5\t488\t1\n1\t0\t3\t16\t0\t0\t0\t0\t47.401\t8.5\t30\t1\n\
                         2\t0\t3\t183\t9\t1900\t0\t0\t0\t0\t0\t1\n3\t0\t3\t16\t0\t0\t0\t0\t47.402\t8.5\t30\t1\n";

    /// What is read of `text`, in a namespace with these labels; `None`: the coordinator may not read namespaces.
    async fn read_in(text: &str, labels: Option<Value>) -> File {
        let text = text.to_owned();
        let service = service_fn(move |request: Request<Body>| {
            let map =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files"}, "data": {"plan": text}});
            let (status, answer) = match (request.uri().path(), &labels) {
                ("/api/v1/namespaces/north/configmaps/files", _) => (StatusCode::OK, map),
                ("/api/v1/namespaces/north", Some(labels)) => (
                    StatusCode::OK,
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "north", "labels": labels}}),
                ),
                _ => (
                    StatusCode::FORBIDDEN,
                    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": ""}),
                ),
            };
            let answer = Response::builder()
                .status(status)
                .body(Body::from(answer.to_string().into_bytes()));
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let from = ConfigMapKey {
            name: "files".to_owned(),
            key: "plan".to_owned(),
        };
        read(kube::Client::new(service, "north"), "north", &from).await.unwrap()
    }

    #[tokio::test]
    async fn a_file_that_moves_actuators_is_flown_where_the_namespace_allows_it_only() {
        for labels in [None, Some(json!({})), Some(json!({"skein.dev/actuators": "no"}))] {
            let why = read_in(DROPS, labels).await.unwrap_err();
            assert!(
                why.contains("DO_SET_SERVO")
                    && why.contains("kubectl label namespace north skein.dev/actuators=allowed"),
                "{why}"
            );
        }
        let allowed = json!({"skein.dev/actuators": "allowed"});
        assert_eq!(read_in(DROPS, Some(allowed)).await.as_deref(), Ok(DROPS));
        let plain = DROPS.replace("\t183\t", "\t16\t");
        assert_eq!(read_in(&plain, None).await, Ok(plain), "no namespace is read for it");
    }
}
