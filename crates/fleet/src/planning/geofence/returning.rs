//! The highest return altitude below a ceiling.
//!
//! PX4 returns at RTL_RETURN_ALT above home or its own altitude, whichever is higher, and regards no ceiling: 60 m by its factory settings
//! (rtl.cpp). ArduCopter itself lowers its return to FENCE_ALT_MAX less FENCE_MARGIN (ModeRTL::compute_return_target).

use super::STATION_MARGIN;
use crate::planning::parameters::{Overruled, Resolved};
use model::rules::{Enforce, WantedParameter};
use model::units::AltitudeAboveHome;
use model::vehicle::Autopilot;

/// Rounding of autopilots and reports.
const ALTITUDE_EPSILON_M: f64 = 0.06;

#[derive(Clone, Debug, PartialEq)]
pub struct ReturnLimit {
    pub geofence: String,
    /// Parameter of the altitude, meters above home.
    pub name: &'static str,
    pub most: f64,
}

impl ReturnLimit {
    /// `None` for an autopilot that keeps below by itself.
    pub(super) fn below(geofence: &str, ceiling: f64, autopilot: Autopilot) -> Option<Self> {
        match autopilot {
            Autopilot::ArduPilot => None,
            Autopilot::Px4 => Some(Self {
                geofence: geofence.to_owned(),
                name: "RTL_RETURN_ALT",
                most: ceiling - STATION_MARGIN,
            }),
        }
    }

    fn is_kept_by(&self, wanted: &WantedParameter) -> bool {
        wanted.name != self.name || (wanted.enforce == Enforce::Apply && wanted.value <= self.most)
    }

    /// Removes profile values above the limit: a Geofence wins.
    pub fn overrule(&self, values: &mut Resolved) {
        let lost = values.parameters.iter().find(|wanted| !self.is_kept_by(wanted));
        let Some(lost) = lost.map(|wanted| wanted.name.clone()) else {
            return;
        };
        values.parameters.retain(|wanted| wanted.name != lost);
        if let Some(profile) = values.owners.remove(&lost) {
            values.overruled.push(Overruled {
                name: lost,
                profile,
                by: None,
            });
        }
    }

    /// The parameter's value beside the profiles' `values`, for a present return altitude `now`. A lower altitude is left as a person or a
    /// profile has set it.
    pub fn parameter(&self, now: AltitudeAboveHome, values: &[WantedParameter]) -> Option<WantedParameter> {
        let by_profile = values
            .iter()
            .any(|wanted| wanted.name == self.name && self.is_kept_by(wanted));
        // A value that we set stays set.
        let is_low = now.0 < self.most - ALTITUDE_EPSILON_M;
        (!by_profile && !is_low).then(|| WantedParameter {
            name: self.name.to_owned(),
            value: self.most,
            enforce: Enforce::Apply,
            may_reboot: false,
            any_name: false,
        })
    }

    pub fn allows(&self, wanted: &WantedParameter) -> bool {
        self.is_kept_by(wanted)
    }
}
