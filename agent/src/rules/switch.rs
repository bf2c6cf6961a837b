//! ArduPilot's switch of its fence: observed, and switched on again on the ground.
//!
//! Recorded from ArduCopter: MAV_CMD_DO_FENCE_ENABLE (207) takes the fence out of effect while its items and FENCE_ENABLE stay as they are;
//! FENCE_ENABLE set once more to the same value does not bring it back. SYS_STATUS alone says so. (A switch of the remote control is documented
//! to do the same.) With FENCE_ACTION 0 it always says "off", and of the kinds of FENCE_TYPE one alone may be off unnoticed; so may all of them
//! where the fence was on before FENCE_TYPE took a kind away, until a reboot.

use crate::recipe::Command;
use link::dialect::{MavCmd, MavMessage, MavSysStatusSensor, SYS_STATUS_DATA};
use model::backoff::Backoff;
use model::rules::Rules;
use model::time::Moment;
use model::vehicle::{Autopilot, Identity};
use std::time::Duration;

/// What was just changed shows in SYS_STATUS within this.
const SHOWN_WITHIN: Duration = Duration::from_secs(3);
const AGAIN: Backoff = Backoff {
    first: Duration::from_secs(5),
    cap: Duration::from_secs(300),
};
pub(super) const OFF: &str = "the autopilot has its fence switched off, by a command, a switch of the remote control, or FENCE_AUTOENABLE; it is \
                              switched on again on the ground";

#[derive(Clone, Debug, Default)]
pub(super) struct FenceSwitch {
    off_since: Option<Moment>,
    is_off: bool,
    sent: u32,
    not_before: Moment,
}

impl FenceSwitch {
    /// Takes a SYS_STATUS of `autopilot`, on which something was changed last at `changed`.
    pub(super) fn receive(
        &mut self,
        status: &SYS_STATUS_DATA,
        autopilot: Autopilot,
        changed: Option<Moment>,
        now: Moment,
    ) {
        let fence = MavSysStatusSensor::MAV_SYS_STATUS_GEOFENCE;
        if autopilot != Autopilot::ArduPilot || status.onboard_control_sensors_enabled.contains(fence) {
            (self.off_since, self.is_off, self.sent) = (None, false, 0);
            return;
        }
        let since = *self.off_since.get_or_insert(now);
        let since = changed.map_or(since, |changed| changed.max(since));
        self.is_off = now.since(since) >= SHOWN_WITHIN;
    }

    /// Whether it is off though `rules` want it on, as far as SYS_STATUS can say.
    pub(super) fn is_off(&self, rules: Option<&Rules>) -> bool {
        let wanted = |name: &str| {
            let mut all = rules.into_iter().flat_map(|rules| &rules.parameters);
            all.any(|parameter| parameter.name == name && parameter.value != 0.0)
        };
        self.is_off && wanted("FENCE_ENABLE") && wanted("FENCE_ACTION")
    }

    /// Call it only while it is off, on the ground.
    pub(super) fn next(&mut self, to: &Identity, now: Moment, jitter: f64) -> Option<MavMessage> {
        if now < self.not_before {
            return None;
        }
        self.sent = self.sent.saturating_add(1);
        self.not_before = now.plus(AGAIN.delay(self.sent, jitter));
        Some(Command::long(MavCmd::MAV_CMD_DO_FENCE_ENABLE, [1.0, 0.0, 0.0, 0.0]).message(to, 0))
    }
}
