//! A home that is not where the vehicle is, while it is on the ground.

use super::Pilot;
use crate::streams::Needed;
use fleet::safety;
use link::dialect::MavMessage;
use model::home_shift::HomeShift;
use model::time::Moment;
use model::vehicle::{ArmingReason, FlightTruth, ReasonClass};
use std::time::Duration;

/// A home that is elsewhere is asked for again this often: HOME_POSITION of a home that was set anew may have been lost.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(20);

impl Pilot {
    pub(super) const fn knows_home(&self) -> bool {
        self.vehicle.home_heard.is_some() && self.vehicle.home_at.is_some()
    }

    /// Home as seen from the vehicle on the ground, if that prevents arming.
    fn home_elsewhere(&self, now: Moment) -> Option<HomeShift> {
        let on_ground = self.vehicle.truth(now) == FlightTruth::Disarmed;
        let since_armed = self.memory.since_armed(now);
        safety::home_elsewhere(&self.vehicle, &self.state.record, since_armed, now).filter(|_| on_ground)
    }

    /// Home is asked for once, and again while it is not where the vehicle is, or is at two altitudes. Called with each message of the autopilot.
    pub(super) fn ask_for_home(&mut self, message: &MavMessage, now: Moment) {
        let of_place = matches!(
            message,
            MavMessage::GLOBAL_POSITION_INT(_) | MavMessage::HOME_POSITION(_)
        );
        let asked = self.home_asked.is_some_and(|at| now.since(at) < ASKED_AGAIN_AFTER);
        let disagrees = self.vehicle.home_disagrees_m.is_some();
        if !of_place || asked || !(disagrees || self.knows_home()) {
            return;
        }
        if disagrees || self.home_elsewhere(now).is_some() {
            self.home_asked = Some(now);
            self.streams.again(Needed::Home);
        } else {
            self.streams.known(Needed::Home, now);
        }
    }

    pub(super) fn home_reason(&self, now: Moment) -> Option<ArmingReason> {
        let since = self.link_up.unwrap_or(now);
        if let Some(above) = self.vehicle.home_disagrees_m {
            let (meters, side) = (above.abs(), if above > 0.0 { "above" } else { "below" });
            let text = format!(
                "its home position is reported {meters:.0} m {side} the home from which it counts its altitude (HOME_POSITION and \
                 GLOBAL_POSITION_INT), so where it would return to is not known; set home where it is (MAV_CMD_DO_SET_HOME of a ground \
                 station), or restart the autopilot"
            );
            return Some(ArmingReason {
                class: ReasonClass::NeedsHuman,
                ..ArmingReason::reported(text, since)
            });
        }
        if self.vehicle.position.is_some() && !self.knows_home() {
            let text = "its home position was not heard yet; it is asked for";
            return Some(ArmingReason {
                class: ReasonClass::WillHeal,
                ..ArmingReason::reported(text.to_owned(), since)
            });
        }
        let off = self.home_elsewhere(now)?;
        let text = format!(
            "its home position is not where the vehicle is, but {off}: home was set by a wrong position at boot, before the vehicle was \
             carried, or by a ground station; set home where it is (MAV_CMD_DO_SET_HOME of a ground station), or restart the autopilot"
        );
        Some(ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(text, since)
        })
    }
}
