//! For tests of rules: rules and reports of the agent, and a ground station that reads and changes things by itself.

use super::{Agent, Station, heartbeat};
use agent::uplink::FromUplink;
use link::dialect::*;
use model::rules::{Rules, RulesDigest, RulesReport};
use std::time::{Duration, Instant};

const FENCE: MavMissionType = MavMissionType::MAV_MISSION_TYPE_FENCE;

impl Agent {
    pub async fn give(&self, rules: Rules) {
        self.orders.send(FromUplink::Rules(rules)).await.unwrap();
    }

    pub fn rules(&self) -> Option<RulesReport> {
        self.reports.borrow().report.as_ref().map(|report| report.rules.clone())
    }

    pub async fn until_rules(&self, what: &str, within_s: u64, holds: impl Fn(&RulesReport) -> bool) -> Duration {
        let began = Instant::now();
        while !self.rules().is_some_and(|rules| holds(&rules)) {
            assert!(
                began.elapsed().as_secs() < within_s,
                "not within {within_s} s: {what}; {:#?}",
                self.rules()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        began.elapsed()
    }

    pub async fn until_in_force(&self, digest: &str) -> Duration {
        let digest = RulesDigest(digest.to_owned());
        self.until_rules("rules in force", 90, |rules| {
            rules.in_force && rules.held.as_ref() == Some(&digest)
        })
        .await
    }
}

impl Station {
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

    /// Arms and disarms once it may, or returns words of a refusal that `refused` takes.
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
