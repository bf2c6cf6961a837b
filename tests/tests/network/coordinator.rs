//! The real coordinator behind a listener of the simulated network; when deposed, it is started again, as in a cluster.

use crate::api::Cluster;
use coordinator::fleet_service::FleetService;
use coordinator::server::auth::{Auth, AuthLayer};
use coordinator::sessions::uplink::Uplink;
use coordinator::{Gates, Metrics, Security, Setup};
use futures::Stream;
use proto::v1::fleet_server::FleetServer;
use proto::v1::uplink_server::UplinkServer;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use turmoil::net::{TcpListener, TcpStream};

pub const PORT: u16 = 50051;
/// As in `coordinator::server`.
const KEEPALIVE: Duration = Duration::from_secs(5);
const RESTART: Duration = Duration::from_secs(1);

pub async fn run(cluster: Arc<Cluster>, number: usize) -> turmoil::Result {
    loop {
        let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
        let (ending, gates) = (CancellationToken::new(), Gates::default());
        let serving = tokio::spawn(serve(listener, gates.clone(), ending.clone()));
        let setup = Setup {
            client: cluster.client(number),
            namespace: "skein-system".to_owned(),
            identity: format!("coordinator-{number}"),
            alone: false,
            pod_ip: None,
            upgrades: None,
            granted_vehicles_only: false,
            site: coordinator::controllers::airspace::SiteRules::default(),
            agents_become_nodes: false,
            metrics: Metrics::default(),
            security: Security::Plaintext,
            traces: coordinator::Traces::default(),
        };
        let over = coordinator::lead(setup, None, gates, ending.clone()).await;
        tracing::info!(number, why = ?over.err().map(|why| why.to_string()), "coordinator ended");
        ending.cancel();
        serving.abort();
        let _ = serving.await;
        sleep(RESTART).await;
    }
}

async fn serve(listener: TcpListener, gates: Gates, ending: CancellationToken) -> Result<(), tonic::transport::Error> {
    let auth = Auth::open();
    let uplink = UplinkServer::new(Uplink::new(gates.uplink, auth.clone()));
    let fleet = FleetServer::new(FleetService::new(gates.fleet, auth.clone()));
    Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .layer(AuthLayer::new(auth))
        .add_service(uplink)
        .add_service(fleet)
        .serve_with_incoming_shutdown(incoming(listener), ending.cancelled_owned())
        .await
}

fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<Connection>> {
    futures::stream::unfold(listener, |listener| async {
        let accepted = listener.accept().await.map(|(stream, _)| Connection(stream));
        Some((accepted, listener))
    })
}

struct Connection(TcpStream);

impl Connected for Connection {
    type ConnectInfo = ();
    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
