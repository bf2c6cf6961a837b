//! Access to the API: HTTPS on loopback for the owner's tools, and a `kube::Client` without a socket for this process.
//!
//! Owns: sockets, TLS, the credential, the kubeconfig, the limits of a request on the wire. Must not: know objects
//! ([`Handler`] does). In the data folder, which only the owner can enter: `authority.pem` (signs the serving
//! certificate), `token` (the credential), `port` (so that a kubeconfig stays valid after a restart) and, unless set
//! otherwise, `kubeconfig`.

use crate::request::{Answer, ApiRequest};
use crate::serve::access::{Token, TokenError};
use crate::serve::bodies::Bodies;
use crate::serve::folder::Folder;
use crate::serve::kubeconfig::{Kubeconfig, KubeconfigError};
use crate::serve::port::PortError;
use crate::serve::tls::{Authority, AuthorityError};
use crate::serve::unproven::Unproven;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub mod access;
pub mod bodies;
pub mod convert;
pub mod folder;
pub mod in_process;
pub mod kubeconfig;
pub mod listener;
pub mod port;
pub mod private_file;
mod stalled;
pub mod tls;
mod unproven;

pub trait Handler: Clone + Send + Sync + 'static {
    /// Must be safe to drop at any point, as when a client disconnects.
    fn handle(&self, request: ApiRequest) -> impl Future<Output = Answer> + Send;
}

#[derive(Clone, Debug)]
pub struct Options {
    /// Port 0 is the port of the last run, or a free one.
    pub listen: SocketAddr,
    /// Whether an address that other machines can reach is intended.
    pub beyond_loopback: bool,
    /// Names of this server besides those of loopback and `listen`.
    pub names: Vec<String>,
    pub kubeconfig: Option<PathBuf>,
    pub context: String,
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            beyond_loopback: false,
            names: Vec::new(),
            kubeconfig: None,
            context: "embedded".to_owned(),
            limits: Limits::default(),
        }
    }
}

/// Each keeps a client from taking what the others need.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Further ones wait to be accepted.
    pub connections: usize,
    /// Bytes of all bodies of requests.
    pub bodies: u64,
    /// Bytes of all longer answers that clients have not received yet.
    pub answers: u64,
    pub handshake: Duration,
    /// Time from the handshake to the first request with the credential; without one the connection is closed.
    pub credential: Duration,
    /// Time without a request on an HTTP/1.1 connection, and for the headers of one.
    pub idle: Duration,
    pub body: Duration,
    pub answer: Duration,
    /// Limit for a connection that accepts nothing of what is written to it.
    pub stalled: Duration,
    pub ending: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            bodies: 128 << 20,
            answers: 512 << 20,
            handshake: Duration::from_secs(10),
            credential: Duration::from_secs(10),
            idle: Duration::from_secs(180),
            body: Duration::from_secs(30),
            answer: Duration::from_secs(60),
            stalled: Duration::from_secs(30),
            ending: Duration::from_secs(5),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "{0} can be reached from other machines, and this API is its owner's only; listen on 127.0.0.1, or say that \
         other machines are meant to reach it"
    )]
    NotLoopback(SocketAddr),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
}

/// Dropping it ends it at once; [`Serving::end`] shuts it down in order.
#[derive(Debug)]
pub struct Serving {
    pub address: SocketAddr,
    /// Address such as `https://127.0.0.1:25017`.
    pub url: String,
    /// Holds the credential.
    pub kubeconfig: PathBuf,
    /// Port of the last run, if another program uses it now: copied kubeconfigs name it.
    pub moved_from: Option<u16>,
    stop: CancellationToken,
    cut: CancellationToken,
    tasks: TaskTracker,
    ending: Duration,
}

/// The caller's store must have locked `folder`: two processes would overwrite each other's port and kubeconfig.
pub async fn start(handler: impl Handler, folder: &Folder, options: Options) -> Result<Serving, ServeError> {
    let listen = options.listen;
    if !listen.ip().is_loopback() && !options.beyond_loopback {
        return Err(ServeError::NotLoopback(listen));
    }
    let token = Token::open(folder)?;
    let authority = Authority::open(folder)?;
    let bound = port::bind(folder, listen).await?;
    let host = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    names.push(host.to_string());
    names.extend(options.names);
    let tls = authority.server_config(&names)?;

    let url = format!("https://{}", SocketAddr::from((host, bound.address.port())));
    let kubeconfig = options.kubeconfig.unwrap_or_else(|| folder.path().join("kubeconfig"));
    let document = Kubeconfig {
        context: &options.context,
        server: &url,
        authority: authority.certificate_pem(),
        token: token.secret(),
    };
    document.write(&kubeconfig)?;

    let (stop, cut, tasks) = (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
    let server = listener::Server {
        handler,
        token,
        tls,
        limits: options.limits,
        bodies: Bodies::new(options.limits.bodies, options.limits.answers),
        unproven: Unproven::default(),
        stop: stop.clone(),
        cut: cut.clone(),
        tasks: tasks.clone(),
    };
    tasks.spawn(listener::run(server, bound.listener));
    tracing::info!(%url, kubeconfig = %kubeconfig.display(), "API served");
    Ok(Serving {
        address: bound.address,
        url,
        kubeconfig,
        moved_from: bound.moved_from,
        stop,
        cut,
        tasks,
        ending: options.limits.ending,
    })
}

impl Serving {
    /// No new connections; watches end where a client can resume them; requests in progress get [`Limits::ending`].
    pub async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(self.ending, self.tasks.wait()).await.is_err() {
            self.cut.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
        self.cut.cancel();
    }
}
