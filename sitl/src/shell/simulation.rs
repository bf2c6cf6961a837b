//! The vehicles of one run, in whatever process they live.
//!
//! Owns: opening every vehicle's endpoint, the tasks of the vehicles, their end. Must not: print, catch signals, know how a
//! link works.

use std::net::SocketAddr;

use serde::Serialize;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::pty::PtyLink;
use super::tcp::TcpLink;
use super::udp::UdpLink;
use super::vehicle_task::VehicleTask;
use super::wire_log::WireLog;
use crate::cli::{Args, LinkSpec, VehiclePlan};

/// A vehicle whose endpoint can be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its MAVLink system id.
    pub system_id: u8,
    /// The imitated autopilot: `ardupilot` or `px4`.
    pub autopilot: &'static str,
    /// What a client opens: the path of a terminal, or `udp:HOST:PORT`, `tcp:HOST:PORT`.
    pub endpoint: String,
}

/// Vehicles that run. Dropping it switches them off.
#[derive(Debug)]
pub struct Simulation {
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

impl Simulation {
    /// Switches on the vehicles that `args` ask for; `tell` is told of each once its endpoint can be opened.
    ///
    /// # Errors
    /// What is wrong with the flags, what could not be opened, with what to do; or what `tell` says.
    pub async fn start(args: &Args, mut tell: impl FnMut(Listed) -> anyhow::Result<()>) -> anyhow::Result<Self> {
        let mut simulation = Self {
            tasks: JoinSet::new(),
            stop: CancellationToken::new(),
        };
        for (index, plan) in args.vehicles()?.into_iter().enumerate() {
            tell(simulation.switch_on(args, index, plan).await?)?;
        }
        Ok(simulation)
    }

    async fn switch_on(&mut self, args: &Args, index: usize, plan: VehiclePlan) -> anyhow::Result<Listed> {
        let link = open(&args.link, index, &plan.name).await?;
        let log = WireLog::open(args.wire_log.as_deref(), &plan.name)?;
        let listed = Listed {
            name: plan.name.clone(),
            system_id: plan.config.system_id,
            autopilot: plan.config.autopilot.name(),
            endpoint: link.endpoint(),
        };
        let vehicle = VehicleTask::new(plan.name, plan.config, args.speedup, link, log);
        self.tasks.spawn(vehicle.run(self.stop.clone()));
        Ok(listed)
    }

    /// Done once every vehicle's link has failed, which the log tells. Safe to cancel.
    pub async fn all_failed(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// Switches them off, wherever they are.
    pub async fn end(mut self) {
        self.stop.cancel();
        self.all_failed().await;
    }
}

async fn open(spec: &LinkSpec, index: usize, name: &str) -> anyhow::Result<Link> {
    Ok(match spec {
        LinkSpec::Pty(folder) => Link::Pty(PtyLink::open(folder, name)?),
        LinkSpec::Udp(first) => Link::Udp(UdpLink::open(counted_up(*first, index)).await?),
        LinkSpec::Tcp(first) => Link::Tcp(TcpLink::open(counted_up(*first, index)).await?),
    })
}

fn counted_up(first: SocketAddr, index: usize) -> SocketAddr {
    let mut address = first;
    // Port 0 lets the system choose, for every vehicle anew.
    if first.port() != 0 {
        address.set_port(first.port().saturating_add(index as u16));
    }
    address
}
