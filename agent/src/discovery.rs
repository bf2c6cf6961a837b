//! Which of the senders on the wire is our autopilot (MAVLink guide, services/mavlink_id_assignment).
//!
//! Owns: [`Discovery`], which latches the first autopilot it can fly and stays with it. Must not: forget it, answer
//! others, or guess from component ids.

use fleet::units::{ComponentId, SystemId};
use fleet::vehicle::{Autopilot, Identity};
use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavType};
use mavlink::MavHeader;

/// Looks for the autopilot in heartbeats.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    latched: Option<Identity>,
    vehicle_type: Option<MavType>,
    told: Vec<(u32, u8)>,
}

/// What a HEARTBEAT says about who is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighted {
    /// Our autopilot, seen for the first time.
    Found(Identity),
    /// Our autopilot.
    Ours,
    /// Another autopilot on the same wire, or one that cannot be flown; said once for each. The text says what.
    Stranger(String),
    /// Somebody that does not matter: a ground station, a gimbal, ourselves.
    Nobody,
}

/// Most strangers that are remembered so as not to be named twice.
const TOLD_AT_MOST: usize = 32;

impl Discovery {
    /// Our autopilot, once found.
    #[must_use]
    pub const fn latched(&self) -> Option<&Identity> {
        self.latched.as_ref()
    }

    /// Whether a frame comes from our autopilot.
    #[must_use]
    pub fn is_ours(&self, header: MavHeader) -> bool {
        self.latched
            .as_ref()
            .is_some_and(|id| u32::from(id.system.0) == header.system_id && id.component.0 == header.component_id)
    }

    /// Takes note of a HEARTBEAT (0).
    pub fn hear(&mut self, header: MavHeader, beat: &HEARTBEAT_DATA) -> Sighted {
        if beat.autopilot == MavAutopilot::MAV_AUTOPILOT_INVALID || beat.mavtype == MavType::MAV_TYPE_GCS {
            return Sighted::Nobody;
        }
        // Noise gets through a 16-bit checksum now and then; these cannot be true.
        let Ok(system) = u8::try_from(header.system_id) else {
            return Sighted::Nobody;
        };
        if system == 0 || header.component_id == 0 || beat.mavlink_version != 3 {
            return Sighted::Nobody;
        }
        if self.is_ours(header) {
            let same = self.latched.as_ref().map(|id| id.autopilot) == autopilot(beat.autopilot)
                && self.vehicle_type == Some(beat.mavtype);
            return if same { Sighted::Ours } else { Sighted::Nobody };
        }
        let who = format!("system {system} component {}", header.component_id);
        if let Some(ours) = &self.latched {
            let ours = format!("system {} component {}", ours.system.0, ours.component.0);
            return self.stranger(
                header,
                format!("a second autopilot ({who}) is on the link; this agent stays with {ours}"),
            );
        }
        let Some(autopilot) = autopilot(beat.autopilot) else {
            let what = format!("{:?}", beat.autopilot);
            return self.stranger(
                header,
                format!("{who} runs {what}, which is not supported; use ArduPilot or PX4"),
            );
        };
        if !is_multicopter(beat.mavtype) {
            let what = format!("{:?}", beat.mavtype);
            return self.stranger(
                header,
                format!("{who} is a {what}, which is not supported; only multicopters and helicopters are flown"),
            );
        }
        let component = ComponentId(header.component_id);
        let identity = Identity {
            autopilot,
            system: SystemId(system),
            component,
            firmware: None,
        };
        self.latched = Some(identity.clone());
        self.vehicle_type = Some(beat.mavtype);
        Sighted::Found(identity)
    }

    fn stranger(&mut self, header: MavHeader, text: String) -> Sighted {
        let who = (header.system_id, header.component_id);
        if self.told.contains(&who) || self.told.len() >= TOLD_AT_MOST {
            return Sighted::Nobody;
        }
        self.told.push(who);
        Sighted::Stranger(text)
    }
}

const fn autopilot(of: MavAutopilot) -> Option<Autopilot> {
    match of {
        MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA => Some(Autopilot::ArduPilot),
        MavAutopilot::MAV_AUTOPILOT_PX4 => Some(Autopilot::Px4),
        _ => None,
    }
}

/// Types that ArduCopter, or PX4's multicopter control, flies. The mode numbers of ArduPlane and others mean other things.
const fn is_multicopter(of: MavType) -> bool {
    matches!(
        of,
        MavType::MAV_TYPE_QUADROTOR
            | MavType::MAV_TYPE_COAXIAL
            | MavType::MAV_TYPE_HELICOPTER
            | MavType::MAV_TYPE_HEXAROTOR
            | MavType::MAV_TYPE_OCTOROTOR
            | MavType::MAV_TYPE_TRICOPTER
            | MavType::MAV_TYPE_DODECAROTOR
            | MavType::MAV_TYPE_DECAROTOR
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(system_id: u32, component_id: u8) -> MavHeader {
        MavHeader {
            system_id,
            component_id,
            sequence: 0,
        }
    }

    fn beat(autopilot: MavAutopilot, mavtype: MavType) -> HEARTBEAT_DATA {
        HEARTBEAT_DATA {
            autopilot,
            mavtype,
            mavlink_version: 3,
            ..HEARTBEAT_DATA::default()
        }
    }

    const PX4: MavAutopilot = MavAutopilot::MAV_AUTOPILOT_PX4;
    const QUAD: MavType = MavType::MAV_TYPE_QUADROTOR;

    #[test]
    fn the_first_autopilot_is_latched_and_gimbals_and_ground_stations_are_not() {
        let mut d = Discovery::default();
        let invalid = MavAutopilot::MAV_AUTOPILOT_INVALID;
        assert_eq!(
            d.hear(header(1, 154), &beat(invalid, MavType::MAV_TYPE_GIMBAL)),
            Sighted::Nobody
        );
        assert_eq!(
            d.hear(header(255, 190), &beat(PX4, MavType::MAV_TYPE_GCS)),
            Sighted::Nobody
        );
        assert!(matches!(d.hear(header(9, 1), &beat(PX4, QUAD)), Sighted::Found(id) if id.system == SystemId(9)));
        assert_eq!(d.hear(header(9, 1), &beat(PX4, QUAD)), Sighted::Ours);
        assert_eq!(
            d.hear(header(9, 154), &beat(invalid, MavType::MAV_TYPE_GIMBAL)),
            Sighted::Nobody
        );
        assert!(!d.is_ours(header(9, 154)) && d.is_ours(header(9, 1)));
    }

    #[test]
    fn a_second_autopilot_is_named_once_and_not_followed() {
        let mut d = Discovery::default();
        d.hear(header(1, 1), &beat(PX4, QUAD));
        let second = d.hear(header(2, 1), &beat(MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, QUAD));
        assert!(matches!(second, Sighted::Stranger(text) if text.contains("system 2 component 1")));
        assert_eq!(d.hear(header(2, 1), &beat(PX4, QUAD)), Sighted::Nobody);
        assert!(d.is_ours(header(1, 1)));
    }

    #[test]
    fn what_cannot_be_flown_is_named_once_and_never_latched() {
        let mut d = Discovery::default();
        let generic = beat(MavAutopilot::MAV_AUTOPILOT_GENERIC, QUAD);
        assert!(
            matches!(d.hear(header(1, 1), &generic), Sighted::Stranger(text) if text.contains("use ArduPilot or PX4"))
        );
        assert_eq!(d.hear(header(1, 1), &generic), Sighted::Nobody);
        let plane = beat(MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, MavType::MAV_TYPE_FIXED_WING);
        assert!(matches!(d.hear(header(3, 1), &plane), Sighted::Stranger(text) if text.contains("multicopters")));
        assert_eq!(d.latched(), None);
    }
}
