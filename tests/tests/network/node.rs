//! A node of the simulation: the real agent, assembled as in `agent::life`, and a vehicle. Sometimes repeats an old
//! message, as a deposed coordinator would. Must not: decide anything.

use crate::api::Cluster;
use crate::coordinator::PORT;
use crate::ledger::Ledger;
use crate::program::Program;
use crate::vehicle::Vehicle;
use agent::clock::Clock;
use agent::coordinator::Coordinator;
use agent::gcs::lease::Lease;
use agent::logs::LogDesk;
use agent::network::Network;
use agent::pilot::Pilot;
use agent::shell::{Blocking, Wiring, fly};
use agent::state_file::Store;
use agent::uplink::{FromUplink, Outward, Uplink};
use futures::future::BoxFuture;
use link::Link;
use link::transport::{OpenError, Opener, Wire};
use model::ids::{NodeName, Term};
use model::units::SystemId;
use proto::channel::Connection;
use rand::RngExt;
use rand::rngs::StdRng;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{DuplexStream, duplex};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use turmoil::net::TcpStream;

const LANDING: Duration = Duration::from_secs(280);

#[derive(Clone)]
pub struct Node {
    pub number: usize,
    pub vehicle: Vehicle,
    pub to_autopilot: mpsc::Sender<DuplexStream>,
    pub ledger: Arc<Mutex<Ledger>>,
    pub dir: PathBuf,
    pub cluster: Arc<Cluster>,
    pub coordinators: usize,
    pub rng: Arc<Mutex<StdRng>>,
    pub is_ground_station: bool,
    pub program: Option<Program>,
    pub reported: Arc<Mutex<Option<watch::Receiver<Outward>>>>,
}

struct Plug(mpsc::Sender<DuplexStream>);

impl Opener for Plug {
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        Box::pin(async {
            let (near, far) = duplex(8192);
            let sent = self.0.send(far).await;
            sent.map_err(|_| OpenError::Missing("the autopilot".to_owned()))?;
            Ok(Wire::stream(near))
        })
    }
}

impl Node {
    pub fn name(&self) -> String {
        format!("node-{}", self.number)
    }

    /// The Service has the address of the leader, and sometimes still that of another coordinator.
    pub fn network(&self) -> Network {
        let node = self.clone();
        Network::by(move |_| {
            let at_random = {
                let mut rng = node.rng.lock().unwrap();
                (rng.random_bool(0.2), rng.random_range(0..node.coordinators))
            };
            let host = match (at_random, node.cluster.leader()) {
                ((false, _), Some(leader)) => leader,
                ((_, other), _) => other,
            };
            Box::pin(async move {
                let stream = TcpStream::connect((format!("coordinator-{host}"), PORT)).await?;
                Ok(Box::new(stream) as Box<dyn Connection>)
            })
        })
    }

    pub async fn live(self) -> turmoil::Result {
        let name = NodeName::parse(&self.name())?;
        let (store, state) = Store::open(&self.dir, &name)?;
        let clock = Clock::start();
        let (_link, handle, events) = Link::over(Plug(self.to_autopilot.clone()), "simulated");
        self.ledger.lock().unwrap().born();
        let outward = Outward {
            highest_term: state.fence.highest_term,
            ..Outward::default()
        };
        let (reports, outward) = watch::channel(outward);
        *self.reported.lock().unwrap() = Some(outward.clone());
        let (to_ear, heard) = mpsc::channel(16);
        let (to_pilot, orders) = mpsc::channel(16);
        tokio::spawn(listen(heard, to_pilot, Arc::clone(&self.ledger), Arc::clone(&self.rng)));
        let mut coordinator = Coordinator::plain("http://127.0.0.1:50051")?;
        coordinator.network = self.network();
        let farewell = CancellationToken::new();
        let uplink = Uplink {
            coordinator,
            node: name.clone(),
            life: self.rng.lock().unwrap().random(),
            outward,
            pilot: to_ear,
            guests: mpsc::channel(1).0,
            logs: LogDesk::default(),
            farewell: farewell.clone(),
        };
        tokio::spawn(uplink.keep());
        let station = self.is_ground_station.then_some(SystemId(255));
        let pilot = Pilot::new(name, state, clock.now()).as_ground_station(station);
        let lease = Lease::default();
        if let Some(program) = self.program.clone() {
            tokio::spawn(program.run(handle.clone(), lease.clone()));
        }
        let wiring = Wiring {
            link: handle,
            lease,
            events,
            orders,
            reports,
            terminate: CancellationToken::new(),
            landing_timeout: LANDING,
            clock,
            uploads: None,
            traces: agent::Traces::default(),
            blocking: Blocking::Task,
        };
        let ending = Box::pin(fly(pilot, wiring, Arc::new(store), farewell)).await;
        Err(format!("{} ended by itself: {ending:?}", self.name()).into())
    }
}

/// A captured agent: no vehicle, and on each stream the claim of a false term. It uses the network of the node `like`.
pub async fn lie(name: String, term: Term, like: Node) -> turmoil::Result {
    let mut coordinator = Coordinator::plain("http://127.0.0.1:50051")?;
    coordinator.network = like.network();
    let (_claims, outward) = watch::channel(Outward {
        highest_term: term,
        ..Outward::default()
    });
    let (pilot, mut ignored) = mpsc::channel(16);
    let uplink = Uplink {
        coordinator,
        node: NodeName::parse(&name)?,
        life: like.rng.lock().unwrap().random(),
        outward,
        pilot,
        guests: mpsc::channel(1).0,
        logs: LogDesk::default(),
        farewell: CancellationToken::new(),
    };
    tokio::spawn(uplink.keep());
    while ignored.recv().await.is_some() {}
    Err(format!("{name} ended by itself").into())
}

async fn listen(
    mut heard: mpsc::Receiver<FromUplink>,
    to_pilot: mpsc::Sender<FromUplink>,
    ledger: Arc<Mutex<Ledger>>,
    rng: Arc<Mutex<StdRng>>,
) {
    while let Some(word) = heard.recv().await {
        let again = {
            let mut ledger = ledger.lock().unwrap();
            ledger.receives(&word);
            let old = matches!(word, FromUplink::Order(_))
                .then(|| ledger.of_a_former_term())
                .flatten();
            old.filter(|_| rng.lock().unwrap().random_bool(0.3))
        };
        if to_pilot.send(word).await.is_err() {
            return;
        }
        if let Some(old) = again
            && to_pilot.send(FromUplink::Order(Box::new(old))).await.is_err()
        {
            return;
        }
    }
}
