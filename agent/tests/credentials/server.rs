//! A coordinator that speaks TLS and records its callers.

use proto::v1;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;
use tonic::{Request, Response, Status, Streaming};
use trust::PeerCertificate;

const DEADLINE: Duration = Duration::from_secs(30);

pub struct Shown {
    pub authorization: Option<String>,
    pub certificate: Option<PeerCertificate>,
    pub end: mpsc::Sender<Result<v1::ToAgent, Status>>,
}

pub struct Server {
    pub address: SocketAddr,
    pub tls: trust::Server,
    shown: mpsc::Receiver<Shown>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start(tls: trust::Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shown_to, shown) = mpsc::channel(8);
        let service = v1::uplink_server::UplinkServer::new(Noting(shown_to));
        let task = tokio::spawn({
            let tls = tls.clone();
            async move {
                let (accepted, connections) = mpsc::channel(8);
                let accepting = tokio::spawn(accept(listener, tls, accepted));
                let server = tonic::transport::Server::builder().add_service(service);
                let _ = server.serve_with_incoming(ReceiverStream::new(connections)).await;
                accepting.abort();
            }
        });
        Self {
            address,
            tls,
            shown,
            task,
        }
    }

    pub async fn next(&mut self) -> Shown {
        timeout(DEADLINE, self.shown.recv()).await.unwrap().unwrap()
    }

    pub fn is_quiet(&mut self) -> bool {
        self.shown.try_recv().is_err()
    }
}

async fn accept(listener: TcpListener, tls: trust::Server, accepted: mpsc::Sender<io::Result<Caller>>) {
    while let Ok((tcp, _)) = listener.accept().await {
        let acceptor = TlsAcceptor::from(tls.config());
        let accepted = accepted.clone();
        tokio::spawn(async move {
            if let Ok(stream) = acceptor.accept(tcp).await {
                let _ = accepted.send(Ok(Caller(stream))).await;
            }
        });
    }
}

struct Noting(mpsc::Sender<Shown>);

#[tonic::async_trait]
impl v1::uplink_server::Uplink for Noting {
    type SessionStream = ReceiverStream<Result<v1::ToAgent, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<v1::FromAgent>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let authorization = request.metadata().get("authorization");
        let (end, stream) = mpsc::channel(4);
        let shown = Shown {
            authorization: authorization.map(|value| value.to_str().unwrap().to_owned()),
            certificate: request
                .extensions()
                .get::<Certificate>()
                .and_then(|certificate| certificate.0.lock().unwrap().take()),
            end,
        };
        self.0.send(shown).await.unwrap();
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

pub struct Caller(TlsStream<TcpStream>);

#[derive(Clone)]
pub struct Certificate(std::sync::Arc<Mutex<Option<PeerCertificate>>>);

impl Connected for Caller {
    type ConnectInfo = Certificate;

    fn connect_info(&self) -> Certificate {
        let shown = self.0.get_ref().1.peer_certificates();
        let first = shown.and_then(|shown| shown.first());
        let read = first.map(|first| PeerCertificate::read(first).unwrap());
        Certificate(std::sync::Arc::new(Mutex::new(read)))
    }
}

impl AsyncRead for Caller {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Caller {
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
