//! The status of a Mission.

use super::work::{Job, corner, ranges, write};
use crate::cluster::conditions::{exact_condition, shape};
use crds::Mission;
use crds::mission::{MissionStatus, NotFlown, TrackRange};
use fleet::planning::mission::Stretch;
use fleet::planning::mission::priority::MAX_WAITING_DRONES;
use fleet::planning::mission::progress::{Failure, Outcome, Step};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp, Unit};
use model::plan::PassedBeside;
use std::time::Duration;

/// Ranges listed that no vehicle has flown, of a Mission that has failed.
const MAX_UNFLOWN_RANGES: usize = 20;

/// Progress that is worth a write.
const PROGRESS_STEP_PERCENT: u8 = 25;

#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    pub mission: &'a Mission,
    /// As it was written last.
    pub old: &'a MissionStatus,
    pub job: Result<&'a Job, &'a str>,
    /// `None` for work that cannot be flown.
    pub step: Option<&'a Step>,
    pub drones: usize,
    /// Why the existing Drones do not fly, or none is made.
    pub waits: Option<&'a Waits>,
    /// How long the work left takes, if all goes well.
    pub left: Duration,
}

/// Why a Drone that has a vehicle does not fly, or none is made, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Its vehicle may not fly any part from where it is on the ground.
    Unfit(String),
    Airspace(String),
    /// A Mission of a higher priority waits for vehicles, or many Drones do, and no Drone is made.
    Priority(String),
    /// The API server refuses Drones.
    Refused(String),
    Planning(String),
}

impl Waits {
    /// The Mission with this name is first.
    pub(super) fn priority(mission: &str) -> Self {
        Self::Priority(format!("it waits for Mission {mission}, whose priority is higher"))
    }

    /// No Drone is made, as many of the namespace wait.
    pub(super) fn full() -> Self {
        Self::Priority(format!(
            "{MAX_WAITING_DRONES} Drones of Missions of its namespace wait for vehicles, as many as may, and no more are made; suspend or \
             delete other Missions, or add vehicles"
        ))
    }

    fn text(&self) -> &str {
        match self {
            Self::Unfit(why) | Self::Airspace(why) | Self::Priority(why) | Self::Refused(why) | Self::Planning(why) => {
                why
            }
        }
    }
}

const OUT_OF_REACH: &str =
    "move the work or a vehicle, or widen what forbids it (the coordinator's --station-reach, a Geofence)";

const SEE: &str = "see `kubectl get drones`";

pub fn next(known: &Known<'_>, now: Timestamp) -> MissionStatus {
    let generation = known.mission.metadata.generation.unwrap_or_default();
    let mut status = known.old.clone();
    status.observed_generation = Some(generation);
    let (job, step) = match (known.job, known.step) {
        (Ok(job), Some(step)) => (job, step),
        (Err(why), _) => {
            status.conditions = conditions(known, [("Progressing", false), ("Stalled", true)], "BadWork", why, now);
            return status;
        }
        (Ok(_), None) => return status,
    };
    let now_in_seconds = || Time(now.round(Unit::Second).unwrap_or(now));
    status.work = Some(job.digest.to_string());
    status.start_time = status.start_time.or_else(|| Some(now_in_seconds()));
    write(&step.progress, &mut status);
    let flown = step.progress.all_flown();
    let percent = job.work.percent(&flown);
    status.done = Some(format!("{percent}%"));
    status.estimated_completion_time = None;
    status.not_flown = Vec::new();
    let beside = passed_beside(step.progress.all_passed_beside());
    let patrol = known.mission.spec.repeat == crds::mission::Repeat::Forever;
    match &step.outcome {
        Outcome::Progressing => {
            let (reason, message) = going_on(known, step, percent);
            let message = match job.doubt {
                Some(doubt) => format!("{message}; {doubt}"),
                None => message,
            };
            let message = format!("{message}{beside}");
            // A patrol is never done, so one that flies is where it is to be.
            let underway = !patrol || step.progress.parts.is_empty();
            let of = if underway {
                &[("Progressing", true), ("Reconciling", true)][..]
            } else {
                &[("Progressing", true)][..]
            };
            status.conditions = conditions(known, of.iter().copied(), reason, &message, now);
            let left = SignedDuration::try_from(known.left).unwrap_or_default();
            status.estimated_completion_time = now
                .checked_add(left)
                .ok()
                .filter(|_| !patrol && !step.progress.parts.is_empty())
                .map(|at| Time(at.round(Unit::Second).unwrap_or(at)));
        }
        Outcome::Suspended => {
            let message = format!("{percent} percent is flown; set spec.suspend to false to go on from there{beside}");
            let of = [("Progressing", false), ("Suspended", true)];
            status.conditions = conditions(known, of, "Suspended", &message, now);
        }
        Outcome::Complete => {
            let times = step.progress.completed;
            let again = if times == 1 {
                String::new()
            } else {
                format!(", {times} times")
            };
            let message = format!("all of the work is flown{again}, by the vehicles' own account{beside}");
            status.completion_time = status.completion_time.or_else(|| Some(now_in_seconds()));
            let of = [("Progressing", false), ("Complete", true)];
            status.conditions = conditions(known, of, "Complete", &message, now);
        }
        Outcome::Failed(why) => {
            let left = step.progress.not_flown(&job.work);
            let place = |position: f64| job.work.place(position).map(corner).unwrap_or_default();
            let not_flown = |one: &Stretch| NotFlown {
                range: TrackRange {
                    from: one.from,
                    to: one.to,
                },
                begins: place(one.from),
                ends: place(one.to),
            };
            status.not_flown = left.all().iter().take(MAX_UNFLOWN_RANGES).map(not_flown).collect();
            let (reason, text) = failed(*why, known.mission, step);
            let message = format!(
                "{text}; {percent} percent is flown, and {:.0} m in {} ranges are not: see status.notFlown. Create another Mission for them{beside}",
                job.work.meters(&left),
                ranges(&left).len()
            );
            status.completion_time = status.completion_time.or_else(|| Some(now_in_seconds()));
            let of = [("Progressing", false), ("Failed", true), ("Stalled", true)];
            status.conditions = conditions(known, of, reason, &message, now);
        }
    }
    status
}

/// The end of a sentence; empty where there is none.
fn passed_beside(beside: PassedBeside) -> String {
    let places = match beside.places {
        0 => return String::new(),
        1 => "1 place was".to_owned(),
        places => format!("{places} places were"),
    };
    format!(
        "; {places} passed beside, up to {:.1} m away, farther than the acceptance radius allows: what was done there (photos, lines) is off \
         its place",
        beside.farthest.0
    )
}

/// The status before the first plan; `waits` is a clause.
pub fn planning(mission: &Mission, old: &MissionStatus, waits: &str, now: Timestamp) -> MissionStatus {
    let known = Known {
        mission,
        old,
        job: Err(""),
        step: None,
        drones: 0,
        waits: None,
        left: Duration::ZERO,
    };
    let of = [("Progressing", true), ("Reconciling", true)];
    MissionStatus {
        observed_generation: mission.metadata.generation,
        conditions: conditions(&known, of, "Planning", waits, now),
        ..old.clone()
    }
}

fn failed(why: Failure, mission: &Mission, step: &Step) -> (&'static str, String) {
    match why {
        Failure::BackoffLimit => {
            let last = step.gave_up.last().map_or_else(
                || "see its Events".to_owned(),
                |(drone, why)| format!("the last, Drone {drone}, {}", why.text()),
            );
            let text = format!(
                "vehicles failed {} times to fly their parts, more often than spec.backoffLimit = {}: {last}",
                step.progress.failures, mission.spec.backoff_limit
            );
            ("BackoffLimitExceeded", text)
        }
        Failure::Deadline => (
            "DeadlineExceeded",
            format!(
                "it has run for spec.activeDeadlineSeconds = {}",
                mission.spec.active_deadline_seconds.unwrap_or_default()
            ),
        ),
    }
}

fn going_on(known: &Known<'_>, step: &Step, percent: u8) -> (&'static str, String) {
    if let Some(why) = &step.cannot {
        return ("CannotShare", format!("the work cannot be shared: {why}"));
    }
    let parts = step.progress.parts.len();
    match (parts, known.waits) {
        (0, Some(Waits::Unfit(why))) => (
            "OutOfReach",
            format!("{percent} percent is flown; {why}: {OUT_OF_REACH}"),
        ),
        (0, Some(Waits::Airspace(why) | Waits::Priority(why))) => {
            ("Waiting", format!("{percent} percent is flown; {why}"))
        }
        (0, Some(Waits::Refused(why))) => ("Refused", format!("{percent} percent is flown; {why}")),
        (0, Some(Waits::Planning(why))) => ("Planning", format!("{percent} percent is flown; {why}")),
        (0, None) if !step.progress.refused.is_empty() => {
            ("PlanRefused", format!("{percent} percent is flown; {}", refused(step)))
        }
        (0, None) if known.drones == 0 => ("Waiting", "Drones are being made".to_owned()),
        (0, None) => (
            "Waiting",
            format!("{percent} percent is flown; its Drones wait for vehicles: {SEE}"),
        ),
        (_, Some(waits)) => ("Flying", format!("{}; {}", sharing(parts), waits.text())),
        (_, None) => ("Flying", sharing(parts)),
    }
}

/// Whose autopilot refused a plan last, in its words.
fn refused(step: &Step) -> String {
    let last = step.progress.refused.last();
    last.map_or_else(String::new, |one| {
        let times = match one.times {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        format!(
            "the vehicle of node {} refuses the plan{times}: {}; others are tried first, see status.refused",
            one.node, one.words
        )
    })
}

/// A clause.
fn sharing(parts: usize) -> String {
    match parts {
        1 => "1 vehicle has a part of the work".to_owned(),
        _ => format!("{parts} vehicles have parts of the work"),
    }
}

fn conditions(
    known: &Known<'_>,
    kinds: impl IntoIterator<Item = (&'static str, bool)>,
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Vec<Condition> {
    let generation = known.mission.metadata.generation.unwrap_or_default();
    let make = |(kind, value)| {
        exact_condition(
            &known.old.conditions,
            kind,
            Some(value),
            reason,
            message,
            generation,
            now,
        )
    };
    kinds.into_iter().map(make).collect()
}

/// Whether `new` is worth a write over `old`: positions, times and numbers in messages alone are not, before they have come far.
pub fn is_news(old: &MissionStatus, new: &MissionStatus) -> bool {
    let percent = |status: &MissionStatus| -> u8 {
        let text = status.done.as_deref().unwrap_or_default();
        text.trim_end_matches('%').parse().unwrap_or_default()
    };
    let (before, after) = (percent(old), percent(new));
    // The rest is written with what follows from it, a moment later.
    let far = (after.abs_diff(before) >= PROGRESS_STEP_PERCENT && after < 100) || old.done.is_none();
    let quiet = |status: &MissionStatus| {
        let mut quiet = status.clone();
        (quiet.done, quiet.estimated_completion_time) = (None, None);
        for part in &mut quiet.parts {
            part.flown.clear();
            (part.passed_beside, part.passed_beside_by_meters) = (0, 0.0);
        }
        (quiet.passed_beside, quiet.passed_beside_by_meters) = (quiet.passed_beside.min(1), 0.0);
        for condition in &mut quiet.conditions {
            condition.message = shape(&condition.message);
        }
        quiet
    };
    far || quiet(old) != quiet(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::planning::mission::progress::{Part, Progress, Why};
    use fleet::planning::mission::{Stretch, Stretches};
    use model::units::Wgs84;
    use serde_json::json;

    fn mission(spec: serde_json::Value) -> Mission {
        let mut spec = spec;
        let waypoint =
            |east: f64| json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5 + east, "altitudeMeters": 20});
        spec["route"] = json!({"waypoints": [waypoint(0.0), waypoint(0.001), waypoint(0.002)]});
        let mut mission = Mission::new("field", serde_json::from_value(spec).unwrap());
        mission.metadata.generation = Some(3);
        mission
    }

    fn set(from: f64, to: f64) -> Stretches {
        Stretches::new([Stretch { from, to }])
    }

    fn step(outcome: Outcome, flown: Stretches, part: Option<f64>) -> Step {
        let part = part.map(|to| Part {
            drone: "field-a".into(),
            stretches: set(0.0, 2.0),
            flown: set(0.0, to),
            start: Wgs84 {
                latitude_deg: 47.4,
                longitude_deg: 8.5,
            },
            layer: 0,
            relief: None,
            ahead: 0,
            plan: None,
            passed_beside: PassedBeside::default(),
        });
        Step {
            progress: Progress {
                completed: 1,
                flown,
                parts: part.into_iter().collect(),
                failures: 7,
                ..Progress::default()
            },
            create: 0,
            delete: vec![("field-a".into(), Why::Halted)],
            gave_up: Vec::new(),
            outcome,
            cannot: None,
            is_waiting: false,
        }
    }

    fn make(mission: &Mission, old: &MissionStatus, step: &Step) -> MissionStatus {
        let job = Job::of(&mission.spec, None).unwrap();
        let known = Known {
            mission,
            old,
            job: Ok(&job),
            step: Some(step),
            drones: 1,
            waits: None,
            left: Duration::from_secs(90),
        };
        next(&known, Timestamp::UNIX_EPOCH)
    }

    fn is(status: &MissionStatus, kind: &str) -> Option<(String, String, String)> {
        let found = status.conditions.iter().find(|condition| condition.type_ == kind)?;
        Some((found.status.clone(), found.reason.clone(), found.message.clone()))
    }

    #[test]
    fn one_that_has_failed_says_what_was_not_flown_and_why() {
        let mut failed = step(Outcome::Failed(Failure::BackoffLimit), set(0.0, 1.0), None);
        failed.gave_up = vec![(
            "field-a".into(),
            Why::Refused("Geofence violation for waypoint 2".into()),
        )];
        let status = make(&mission(json!({})), &MissionStatus::default(), &failed);
        let (value, reason, message) = is(&status, "Failed").unwrap();
        assert_eq!((value.as_str(), reason.as_str()), ("True", "BackoffLimitExceeded"));
        assert_eq!(
            message,
            "vehicles failed 7 times to fly their parts, more often than spec.backoffLimit = 6: the last, Drone field-a, has an autopilot \
             that refuses the plan: Geofence violation for waypoint 2; 50 percent is flown, and 75 m in 1 ranges are not: see \
             status.notFlown. Create another Mission for them"
        );
        let [left] = &status.not_flown[..] else {
            panic!("{status:?}")
        };
        assert_eq!((left.range.from, left.range.to), (1.0, 2.0));
        assert!((left.ends.longitude_degrees - 8.502).abs() < 1e-6);
        assert!(status.completion_time.is_some() && is(&status, "Stalled").is_some());
    }

    #[test]
    fn one_that_no_vehicle_may_fly_says_so_and_what_to_do() {
        let mission = mission(json!({}));
        let job = Job::of(&mission.spec, None).unwrap();
        let said = |waits: &Waits, part: Option<f64>| {
            let step = step(Outcome::Progressing, Stretches::default(), part);
            let known = Known {
                mission: &mission,
                old: &MissionStatus::default(),
                job: Ok(&job),
                step: Some(&step),
                drones: 1,
                waits: Some(waits),
                left: Duration::ZERO,
            };
            let (_, reason, message) = is(&next(&known, Timestamp::UNIX_EPOCH), "Progressing").unwrap();
            (reason, message)
        };
        let unfit = Waits::Unfit("Drone field-a has no part: it is too far".to_owned());
        assert_eq!(
            said(&unfit, None),
            (
                "OutOfReach".to_owned(),
                "0 percent is flown; Drone field-a has no part: it is too far: move the work or a vehicle, or widen what forbids it \
                 (the coordinator's --station-reach, a Geofence)"
                    .to_owned()
            )
        );
        let airspace = Waits::Airspace("Drone field-a waits for airspace".to_owned());
        assert_eq!(said(&airspace, None).0, "Waiting");
        // Others fly it.
        assert_eq!(said(&unfit, Some(0.5)).0, "Flying");
    }

    #[test]
    fn a_doubt_about_the_work_is_said_while_it_is_flown() {
        let mission = mission(json!({}));
        let job = Job {
            doubt: Some("compare them with the ground"),
            ..Job::of(&mission.spec, None).unwrap()
        };
        let step = step(Outcome::Progressing, Stretches::default(), Some(0.5));
        let known = Known {
            mission: &mission,
            old: &MissionStatus::default(),
            job: Ok(&job),
            step: Some(&step),
            drones: 1,
            waits: None,
            left: Duration::ZERO,
        };
        let (_, _, message) = is(&next(&known, Timestamp::UNIX_EPOCH), "Progressing").unwrap();
        assert_eq!(
            message,
            "1 vehicle has a part of the work; compare them with the ground"
        );
    }

    #[test]
    fn one_whose_places_were_passed_beside_does_not_complete_in_silence() {
        let mut done = step(Outcome::Complete, set(0.0, 2.0), None);
        let clean = make(&mission(json!({})), &MissionStatus::default(), &done);
        let (_, _, message) = is(&clean, "Complete").unwrap();
        assert_eq!(message, "all of the work is flown, by the vehicles' own account");
        done.progress.passed_beside = PassedBeside {
            places: 3,
            farthest: model::units::Meters(9.64),
        };
        let status = make(&mission(json!({})), &MissionStatus::default(), &done);
        assert_eq!((status.passed_beside, status.passed_beside_by_meters), (3, 9.6));
        let (_, _, message) = is(&status, "Complete").unwrap();
        assert_eq!(
            message,
            "all of the work is flown, by the vehicles' own account; 3 places were passed beside, up to 9.6 m away, farther than the \
             acceptance radius allows: what was done there (photos, lines) is off its place"
        );
        let mut more = status.clone();
        (more.passed_beside, more.passed_beside_by_meters) = (4, 9.9);
        assert!(is_news(&clean, &status) && !is_news(&status, &more));
    }

    #[test]
    fn a_number_in_a_message_is_no_news_alone_and_is_the_one_of_now_where_there_is_news() {
        let mission = mission(json!({}));
        let of = |old: &MissionStatus, flown: f64, parts: usize| {
            let mut step = step(Outcome::Progressing, Stretches::default(), Some(flown));
            let one = step.progress.parts[0].clone();
            step.progress.parts = vec![one; parts];
            make(&mission, old, &step)
        };
        let message = |status: &MissionStatus| is(status, "Progressing").unwrap().2;
        let two = of(&MissionStatus::default(), 0.1, 2);
        assert_eq!(message(&two), "2 vehicles have parts of the work");
        let three = of(&two, 0.1, 3);
        assert_eq!(message(&three), "3 vehicles have parts of the work");
        assert!(is_news(&two, &three));
        let mut recounted = two.clone();
        for condition in &mut recounted.conditions {
            condition.message = condition.message.replace('2', "3");
        }
        assert!(!is_news(&two, &recounted));
    }

    #[test]
    fn progress_is_written_each_quarter_and_changes_of_hands_at_once() {
        let mission = mission(json!({}));
        let at = |old: &MissionStatus, to: f64| {
            make(
                &mission,
                old,
                &step(Outcome::Progressing, Stretches::default(), Some(to)),
            )
        };
        let begun = at(&MissionStatus::default(), 0.1);
        assert!(is_news(&MissionStatus::default(), &begun));
        assert!(!is_news(&begun, &at(&begun, 0.4)), "a fifth is no quarter");
        let farther = at(&begun, 0.7);
        assert!(is_news(&begun, &farther));
        assert_eq!(farther.done.as_deref(), Some("35%"));
        let over = make(&mission, &farther, &step(Outcome::Progressing, set(0.0, 0.7), None));
        assert!(is_news(&farther, &over));
        assert_eq!(farther.estimated_completion_time.unwrap().0.as_second(), 90);
        // Ten writes at most: each quarter, and when a part begins and ends.
        let mut written = MissionStatus::default();
        let mut writes = 0;
        for number in 0..=1000 {
            let new = at(&written, f64::from(number) / 500.0);
            if is_news(&written, &new) {
                (written, writes) = (new, writes + 1);
            }
        }
        assert!(writes <= 6, "{writes}");
    }

    #[test]
    fn tools_that_wait_see_one_that_is_under_way_done_or_stuck() {
        let kinds = |status: &MissionStatus| -> Vec<String> {
            let all = status
                .conditions
                .iter()
                .map(|condition| format!("{}={}", condition.type_, condition.status));
            all.collect()
        };
        let mission = mission(json!({}));
        let of = |outcome, flown, part| kinds(&make(&mission, &MissionStatus::default(), &step(outcome, flown, part)));
        let flying = of(Outcome::Progressing, Stretches::default(), Some(0.5));
        assert_eq!(flying, ["Progressing=True", "Reconciling=True"]);
        assert_eq!(
            of(Outcome::Complete, set(0.0, 2.0), None),
            ["Progressing=False", "Complete=True"]
        );
        assert_eq!(
            of(Outcome::Suspended, set(0.0, 1.0), None),
            ["Progressing=False", "Suspended=True"]
        );
        let known = Known {
            mission: &mission,
            old: &MissionStatus::default(),
            job: Err("spec.route: bad"),
            step: None,
            drones: 0,
            waits: None,
            left: Duration::ZERO,
        };
        let status = next(&known, Timestamp::UNIX_EPOCH);
        assert_eq!(kinds(&status), ["Progressing=False", "Stalled=True"]);
        assert_eq!(status.observed_generation, Some(3));
    }
}
