//! A battery that drains while the motors run.
//!
//! Owns: charge. Must not: know what an autopilot thinks of a charge.

/// See the module text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Battery {
    percent: f64,
    percent_per_minute: f64,
    consumed_percent: f64,
}

impl Battery {
    pub(super) fn new(percent: f64, percent_per_minute: f64) -> Self {
        Self {
            percent: percent.clamp(0.0, 100.0),
            percent_per_minute,
            consumed_percent: 0.0,
        }
    }

    pub(super) fn drain(&mut self, dt_s: f64) {
        let used = (self.percent_per_minute / 60.0 * dt_s).min(self.percent);
        self.percent -= used;
        self.consumed_percent += used;
    }

    /// Charge left, 0 to 100.
    pub(super) fn percent(&self) -> f64 {
        self.percent
    }

    /// As MAVLink reports it: whole percent, rounded up so that 0 means empty.
    pub(super) fn remaining(&self) -> i8 {
        self.percent.ceil() as i8
    }

    /// Used charge of a 3300 mAh pack.
    pub(super) fn consumed_mah(&self) -> i32 {
        (self.consumed_percent * 33.0) as i32
    }
}
