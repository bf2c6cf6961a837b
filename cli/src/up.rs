//! `skein up`: a ground station on one machine, until it is told to end.
//!
//! Owns: the story: take the folder, start, tell how to use it, land and wait at the end. Must not: start parts itself
//! ([`crate::station`]), decide anything about flight.

pub mod no_pause;
pub mod node_link;
pub mod words;

use crate::args::UpArgs;
use crate::data_dir::DataDir;
use crate::failure::Failure;
use crate::fleet_api::Source;
use crate::interrupt::Interrupt;
use crate::log::Log;
use crate::objects::Objects;
use crate::say;
use crate::station::{NodeSetup, Setup, Station};
use crate::station_record::StationRecord;
use agent::Ending;
use fleet::ids::NodeName;
use no_pause::NoPause;
use std::time::Duration;

/// How long the coordinator has at the end to write down what the agents have told it last.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Runs the station until it is told to end and the vehicles of its own agents are down.
///
/// # Errors
/// [`Failure`]: it could not start, a vehicle was not seen down, or the person wanted the end at once.
pub async fn run(args: UpArgs) -> Result<(), Failure> {
    let _log = Log::to_standard_error(args.log)?;
    coordinator::file_limit::raise();
    node_link::each_once(&args.nodes).map_err(Failure::Usage)?;
    if !args.api_listen.ip().is_loopback() {
        return Err(Failure::Usage(words::only_for_this_machine(args.api_listen)));
    }
    let folder = match &args.data_dir {
        Some(folder) => folder.clone(),
        None => DataDir::usual()?,
    };
    let data = DataDir::take(&folder)?;
    let interrupt = Interrupt::catch()?;
    let _no_pause = NoPause::begin()?;
    tokio::select! {
        ended = stand(&args, &data, &interrupt) => ended,
        () = interrupt.at_once.cancelled() => Err(Failure::AtOnce(words::AT_ONCE.to_owned())),
    }
}

async fn stand(args: &UpArgs, data: &DataDir, interrupt: &Interrupt) -> Result<(), Failure> {
    let nodes = args.nodes.iter().map(|node| NodeSetup {
        name: node.name.clone(),
        link: node.link.clone(),
        state: data.agent(&node.name),
    });
    let setup = Setup {
        api: Source::Embedded {
            folder: data.api(),
            listen: args.api_listen,
            kubeconfig: args.kubeconfig.clone().unwrap_or_else(|| data.kubeconfig()),
        },
        listen: args.listen,
        keys: Some(data.trust()),
        nodes: nodes.collect(),
        grounded: args.grounded,
        asked: interrupt.asked.clone(),
    };
    let mut station = Station::start(setup).await?;
    let objects = Objects::new(station.api.client());
    record(&station, data).map_err(|why| {
        Failure::Failed(format!(
            "cannot write into the data folder {}: {why}; see to the space on the disk",
            data.path().display()
        ))
    })?;
    // What the person does not remember must not surprise them.
    if let Ok(wished @ 1..) = objects.wish_to_fly().await {
        say::line(&words::wishes_from_before(wished));
    }
    say::line(&words::how_to_use(&station, data.path()));

    interrupt.asked.cancelled().await;
    let ended = land(&mut station, &objects).await;
    StationRecord::remove(data.path());
    station.end().await;
    ended
}

/// Leaves word for tools on this machine how to reach the station.
fn record(station: &Station, data: &DataDir) -> std::io::Result<()> {
    let Some(guard) = &station.guard else { return Ok(()) };
    let record = StationRecord {
        server: station.server(),
        listen: station.listen().to_string(),
        kubeconfig: std::path::absolute(station.api.kubeconfig())?,
    };
    record.write(data.path(), &guard.bundle(), guard.operator())
}

/// Has the vehicles of this process's agents brought down, and waits for them.
async fn land(station: &mut Station, objects: &Objects) -> Result<(), Failure> {
    // They were told by the signal itself.
    let nodes = station.agents.nodes();
    say::line(&words::landing(nodes.len()));
    let mut not_down: Vec<NodeName> = Vec::new();
    while let Some((node, ending)) = station.agents.next_ended().await {
        say::line(&words::ended(&node, ending));
        if ending == Ending::NotSettled {
            not_down.push(node);
        }
    }
    objects.wait_until_written_down(&nodes, LAST_WRITES).await;
    if let Ok(wished @ 1..) = objects.wish_to_fly().await {
        say::line(&words::wishes_remain(wished));
    }
    match not_down.as_slice() {
        [] => Ok(()),
        nodes => Err(Failure::Failed(words::not_down(nodes))),
    }
}
