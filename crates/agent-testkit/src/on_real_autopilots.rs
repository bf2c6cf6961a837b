//! For tests on real autopilots: an agent, and a ground station on another link of its autopilot.

mod plans;
mod rules;

use agent::clock::Clock;
use agent::pilot::Pilot;
use agent::shell::{Blocking, Wiring, fly};
use agent::state_file::Store;
use agent::uplink::{FromUplink, Outward};
use link::dialect::*;
use link::{Events, Link, LinkEvent, LinkHandle, LinkUrl};
use model::geo::shifted;
use model::ids::NodeName;
use model::units::{Address, ComponentId, SystemId, Wgs84};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::autopilots::{Autopilot, Firmware, HOME, Instance, Settings, Stack};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const US: Address = Address::new(255, 190);
pub const HERE: Wgs84 = Wgs84 {
    latitude_deg: HOME[0],
    longitude_deg: HOME[1],
};

pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

pub fn url(stack: Stack, at: std::net::SocketAddr) -> LinkUrl {
    let scheme = match stack {
        Stack::ArduPilot => "tcp",
        Stack::Px4 => "udp",
    };
    format!("{scheme}:{at}").parse().unwrap()
}

pub fn autopilots() -> impl Iterator<Item = Autopilot> {
    Stack::ALL.into_iter().filter_map(|stack| match Firmware::find(stack) {
        Err(missing) => {
            say(&format!("skipped: {missing}"));
            None
        }
        Ok(firmware) => Some(Autopilot::start(firmware, Instance::claim().unwrap(), Settings::default()).unwrap()),
    })
}

pub struct Agent {
    pub orders: mpsc::Sender<FromUplink>,
    pub reports: watch::Receiver<Outward>,
    life: JoinHandle<()>,
    pub wire: LinkHandle,
    _link: Link,
}

impl Agent {
    /// `as_station`: the id by which an ArduPilot takes it for its ground station.
    pub fn start(autopilot: &Autopilot, dir: &Path, as_station: Option<SystemId>) -> Self {
        let node = NodeName::parse("pine").unwrap();
        // A killed agent may still write for a moment.
        let (store, state) = testkit::wait_for("the folder of the life before", Duration::from_secs(5), || {
            Ok(Store::open(dir, &node)?)
        })
        .unwrap();
        let (link, wire, events) = Link::open(url(autopilot.stack(), autopilot.companion_link()));
        let (orders_tx, orders) = mpsc::channel(16);
        let (reports, reports_rx) = watch::channel(Outward::default());
        let clock = Clock::start();
        let pilot = Pilot::new(node, state, clock.now()).as_ground_station(as_station);
        let wiring = Wiring {
            link: wire.clone(),
            lease: agent::gcs::lease::Lease::default(),
            events,
            orders,
            reports,
            terminate: CancellationToken::new(),
            landing_timeout: Duration::from_secs(60),
            clock,
            uploads: None,
            traces: agent::Traces::default(),
            blocking: Blocking::Thread,
        };
        let life = tokio::spawn(async move {
            Box::pin(fly(pilot, wiring, Arc::new(store), CancellationToken::new())).await;
        });
        Self {
            orders: orders_tx,
            reports: reports_rx,
            life,
            wire,
            _link: link,
        }
    }

    pub async fn kill(self) {
        self.life.abort();
        let _ = self.life.await;
    }
}

pub struct Station {
    wire: LinkHandle,
    events: Events,
    pub to: Address,
    _link: Link,
}

impl Station {
    pub async fn open(url: LinkUrl, system: u8) -> Self {
        let (link, wire, events) = Link::open(url);
        let mut station = Self {
            wire,
            events,
            to: Address {
                system: SystemId(system),
                component: ComponentId(1),
            },
            _link: link,
        };
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(3) {
            station.send(&heartbeat()).await;
            station.hear(Duration::from_millis(300), |_| None::<()>).await;
        }
        station
    }

    pub async fn send(&self, message: &MavMessage) {
        let _ = self.wire.send(US, message, Duration::from_millis(500)).await;
    }

    pub async fn hear<T>(&mut self, within: Duration, wanted: impl Fn(&MavMessage) -> Option<T>) -> Option<T> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let event = tokio::time::timeout(left, self.events.recv()).await.ok()??;
            if let LinkEvent::Frame(frame) = event
                && frame.header.component_id == 1
                && let Some(found) = wanted(&frame.message)
            {
                return Some(found);
            }
        }
    }

    pub async fn ask<T>(&mut self, message: MavMessage, wanted: impl Fn(&MavMessage) -> Option<T>) -> T {
        for _ in 0..8 {
            self.send(&message).await;
            if let Some(found) = self.hear(Duration::from_secs(1), &wanted).await {
                return found;
            }
        }
        panic!("no answer to {message:?}");
    }

    /// Each item: command, first parameter, place north and east of home.
    pub async fn upload(&mut self, mission_type: MavMissionType, items: &[(MavCmd, f32, (f64, f64))]) {
        let (target_system, target_component) = (self.to.system.0, self.to.component.0);
        let mut next = MavMessage::MISSION_COUNT(MISSION_COUNT_DATA {
            count: u16::try_from(items.len()).unwrap(),
            target_system,
            target_component,
            mission_type,
            opaque_id: 0,
        });
        loop {
            let asked = self
                .ask(next, |m| match m {
                    MavMessage::MISSION_REQUEST_INT(m) if m.target_system == 255 => Some(Some(m.seq)),
                    #[allow(deprecated, reason = "ArduPilot asks so")]
                    MavMessage::MISSION_REQUEST(m) if m.target_system == 255 => Some(Some(m.seq)),
                    MavMessage::MISSION_ACK(m) if m.target_system == 255 => Some(None),
                    _ => None,
                })
                .await;
            let Some(seq) = asked else { return };
            let (command, param1, (north, east)) = items[usize::from(seq)];
            let at = shifted(HERE, east, north);
            #[allow(clippy::cast_possible_truncation, reason = "180 degrees times 1e7 fit an i32")]
            let e7 = |degrees: f64| (degrees * 1e7).round() as i32;
            let (frame, z) = match mission_type {
                MavMissionType::MAV_MISSION_TYPE_MISSION => (MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT, 20.0),
                _ => (MavFrame::MAV_FRAME_GLOBAL, 0.0),
            };
            next = MavMessage::MISSION_ITEM_INT(MISSION_ITEM_INT_DATA {
                param1,
                x: e7(at.latitude_deg),
                y: e7(at.longitude_deg),
                z,
                seq,
                command,
                target_system,
                target_component,
                frame,
                autocontinue: 1,
                mission_type,
                ..Default::default()
            });
        }
    }

    /// `half_m`: half of the side of a square around home.
    pub async fn upload_square(&mut self, half_m: f64) {
        let corners = [
            (half_m, half_m),
            (half_m, -half_m),
            (-half_m, -half_m),
            (-half_m, half_m),
        ];
        let vertex = |at| (MavCmd::MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION, 4.0, at);
        self.upload(MavMissionType::MAV_MISSION_TYPE_FENCE, &corners.map(vertex))
            .await;
    }
}

pub fn heartbeat() -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype: MavType::MAV_TYPE_GCS,
        autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
        mavlink_version: 3,
        ..Default::default()
    })
}
