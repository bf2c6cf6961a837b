//! The uplink against a scripted coordinator on the loopback interface.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use agent::Coordinator as Leader;
use agent::logs::LogDesk;
use agent::uplink::{FromUplink, Outward, Uplink};
use model::ids::{NodeName, Term};
use model::report::{Activity, Report};
use proto::v1;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

const DEADLINE: Duration = Duration::from_secs(30);

type ToAgent = Result<v1::ToAgent, Status>;

struct Scripted {
    heard: mpsc::Sender<Option<v1::FromAgent>>,
    opened: mpsc::Sender<mpsc::Sender<ToAgent>>,
}

#[tonic::async_trait]
impl v1::uplink_server::Uplink for Scripted {
    type SessionStream = ReceiverStream<ToAgent>;

    async fn session(
        &self,
        request: Request<Streaming<v1::FromAgent>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let mut inbound = request.into_inner();
        let heard = self.heard.clone();
        let (tx, rx) = mpsc::channel(8);
        let keep = tx.clone();
        tokio::spawn(async move {
            while let Some(Ok(message)) = inbound.next().await {
                let _ = heard.send(Some(message)).await;
            }
            let _ = heard.send(None).await;
            drop(keep);
        });
        self.opened.send(tx).await.unwrap();
        Ok(Response::new(ReceiverStream::new(rx)))
    }
}

struct Coordinator {
    address: SocketAddr,
    heard: mpsc::Receiver<Option<v1::FromAgent>>,
    opened: mpsc::Receiver<mpsc::Sender<ToAgent>>,
    task: JoinHandle<()>,
}

async fn coordinator(at: &str) -> Coordinator {
    let listener = TcpListener::bind(at).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (heard_tx, heard) = mpsc::channel(64);
    let (opened_tx, opened) = mpsc::channel(4);
    let service = v1::uplink_server::UplinkServer::new(Scripted {
        heard: heard_tx,
        opened: opened_tx,
    });
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let task = tokio::spawn(async move {
        Server::builder()
            .add_service(service)
            .serve_with_incoming(incoming)
            .await
            .unwrap();
    });
    Coordinator {
        address,
        heard,
        opened,
        task,
    }
}

impl Coordinator {
    async fn next(&mut self) -> Option<v1::from_agent::Message> {
        timeout(DEADLINE, self.heard.recv())
            .await
            .unwrap()
            .unwrap()
            .and_then(|m| m.message)
    }

    async fn session(&mut self) -> mpsc::Sender<ToAgent> {
        timeout(DEADLINE, self.opened.recv()).await.unwrap().unwrap()
    }
}

fn report(terminating: bool) -> Report {
    Report {
        activity: Activity::Waiting,
        terminating,
        ..Report::of_nothing(NodeName::parse("pine").unwrap())
    }
}

struct Agent {
    outward: watch::Sender<Outward>,
    heard: mpsc::Receiver<FromUplink>,
    farewell: CancellationToken,
    task: JoinHandle<()>,
}

fn agent(coordinator: SocketAddr) -> Agent {
    let (outward, rx) = watch::channel(Outward {
        report: Some(report(false)),
        highest_term: Term(5),
        ..Outward::default()
    });
    let (tx, heard) = mpsc::channel(16);
    let farewell = CancellationToken::new();
    let address = format!("http://{coordinator}");
    let uplink = Uplink {
        coordinator: Leader::plain(&address).unwrap(),
        life: 1,
        node: NodeName::parse("pine").unwrap(),
        outward: rx,
        pilot: tx,
        guests: mpsc::channel(1).0,
        logs: LogDesk::default(),
        farewell: farewell.clone(),
    };
    Agent {
        outward,
        heard,
        farewell,
        task: tokio::spawn(uplink.run()),
    }
}

impl Agent {
    async fn next(&mut self) -> FromUplink {
        timeout(DEADLINE, self.heard.recv()).await.unwrap().unwrap()
    }
}

fn unassigned(term: u64) -> ToAgent {
    Ok(v1::ToAgent {
        order: Some(v1::to_agent::Order::Unassigned(v1::Unassigned {
            term,
            ..v1::Unassigned::default()
        })),
        ..v1::ToAgent::default()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_says_hello_reports_at_once_and_passes_on_orders() {
    let mut coordinator = coordinator("127.0.0.1:0").await;
    let mut agent = agent(coordinator.address);
    let to_agent = coordinator.session().await;
    let Some(v1::from_agent::Message::Hello(hello)) = coordinator.next().await else {
        panic!("hello comes first")
    };
    assert_eq!((hello.node.as_str(), hello.highest_term), ("pine", 5));
    assert_eq!(agent.next().await, FromUplink::Opened);
    assert!(matches!(coordinator.next().await, Some(v1::from_agent::Message::Report(r)) if !r.terminating));
    to_agent.send(Ok(v1::ToAgent::default())).await.unwrap();
    to_agent.send(unassigned(6)).await.unwrap();
    assert!(matches!(agent.next().await, FromUplink::Order(order) if order.term() == Term(6)));
    agent.outward.send_replace(Outward {
        report: Some(report(true)),
        highest_term: Term(6),
        ..Outward::default()
    });
    assert!(matches!(coordinator.next().await, Some(v1::from_agent::Message::Report(r)) if r.terminating));
    agent.task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_comes_late_or_again_is_found() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut agent = agent(free);
    for _ in 0..2 {
        let mut coordinator = coordinator(&free.to_string()).await;
        let to_agent = coordinator.session().await;
        assert_eq!(agent.next().await, FromUplink::Opened);
        // It accepts nobody from now on; a session that it has goes on.
        coordinator.task.abort();
        let _ = coordinator.task.await;
        to_agent.send(Err(Status::unavailable("not the leader"))).await.unwrap();
        assert_eq!(agent.next().await, FromUplink::Closed);
    }
    agent.task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_falls_silent_is_noticed_within_ten_seconds() {
    let mut real = coordinator("127.0.0.1:0").await;
    // A line between the two that can be cut silently.
    let front = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut agent = agent(front.local_addr().unwrap());
    let (mut near, _) = front.accept().await.unwrap();
    let cut = CancellationToken::new();
    let cutting = cut.clone();
    let behind = real.address;
    let line = tokio::spawn(async move {
        let mut far = TcpStream::connect(behind).await.unwrap();
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
            () = cutting.cancelled() => {}
        }
        std::future::pending::<()>().await;
        drop((near, far));
    });
    let _session = real.session().await;
    assert_eq!(agent.next().await, FromUplink::Opened);
    cut.cancel();
    let began = Instant::now();
    assert_eq!(agent.next().await, FromUplink::Closed);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    agent.task.abort();
    line.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_report_reaches_the_coordinator_before_the_agent_goes() {
    let mut coordinator = coordinator("127.0.0.1:0").await;
    let mut agent = agent(coordinator.address);
    let session = coordinator.session().await;
    assert_eq!(agent.next().await, FromUplink::Opened);
    drop(session);
    agent.outward.send_replace(Outward {
        report: Some(report(true)),
        highest_term: Term(5),
        ..Outward::default()
    });
    agent.farewell.cancel();
    timeout(DEADLINE, agent.task).await.unwrap().unwrap();
    let mut last = None;
    while let Some(message) = coordinator.next().await {
        last = Some(message);
    }
    assert!(matches!(last, Some(v1::from_agent::Message::Report(r)) if r.terminating));
}
