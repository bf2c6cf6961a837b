//! The uplink's credentials against a real TLS server on loopback, with files that are missing or change at any time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod server;

use agent::coordinator::CoordinatorFlags;
use agent::credentials::Reader;
use agent::logs::LogDesk;
use agent::uplink::{FromUplink, Outward, Uplink};
use agent::{Coordinator, dial};
use model::ids::NodeName;
use server::Server;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use trust::server::Clients;
use trust::{Authority, Peer, Validity};

const DEADLINE: Duration = Duration::from_secs(30);

fn hour() -> Validity {
    Validity::of(SystemTime::now(), Duration::from_secs(3600))
}

fn authority() -> Authority {
    Authority::make(hour()).unwrap()
}

fn tls(authority: &Authority) -> trust::Server {
    let clients = Clients {
        ours: Some(authority.bundle()),
        cluster: None,
        requesters: false,
    };
    trust::Server::new(authority.server(&[], hour()).unwrap(), clients).unwrap()
}

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Atomically, as the kubelet does.
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path("new"), text).unwrap();
        std::fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    fn with_token(&self, address: SocketAddr) -> Coordinator {
        let flags = CoordinatorFlags {
            coordinator: Some(format!("https://{address}")),
            coordinator_ca: Some(self.path("ca.crt")),
            token_file: Some(self.path("token")),
            ..CoordinatorFlags::default()
        };
        flags.check().unwrap()
    }

    fn with_certificate(&self, address: SocketAddr) -> Coordinator {
        let flags = CoordinatorFlags {
            coordinator: Some(format!("https://{address}")),
            coordinator_ca: Some(self.path("ca.crt")),
            client_cert: Some(self.path("agent.crt")),
            client_key: Some(self.path("agent.key")),
            ..CoordinatorFlags::default()
        };
        flags.check().unwrap()
    }
}

struct Agent {
    heard: mpsc::Receiver<FromUplink>,
    _outward: watch::Sender<Outward>,
    task: JoinHandle<()>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Agent {
    fn start(coordinator: Coordinator) -> Self {
        let (outward, rx) = watch::channel(Outward::default());
        let (tx, heard) = mpsc::channel(16);
        let uplink = Uplink {
            coordinator,
            life: 1,
            node: NodeName::parse("pine").unwrap(),
            outward: rx,
            pilot: tx,
            guests: mpsc::channel(1).0,
            logs: LogDesk::default(),
            farewell: CancellationToken::new(),
        };
        Self {
            heard,
            _outward: outward,
            task: tokio::spawn(uplink.run()),
        }
    }

    async fn next(&mut self) -> FromUplink {
        timeout(DEADLINE, self.heard.recv()).await.unwrap().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_read_afresh_for_each_session() {
    let authority = authority();
    let mut server = Server::start(tls(&authority)).await;
    let files = Files::new();
    files.write("ca.crt", authority.certificate_pem());
    files.write("token", "first\n");
    let _agent = Agent::start(files.with_token(server.address));
    let first = server.next().await;
    assert_eq!(first.authorization.as_deref(), Some("Bearer first"));
    assert!(first.certificate.is_none());
    files.write("token", "second\n");
    let over = Status::unauthenticated("this session is too old");
    first.end.send(Err(over)).await.unwrap();
    assert_eq!(server.next().await.authorization.as_deref(), Some("Bearer second"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_outside_a_cluster_shows_its_certificate() {
    let authority = authority();
    let mut server = Server::start(tls(&authority)).await;
    let files = Files::new();
    let peer = Peer::agent(NodeName::parse("pine").unwrap());
    let enrolled = authority.client(&peer, hour()).unwrap();
    files.write("ca.crt", authority.certificate_pem());
    files.write("agent.crt", enrolled.certificate_pem());
    files.write("agent.key", enrolled.key_pem());
    let _agent = Agent::start(files.with_certificate(server.address));
    let shown = server.next().await;
    assert_eq!(shown.certificate.unwrap().peer, peer);
    assert_eq!(shown.authorization, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_come_late_are_waited_for() {
    let authority = authority();
    let mut server = Server::start(tls(&authority)).await;
    let files = Files::new();
    let mut agent = Agent::start(files.with_token(server.address));
    // In the order in which a starting cluster provides them.
    files.write("token", "early");
    assert!(timeout(Duration::from_millis(500), agent.heard.recv()).await.is_err());
    files.write("ca.crt", authority.certificate_pem());
    assert_eq!(server.next().await.authorization.as_deref(), Some("Bearer early"));
    assert_eq!(agent.next().await, FromUplink::Opened);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_of_another_authority_is_shown_nothing_until_it_is_believed() {
    let (old, new) = (authority(), authority());
    let mut server = Server::start(tls(&old)).await;
    let files = Files::new();
    files.write("ca.crt", old.certificate_pem());
    files.write("token", "secret");
    let coordinator = files.with_token(server.address);
    let mut agent = Agent::start(coordinator.clone());
    let session = server.next().await;
    assert_eq!(agent.next().await, FromUplink::Opened);
    // Open streams survive a new authority; new ones need its bundle.
    server.tls.show(new.server(&[], hour()).unwrap()).unwrap();
    assert!(server.is_quiet());
    let told = dial::open(&coordinator, &mut Reader::default()).await.unwrap_err();
    assert!(
        told.to_string()
            .contains("is not of the authority that this agent trusts"),
        "{told}"
    );
    session.end.send(Err(Status::unavailable("rolled"))).await.unwrap();
    assert_eq!(agent.next().await, FromUplink::Closed);
    assert!(timeout(Duration::from_millis(700), agent.heard.recv()).await.is_err());
    assert!(server.is_quiet(), "a token was shown to a stranger");
    files.write("ca.crt", old.bundle().with(&new.bundle()).to_pem());
    assert_eq!(server.next().await.authorization.as_deref(), Some("Bearer secret"));
    assert_eq!(agent.next().await, FromUplink::Opened);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_but_is_no_coordinator_is_told_in_plain_words() {
    let authority = authority();
    let files = Files::new();
    files.write("ca.crt", authority.certificate_pem());
    files.write("token", "secret");
    let told = async |address: SocketAddr| {
        let dialled = dial::open(&files.with_token(address), &mut Reader::default()).await;
        dialled.unwrap_err().to_string()
    };

    // An agent's certificate of the same authority is no server's.
    let peer = Peer::agent(NodeName::parse("pine").unwrap());
    let agents = authority.client(&peer, hour()).unwrap();
    let clients = Clients {
        ours: None,
        cluster: None,
        requesters: false,
    };
    let impostor = Server::start(trust::Server::new(agents, clients).unwrap()).await;
    let words = told(impostor.address).await;
    assert!(words.contains("certificate"), "{words}");

    let past = Validity::of(SystemTime::now() - Duration::from_secs(7200), Duration::from_secs(60));
    let expired = Server::start(tls(&authority)).await;
    expired.tls.show(authority.server(&[], past).unwrap()).unwrap();
    let words = told(expired.address).await;
    assert!(words.contains("check this computer's clock"), "{words}");

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let plain = tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut tcp, b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        std::future::pending::<()>().await;
    });
    let words = told(address).await;
    assert!(words.contains("does not speak TLS"), "{words}");
    plain.abort();
}
