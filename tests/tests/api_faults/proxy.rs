//! A proxy to the API server that can be made to fail: HTTPS in, HTTPS out, with the API server's own certificate.

use crate::fault::{AnyError, Body, Fault, is_watch, through};
use anyhow::Context;
use http::{Request, Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::ControlPlane;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const NAME: &str = "kubernetes.default.svc";

pub struct Proxy {
    _runtime: Runtime,
    fault: watch::Sender<Fault>,
    touched: Arc<AtomicUsize>,
    address: SocketAddr,
}

#[derive(Clone)]
struct Shared {
    upstream: SocketAddr,
    connector: TlsConnector,
    faults: watch::Receiver<Fault>,
    touched: Arc<AtomicUsize>,
}

impl Proxy {
    pub fn start(plane: &ControlPlane) -> anyhow::Result<Self> {
        let pki = plane.scratch().path().join("pki");
        let chain: Vec<_> = CertificateDer::pem_file_iter(pki.join("apiserver.crt"))?.collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_file(pki.join("apiserver.key"))?;
        let mut roots = RootCertStore::empty();
        for certificate in &chain {
            roots.add(certificate.clone())?;
        }
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let server = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        let client = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let upstream = plane.server().strip_prefix("https://").context("no https")?.parse()?;
        let (fault, faults) = watch::channel(Fault::No);
        let touched = Arc::new(AtomicUsize::new(0));
        let shared = Shared {
            upstream,
            connector: TlsConnector::from(Arc::new(client)),
            faults,
            touched: Arc::clone(&touched),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        runtime.spawn(accept(listener, TlsAcceptor::from(Arc::new(server)), shared));
        Ok(Self {
            _runtime: runtime,
            fault,
            touched,
            address,
        })
    }

    pub fn set(&self, fault: Fault) {
        self.touched.store(0, Ordering::Relaxed);
        self.fault.send_replace(fault);
    }

    pub fn touched(&self) -> usize {
        self.touched.load(Ordering::Relaxed)
    }

    pub fn lead(&self, kubeconfig: &Path) -> anyhow::Result<PathBuf> {
        let mut config: serde_json::Value = serde_json::from_slice(&std::fs::read(kubeconfig)?)?;
        config["clusters"][0]["cluster"]["server"] = format!("https://{}", self.address).into();
        let path = kubeconfig.with_added_extension("by-proxy");
        std::fs::write(&path, config.to_string())?;
        Ok(path)
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, shared: Shared) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.touched.fetch_add(1, Ordering::Relaxed);
        if *shared.faults.borrow() == Fault::Away {
            continue;
        }
        let (acceptor, shared) = (acceptor.clone(), shared.clone());
        tokio::spawn(async move {
            let mut faults = shared.faults.clone();
            tokio::select! {
                () = serve(stream, acceptor, shared) => {}
                _ = faults.wait_for(|fault| *fault == Fault::Away) => {}
            }
        });
    }
}

/// A caller that disconnects, and an answer that is broken off, are not errors.
async fn serve(stream: TcpStream, acceptor: TlsAcceptor, shared: Shared) {
    // Under `Silent` not even the handshake is answered.
    if *shared.faults.borrow() == Fault::Silent {
        return std::future::pending().await;
    }
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(move |request| answer(request, shared.clone()));
    let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

async fn answer(mut request: Request<Incoming>, shared: Shared) -> Result<Response<Body>, AnyError> {
    shared.touched.fetch_add(1, Ordering::Relaxed);
    let watch = is_watch(&request);
    let fault = *shared.faults.borrow();
    if let Some(response) = fault.answers(&mut request).await {
        // A client that is refused at once retries at once; a server that sheds load is slow too.
        tokio::time::sleep(Duration::from_millis(20)).await;
        return Ok(response);
    }
    let stream = TcpStream::connect(shared.upstream).await?;
    stream.set_nodelay(true)?;
    let stream = shared.connector.connect(ServerName::try_from(NAME)?, stream).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let (mut parts, body) = sender.send_request(request).await?.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::TRANSFER_ENCODING);
    parts.headers.remove(header::CONNECTION);
    let body = StreamBody::new(through(body, watch, shared.faults));
    Ok(Response::from_parts(parts, BodyExt::boxed_unsync(body)))
}
