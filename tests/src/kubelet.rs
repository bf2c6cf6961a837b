//! A fake kubelet: serves the one call by which the API server forwards a connection to a port of a Pod, as WebSocket
//! (`v4.channel.k8s.io`): two channels, for bytes and for errors, each opened by the port's number.

use futures::{SinkExt, StreamExt};
use rustls::ServerConfig;
use rustls::sign::SingleCertAndKey;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};
use trust::{Authority, Validity};

const PROTOCOL: &str = "v4.channel.k8s.io";
const DATA: u8 = 0;
const ERROR: u8 = 1;

pub struct Kubelet {
    pub address: SocketAddr,
    pub broken: Arc<AtomicBool>,
    pub pod: Arc<Mutex<SocketAddr>>,
    _runtime: Runtime,
}

impl Kubelet {
    pub fn start(pod: SocketAddr) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let broken = Arc::new(AtomicBool::new(false));
        let pod = Arc::new(Mutex::new(pod));
        let (acceptor, is_broken, leads_to) = (acceptor(), Arc::clone(&broken), Arc::clone(&pod));
        runtime.spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (acceptor, is_broken, pod) = (acceptor.clone(), Arc::clone(&is_broken), *leads_to.lock().unwrap());
                tokio::spawn(async move {
                    if let Ok(tls) = acceptor.accept(tcp).await {
                        serve(tls, pod, is_broken.load(Ordering::SeqCst)).await;
                    }
                });
            }
        });
        Self {
            address,
            broken,
            pod,
            _runtime: runtime,
        }
    }
}

/// Its certificate is not checked, as the API server of the tests has no authority for kubelets.
fn acceptor() -> TlsAcceptor {
    let life = Validity::of(SystemTime::now(), std::time::Duration::from_secs(3600));
    let identity = Authority::make(life).unwrap().server(&[], life).unwrap();
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(identity.certified())));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

#[allow(clippy::result_large_err, reason = "the type of the callback")]
async fn serve(tls: TlsStream<TcpStream>, pod: SocketAddr, broken: bool) {
    let agree = |request: &Request, mut response: Response| {
        assert!(request.uri().path().starts_with("/portForward/"), "{}", request.uri());
        let offered = request.headers()["sec-websocket-protocol"].to_str().unwrap();
        assert!(offered.contains(PROTOCOL), "{offered}");
        let chosen = PROTOCOL.parse().unwrap();
        response.headers_mut().insert("sec-websocket-protocol", chosen);
        Ok(response)
    };
    let Ok(mut socket) = accept_hdr_async(tls, agree).await else {
        return;
    };
    // The number itself does not matter here, only that it is sent first on each channel.
    let [low, high] = 50_051_u16.to_le_bytes();
    for channel in [DATA, ERROR] {
        if socket.send(frame(channel, &[low, high])).await.is_err() {
            return;
        }
    }
    match TcpStream::connect(pod).await {
        Ok(tcp) if !broken => pass(socket, tcp).await,
        _ => {
            let _ = socket.send(frame(ERROR, b"connection refused by the pod")).await;
            while let Some(Ok(_)) = socket.next().await {}
        }
    }
}

async fn pass(mut socket: WebSocketStream<TlsStream<TcpStream>>, mut tcp: TcpStream) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Binary(bytes))) if bytes.first() == Some(&DATA) => {
                    if tcp.write_all(&bytes[1..]).await.is_err() {
                        return;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
            read = tcp.read(&mut buffer) => match read {
                Ok(0) | Err(_) => {
                    let _ = socket.close(None).await;
                    return;
                }
                Ok(length) => {
                    if socket.send(frame(DATA, &buffer[..length])).await.is_err() {
                        return;
                    }
                }
            },
        }
    }
}

fn frame(channel: u8, bytes: &[u8]) -> Message {
    Message::binary([&[channel], bytes].concat())
}
