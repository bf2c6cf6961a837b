//! Fences that an autopilot may keep of Geofences that have changed since.
//!
//! An autopilot is given a fence on the ground only, so a Geofence that changes while the vehicle flies stays in its old form on board
//! until it has landed; a leader that came meanwhile may not find out which. Must not: judge a way, or take a fence for one on board that
//! an agent did not report so.

use super::made::Made;
use fleet::planning::geofence::{Wanted, is_of_fence};
use fleet::planning::parameters::compose;
use model::report::Report;
use model::rules::{FenceState, MOST_DEVIATIONS, RulesReport, WantedParameter};
use model::vehicle::{FlightTruth, HardwareUid};
use std::sync::Arc;

pub type Fences = Vec<Arc<Wanted>>;

/// Fences that may be on one autopilot.
#[derive(Debug, Default)]
pub struct Aboard {
    hardware: Option<HardwareUid>,
    /// Fences at the last report that showed all of them in force.
    proved: Option<Fences>,
    /// Fences when the vehicle was last on the ground, where its agent may have set them.
    grounded: Option<Fences>,
}

/// Evidence of a report about the fence of an autopilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The wanted fence is there.
    Wanted,
    /// The wanted fence was tried on the ground, and refused.
    Tried,
    /// None of ours is there.
    Nothing,
    /// None of these.
    Neither,
}

/// The evidence of a `report`, where the rules that are `made` are wanted with the `granted` values of profiles.
pub fn proof(made: &mut Made, granted: Option<&[WantedParameter]>, report: &Report) -> Proof {
    let Some(held) = &report.rules.held else {
        return Proof::Nothing;
    };
    let Some(granted) = granted else { return Proof::Neither };
    let rules = &report.rules;
    if made.fence.is_ok() && *held == made.with(granted).digest {
        return match &rules.fence {
            FenceState::Refused(_) => Proof::Tried,
            _ if is_over(rules) => Proof::Wanted,
            _ => Proof::Neither,
        };
    }
    let bare = compose(made.term(), None, granted.to_vec());
    if *held == bare.digest && is_over(rules) {
        Proof::Nothing
    } else {
        Proof::Neither
    }
}

/// Whether the autopilot has the fence of the rules that are held, shapes and parameters.
fn is_over(rules: &RulesReport) -> bool {
    let deviations = &rules.deviations;
    let is_open = deviations.iter().any(|deviation| is_of_fence(&deviation.name));
    // What is open is named first.
    let is_told = deviations.len() < MOST_DEVIATIONS || deviations.last().is_some_and(|last| !last.why.is_urgent());
    let shapes = matches!(rules.fence, FenceState::None | FenceState::InForce);
    rules.in_force || (shapes && !is_open && is_told)
}

impl Aboard {
    /// Takes in a report of a vehicle on which all `wanted` holds now; returns the fences that count besides.
    pub fn follow(&mut self, report: &Report, proof: Proof, wanted: &[Arc<Wanted>]) -> Fences {
        let hardware = report.identity.as_ref().and_then(|identity| identity.hardware);
        if let (Some(before), Some(now)) = (self.hardware, hardware)
            && before != now
        {
            *self = Self::default();
        }
        self.hardware = hardware.or(self.hardware);
        match proof {
            Proof::Wanted => {
                self.proved = Some(wanted.to_vec());
                self.grounded = Some(wanted.to_vec());
            }
            Proof::Tried if self.proved.is_none() && self.grounded.is_none() => self.grounded = Some(wanted.to_vec()),
            Proof::Nothing => self.proved = Some(Fences::new()),
            Proof::Tried | Proof::Neither => {}
        }
        if report.truth == FlightTruth::Disarmed {
            self.grounded = Some(wanted.to_vec());
        }
        self.besides(wanted)
    }

    /// The fences that count besides those `wanted`, by the last report.
    pub fn besides(&self, wanted: &[Arc<Wanted>]) -> Fences {
        if self.proved.is_none() && self.grounded.is_none() {
            return vec![Arc::new(Wanted::unknown())];
        }
        let mut former = Fences::new();
        for one in self.proved.iter().chain(&self.grounded).flatten() {
            let is_wanted = wanted.iter().any(|other| Arc::ptr_eq(other, one) || other == one);
            if !is_wanted && !former.iter().any(|other| is_same(other, one)) {
                former.push(Arc::new(one.former()));
            }
        }
        former
    }
}

fn is_same(former: &Wanted, one: &Wanted) -> bool {
    *former == one.former()
}
