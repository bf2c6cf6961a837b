//! Options of `skein import` that apply to none of the given files: a mistake of the person.

use crate::args::import::{AreaPurpose, ImportArgs};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    Plan,
    Parameters,
    Areas,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    nature: Nature,
    has_mission: bool,
    has_selector: bool,
}

impl Taken {
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
