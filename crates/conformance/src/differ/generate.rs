//! Scripts from seeds.

use super::pools;
use super::script::{Act, At, Form, Script, Setpoint, Step};
use sitl::faults::chance::Chance;
use sitl::model::{Autopilot, Firmware};

/// Masks of a set-point with only a position, only a velocity, both, and nothing.
const PLACE: u16 = 0b1101_1111_1000;
const VELOCITY: u16 = 0b1101_1100_0111;
const BOTH: u16 = 0b1101_1100_0000;
const NOTHING: u16 = 0b1111_1111_1111;
const FORCE: f32 = 21196.0;

pub fn generate(autopilot: Autopilot, firmware: Firmware, seed: u64) -> Script {
    let mut draw = Draw {
        chance: Chance::new(seed, autopilot.name()),
        autopilot,
        parameters: pools::parameters(autopilot, firmware),
        steps: Vec::new(),
    };
    match draw.chance.below(10) {
        0..=4 => draw.ground(),
        5..=7 => draw.flight(),
        _ => draw.failsafe(),
    }
    Script {
        autopilot,
        seed,
        steps: draw.steps,
    }
}

struct Draw {
    chance: Chance,
    autopilot: Autopilot,
    parameters: &'static [pools::Parameter],
    steps: Vec<Step>,
}

impl Draw {
    fn put(&mut self, after_s: f64, act: Act) {
        let place = self.steps.len();
        self.steps.push(Step { place, after_s, act });
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.chance.below(of.len())]
    }

    /// Seconds, to a tenth.
    fn span(&mut self, from: f64, to: f64) -> f64 {
        let tenths = ((to - from) * 10.0) as usize + 1;
        from + self.chance.below(tenths) as f64 / 10.0
    }

    fn meters(&mut self, from: i32, to: i32) -> f32 {
        (from + self.chance.below((to - from + 1) as usize) as i32) as f32
    }

    /// Not a number, if that can mean "not given". It crashes the simulator of ArduPilot (a floating point exception).
    fn not_given(&self) -> f32 {
        if self.is_px4() { f32::NAN } else { 0.0 }
    }

    fn is_px4(&self) -> bool {
        self.autopilot == Autopilot::Px4
    }

    fn ground(&mut self) {
        let many = 8 + self.chance.below(8);
        for _ in 0..many {
            let after = self.span(0.6, 2.0);
            let act = self.any_act(false);
            self.put(after, act);
        }
        let wait = self.span(1.0, 12.0);
        self.put(wait, Act::Wait);
    }

    fn flight(&mut self) {
        self.take_off();
        let many = 4 + self.chance.below(5);
        for _ in 0..many {
            let after = self.span(1.0, 7.0);
            let act = self.any_act(true);
            self.put(after, act);
        }
        let wait = self.span(5.0, 25.0);
        self.put(wait, Act::Wait);
    }

    /// Parameters first, then a flight in which something fails.
    fn failsafe(&mut self) {
        for _ in 0..=self.chance.below(3) {
            let act = self.write_parameter();
            self.put(0.7, act);
        }
        self.take_off();
        let after = self.span(1.0, 5.0);
        match self.chance.below(4) {
            0 => {
                if self.is_px4() {
                    let value = self.one(&[5.0, 8.0]);
                    self.put(
                        after,
                        Act::ParamSet {
                            name: "COM_DL_LOSS_T",
                            value,
                            integer: true,
                        },
                    );
                }
                self.put(after, Act::Heartbeats(false));
                let lasts = self.span(6.0, 25.0);
                self.put(lasts, Act::Heartbeats(true));
            }
            1 => self.lose_gps(after),
            2 => self.go_far(after),
            _ => self.set_points(after),
        }
        if self.chance.hits(60.0) {
            let after = self.span(1.0, 8.0);
            let act = self.any_act(true);
            self.put(after, act);
        }
        let wait = self.span(8.0, 30.0);
        self.put(wait, Act::Wait);
    }

    fn lose_gps(&mut self, after: f64) {
        let lasts = self.span(4.0, 20.0);
        let (lost, back) = if self.is_px4() {
            let fix = |satellites: f32| Act::ParamSet {
                name: "SIM_GPS_USED",
                value: satellites,
                integer: true,
            };
            (fix(0.0), fix(10.0))
        } else {
            let receiver = |on: f32| Act::ParamSet {
                name: "SIM_GPS1_ENABLE",
                value: on,
                integer: false,
            };
            (receiver(0.0), receiver(1.0))
        };
        self.put(after, lost);
        self.put(lasts, back);
    }

    /// Flies to a place that may be outside a fence.
    fn go_far(&mut self, after: f64) {
        let (north_m, east_m) = (self.meters(20, 60), self.meters(-30, 30));
        let up_m = self.meters(8, 30);
        let act = self.reposition(At::There {
            north_m,
            east_m,
            up_m,
            amsl: self.is_px4(),
        });
        self.put(after, act);
        let wait = self.span(8.0, 20.0);
        self.put(wait, Act::Wait);
    }

    /// A stream of set-points, PX4's mode for them, and the end of the stream.
    fn set_points(&mut self, after: f64) {
        let point = self.set_point();
        self.put(after, Act::Stream(Some(point)));
        if self.is_px4() {
            let wait = self.span(0.3, 2.0);
            let act = self.mode_command(6, 0);
            self.put(wait, act);
        }
        let lasts = self.span(3.0, 10.0);
        self.put(lasts, Act::Stream(None));
        let wait = self.span(2.0, 6.0);
        self.put(wait, Act::Wait);
    }

    fn take_off(&mut self) {
        let up_m = self.meters(5, 20);
        let arm = command(400, [1.0, 0.0, 0.0, 0.0], At::Plain(0.0, 0.0, 0.0), Form::Long);
        if self.is_px4() {
            let form = self.one(&[Form::Long, Form::Int(0), Form::Int(3)]);
            let rise = command(22, [self.not_given(); 4], At::Here { up_m, amsl: true }, form);
            let first = self.chance.hits(30.0);
            let wait = self.span(0.6, 3.0);
            let (one, two) = if first { (rise, arm) } else { (arm, rise) };
            self.put(0.7, one);
            self.put(wait, two);
            let climb = self.span(4.0, 22.0);
            return self.put(climb, Act::Wait);
        }
        let guided = self.ardupilot_mode(4);
        self.put(0.7, guided);
        self.put(0.7, arm);
        let form = self.one(&[Form::Long, Form::Int(3)]);
        let at = if form == Form::Long {
            At::Plain(0.0, 0.0, up_m)
        } else {
            At::There {
                north_m: 0.0,
                east_m: 0.0,
                up_m,
                amsl: false,
            }
        };
        let wait = self.span(0.6, 3.0);
        self.put(wait, command(22, [0.0; 4], at, form));
        let climb = self.span(4.0, 16.0);
        self.put(climb, Act::Wait);
    }

    fn any_act(&mut self, flying: bool) -> Act {
        match self.chance.below(100) {
            0..=17 => self.any_mode(flying),
            18..=29 => self.arm_or_disarm(flying),
            30..=37 => self.rise_or_land(),
            38..=45 => {
                let at = self.any_place();
                self.reposition(at)
            }
            46..=51 => Act::Point(self.set_point()),
            52..=57 => self.speed_or_yaw(),
            58..=75 => self.plain_command(),
            76..=81 => self.request_message(),
            82..=87 => self.write_parameter(),
            88..=91 => {
                let (name, ..) = self.one(self.parameters);
                Act::ParamRead { name }
            }
            92..=94 => self.stranger(),
            _ => self.particular(flying),
        }
    }

    fn any_form(&mut self) -> Form {
        match self.chance.below(10) {
            0..=4 => Form::Long,
            5 => Form::Int(0),
            6 | 7 => Form::Int(3),
            8 => Form::Int(6),
            _ => Form::Int(self.one(&[1, 2, 4, 5, 8, 10, 11, 12, 99])),
        }
    }

    fn any_place(&mut self) -> At {
        let (north_m, east_m, up_m) = (self.meters(-25, 25), self.meters(-25, 25), self.meters(5, 25));
        let usual = self.is_px4();
        match self.chance.below(10) {
            0 => At::Plain(0.0, 0.0, up_m),
            1 => At::Here {
                up_m: self.not_given(),
                amsl: false,
            },
            2 => At::Here { up_m, amsl: usual },
            3 => At::There {
                north_m,
                east_m,
                up_m,
                amsl: !usual,
            },
            4 => At::There {
                north_m,
                east_m,
                up_m: self.not_given(),
                amsl: false,
            },
            _ => At::There {
                north_m,
                east_m,
                up_m,
                amsl: usual,
            },
        }
    }

    fn any_mode(&mut self, flying: bool) -> Act {
        if self.is_px4() {
            let (main, sub) = self.one(pools::PX4_MODES);
            if self.chance.hits(20.0) {
                return Act::SetMode {
                    base_mode: 1,
                    custom_mode: u32::from(main) << 16 | u32::from(sub) << 24,
                };
            }
            return self.mode_command(main, sub);
        }
        let mode = self.one(if flying {
            pools::ARDUPILOT_MODES_IN_AIR
        } else {
            pools::ARDUPILOT_MODES
        });
        if self.chance.hits(20.0) {
            return Act::SetMode {
                base_mode: 1,
                custom_mode: mode,
            };
        }
        self.ardupilot_mode(mode)
    }

    fn ardupilot_mode(&mut self, mode: u32) -> Act {
        let form = self.any_form();
        let p1 = if self.chance.hits(5.0) { 0.0 } else { 1.0 };
        command(176, [p1, mode as f32, 0.0, 0.0], At::Plain(0.0, 0.0, 0.0), form)
    }

    fn mode_command(&mut self, main: u8, sub: u8) -> Act {
        let form = self.any_form();
        let params = [1.0, f32::from(main), f32::from(sub), 0.0];
        command(176, params, At::Plain(0.0, 0.0, 0.0), form)
    }

    fn arm_or_disarm(&mut self, flying: bool) -> Act {
        let form = self.any_form();
        let p1 = match self.chance.below(20) {
            0 => self.one(&[0.5, 2.0, -1.0]),
            1..=7 => 0.0,
            _ => 1.0,
        };
        // Motors are not stopped in the air.
        let force = self.chance.hits(20.0) && (!flying || p1 == 1.0);
        let p2 = if force { self.one(&[FORCE, 2989.0]) } else { 0.0 };
        command(400, [p1, p2, 0.0, 0.0], At::Plain(0.0, 0.0, 0.0), form)
    }

    fn rise_or_land(&mut self) -> Act {
        let form = self.any_form();
        match self.chance.below(4) {
            0 => command(
                21,
                [0.0, 0.0, 0.0, self.not_given()],
                At::Here {
                    up_m: self.not_given(),
                    amsl: false,
                },
                form,
            ),
            1 => command(20, [0.0; 4], At::Plain(0.0, 0.0, 0.0), form),
            _ => {
                let at = self.any_place();
                let p = if self.chance.hits(50.0) { self.not_given() } else { 0.0 };
                command(22, [p; 4], at, form)
            }
        }
    }

    fn reposition(&mut self, at: At) -> Act {
        let form = if self.chance.hits(70.0) {
            Form::Int(if self.is_px4() { 0 } else { 6 })
        } else {
            self.any_form()
        };
        let change = self.one(&[0.0, 1.0, 1.0]);
        let speed = self.one(&[-1.0, 2.0, 0.0]);
        command(192, [speed, change, 0.0, self.not_given()], at, form)
    }

    fn set_point(&mut self) -> Setpoint {
        let mask = self.one(&[PLACE, PLACE, VELOCITY, VELOCITY, BOTH, NOTHING]);
        let velocity = [self.meters(-3, 3), self.meters(-3, 3), self.meters(-1, 1)];
        let (north, east, up) = (self.meters(-20, 20), self.meters(-20, 20), self.meters(5, 20));
        if self.chance.hits(50.0) {
            let frame = self.one(&[0, 3, 5, 6, 6, 11]);
            return Setpoint::Global {
                frame,
                mask,
                place: [north, east, up],
                velocity,
            };
        }
        let frame = self.one(&[1, 1, 7, 8, 9, 20]);
        Setpoint::Local {
            frame,
            mask,
            place: [north, east, -up],
            velocity,
        }
    }

    fn speed_or_yaw(&mut self) -> Act {
        let form = self.any_form();
        let zero = At::Plain(0.0, 0.0, 0.0);
        if self.chance.hits(65.0) {
            let kind = self.one(&[0.0, 1.0, 1.0, 2.0, 3.0, 4.0]);
            let speed = self.one(&[-2.0, -1.0, 0.0, 1.0, 3.0, 5.0, 8.0]);
            return command(178, [kind, speed, -1.0, 0.0], zero, form);
        }
        let degrees = self.one(&[-10.0, 0.0, 90.0, 359.0, 400.0]);
        let relative = self.one(&[0.0, 1.0, 2.0]);
        command(115, [degrees, 20.0, 1.0, relative], zero, form)
    }

    fn plain_command(&mut self) -> Act {
        let id = self.one(pools::plain_commands(self.autopilot));
        let form = self.any_form();
        command(id, [0.0; 4], At::Plain(0.0, 0.0, 0.0), form)
    }

    fn request_message(&mut self) -> Act {
        let form = self.any_form();
        let message = self.one(pools::MESSAGES) as f32;
        let zero = At::Plain(0.0, 0.0, 0.0);
        match self.chance.below(3) {
            0 => command(510, [message, 0.0, 0.0, 0.0], zero, form),
            1 => {
                // Excludes the messages that the comparison reads.
                let message = if matches!(message as u32, 0 | 2 | 33 | 245) {
                    74.0
                } else {
                    message
                };
                let interval = self.one(&[-1.0, 0.0, 500.0, 200_000.0, 1_000_000.0]);
                command(511, [message, interval, 0.0, 0.0], zero, form)
            }
            _ => command(512, [message, 0.0, 0.0, 0.0], zero, form),
        }
    }

    fn write_parameter(&mut self) -> Act {
        let (name, values, integer) = self.one(self.parameters);
        let value = self.one(values);
        Act::ParamSet { name, value, integer }
    }

    /// A command to another system, or to all.
    fn stranger(&mut self) -> Act {
        let (system, component) = self.one(&[
            (Some(0), 0),
            (Some(0), 100),
            (Some(0), 190),
            (Some(1), 1),
            (None, 1),
            (None, 0),
        ]);
        let id = self.one(&[401, 410, 512, 9999, 178]);
        Act::Command {
            id,
            params: [1.0, 0.0, 0.0, 0.0],
            at: At::Plain(0.0, 0.0, 0.0),
            form: self.any_form(),
            system,
            component,
        }
    }

    /// Commands whose parameters have an effect.
    fn particular(&mut self, flying: bool) -> Act {
        let zero = At::Plain(0.0, 0.0, 0.0);
        let form = self.any_form();
        match self.chance.below(5) {
            0 => command(193, [self.one(&[0.0, 1.0, 2.0]), 0.0, 0.0, 0.0], zero, form),
            1 => command(
                207,
                [self.one(&[0.0, 1.0, 2.0, 3.0]), self.one(&[0.0, 1.0, 3.0]), 0.0, 0.0],
                zero,
                form,
            ),
            2 => command(
                300,
                [self.one(&[0.0, 1.0]), self.one(&[0.0, 2.0]), 0.0, 0.0],
                zero,
                form,
            ),
            3 if !flying => command(179, [self.one(&[0.0, 1.0]), 0.0, 0.0, 0.0], zero, form),
            _ => command(
                224,
                [self.one(&[0.0, 1.0, -1.0]), self.one(&[0.0, 1.0]), 0.0, 0.0],
                zero,
                form,
            ),
        }
    }
}

fn command(id: u16, params: [f32; 4], at: At, form: Form) -> Act {
    Act::Command {
        id,
        params,
        at,
        form,
        system: Some(0),
        component: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_script_each_time_and_another_seed_another() {
        for autopilot in [Autopilot::ArduPilot, Autopilot::Px4] {
            let scripts: Vec<String> = (0..100)
                .map(|seed| generate(autopilot, Firmware::Recorded, seed).to_string())
                .collect();
            for (seed, script) in scripts.iter().enumerate() {
                assert_eq!(
                    *script,
                    generate(autopilot, Firmware::Recorded, seed as u64).to_string()
                );
            }
            let mut different = scripts.clone();
            different.sort();
            different.dedup();
            assert_eq!(different.len(), scripts.len());
        }
    }
}
