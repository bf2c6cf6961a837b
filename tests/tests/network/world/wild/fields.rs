//! The fields that the wild worlds edit, compared with the schemas: a new field that none edits fails the test.

use super::edits::{self, Edit};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use std::collections::BTreeSet;

const EDITED: [(&str, &[&str]); 2] = [
    (
        "Mission",
        &[
            "route",
            "survey",
            "parallelism",
            "completions",
            "repeat",
            "handover.overlapSeconds",
            "altitudeStepMeters",
            "nodeSelector",
            "failsafe.onCoordinatorLoss",
            "failsafe.coordinatorLossSeconds",
            "failsafe.onLowBattery",
            "failsafe.reservePercent",
            "failsafe.preflight",
            "backoffLimit",
            "activeDeadlineSeconds",
            "suspend",
            "ttlSecondsAfterFinished",
            "priority",
        ],
    ),
    (
        "Drone",
        &[
            "nodeSelector",
            "takeoffAltitudeMeters",
            "station.latitudeDegrees",
            "station.longitudeDegrees",
            "station.altitudeMeters",
            "station.altitudeReference",
            "station.headingDegrees",
            "station.speedMetersPerSecond",
            "grounded",
            "failsafe.onCoordinatorLoss",
            "failsafe.coordinatorLossSeconds",
            "failsafe.onLowBattery",
            "failsafe.reservePercent",
            "failsafe.preflight",
            "resumeAfterTakeovers",
            "control",
            "external.radiusMeters",
            "external.belowMeters",
            "external.aboveMeters",
            "external.leaseSeconds",
        ],
    ),
];

/// Fields that are not edited: work of another kind, a field of one value, and one that never changes once it is set.
const LEFT: [(&str, &[&str]); 2] = [("Mission", &["planFrom", "handover.at"]), ("Drone", &["nodeName"])];

const WHOLE: [&str; 4] = ["route", "survey", "planFrom", "formation.anchor"];

/// Random edits of a kind, enough to draw each.
const DRAWN: u32 = 5000;

fn fields(document: &Value) -> Vec<String> {
    let schema = &document["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let mut names = Vec::new();
    collect(&schema["properties"]["spec"], "", &mut names);
    names
}

fn collect(schema: &Value, of: &str, names: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let name = below(of, name);
        if WHOLE.contains(&name.as_str()) || field["properties"].is_null() {
            names.push(name);
        } else {
            collect(field, &name, names);
        }
    }
}

fn below(part: &str, name: &str) -> String {
    match part {
        "" => name.to_owned(),
        part => format!("{part}.{name}"),
    }
}

fn changed(patch: &Value, of: &str, names: &mut BTreeSet<String>) {
    match patch.as_object() {
        Some(parts) if !parts.is_empty() => {
            for (name, part) in parts {
                changed(part, &below(of, name), names);
            }
        }
        _ => {
            names.insert(of.to_owned());
        }
    }
}

pub fn every_field_is_edited() {
    for document in crds::yaml::documents().unwrap() {
        let kind = document["spec"]["names"]["kind"].as_str().unwrap_or_default();
        let of = |table: &[(&str, &'static [&'static str])]| {
            let found = table.iter().find(|(name, _)| *name == kind);
            found.map(|(_, fields)| *fields)
        };
        let all = fields(&document);
        if let Some((_, draws)) = edits::OF_KINDS.iter().find(|(name, _)| *name == kind) {
            let drawn = drawn(draws);
            let is_drawn = |field: &&String| {
                let inside = format!("{field}.");
                drawn.iter().any(|name| name == *field || name.starts_with(&inside))
            };
            let forgotten: Vec<&String> = all.iter().filter(|field| !is_drawn(field)).collect();
            assert!(
                forgotten.is_empty(),
                "fields of {kind} that no wild world edits: {forgotten:?}; it edits {drawn:?}"
            );
        }
        let Some(edited) = of(&EDITED) else { continue };
        let left = of(&LEFT).unwrap_or_default();
        let forgotten: Vec<&String> = all
            .iter()
            .filter(|field| !edited.contains(&field.as_str()) && !left.contains(&field.as_str()))
            .collect();
        assert!(
            forgotten.is_empty(),
            "fields of {kind} that no wild world edits: {forgotten:?}"
        );
        let gone: Vec<&&str> = edited
            .iter()
            .filter(|field| !all.iter().any(|name| name == *field))
            .collect();
        assert!(gone.is_empty(), "fields that {kind} has not: {gone:?}");
    }
}

fn drawn(draws: &[fn(&mut StdRng) -> Edit]) -> BTreeSet<String> {
    let (mut rng, mut names) = (StdRng::seed_from_u64(0), BTreeSet::new());
    for draw in draws {
        for _ in 0..DRAWN {
            changed(&draw(&mut rng).spec, "", &mut names);
        }
    }
    names
}
