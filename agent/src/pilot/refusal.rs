//! Why the autopilot refused to arm although its arming checks pass.
//!
//! The answer comes first and the text after it: "Arm: Throttle (RC3) is not neutral", "Arming denied: …".

use fleet::flight::memory::Outcome;
use model::time::Moment;
use model::vehicle::{ArmingReason, ReasonClass};
use std::time::Duration;

/// A text that came this long before the answer belongs to it.
const BEFORE: Duration = Duration::from_millis(500);

/// The text comes within this time after the answer; then it is reported that none came.
const TEXT_WITHIN: Duration = Duration::from_millis(1500);

/// A refusal is reported for this long: arming is tried again after half a minute at most.
const REPORTED_FOR: Duration = Duration::from_secs(45);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    result: String,
    first: Moment,
    last: Moment,
}

pub fn after(before: Option<Refusal>, outcome: &Outcome, now: Moment) -> Option<Refusal> {
    match outcome {
        Outcome::Refused { result } => Some(Refusal {
            result: result.clone(),
            first: before.map_or(now, |refusal| refusal.first),
            last: now,
        }),
        Outcome::Accepted => None,
        Outcome::NoAnswer | Outcome::NotSent => before,
    }
}

impl Refusal {
    /// Why, as the autopilot has reported since (`reported` is all that it reported about arming); `None` while it may still say so,
    /// and once it is long ago.
    pub fn reasons(&self, reported: &[ArmingReason], now: Moment) -> Option<Vec<ArmingReason>> {
        if now.since(self.last) > REPORTED_FOR {
            return None;
        }
        let belongs = |reason: &&ArmingReason| reason.last.plus(BEFORE) >= self.first;
        let given: Vec<ArmingReason> = reported.iter().filter(belongs).cloned().collect();
        if !given.is_empty() {
            return Some(given);
        }
        // The first time it waits for the text; later it has had its time.
        (now.since(self.first) >= TEXT_WITHIN).then(|| {
            let text = format!("the autopilot refused to arm ({}) and did not say why", self.result);
            vec![ArmingReason {
                class: ReasonClass::Unclear,
                ..ArmingReason::reported(text, self.first)
            }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn refused(before: Option<Refusal>, ms: u64) -> Option<Refusal> {
        let result = "FAILED".into();
        after(before, &Outcome::Refused { result }, at(ms))
    }

    fn texts(refusal: &Refusal, reported: &[ArmingReason], ms: u64) -> Option<Vec<String>> {
        let reasons = refusal.reasons(reported, at(ms))?;
        Some(reasons.into_iter().map(|reason| reason.text).collect())
    }

    #[test]
    fn the_text_that_follows_a_refused_answer_is_the_reason() {
        let refusal = refused(None, 10_000).unwrap();
        assert_eq!(texts(&refusal, &[], 10_100), None, "it may still say why");
        let old = ArmingReason::reported("Compass not healthy".into(), at(5000));
        let newer = ArmingReason::reported("Throttle (RC3) is not neutral".into(), at(10_040));
        let reported = [old.clone(), newer];
        assert_eq!(
            texts(&refusal, &reported, 10_100),
            Some(vec!["Throttle (RC3) is not neutral".into()])
        );
        let none = texts(&refusal, &[old], 11_500).unwrap();
        assert_eq!(none, ["the autopilot refused to arm (FAILED) and did not say why"]);
    }

    #[test]
    fn it_stands_over_further_tries_and_not_after_one_that_is_accepted_or_for_ever() {
        let first = refused(None, 10_000);
        let again = refused(first, 20_000).unwrap();
        let texts = [ArmingReason::reported("Throttle too high".into(), at(10_040))];
        assert!(again.reasons(&texts, at(20_010)).is_some());
        assert_eq!(
            after(Some(again.clone()), &Outcome::NoAnswer, at(30_000)),
            Some(again.clone())
        );
        assert_eq!(again.reasons(&texts, at(65_001)), None);
        assert_eq!(after(Some(again), &Outcome::Accepted, at(30_000)), None);
    }
}
