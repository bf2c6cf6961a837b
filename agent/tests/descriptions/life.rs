//! A whole life of the agent with the simulated PX4: reading the descriptions happens beside it.

use super::{FLY, order};
use agent::clock::Clock;
use agent::metadata::MetadataCache;
use agent::pilot::Pilot;
use agent::shell::{Blocking, Wiring, fly};
use agent::state_file::Store;
use agent::uplink::{FromUplink, Outward};
use agent_testkit::line::HOME;
use futures::future::BoxFuture;
use link::Link;
use link::transport::{OpenError, Opener, Wire};
use model::ids::NodeName;
use model::vehicle::FlightTruth;
use sitl::model::{Autopilot, Vehicle, VehicleConfig};
use sitl::wire::{FrameReader, Incoming, Outgoing, Sender};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval, sleep};
use tokio_util::sync::CancellationToken;

struct Line(Option<DuplexStream>);

impl Opener for Line {
    fn open(&mut self) -> BoxFuture<'_, Result<Wire, OpenError>> {
        let end = self.0.take().map(Wire::stream);
        Box::pin(async { end.ok_or_else(|| OpenError::Missing("/dev/test".into())) })
    }
}

async fn autopilot(mut line: DuplexStream) {
    let mut vehicle = Vehicle::new(VehicleConfig::new(Autopilot::Px4, 7, HOME));
    let (mut sender, mut reader) = (Sender::new(7, 1), FrameReader::default());
    let mut tick = interval(Duration::from_millis(20));
    let mut buffer = [0; 1024];
    loop {
        let mut said: Vec<Outgoing> = Vec::new();
        tokio::select! {
            _ = tick.tick() => said = vehicle.step(Duration::from_millis(20)),
            read = line.read(&mut buffer) => match read {
                Ok(n @ 1..) => {
                    reader.push(&buffer[..n]);
                    while let Some(frame) = reader.next_frame() {
                        said.extend(vehicle.on_message(&Incoming::decode(&frame)));
                    }
                }
                _ => return,
            }
        }
        for message in &said {
            if line.write_all(&sender.encode(message)).await.is_err() {
                return;
            }
        }
    }
}

fn kept(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("metadata")).map_or(0, Iterator::count)
}

#[tokio::test(start_paused = true)]
async fn a_living_agent_reads_the_descriptions_and_flies() {
    let dir = tempfile::tempdir().unwrap();
    let node = NodeName::parse("pine").unwrap();
    let (store, state) = Store::open(dir.path(), &node).unwrap();
    let (near, far) = duplex(8192);
    let simulated = tokio::spawn(autopilot(far));
    let (link, handle, events) = Link::over(Line(Some(near)), "test");
    let (orders_to, orders) = mpsc::channel(16);
    let (reports, seen) = watch::channel(Outward::default());
    let terminate = CancellationToken::new();
    let clock = Clock::start();
    let pilot = Pilot::new(node, state, clock.now()).keeping_descriptions(MetadataCache::in_state(dir.path()));
    let wiring = Wiring {
        link: handle,
        lease: agent::gcs::lease::Lease::default(),
        events,
        orders,
        reports,
        terminate: terminate.clone(),
        landing_timeout: Duration::from_secs(120),
        clock,
        uploads: None,
        traces: agent::Traces::default(),
        blocking: Blocking::Thread,
    };
    let life = tokio::spawn(fly(pilot, wiring, Arc::new(store), CancellationToken::new()));
    let began = Instant::now();
    let within = |seconds| assert!(began.elapsed().as_secs() < seconds, "not within {seconds} s");
    while kept(dir.path()) < 2 {
        within(60);
        sleep(Duration::from_millis(100)).await;
    }
    orders_to.send(FromUplink::Opened).await.unwrap();
    orders_to
        .send(FromUplink::Order(Box::new(order(1, FLY))))
        .await
        .unwrap();
    let truth = || seen.borrow().report.as_ref().map(|report| report.truth);
    while !matches!(truth(), Some(FlightTruth::Airborne(_))) {
        within(180);
        sleep(Duration::from_millis(100)).await;
    }
    terminate.cancel();
    assert_eq!(life.await.unwrap(), agent::Ending::Landed);
    link.close().await;
    simulated.abort();
}
