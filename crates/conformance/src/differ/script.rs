//! A script: the messages to a vehicle, and their times.

use std::fmt;

use sitl::model::Autopilot;

#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub autopilot: Autopilot,
    pub seed: u64,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Index in the script as drawn; shrinking keeps it.
    pub place: usize,
    /// Seconds of the vehicle's time since the step before.
    pub after_s: f64,
    pub act: Act,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Command {
        /// MAV_CMD.
        id: u16,
        /// Parameters 1 to 4.
        params: [f32; 4],
        /// Parameters 5 to 7.
        at: At,
        form: Form,
        /// Target system, relative to the vehicle's: 0 is the vehicle, 1 the next system; `None` is all.
        system: Option<u8>,
        component: u8,
    },
    /// SET_MODE (11).
    SetMode {
        /// MAV_MODE_FLAG bits.
        base_mode: u8,
        custom_mode: u32,
    },
    ParamSet {
        name: &'static str,
        value: f32,
        /// An integer of PX4, whose bits are sent.
        integer: bool,
    },
    ParamRead {
        name: &'static str,
    },
    Point(Setpoint),
    /// Starts a set-point five times a second, or ends it.
    Stream(Option<Setpoint>),
    /// A ground station's heartbeats once a second: on or off.
    Heartbeats(bool),
    Wait,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Long,
    /// COMMAND_INT in this MAV_FRAME.
    Int(u8),
}

/// Parameters 5 to 7.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    /// Plain values. In COMMAND_INT, 5 and 6 are whole numbers.
    Plain(f32, f32, f32),
    /// Not given: NaN, or INT32_MAX, with this altitude above the ground (NaN: none); `amsl`: above mean sea level.
    Here { up_m: f32, amsl: bool },
    /// Meters from where the script began.
    There {
        north_m: f32,
        east_m: f32,
        up_m: f32,
        amsl: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setpoint {
    /// SET_POSITION_TARGET_GLOBAL_INT (86).
    Global {
        frame: u8,
        mask: u16,
        /// Meters: north and east of where the script began, above the ground.
        place: [f32; 3],
        /// Meters a second, north, east, down.
        velocity: [f32; 3],
    },
    Local {
        frame: u8,
        mask: u16,
        /// Meters, down positive.
        place: [f32; 3],
        velocity: [f32; 3],
    },
}

impl Script {
    pub fn length_s(&self) -> f64 {
        self.steps.iter().map(|step| step.after_s).sum()
    }

    /// Leaves out the steps at these present indices; the others keep their times.
    pub fn without(&self, left_out: &[usize]) -> Self {
        let mut steps = Vec::new();
        let mut carried_s = 0.0;
        for (index, step) in self.steps.iter().enumerate() {
            if left_out.contains(&index) {
                carried_s += step.after_s;
            } else {
                steps.push(Step {
                    after_s: step.after_s + std::mem::take(&mut carried_s),
                    ..step.clone()
                });
            }
        }
        if carried_s > 0.0 {
            steps.push(Step {
                place: usize::MAX,
                after_s: carried_s,
                act: Act::Wait,
            });
        }
        Self { steps, ..self.clone() }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at_s = 0.0;
        for step in &self.steps {
            at_s += step.after_s;
            if step.act != Act::Wait {
                writeln!(f, "  {at_s:6.1} s  {}", step.act)?;
            }
        }
        write!(f, "  {at_s:6.1} s  end")
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command {
                id,
                params,
                at,
                form,
                system,
                component,
            } => {
                match form {
                    Form::Long => write!(f, "COMMAND_LONG {id}")?,
                    Form::Int(frame) => write!(f, "COMMAND_INT {id} in frame {frame}")?,
                }
                write!(f, " {params:?}, {at:?}")?;
                if (*system, *component) != (Some(0), 1) {
                    write!(f, ", to system {system:?} component {component}")?;
                }
                Ok(())
            }
            Self::SetMode { base_mode, custom_mode } => write!(f, "SET_MODE {base_mode} {custom_mode:#x}"),
            Self::ParamSet { name, value, .. } => write!(f, "PARAM_SET {name} = {value}"),
            Self::ParamRead { name } => write!(f, "PARAM_REQUEST_READ {name}"),
            Self::Point(point) => write!(f, "{point:?}"),
            Self::Stream(Some(point)) => write!(f, "five times a second {point:?}"),
            Self::Stream(None) => write!(f, "no set-points any more"),
            Self::Heartbeats(on) => write!(f, "heartbeats {}", if *on { "on" } else { "off" }),
            Self::Wait => write!(f, "wait"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_is_left_out_leaves_its_pause() {
        let step = |place: usize| Step {
            place,
            after_s: 1.0,
            act: Act::Heartbeats(true),
        };
        let script = Script {
            autopilot: Autopilot::Px4,
            seed: 1,
            steps: vec![step(0), step(1), step(2)],
        };
        let shorter = script.without(&[0, 2]);
        assert_eq!(shorter.length_s(), 3.0);
        assert_eq!(shorter.steps[0].after_s, 2.0);
        assert_eq!(shorter.steps[1].act, Act::Wait);
    }
}
