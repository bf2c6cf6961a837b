//! PX4's data link supervision: heartbeats of a ground station (type 6, any id), of a companion and of a Remote ID transmitter.

use crate::model::core::Core;

const PRESENT_S: f64 = 2.5;
/// Delay beyond COM_DL_LOSS_T (recorded: 1.4 to 2.8 s).
const NOTICED_S: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Lost,
    /// All but the first heartbeat ever.
    Regained,
}

/// Heartbeats of type 18 from the vehicle's own system id; the loss is only reported.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CompanionWatch {
    heard_s: Option<f64>,
    lost: bool,
}

/// Delay beyond COM_OBC_LOSS_T (recorded: 6.3 s after the last heartbeat).
const COMPANION_NOTICED_S: f64 = 1.2;

/// COM_OBC_LOSS_T, which 1.18 lacks.
const COMPANION_LOST_S: f32 = 5.0;

impl CompanionWatch {
    pub(super) fn heartbeat(&mut self, core: &Core) {
        self.heard_s = Some(core.uptime_s);
    }

    pub(super) fn step(&mut self, core: &Core) -> Option<Change> {
        let heard_s = self.heard_s?;
        let lost_s = match core.params.index_of("COM_OBC_LOSS_T") {
            Some(_) => core.params.get("COM_OBC_LOSS_T"),
            None => COMPANION_LOST_S,
        };
        let window_s = f64::from(lost_s) + COMPANION_NOTICED_S;
        let lost = core.uptime_s - heard_s > window_s * core.config.seconds_per_peer_second;
        if lost == self.lost {
            return None;
        }
        self.lost = lost;
        Some(if lost { Change::Lost } else { Change::Regained })
    }
}

/// Heartbeats of type 34 from the vehicle's own system id (sources of PX4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RemoteIdWatch {
    heard_s: Option<f64>,
    lost: bool,
}

const REMOTE_ID_LOST_S: f64 = 3.0;

impl RemoteIdWatch {
    pub(super) fn heartbeat(&mut self, core: &Core) {
        self.heard_s = Some(core.uptime_s);
    }

    pub(super) fn connected(&self) -> bool {
        self.heard_s.is_some() && !self.lost
    }

    pub(super) fn step(&mut self, core: &Core) -> Option<Change> {
        let lost = core.uptime_s - self.heard_s? > REMOTE_ID_LOST_S * core.config.seconds_per_peer_second;
        if lost == self.lost {
            return None;
        }
        self.lost = lost;
        Some(if lost { Change::Lost } else { Change::Regained })
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GcsWatch {
    heard_s: Option<f64>,
    lost: bool,
}

impl GcsWatch {
    pub(super) fn heartbeat(&mut self, core: &Core) {
        self.heard_s = Some(core.uptime_s);
    }

    /// Texts may be sent on the link.
    pub(super) fn present(&self, core: &Core) -> bool {
        self.within(core, PRESENT_S)
    }

    pub(super) fn connected(&self) -> bool {
        self.heard_s.is_some() && !self.lost
    }

    pub(super) fn step(&mut self, core: &Core) -> Option<Change> {
        self.heard_s?;
        let lost = !self.within(core, f64::from(core.params.get("COM_DL_LOSS_T")) + NOTICED_S);
        if lost == self.lost {
            return None;
        }
        self.lost = lost;
        Some(if lost { Change::Lost } else { Change::Regained })
    }

    fn within(&self, core: &Core, window_s: f64) -> bool {
        self.heard_s
            .is_some_and(|at| core.uptime_s - at <= window_s * core.config.seconds_per_peer_second)
    }
}
