//! Battery that drains while the motors run, and the estimate of its charge, which follows a second later.

/// Recorded from PX4.
const ESTIMATE_S: f64 = 1.0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Battery {
    percent: f64,
    percent_per_minute: f64,
    consumed_percent: f64,
    estimate: f64,
}

impl Battery {
    pub(super) fn new(percent: f64, percent_per_minute: f64) -> Self {
        let percent = percent.clamp(0.0, 100.0);
        Self {
            percent,
            percent_per_minute,
            consumed_percent: 0.0,
            estimate: percent,
        }
    }

    pub(super) fn drain(&mut self, dt_s: f64) {
        self.use_up(self.percent_per_minute / 60.0 * dt_s, 0.0);
    }

    /// Leaves `floor_percent`, to which a lower charge is also raised.
    pub(super) fn use_up(&mut self, percent: f64, floor_percent: f64) {
        let left = (self.percent - percent).max(floor_percent.clamp(0.0, 100.0));
        self.consumed_percent += (self.percent - left).max(0.0);
        self.percent = left;
    }

    pub(super) fn refill(&mut self) {
        self.percent = 100.0;
    }

    pub(super) fn measure(&mut self, dt_s: f64) {
        self.estimate += (self.percent - self.estimate) * (dt_s / ESTIMATE_S).min(1.0);
    }

    pub(super) fn percent(&self) -> f64 {
        self.percent
    }

    pub(super) fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Whole percent, rounded up so that 0 means empty, as in MAVLink.
    pub(super) fn remaining(&self) -> i8 {
        whole(self.percent)
    }

    pub(super) fn estimated_remaining(&self) -> i8 {
        whole(self.estimate)
    }

    pub(super) fn consumed_mah(&self) -> i32 {
        (self.consumed_percent * 33.0) as i32
    }
}

fn whole(percent: f64) -> i8 {
    (percent - 1e-6).ceil() as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_reaches_a_sudden_new_charge_within_a_few_seconds() {
        let mut battery = Battery::new(80.0, 0.0);
        battery.use_up(66.0, 14.0);
        assert_eq!((battery.remaining(), battery.estimated_remaining()), (14, 80));
        for _ in 0..205 {
            battery.measure(0.02);
        }
        assert_eq!(
            battery.estimated_remaining(),
            16,
            "recorded: low, under 15 %, after 4.2 s"
        );
    }

    #[test]
    fn a_battery_never_drains_below_its_floor() {
        let mut battery = Battery::new(52.0, 0.0);
        battery.use_up(10.0, 50.0);
        assert_eq!(battery.remaining(), 50);
    }
}
