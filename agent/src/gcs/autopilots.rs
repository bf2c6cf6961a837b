//! Which autopilots speak on the line, and whether one of them is armed.

use super::fields;
use super::routes::Address;
use link::raw::RawFrame;
use model::units::SystemId;
use std::collections::BTreeMap;

/// A line has one or two autopilots.
const AT_MOST: usize = 16;

#[derive(Debug, Default)]
pub struct Autopilots(BTreeMap<Address, bool>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmingChange {
    /// It was not armed, or not known to be, and is now.
    Arms,
    Nothing,
}

impl Autopilots {
    /// `None`: not the heartbeat of an autopilot.
    pub fn receive(&mut self, frame: &RawFrame) -> Option<ArmingChange> {
        let beat = fields::beat(frame).filter(|beat| beat.autopilot)?;
        let who = frame.sender();
        if who.system == SystemId(0) || (self.0.len() >= AT_MOST && !self.0.contains_key(&who)) {
            return None;
        }
        let was = self.0.insert(who, beat.armed);
        Some(if beat.armed && was != Some(true) {
            ArmingChange::Arms
        } else {
            ArmingChange::Nothing
        })
    }

    /// False before one was heard.
    pub fn armed(&self) -> bool {
        self.0.values().any(|armed| *armed)
    }

    pub fn has_system(&self, system: SystemId) -> bool {
        self.0.keys().any(|who| who.system == system)
    }

    pub fn system(&self) -> Option<SystemId> {
        self.0.keys().next().map(|who| who.system)
    }

    /// `None`: none was heard, or those of several vehicles were.
    pub fn only_system(&self) -> Option<SystemId> {
        self.system()
            .filter(|system| self.0.keys().all(|who| who.system == *system))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcs::tests::{frame, heartbeat};
    use link::dialect::{MavAutopilot, MavType};

    fn beat(who: Address, autopilot: MavAutopilot, mavtype: MavType, armed: bool) -> RawFrame {
        frame(who, &heartbeat(mavtype, autopilot, armed))
    }

    const PX4: MavAutopilot = MavAutopilot::MAV_AUTOPILOT_PX4;
    const QUAD: MavType = MavType::MAV_TYPE_QUADROTOR;

    #[test]
    fn arming_is_reported_once_and_also_when_it_was_armed_at_first() {
        let mut autopilots = Autopilots::default();
        let mut says = |armed| autopilots.receive(&beat(Address::new(7, 1), PX4, QUAD, armed));
        let told: Vec<_> = [true, true, false, true].into_iter().map(&mut says).collect();
        let expected = [
            ArmingChange::Arms,
            ArmingChange::Nothing,
            ArmingChange::Nothing,
            ArmingChange::Arms,
        ];
        assert_eq!(told, expected.map(Some));
        assert!(autopilots.armed());
    }

    #[test]
    fn one_that_is_armed_is_enough() {
        let mut autopilots = Autopilots::default();
        assert!(!autopilots.armed());
        for (who, armed) in [(Address::new(7, 1), true), (Address::new(8, 1), false)] {
            autopilots.receive(&beat(who, PX4, QUAD, armed));
            assert!(autopilots.armed(), "{who:?}");
        }
        assert!(autopilots.has_system(SystemId(8)) && !autopilots.has_system(SystemId(9)));
    }

    #[test]
    fn what_is_no_autopilot_does_not_count() {
        let mut autopilots = Autopilots::default();
        let invalid = MavAutopilot::MAV_AUTOPILOT_INVALID;
        let generic = MavAutopilot::MAV_AUTOPILOT_GENERIC;
        for (autopilot, mavtype) in [
            (invalid, MavType::MAV_TYPE_GIMBAL),
            (PX4, MavType::MAV_TYPE_GCS),
            // A ground station that fills in no type: taken for an autopilot, its id would be refused to guests.
            (generic, MavType::MAV_TYPE_GENERIC),
            (PX4, MavType::MAV_TYPE_ONBOARD_CONTROLLER),
        ] {
            assert_eq!(
                autopilots.receive(&beat(Address::new(7, 1), autopilot, mavtype, true)),
                None
            );
        }
        assert_eq!((autopilots.armed(), autopilots.system()), (false, None));
    }

    #[test]
    fn many_names_are_not_remembered_without_bound() {
        let mut autopilots = Autopilots::default();
        for n in 0..=255 {
            autopilots.receive(&beat(Address::new(n, 1), PX4, QUAD, true));
        }
        assert_eq!(autopilots.0.len(), AT_MOST);
    }
}
