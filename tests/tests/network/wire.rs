//! Messages to an autopilot about its rules: fence transfers and parameters.

use link::dialect::{MavMessage, MavMissionType};
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct RulesWire {
    pub changes: u32,
    pub reads: u32,
    pub uploads: u32,
    pub sets: Vec<(Duration, String)>,
    open: Option<u16>,
}

impl RulesWire {
    pub fn take_in(&mut self, message: &MavMessage) {
        const FENCE: MavMissionType = MavMissionType::MAV_MISSION_TYPE_FENCE;
        match message {
            MavMessage::MISSION_COUNT(m) if m.mission_type == FENCE => {
                self.changes += 1;
                // A repeated one begins no other.
                self.uploads += u32::from(self.open.is_none());
                self.open = Some(m.count);
            }
            MavMessage::MISSION_ITEM_INT(m) if m.mission_type == FENCE => {
                self.changes += 1;
                self.open = self.open.filter(|count| m.seq + 1 < *count);
            }
            MavMessage::MISSION_CLEAR_ALL(m) if m.mission_type == FENCE => {
                self.changes += 1;
                self.uploads += 1;
                self.open = None;
            }
            MavMessage::MISSION_REQUEST_LIST(m) if m.mission_type == FENCE => {
                self.reads += 1;
                self.open = None;
            }
            MavMessage::MISSION_REQUEST_INT(m) if m.mission_type == FENCE => self.reads += 1,
            MavMessage::MISSION_ACK(m) if m.mission_type == FENCE => self.reads += 1,
            MavMessage::PARAM_SET(m) => {
                self.changes += 1;
                let at = turmoil::sim_elapsed().unwrap_or_default();
                self.sets.push((at, m.param_id.to_str().unwrap_or_default().to_owned()));
            }
            MavMessage::PARAM_REQUEST_READ(_) => self.reads += 1,
            _ => {}
        }
    }

    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }
}
