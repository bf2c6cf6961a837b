//! ArduCopter's ground station failsafe: heartbeats of one system id that stop.

use crate::model::core::Core;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Lost,
    Back,
}

/// Nothing is lost before a first heartbeat, nor while FS_GCS_ENABLE is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GcsWatch {
    heard_s: Option<f64>,
    lost: bool,
    checked_s: f64,
}

const CHECK_EVERY_S: f64 = 1.0 / 3.0;

impl GcsWatch {
    /// Heartbeats count with any type.
    pub(super) fn heartbeat(&mut self, core: &Core, system: u8) {
        if is_ground_station(core, system) {
            self.heard_s = Some(core.uptime_s);
        }
    }

    pub(super) fn lost(&self) -> bool {
        self.lost
    }

    pub(super) fn step(&mut self, core: &Core) -> Option<Change> {
        if core.uptime_s < self.checked_s + CHECK_EVERY_S {
            return None;
        }
        self.checked_s = core.uptime_s;
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

/// MAV_GCS_SYSID, up to MAV_GCS_SYSID_HI if that is higher.
pub(super) fn is_ground_station(core: &Core, system: u8) -> bool {
    let first = core.params.get("MAV_GCS_SYSID");
    let last = core.params.get("MAV_GCS_SYSID_HI").max(first);
    (first..=last).contains(&f32::from(system))
}
