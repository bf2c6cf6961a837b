//! `skein up`: a ground station on one machine, until it is asked to end.
//!
//! Owns: the story: take the folder, start, print how to use it, land and wait. Must not: start parts
//! ([`crate::station`]), or decide anything about flight.

pub mod fleet_lines;
pub mod messages;
pub mod no_pause;

use crate::args::{LogFormat, UpArgs};
use crate::data_dir::{DataDir, try_flight_logs, write_private};
use crate::failure::Failure;
use crate::fleet_api::Source;
use crate::interrupt::Interrupt;
use crate::log::Log;
use crate::map;
use crate::node_link;
use crate::objects::Objects;
use crate::route::Route;
use crate::station::{NodeSetup, Setup, Station};
use crate::station_record::{self, StationRecord};
use crate::terminal;
use agent::Ending;
use fleet_lines::FleetLines;
use model::ids::NodeName;
use no_pause::NoPause;
use std::io::IsTerminal;
use std::time::Duration;

/// Time for the coordinator, at the end, to record the agents' last reports.
const LAST_WRITES_TIMEOUT: Duration = Duration::from_secs(5);

/// Errors: no start, a vehicle was not observed landed, or the person wanted the end at once.
pub async fn run(args: UpArgs) -> Result<(), Failure> {
    coordinator::server::file_limit::raise();
    node_link::each_once(&args.nodes).map_err(Failure::Usage)?;
    if !args.api_listen.ip().is_loopback() {
        return Err(Failure::Usage(messages::only_for_this_machine(args.api_listen)));
    }
    try_flight_logs(args.agents.flight_log_dir.as_deref())?;
    let folder = match &args.data_dir {
        Some(folder) => folder.clone(),
        None => DataDir::usual()?,
    };
    let data = DataDir::take(&folder)?;
    let _log = match args.log {
        Some(format) => Log::to_standard_error(format)?,
        None if std::io::stdout().is_terminal() => Log::to_file(data.log().map_err(|why| unwritable(&data, &why))?)?,
        None => Log::to_standard_error(LogFormat::Text)?,
    };
    let interrupt = Interrupt::catch()?;
    let _no_pause = NoPause::begin()?;
    tokio::select! {
        ended = run_parts(&args, &data, &interrupt) => ended,
        () = interrupt.at_once.cancelled() => Err(Failure::AtOnce(messages::AT_ONCE.to_owned())),
    }
}

fn unwritable(data: &DataDir, why: &std::io::Error) -> Failure {
    Failure::Failed(format!(
        "cannot write into the data folder {}: {why}; see to the space on the disk",
        data.path().display()
    ))
}

async fn run_parts(args: &UpArgs, data: &DataDir, interrupt: &Interrupt) -> Result<(), Failure> {
    let names: Vec<NodeName> = args.nodes.iter().map(|node| node.name.clone()).collect();
    let mut nodes = Vec::new();
    for node in &args.nodes {
        nodes.push(NodeSetup {
            name: node.name.clone(),
            link: node.link.clone(),
            state: data.agent(&node.name),
            settings: args
                .agents
                .of(&node.name, &names, &args.signing)
                .map_err(Failure::Usage)?,
        });
    }
    let setup = Setup {
        api: Source::Embedded {
            folder: data.api(),
            listen: args.api_listen,
            kubeconfig: args.kubeconfig.clone().unwrap_or_else(|| data.kubeconfig()),
        },
        listen: args.listen,
        keys: Some(data.trust()),
        nodes,
        metrics_listen: args.agents.metrics_listen,
        grounded: args.grounded,
        site: args.site.rules().map_err(|why| Failure::Usage(why.to_string()))?,
        end_requested: interrupt.in_order.clone(),
    };
    let mut station = Station::start(setup).await?;
    let objects = Objects::new(station.api.client());
    record(&station, data).map_err(|why| unwritable(data, &why))?;
    let example = data.path().join("example-swarm.yaml");
    write_private(&example, messages::example_swarm(names.len()).as_bytes()).map_err(|why| unwritable(data, &why))?;
    // A Swarm that the person forgot must not surprise them.
    if let Ok(wanting @ 1..) = objects.want_flight().await {
        terminal::line(&messages::flight_wanted_from_before(wanting));
    }
    terminal::line(&messages::how_to_use(&station, data.path(), &example));
    let log_is_elsewhere = args.log.is_none() && std::io::stdout().is_terminal();
    if log_is_elsewhere {
        terminal::line(&messages::log_is_in(&data.log_path()));
    }
    let route = own(&station, data)?;
    let map = map::beside(route.clone(), None).await;
    let fleet_lines = FleetLines::start(route)?;

    interrupt.in_order.cancelled().await;
    let ended = land(&mut station, &objects).await;
    drop((fleet_lines, map));
    StationRecord::remove(data.path());
    station.end().await;
    ended
}

fn own(station: &Station, data: &DataDir) -> Result<Route, Failure> {
    Ok(Route::Station {
        server: station.server().parse().map_err(Failure::Failed)?,
        folder: data.path().to_owned(),
        files: station_record::files(data.path()),
    })
}

fn record(station: &Station, data: &DataDir) -> std::io::Result<()> {
    let Some(guard) = &station.guard else { return Ok(()) };
    let record = StationRecord {
        server: station.server(),
        listen: station.listen().to_string(),
        kubeconfig: std::path::absolute(station.api.kubeconfig())?,
    };
    record.write(data.path(), &guard.bundle(), guard.operator())
}

async fn land(station: &mut Station, objects: &Objects) -> Result<(), Failure> {
    // The signal itself notified them.
    let nodes = station.agents.nodes();
    terminal::line(&messages::landing(nodes.len()));
    let mut not_down: Vec<NodeName> = Vec::new();
    while let Some((node, ending)) = station.agents.next_ended().await {
        terminal::line(&messages::ended(&node, ending));
        if ending == Ending::NotLanded {
            not_down.push(node);
        }
    }
    objects.wait_until_written_down(&nodes, LAST_WRITES_TIMEOUT).await;
    if let Ok(wanting @ 1..) = objects.want_flight().await {
        terminal::line(&messages::flight_still_wanted(wanting));
    }
    match not_down.as_slice() {
        [] => Ok(()),
        nodes => Err(Failure::Failed(messages::not_down(nodes))),
    }
}
