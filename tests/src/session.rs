//! One stream of an agent, as the attacks open it, and the bystander, which must not be affected.

use crate::waiting::until;
use crate::way::Way;
use proto::v1;
use proto::v1::from_agent::Message;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tonic::{Code, Status};

pub fn from(message: Message) -> v1::FromAgent {
    v1::FromAgent { message: Some(message) }
}

pub fn hello(node: &str) -> v1::FromAgent {
    from(Message::Hello(v1::Hello {
        node: node.into(),
        agent_version: "test".into(),
        highest_term: 0,
        life: 1,
    }))
}

pub fn report(made_ms: u64) -> v1::FromAgent {
    from(Message::Report(v1::Report {
        link_alive: true,
        made_ms,
        truth: v1::FlightTruth::Disarmed.into(),
        activity: v1::Activity::Idle.into(),
        ..v1::Report::default()
    }))
}

pub struct Stream {
    pub to: mpsc::Sender<v1::FromAgent>,
    pub from: tonic::Streaming<v1::ToAgent>,
}

impl Stream {
    pub async fn open(way: &Way, token: &str, node: &str) -> Result<Self, Status> {
        let opened = until("a coordinator that knows the fleet", async || {
            match Self::open_once(way, token, node).await {
                Err(status) if status.message().contains("does not know the fleet") => Err(status.to_string()),
                other => Ok(other),
            }
        });
        opened.await
    }

    async fn open_once(way: &Way, token: &str, node: &str) -> Result<Self, Status> {
        let client = way.uplink(token).await;
        let mut client = client.map_err(|error| Status::unknown(error.to_string()))?;
        let (to, receiver) = mpsc::channel(8);
        to.try_send(hello(node)).unwrap();
        let stream = futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|message| (message, receiver))
        });
        let from = client.session(stream).await?.into_inner();
        Ok(Self { to, from })
    }

    pub async fn ending(mut self) -> Status {
        loop {
            match self.from.message().await {
                Ok(Some(_)) => {}
                Ok(None) => return Status::ok("closed"),
                Err(status) => return status,
            }
        }
    }

    pub async fn until_ordered(&mut self) -> Result<(), Status> {
        self.to.try_send(report(1)).unwrap();
        let first = tokio::time::timeout(Duration::from_secs(20), self.from.message()).await;
        let first = first.map_err(|_| Status::deadline_exceeded("no order"))??;
        first.map(drop).ok_or_else(|| Status::ok("closed"))
    }
}

pub async fn refused(way: &Way, token: &str, node: &str) -> Status {
    match Stream::open(way, token, node).await {
        Err(status) => status,
        Ok(stream) => stream.ending().await,
    }
}

pub struct Bystander {
    reports: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<Status>,
}

impl Bystander {
    pub async fn start(way: Way, token: &str) -> Self {
        let mut stream = Stream::open(&way, token, "bystander").await.unwrap();
        stream.until_ordered().await.unwrap();
        let reports = Arc::new(AtomicU64::new(1));
        let counted = Arc::clone(&reports);
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(200));
            // Only arrival is judged, so there is no burst after a pause.
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            loop {
                tokio::select! {
                    _ = ticks.tick() => {
                        let number = counted.fetch_add(1, Ordering::Relaxed);
                        if stream.to.try_send(report(number * 200)).is_err() {
                            return Status::unknown("its reports do not go through");
                        }
                    }
                    message = stream.from.message() => match message {
                        Ok(Some(_)) => {}
                        Ok(None) => return Status::ok("closed"),
                        Err(status) => return status,
                    }
                }
            }
        });
        Self { reports, task }
    }

    pub async fn stays_unharmed(self) {
        let before = self.reports.load(Ordering::Relaxed);
        let start = Instant::now();
        while self.reports.load(Ordering::Relaxed) < before + 5 {
            assert!(
                !self.task.is_finished(),
                "the bystander was harmed: {:?}",
                self.task.await
            );
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "the bystander's reports stand still"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.task.abort();
    }
}

pub fn assert_refused(status: &Status, code: Code, words: &str) {
    assert_eq!(status.code(), code, "{status}");
    assert!(status.message().contains(words), "{status}");
}
