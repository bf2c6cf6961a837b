//! The cluster's authorities for client certificates, where every API server publishes them for others to use.

use crate::cluster::api::{self, ApiError};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use trust::Bundle;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
const KEY: &str = "client-ca-file";

/// `None` when the cluster knows no client certificates.
pub(super) async fn authorities(client: &kube::Client) -> Result<Option<Bundle>, ApiError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let what = "read ConfigMap kube-system/extension-apiserver-authentication";
    let found = match api::call(what, maps.get_opt(NAME)).await {
        // Then people with client certificates cannot be authenticated; with tokens they can.
        Err(error) if error.is_refusal() => {
            tracing::warn!(%error, "users with client certificates are not known");
            None
        }
        other => other?,
    };
    let text = found.and_then(|map| map.data).and_then(|mut data| data.remove(KEY));
    let read = text
        .filter(|text| !text.trim().is_empty())
        .map(|text| Bundle::from_pem(&text));
    Ok(read.transpose().unwrap_or_else(|error| {
        tracing::warn!(%error, "the cluster's authorities are damaged; users with client certificates are not known");
        None
    }))
}
