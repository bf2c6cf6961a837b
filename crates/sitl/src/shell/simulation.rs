//! Vehicles of one run, in any process.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::fault_file;
use super::link::Link;
use super::pace::{Pace, PaceReading};
use super::pty::PtyLink;
use super::speedup::Speedup;
use super::tcp::TcpLink;
use super::udp::UdpLink;
use super::vehicle_task::VehicleTask;
use super::wire_log::WireLog;
use crate::cli::{Args, LinkSpec, VehiclePlan};
use crate::faults::{Script, What};
use crate::wired::WiredVehicle;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub name: String,
    pub system_id: u8,
    pub autopilot: &'static str,
    /// Path of a terminal, or `udp:HOST:PORT`, `tcp:HOST:PORT`.
    pub endpoint: String,
}

/// Dropping it switches the vehicles off.
#[derive(Debug)]
pub struct Simulation {
    tasks: JoinSet<()>,
    stop: CancellationToken,
    pace: Arc<Pace>,
    injectors: HashMap<String, mpsc::Sender<What>>,
}

/// 2015-01-01 UTC in Unix time: zero of MAVLink's time stamps of signatures.
const SIGNING_EPOCH: Duration = Duration::from_secs(1_420_070_400);
const MOST_INJECTED: usize = 8;
const SPREAD_MS: usize = 25;

impl Simulation {
    /// Calls `notify` for each vehicle once its endpoint can be opened. Errors name what could not be opened, and what
    /// to do.
    pub async fn start(args: &Args, notify: impl FnMut(Listed) -> anyhow::Result<()>) -> anyhow::Result<Self> {
        let script = fault_file::read(args.faults.as_deref())?;
        Self::start_with(args, &script, notify).await
    }

    /// Works like [`Self::start`], with the faults of `script` instead of a file's.
    pub async fn start_with(
        args: &Args,
        script: &Script,
        mut notify: impl FnMut(Listed) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let vehicles = args.vehicles()?;
        fault_file::check_names(script, &vehicles)?;
        let mut simulation = Self {
            tasks: JoinSet::new(),
            stop: CancellationToken::new(),
            pace: Arc::new(Pace::default()),
            injectors: HashMap::new(),
        };
        for (index, plan) in vehicles.into_iter().enumerate() {
            notify(simulation.switch_on(args, script, index, plan).await?)?;
        }
        Ok(simulation)
    }

    pub fn pace(&self) -> PaceReading {
        self.pace.take()
    }

    /// `false` for a missing vehicle, a failed link, or too many faults at once.
    pub fn inject(&self, name: &str, what: What) -> bool {
        self.injectors
            .get(name)
            .is_some_and(|vehicle| vehicle.try_send(what).is_ok())
    }

    async fn switch_on(
        &mut self,
        args: &Args,
        script: &Script,
        index: usize,
        mut plan: VehiclePlan,
    ) -> anyhow::Result<Listed> {
        let speedup = Speedup::new(args.boot_speedup, args.speedup);
        plan.config.seconds_per_peer_second = speedup.seconds_per_peer_second();
        let link = open(&args.link, index, &plan.name).await?;
        let log = WireLog::open(args.wire_log.as_deref(), &plan.name)?;
        let listed = Listed {
            name: plan.name.clone(),
            system_id: plan.config.system_id,
            autopilot: plan.config.autopilot.name(),
            endpoint: link.endpoint(),
        };
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH + SIGNING_EPOCH);
        let epoch_s = since_epoch.unwrap_or_default().as_secs_f64();
        let (injector, injected) = mpsc::channel(MOST_INJECTED);
        self.injectors.insert(plan.name.clone(), injector);
        let vehicle = VehicleTask {
            injected,
            vehicle: WiredVehicle::with_faults(plan.config, script, &plan.name, epoch_s),
            name: plan.name,
            link,
            log,
            speedup,
            pace: Arc::clone(&self.pace),
        };
        let offset = Duration::from_millis((index % SPREAD_MS) as u64);
        self.tasks.spawn(vehicle.run(offset, self.stop.clone()));
        Ok(listed)
    }

    /// Returns once every link has failed, which is logged. Safe to cancel.
    pub async fn all_failed(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    pub async fn end(mut self) {
        self.stop.cancel();
        self.all_failed().await;
    }
}

async fn open(spec: &LinkSpec, index: usize, name: &str) -> anyhow::Result<Link> {
    Ok(match spec {
        LinkSpec::Pty(folder) => Link::Pty(PtyLink::open(folder, name)?),
        LinkSpec::Udp(first) => Link::Udp(UdpLink::open(counted_up(*first, index)).await?),
        LinkSpec::Tcp(first) => Link::Tcp(TcpLink::open(counted_up(*first, index))?),
        LinkSpec::None => Link::Nowhere,
    })
}

fn counted_up(first: SocketAddr, index: usize) -> SocketAddr {
    let mut address = first;
    // Port 0 lets the system choose, for each vehicle.
    if first.port() != 0 {
        address.set_port(first.port().saturating_add(index as u16));
    }
    address
}
