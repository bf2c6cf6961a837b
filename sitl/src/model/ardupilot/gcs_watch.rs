//! ArduCopter's ground station failsafe: heartbeats of one system id that stop coming.
//!
//! Owns: whose heartbeats count and when they count as gone. Must not: change modes.

use crate::model::core::Core;

/// What just changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Lost,
    Back,
}

/// See the module text. Nothing is lost before a first heartbeat came, nor while FS_GCS_ENABLE is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GcsWatch {
    heard_s: Option<f64>,
    lost: bool,
}

impl GcsWatch {
    /// A heartbeat came from `system`; only the one in MAV_GCS_SYSID counts, of whatever type.
    pub(super) fn heartbeat(&mut self, core: &Core, system: u8) {
        if f32::from(system) == core.params.get("MAV_GCS_SYSID") {
            self.heard_s = Some(core.uptime_s);
        }
    }

    /// The failsafe is on.
    pub(super) fn lost(&self) -> bool {
        self.lost
    }

    pub(super) fn step(&mut self, core: &Core) -> Option<Change> {
        let timeout_s = f64::from(core.params.get("FS_GCS_TIMEOUT")) * core.config.seconds_per_peer_second;
        let enabled = core.params.get("FS_GCS_ENABLE") > 0.0;
        let lost = enabled && self.heard_s.is_some_and(|at| core.uptime_s - at > timeout_s);
        if lost == self.lost {
            return None;
        }
        self.lost = lost;
        Some(if lost { Change::Lost } else { Change::Back })
    }
}
