//! A program that answers in the coordinator's place, with an authority of its own, and notes all that it is shown.

use http::{HeaderMap, Request, Response};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, UnixTime};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use trust::server::Clients;
use trust::{Authority, Caller, Server, Validity};

#[derive(Clone, Debug)]
pub struct Shown {
    pub path: String,
    pub headers: HeaderMap,
    pub certificates: Vec<CertificateDer<'static>>,
}

pub struct Impostor {
    pub address: SocketAddr,
    pub authority: Authority,
    server: Server,
    learned: Arc<Mutex<Vec<Shown>>>,
    _runtime: Runtime,
}

impl Impostor {
    pub fn start() -> Self {
        let life = Validity::of(SystemTime::now(), Duration::from_secs(3600));
        let authority = Authority::make(life).unwrap();
        let clients = Clients {
            ours: Some(authority.bundle()),
            cluster: None,
            requesters: true,
        };
        let server = Server::new(authority.server(&[], life).unwrap(), clients).unwrap();
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let learned = Arc::new(Mutex::new(Vec::new()));
        let (acceptor, notes) = (TlsAcceptor::from(server.config()), Arc::clone(&learned));
        runtime.spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, notes) = (acceptor.clone(), Arc::clone(&notes));
                tokio::spawn(async move {
                    let tls = acceptor.accept(tcp).await.unwrap();
                    let certificates = tls.get_ref().1.peer_certificates().map(<[_]>::to_vec);
                    let certificates = certificates.unwrap_or_default();
                    let answer = service_fn(move |request: Request<Incoming>| {
                        let shown = Shown {
                            path: request.uri().path().to_owned(),
                            headers: request.headers().clone(),
                            certificates: certificates.clone(),
                        };
                        notes.lock().unwrap().push(shown);
                        async { Ok::<_, Infallible>(refusal()) }
                    });
                    let serving = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(tls), answer);
                    let _ = serving.await;
                });
            }
        });
        Self {
            address,
            authority,
            server,
            learned,
            _runtime: runtime,
        }
    }

    pub fn learned(&self) -> Vec<Shown> {
        self.learned.lock().unwrap().clone()
    }

    pub fn caller(&self, shown: &Shown) -> Caller {
        self.server.caller(&shown.certificates, UnixTime::now()).unwrap()
    }
}

/// Status 7 of gRPC.
fn refusal() -> Response<Empty<Bytes>> {
    let response = Response::builder()
        .header("content-type", "application/grpc")
        .header("grpc-status", "7")
        .header("grpc-message", "so the impostor says");
    response.body(Empty::new()).unwrap()
}
