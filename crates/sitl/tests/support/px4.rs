//! PX4 in the states that tests begin with.

use super::Verdict::{self, Accepted};
use super::{Autopilot, Bench, VehicleConfig};

pub const NAN: f32 = f32::NAN;
pub const HOLD: u32 = 0x0304_0000;
pub const TAKEOFF: u32 = 0x0204_0000;
pub const MISSION: u32 = 0x0404_0000;
pub const RETURN: u32 = 0x0504_0000;
pub const LAND: u32 = 0x0604_0000;
pub const ARM_DENIED: &str = "Arming denied: Resolve system health failures first\t";
pub const ARM_DENIED_EVENT: u32 = 16_910_493;
pub const GROUND_STATION: u8 = 6;
pub const COMPANION: u8 = 18;

/// Ready at 7 s, with ground station heartbeats.
pub fn ready() -> Bench {
    ready_with(VehicleConfig::new(Autopilot::Px4, 1, super::HOME))
}

pub fn ready_with(config: VehicleConfig) -> Bench {
    let mut bench = Bench::with(config);
    bench.heartbeat = Some(GROUND_STATION);
    bench.pass_to(1.5);
    for (message, hz) in [(1, 1.0), (245, 10.0), (33, 4.0), (147, 1.0)] {
        bench.stream(message, hz);
    }
    bench.pass_to(7.0);
    bench
}

pub fn take_off_to(bench: &mut Bench, amsl_m: f32) {
    assert_eq!(bench.command(22, [NAN, 0.0, 0.0, NAN, NAN, NAN, amsl_m]), Accepted);
}

pub fn hovering(height_m: f32) -> Bench {
    hover(ready(), height_m)
}

pub fn hover(mut bench: Bench, height_m: f32) -> Bench {
    assert_eq!(bench.arm(), Accepted);
    take_off_to(&mut bench, 488.0 + height_m);
    bench.until("hold", 60.0, |bench| bench.truth().custom_mode == HOLD);
    bench.pass(2.0);
    bench
}

pub fn set_mode(bench: &mut Bench, main: f32, sub: f32) -> Vec<Verdict> {
    bench.verdicts(176, [1.0, main, sub, 0.0, 0.0, 0.0, 0.0])
}

/// The bits of an INT32, as PX4 takes it.
pub fn set_parameter(bench: &mut Bench, name: &str, value: i32) {
    bench.receive(super::Request::ParamSet {
        to: super::US,
        name: name.to_owned(),
        value: f32::from_bits(value as u32),
        kind: 6,
    });
}
