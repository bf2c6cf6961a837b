//! Options of `skein import` that say something about the files that are given: one that says nothing is a mistake of the person.

use crate::args::import::{AreaPurpose, ImportArgs};
use serde_json::Value;

/// Kind that a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// A plan, a fence or rally points of a ground station.
    Plan,
    /// Parameters.
    Parameters,
    /// Areas of a map.
    Areas,
}

/// A file that was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    nature: Nature,
    /// A Mission was made of it.
    has_mission: bool,
    /// An object was made of it that holds for certain Vehicles.
    has_selector: bool,
}

impl Taken {
    /// A file of which `made` became.
    pub fn of<'a>(nature: Nature, made: impl Iterator<Item = &'a Value> + Clone) -> Self {
        Self {
            nature,
            has_mission: made.clone().any(|document| document["kind"] == "Mission"),
            has_selector: made
                .clone()
                .any(|document| !document["spec"]["vehicleSelector"].is_null()),
        }
    }
}

/// A sentence for each option that fits none of the files.
pub(super) fn misfits(args: &ImportArgs, taken: &[Taken]) -> Vec<String> {
    const MISSION: &str = "a mission of a ground station that becomes a Mission";
    const SURVEY: &str = "areas of a map that become surveys (--as survey)";
    const PARAMETERS: &str = "a parameter file";
    let any = |fits: &dyn Fn(&Taken) -> bool| taken.iter().any(fits);
    let mission = any(&|file| file.nature == Nature::Plan && file.has_mission);
    let areas = any(&|file| file.nature == Nature::Areas);
    let surveys = areas && args.purpose == Some(AreaPurpose::Survey);
    let parameters = any(&|file| file.nature == Nature::Parameters);
    let selector = any(&|file| file.has_selector);
    let choices = &args.mission;
    let options = [
        ("--keep-items", choices.keep_items, mission, MISSION),
        ("--leave-out", choices.leave_out, mission, MISSION),
        ("--above-home", choices.above_home, mission, MISSION),
        ("--as", args.purpose.is_some(), areas, "areas of a map"),
        ("--altitude", args.altitude.is_some(), surveys, SURVEY),
        ("--spacing", args.spacing.is_some(), surveys, SURVEY),
        ("--autopilot", args.autopilot.is_some(), parameters, PARAMETERS),
        ("--only", !args.only.is_empty(), parameters, PARAMETERS),
        (
            "--vehicles",
            !args.vehicles.is_empty(),
            selector,
            "what becomes a Geofence or a ParameterProfile",
        ),
    ];
    let misfits = options.into_iter().filter(|(_, given, fits, _)| *given && !fits);
    misfits
        .map(|(option, _, _, what)| format!("{option} is for {what}, and none of that is given; leave it out"))
        .collect()
}
