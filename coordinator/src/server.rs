//! The gRPC server: uplink, fleet, health and reflection on one port, and health alone on another for the kubelet, which can
//! probe gRPC in plain text only.
//!
//! Owns: the listeners, the limits, and the gate: until the fleet is known, callers are asked to come back.
//! Must not: answer from empty caches, or anybody who has not shown who they are ([`crate::server::auth`]).

pub mod admission;
pub mod auth;
pub mod file_limit;
pub mod keys;
pub mod security;

use crate::Setup;
use crate::context::Context;
use crate::fleet_service::FleetService;
use crate::server::admission::{Admission, LIMITS, RefusalLog};
use crate::server::auth::{Auth, AuthLayer, Who};
use crate::server::keys::Keys;
use crate::server::security::Security;
use crate::sessions::uplink::Uplink;
use anyhow::Context as _;
use proto::v1::fleet_server::FleetServer;
use proto::v1::uplink_server::UplinkServer;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

/// Both directions of a dead connection are noticed within interval plus timeout.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// Largest message taken: a report is well below 4 KiB.
const LARGEST_MESSAGE: usize = 64 * 1024;

/// Streams on one connection: an agent needs one, a person's tool a few.
const STREAMS_PER_CONNECTION: u32 = 64;

/// What a client may send before the server has read it, on one stream and on one connection alike: more than a message, and little
/// for each of all those who have proven nothing yet.
const WINDOW: u32 = 64 * 1024;

/// All headers of one call, in bytes; a person's token is the longest.
const HEADERS: u32 = 32 * 1024;

/// Each watcher costs a listing of the whole fleet per interval.
const MOST_WATCHERS: usize = 32;

/// Of these, so many of one person, so that one keeps no other from watching.
const MOST_OF_ONE: usize = 8;

/// A kubelet's probe takes no longer, and nobody else has anything to do there.
const LONGEST_PROBE: Duration = Duration::from_secs(60);

/// How long open streams have for their farewell.
const FAREWELL: Duration = Duration::from_secs(5);

/// Closed until this coordinator leads and knows the fleet.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    context: Arc<OnceLock<Arc<Context>>>,
    able: CancellationToken,
    health: Arc<OnceCell<HealthReporter>>,
    tasks: TaskTracker,
    watchers: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Gate {
    /// Done once agents can be served: there is a certificate to show to them, or none is needed.
    pub async fn able(&self) {
        self.able.cancelled().await;
    }

    /// The caches are filled: this coordinator is ready to lead, whether it does or is on standby.
    pub async fn warm(&self) {
        self.health().await.set_service_status("", ServingStatus::Serving).await;
    }

    /// Opens it.
    pub async fn open(&self, context: Arc<Context>) {
        // It is opened once.
        let _ = self.context.set(context);
        let health = self.health().await;
        health.set_service_status("", ServingStatus::Serving).await;
        health.set_serving::<UplinkServer<Uplink>>().await;
        health.set_serving::<FleetServer<FleetService>>().await;
    }

    /// What reports our health; at first nothing serves.
    async fn health(&self) -> HealthReporter {
        let begin = async || {
            let health = HealthReporter::new();
            health.set_service_status("", ServingStatus::NotServing).await;
            health.set_not_serving::<UplinkServer<Uplink>>().await;
            health.set_not_serving::<FleetServer<FleetService>>().await;
            health
        };
        self.health.get_or_init(begin).await.clone()
    }

    /// What the services work on.
    ///
    /// # Errors
    /// UNAVAILABLE while the gate is closed.
    pub fn context(&self) -> Result<Arc<Context>, Status> {
        let context = self.context.get().cloned();
        context.ok_or_else(|| {
            Status::unavailable("this coordinator does not lead, or does not know the fleet yet; try again in a moment")
        })
    }

    /// Runs `task` of a person's tool, unless there are too many already.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED.
    pub fn track_watcher(&self, who: &Who, task: impl Future<Output = ()> + Send + 'static) -> Result<(), Status> {
        let place = Watching::take(&self.watchers, who)?;
        self.track(async move {
            let _place = place;
            task.await;
        });
        Ok(())
    }

    /// Runs `task`; the server waits for it before it ends.
    pub fn track(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

/// One of those who watch; dropping it makes room, however its task has ended.
struct Watching {
    all: Arc<Mutex<BTreeMap<String, usize>>>,
    name: String,
}

impl Watching {
    fn take(all: &Arc<Mutex<BTreeMap<String, usize>>>, who: &Who) -> Result<Self, Status> {
        let name = who.name();
        let mut taken = all.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.values().sum::<usize>() >= MOST_WATCHERS {
            return Err(Status::resource_exhausted(
                "too many people watch; end another `skein watch`, or try again later",
            ));
        }
        let own = taken.get(&name).copied().unwrap_or_default();
        // Where links are not secured, callers cannot be distinguished.
        if own >= MOST_OF_ONE && *who != Who::Anybody {
            return Err(Status::resource_exhausted(format!(
                "{name} watches {own} times already; end another `skein watch`"
            )));
        }
        taken.insert(name.clone(), own + 1);
        drop(taken);
        Ok(Self {
            all: Arc::clone(all),
            name,
        })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut taken = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.name) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.remove(&self.name);
            }
        }
    }
}

/// Opens the port and says where.
///
/// # Errors
/// The address cannot be had.
pub async fn bind(listen: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}; choose another address with --listen HOST:PORT"))?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    Ok(listener)
}

/// Writes the address of `listener` to the file at `path`, at once as a whole.
///
/// # Errors
/// The file cannot be written.
pub fn write_address(listener: &TcpListener, path: &Path) -> anyhow::Result<()> {
    let address = listener.local_addr()?;
    let draft = path.with_extension("new");
    let written = std::fs::write(&draft, address.to_string()).and_then(|()| std::fs::rename(&draft, path));
    written.with_context(|| format!("cannot write the listen file {}", path.display()))
}

/// The ports of a coordinator.
#[derive(Debug)]
pub struct Listeners {
    /// Agents and tools.
    pub grpc: TcpListener,
    /// Health alone, in plain text.
    pub health: Option<TcpListener>,
}

impl From<TcpListener> for Listeners {
    fn from(grpc: TcpListener) -> Self {
        Self { grpc, health: None }
    }
}

/// Serves until `ending`, then gives open streams a moment. Where certificates come from the cluster, it begins once they are
/// there.
///
/// # Errors
/// A listener fails, or the descriptors are broken.
pub async fn serve(listeners: Listeners, gate: Gate, setup: Setup, ending: CancellationToken) -> anyhow::Result<()> {
    let health = gate.health().await;
    let mut tasks = tokio::task::JoinSet::new();
    if let Some(listener) = listeners.health {
        tasks.spawn(serve_health(listener, health, ending.clone()));
    }
    let refusals = Arc::new(RefusalLog::default());
    let (tls, enrolled) = match &setup.security {
        Security::Plaintext => (None, tokio::sync::watch::channel(trust::Enrolled::default()).1),
        Security::Certificates { server, enrolled } => (Some(server.clone()), enrolled.clone()),
        Security::Cluster(cluster) => {
            let opened = keys::open(&setup.client, &setup.namespace, cluster, &ending).await;
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
    gate.able.cancel();
    let auth = Auth::new(&setup.security, &setup.client, enrolled, Arc::clone(&refusals));
    let admission = Admission::new(tls, LIMITS, refusals);
    let served = serve_at(listeners.grpc, gate, admission, auth, ending.clone()).await;
    ending.cancel();
    while let Some(ended) = tasks.join_next().await {
        ended.context("a part of the gRPC server ended abnormally")??;
    }
    served
}

async fn serve_health(listener: TcpListener, health: HealthReporter, ending: CancellationToken) -> anyhow::Result<()> {
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .http2_max_header_list_size(HEADERS)
        .max_connection_age(LONGEST_PROBE)
        .add_service(HealthServer::new(HealthService::from_health_reporter(health)))
        .serve_with_incoming(TcpIncoming::from(listener));
    // Probes need no farewell.
    match ending.run_until_cancelled(server).await {
        Some(served) => served.context("the health server failed"),
        None => Ok(()),
    }
}

/// Serves the connections of `admission`; `auth` judges their calls.
async fn serve_at(
    listener: TcpListener,
    gate: Gate,
    admission: Admission,
    auth: Auth,
    ending: CancellationToken,
) -> anyhow::Result<()> {
    let health = HealthServer::new(HealthService::from_health_reporter(gate.health().await));
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()?;
    let uplink = Uplink::new(gate.clone(), auth.clone());
    let uplink = UplinkServer::new(uplink).max_decoding_message_size(LARGEST_MESSAGE);
    let fleet = FleetService::new(gate.clone(), auth.clone());
    let fleet = FleetServer::new(fleet).max_decoding_message_size(LARGEST_MESSAGE);
    let server = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .http2_max_header_list_size(HEADERS)
        .layer(AuthLayer::new(auth))
        .add_service(uplink)
        .add_service(fleet)
        .add_service(health)
        .add_service(reflection)
        .serve_with_incoming_shutdown(
            admission.open(listener, ending.clone()),
            ending.clone().cancelled_owned(),
        );
    let ended = async {
        ending.cancelled().await;
        gate.tasks.close();
        // Streams that do not end by then are cut off; agents reconnect either way.
        let _ = tokio::time::timeout(FAREWELL, gate.tasks.wait()).await;
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
    use proto::v1;
    use tonic::transport::Channel;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus as Reported};

    #[tokio::test]
    async fn a_coordinator_that_does_not_know_the_fleet_says_so_to_everybody() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let ending = CancellationToken::new();
        let admission = Admission::new(None, LIMITS, Arc::default());
        let serving = tokio::spawn(serve_at(
            listener,
            Gate::default(),
            admission,
            Auth::open(),
            ending.clone(),
        ));
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

    #[tokio::test]
    async fn one_person_takes_a_part_of_the_places_to_watch_and_another_still_has_one() {
        let gate = Gate::default();
        let person = |name: &str| Who::Operator { name: name.to_owned() };
        let watch = |who: &Who| gate.track_watcher(who, std::future::pending());
        for _ in 0..MOST_OF_ONE {
            watch(&person("vera")).unwrap();
        }
        let refused = watch(&person("vera")).unwrap_err();
        assert!(
            refused.message().contains("operator vera watches 8 times already"),
            "{refused}"
        );
        watch(&person("ada")).unwrap();
        for _ in MOST_OF_ONE + 1..MOST_WATCHERS {
            watch(&Who::Anybody).unwrap();
        }
        assert!(
            watch(&person("bob")).is_err(),
            "there are no more places than there are"
        );
    }

    #[tokio::test]
    async fn a_watcher_that_dies_of_a_fault_leaves_its_place_to_others() {
        let gate = Gate::default();
        for number in 0..=MOST_WATCHERS {
            let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
            let dies = async move {
                let _sender = sender;
                panic!("a fault");
            };
            assert!(gate.track_watcher(&Who::Anybody, dies).is_ok(), "after {number} others");
            // The place is free before the task lets go of what it holds last, or as soon as it has ended.
            assert!(receiver.await.is_err());
            gate.tasks.close();
            gate.tasks.wait().await;
            gate.tasks.reopen();
        }
    }

    /// How much a client may send before the server has read it, on one stream and on the connection (RFC 9113, 5.2).
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
            // The first keepalive ends what is reported at the beginning.
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
        let serving = tokio::spawn(serve_at(
            listener,
            Gate::default(),
            admission,
            Auth::open(),
            ending.clone(),
        ));
        let (of_stream, of_all) = windows(address).await;
        assert!(of_stream <= 64 * 1024, "{of_stream} on one stream");
        assert!(of_all <= 128 * 1024, "{of_all} on one connection");
        ending.cancel();
        serving.await.unwrap().unwrap();
    }
}
