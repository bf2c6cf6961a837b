//! ArduCopter's position estimate, and the failsafe when GPS is lost.

use super::boot::{GPS_FIX_S, POSITION_S};
use crate::model::core::Core;

/// Life of the estimate without GPS.
const HOLDS_S: f64 = 7.4;
/// Delay of the failsafe after GPS was lost.
const ACTS_S: f64 = 8.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Lost,
    Back,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PositionWatch {
    gps_lost_s: Option<f64>,
    failed: bool,
    receiver_broken: bool,
}

impl PositionWatch {
    pub(super) fn has_fix(&self, core: &Core) -> bool {
        core.uptime_s >= GPS_FIX_S && !self.receiver_broken && core.params.get("SIM_GPS1_ENABLE") > 0.0
    }

    pub(super) fn set_receiver(&mut self, works: bool) {
        self.receiver_broken = !works;
    }

    pub(super) fn is_known(&self, core: &Core) -> bool {
        core.uptime_s >= POSITION_S && self.gps_lost_s.is_none_or(|at| core.uptime_s < at + HOLDS_S)
    }

    pub(super) fn failed(&self) -> bool {
        self.failed
    }

    /// The failsafe begins only while `armed`, and ends when GPS is back.
    pub(super) fn step(&mut self, core: &Core, armed: bool) -> Option<Change> {
        if core.uptime_s < GPS_FIX_S {
            return None;
        }
        self.gps_lost_s = (!self.has_fix(core)).then(|| self.gps_lost_s.unwrap_or(core.uptime_s));
        let failed = self.gps_lost_s.is_some_and(|at| core.uptime_s >= at + ACTS_S) && (armed || self.failed);
        if failed == self.failed {
            return None;
        }
        self.failed = failed;
        Some(if failed { Change::Lost } else { Change::Back })
    }
}
