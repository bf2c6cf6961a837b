//! Whether the autopilot would take care of its vehicle without the agent (invariant 7).

use model::battery_level::Level;
use model::preflight_policy::{Clearance, Preflight};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Whether all have been read, or asked for without an answer.
    pub complete: bool,
    /// One line each, with what to do. What could not be read is a problem.
    pub problems: Vec<String>,
}

/// Whether `findings`, or an unknown or doubted battery, prevent arming under `policy`.
pub fn clearance(policy: Preflight, findings: &Findings, battery: Level, doubted: bool) -> Clearance {
    match policy {
        Preflight::Ignore | Preflight::Warn => Clearance::Clear,
        Preflight::Refuse if !findings.problems.is_empty() => Clearance::Problems,
        Preflight::Refuse if !findings.complete => Clearance::Reading,
        Preflight::Refuse if battery == Level::Unknown => Clearance::Problems,
        Preflight::Refuse if doubted => Clearance::Problems,
        Preflight::Refuse => Clearance::Clear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(complete: bool, problems: &[&str]) -> Findings {
        Findings {
            complete,
            problems: problems.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    #[test]
    fn only_a_drone_that_refuses_is_kept_down_by_failsafes_that_are_off_or_unknown() {
        for policy in [Preflight::Ignore, Preflight::Warn] {
            for battery in [Level::Unknown, Level::Fine] {
                assert_eq!(
                    clearance(policy, &found(true, &["off"]), battery, true),
                    Clearance::Clear
                );
                assert_eq!(clearance(policy, &found(false, &[]), battery, false), Clearance::Clear);
            }
        }
        let refuse = |findings| clearance(Preflight::Refuse, &findings, Level::Fine, false);
        assert_eq!(refuse(found(false, &[])), Clearance::Reading);
        assert_eq!(refuse(found(false, &["off"])), Clearance::Problems);
        assert_eq!(refuse(found(true, &["off"])), Clearance::Problems);
        assert_eq!(refuse(found(true, &[])), Clearance::Clear);
        let unknown = clearance(Preflight::Refuse, &found(true, &[]), Level::Unknown, false);
        assert_eq!(unknown, Clearance::Problems, "nothing would watch its reserve");
        let doubted = clearance(Preflight::Refuse, &found(true, &[]), Level::Fine, true);
        assert_eq!(doubted, Clearance::Problems, "its reserve may not be there");
    }
}
