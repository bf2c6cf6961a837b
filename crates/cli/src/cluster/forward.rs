//! A connection to a port of the coordinator's Pod through the API server (`pods/portforward`), as by kubectl.

use super::pod::{self, Chosen};
use super::refusal::Refusal;
use super::{Cluster, answer_of};
use crate::failure::Failure;
use futures::future::BoxFuture;
use futures::{FutureExt, future};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use proto::channel::Connection;

const LEASE: &str = "skein-coordinator";

pub struct Forwarded {
    pub to: Chosen,
    pub connection: Box<dyn Connection>,
    /// Ends with the node's message when it cannot pass bytes on, such as that nothing listens there; else never.
    pub trouble: BoxFuture<'static, String>,
}

impl Cluster {
    /// Connects to the leading coordinator, or to a ready one where the leader is unknown.
    pub async fn forward(&self) -> Result<Forwarded, Failure> {
        let namespace = &self.namespace;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let what = format!("list pods in namespace {namespace}");
        let found = answer_of(&what, pods.list(&ListParams::default().labels(pod::LABEL))).await?;
        let to = pod::choose(namespace, self.leader().await.as_deref(), &found.items)
            .map_err(|none| Failure::Away(none.to_string()))?;
        let what = format!("create pods/portforward in namespace {namespace}");
        let mut forwarder = answer_of(&what, pods.portforward(&to.pod, &[to.port])).await?;
        let (Some(connection), Some(error)) = (forwarder.take_stream(to.port), forwarder.take_error(to.port)) else {
            let why = "the port-forward has no stream".to_owned();
            return Err(Refusal::Other { what, why }.into());
        };
        let trouble = error.then(|error| match error {
            Some(why) => future::ready(why).left_future(),
            // The stream has ended by itself and reports why.
            None => future::pending().right_future(),
        });
        Ok(Forwarded {
            to,
            connection: Box::new(connection),
            trouble: trouble.boxed(),
        })
    }

    /// `None` also without the right to read the Lease: that only costs a try at another Pod.
    async fn leader(&self) -> Option<String> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        let lease = answer_of("get leases", leases.get_opt(LEASE)).await.ok()??;
        lease.spec?.holder_identity
    }
}
