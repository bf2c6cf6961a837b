//! The address of the leader: the EndpointSlice of the Service `skein-coordinator`, which selects no Pods by itself. So a standby can be
//! Ready, and agents and tools still reach the leader.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::retry::RETRY;
use crate::cluster::world::uid;
use crate::leadership::leading::Leadership;
use crate::leadership::periodic::Periodic;
use crds::labels;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use kube::api::Api;
use kube::core::ObjectMeta;
use model::backoff::Backoff;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;

/// Of the Service and of its EndpointSlice.
const NAME: &str = "skein-coordinator";

/// Value of `endpointslice.kubernetes.io/managed-by`; the EndpointSlice controller leaves the slice alone then.
const MANAGED_BY: &str = "skein.dev";

struct Pointer {
    cluster: Cluster,
    leadership: Leadership,
    here: SocketAddr,
}

/// Keeps the EndpointSlice pointing at `here`.
pub fn start(cluster: &Cluster, leadership: &Leadership, here: SocketAddr, tasks: &mut JoinSet<()>) {
    let pointer = Pointer {
        cluster: cluster.clone(),
        leadership: leadership.clone(),
        here,
    };
    tasks.spawn(leadership.loops.clone().run(pointer));
}

impl Periodic for Pointer {
    const NAME: &'static str = "endpoint";
    const INTERVAL: Duration = Duration::from_secs(10);
    const AT_ONCE: bool = true;
    const EVEN_IN_DOUBT: bool = true;
    const RETRY: Option<Backoff> = Some(RETRY);
    const FAILURE: &'static str = "agents may not find this coordinator; will be tried again";

    async fn run(&mut self) -> Result<(), ApiError> {
        point(&self.cluster, &self.leadership, self.here).await
    }
}

async fn point(cluster: &Cluster, leadership: &Leadership, here: SocketAddr) -> Result<(), ApiError> {
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client(), &cluster.namespace);
    let there = api::call("read the EndpointSlice of the coordinator", slices.get_opt(NAME)).await?;
    if !leadership.state.acts() || there.as_ref().is_some_and(|slice| points_at(slice, here)) {
        return Ok(());
    }
    let params = api::posting();
    let there = match there {
        // Its type can never be changed: Pods have got addresses of the other family.
        Some(other) if other.address_type != address_type(here) => {
            let only = api::only(uid(&other));
            let deleted = slices.delete(NAME, &only);
            api::call("delete the EndpointSlice of the coordinator", deleted).await?;
            None
        }
        there => there,
    };
    let slice = slice(there.map(|slice| slice.metadata), &cluster.namespace, here);
    if slice.metadata.resource_version.is_some() {
        let written = slices.replace(NAME, &params, &slice);
        api::call("write the EndpointSlice of the coordinator", written).await?;
    } else {
        let written = slices.create(&params, &slice);
        api::call("create the EndpointSlice of the coordinator", written).await?;
    }
    tracing::info!(%here, "the Service leads here");
    Ok(())
}

const fn address_type(here: SocketAddr) -> &'static str {
    if here.is_ipv4() { "IPv4" } else { "IPv6" }
}

fn points_at(slice: &EndpointSlice, here: SocketAddr) -> bool {
    let [endpoint] = slice.endpoints.as_slice() else {
        return false;
    };
    let ready = endpoint.conditions.as_ref().and_then(|c| c.ready) != Some(false);
    let ports = slice.ports.as_deref().unwrap_or_default();
    let port = matches!(ports, [port] if port.port == Some(i32::from(here.port())));
    ready && port && endpoint.addresses == [here.ip().to_string()]
}

/// The slice that points at `here`, with the other fields as they are; its write fails if it has changed since.
fn slice(there: Option<ObjectMeta>, namespace: &str, here: SocketAddr) -> EndpointSlice {
    let mut metadata = there.unwrap_or_else(|| ObjectMeta {
        name: Some(NAME.into()),
        namespace: Some(namespace.into()),
        ..ObjectMeta::default()
    });
    metadata.managed_fields = None;
    let ours = [
        ("kubernetes.io/service-name", NAME),
        ("endpointslice.kubernetes.io/managed-by", MANAGED_BY),
        (labels::MANAGED_BY, labels::COORDINATOR),
    ];
    let ours = ours.map(|(key, value)| (key.to_owned(), value.to_owned()));
    metadata.labels.get_or_insert_default().extend(ours);
    EndpointSlice {
        metadata,
        address_type: address_type(here).into(),
        endpoints: vec![Endpoint {
            addresses: vec![here.ip().to_string()],
            conditions: Some(EndpointConditions {
                ready: Some(true),
                ..EndpointConditions::default()
            }),
            ..Endpoint::default()
        }],
        ports: Some(vec![EndpointPort {
            name: Some("grpc".into()),
            protocol: Some("TCP".into()),
            port: Some(i32::from(here.port())),
            ..EndpointPort::default()
        }]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_that_points_elsewhere_is_told_from_one_that_points_here() {
        for here in ["10.0.0.7:50051", "[fd00::7]:50051"] {
            let here: SocketAddr = here.parse().unwrap();
            let ours = slice(None, "skein-system", here);
            assert!(points_at(&ours, here));
            for there in ["10.0.0.8:50051", "10.0.0.7:50052", "[fd00::8]:50051"] {
                assert!(!points_at(&ours, there.parse().unwrap()), "{there}");
            }
            let mut both = ours.clone();
            both.endpoints.extend(ours.endpoints.clone());
            assert!(!points_at(&both, here));
        }
    }
}
