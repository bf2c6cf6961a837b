//! Plans as a ground station transfers them: fences and missions.

use anyhow::ensure;
use mavlink::dialects::ardupilotmega::{
    MISSION_ACK_DATA, MISSION_COUNT_DATA, MISSION_ITEM_INT_DATA, MISSION_REQUEST_INT_DATA, MISSION_REQUEST_LIST_DATA,
    MavCmd, MavFrame, MavMessage, MavMissionType,
};
use testkit::autopilots::Stack;

use super::Pilot;

const FENCE: MavMissionType = MavMissionType::MAV_MISSION_TYPE_FENCE;
const MISSION: MavMissionType = MavMissionType::MAV_MISSION_TYPE_MISSION;

impl Pilot {
    /// Latitude and longitude of each item on the autopilot.
    pub fn fence(&self) -> anyhow::Result<Vec<[f64; 2]>> {
        let (target_system, target_component, mission_type) = (self.system, 1, FENCE);
        let list = MavMessage::MISSION_REQUEST_LIST(MISSION_REQUEST_LIST_DATA {
            target_system,
            target_component,
            mission_type,
        });
        let count = self.ask(&list, |answer| match answer {
            MavMessage::MISSION_COUNT(m) if m.mission_type == FENCE => Some(m.count),
            _ => None,
        })?;
        let mut items = Vec::new();
        for seq in 0..count {
            let request = MavMessage::MISSION_REQUEST_INT(MISSION_REQUEST_INT_DATA {
                seq,
                target_system,
                target_component,
                mission_type,
            });
            items.push(self.ask(&request, |answer| match answer {
                MavMessage::MISSION_ITEM_INT(m) if m.seq == seq => Some([f64::from(m.x) / 1e7, f64::from(m.y) / 1e7]),
                _ => None,
            })?);
        }
        self.line.send(&MavMessage::MISSION_ACK(MISSION_ACK_DATA {
            target_system,
            target_component,
            mission_type,
            ..MISSION_ACK_DATA::default()
        }))?;
        Ok(items)
    }

    pub fn upload_fence(&self, corners: &[[f64; 2]]) -> anyhow::Result<()> {
        let vertex = MISSION_ITEM_INT_DATA {
            param1: f32::from(u16::try_from(corners.len())?),
            command: MavCmd::MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION,
            frame: MavFrame::MAV_FRAME_GLOBAL,
            mission_type: FENCE,
            ..MISSION_ITEM_INT_DATA::default()
        };
        self.upload(corners, &vertex)
    }

    /// Waypoints as latitudes and longitudes, at `meters` above home.
    pub fn upload_mission(&self, places: &[[f64; 2]], meters: f32) -> anyhow::Result<()> {
        let waypoint = MISSION_ITEM_INT_DATA {
            z: meters,
            command: MavCmd::MAV_CMD_NAV_WAYPOINT,
            frame: MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT,
            mission_type: MISSION,
            ..MISSION_ITEM_INT_DATA::default()
        };
        // ArduPilot's first item is home, whatever is sent.
        let home = match self.stack {
            Stack::ArduPilot => places.get(..1).unwrap_or_default(),
            Stack::Px4 => &[],
        };
        self.upload(&[home, places].concat(), &waypoint)
    }

    pub fn begin_upload(&self) -> anyhow::Result<()> {
        self.line.send(&MavMessage::MISSION_COUNT(MISSION_COUNT_DATA {
            count: 5,
            target_system: self.system,
            target_component: 1,
            mission_type: MISSION,
            opaque_id: 0,
        }))
    }

    fn upload(&self, places: &[[f64; 2]], like: &MISSION_ITEM_INT_DATA) -> anyhow::Result<()> {
        let (target_system, target_component) = (self.system, 1);
        let mut next = MavMessage::MISSION_COUNT(MISSION_COUNT_DATA {
            count: u16::try_from(places.len())?,
            target_system,
            target_component,
            mission_type: like.mission_type,
            opaque_id: 0,
        });
        loop {
            let asked = self.ask(&next, |answer| match answer {
                MavMessage::MISSION_REQUEST_INT(m) => Some(Ok(m.seq)),
                #[allow(deprecated, reason = "ArduPilot asks so")]
                MavMessage::MISSION_REQUEST(m) => Some(Ok(m.seq)),
                MavMessage::MISSION_ACK(m) => Some(Err(m.mavtype)),
                _ => None,
            })?;
            let seq = match asked {
                Ok(seq) => seq,
                Err(result) => {
                    ensure!(result as u8 == 0, "the upload ended with {result:?}");
                    return Ok(());
                }
            };
            let [latitude, longitude] = places[usize::from(seq)];
            let e7 = |degrees: f64| (degrees * 1e7).round() as i32;
            next = MavMessage::MISSION_ITEM_INT(MISSION_ITEM_INT_DATA {
                x: e7(latitude),
                y: e7(longitude),
                seq,
                target_system,
                target_component,
                autocontinue: 1,
                ..like.clone()
            });
        }
    }
}
