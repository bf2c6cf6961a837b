//! Why an autopilot does not arm, as `status.armingRefusals`.
//!
//! Autopilots put measured values into their texts: these must not cost a write each time. Must not: classify reasons; the agent does.

use crate::cluster::conditions::same_but_for_numbers;
use crds::drone::ArmingRefusal;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use model::report::Report;
use model::vehicle::ReasonClass;

/// The refusals in `report`; `old` are those of the status.
pub fn reported(old: &[ArmingRefusal], report: &Report, now: Timestamp) -> Vec<ArmingRefusal> {
    if report.ready != Some(false) {
        return Vec::new();
    }
    report
        .reasons
        .iter()
        .map(|reason| {
            let class = match reason.class {
                ReasonClass::WillHeal => "WillHeal",
                ReasonClass::NeedsHuman => "NeedsHuman",
                ReasonClass::Unclear => "Unclear",
            };
            let new = ArmingRefusal {
                message: reason.text.clone(),
                class: class.to_owned(),
                code: reason.code.map(i64::from),
                since: since(report, reason.first, now),
            };
            let known = |was: &&ArmingRefusal| {
                same_but_for_numbers(&was.message, &new.message) && (&was.class, was.code) == (&new.class, new.code)
            };
            old.iter().find(known).cloned().unwrap_or(new)
        })
        .collect()
}

/// A moment of the agent's clock, by ours; in whole seconds, as Kubernetes keeps them.
fn since(report: &Report, first: model::time::Moment, now: Timestamp) -> Option<Time> {
    let ago = SignedDuration::try_from(report.made.since(first)).ok()?;
    let at = now.checked_sub(ago).ok()?;
    Timestamp::from_second(at.as_second()).ok().map(Time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::NodeName;
    use model::time::Moment;
    use model::vehicle::ArmingReason;
    use std::time::Duration;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn report(ready: Option<bool>, texts: &[&str]) -> Report {
        let at = |s| Moment::at(Duration::from_secs(s));
        Report {
            made: at(100),
            ready,
            reasons: texts
                .iter()
                .map(|text| ArmingReason::reported((*text).to_owned(), at(90)))
                .collect(),
            ..Report::of_nothing(NodeName::parse("n").unwrap())
        }
    }

    #[test]
    fn a_refusal_is_told_with_the_time_when_the_autopilot_first_gave_it() {
        let now = reported(&[], &report(Some(false), &["Need Position Estimate"]), second(1000));
        assert_eq!(now[0].since, Some(Time(second(990))));
        assert_eq!(
            (now[0].message.as_str(), now[0].class.as_str()),
            ("Need Position Estimate", "Unclear")
        );
        let later = reported(&now, &report(Some(false), &["Need Position Estimate"]), second(1007));
        assert_eq!(later, now);
    }

    #[test]
    fn a_value_that_wanders_in_a_text_is_no_news() {
        let first = reported(&[], &report(Some(false), &["GPS hdop 2.31 (needs 1.4)"]), second(1000));
        let later = reported(
            &first,
            &report(Some(false), &["GPS hdop 12.4 (needs 1.4)"]),
            second(1015),
        );
        assert_eq!(later, first);
    }

    #[test]
    fn a_vehicle_that_is_ready_or_unheard_has_no_refusals() {
        for ready in [Some(true), None] {
            assert!(reported(&[], &report(ready, &["old words"]), second(1000)).is_empty());
        }
    }
}
