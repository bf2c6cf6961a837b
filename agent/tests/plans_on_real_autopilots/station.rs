//! A ground station on another link of the autopilot, which changes things by itself.
//!
//! Owns: uploading a mission, changing the mode. Must not: share code with the agent.

use super::{HERE, LinkUrl, Stack};
use fleet::geo::shifted;
use fleet::units::{Address, ComponentId, SystemId};
use link::dialect::*;
use link::{Events, Link, LinkEvent, LinkHandle};
use std::time::{Duration, Instant};

const US: Address = Address::new(255, 190);

pub struct Station {
    wire: LinkHandle,
    events: Events,
    to: Address,
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

    async fn send(&self, message: &MavMessage) {
        let _ = self.wire.send(US, message, Duration::from_millis(500)).await;
    }

    /// The first message that `wanted` takes.
    async fn hear<T>(&mut self, within: Duration, wanted: impl Fn(&MavMessage) -> Option<T>) -> Option<T> {
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

    /// Asks until it is answered.
    async fn ask<T>(&mut self, message: MavMessage, wanted: impl Fn(&MavMessage) -> Option<T>) -> T {
        for _ in 0..8 {
            self.send(&message).await;
            if let Some(found) = self.hear(Duration::from_secs(1), &wanted).await {
                return found;
            }
        }
        panic!("no answer to {message:?}");
    }

    /// BRAKE, or a return.
    pub async fn takes_over(&mut self, stack: Stack) {
        match stack {
            // Without a transmitter it would sink in LOITER, and PX4 leaves POSCTL again.
            Stack::ArduPilot => self.set_mode(17.0, 0.0).await,
            Stack::Px4 => self.set_mode(4.0, 5.0).await,
        }
    }

    /// GUIDED, or AUTO.LOITER.
    pub async fn gives_back(&mut self, stack: Stack) {
        match stack {
            Stack::ArduPilot => self.set_mode(4.0, 0.0).await,
            Stack::Px4 => self.set_mode(4.0, 3.0).await,
        }
    }

    async fn set_mode(&mut self, main: f32, sub: f32) {
        let command = MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            param1: 1.0,
            param2: main,
            param3: sub,
            command: MavCmd::MAV_CMD_DO_SET_MODE,
            target_system: self.to.system.0,
            target_component: self.to.component.0,
            ..Default::default()
        });
        self.ask(command, |m| match m {
            MavMessage::COMMAND_ACK(m) if m.command == MavCmd::MAV_CMD_DO_SET_MODE => Some(()),
            _ => None,
        })
        .await;
    }

    /// Places north and east of home.
    pub async fn upload_mission(&mut self, stack: Stack, places: &[(f64, f64)]) {
        let home: &[(f64, f64)] = match stack {
            Stack::ArduPilot => &[(0.0, 0.0)],
            Stack::Px4 => &[],
        };
        let items = [home, places].concat();
        let items: Vec<_> = items
            .into_iter()
            .map(|at| (MavCmd::MAV_CMD_NAV_WAYPOINT, 0.0, at))
            .collect();
        self.upload(MavMissionType::MAV_MISSION_TYPE_MISSION, &items).await;
    }

    async fn upload(&mut self, mission_type: MavMissionType, items: &[(MavCmd, f32, (f64, f64))]) {
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
                    #[allow(deprecated)]
                    MavMessage::MISSION_REQUEST(m) if m.target_system == 255 => Some(Some(m.seq)),
                    MavMessage::MISSION_ACK(m) if m.target_system == 255 => Some(None),
                    _ => None,
                })
                .await;
            let Some(seq) = asked else { return };
            let (command, param1, (north, east)) = items[usize::from(seq)];
            let at = shifted(HERE, east, north);
            #[allow(clippy::cast_possible_truncation)]
            let e7 = |degrees: f64| (degrees * 1e7).round() as i32;
            let height = mission_type == MavMissionType::MAV_MISSION_TYPE_MISSION;
            next = MavMessage::MISSION_ITEM_INT(MISSION_ITEM_INT_DATA {
                param1,
                x: e7(at.latitude_deg),
                y: e7(at.longitude_deg),
                z: if height { 20.0 } else { 0.0 },
                seq,
                command,
                target_system,
                target_component,
                frame: MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT,
                autocontinue: 1,
                mission_type,
                ..Default::default()
            });
        }
    }
}

fn heartbeat() -> MavMessage {
    MavMessage::HEARTBEAT(HEARTBEAT_DATA {
        mavtype: MavType::MAV_TYPE_GCS,
        autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
        mavlink_version: 3,
        ..Default::default()
    })
}
