//! The gRPC server: uplink, fleet, health and reflection on one port, and health alone on another for the kubelet, which can probe gRPC in
//! plain text only.
//!
//! Owns: the listeners and their limits; the services are given to it. Must not: answer from empty caches ([`gate`]), or a caller without
//! credentials ([`auth`]).

pub mod admission;
pub mod auth;
pub mod file_limit;
pub mod gate;
pub mod keys;
pub mod places;
pub mod security;

pub use gate::{Gate, ServiceGate};

use crate::server::admission::{Admission, LIMITS, RefusalLog};
use crate::server::auth::{Auth, AuthLayer};
use crate::server::keys::Keys;
use crate::server::security::Security;
use anyhow::Context as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

/// A dead connection is noticed by both ends within interval plus timeout.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// A report is well below 4 KiB.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// An agent needs one, a person's tool a few.
const STREAMS_PER_CONNECTION: u32 = 64;

/// Bytes that a client may send unread, on a stream or a connection: more than a message, and little for each that has proven nothing.
const FLOW_WINDOW_BYTES: u32 = 64 * 1024;

/// All headers of one call; a person's token is the longest.
const MAX_HEADER_BYTES: u32 = 32 * 1024;

/// A kubelet's probe takes no longer, and no other client has anything to do there.
const LONGEST_PROBE: Duration = Duration::from_secs(60);

const STREAMS_END_TIMEOUT: Duration = Duration::from_secs(5);

pub async fn bind(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = crate::listener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}; choose another address with --listen HOST:PORT"))?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    Ok(listener)
}

/// Writes the address of `listener` to the file at `path`, at once as a whole.
pub fn write_address(listener: &TcpListener, path: &Path) -> anyhow::Result<()> {
    let address = listener.local_addr()?;
    let draft = path.with_extension("new");
    let written = std::fs::write(&draft, address.to_string()).and_then(|()| std::fs::rename(&draft, path));
    written.with_context(|| format!("cannot write the listen file {}", path.display()))
}

#[derive(Debug)]
pub struct Listeners {
    pub grpc: TcpListener,
    /// Health alone, in plain text.
    pub health: Option<TcpListener>,
}

impl From<TcpListener> for Listeners {
    fn from(grpc: TcpListener) -> Self {
        Self { grpc, health: None }
    }
}

/// How the links of agents and people are secured, and by what.
#[derive(Clone)]
pub struct Links {
    /// Judges tokens and keeps the authority.
    pub client: kube::Client,
    /// Of the coordinator's own objects.
    pub namespace: String,
    pub security: Security,
}

/// Serves the `services` until `ending`, then gives open streams a moment. Certificates from the cluster are waited for.
pub async fn serve(
    listeners: Listeners,
    gate: Gate,
    links: Links,
    services: impl FnOnce(&Auth) -> Routes,
    ending: CancellationToken,
) -> anyhow::Result<()> {
    let health = gate.health().await;
    let mut tasks = tokio::task::JoinSet::new();
    if let Some(listener) = listeners.health {
        tasks.spawn(serve_health(listener, health, ending.clone()));
    }
    let refusals = Arc::new(RefusalLog::default());
    let (tls, enrolled) = match &links.security {
        Security::Plaintext => (None, tokio::sync::watch::channel(trust::Enrolled::default()).1),
        Security::Certificates { server, enrolled } => (Some(server.clone()), enrolled.clone()),
        Security::Cluster(cluster) => {
            let opened = keys::open(&links.client, &links.namespace, cluster, &ending).await;
            let Some((Keys { server, enrolled }, keeper)) = opened else {
                return Ok(());
            };
            tasks.spawn({
                let ending = ending.clone();
                async move {
                    keeper.keep(ending).await;
                    Ok(())
                }
            });
            (Some(server), enrolled)
        }
    };
    if tls.is_none() {
        tracing::warn!("links are in plain text, and everybody may do everything");
    }
    gate.set_able();
    let auth = Auth::new(&links.security, &links.client, enrolled, Arc::clone(&refusals));
    let admission = Admission::new(tls, LIMITS, refusals);
    let services = services(&auth);
    let served = serve_at(listeners.grpc, (gate, services), admission, auth, ending.clone()).await;
    ending.cancel();
    while let Some(ended) = tasks.join_next().await {
        ended.context("a part of the gRPC server ended abnormally")??;
    }
    served
}

/// A server with the limits of both ports.
fn limited() -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_INTERVAL))
        .initial_stream_window_size(FLOW_WINDOW_BYTES)
        .initial_connection_window_size(FLOW_WINDOW_BYTES)
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .http2_max_header_list_size(MAX_HEADER_BYTES)
}

async fn serve_health(listener: TcpListener, health: HealthReporter, ending: CancellationToken) -> anyhow::Result<()> {
    let server = limited()
        .max_connection_age(LONGEST_PROBE)
        .add_service(HealthServer::new(HealthService::from_health_reporter(health)))
        .serve_with_incoming(TcpIncoming::from(listener));
    // Probes need no farewell.
    match ending.run_until_cancelled(server).await {
        Some(served) => served.context("the health server failed"),
        None => Ok(()),
    }
}

/// `auth` checks the calls on connections of `admission`.
async fn serve_at(
    listener: TcpListener,
    (gate, services): (Gate, Routes),
    admission: Admission,
    auth: Auth,
    ending: CancellationToken,
) -> anyhow::Result<()> {
    let health = HealthServer::new(HealthService::from_health_reporter(gate.health().await));
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()?;
    let server = limited()
        .layer(AuthLayer::new(auth))
        .add_routes(services)
        .add_service(health)
        .add_service(reflection)
        .serve_with_incoming_shutdown(
            admission.open(listener, ending.clone()),
            ending.clone().cancelled_owned(),
        );
    let ended = async {
        ending.cancelled().await;
        // Streams that do not end by then are cut off; agents reconnect either way.
        let _ = tokio::time::timeout(STREAMS_END_TIMEOUT, gate.drained()).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    tokio::select! {
        served = server => served.context("the gRPC server failed"),
        () = ended => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leader::{Gates, services};
    use proto::v1;
    use tonic::transport::Channel;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus as Reported};

    fn closed() -> (Gate, Routes) {
        let gates = Gates::default();
        let services = services(&gates, &Auth::open());
        (gates.all, services)
    }

    #[tokio::test]
    async fn a_coordinator_that_does_not_know_the_fleet_says_so_to_everybody() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let ending = CancellationToken::new();
        let admission = Admission::new(None, LIMITS, Arc::default());
        let serving = tokio::spawn(serve_at(listener, closed(), admission, Auth::open(), ending.clone()));
        let channel = Channel::from_shared(server).unwrap().connect().await.unwrap();

        let health = HealthClient::new(channel.clone())
            .check(HealthCheckRequest::default())
            .await
            .unwrap();
        assert_eq!(health.into_inner().status(), Reported::NotServing);
        let mut fleet = v1::fleet_client::FleetClient::new(channel.clone());
        let list = fleet.list(v1::ListRequest::default()).await.unwrap_err();
        assert_eq!(list.code(), tonic::Code::Unavailable);
        let all = v1::GroundRequest {
            target: Some(v1::ground_request::Target::All(v1::All {})),
        };
        assert_eq!(fleet.ground(all).await.unwrap_err().code(), tonic::Code::Unavailable);
        let mut uplink = v1::uplink_client::UplinkClient::new(channel);
        let session = uplink.session(tokio_stream::pending()).await.unwrap_err();
        assert_eq!(session.code(), tonic::Code::Unavailable);

        ending.cancel();
        serving.await.unwrap().unwrap();
    }

    /// Bytes that a client may send before the server has read them, on one stream and on the connection (RFC 9113, 5.2).
    async fn windows(address: std::net::SocketAddr) -> (u32, u32) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        // The preface, and SETTINGS that say nothing.
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        let (mut of_stream, mut of_all) = (65_535, 65_535);
        let number = |bytes: &[u8]| bytes.iter().fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
        loop {
            let mut head = [0; 9];
            // The first keepalive ends the opening frames.
            stream.read_exact(&mut head).await.unwrap();
            let mut body = vec![0; number(&head[..3]) as usize];
            stream.read_exact(&mut body).await.unwrap();
            match head[3] {
                4 => {
                    for setting in body.chunks(6).filter(|setting| number(&setting[..2]) == 4) {
                        of_stream = number(&setting[2..]);
                    }
                }
                8 => of_all += number(&body),
                6 => return (of_stream, of_all),
                _ => {}
            }
        }
    }

    #[tokio::test]
    async fn what_a_caller_sends_unasked_takes_little_memory() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ending = CancellationToken::new();
        let admission = Admission::new(None, LIMITS, Arc::default());
        let serving = tokio::spawn(serve_at(listener, closed(), admission, Auth::open(), ending.clone()));
        let (of_stream, of_all) = windows(address).await;
        assert!(of_stream <= 64 * 1024, "{of_stream} on one stream");
        assert!(of_all <= 128 * 1024, "{of_all} on one connection");
        ending.cancel();
        serving.await.unwrap().unwrap();
    }
}
