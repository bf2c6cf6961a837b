//! The parts of the demo: simulated vehicles on pseudo-terminals, and a ground station for them, in a temporary folder.

use crate::args::{Autopilots, DemoArgs, SigningArgs};
use crate::failure::Failure;
use crate::fleet_api::Source;
use crate::log::Log;
use crate::station::{NodeSetup, Setup, Station};
use crate::terminal;
use coordinator::controllers::airspace::SiteRules;
use model::ids::NodeName;
use sitl::cli::{Args, Fleet, LinkSpec};
use sitl::shell::Simulation;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const ANY_LOCAL_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A pseudo-terminal has no rate of its own.
const BAUD_RATE: u32 = 57_600;

// Fields end in this order.
pub struct Parts {
    station: Station,
    simulation: Arc<Simulation>,
    log: PathBuf,
    folder: TempDir,
    _written: Log,
}

impl Parts {
    pub async fn start(args: &DemoArgs) -> Result<Self, Failure> {
        let begun = Instant::now();
        let folder = tempfile::Builder::new()
            .prefix("skein-demo-")
            .tempdir()
            .map_err(|why| {
                Failure::Failed(format!(
                    "cannot make a temporary folder: {why}; set TMPDIR to another place"
                ))
            })?;
        let log = folder.path().join("log");
        let file =
            File::create(&log).map_err(|why| Failure::Failed(format!("cannot write {}: {why}", log.display())))?;
        let written = Log::to_file(file)?;
        coordinator::server::file_limit::raise();

        let names = names(args.drones);
        let vehicles = Args {
            names: names.clone(),
            autopilot: match args.autopilot {
                Autopilots::Ardupilot => Fleet::Ardupilot,
                Autopilots::Px4 => Fleet::Px4,
                Autopilots::Mixed => Fleet::Mixed,
            },
            speedup: args.speedup,
            boot_speedup: boot_speedup(args),
            wire_log: args.wire_log.clone(),
            ..Args::on(LinkSpec::Pty(folder.path().join("ports")))
        };
        let all: Result<Vec<NodeName>, _> = names.iter().map(|name| NodeName::parse(name)).collect();
        let all = all.map_err(|bad| Failure::Failed(bad.to_string()))?;
        for name in &all {
            let checked = args.agents.of(name, &all, &SigningArgs::default());
            checked.map_err(Failure::Usage)?;
        }
        let mut nodes = Vec::new();
        let simulation = Simulation::start(&vehicles, |vehicle| {
            let name = NodeName::parse(&vehicle.name)?;
            nodes.push(NodeSetup {
                state: folder.path().join("agents").join(name.as_str()),
                link: format!("serial:{}:{BAUD_RATE}", vehicle.endpoint).parse()?,
                settings: args
                    .agents
                    .of(&name, &all, &SigningArgs::default())
                    .map_err(anyhow::Error::msg)?,
                name,
            });
            Ok(())
        });
        let simulation = simulation
            .await
            .map_err(|error| Failure::Failed(format!("{error:#}")))?;
        let api = match &args.on {
            Some(kubeconfig) => Source::Existing(kubeconfig.clone()),
            None => Source::Embedded {
                folder: folder.path().join("api"),
                listen: ANY_LOCAL_PORT,
                kubeconfig: folder.path().join("kubeconfig"),
            },
        };
        let setup = Setup {
            api,
            listen: ANY_LOCAL_PORT,
            // Plain text: only this machine reaches it, and nothing in it can hurt a person.
            keys: None,
            nodes,
            metrics_listen: args.agents.metrics_listen,
            grounded: false,
            site: SiteRules::default(),
            // Not needed: the demo deletes its Swarm first.
            end_requested: CancellationToken::new(),
        };
        let station = Station::start(setup).await?;
        let started = terminal::duration(begun.elapsed());
        terminal::heading(&format!(
            "API, coordinator, {} agents and simulated vehicles started in {started}",
            names.len()
        ));
        terminal::line(&format!("    log: {}", log.display()));
        Ok(Self {
            station,
            simulation: Arc::new(simulation),
            log,
            folder,
            _written: written,
        })
    }

    pub const fn station(&self) -> &Station {
        &self.station
    }

    pub const fn station_mut(&mut self) -> &mut Station {
        &mut self.station
    }

    pub fn simulation(&self) -> Arc<Simulation> {
        Arc::clone(&self.simulation)
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Keeps the folder, with its log, after a failure (`remove` is false).
    pub async fn clear(self, remove: bool) {
        self.station.end().await;
        // Everything else that shared it has ended with the flight.
        if let Some(simulation) = Arc::into_inner(self.simulation) {
            simulation.end().await;
        }
        if remove {
            if let Err(error) = self.folder.close() {
                tracing::debug!(%error, "the temporary folder stays");
            }
        } else {
            let _ = self.folder.keep();
        }
    }
}

/// An ArduPilot needs 41 simulated seconds for a position. At this speedup a peer's heartbeats, one a second, are still
/// within its FS_GCS_TIMEOUT of 5 s.
const BOOT_SPEEDUP: f64 = 4.0;

/// Vehicles: at [`BOOT_SPEEDUP`] each sends four times as much to this machine.
const MAX_BOOTING_FASTER: u16 = 20;

pub(super) fn boot_speedup(args: &DemoArgs) -> Option<f64> {
    (args.speedup < BOOT_SPEEDUP && args.drones <= MAX_BOOTING_FASTER).then_some(BOOT_SPEEDUP)
}

/// Equally long, so that they sort as they count.
pub(super) fn names(count: u16) -> Vec<String> {
    let width = count.to_string().len();
    (1..=count).map(|number| format!("drone-{number:0width$}")).collect()
}
