//! The client certificates that count, in ConfigMap `skein-enrolled`; `skein enroll` writes it.

use super::KeysError;
use crate::cluster::api;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use trust::Enrolled;

const NAME: &str = "skein-enrolled";

pub(super) async fn read(client: &kube::Client, namespace: &str) -> Result<Option<Enrolled>, KeysError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = api::call("read ConfigMap skein-enrolled", maps.get_opt(NAME)).await?;
    let list = found.map(|map| Enrolled::from_map(&map.data.unwrap_or_default()));
    Ok(list.transpose()?)
}
