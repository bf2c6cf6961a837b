//! Which of the senders on the wire is our autopilot (MAVLink guide, services/mavlink_id_assignment).
//!
//! Radios can carry two vehicles on one wire, and which speaks first after a restart is chance. So an autopilot is
//! latched only when no other was heard for a while; and while a Drone is held, only the one that has served it (invariant
//! 3: a Drone never moves to another vehicle).

use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavType};
use link::heartbeat::is_autopilot;
use mavlink::MavHeader;
use model::time::Moment;
use model::units::{Address, ComponentId, SystemId};
use model::vehicle::{Autopilot, Identity};
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Discovery {
    latched: Option<Identity>,
    vehicle_type: Option<MavType>,
    /// When it beat last with that type.
    heard: Moment,
    /// Another type with which it has beaten since, and how often in a row.
    another_type: Option<(MavType, u8)>,
    /// The vehicle that the Drone held is served by.
    only: Option<Address>,
    /// Autopilots heard before one is latched: which, since when, and when last.
    candidates: Vec<(MavHeader, Moment, Moment)>,
    /// Senders that were named already, and whether ours was silent then.
    logged: Vec<(u32, u8, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighted {
    Found(Identity),
    Ours,
    /// Another autopilot on the same wire, or one that cannot be flown; reported once for each, and again on a link that is opened again. The
    /// text says what.
    Stranger(String),
    /// A sender that does not matter: a ground station, a gimbal, ourselves.
    Ignored,
}

/// An autopilot is latched once no other was heard for this long (MAVLink guide, services/mavlink_id_assignment).
pub const ALONE_FOR: Duration = Duration::from_secs(3);
const GONE_AFTER: Duration = Duration::from_secs(5);

/// A type that came this often in a row, while that of before was silent, is no noise.
const BEATS_OF_ANOTHER_TYPE: u8 = 3;

const MAX_REMEMBERED: usize = 32;

impl Discovery {
    /// Latches none but `only`, if that is known.
    pub fn staying_with(only: Option<Address>) -> Self {
        Self {
            only,
            ..Self::default()
        }
    }

    /// Has others on the link named again.
    pub fn link_opened(&mut self) {
        self.logged.clear();
    }

    pub const fn latched(&self) -> Option<&Identity> {
        self.latched.as_ref()
    }

    pub fn has_candidates(&self) -> bool {
        self.latched.is_none() && !self.candidates.is_empty()
    }

    pub fn is_ours(&self, header: MavHeader) -> bool {
        self.latched
            .as_ref()
            .is_some_and(|id| u32::from(id.system.0) == header.system_id && id.component.0 == header.component_id)
    }

    pub fn receive(&mut self, header: MavHeader, beat: &HEARTBEAT_DATA, now: Moment) -> Sighted {
        if !is_autopilot(beat.autopilot as u8, beat.mavtype as u8) {
            return Sighted::Ignored;
        }
        // Noise gets through a 16-bit checksum now and then; these cannot be true.
        let Ok(system) = u8::try_from(header.system_id) else {
            return Sighted::Ignored;
        };
        if system == 0 || header.component_id == 0 || beat.mavlink_version != 3 {
            return Sighted::Ignored;
        }
        if self.is_ours(header) {
            return self.ours(header, beat, now);
        }
        let who = sender(header);
        if let Some(ours) = &self.latched {
            let another_system = header.system_id != u32::from(ours.system.0);
            let ours = format!("system {} component {}", ours.system.0, ours.component.0);
            let silent = another_system && now.since(self.heard) > GONE_AFTER;
            let text = if silent {
                format!(
                    "{who} is heard, and {ours}, with which this agent stays, no more; if the autopilot was given another system id, restart the agent"
                )
            } else {
                format!("a second autopilot ({who}) is on the link; this agent stays with {ours}")
            };
            return self.stranger(header, silent, text);
        }
        let Some(autopilot) = autopilot(beat.autopilot) else {
            let what = format!("{:?}", beat.autopilot);
            return self.stranger(
                header,
                false,
                format!("{who} runs {what}, which is not supported; use ArduPilot or PX4"),
            );
        };
        if let Some(why) = not_flown(&who, beat.mavtype) {
            return self.stranger(header, false, why);
        }
        match self.only {
            Some(ours) if ours != Address::new(system, header.component_id) => {
                return self.stranger(
                    header,
                    false,
                    format!(
                        "{who} is on the link, but the Drone held here is served by system {} component {}; if the autopilot was replaced, delete that Drone and force its release",
                        ours.system.0, ours.component.0
                    ),
                );
            }
            Some(_) => {}
            None => {
                if let Some(doubt) = self.doubt(header, now) {
                    return doubt;
                }
            }
        }
        let component = ComponentId(header.component_id);
        let identity = Identity {
            autopilot,
            system: SystemId(system),
            component,
            firmware: None,
            hardware: None,
        };
        self.latched = Some(identity.clone());
        self.vehicle_type = Some(beat.mavtype);
        self.heard = now;
        Sighted::Found(identity)
    }

    /// A beat with the address of ours. Its type changes with a reboot: an ArduCopter without a frame calls itself a quadrotor.
    fn ours(&mut self, header: MavHeader, beat: &HEARTBEAT_DATA, now: Moment) -> Sighted {
        if self.latched.as_ref().map(|id| id.autopilot) != autopilot(beat.autopilot) {
            return Sighted::Ignored;
        }
        if self.vehicle_type != Some(beat.mavtype) {
            let before = self.another_type.filter(|(of, _)| *of == beat.mavtype);
            let times = before.map_or(1, |(_, times)| times.saturating_add(1));
            self.another_type = Some((beat.mavtype, times));
            if times < BEATS_OF_ANOTHER_TYPE || now.since(self.heard) <= GONE_AFTER {
                return Sighted::Ignored;
            }
            if let Some(why) = not_flown(&sender(header), beat.mavtype) {
                return self.stranger(header, true, why);
            }
            self.vehicle_type = Some(beat.mavtype);
        }
        (self.heard, self.another_type) = (now, None);
        self.logged.retain(|(_, _, silent)| !silent);
        Sighted::Ours
    }

    /// What is said instead of latching the sender, as long as it is not known to be alone.
    fn doubt(&mut self, header: MavHeader, now: Moment) -> Option<Sighted> {
        let same = |one: MavHeader| (one.system_id, one.component_id) == (header.system_id, header.component_id);
        self.candidates.retain(|(_, _, last)| now.since(*last) <= GONE_AFTER);
        if let Some((_, _, last)) = self.candidates.iter_mut().find(|(who, _, _)| same(*who)) {
            *last = now;
        } else if self.candidates.len() < MAX_REMEMBERED {
            self.candidates.push((header, now, now));
        }
        match self.candidates.as_slice() {
            [(_, since, _)] if now.since(*since) >= ALONE_FOR => None,
            [_] => Some(Sighted::Ignored),
            several => {
                let each: Vec<String> = several.iter().map(|(one, _, _)| sender(*one)).collect();
                let text = format!(
                    "several autopilots are on the link ({}); none is commanded until only one is heard",
                    each.join(", ")
                );
                Some(self.stranger(header, false, text))
            }
        }
    }

    /// `silent`: ours is not heard, which is said anew each time.
    fn stranger(&mut self, header: MavHeader, silent: bool, text: String) -> Sighted {
        let who = (header.system_id, header.component_id, silent);
        if self.logged.contains(&who) || self.logged.len() >= MAX_REMEMBERED {
            return Sighted::Ignored;
        }
        self.logged.push(who);
        Sighted::Stranger(text)
    }
}

fn sender(of: MavHeader) -> String {
    format!("system {} component {}", of.system_id, of.component_id)
}

/// Why a vehicle of this type is not flown.
fn not_flown(who: &str, of: MavType) -> Option<String> {
    if is_multicopter(of) {
        return None;
    }
    Some(if of == MavType::MAV_TYPE_GENERIC {
        format!(
            "{who} says no type of vehicle; set up its airframe (ArduPilot: FRAME_CLASS; PX4: SYS_AUTOSTART) and reboot it"
        )
    } else {
        format!("{who} is a {of:?}, which is not supported; only multicopters and helicopters are flown")
    })
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
            | MavType::MAV_TYPE_GENERIC_MULTIROTOR
    )
}

/// An autopilot as latched, before AUTOPILOT_VERSION has answered.
#[cfg(test)]
pub(crate) const fn latched_as(autopilot: Autopilot, system: SystemId) -> Identity {
    Identity {
        autopilot,
        system,
        component: ComponentId(1),
        firmware: None,
        hardware: None,
    }
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

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    fn latched(system_id: u32) -> Discovery {
        let mut d = Discovery::default();
        assert_eq!(
            d.receive(header(system_id, 1), &beat(PX4, QUAD), at(0)),
            Sighted::Ignored
        );
        let found = d.receive(header(system_id, 1), &beat(PX4, QUAD), at(3));
        assert!(matches!(found, Sighted::Found(id) if u32::from(id.system.0) == system_id));
        d
    }

    const PX4: MavAutopilot = MavAutopilot::MAV_AUTOPILOT_PX4;
    const QUAD: MavType = MavType::MAV_TYPE_QUADROTOR;

    #[test]
    fn the_only_autopilot_is_latched_and_gimbals_and_ground_stations_are_not() {
        let mut d = Discovery::default();
        let invalid = MavAutopilot::MAV_AUTOPILOT_INVALID;
        for s in [0, 9] {
            let gimbal = beat(invalid, MavType::MAV_TYPE_GIMBAL);
            assert_eq!(d.receive(header(1, 154), &gimbal, at(s)), Sighted::Ignored);
            let station = beat(PX4, MavType::MAV_TYPE_GCS);
            assert_eq!(d.receive(header(255, 190), &station, at(s)), Sighted::Ignored);
        }
        let mut d = latched(9);
        assert_eq!(d.receive(header(9, 1), &beat(PX4, QUAD), at(4)), Sighted::Ours);
        assert_eq!(
            d.receive(header(9, 154), &beat(invalid, MavType::MAV_TYPE_GIMBAL), at(4)),
            Sighted::Ignored
        );
        assert!(!d.is_ours(header(9, 154)) && d.is_ours(header(9, 1)));
    }

    #[test]
    fn radios_companions_and_untyped_stations_neither_delay_nor_pose_as_an_autopilot() {
        let generic = MavAutopilot::MAV_AUTOPILOT_GENERIC;
        let ardupilot = MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA;
        let mut d = Discovery::default();
        for s in 0..3 {
            for (who, beat) in [
                (header(51, 68), beat(generic, MavType::MAV_TYPE_GENERIC)),
                (header(255, 190), beat(generic, MavType::MAV_TYPE_GENERIC)),
                (header(9, 191), beat(ardupilot, MavType::MAV_TYPE_ONBOARD_CONTROLLER)),
                (header(9, 1), beat(ardupilot, QUAD)),
            ] {
                assert_eq!(d.receive(who, &beat, at(s)), Sighted::Ignored, "{who:?}");
            }
        }
        let found = d.receive(header(9, 1), &beat(ardupilot, QUAD), at(3));
        assert!(matches!(found, Sighted::Found(id) if id.system == SystemId(9)));
    }

    #[test]
    fn a_second_autopilot_is_named_once_and_not_followed() {
        let mut d = latched(1);
        let ardupilot = beat(MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, QUAD);
        let second = d.receive(header(2, 1), &ardupilot, at(9));
        assert!(matches!(second, Sighted::Stranger(text) if text.contains("system 2 component 1")));
        assert_eq!(d.receive(header(2, 1), &beat(PX4, QUAD), at(9)), Sighted::Ignored);
        assert!(d.is_ours(header(1, 1)));
    }

    #[test]
    fn of_two_autopilots_on_the_wire_none_is_commanded_until_one_is_alone() {
        let mut d = Discovery::default();
        let mut logged = Vec::new();
        for s in 0..30 {
            for system in [1, 2] {
                if system == 1 || s < 20 {
                    match d.receive(header(system, 1), &beat(PX4, QUAD), at(s)) {
                        Sighted::Stranger(text) => logged.push(text),
                        Sighted::Found(id) => assert!(s > 20 && id.system == SystemId(1), "at {s} s"),
                        Sighted::Ours | Sighted::Ignored => {}
                    }
                }
            }
        }
        assert!(d.is_ours(header(1, 1)));
        assert!(
            logged.len() == 2 && logged[0].contains("several autopilots"),
            "{logged:?}"
        );
    }

    #[test]
    fn a_companion_that_poses_as_the_autopilot_of_its_vehicle_is_named_by_its_component() {
        let mut d = Discovery::default();
        d.receive(header(1, 1), &beat(PX4, QUAD), at(0));
        let said = d.receive(header(1, 240), &beat(PX4, QUAD), at(0));
        assert!(
            matches!(&said, Sighted::Stranger(text) if text.contains("(system 1 component 1, system 1 component 240)")),
            "{said:?}"
        );
    }

    #[test]
    fn an_autopilot_that_reboots_as_another_multicopter_is_ours_and_as_another_vehicle_is_named() {
        const HEXA: MavType = MavType::MAV_TYPE_HEXAROTOR;
        let mut d = latched(1);
        // Noise, and a second vehicle of the same id: ours is heard.
        for s in 4..20 {
            assert_eq!(
                d.receive(header(1, 1), &beat(PX4, HEXA), at(s)),
                Sighted::Ignored,
                "{s}"
            );
            assert_eq!(d.receive(header(1, 1), &beat(PX4, QUAD), at(s)), Sighted::Ours, "{s}");
        }
        let all: Vec<_> = (25..30)
            .map(|s| d.receive(header(1, 1), &beat(PX4, HEXA), at(s)))
            .collect();
        assert!(all[..2].iter().all(|one| *one == Sighted::Ignored), "{all:?}");
        assert!(all[2..].iter().all(|one| *one == Sighted::Ours), "{all:?}");
        let plane: Vec<_> = (40..50)
            .map(|s| d.receive(header(1, 1), &beat(PX4, MavType::MAV_TYPE_FIXED_WING), at(s)))
            .filter(|one| *one != Sighted::Ignored)
            .collect();
        assert!(
            matches!(plane.as_slice(), [Sighted::Stranger(text)] if text.contains("only multicopters")),
            "{plane:?}"
        );
    }

    #[test]
    fn an_autopilot_with_a_new_system_id_is_named_while_the_one_before_is_silent() {
        let mut d = latched(1);
        let mut said = Vec::new();
        for s in 4..60 {
            // It comes back once.
            if s == 30 {
                assert_eq!(d.receive(header(1, 1), &beat(PX4, QUAD), at(s)), Sighted::Ours);
            }
            if let Sighted::Stranger(text) = d.receive(header(7, 1), &beat(PX4, QUAD), at(s)) {
                said.push((s, text));
            }
        }
        let when: Vec<u64> = said.iter().map(|(s, _)| *s).collect();
        assert_eq!(when, [4, 9, 36]);
        assert!(said[0].1.contains("a second autopilot"), "{said:?}");
        for (_, text) in &said[1..] {
            assert!(
                text.starts_with("system 7 component 1 is heard, and system 1 component 1")
                    && text.ends_with("restart the agent"),
                "{text}"
            );
        }
        assert!(d.is_ours(header(1, 1)));
    }

    #[test]
    fn while_a_drone_is_held_only_its_own_vehicle_is_taken() {
        let mut d = Discovery::staying_with(Some(Address::new(7, 1)));
        for s in 0..60 {
            let other = d.receive(header(8, 1), &beat(PX4, QUAD), at(s));
            assert!(matches!(other, Sighted::Stranger(_) | Sighted::Ignored), "{other:?}");
        }
        assert!(matches!(
            d.receive(header(7, 1), &beat(PX4, QUAD), at(60)),
            Sighted::Found(_)
        ));
    }

    #[test]
    fn what_cannot_be_flown_is_named_once_and_never_latched() {
        let mut d = Discovery::default();
        let generic = beat(MavAutopilot::MAV_AUTOPILOT_GENERIC, QUAD);
        assert!(
            matches!(d.receive(header(1, 1), &generic, at(0)), Sighted::Stranger(text) if text.contains("use ArduPilot or PX4"))
        );
        assert_eq!(d.receive(header(1, 1), &generic, at(9)), Sighted::Ignored);
        let plane = beat(MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, MavType::MAV_TYPE_FIXED_WING);
        assert!(
            matches!(d.receive(header(3, 1), &plane, at(9)), Sighted::Stranger(text) if text.contains("multicopters"))
        );
        let no_frame = d.receive(header(4, 1), &beat(PX4, MavType::MAV_TYPE_GENERIC), at(9));
        assert!(
            matches!(&no_frame, Sighted::Stranger(text) if text.contains("FRAME_CLASS") && text.contains("SYS_AUTOSTART")),
            "{no_frame:?}"
        );
        assert_eq!(d.latched(), None);
    }

    #[test]
    fn a_multicopter_of_a_kind_of_its_own_is_flown() {
        let own_kind = beat(
            MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
            MavType::MAV_TYPE_GENERIC_MULTIROTOR,
        );
        let mut d = Discovery::default();
        d.receive(header(1, 1), &own_kind, at(0));
        assert!(matches!(d.receive(header(1, 1), &own_kind, at(3)), Sighted::Found(_)));
    }
}
