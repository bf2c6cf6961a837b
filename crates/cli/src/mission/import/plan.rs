//! A ground station's file as a Mission, of a route or of unchanged items, and a Geofence.

use super::objects::{Objects, refused, suffixed};
use super::{File, wants};
use crate::args::import::{ImportArgs, Kind};
use crate::failure::Failure;
use crate::mission::manifest::failed;
use crate::mission::{json_of, named, shortest};
use crds::mission::{ConfigMapKey, PlanFrom, Route};
use crds::{Mission, MissionSpec};
use fleet::planning::mission::Work;
use k8s_openapi::api::core::v1::ConfigMap;
use model::plan::flight::{BadPlan, check_item};
use model::plan::item::{self, Item};
use plan_files::check::{self, Problem};
use plan_files::route::{self, LeftOut, Routed};
use plan_files::{Format, NotTaken, Plan};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The API server takes no larger ConfigMap.
const MAX_CONFIG_MAP_BYTES: usize = 1024 * 1024;

const MAX_NAMED: usize = 6;

pub(super) fn import(
    file: &File<'_>,
    plan: &Plan,
    text: &str,
    args: &ImportArgs,
    objects: &mut Objects,
) -> Result<(), Failure> {
    let made = objects.documents.len();
    let (missions, fences) = (wants(args, Kind::Mission), wants(args, Kind::Geofence));
    let has_mission = !plan.file.items.is_empty();
    objects.notes.extend(plan.notes.iter().cloned());
    if has_mission && missions {
        if fences {
            objects.notes.extend(check::outside_fence(plan));
        }
        objects.notes.extend(check::maybe_of_plane(plan));
        mission(file, plan, text, args, objects)?;
    } else if has_mission {
        objects
            .notes
            .push(format!("left out: the mission ({} items)", plan.file.items.len()));
    }
    for part in &plan.file.not_taken {
        match part {
            NotTaken::Geofence { .. } if fences => {
                let name = if has_mission {
                    suffixed(&file.name, "-fence", args)
                } else {
                    file.name.clone()
                };
                objects.fence(&name, &plan.fence, args)?;
            }
            NotTaken::Geofence { .. } => objects
                .notes
                .push(format!("{part}; skein import takes it, unless --kind leaves it out")),
            // An error instead, for a file with nothing else.
            NotTaken::RallyPoints(_) if !has_mission && plan.fence.shapes.is_empty() => {}
            NotTaken::RallyPoints(_) => objects
                .notes
                .push(format!("{part}: Skein brings vehicles home to where they took off")),
        }
    }
    if objects.documents.len() == made {
        let what = match (has_mission, plan.fence.shapes.is_empty(), plan.rally) {
            (true, ..) => "a mission, which --kind leaves out",
            (_, false, _) => "a geofence only; skein import takes it, unless --kind leaves it out",
            (_, true, 0) => "no items, no fence and no rally points; save it again",
            (_, true, _) => {
                "rally points only, and Skein brings vehicles home to where they took off; import a file with a mission or a fence"
            }
        };
        return Err(Failure::Failed(format!("the file has {what}")));
    }
    Ok(())
}

fn mission(file: &File<'_>, plan: &Plan, text: &str, args: &ImportArgs, objects: &mut Objects) -> Result<(), Failure> {
    let choices = &args.mission;
    if choices.keep_items {
        objects.notes.extend(check::home_unknown(plan));
        objects.notes.extend(check::far_above_home(plan));
        let left_out = route::route(plan, true).map_or_else(|refusal| refusal.left_out, |routed| routed.left_out);
        let gone = left_out.iter().filter(|left| route::is_never_flown(left));
        objects.notes.extend(gone.map(|left| note(plan, left)));
        objects.notes.extend(route::home_and_landing(plan));
        return unchanged(file, plan, text, objects);
    }
    let raised;
    let plan = if choices.above_home {
        raised = route::above_home(plan.clone());
        &raised
    } else {
        plan
    };
    objects.notes.extend(check::home_unknown(plan));
    objects.notes.extend(check::far_above_home(plan));
    match route::route(plan, choices.leave_out) {
        Ok(routed) => of_route(file, plan, &routed, objects),
        Err(refusal) => {
            let trimmed = route::trimmed(plan, &refusal.left_out);
            let kept: Vec<String> = refusal.problems.iter().filter_map(kept_item).collect();
            let is_kept = |problem: &Problem| may_be_kept(plan, problem);
            let wrong: Vec<Problem> = refusal.problems.into_iter().filter(|one| !is_kept(one)).collect();
            if !wrong.is_empty() {
                return Err(refused(&wrong));
            }
            if !route::unchanged(&trimmed).is_empty() {
                let against = route::unchanged(&blanked(plan, &refusal.left_out));
                return Err(not_kept(&kept, &against));
            }
            let is_gone = |left: &&LeftOut| route::is_trimmed(left) || route::is_never_flown(left);
            let gone: Vec<&LeftOut> = refusal.left_out.iter().filter(is_gone).collect();
            let how = if gone.is_empty() {
                "kept unchanged"
            } else {
                "kept, except those named as left out,"
            };
            objects.notes.push(format!(
                "the items are {how} and flown by one vehicle at a time, as a route does not have {}; make a route without them with --leave-out",
                kept.join(", ")
            ));
            objects.notes.extend(gone.into_iter().map(|left| note(plan, left)));
            objects.notes.extend(route::home_and_landing(plan));
            if trimmed.file.items.len() == plan.file.items.len() && !choices.above_home {
                return unchanged(file, plan, text, objects);
            }
            let written = plan_files::write(&trimmed.file, Format::Plan);
            config_map(file, "mission.plan", written, objects)
        }
    }
}

/// Whether `problem` is of an item that no route has, but unchanged items may.
fn may_be_kept(plan: &Plan, problem: &Problem) -> bool {
    let Problem::Unroutable { item, .. } = problem else {
        return false;
    };
    let found = plan.file.items.get(item.number);
    found.is_some_and(|found| !matches!(check_item(item.number, found), Err(BadPlan::Command { .. })))
}

/// As [`route::trimmed`], with the numbers of the file.
fn blanked(plan: &Plan, left_out: &[LeftOut]) -> Plan {
    let mut plan = plan.clone();
    let gone = left_out.iter().filter(|left| route::is_trimmed(left));
    for number in gone.flat_map(|left| &left.items) {
        if let Some(gone) = plan.file.items.get_mut(*number) {
            *gone = Item {
                command: item::DO_SET_CAM_TRIGG_DIST,
                frame: item::FRAME_MISSION,
                params: [Some(0.0); 7],
                goes_on: true,
            };
        }
    }
    plan
}

fn not_kept(kept: &[String], against: &[Problem]) -> Failure {
    let mut lines: Vec<String> = check::summary(against)
        .into_iter()
        .map(|why| format!("the items cannot be kept unchanged: {why}"))
        .collect();
    lines.push(format!(
        "a route does not have {}; mend what is said above to keep the items unchanged, or make a route without them with --leave-out",
        kept.join(", ")
    ));
    Failure::Failed(lines.join("\n"))
}

fn kept_item(problem: &Problem) -> Option<String> {
    match problem {
        Problem::Unroutable { item, .. } => Some(item.to_string()),
        _ => None,
    }
}

fn of_route(file: &File<'_>, plan: &Plan, routed: &Routed, objects: &mut Objects) -> Result<(), Failure> {
    let route = model::plan::Route::new(routed.waypoints.clone()).map_err(|error| failed(&error))?;
    Work::of_route(&route).map_err(|error| failed(&error))?;
    let spec = MissionSpec {
        route: Some(Route::of_waypoints(&routed.waypoints)),
        ..MissionSpec::default()
    };
    push(file, &spec, None, objects)?;
    objects
        .notes
        .extend(routed.left_out.iter().map(|left| note(plan, left)));
    objects.notes.extend(routed.notes.iter().cloned());
    Ok(())
}

fn note(plan: &Plan, left: &LeftOut) -> String {
    let mut items: Vec<String> = left
        .items
        .iter()
        .take(MAX_NAMED)
        .map(|item| plan.item(*item).to_string())
        .collect();
    if left.items.len() > MAX_NAMED {
        items.push(format!("and {} more", left.items.len() - MAX_NAMED));
    }
    format!(
        "left out: {} ({}): {}; {}",
        left.what,
        left.items.len(),
        left.why,
        items.join(", ")
    )
}

/// Refuses what no Mission flies.
fn unchanged(file: &File<'_>, plan: &Plan, text: &str, objects: &mut Objects) -> Result<(), Failure> {
    let problems = route::unchanged(plan);
    if !problems.is_empty() {
        let mut lines = check::summary(&problems);
        if route::route(plan, false).is_ok() {
            lines.push("leave out --keep-items, and the file becomes a route".to_owned());
        } else if route::route(plan, true).is_ok() {
            lines.push("or make a route of the file, without such items, with --leave-out".to_owned());
        }
        return Err(Failure::Failed(lines.join("\n")));
    }
    let key = file
        .path
        .file_name()
        .map_or("mission".into(), |name| name.to_string_lossy());
    let key: String = key
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter))
        .collect();
    let key = if key.is_empty() || key == "-" {
        "mission".to_owned()
    } else {
        key
    };
    config_map(file, &key, text.to_owned(), objects)
}

fn config_map(file: &File<'_>, key: &str, text: String, objects: &mut Objects) -> Result<(), Failure> {
    if text.len() > MAX_CONFIG_MAP_BYTES {
        return Err(Failure::Failed(format!(
            "the file has {} bytes, more than a ConfigMap holds (1 MiB); divide the mission",
            text.len()
        )));
    }
    let map = json_of(&ConfigMap {
        metadata: named(&file.name),
        data: Some(BTreeMap::from([(key.to_owned(), text)])),
        ..ConfigMap::default()
    })?;
    let spec = MissionSpec {
        plan_from: Some(PlanFrom {
            config_map_key_ref: ConfigMapKey {
                name: file.name.clone(),
                key: key.to_owned(),
            },
        }),
        ..MissionSpec::default()
    };
    push(file, &spec, Some(map), objects)
}

fn push(file: &File<'_>, spec: &MissionSpec, map: Option<Value>, objects: &mut Objects) -> Result<(), Failure> {
    let document = json!({
        "apiVersion": "skein.dev/v1alpha1",
        "kind": "Mission",
        "metadata": {"name": file.name},
        "spec": shortest(spec)?,
    });
    objects.judge.judged::<Mission>(&document)?;
    for document in map.into_iter().chain([document]) {
        objects.push(document);
    }
    Ok(())
}
