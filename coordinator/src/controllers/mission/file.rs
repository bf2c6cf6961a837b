//! The mission file that a Mission names, out of its ConfigMap.
//!
//! Owns: [`read`], and when it is read again ([`is_due`]). Must not: know what is in it.

use crate::cluster::api::{self, ApiError};
use crds::mission::ConfigMapKey;
use k8s_openapi::api::core::v1::ConfigMap;
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
    let api: Api<ConfigMap> = Api::namespaced(client, namespace);
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
    let text = map.data.unwrap_or_default().remove(key);
    Ok(text.ok_or_else(|| {
        let binary = map.binary_data.is_some_and(|data| data.contains_key(key));
        let what = if binary {
            "under binaryData, and no text"
        } else {
            "not there"
        };
        format!("key {key} of ConfigMap {name} is {what}; put the text of the mission file under data.{key}")
    }))
}
