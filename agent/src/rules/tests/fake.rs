//! A scripted autopilot: what the real ones were recorded to do with fences and parameters, and nothing else.
//!
//! Owns: the mission protocol's other side, PX4's late judgment and ArduPilot's early one, parameters, events. Must not: share code with
//! the agent's side.

use super::super::items::Item;
use link::dialect::*;
use model::time::Moment;
use model::units::Address;
use model::vehicle::Autopilot;
use std::collections::BTreeMap;
use std::time::Duration;

pub const US: Address = Address::new(1, 191);
pub const AUTOPILOT: Address = Address::new(1, 1);
/// A fence whose first item lies north of this does not contain home.
pub const NORTH_OF_HOME_E7: i32 = 474_000_000;

#[derive(Clone, Debug)]
pub struct Fake {
    pub autopilot: Autopilot,
    pub stored: Vec<Item>,
    pub in_effect: Vec<Item>,
    judged: Option<Vec<Item>>,
    judge_at: Option<Moment>,
    upload: Option<Upload>,
    pub parameters: BTreeMap<&'static str, (f64, MavParamType)>,
    pub read_only: Vec<&'static str>,
    event: u16,
    past_events: Vec<EVENT_DATA>,
    counted_at: Moment,
    beat_at: Moment,
    pub received: Vec<MavMessage>,
    pub mute: bool,
    /// Whatever its items and parameters say.
    pub switched_off: bool,
    pub unnumbered: bool,
}

#[derive(Clone, Debug)]
struct Upload {
    from: Address,
    count: usize,
    items: Vec<Item>,
    asked_at: Moment,
    heard_at: Moment,
}

impl Fake {
    pub fn new(autopilot: Autopilot) -> Self {
        let int = match autopilot {
            Autopilot::Px4 => MavParamType::MAV_PARAM_TYPE_INT32,
            Autopilot::ArduPilot => MavParamType::MAV_PARAM_TYPE_INT8,
        };
        Self {
            autopilot,
            stored: vec![],
            in_effect: vec![],
            judged: None,
            judge_at: None,
            upload: None,
            parameters: BTreeMap::from([
                ("ATC_WHOLE", (2.0, int)),
                ("ATC_ALT_MAX", (100.0, MavParamType::MAV_PARAM_TYPE_REAL32)),
                ("ATC_TOTAL", (1.0, int)),
                ("BATT_MONITOR", (0.0, int)),
                ("SDLOG_MODE", (0.0, int)),
                ("FENCE_ENABLE", (0.0, int)),
                ("FENCE_ACTION", (0.0, int)),
                ("FENCE_TYPE", (7.0, int)),
            ]),
            read_only: vec!["ATC_TOTAL"],
            event: 0,
            past_events: vec![],
            counted_at: Moment::default(),
            beat_at: Moment::default(),
            received: vec![],
            mute: false,
            switched_off: false,
            unnumbered: false,
        }
    }

    fn limit(&self) -> usize {
        match self.autopilot {
            Autopilot::Px4 => 64,
            Autopilot::ArduPilot => 70,
        }
    }

    fn id(&self) -> u32 {
        match self.autopilot {
            Autopilot::ArduPilot => 0,
            Autopilot::Px4 if self.stored.is_empty() || self.unnumbered => 0,
            Autopilot::Px4 => self.stored.iter().fold(17, |sum: u32, item| {
                sum.wrapping_mul(31)
                    .wrapping_add(item.latitude_e7.cast_unsigned() ^ item.longitude_e7.cast_unsigned())
            }),
        }
    }

    fn request(&self, seq: usize, to: Address) -> MavMessage {
        let seq = seq as u16;
        let (target_system, target_component) = (to.system.0, to.component.0);
        let mission_type = MavMissionType::MAV_MISSION_TYPE_FENCE;
        match self.autopilot {
            Autopilot::Px4 => MavMessage::MISSION_REQUEST_INT(MISSION_REQUEST_INT_DATA {
                seq,
                target_system,
                target_component,
                mission_type,
            }),
            #[allow(deprecated)]
            Autopilot::ArduPilot => MavMessage::MISSION_REQUEST(MISSION_REQUEST_DATA {
                seq,
                target_system,
                target_component,
                mission_type,
            }),
        }
    }

    fn ack(&self, mavtype: MavMissionResult, to: Address) -> MavMessage {
        let accepted = mavtype == MavMissionResult::MAV_MISSION_ACCEPTED;
        MavMessage::MISSION_ACK(MISSION_ACK_DATA {
            target_system: to.system.0,
            target_component: to.component.0,
            mavtype,
            mission_type: MavMissionType::MAV_MISSION_TYPE_FENCE,
            opaque_id: if accepted { self.id() } else { 0 },
        })
    }

    pub fn value_of(&self, name: &str) -> Option<MavMessage> {
        let (value, kind) = *self.parameters.get(name)?;
        let bits = self.autopilot == Autopilot::Px4 && kind != MavParamType::MAV_PARAM_TYPE_REAL32;
        Some(MavMessage::PARAM_VALUE(PARAM_VALUE_DATA {
            param_value: if bits {
                f32::from_bits((value as i32).cast_unsigned())
            } else {
                value as f32
            },
            param_count: 5,
            param_index: u16::MAX,
            param_id: name.into(),
            param_type: kind,
        }))
    }

    pub fn foreign_upload(&mut self, items: Vec<Item>, now: Moment) -> Vec<MavMessage> {
        self.store(items, now);
        vec![self.ack(MavMissionResult::MAV_MISSION_ACCEPTED, Address::new(255, 190))]
    }

    fn store(&mut self, items: Vec<Item>, now: Moment) {
        self.stored = items;
        match self.autopilot {
            Autopilot::ArduPilot => self.in_effect = self.stored.clone(),
            Autopilot::Px4 => {
                let _ = self.judge_at.get_or_insert(now.plus(Duration::from_millis(500)));
            }
        }
    }

    pub fn receive(&mut self, message: &MavMessage, now: Moment) -> Vec<MavMessage> {
        use MavMissionResult as Result;
        self.received.push(message.clone());
        if self.mute {
            return vec![];
        }
        match message {
            MavMessage::MISSION_COUNT(m) => {
                if usize::from(m.count) > self.limit() {
                    return vec![self.ack(Result::MAV_MISSION_NO_SPACE, US)];
                }
                self.upload = Some(Upload {
                    from: US,
                    count: usize::from(m.count),
                    items: vec![],
                    asked_at: now,
                    heard_at: now,
                });
                vec![self.request(0, US)]
            }
            MavMessage::MISSION_ITEM_INT(m) => self.take(m, now),
            MavMessage::MISSION_CLEAR_ALL(_) => {
                self.upload = None;
                self.store(vec![], now);
                vec![self.ack(Result::MAV_MISSION_ACCEPTED, US)]
            }
            MavMessage::MISSION_REQUEST_LIST(_) if self.upload.is_some() => {
                vec![self.ack(Result::MAV_MISSION_DENIED, US)]
            }
            MavMessage::MISSION_REQUEST_LIST(_) => vec![MavMessage::MISSION_COUNT(MISSION_COUNT_DATA {
                count: self.stored.len() as u16,
                target_system: 1,
                target_component: 191,
                mission_type: MavMissionType::MAV_MISSION_TYPE_FENCE,
                opaque_id: self.id(),
            })],
            MavMessage::MISSION_REQUEST_INT(m) => {
                let item = self.stored.get(usize::from(m.seq)).map(|item| item.message(m.seq));
                item.map(|item| {
                    MavMessage::MISSION_ITEM_INT(MISSION_ITEM_INT_DATA {
                        target_system: 1,
                        target_component: 191,
                        ..item
                    })
                })
                .into_iter()
                .collect()
            }
            MavMessage::PARAM_REQUEST_READ(m) => {
                let name = m.param_id.to_str().unwrap();
                if name == "_HASH_CHECK" && self.autopilot == Autopilot::Px4 {
                    let hash = self.parameters.values().fold(0, |sum: u32, (value, _)| {
                        sum.wrapping_mul(31).wrapping_add((value * 10.0) as u32)
                    });
                    return vec![MavMessage::PARAM_VALUE(PARAM_VALUE_DATA {
                        param_value: f32::from_bits(hash),
                        param_index: u16::MAX,
                        param_id: "_HASH_CHECK".into(),
                        param_type: MavParamType::MAV_PARAM_TYPE_UINT32,
                        ..PARAM_VALUE_DATA::default()
                    })];
                }
                self.value_of(name).into_iter().collect()
            }
            MavMessage::PARAM_SET(m) => self.set(m),
            MavMessage::COMMAND_LONG(m) if m.command == MavCmd::MAV_CMD_DO_FENCE_ENABLE => {
                self.switched_off = m.param1 == 0.0;
                vec![]
            }
            MavMessage::REQUEST_EVENT(m) => {
                let wanted = m.first_sequence..=m.last_sequence;
                let again = self.past_events.iter().filter(|event| wanted.contains(&event.sequence));
                again.cloned().map(MavMessage::EVENT).collect()
            }
            _ => vec![],
        }
    }

    fn take(&mut self, m: &MISSION_ITEM_INT_DATA, now: Moment) -> Vec<MavMessage> {
        use MavMissionResult as Result;
        let Some(upload) = &mut self.upload else {
            return match self.autopilot {
                Autopilot::ArduPilot => vec![self.ack(Result::MAV_MISSION_ERROR, US)],
                Autopilot::Px4 => vec![],
            };
        };
        upload.heard_at = now;
        if usize::from(m.seq) != upload.items.len() {
            return match self.autopilot {
                Autopilot::ArduPilot => vec![self.ack(Result::MAV_MISSION_INVALID_SEQUENCE, US)],
                Autopilot::Px4 => vec![],
            };
        }
        assert!(matches!(m.frame, MavFrame::MAV_FRAME_GLOBAL));
        upload.items.push(Item::read(m).unwrap());
        upload.asked_at = now;
        if upload.items.len() < upload.count {
            let (seq, to) = (upload.items.len(), upload.from);
            return vec![self.request(seq, to)];
        }
        let items = self.upload.take().unwrap().items;
        if self.autopilot == Autopilot::ArduPilot && items.len() == 70 {
            return vec![
                self.ack(Result::MAV_MISSION_ERROR, US),
                text("Fence exceeds storage size"),
            ];
        }
        self.store(items, now);
        vec![self.ack(Result::MAV_MISSION_ACCEPTED, US)]
    }

    fn set(&mut self, m: &PARAM_SET_DATA) -> Vec<MavMessage> {
        let name = m.param_id.to_str().unwrap().to_owned();
        let Some((known, (value, kind))) = self.parameters.get_key_value(name.as_str()).map(|(k, v)| (*k, *v)) else {
            return vec![];
        };
        if self.read_only.contains(&known) {
            let mut answer: Vec<_> = self.value_of(known).into_iter().collect();
            answer.push(text(&format!("Param write denied ({known})")));
            return answer;
        }
        let new = match self.autopilot {
            Autopilot::Px4 if m.param_type != kind => return vec![],
            Autopilot::Px4 if kind != MavParamType::MAV_PARAM_TYPE_REAL32 => {
                f64::from(m.param_value.to_bits().cast_signed())
            }
            _ => f64::from(m.param_value),
        };
        let _ = value;
        self.parameters.insert(known, (new, kind));
        self.value_of(known).into_iter().collect()
    }

    pub fn tick(&mut self, now: Moment) -> Vec<MavMessage> {
        let mut out = vec![];
        if self.mute {
            return out;
        }
        let (repeat, give_up) = match self.autopilot {
            Autopilot::Px4 => (260, 5),
            Autopilot::ArduPilot => (1000, 8),
        };
        if let Some(upload) = &mut self.upload {
            if now.since(upload.heard_at) >= Duration::from_secs(give_up) {
                self.upload = None;
            } else if now.since(upload.asked_at) >= Duration::from_millis(repeat) {
                upload.asked_at = now;
                let (seq, to) = (upload.items.len(), upload.from);
                out.push(self.request(seq, to));
            }
        }
        if self.judge_at.is_some_and(|at| now >= at) {
            self.judge_at = None;
            // The same fence is not judged twice.
            if self.judged.as_ref() != Some(&self.stored) {
                self.judged = Some(self.stored.clone());
                self.in_effect = self.stored.clone();
                if self
                    .stored
                    .first()
                    .is_some_and(|item| item.latitude_e7 > NORTH_OF_HOME_E7)
                {
                    self.in_effect.clear();
                    self.event += 1;
                    let event = EVENT_DATA {
                        id: 27_750_677,
                        sequence: self.event,
                        ..EVENT_DATA::default()
                    };
                    self.past_events.push(event.clone());
                    out.push(MavMessage::EVENT(event));
                }
            }
        }
        if now.since(self.beat_at) >= Duration::from_secs(1) {
            self.beat_at = now;
            out.push(MavMessage::HEARTBEAT(HEARTBEAT_DATA::default()));
            let acts = ["FENCE_ENABLE", "FENCE_ACTION"]
                .iter()
                .all(|name| self.parameters[name].0 != 0.0);
            let mut enabled = MavSysStatusSensor::empty();
            let fence = MavSysStatusSensor::MAV_SYS_STATUS_GEOFENCE;
            enabled.set(
                fence,
                self.autopilot == Autopilot::ArduPilot && acts && !self.switched_off,
            );
            out.push(MavMessage::SYS_STATUS(SYS_STATUS_DATA {
                onboard_control_sensors_enabled: enabled,
                ..SYS_STATUS_DATA::default()
            }));
        }
        if self.autopilot == Autopilot::Px4 && now.since(self.counted_at) >= Duration::from_secs(3) {
            self.counted_at = now;
            out.push(MavMessage::CURRENT_EVENT_SEQUENCE(CURRENT_EVENT_SEQUENCE_DATA {
                sequence: self.event,
                flags: MavEventCurrentSequenceFlags::empty(),
            }));
        }
        out
    }
}

pub fn text(text: &str) -> MavMessage {
    MavMessage::STATUSTEXT(STATUSTEXT_DATA {
        severity: MavSeverity::MAV_SEVERITY_WARNING,
        text: text.into(),
        ..STATUSTEXT_DATA::default()
    })
}
