//! The lines of the flight log about each flight: with which rules the vehicle took off, and that it landed.

use link::dialect::{MavMessage, MavSeverity, STATUSTEXT_DATA};
use model::ids::DroneName;
use model::rules::RulesReport;
use model::vehicle::Identity;

/// Bytes of one chunk of a text (STATUSTEXT.text).
const CHUNK: usize = 50;
const CHUNKS: usize = 7;

pub const LANDED: &str = "Skein: landed";

/// `observed`: the vehicle was observed on the ground before. What is on a vehicle in the air says nothing of its takeoff.
pub fn took_off(observed: bool, rules: &RulesReport, of: Option<&Identity>, drone: Option<&DroneName>) -> String {
    let rules = if observed {
        format!("took off with {}", rules.words())
    } else {
        "in the air; which rules it took off with was not observed".to_owned()
    };
    let drone = drone.map_or_else(|| "no Drone".to_owned(), |drone| format!("Drone {drone}"));
    let known = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
    let firmware = known(of.and_then(|of| of.firmware.clone()));
    let hardware = known(of.and_then(|of| of.hardware).map(|uid| uid.to_string()));
    format!("Skein: {rules}; {drone}, firmware {firmware}, hardware {hardware}")
}

/// `id` distinguishes the chunks of one text from those of the one before.
pub fn chunks(words: &str, id: u16) -> impl Iterator<Item = MavMessage> {
    // A last chunk that is full would seem to go on.
    let bytes = words.as_bytes().iter().copied().chain([0]).collect::<Vec<u8>>();
    let texts: Vec<[u8; CHUNK]> = bytes
        .chunks(CHUNK)
        .take(CHUNKS)
        .map(|part| std::array::from_fn(|at| part.get(at).copied().unwrap_or(0)))
        .collect();
    texts.into_iter().zip(0..).map(move |(text, chunk_seq)| {
        MavMessage::STATUSTEXT(STATUSTEXT_DATA {
            severity: MavSeverity::MAV_SEVERITY_INFO,
            text: text.into(),
            id,
            chunk_seq,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::text::TextJoiner;
    use model::rules::RulesDigest;
    use model::time::Moment;
    use model::units::{ComponentId, SystemId};
    use model::vehicle::{Autopilot, HardwareUid};

    fn joined(words: &str) -> Vec<String> {
        let mut joiner = TextJoiner::default();
        let texts = chunks(words, 7).flat_map(|message| match message {
            MavMessage::STATUSTEXT(text) => joiner.receive(&text, Moment::default()),
            other => panic!("{other:?}"),
        });
        texts.collect()
    }

    #[test]
    fn a_takeoff_names_fence_and_parameters_each_and_a_takeoff_that_was_not_seen_none() {
        let (fence, parameters) = ("a".repeat(32), "b".repeat(32));
        let rules = |in_force| RulesReport {
            held: Some(RulesDigest(format!("{fence}{parameters}"))),
            in_force,
            ..RulesReport::default()
        };
        let identity = Identity {
            autopilot: Autopilot::Px4,
            system: SystemId(1),
            component: ComponentId(1),
            firmware: Some("1.17.0".to_owned()),
            hardware: Some(HardwareUid::Short(7)),
        };
        let drone = DroneName {
            namespace: "fleet".to_owned(),
            name: "alpha-4kx".to_owned(),
        };
        let words = took_off(true, &rules(true), Some(&identity), Some(&drone));
        let uid = HardwareUid::Short(7);
        assert_eq!(
            words,
            format!(
                "Skein: took off with fence {fence} and parameters {parameters} in force; Drone {drone}, firmware 1.17.0, hardware {uid}"
            )
        );
        assert_eq!(joined(&words), [&*words], "readers join the chunks");
        let words = took_off(true, &rules(false), None, None);
        assert!(
            words.contains("not all in force; no Drone, firmware unknown"),
            "{words}"
        );
        let words = took_off(true, &RulesReport::default(), None, None);
        assert!(words.contains("took off with no rules;"), "{words}");
        let words = took_off(false, &rules(true), Some(&identity), Some(&drone));
        assert!(!words.contains(&fence) && words.contains("was not observed"), "{words}");
    }

    #[test]
    fn texts_of_every_length_are_joined_and_a_very_long_one_is_cut() {
        for length in [1, 49, 50, 51, 100, 349] {
            let words = "x".repeat(length);
            assert_eq!(joined(&words), [&*words], "{length}");
        }
        assert_eq!(joined(&"x".repeat(1000)), ["x".repeat(350)]);
    }
}
