//! A joystick of a ground station (MANUAL_CONTROL): moved fast it takes over; it does not steer.

use super::Px4;
use super::flight::Flight;
use super::modes::Mode;
use crate::model::core::Core;

/// Time over which the speed of an axis is a mean.
const MEAN_S: f64 = 0.1;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sticks {
    last: Option<(f64, [f64; 4])>,
    /// Ways from the middle to the end, a second.
    speeds: [f64; 4],
}

impl Sticks {
    /// Returns the speed of the fastest axis.
    fn moved(&mut self, now_s: f64, axes: [f64; 4]) -> f64 {
        if let Some((then_s, before)) = self.last.replace((now_s, axes)) {
            for ((speed, to), from) in self.speeds.iter_mut().zip(axes).zip(before) {
                *speed = (*speed * MEAN_S + to - from) / (now_s - then_s + MEAN_S);
            }
        }
        self.speeds.iter().fold(0.0, |fastest, speed| speed.abs().max(fastest))
    }
}

impl Px4 {
    /// `None`: no stick takes over. Before 1.18 COM_RC_OVERRIDE names the modes: its bit 0 those of AUTO, bit 1 OFFBOARD.
    fn speed_that_takes_over(&self, core: &Core) -> Option<f64> {
        let value = |name: &str| f64::from(core.params.get(name));
        if core.params.index_of("MAN_OVERRIDE_SPD").is_some() {
            return Some(value("MAN_OVERRIDE_SPD")).filter(|speed| *speed >= 0.0);
        }
        let bit = if self.mode == Mode::Offboard { 2 } else { 1 };
        let may = value("COM_RC_OVERRIDE") as u32 & bit != 0;
        may.then(|| value("COM_RC_STICK_OV") / 100.0)
    }

    /// Forward, right, up from 0 on, clockwise, each to 1000.
    pub(super) fn take_sticks(&mut self, core: &mut Core, axes: [i16; 4]) {
        // A radio's sticks only, and none.
        if matches!(core.params.get("COM_RC_IN_MODE") as u32, 0 | 4) {
            return;
        }
        let [forward, right, up, clockwise] = axes.map(|axis| f64::from(axis) / 1000.0);
        let speed = self.sticks.moved(core.uptime_s, [forward, right, up * 2.0, clockwise]);
        let is_fast = self.speed_that_takes_over(core).is_some_and(|least| speed > least);
        let can = self.flying() && self.flight != Flight::Tumbling && self.mode != Mode::Termination;
        if is_fast && can && !self.mode.follows_sticks() {
            let has_position = self.estimator.has_position(core);
            self.enter(core, if has_position { Mode::Position } else { Mode::Altitude });
        }
    }
}
