//! Authorities to trust for coordinators, in ConfigMap `skein-ca`: agents mount it, tools read it.

use crate::cluster::api::{self, ApiError};
use crds::labels;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use kube::core::ObjectMeta;
use std::collections::BTreeMap;
use trust::Bundle;

const NAME: &str = "skein-ca";

const KEY: &str = "ca.crt";

/// Labels of objects that a coordinator makes for itself.
pub(super) fn labels() -> BTreeMap<String, String> {
    let pairs = [
        ("app.kubernetes.io/name", labels::COORDINATOR),
        ("app.kubernetes.io/part-of", "skein"),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// Another coordinator that writes at the same time writes the same.
pub(super) async fn publish(client: &kube::Client, namespace: &str, bundle: &Bundle) -> Result<(), ApiError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let params = api::posting();
    let found = api::call("read ConfigMap skein-ca", maps.get_opt(NAME)).await?;
    let text_of = |map: &ConfigMap| map.data.as_ref().and_then(|data| data.get(KEY)).cloned();
    if found.as_ref().and_then(text_of).as_deref() == Some(bundle.to_pem()) {
        return Ok(());
    }
    let exists = found.is_some();
    let mut map = found.unwrap_or_else(|| ConfigMap {
        metadata: ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels: Some(labels()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    });
    map.metadata.managed_fields = None;
    let text = bundle.to_pem().to_owned();
    map.data.get_or_insert_with(BTreeMap::new).insert(KEY.to_owned(), text);
    let written = if exists {
        api::call("write ConfigMap skein-ca", maps.replace(NAME, &params, &map)).await
    } else {
        api::call("create ConfigMap skein-ca", maps.create(&params, &map)).await
    };
    match written {
        Err(error) if !error.is_overtaken() => Err(error),
        _ => Ok(()),
    }
}
