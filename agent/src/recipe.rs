//! What each step is on the wire, for each autopilot.
//!
//! The recipes are those that both stacks were observed to accept, old and new: unused parameters are NaN for PX4 (junk is
//! refused by newer versions) and 0 for ArduPilot; PX4's takeoff altitude is above sea level, ArduPilot's above home. Places of a route are
//! above sea level for both, as they are claimed: a ground station may change ArduPilot's home in flight.

use fleet::flight::converge::Step;
use link::dialect::{COMMAND_INT_DATA, COMMAND_LONG_DATA, MavCmd, MavFrame, MavMessage};
use model::units::{AltitudeAmsl, Heading, Wgs84};
use model::vehicle::{Autopilot, Identity};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Long,
    Int(MavFrame),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Zero,
    /// Marked as not used: NaN, or the greatest integer.
    NotUsed,
    At(Wgs84),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub command: MavCmd,
    /// Parameters 1 to 4.
    pub params: [f32; 4],
    /// Parameters 5 and 6.
    pub place: Place,
    /// Parameter 7.
    pub z: f32,
    pub form: Form,
}

impl Command {
    /// A COMMAND_LONG that needs no place.
    pub const fn long(command: MavCmd, params: [f32; 4]) -> Self {
        Self {
            command,
            params,
            place: Place::Zero,
            z: 0.0,
            form: Form::Long,
        }
    }

    /// `confirmation`: number of the repetition.
    pub fn message(&self, to: &Identity, confirmation: u8) -> MavMessage {
        let (target_system, target_component) = (to.system.0, to.component.0);
        let [param1, param2, param3, param4] = self.params;
        match self.form {
            Form::Long => {
                let (param5, param6) = match self.place {
                    Place::Zero => (0.0, 0.0),
                    Place::NotUsed => (f32::NAN, f32::NAN),
                    Place::At(at) => (narrow(at.latitude_deg), narrow(at.longitude_deg)),
                };
                MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
                    param1,
                    param2,
                    param3,
                    param4,
                    param5,
                    param6,
                    param7: self.z,
                    command: self.command,
                    target_system,
                    target_component,
                    confirmation,
                })
            }
            Form::Int(frame) => {
                let (x, y) = match self.place {
                    Place::Zero => (0, 0),
                    Place::NotUsed => (i32::MAX, i32::MAX),
                    Place::At(at) => (e7(at.latitude_deg), e7(at.longitude_deg)),
                };
                MavMessage::COMMAND_INT(COMMAND_INT_DATA {
                    param1,
                    param2,
                    param3,
                    param4,
                    x,
                    y,
                    z: self.z,
                    command: self.command,
                    target_system,
                    target_component,
                    frame,
                    current: 0,
                    autocontinue: 0,
                })
            }
        }
    }

    /// The form that the autopilot asks for by its result (MAV_RESULT 7, 8, 9).
    pub fn in_form(&self, form: Form) -> Self {
        Self { form, ..self.clone() }
    }

    /// The other global frame, for an autopilot that does not know the one used.
    #[allow(deprecated, reason = "old firmware may know only the ..._INT frames")]
    pub const fn other_frame(&self) -> Option<Form> {
        match self.form {
            Form::Int(MavFrame::MAV_FRAME_GLOBAL) => Some(Form::Int(MavFrame::MAV_FRAME_GLOBAL_INT)),
            Form::Int(MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT) => {
                Some(Form::Int(MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT_INT))
            }
            Form::Int(_) | Form::Long => None,
        }
    }

    /// The frame in which the altitudes of most commands are meant, and of each in the long form, which names none.
    pub const fn own_frame(autopilot: Autopilot) -> MavFrame {
        match autopilot {
            Autopilot::ArduPilot => MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT,
            Autopilot::Px4 => MavFrame::MAV_FRAME_GLOBAL,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRecipe {
    #[error("there is nothing to send")]
    NothingToSend,
    /// PX4 takes altitudes above sea level only.
    #[error("the altitude of home is not known yet")]
    HomeUnknown,
}

const NAN: f32 = f32::NAN;

/// `home`: altitude of home, taken once before the flight.
pub fn command(step: &Step, autopilot: Autopilot, home: Option<AltitudeAmsl>) -> Result<Command, NoRecipe> {
    let int = Form::Int(Command::own_frame(autopilot));
    Ok(match step {
        Step::Nothing => return Err(NoRecipe::NothingToSend),
        Step::AskReasons => Command::long(MavCmd::MAV_CMD_RUN_PREARM_CHECKS, [0.0; 4]),
        Step::SetStation | Step::Hold => {
            // Custom mode; ArduCopter GUIDED (4); PX4 main mode AUTO (4), sub mode LOITER (3).
            let sub_mode = if autopilot == Autopilot::Px4 { 3.0 } else { 0.0 };
            Command::long(MavCmd::MAV_CMD_DO_SET_MODE, [1.0, 4.0, sub_mode, 0.0])
        }
        // ArduCopter AUTO (3); PX4 main mode AUTO (4), sub mode MISSION (4). MISSION_START arms on PX4, and is never sent.
        Step::FlyPlan => {
            let [main, sub_mode] = match autopilot {
                Autopilot::ArduPilot => [3.0, 0.0],
                Autopilot::Px4 => [4.0, 4.0],
            };
            Command::long(MavCmd::MAV_CMD_DO_SET_MODE, [1.0, main, sub_mode, 0.0])
        }
        Step::Arm(_) => Command::long(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, [1.0, 0.0, 0.0, 0.0]),
        Step::TakeOff { altitude } => {
            let command = MavCmd::MAV_CMD_NAV_TAKEOFF;
            match autopilot {
                Autopilot::ArduPilot => Command {
                    command,
                    params: [0.0; 4],
                    place: Place::Zero,
                    z: narrow(altitude.0),
                    form: int,
                },
                Autopilot::Px4 => {
                    let target = home.ok_or(NoRecipe::HomeUnknown)?.up(*altitude);
                    Command {
                        command,
                        params: [NAN; 4],
                        place: Place::NotUsed,
                        z: narrow(target.0),
                        form: int,
                    }
                }
            }
        }
        Step::ChangeHeight { altitude, at } => {
            let command = MavCmd::MAV_CMD_DO_REPOSITION;
            let z = narrow(home.ok_or(NoRecipe::HomeUnknown)?.up(*altitude).0);
            match autopilot {
                // Only while it is in GUIDED: the mode is not changed. Above sea level, since somebody may have moved home in flight.
                Autopilot::ArduPilot => Command {
                    command,
                    params: [-1.0, 0.0, 0.0, 0.0],
                    place: Place::At(*at),
                    z,
                    form: Form::Int(MavFrame::MAV_FRAME_GLOBAL),
                },
                // It holds the place that it holds. The flag for a change of mode has to be set, to the one that it is in.
                Autopilot::Px4 => Command {
                    command,
                    params: [-1.0, 1.0, 0.0, NAN],
                    place: Place::NotUsed,
                    z,
                    form: int,
                },
            }
        }
        Step::FlyTo { place } | Step::Stop { at: place } => {
            let (mode_too, yaw) = match autopilot {
                Autopilot::ArduPilot => (0.0, 0.0),
                Autopilot::Px4 => (1.0, NAN),
            };
            Command {
                command: MavCmd::MAV_CMD_DO_REPOSITION,
                params: [-1.0, mode_too, 0.0, yaw],
                place: Place::At(place.at),
                z: narrow(place.amsl.0),
                form: Form::Int(MavFrame::MAV_FRAME_GLOBAL),
            }
        }
        // SPEED_TYPE_GROUNDSPEED (1); no change of throttle.
        Step::SetSpeed { speed } => Command::long(MavCmd::MAV_CMD_DO_CHANGE_SPEED, [1.0, narrow(speed.0), -1.0, 0.0]),
        Step::TurnTo { heading, at } => match autopilot {
            // Its heading is along the way to each place that it is sent to; a turn is a command of its own, at the autopilot's rate, the
            // shorter way round, to an absolute heading.
            Autopilot::ArduPilot => Command::long(MavCmd::MAV_CMD_CONDITION_YAW, [narrow(heading.0), 0.0, 0.0, 0.0]),
            // It refuses CONDITION_YAW, and takes a heading, in radians, with a place.
            Autopilot::Px4 => Command {
                command: MavCmd::MAV_CMD_DO_REPOSITION,
                params: [-1.0, 1.0, 0.0, narrow(half_turns(*heading).to_radians())],
                place: Place::At(at.at),
                z: narrow(at.amsl.0),
                form: int,
            },
        },
        Step::Land | Step::FailsafeLand => {
            let command = MavCmd::MAV_CMD_NAV_LAND;
            match autopilot {
                Autopilot::ArduPilot => Command::long(command, [0.0; 4]),
                Autopilot::Px4 => Command {
                    command,
                    params: [0.0, 0.0, 0.0, NAN],
                    place: Place::NotUsed,
                    z: NAN,
                    form: int,
                },
            }
        }
        Step::FailsafeReturn => Command::long(MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH, [0.0; 4]),
    })
}

/// Degrees from -180 to 180.
fn half_turns(heading: Heading) -> f64 {
    (heading.0 + 180.0).rem_euclid(360.0) - 180.0
}

/// Whether an autopilot may arm because of this message: MAV_CMD_COMPONENT_ARM_DISARM (400) that arms, MAV_CMD_MISSION_START
/// (300), on which PX4 arms, and a change of mode with MAV_MODE_FLAG_SAFETY_ARMED (128) set.
pub fn could_arm(message: &MavMessage) -> bool {
    let (command, param1) = match message {
        MavMessage::COMMAND_LONG(m) => (m.command, m.param1),
        MavMessage::COMMAND_INT(m) => (m.command, m.param1),
        #[allow(deprecated, reason = "old, and autopilots still obey it")]
        MavMessage::SET_MODE(_) => return true,
        _ => return false,
    };
    match command {
        // Anything but a plain 0: autopilots differ in what they make of other values.
        MavCmd::MAV_CMD_COMPONENT_ARM_DISARM => param1.abs() > 0.0 || param1.is_nan(),
        MavCmd::MAV_CMD_MISSION_START => true,
        // As a whole number; what is none could be anything.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        MavCmd::MAV_CMD_DO_SET_MODE => !param1.is_finite() || param1 < 0.0 || (param1 as u32) & ARMED_BIT != 0,
        _ => false,
    }
}

/// MAV_MODE_FLAG_SAFETY_ARMED.
const ARMED_BIT: u32 = 128;

/// Degrees × 10⁷.
#[allow(clippy::cast_possible_truncation, reason = "180 degrees fit")]
fn e7(degrees: f64) -> i32 {
    (degrees * 1e7).round() as i32
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "altitudes are meters; f32 holds them to a millimeter"
)]
const fn narrow(meters: f64) -> f32 {
    meters as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::latched_as;
    use model::route_order::Waypoint;
    use model::units::{AltitudeAboveHome, SystemId};

    fn to(autopilot: Autopilot) -> Identity {
        latched_as(autopilot, SystemId(7))
    }

    fn takeoff(autopilot: Autopilot) -> Command {
        let step = Step::TakeOff {
            altitude: AltitudeAboveHome(10.0),
        };
        command(&step, autopilot, Some(AltitudeAmsl(488.5))).unwrap()
    }

    #[test]
    fn px4_takes_off_to_an_altitude_above_sea_level_from_where_it_stands() {
        let MavMessage::COMMAND_INT(m) = takeoff(Autopilot::Px4).message(&to(Autopilot::Px4), 0) else {
            panic!()
        };
        assert_eq!((m.frame, m.x, m.y), (MavFrame::MAV_FRAME_GLOBAL, i32::MAX, i32::MAX));
        assert_eq!(m.z, 498.5);
        assert!(m.param1.is_nan() && m.param2.is_nan() && m.param3.is_nan() && m.param4.is_nan());
        assert_eq!((m.target_system, m.target_component), (7, 1));
    }

    #[test]
    fn ardupilot_takes_off_to_a_height_above_home() {
        let MavMessage::COMMAND_INT(m) = takeoff(Autopilot::ArduPilot).message(&to(Autopilot::ArduPilot), 0) else {
            panic!()
        };
        assert_eq!((m.frame, m.x, m.y), (MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT, 0, 0));
        assert_eq!((m.z, m.param1, m.param4), (10.0, 0.0, 0.0));
    }

    fn change_height() -> Step {
        Step::ChangeHeight {
            altitude: AltitudeAboveHome(25.0),
            at: Wgs84 {
                latitude_deg: 47.397_742,
                longitude_deg: 8.545_594,
            },
        }
    }

    #[test]
    fn another_height_is_held_above_the_same_place_and_ardupilots_mode_is_not_touched() {
        let message = |autopilot, home| {
            let command = command(&change_height(), autopilot, home).unwrap();
            let MavMessage::COMMAND_INT(m) = command.message(&to(autopilot), 0) else {
                panic!()
            };
            (m.frame, m.x, m.y, m.z, m.param2)
        };
        assert_eq!(
            message(Autopilot::ArduPilot, Some(AltitudeAmsl(488.5))),
            (MavFrame::MAV_FRAME_GLOBAL, 473_977_420, 85_455_940, 513.5, 0.0)
        );
        assert_eq!(
            message(Autopilot::Px4, Some(AltitudeAmsl(488.5))),
            (MavFrame::MAV_FRAME_GLOBAL, i32::MAX, i32::MAX, 513.5, 1.0)
        );
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            let unknown = command(&change_height(), autopilot, None);
            assert_eq!(unknown, Err(NoRecipe::HomeUnknown), "{autopilot:?}");
        }
    }

    #[test]
    fn a_place_of_a_route_is_above_sea_level_whatever_home_is() {
        let place = Waypoint {
            at: Wgs84 {
                latitude_deg: 47.0,
                longitude_deg: 8.0,
            },
            amsl: AltitudeAmsl(518.0),
        };
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            for home in [None, Some(AltitudeAmsl(488.5)), Some(AltitudeAmsl(518.0))] {
                let command = command(&Step::FlyTo { place }, autopilot, home).unwrap();
                let MavMessage::COMMAND_INT(m) = command.message(&to(autopilot), 0) else {
                    panic!()
                };
                assert_eq!(
                    (m.frame, m.x, m.y, m.z),
                    (MavFrame::MAV_FRAME_GLOBAL, 470_000_000, 80_000_000, 518.0),
                    "{autopilot:?} {home:?}"
                );
            }
        }
    }

    #[test]
    fn a_heading_goes_to_each_autopilot_in_the_form_that_it_takes() {
        let at = Waypoint {
            at: Wgs84 {
                latitude_deg: 47.0,
                longitude_deg: 8.0,
            },
            amsl: AltitudeAmsl(500.0),
        };
        let turn = |autopilot, degrees| {
            let step = Step::TurnTo {
                heading: Heading(degrees),
                at,
            };
            command(&step, autopilot, None).unwrap().message(&to(autopilot), 0)
        };
        let MavMessage::COMMAND_LONG(m) = turn(Autopilot::ArduPilot, 200.0) else {
            panic!()
        };
        assert_eq!(m.command, MavCmd::MAV_CMD_CONDITION_YAW);
        assert_eq!([m.param1, m.param2, m.param3, m.param4], [200.0, 0.0, 0.0, 0.0]);
        for (degrees, radians) in [(200.0, -2.792_527), (90.0, std::f32::consts::FRAC_PI_2), (0.0, 0.0)] {
            let MavMessage::COMMAND_INT(m) = turn(Autopilot::Px4, degrees) else {
                panic!()
            };
            assert_eq!(m.command, MavCmd::MAV_CMD_DO_REPOSITION);
            assert_eq!(
                (m.frame, m.x, m.y, m.z),
                (MavFrame::MAV_FRAME_GLOBAL, 470_000_000, 80_000_000, 500.0)
            );
            assert!((m.param4 - radians).abs() < 1e-5, "{degrees}: {}", m.param4);
        }
    }

    #[test]
    fn px4_does_not_take_off_to_a_guessed_altitude() {
        let step = Step::TakeOff {
            altitude: AltitudeAboveHome(10.0),
        };
        assert_eq!(command(&step, Autopilot::Px4, None), Err(NoRecipe::HomeUnknown));
        assert!(command(&step, Autopilot::ArduPilot, None).is_ok());
    }

    #[test]
    fn what_an_autopilot_may_arm_on_is_known_in_both_forms() {
        let both = |command, param1| {
            let command = Command::long(command, [param1, 0.0, 0.0, 0.0]);
            let px4 = to(Autopilot::Px4);
            let int = command.in_form(Form::Int(MavFrame::MAV_FRAME_GLOBAL));
            let found = [command.message(&px4, 0), int.message(&px4, 0)].map(|message| could_arm(&message));
            assert_eq!(found[0], found[1]);
            found[0]
        };
        for param1 in [1.0, 2.0, -1.0, f32::NAN] {
            assert!(both(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, param1), "{param1}");
        }
        for param1 in [128.0, 129.0, 209.0, f32::NAN, -1.0] {
            assert!(both(MavCmd::MAV_CMD_DO_SET_MODE, param1), "{param1}");
        }
        assert!(both(MavCmd::MAV_CMD_MISSION_START, 0.0));
        for (command, param1) in [
            (MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, 0.0),
            (MavCmd::MAV_CMD_DO_SET_MODE, 1.0),
            (MavCmd::MAV_CMD_NAV_TAKEOFF, 0.0),
            (MavCmd::MAV_CMD_NAV_LAND, 0.0),
        ] {
            assert!(!both(command, param1), "{command:?}");
        }
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            for step in [
                Step::AskReasons,
                Step::SetStation,
                Step::Land,
                Step::FailsafeReturn,
                change_height(),
            ] {
                let command = command(&step, autopilot, Some(AltitudeAmsl(488.5))).unwrap();
                assert!(!could_arm(&command.message(&to(autopilot), 0)), "{step:?}");
            }
        }
    }

    #[test]
    fn no_recipe_disarms_or_forces() {
        let steps = [
            Step::AskReasons,
            Step::SetStation,
            Step::Land,
            Step::FailsafeLand,
            Step::FailsafeReturn,
            change_height(),
        ];
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            for step in &steps {
                let c = command(step, autopilot, Some(AltitudeAmsl(488.5))).unwrap();
                assert_ne!(c.command, MavCmd::MAV_CMD_COMPONENT_ARM_DISARM);
                assert_ne!(c.command, MavCmd::MAV_CMD_DO_FLIGHTTERMINATION);
            }
        }
    }

    #[test]
    fn a_long_form_of_px4s_takeoff_names_no_place() {
        let long = takeoff(Autopilot::Px4).in_form(Form::Long);
        let MavMessage::COMMAND_LONG(m) = long.message(&to(Autopilot::Px4), 1) else {
            panic!()
        };
        assert!(m.param5.is_nan() && m.param6.is_nan());
        assert_eq!((m.param7, m.confirmation), (498.5, 1));
    }
}
