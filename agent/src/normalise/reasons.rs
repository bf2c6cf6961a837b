//! Why the autopilot does not arm: collecting its own words.
//!
//! Owns: [`Reasons`]: which texts are reasons, each once, bounded, and when they are out of date.
//! Must not: interpret them, or take their absence for readiness.

use fleet::time::Moment;
use fleet::vehicle::ArmingReason;

const AT_MOST: usize = 12;
const LONGEST: usize = 200;
const PREFIXES: [&str; 5] = [
    "PreArm: ",
    "Arm: ",
    "Preflight Fail: ",
    "Arming denied: ",
    "Arming denied! ",
];
/// PX4 says this whatever the reason; it is kept only while nothing better is known.
const UNHELPFUL: &str = "Resolve system health failures first";

/// Collects reasons for [`fleet::vehicle::Vehicle::reasons`].
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    out_of_date: bool,
}

impl Reasons {
    /// What is told from now on replaces what is known: a new report begins, or was asked for.
    pub const fn expect_anew(&mut self) {
        self.out_of_date = true;
    }

    /// Takes a STATUSTEXT; only those about arming count.
    pub fn text(&mut self, list: &mut Vec<ArmingReason>, text: &str) {
        if let Some(reason) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
            self.reason(list, reason);
        }
    }

    /// Takes a reason without prefix.
    pub fn reason(&mut self, list: &mut Vec<ArmingReason>, reason: &str) {
        if std::mem::take(&mut self.out_of_date) {
            list.clear();
        }
        let text: String = reason.trim().chars().take(LONGEST).collect();
        let unhelpful = text == UNHELPFUL;
        if text.is_empty() || list.iter().any(|r| r.text == text) || (unhelpful && !list.is_empty()) {
            return;
        }
        if !unhelpful {
            list.retain(|r| r.text != UNHELPFUL);
        }
        if list.len() >= AT_MOST {
            list.remove(0);
        }
        list.push(ArmingReason::told(text, Moment::default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(texts: &[&str]) -> Vec<String> {
        let mut reasons = Reasons::default();
        let mut list = Vec::new();
        texts.iter().for_each(|t| reasons.text(&mut list, t));
        list.into_iter().map(|r| r.text).collect()
    }

    #[test]
    fn reasons_are_kept_once_without_their_prefix_and_other_texts_are_not_reasons() {
        let heard = told(&[
            "PreArm: Need Position Estimate",
            "EKF3 IMU0 initialised",
            "Arm: Need Position Estimate",
            "Arm: Throttle too high",
        ]);
        assert_eq!(heard, ["Need Position Estimate", "Throttle too high"]);
    }

    #[test]
    fn the_text_that_says_nothing_is_kept_only_while_nothing_better_is_known() {
        let nothing = "Arming denied: Resolve system health failures first";
        assert_eq!(told(&[nothing]), [UNHELPFUL]);
        assert_eq!(told(&[nothing, "Preflight Fail: Compass", nothing]), ["Compass"]);
    }

    #[test]
    fn a_new_report_replaces_the_old_reasons_with_its_first_word() {
        let mut reasons = Reasons::default();
        let mut list = Vec::new();
        reasons.reason(&mut list, "old");
        reasons.expect_anew();
        assert_eq!(list.len(), 1);
        reasons.reason(&mut list, "new");
        reasons.reason(&mut list, "newer");
        assert_eq!(
            list.iter().map(|r| r.text.as_str()).collect::<Vec<_>>(),
            ["new", "newer"]
        );
    }

    #[test]
    fn the_list_is_bounded() {
        let texts: Vec<String> = (0..40).map(|n| format!("Arm: reason {n}")).collect();
        let heard = told(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(heard.len(), AT_MOST);
        assert_eq!(heard.last().map(String::as_str), Some("reason 39"));
    }
}
