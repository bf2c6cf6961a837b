//! Rules on board: the fence and the parameters that are to be in force on one vehicle, and what its agent reports of them.
//!
//! Owns: [`Rules`] and [`RulesReport`], and whether rules that are not in force prevent arming ([`clearance`], invariant 12). *In force*
//! means read back from the autopilot as it should be, and not discarded by it since; an acknowledgement says nothing.
//! Must not: compile fences for an autopilot (`fleet::planning::geofence`), choose parameters, or know MAVLink.

use crate::ids::Term;
use crate::preflight_policy::Preflight;
use crate::units::{Meters, Wgs84};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most vertices and circles of one fence: what PX4 holds is 64, ArduCopter 70.
pub const MOST_FENCE_ITEMS: usize = 70;

/// Most parameters that rules may name.
pub const MOST_PARAMETERS: usize = 128;

/// Most deviations that a report names.
pub const MOST_DEVIATIONS: usize = 32;

/// Names the content of rules: equal content, equal digest. 32 hexadecimal digits of the fence, then 32 of the parameters; zeros where
/// there is none. Computed where the rules are made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RulesDigest(pub String);

impl fmt::Display for RulesDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RulesDigest {
    pub const PART: usize = 32;

    /// Both parts, in words. Coordinators before this one made one digest of both.
    pub fn words(&self) -> String {
        let part = |what: &str, digest: &str| {
            if digest.bytes().all(|digit| digit == b'0') {
                format!("no {what}")
            } else {
                format!("{what} {digest}")
            }
        };
        match self.0.split_at_checked(Self::PART) {
            Some((fence, parameters)) if parameters.len() == Self::PART => {
                format!("{} and {}", part("fence", fence), part("parameters", parameters))
            }
            _ => format!("rules {self}"),
        }
    }
}

/// What is to be in force on one vehicle, whether or not it serves a Drone. A level: sent again, it changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Leadership of the coordinator that sent it.
    pub term: Term,
    pub digest: RulesDigest,
    /// The fence; `None`: none of ours, and what was on the autopilot before ours is given back.
    pub fence: Option<Fence>,
    /// The parameters, each name once. One that was here and is gone gets back the value that it had before ours.
    pub parameters: Vec<WantedParameter>,
}

impl Rules {
    pub const fn is_empty(&self) -> bool {
        self.fence.is_none() && self.parameters.is_empty()
    }
}

/// A fence as its autopilot stores it, compiled for that: polygons first, circles last. Its heights and its action are parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    /// Its shapes, in the order in which they are uploaded.
    pub shapes: Vec<Shape>,
}

impl Fence {
    /// Mission items that it takes: one for each vertex and circle.
    pub fn items(&self) -> usize {
        let items = |shape: &Shape| match &shape.outline {
            Outline::Polygon(vertices) => vertices.len(),
            Outline::Circle { .. } => 1,
        };
        self.shapes.iter().map(items).sum()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// On which side of it the vehicle has to be.
    pub side: Side,
    pub outline: Outline,
}

/// On which side of an outline the vehicle has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Inside (MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION 5001, MAV_CMD_NAV_FENCE_CIRCLE_INCLUSION 5003).
    Inside,
    /// Outside (5002, 5004).
    Outside,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outline {
    /// A polygon of 3 vertices or more, not closed by a copy of the first.
    Polygon(Vec<Wgs84>),
    Circle {
        center: Wgs84,
        radius: Meters,
    },
}

/// A parameter of the autopilot and the value that it is to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WantedParameter {
    /// Its name, 1 to 16 characters.
    pub name: String,
    /// The value, as a number: the agent encodes it by the type that the autopilot gives it.
    pub value: f64,
    /// What is done about another value.
    pub enforce: Enforce,
    /// Whether the autopilot may be rebooted, on the ground and idle, if the value counts only then.
    pub may_reboot: bool,
    /// Whether the agent sets it under another name and in another unit where its autopilot has it under that
    /// ([`crate::parameter_meaning`]). Name and value here are those of the newest version.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any_name: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What is done about a parameter that has another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Enforce {
    /// It is set, on the ground and disarmed.
    Apply,
    /// It is reported, and nothing is set.
    #[default]
    Report,
}

/// What an agent reports of the rules that it holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RulesReport {
    /// The rules that it holds; `None`: it never took any.
    pub held: Option<RulesDigest>,
    pub fence: FenceState,
    /// How many of the parameters were read back as wanted.
    pub parameters_in_force: u32,
    /// The parameters that are not in force, at most [`MOST_DEVIATIONS`], in the order of their [`DeviationWhy::urgency`]. Agents before this
    /// one had them by name.
    pub deviations: Vec<Deviation>,
    /// Whether all of it is in force: the fence, every parameter, and what was before ours was given back where a rule is gone.
    pub in_force: bool,
}

impl RulesReport {
    /// Which rules the vehicle has, and whether all of them are in force.
    pub fn words(&self) -> String {
        let how = if self.in_force { "in force" } else { "not all in force" };
        let held = self.held.as_ref();
        held.map_or_else(|| "no rules".to_owned(), |held| format!("{} {how}", held.words()))
    }
}

/// How far the fence of an autopilot is the wanted one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FenceState {
    /// Nothing is known of it, or none is wanted and none of ours is left.
    #[default]
    None,
    /// It is being read, uploaded or given back.
    Working,
    /// Read back equal, and not discarded since.
    InForce,
    /// Not in force, and not to be changed now: the vehicle is armed, or not known to be on the ground.
    WaitsForGround,
    /// The autopilot refused it, or discarded it after it had accepted it; its words, or ours. Tried again with a capped back-off.
    Refused(String),
    /// In force once, and no longer: somebody else uploaded another, or the autopilot lost it.
    Drifted(String),
}

/// A parameter that has not the wanted value, as far as is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Deviation {
    pub name: String,
    pub wanted: f64,
    /// The value read last; `None` while it could not be read.
    pub actual: Option<f64>,
    pub why: DeviationWhy,
}

/// Why a parameter has not the wanted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviationWhy {
    /// It is being read or set.
    Working,
    /// It is only reported.
    ReportOnly,
    /// The vehicle is armed, or not known to be on the ground.
    WaitsForGround,
    /// It has the value, which counts only after a reboot of the autopilot.
    NeedsReboot,
    /// The autopilot does not take the value; in words that say what to do.
    Refused(String),
    /// The autopilot has no parameter of this name, so nothing was changed; in words that name the one of other versions, if it is known.
    Missing(String),
}

impl DeviationWhy {
    /// Whether it is still to be set, or read, and is by itself.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Working | Self::WaitsForGround)
    }

    /// Rank among others: the lower, the sooner it is reported where there is no room for all.
    pub const fn urgency(&self) -> u8 {
        match self {
            Self::Refused(_) => 0,
            Self::Working | Self::WaitsForGround => 1,
            Self::NeedsReboot => 2,
            Self::Missing(_) => 3,
            Self::ReportOnly => 4,
        }
    }

    /// Whether it keeps other vehicles from their values.
    pub const fn is_urgent(&self) -> bool {
        self.urgency() <= Self::Working.urgency()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RulesClearance {
    /// They do not.
    #[default]
    Clear,
    /// Rules that select the vehicle are not in force, and the Drone wants them to be.
    NotInForce,
    /// The agent changes fence or parameters, or reboots the autopilot, just now. Prevents arming under every policy.
    Changing,
}

/// Invariant 12: whether the rules that an assignment names prevent arming under `policy`. `named` are those that the coordinator had
/// selected for the vehicle when it made the assignment, `None` when there are none.
pub fn clearance(policy: Preflight, named: Option<&RulesDigest>, report: &RulesReport) -> RulesClearance {
    match (policy, named) {
        (Preflight::Ignore | Preflight::Warn, _) => RulesClearance::Clear,
        // Those that it holds may be newer than the assignment.
        (Preflight::Refuse, None) if report.held.is_none() || report.in_force => RulesClearance::Clear,
        (Preflight::Refuse, Some(named)) if report.in_force && report.held.as_ref() == Some(named) => {
            RulesClearance::Clear
        }
        (Preflight::Refuse, _) => RulesClearance::NotInForce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_names_fence_and_parameters_each() {
        let words = |text: String| RulesDigest(text).words();
        let (a, b, none) = ("a".repeat(32), "b".repeat(32), "0".repeat(32));
        assert_eq!(words(format!("{a}{b}")), format!("fence {a} and parameters {b}"));
        assert_eq!(words(format!("{none}{b}")), format!("no fence and parameters {b}"));
        assert_eq!(words(a.clone()), format!("rules {a}"), "of a coordinator of before");
        let no_digits = format!("a{}a", "ä".repeat(31));
        assert_eq!(words(no_digits.clone()), format!("rules {no_digits}"));
    }

    #[test]
    fn only_the_named_rules_in_force_clear_a_vehicle_of_a_drone_that_refuses() {
        let digest = |text: &str| RulesDigest(text.to_owned());
        let report = |held: Option<&str>, in_force| RulesReport {
            held: held.map(digest),
            in_force,
            ..RulesReport::default()
        };
        let named = digest("a");
        for policy in [Preflight::Ignore, Preflight::Warn] {
            assert_eq!(
                clearance(policy, Some(&named), &report(None, false)),
                RulesClearance::Clear
            );
        }
        let refuse = |report| clearance(Preflight::Refuse, Some(&named), &report);
        assert_eq!(refuse(report(Some("a"), true)), RulesClearance::Clear);
        assert_eq!(refuse(report(Some("a"), false)), RulesClearance::NotInForce);
        assert_eq!(
            refuse(report(Some("b"), true)),
            RulesClearance::NotInForce,
            "others are in force"
        );
        assert_eq!(
            refuse(report(None, true)),
            RulesClearance::NotInForce,
            "none were taken"
        );
        let none = clearance(Preflight::Refuse, None, &report(None, false));
        assert_eq!(none, RulesClearance::Clear, "no rule selects the vehicle");
        let newer = clearance(Preflight::Refuse, None, &report(Some("a"), false));
        assert_eq!(
            newer,
            RulesClearance::NotInForce,
            "rules came, and the order that names them did not yet"
        );
    }
}
