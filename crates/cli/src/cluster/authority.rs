//! The certificate authority by which agents and tools recognize the coordinator of a cluster.

use super::refusal::Refusal;
use super::{Cluster, answer_of};
use crate::failure::Failure;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

/// Name of the ConfigMap with the certificates, and of the Secret with the key.
pub const NAME: &str = "skein-ca";

const KEY: &str = "ca.crt";

impl Cluster {
    /// As PEM. Errors: not published yet, or the person may not read it.
    pub async fn authority(&self) -> Result<String, Failure> {
        let namespace = &self.namespace;
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let what = format!("get configmaps/{NAME} in namespace {namespace}");
        let map = match answer_of(&what, maps.get(NAME)).await {
            Err(Refusal::Missing { .. }) => {
                return Err(Failure::Away(format!(
                    "the coordinator has not published its certificate authority yet (ConfigMap {namespace}/{NAME}); does it run? \
                     See `kubectl -n {namespace} get pods`; one outside of a cluster, of `skein demo` or `skein up`, is found by \
                     SKEIN_SERVER, which that prints"
                )));
            }
            answer => answer?,
        };
        let pem = map.data.and_then(|mut data| data.remove(KEY));
        pem.ok_or_else(|| {
            Failure::Failed(format!(
                "ConfigMap {namespace}/{NAME} has no {KEY}; delete it, and the coordinator publishes it again"
            ))
        })
    }
}
