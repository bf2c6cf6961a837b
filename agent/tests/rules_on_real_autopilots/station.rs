//! A ground station on another link of the autopilot, which reads and changes things by itself.
//!
//! Owns: reading and uploading a fence, setting a parameter. Must not: share code with the agent.

use super::{HERE, LinkUrl};
use fleet::geo::shifted;
use fleet::units::{Address, ComponentId, SystemId};
use link::dialect::*;
use link::{Events, Link, LinkEvent, LinkHandle};
use std::time::{Duration, Instant};

const US: Address = Address::new(255, 190);
const FENCE: MavMissionType = MavMissionType::MAV_MISSION_TYPE_FENCE;

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

    /// Arms or disarms: what came of it, and what the autopilot said with it.
    pub async fn arm(&mut self, arm: bool) -> (Option<MavResult>, Vec<String>) {
        let command = MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            param1: f32::from(u8::from(arm)),
            command: MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
            target_system: self.to.system.0,
            target_component: self.to.component.0,
            ..Default::default()
        });
        self.send(&heartbeat()).await;
        self.send(&command).await;
        let (mut result, mut texts) = (None, vec![]);
        let until = Instant::now() + Duration::from_millis(1500);
        while let Some(message) = self.hear(until - Instant::now(), |m| Some(m.clone())).await {
            match message {
                MavMessage::COMMAND_ACK(m) if m.command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM => {
                    result = Some(m.result)
                }
                MavMessage::STATUSTEXT(m) => texts.push(m.text.to_str().unwrap_or_default().to_owned()),
                _ => {}
            }
        }
        (result, texts)
    }

    /// Tries to arm until it is armed, and disarms; or until it is refused with words that `refused` takes, which are returned.
    pub async fn try_to_arm(&mut self, refused: impl Fn(&str) -> bool) -> Option<String> {
        let began = Instant::now();
        loop {
            let (result, texts) = self.arm(true).await;
            if result == Some(MavResult::MAV_RESULT_ACCEPTED) {
                while self.arm(false).await.0 != Some(MavResult::MAV_RESULT_ACCEPTED) {}
                return None;
            }
            if let Some(words) = texts.iter().find(|text| refused(text)) {
                return Some(words.clone());
            }
            assert!(
                began.elapsed().as_secs() < 120,
                "neither armed nor refused so: {result:?}, {texts:?}"
            );
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

    /// What is on the autopilot.
    pub async fn fence(&mut self) -> Vec<MISSION_ITEM_INT_DATA> {
        let (target_system, target_component) = (self.to.system.0, self.to.component.0);
        let list = MavMessage::MISSION_REQUEST_LIST(MISSION_REQUEST_LIST_DATA {
            target_system,
            target_component,
            mission_type: FENCE,
        });
        let count = self
            .ask(list, |m| match m {
                MavMessage::MISSION_COUNT(m) if m.target_system == 255 && m.mission_type == FENCE => Some(m.count),
                _ => None,
            })
            .await;
        let mut items = vec![];
        for seq in 0..count {
            let request = MavMessage::MISSION_REQUEST_INT(MISSION_REQUEST_INT_DATA {
                seq,
                target_system,
                target_component,
                mission_type: FENCE,
            });
            let item = self.ask(request, |m| match m {
                MavMessage::MISSION_ITEM_INT(m) if m.target_system == 255 && m.seq == seq => Some(m.clone()),
                _ => None,
            });
            items.push(item.await);
        }
        self.send(&MavMessage::MISSION_ACK(MISSION_ACK_DATA {
            target_system,
            target_component,
            mission_type: FENCE,
            ..Default::default()
        }))
        .await;
        items
    }

    pub async fn upload_square(&mut self, half_m: f64) {
        let (target_system, target_component) = (self.to.system.0, self.to.component.0);
        let corners = [
            (half_m, half_m),
            (half_m, -half_m),
            (-half_m, -half_m),
            (-half_m, half_m),
        ];
        let mut next = MavMessage::MISSION_COUNT(MISSION_COUNT_DATA {
            count: 4,
            target_system,
            target_component,
            mission_type: FENCE,
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
            let (north, east) = corners[usize::from(seq)];
            let at = shifted(HERE, east, north);
            #[allow(clippy::cast_possible_truncation)]
            let e7 = |degrees: f64| (degrees * 1e7).round() as i32;
            next = MavMessage::MISSION_ITEM_INT(MISSION_ITEM_INT_DATA {
                param1: 4.0,
                x: e7(at.latitude_deg),
                y: e7(at.longitude_deg),
                seq,
                command: MavCmd::MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION,
                target_system,
                target_component,
                frame: MavFrame::MAV_FRAME_GLOBAL,
                autocontinue: 1,
                mission_type: FENCE,
                ..Default::default()
            });
        }
    }

    pub async fn set_float(&mut self, name: &str, value: f32) {
        let set = MavMessage::PARAM_SET(PARAM_SET_DATA {
            param_value: value,
            target_system: self.to.system.0,
            target_component: self.to.component.0,
            param_id: name.into(),
            param_type: MavParamType::MAV_PARAM_TYPE_REAL32,
        });
        self.ask(set, |m| match m {
            MavMessage::PARAM_VALUE(m) if m.param_id.to_str() == Ok(name) => Some(()),
            _ => None,
        })
        .await;
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
