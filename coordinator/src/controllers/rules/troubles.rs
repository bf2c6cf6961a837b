//! Events about the rules on one vehicle.

use crate::cluster::conditions::shape;
use model::rules::{DeviationWhy, FenceState, RulesReport};
use std::collections::{BTreeMap, BTreeSet};

/// Parameters named in an Event; the object has the others.
const MAX_NAMED_PARAMETERS: usize = 4;

#[derive(Debug, Default)]
pub struct Troubles(BTreeSet<(&'static str, String)>);

impl Troubles {
    /// The new ones in `rules`: the reason of each Event, and its text.
    pub fn news(&mut self, rules: &RulesReport) -> Vec<(&'static str, String)> {
        let now = all(rules);
        let mut new: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
        for (reason, about, text) in &now {
            if !self.0.contains(&(*reason, about.clone())) {
                new.entry(reason).or_default().push(text.clone());
            }
        }
        self.0 = now.into_iter().map(|(reason, about, _)| (reason, about)).collect();
        let reported = new.into_iter().map(|(reason, texts)| {
            let more = texts.len().saturating_sub(MAX_NAMED_PARAMETERS);
            let mut text = texts
                .into_iter()
                .take(MAX_NAMED_PARAMETERS)
                .collect::<Vec<_>>()
                .join("; ");
            if more > 0 {
                text.push_str(&format!("; and {more} more"));
            }
            (reason, text)
        });
        reported.collect()
    }
}

/// Reason of an Event, subject, and a sentence.
fn all(rules: &RulesReport) -> Vec<(&'static str, String, String)> {
    let fence = match &rules.fence {
        FenceState::Refused(why) => Some((
            "FenceRefused",
            shape(why),
            format!("the autopilot does not take the fence: {why}"),
        )),
        FenceState::Drifted(why) => Some((
            "FenceDrifted",
            shape(why),
            format!("the fence on the autopilot is not ours any more: {why}"),
        )),
        FenceState::None | FenceState::Working | FenceState::InForce | FenceState::WaitsForGround => None,
    };
    let parameters = rules.deviations.iter().filter_map(|deviation| {
        let name = deviation.name.clone();
        match &deviation.why {
            DeviationWhy::Refused(why) | DeviationWhy::Missing(why) => {
                let about = format!("{name} {}", shape(why));
                Some(("ParameterRefused", about, format!("{name}: {why}")))
            }
            DeviationWhy::WaitsForGround => {
                let (actual, wanted) = (deviation.actual?, deviation.wanted);
                let text = format!("{name} is {actual} and is to be {wanted}");
                Some(("ParameterDrifted", name, text))
            }
            DeviationWhy::Working | DeviationWhy::ReportOnly | DeviationWhy::NeedsReboot => None,
        }
    });
    fence.into_iter().chain(parameters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rules::Deviation;

    fn drifted(names: &[&str], actual: f64) -> RulesReport {
        let deviation = |name: &&str| Deviation {
            name: (*name).to_owned(),
            wanted: 1.0,
            actual: Some(actual),
            why: DeviationWhy::WaitsForGround,
        };
        RulesReport {
            deviations: names.iter().map(deviation).collect(),
            ..RulesReport::default()
        }
    }

    #[test]
    fn a_vehicle_has_one_event_a_change_however_many_values_drift_and_none_for_wander() {
        let mut reported = Troubles::default();
        let names: Vec<String> = (0..40).map(|i| format!("P{i:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let first = reported.news(&drifted(&names, 2.0));
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].0, "ParameterDrifted");
        assert!(first[0].1.starts_with("P00 is 2 and is to be 1; P01"), "{}", first[0].1);
        assert!(
            first[0].1.ends_with("P03 is 2 and is to be 1; and 36 more"),
            "{}",
            first[0].1
        );
        for wandering in 3..20 {
            assert_eq!(reported.news(&drifted(&names, f64::from(wandering))), []);
        }
        let more = [&names[..], &["Q"]].concat();
        assert_eq!(
            reported.news(&drifted(&more, 5.0)),
            [("ParameterDrifted", "Q is 5 and is to be 1".to_owned())]
        );
        assert_eq!(reported.news(&RulesReport::default()), []);
        assert_eq!(reported.news(&drifted(&names, 2.0)).len(), 1, "it happened again");
    }

    #[test]
    fn a_fence_that_is_refused_in_the_same_words_is_told_once() {
        let mut reported = Troubles::default();
        let refused = |why: &str| RulesReport {
            fence: FenceState::Refused(why.to_owned()),
            ..RulesReport::default()
        };
        assert_eq!(reported.news(&refused("home is 3.1 m outside")).len(), 1);
        assert_eq!(reported.news(&refused("home is 2.9 m outside")), []);
        assert_eq!(reported.news(&refused("too many items"))[0].0, "FenceRefused");
    }
}
