//! PX4's home: set with a first position, at arming, and moved vertically in flight.
//! In flight the real one (1.17) takes home's altitude from a fix that differs enough: it jumps by one to two meters,
//! more than once a second, and relative altitudes with it. The altitude above sea level stays, so a target above sea
//! level must be computed only once.

use crate::model::core::Core;
use crate::model::geo::{Neu, Wgs84};

/// Interval of fixes, and the difference that moves home's altitude.
const FIX_S: f64 = 0.125;
const JUMP_M: f64 = 1.1;

#[derive(Clone, Copy, Debug)]
struct Set {
    place: Wgs84,
    at_us: u64,
    moved: Option<Moved>,
}

#[derive(Clone, Copy, Debug)]
struct Moved {
    up_m: f64,
    fixes: u32,
    next_s: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Home(Option<Set>);

impl Home {
    pub(super) fn is_set(self) -> bool {
        self.0.is_some()
    }

    pub(super) fn set_here(&mut self, core: &Core) {
        self.0 = Some(Set {
            place: core.place(),
            at_us: core.boot_us(),
            moved: None,
        });
    }

    /// Fixes go on moving its altitude in flight.
    pub(super) fn move_to(&mut self, place: Wgs84, at_us: u64) {
        let moved = self.0.and_then(|set| set.moved);
        self.0 = Some(Set { place, at_us, moved });
    }

    pub(super) fn lift_off(&mut self, now_s: f64) {
        if let Some(set) = &mut self.0 {
            set.moved = Some(Moved {
                up_m: 0.0,
                fixes: 0,
                next_s: now_s + FIX_S,
            });
        }
    }

    pub(super) fn tick(&mut self, now_s: f64) {
        let Some(moved) = self.0.as_mut().and_then(|set| set.moved.as_mut()) else {
            return;
        };
        while moved.next_s <= now_s {
            let fix_m = noise_m(moved.fixes);
            if (fix_m - moved.up_m).abs() > JUMP_M {
                moved.up_m = fix_m;
            }
            moved.fixes += 1;
            moved.next_s += FIX_S;
        }
    }

    /// Freezes the altitude on the ground.
    pub(super) fn rest(&mut self) {
        if let Some(set) = &mut self.0 {
            set.place = set.reported();
            set.moved = None;
        }
    }

    /// Home with the time it was set, microseconds since boot.
    pub(super) fn reported(self) -> Option<(Wgs84, u64)> {
        self.0.map(|set| (set.reported(), set.at_us))
    }

    pub(super) fn local(self, core: &Core) -> Neu {
        self.0
            .map_or(Neu::default(), |set| core.config.home.to_local(set.place))
    }

    pub(super) fn amsl_m(self, core: &Core) -> f64 {
        self.reported().map_or(core.config.home.amsl_m, |(home, _)| home.amsl_m)
    }
}

impl Set {
    fn reported(self) -> Wgs84 {
        Wgs84 {
            amsl_m: self.place.amsl_m + self.moved.map_or(0.0, |moved| moved.up_m),
            ..self.place
        }
    }
}

/// Three dice, 0.6 m as standard deviation.
fn noise_m(fix: u32) -> f64 {
    let die = |side: u32| {
        let mixed = (u64::from(fix) * 3 + u64::from(side) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        (mixed >> 40) as f64 / (1_u64 << 24) as f64
    };
    1.2 * (die(0) + die(1) + die(2) - 1.5)
}
