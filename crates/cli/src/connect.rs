//! `skein connect`: a ground station reaches vehicles through the coordinator and their agents.
//!
//! Owns: which vehicles are connected (`drone_stream`), at which port (`port`) under which number (`port_table`). Must not: interpret
//! a frame, or hold one up: a slow ground station loses frames.

mod connection_pool;
mod drone_stream;
mod port;
mod port_table;

use crate::args::{ConnectArgs, ObjectKey};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::fleet_feed::{self, FleetSnapshot};
use crate::route::Route;
use crate::server::Which;
use connection_pool::ConnectionPool;
use drone_stream::{DroneStream, Ended, Wants};
use port_table::PortTable;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

const MAX_DRONES: usize = 500;

/// For a selected Drone.
const REFUSED_RETRY_DELAY: Duration = Duration::from_secs(30);

const MAX_QUEUED_LINES: usize = 64;

pub async fn run(route: Route, args: ConnectArgs, drones: Vec<ObjectKey>) -> Result<(), Failure> {
    args.check_ports()?;
    if let Some(hint) = args.hint() {
        writeln!(std::io::stderr(), "{hint}")?;
    }
    let interrupt = Interrupt::catch()?;
    tokio::select! {
        result = connect(route, args, drones) => result,
        () = interrupt.in_order.cancelled() => Ok(()),
    }
}

async fn connect(route: Route, args: ConnectArgs, drones: Vec<ObjectKey>) -> Result<(), Failure> {
    if drones.len() > MAX_DRONES {
        return Err(Failure::Usage(format!(
            "at most {MAX_DRONES} Drones are connected at a time"
        )));
    }
    let (say, lines) = mpsc::channel(MAX_QUEUED_LINES);
    let streams = DroneStreams {
        port_table: Arc::new(PortTable::new(args.ports())),
        connections: ConnectionPool::new(route.clone()),
        wants: Wants::of(&args),
        say,
        open: BTreeMap::new(),
        tasks: JoinSet::new(),
        rests: BTreeMap::new(),
    };
    // Before anything else, so that an unusable port is reported at once.
    streams.port_table.open_first().await?;
    let work = async {
        match &args.selector {
            Some(selector) => {
                let which = Which {
                    namespace: args.namespace.clone().unwrap_or_default(),
                    selector: selector.to_string(),
                    airspace: false,
                };
                streams.selected(&route, which).await
            }
            None => streams.named(drones).await,
        }
    };
    tokio::select! {
        result = work => result,
        result = print(lines) => result,
    }
}

async fn print(mut lines: mpsc::Receiver<String>) -> Result<(), Failure> {
    while let Some(line) = lines.recv().await {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush())?;
    }
    std::future::pending().await
}

struct DroneStreams {
    port_table: Arc<PortTable>,
    connections: ConnectionPool,
    wants: Wants,
    say: mpsc::Sender<String>,
    open: BTreeMap<ObjectKey, AbortHandle>,
    tasks: JoinSet<(ObjectKey, Ended)>,
    /// Refused Drones, with the time of the next try.
    rests: BTreeMap<ObjectKey, Instant>,
}

impl DroneStreams {
    fn open(&mut self, drone: ObjectKey) {
        let stream = DroneStream {
            drone: drone.clone(),
            wants: self.wants,
            connection: self.connections.next(),
            port_table: Arc::clone(&self.port_table),
            say: self.say.clone(),
        };
        let handle = self.tasks.spawn({
            let drone = drone.clone();
            async move { (drone, stream.keep().await) }
        });
        self.open.insert(drone, handle);
    }

    async fn named(mut self, drones: Vec<ObjectKey>) -> Result<(), Failure> {
        drones.into_iter().for_each(|drone| self.open(drone));
        let mut last = None;
        while let Some(ended) = self.tasks.join_next().await {
            let (drone, Ended(why)) = ended.map_err(|fault| Failure::Failed(fault.to_string()))?;
            if self.tasks.is_empty() {
                last = Some(format!("{drone}: {why}"));
            } else {
                self.say(format!("{drone}: {why}")).await;
            }
        }
        Err(Failure::Failed(last.unwrap_or_default()))
    }

    async fn selected(mut self, route: &Route, which: Which) -> Result<(), Failure> {
        let stream = fleet_feed::open(route, &which, fleet_feed::FREQUENT_INTERVAL).await?;
        let (sender, mut seen) = watch::channel(FleetSnapshot::default());
        let mut feed = JoinSet::new();
        feed.spawn(fleet_feed::follow(
            route.clone(),
            (which, fleet_feed::FREQUENT_INTERVAL),
            stream,
            sender,
        ));
        loop {
            tokio::select! {
                changed = seen.changed() => {
                    if changed.is_err() {
                        return Err(Failure::Failed("the list of Drones has ended".to_owned()));
                    }
                    let snapshot = seen.borrow_and_update().clone();
                    self.select(&snapshot).await;
                }
                Some(ended) = self.tasks.join_next() => {
                    // A Drone that is no longer selected.
                    let Ok((drone, Ended(why))) = ended else { continue };
                    self.open.remove(&drone);
                    self.say(format!("{drone}: {why}")).await;
                    self.rests.insert(drone, Instant::now() + REFUSED_RETRY_DELAY);
                }
            }
        }
    }

    async fn select(&mut self, snapshot: &FleetSnapshot) {
        // A lost coordinator proves nothing about the selection.
        if snapshot.lost.is_some() || snapshot.received.is_none() {
            return;
        }
        let now = Instant::now();
        self.rests.retain(|_, until| *until > now);
        let there: Vec<ObjectKey> = snapshot
            .vehicles
            .iter()
            .filter(|vehicle| !vehicle.drone_name.is_empty())
            .map(|vehicle| ObjectKey {
                namespace: vehicle.drone_namespace.clone(),
                name: vehicle.drone_name.clone(),
            })
            .collect();
        let gone: Vec<ObjectKey> = self
            .open
            .keys()
            .filter(|drone| !there.contains(drone))
            .cloned()
            .collect();
        for drone in gone {
            if let Some(handle) = self.open.remove(&drone) {
                handle.abort();
                self.port_table.leave(&drone).await;
                self.say(format!("{drone}: not selected any more")).await;
            }
        }
        let vehicles = snapshot.vehicles.iter().filter(|vehicle| vehicle.agent_connected);
        for vehicle in vehicles {
            let drone = ObjectKey {
                namespace: vehicle.drone_namespace.clone(),
                name: vehicle.drone_name.clone(),
            };
            let new = there.contains(&drone) && !self.open.contains_key(&drone) && !self.rests.contains_key(&drone);
            if new && self.open.len() < MAX_DRONES {
                self.open(drone);
            }
        }
    }

    async fn say(&self, line: String) {
        // The receiver ends only with the command.
        let _ = self.say.send(line).await;
    }
}
