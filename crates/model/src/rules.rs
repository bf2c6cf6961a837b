//! Rules on board: fence and parameters of one vehicle, and its agent's report about them.
//!
//! Owns: [`Rules`], [`RulesReport`], and whether rules that are not in force prevent arming ([`clearance`], invariant 12). *In force* means
//! read back as wanted, and not discarded since; an acknowledgement proves nothing.
//! Must not: compile fences for an autopilot (`fleet::planning::geofence`), choose parameters, or know MAVLink.

use crate::ids::Term;
use crate::preflight_policy::Preflight;
use crate::units::{Meters, Wgs84};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Vertices and circles of one fence: PX4 holds 64, ArduCopter 70.
pub const MOST_FENCE_ITEMS: usize = 70;

pub const MOST_PARAMETERS: usize = 128;

pub const MOST_DEVIATIONS: usize = 32;

/// Equal content, equal digest. 32 hexadecimal digits of the fence, then 32 of the parameters; zeros for none. Computed where the rules are
/// made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RulesDigest(pub String);

impl fmt::Display for RulesDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RulesDigest {
    pub const PART: usize = 32;

    /// Older coordinators made one digest of both parts.
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

/// What is to be in force on one vehicle, with or without a Drone. A level: sent again, it changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub term: Term,
    pub digest: RulesDigest,
    /// `None`: none of ours; the autopilot's earlier fence is restored.
    pub fence: Option<Fence>,
    /// Each name once. A parameter that is gone gets back its value of before ours.
    pub parameters: Vec<WantedParameter>,
}

impl Rules {
    pub const fn is_empty(&self) -> bool {
        self.fence.is_none() && self.parameters.is_empty()
    }
}

/// A fence as its autopilot stores it: polygons first, circles last. Its altitudes and its action are parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fence {
    /// In the order of upload.
    pub shapes: Vec<Shape>,
}

impl Fence {
    /// Mission items: one for each vertex and circle.
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
    pub side: Side,
    pub outline: Outline,
}

/// Where the vehicle has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Inside (MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION 5001, MAV_CMD_NAV_FENCE_CIRCLE_INCLUSION 5003).
    Inside,
    /// Outside (5002, 5004).
    Outside,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outline {
    /// 3 vertices or more, not closed by a copy of the first.
    Polygon(Vec<Wgs84>),
    Circle {
        center: Wgs84,
        radius: Meters,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WantedParameter {
    /// 1 to 16 characters.
    pub name: String,
    /// The agent encodes it by the type that the autopilot reports.
    pub value: f64,
    pub enforce: Enforce,
    /// Whether the autopilot may be rebooted, on the ground and idle, if the value counts only then.
    pub may_reboot: bool,
    /// Whether the agent converts it for an autopilot that has it under another name and unit ([`crate::parameter_meaning`]). Name and
    /// value are those of the newest version.
    #[serde(default, skip_serializing_if = "is_false")]
    pub any_name: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What is done about another value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Enforce {
    /// Set, on the ground and disarmed.
    Apply,
    /// Reported only.
    #[default]
    Report,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RulesReport {
    /// `None`: the agent never took any.
    pub held: Option<RulesDigest>,
    pub fence: FenceState,
    pub parameters_in_force: u32,
    /// Parameters that are not in force, at most [`MOST_DEVIATIONS`], ordered by [`DeviationWhy::urgency`]; by name from older agents.
    pub deviations: Vec<Deviation>,
    /// The fence, every parameter, and the restored values of rules that are gone.
    pub in_force: bool,
}

impl RulesReport {
    pub fn words(&self) -> String {
        let how = if self.in_force { "in force" } else { "not all in force" };
        let held = self.held.as_ref();
        held.map_or_else(|| "no rules".to_owned(), |held| format!("{} {how}", held.words()))
    }
}

/// How far the autopilot's fence is the wanted one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FenceState {
    /// Not known, or none is wanted and none of ours is left.
    #[default]
    None,
    /// Being read, uploaded or restored.
    Working,
    /// Read back equal, and not discarded since.
    InForce,
    /// Not changed now: the vehicle is armed, or not known to be on the ground.
    WaitsForGround,
    /// Refused by the autopilot, or discarded after it was accepted; its text, or ours. Tried again with a capped back-off.
    Refused(String),
    /// Somebody else uploaded another, or the autopilot lost it.
    Drifted(String),
}

/// A parameter that is not known to have the wanted value.
#[derive(Clone, Debug, PartialEq)]
pub struct Deviation {
    pub name: String,
    pub wanted: f64,
    /// The value read last; `None`: not read.
    pub actual: Option<f64>,
    pub why: DeviationWhy,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviationWhy {
    /// Being read or set.
    Working,
    ReportOnly,
    /// The vehicle is armed, or not known to be on the ground.
    WaitsForGround,
    /// It has the value, which counts only after a reboot of the autopilot.
    NeedsReboot,
    /// The autopilot rejects the value; the text says what to do.
    Refused(String),
    /// The autopilot has no parameter of this name; nothing was changed. The text names that of other versions, if known.
    Missing(String),
}

impl DeviationWhy {
    /// Whether it will be read or set without a person.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Working | Self::WaitsForGround)
    }

    /// Lower is reported first where there is no room for all.
    pub const fn urgency(&self) -> u8 {
        match self {
            Self::Refused(_) => 0,
            Self::Working | Self::WaitsForGround => 1,
            Self::NeedsReboot => 2,
            Self::Missing(_) => 3,
            Self::ReportOnly => 4,
        }
    }

    /// Whether other vehicles do not get their values because of it.
    pub const fn is_urgent(&self) -> bool {
        self.urgency() <= Self::Working.urgency()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RulesClearance {
    #[default]
    Clear,
    /// Rules that select the vehicle are not in force, and the Drone requires them.
    NotInForce,
    /// The agent changes fence or parameters, or reboots the autopilot, now. Prevents arming under every policy.
    Changing,
}

/// Invariant 12: whether rules prevent arming under `policy`. `named`: the rules that selected the vehicle when the assignment was made.
pub fn clearance(policy: Preflight, named: Option<&RulesDigest>, report: &RulesReport) -> RulesClearance {
    match (policy, named) {
        (Preflight::Ignore | Preflight::Warn, _) => RulesClearance::Clear,
        // The held rules may be newer than the assignment.
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
