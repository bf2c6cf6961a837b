//! A vehicle that refuses a plan is remembered, and rests ever longer.

use super::*;
use std::time::Duration;

fn node(name: &str) -> NodeName {
    NodeName::parse(name).unwrap()
}

/// After a step in which the vehicle of that node, with all of the work, does this.
fn after(before: &Progress, at: &str, doing: Doing) -> Progress {
    let with_part = Progress {
        parts: vec![part("a", &[(0.0, 5.0)])],
        ..before.clone()
    };
    let seen = Observed {
        node: Some(node(at)),
        ..seen("a", doing)
    };
    step(&route(6), &wanted(1), &with_part, &[seen]).progress
}

#[test]
fn the_vehicle_is_counted_however_many_drones_try_it_and_its_words_are_kept() {
    let no = |words: &str| Doing::Refused(words.to_owned());
    let once = after(&Progress::default(), "n1", no("too far"));
    let other = after(&once, "n2", no("too high"));
    let twice = after(&other, "n1", no("still too far"));
    let kept: Vec<(&str, u32, &str)> = twice
        .refused
        .iter()
        .map(|one| (one.node.as_str(), one.times, one.words.as_str()))
        .collect();
    assert_eq!(kept, [("n2", 1, "too high"), ("n1", 2, "still too far")]);
    assert_eq!(twice.failures, 3);
    // Another failure is no refusal, and taking a plan ends its refusals.
    assert_eq!(after(&twice, "n1", Doing::Lost).refused, twice.refused);
    let begun = Observed {
        node: Some(node("n1")),
        begun: true,
        ..seen("a", Doing::Busy)
    };
    let flies = Progress {
        parts: vec![part("a", &[(0.0, 5.0)])],
        ..twice
    };
    let kept = step(&route(6), &wanted(1), &flies, &[begun]).progress.refused;
    assert_eq!(kept.iter().map(|one| one.node.as_str()).collect::<Vec<_>>(), ["n2"]);
}

#[test]
fn it_is_left_alone_as_long_as_a_job_waits() {
    let rests: Vec<u64> = (1..=7).map(|times| rest(times).as_secs()).collect();
    assert_eq!(rests, [10, 20, 40, 80, 160, 320, 360]);
    assert_eq!(rest(u32::MAX), Duration::from_secs(360));
}

#[test]
fn no_more_are_remembered_than_fit_into_a_status() {
    let all = (0..150).fold(Progress::default(), |before, number| Progress {
        failures: 0,
        ..after(&before, &format!("n{number}"), Doing::Refused("no".into()))
    });
    assert_eq!(all.refused.len(), 100);
    assert_eq!(all.refused.last().map(|one| one.node.as_str()), Some("n149"));
}
