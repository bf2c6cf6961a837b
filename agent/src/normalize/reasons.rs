//! Why the autopilot does not arm: collecting its own words.

use super::classes::class_after;
use model::time::Moment;
use model::vehicle::ArmingReason;

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

#[derive(Clone, Debug, Default)]
pub struct Reasons {
    out_of_date: bool,
    before: Vec<ArmingReason>,
}

impl Reasons {
    /// A new report begins, or was asked for.
    pub const fn expect_again(&mut self) {
        self.out_of_date = true;
    }

    /// Takes a STATUSTEXT; only those about arming count.
    pub fn text(&mut self, list: &mut Vec<ArmingReason>, text: &str, now: Moment) {
        if let Some(reason) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
            self.reason(list, reason, None, now);
        }
    }

    /// `reason` without prefix; `code` is the autopilot's number for it.
    pub fn reason(&mut self, list: &mut Vec<ArmingReason>, reason: &str, code: Option<u32>, now: Moment) {
        if std::mem::take(&mut self.out_of_date) {
            self.before = std::mem::take(list);
        }
        let text: String = reason.trim().chars().take(LONGEST).collect();
        let unhelpful = text == UNHELPFUL;
        if let Some(known) = list.iter_mut().find(|r| r.text == text) {
            known.last = now;
            known.class = class_after(&known.text, now.since(known.first));
            return;
        }
        if text.is_empty() || (unhelpful && !list.is_empty()) {
            return;
        }
        if !unhelpful {
            list.retain(|r| r.text != UNHELPFUL);
        }
        if list.len() >= AT_MOST {
            list.remove(0);
        }
        // A reason that is given again in the next report has lasted since it was first given.
        let first = self.before.iter().find(|r| r.text == text).map_or(now, |r| r.first);
        list.push(ArmingReason {
            class: class_after(&text, now.since(first)),
            code,
            last: now,
            ..ArmingReason::reported(text, first)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Moment {
        Moment::at(std::time::Duration::from_secs(s))
    }

    fn reported(texts: &[&str]) -> Vec<String> {
        let mut reasons = Reasons::default();
        let mut list = Vec::new();
        texts.iter().for_each(|t| reasons.text(&mut list, t, at(0)));
        list.into_iter().map(|r| r.text).collect()
    }

    #[test]
    fn reasons_are_kept_once_without_their_prefix_and_other_texts_are_not_reasons() {
        let heard = reported(&[
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
        assert_eq!(reported(&[nothing]), [UNHELPFUL]);
        assert_eq!(reported(&[nothing, "Preflight Fail: Compass", nothing]), ["Compass"]);
    }

    #[test]
    fn a_new_report_replaces_the_old_reasons_with_its_first_word() {
        let mut reasons = Reasons::default();
        let mut list = Vec::new();
        reasons.reason(&mut list, "old", None, at(0));
        reasons.expect_again();
        assert_eq!(list.len(), 1);
        reasons.reason(&mut list, "new", None, at(1));
        reasons.reason(&mut list, "newer", None, at(1));
        assert_eq!(
            list.iter().map(|r| r.text.as_str()).collect::<Vec<_>>(),
            ["new", "newer"]
        );
    }

    #[test]
    fn a_reason_that_stands_over_several_reports_keeps_the_time_when_it_was_first_told() {
        let mut reasons = Reasons::default();
        let mut list = Vec::new();
        for s in [10, 25, 40] {
            reasons.expect_again();
            reasons.reason(&mut list, "Need Position Estimate", Some(7), at(s));
            reasons.reason(&mut list, "Need Position Estimate", Some(7), at(s + 1));
        }
        assert_eq!((list[0].first, list[0].last, list[0].code), (at(10), at(41), Some(7)));
        assert_eq!(list[0].class, model::vehicle::ReasonClass::WillHeal);
    }

    #[test]
    fn the_list_is_bounded() {
        let texts: Vec<String> = (0..40).map(|n| format!("Arm: reason {n}")).collect();
        let heard = reported(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(heard.len(), AT_MOST);
        assert_eq!(heard.last().map(String::as_str), Some("reason 39"));
    }
}
