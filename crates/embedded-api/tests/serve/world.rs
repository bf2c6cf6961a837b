//! The server of the tests, and clients that connect from outside.

use bytes::Bytes;
use embedded_api::request::{Answer, ApiRequest, Body};
use embedded_api::serve::folder::Folder;
use embedded_api::serve::{self, Handler, Limits, Options, Serving};
use http::StatusCode;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A namespace for every request, a watch that stays open for `watch=true`; `/slow` answers when it is released.
#[derive(Clone)]
pub(crate) struct Script {
    requests: Arc<AtomicUsize>,
    watches: mpsc::Sender<mpsc::Sender<Bytes>>,
    let_go: watch::Receiver<bool>,
}

impl Handler for Script {
    async fn handle(&self, request: ApiRequest) -> Answer {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
        let body = if request.flag("watch") {
            let (sender, frames) = mpsc::channel(2);
            let event = format!("{}\n", json!({"type": "ADDED", "object": namespace}));
            sender.send(event.into()).await.unwrap();
            self.watches.send(sender).await.unwrap();
            Body::Stream(frames)
        } else {
            Body::Whole(namespace.to_string().into())
        };
        if request.path == "/slow" {
            self.let_go.clone().wait_for(|go| *go).await.unwrap();
        }
        Answer {
            code: StatusCode::OK,
            content_type: "application/json".to_owned(),
            headers: Vec::new(),
            body,
        }
    }
}

pub(crate) struct World {
    _directory: tempfile::TempDir,
    pub(crate) folder: Folder,
    pub(crate) script: Script,
    pub(crate) watches: mpsc::Receiver<mpsc::Sender<Bytes>>,
    pub(crate) let_go: watch::Sender<bool>,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(&directory.path().join("data")).unwrap();
        let (sender, watches) = mpsc::channel(16);
        let (let_go, gone) = watch::channel(false);
        let script = Script {
            requests: Arc::default(),
            watches: sender,
            let_go: gone,
        };
        Self {
            _directory: directory,
            folder,
            script,
            watches,
            let_go,
        }
    }

    pub(crate) async fn serve_with(&self, options: Options) -> Serving {
        serve::start(self.script.clone(), &self.folder, options).await.unwrap()
    }

    pub(crate) async fn limited(&self, limits: Limits) -> Serving {
        let options = Options {
            limits,
            ..Options::default()
        };
        self.serve_with(options).await
    }

    pub(crate) async fn serve(&self) -> Serving {
        self.serve_with(Options::default()).await
    }

    pub(crate) fn requests(&self) -> usize {
        self.script.requests.load(Ordering::SeqCst)
    }

    pub(crate) fn token(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("token")).unwrap();
        text.trim().to_owned()
    }
}

pub(crate) async fn client(kubeconfig: &Path) -> kube::Client {
    let read = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    kube::Client::try_from(config.unwrap()).unwrap()
}

pub(crate) async fn connect(serving: &Serving, protocol: &[u8]) -> TlsStream<TcpStream> {
    let read = Kubeconfig::read_from(&serving.kubeconfig).unwrap();
    let cluster = read.clusters[0].cluster.clone().unwrap();
    let pem = base64::Engine::decode(
        &base64::engine::general_purpose::STANDARD,
        cluster.certificate_authority_data.unwrap(),
    );
    let mut roots = rustls::RootCertStore::empty();
    let pem = pem.unwrap();
    let authority = <CertificateDer<'_> as rustls::pki_types::pem::PemObject>::from_pem_slice(&pem);
    roots.add(authority.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let socket = TcpStream::connect(serving.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, socket)
        .await
        .unwrap()
}

pub(crate) async fn rest(stream: &mut TlsStream<TcpStream>) -> String {
    let mut said = Vec::new();
    // A connection that is cut ends with an error: that it ended is what counts.
    let _ = timeout(SOON, stream.read_to_end(&mut said))
        .await
        .expect("the server ends the connection");
    String::from_utf8(said).unwrap()
}

pub(crate) async fn raw(serving: &Serving, request: &str) -> String {
    let mut stream = connect(serving, b"http/1.1").await;
    stream.write_all(request.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

pub(crate) fn body(response: &str) -> Value {
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}
