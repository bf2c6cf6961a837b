//! A second vehicle with the system id of ours on the line.

use super::Pilot;
use link::Frame;
use link::dialect::MavMessage;
use model::parameter_meaning::{Meaning, names_with_versions};
use model::time::Moment;
use model::vehicle::{ArmingReason, HardwareUid, ReasonClass};
use tracing::warn;

impl Pilot {
    pub(super) fn hear_shared_id(&mut self, frame: &Frame, now: Moment) {
        if !self.discovery.is_ours(frame.header) {
            return;
        }
        let was_shared = self.vehicle.shares_id(now);
        self.shared_id.receive(&frame.message, now);
        self.vehicle.id_shared_at = self.shared_id.noticed().map(|(_, at)| at);
        if !was_shared && let Some(reason) = self.shared_id_reason(now) {
            warn!("{}", reason.text);
        }
    }

    /// Forgets a number that was read before that of the vehicle that serves the Drone: a second vehicle answered first.
    pub(super) fn recognize(&mut self, message: &MavMessage) {
        let MavMessage::AUTOPILOT_VERSION(version) = message else {
            return;
        };
        let read = HardwareUid::of(version.uid, version.uid2);
        if let Some(identity) = self.vehicle.identity.as_mut().filter(|_| read.is_some())
            && self.state.record.hardware == read
        {
            identity.hardware = read;
        }
    }

    pub(super) fn shared_id_reason(&self, now: Moment) -> Option<ArmingReason> {
        let (evidence, _) = self.shared_id.noticed().filter(|_| self.vehicle.shares_id(now))?;
        let own = self.discovery.latched()?;
        let text = format!(
            "two vehicles speak as system {} on this line ({}), and what is sent reaches both: give each a system id of its own by {}, or each \
             pair of radios a network id of its own",
            own.system.0,
            evidence.words(),
            names_with_versions(own.autopilot, Meaning::SystemId)
        );
        Some(ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(text, self.link_up.unwrap_or(now))
        })
    }
}
