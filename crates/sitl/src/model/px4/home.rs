//! PX4's home: set when there is a position, set again at arming, and slightly drifting in flight.
//!
//! Owns: the home position and the drift of its altitude. Must not: decide to fly there.
//!
//! The estimator corrects the altitude of home all the time; recorded changes are up to a metre or two. A target above
//! sea level must therefore be computed only once.

use crate::model::core::Core;
use crate::model::geo::{Neu, Wgs84};

/// How far the altitude of home drifts in flight, and how long it takes to return.
const WANDER_M: f64 = 0.45;
const WANDER_S: f64 = 47.0;

#[derive(Clone, Copy, Debug)]
struct Set {
    place: Wgs84,
    at_us: u64,
    lifted_s: Option<f64>,
}

/// See the module text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Home(Option<Set>);

impl Home {
    pub(super) fn is_set(self) -> bool {
        self.0.is_some()
    }

    /// Sets home to the vehicle's place.
    pub(super) fn set_here(&mut self, core: &Core) {
        self.0 = Some(Set {
            place: core.place(),
            at_us: core.boot_us(),
            lifted_s: None,
        });
    }

    /// The vehicle left the ground: the altitude begins to drift.
    pub(super) fn lift_off(&mut self, now_s: f64) {
        if let Some(set) = &mut self.0 {
            set.lifted_s = Some(now_s);
        }
    }

    /// The vehicle is on the ground: the altitude stays as it is.
    pub(super) fn rest(&mut self, now_s: f64) {
        if let Some(set) = &mut self.0 {
            set.place = set.reported(now_s);
            set.lifted_s = None;
        }
    }

    /// Home as it is reported now, and when it was set, in microseconds since boot.
    pub(super) fn reported(self, core: &Core) -> Option<(Wgs84, u64)> {
        self.0.map(|set| (set.reported(core.uptime_s), set.at_us))
    }

    /// Home as the vehicle flies to it; the place of boot if there is none.
    pub(super) fn local(self, core: &Core) -> Neu {
        self.0
            .map_or(Neu::default(), |set| core.config.home.to_local(set.place))
    }

    /// The altitude that relative altitudes are measured from.
    pub(super) fn amsl_m(self, core: &Core) -> f64 {
        self.reported(core)
            .map_or(core.config.home.amsl_m, |(home, _)| home.amsl_m)
    }
}

impl Set {
    fn reported(self, now_s: f64) -> Wgs84 {
        let wander_m = self.lifted_s.map_or(0.0, |lifted_s| {
            // The messages are sent every two seconds; in between nothing changes.
            let step_s = 2.0 * ((now_s - lifted_s) / 2.0).floor();
            WANDER_M * (std::f64::consts::TAU * step_s / WANDER_S).sin()
        });
        Wgs84 {
            amsl_m: self.place.amsl_m + wander_m,
            ..self.place
        }
    }
}
