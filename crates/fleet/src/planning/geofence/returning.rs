//! How high an autopilot may climb to return, below a ceiling.
//!
//! PX4 returns at RTL_RETURN_ALT above home or as high as it is, whichever is higher, and asks for no ceiling: 60 m by its factory
//! settings (rtl.cpp). ArduCopter lowers its return to FENCE_ALT_MAX less FENCE_MARGIN by itself (ModeRTL::compute_return_target).

use super::STATION_MARGIN;
use crate::planning::parameters::{Overruled, Resolved};
use model::rules::{Enforce, WantedParameter};
use model::units::AltitudeAboveHome;
use model::vehicle::Autopilot;

/// What was read back as this much less is the same, meters: autopilots and reports round.
const SAME: f64 = 0.06;

/// How high an autopilot may climb to return.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnLimit {
    /// The Geofence whose ceiling it is.
    pub geofence: String,
    /// The parameter of the height, meters above home.
    pub name: &'static str,
    /// What it may be at most.
    pub most: f64,
}

impl ReturnLimit {
    /// Below this ceiling; `None` for an autopilot that keeps below it by itself.
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

    /// Whether the value of a profile keeps it.
    fn is_kept_by(&self, wanted: &WantedParameter) -> bool {
        wanted.name != self.name || (wanted.enforce == Enforce::Apply && wanted.value <= self.most)
    }

    /// Takes from the values of profiles those that do not keep it: what belongs to a Geofence wins.
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

    /// What the parameter is to be, beside these `values` of profiles, for an autopilot that returns at `now`. A lower height is left as
    /// a person or a profile has set it.
    pub fn parameter(&self, now: AltitudeAboveHome, values: &[WantedParameter]) -> Option<WantedParameter> {
        let by_profile = values
            .iter()
            .any(|wanted| wanted.name == self.name && self.is_kept_by(wanted));
        // What it was set to by us is what it is to stay.
        let is_low = now.0 < self.most - SAME;
        (!by_profile && !is_low).then(|| WantedParameter {
            name: self.name.to_owned(),
            value: self.most,
            enforce: Enforce::Apply,
            may_reboot: false,
            any_name: false,
        })
    }

    /// Whether the value of a profile may be sent beside it.
    pub fn allows(&self, wanted: &WantedParameter) -> bool {
        self.is_kept_by(wanted)
    }
}
