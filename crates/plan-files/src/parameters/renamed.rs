//! Names of parameters that releases of firmware have changed, in sentences.

use model::parameter_meaning::{Encoding, Name, find, gone, names};
use model::vehicle::Autopilot;

pub fn words(autopilot: Autopilot, name: &str) -> Option<String> {
    if let Some(gone) = gone(autopilot, name) {
        return Some(format!("{name} is {gone}"));
    }
    let (meaning, own) = find(autopilot, name)?;
    let [new, old] = names(autopilot, meaning) else {
        return None;
    };
    let numbers = numbers(old, new);
    Some(if own == old {
        format!("{name} is named {} from ArduCopter 4.7 on{numbers}", new.name)
    } else {
        format!("{name} is named {} until ArduCopter 4.6{numbers}", old.name)
    })
}

/// Change of value that comes with the name.
fn numbers(old: &Name, new: &Name) -> String {
    match (old.encoding, new.encoding) {
        (Encoding::Bits, Encoding::SkippedBits) => " (checks that are done, now those that are skipped)".to_owned(),
        _ if old.unit == new.unit => String::new(),
        _ => format!(" ({}, now {})", old.unit, new.unit),
    }
}
