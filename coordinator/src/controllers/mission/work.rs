//! The work and the progress of a Mission, as types of `fleet`.

use crds::mission::{Corner, MissionStatus, PartStatus, PlanStatus, RefusedStatus, ReliefStatus, Repeat, TrackRange};
use crds::{Mission, MissionSpec};
use fleet::planning::mission::progress::{Halt, Part, PartPlan, Progress, Refused, Relief, Wanted};
use fleet::planning::mission::{Stretch, Stretches, Work};
use model::ids::NodeName;
use model::plan::item::Item;
use model::plan::{PassedBeside, PlanDigest};
use model::station::Altitude;
use model::units::{Meters, Wgs84};
use plan_files::Plan;
use plan_files::check::home_unknown;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The work of a file, or why there is none, in a sentence.
pub type File = Result<Arc<FileWork>, String>;

/// The work of the text of a file. Equal texts give equal work.
#[derive(Debug)]
pub struct FileWork {
    pub(super) digest: String,
    /// An item that moves something on board.
    pub(super) moves: Option<&'static str>,
    pub is_readable: bool,
    pub job: Result<Job, String>,
}

impl PartialEq for FileWork {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl FileWork {
    /// Takes time.
    pub fn of(text: &str) -> Self {
        // More people read a Mission's status than the ConfigMap with its file.
        let plan = plan_files::read_plan(text);
        let plan = plan.map_err(|why| format!("spec.planFrom: {}", why.without_content()));
        let mover = |plan: &Plan| {
            let items = &plan.file.items;
            items.iter().find(|item| item.moves_actuator()).map(Item::name)
        };
        let doubt = |plan: &Plan| home_unknown(plan).map(|_| HOME_UNKNOWN);
        Self {
            digest: digest(text),
            moves: plan.as_ref().ok().and_then(mover),
            is_readable: plan.is_ok(),
            job: plan.and_then(|plan| {
                let job = Job::of_items(&plan.file.items)?;
                Ok(Job {
                    doubt: doubt(&plan),
                    ..job
                })
            }),
        }
    }

    pub fn bad(text: &str, why: &str) -> Self {
        Self {
            digest: digest(text),
            moves: None,
            is_readable: false,
            job: Err(format!("spec.planFrom: {why}")),
        }
    }
}

/// SHA-256, in hexadecimal digits.
pub(super) fn digest(text: &str) -> String {
    let digits = Sha256::digest(text.as_bytes());
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Clone, Debug)]
pub struct Job {
    pub work: Arc<Work>,
    pub digest: WorkDigest,
    /// Takeoff altitude, meters above home.
    pub takeoff: f64,
    /// A doubt that only a person can resolve, in a clause. It quotes nothing of its file.
    pub doubt: Option<&'static str>,
}

const HOME_UNKNOWN: &str = "altitudes of the file are above mean sea level, and it does not say how high home is: compare them with the \
                            ground there";

const TAKEOFF_ALTITUDE_LIMITS_M: (f64, f64) = (2.0, 120.0);

const CHANGED: &str = "the work of a Mission that has begun cannot change; put spec.route, spec.survey or the file of spec.planFrom back, or \
                       create another Mission";

pub const PLANNED_OTHERWISE: &str = "the lines of the survey are planned otherwise by this version of the coordinator than by the one that began it, so \
                                 which of them are flown is not known; create another Mission, or have the version before finish it";

const MAX_AUTOPILOT_TEXT_CHARS: usize = 1024;

/// Where the work's altitudes are not above home.
const DEFAULT_TAKEOFF_ALTITUDE_M: f64 = 10.0;

const ONE_AT_A_TIME: &str = "the items of a file are flown by one vehicle at a time; set spec.parallelism to 1, or make the file a route with \
                             `skein mission import`";

/// A name of work, as the status of its Mission has it: both digests, with a `-` between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDigest {
    /// The route, the survey or the items that are asked for.
    pub asked_for: String,
    /// The lines of a survey: other versions of the program plan other lines.
    pub lines: Option<String>,
}

impl WorkDigest {
    /// As it is written down; early versions wrote only the first digest.
    pub fn parse(text: &str) -> Self {
        let (asked_for, lines) = text
            .split_once('-')
            .map_or((text, None), |(one, other)| (one, Some(other)));
        Self {
            asked_for: asked_for.to_owned(),
            lines: lines.map(str::to_owned),
        }
    }
}

impl fmt::Display for WorkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.lines {
            None => f.write_str(&self.asked_for),
            Some(lines) => write!(f, "{}-{lines}", self.asked_for),
        }
    }
}

/// Names the route or the survey that `spec` asks for. The error is a sentence.
pub fn asked_for(spec: &MissionSpec) -> Result<String, String> {
    let said = serde_json::to_vec(&(&spec.route, &spec.survey)).map_err(|why| sentence("spec", &why))?;
    let digits = Sha256::digest(said);
    Ok(digits.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

impl Job {
    /// The work of `spec`; with the `file` that it names, or why there is none. The error is a sentence.
    pub fn of(spec: &MissionSpec, file: Option<&File>) -> Result<Self, String> {
        let work = match (&spec.route, &spec.survey) {
            (Some(route), _) => {
                let route = route.to_route().map_err(|why| sentence("spec.route", &why))?;
                Work::of_route(&route).map_err(|why| sentence("spec.route", &why))?
            }
            (None, Some(survey)) => {
                let survey = survey.to_survey().map_err(|why| sentence("spec.survey", &why))?;
                Work::of_survey(&survey).map_err(|why| sentence("spec.survey", &why))?
            }
            (None, None) => {
                let file = file.ok_or_else(|| "the mission file was not read yet".to_owned())?;
                let file = file.as_ref().map_err(|why| format!("spec.planFrom: {why}"))?;
                if file.is_readable && spec.parallelism > 1 {
                    return Err(ONE_AT_A_TIME.to_owned());
                }
                return file.job.clone();
            }
        };
        let digest = WorkDigest {
            asked_for: asked_for(spec)?,
            lines: spec.survey.is_some().then(|| work.track().digest()),
        };
        Ok(Self::flown(work, digest))
    }

    /// The work of a mission file. The error is a sentence.
    pub fn of_items(items: &[Item]) -> Result<Self, String> {
        let work = Work::of_items(items).map_err(|why| sentence("spec.planFrom", &why))?;
        let digest = WorkDigest {
            asked_for: PlanDigest::of(items).0,
            lines: None,
        };
        Ok(Self::flown(work, digest))
    }

    fn flown(work: Work, digest: WorkDigest) -> Self {
        let takeoff = match work.track().points().first().map(|point| point.altitude) {
            Some(Altitude::AboveHome(height)) => {
                height.0.clamp(TAKEOFF_ALTITUDE_LIMITS_M.0, TAKEOFF_ALTITUDE_LIMITS_M.1)
            }
            Some(Altitude::Amsl(_)) | None => DEFAULT_TAKEOFF_ALTITUDE_M,
        };
        Self {
            work: Arc::new(work),
            digest,
            takeoff,
            doubt: None,
        }
    }

    /// `None` when this is the work that was `begun`.
    pub fn is_not(&self, begun: &str) -> Option<&'static str> {
        let begun = WorkDigest::parse(begun);
        match () {
            () if begun == self.digest => None,
            () if begun.asked_for == self.digest.asked_for => Some(PLANNED_OTHERWISE),
            () => Some(CHANGED),
        }
    }
}

fn sentence(what: &str, why: &dyn Error) -> String {
    let mut text = format!("{what}: {why}");
    let mut source = why.source();
    while let Some(why) = source {
        text = format!("{text}: {why}");
        source = why.source();
    }
    text
}

/// The request of a Mission that has run for `running`.
pub fn wanted(mission: &Mission, running: Option<Duration>) -> Wanted {
    let spec = &mission.spec;
    let count = |n: i32| u32::try_from(n).unwrap_or_default();
    let limit = spec
        .active_deadline_seconds
        .map(|limit| Duration::from_secs(u64::from(count(limit))));
    let late = limit.zip(running).is_some_and(|(limit, running)| running >= limit);
    let overlap = spec.handover.as_ref().map_or(0, |handover| handover.overlap_seconds);
    Wanted {
        parallelism: usize::try_from(spec.parallelism).unwrap_or(1).max(1),
        completions: (spec.repeat == Repeat::Once).then(|| count(spec.completions).max(1)),
        backoff_limit: count(spec.backoff_limit),
        overlap_seconds: f64::from(overlap),
        layer_height: Meters(spec.altitude_step_meters),
        halt: match () {
            () if mission.metadata.deletion_timestamp.is_some() => Some(Halt::Deleted),
            () if late => Some(Halt::Deadline),
            () if spec.suspend => Some(Halt::Suspended),
            () => None,
        },
        gathering: false,
        may_create: true,
        grounded: false,
    }
}

/// How many rounds come before the one of `part`. Older coordinators only write that there are some.
fn rounds_ahead(part: &PartStatus) -> u8 {
    let rounds = u8::try_from(part.rounds_ahead).unwrap_or_default();
    if part.ahead { rounds.max(1) } else { 0 }
}

pub fn read(status: &MissionStatus) -> Progress {
    let count = |n: i32| u32::try_from(n).unwrap_or_default();
    let part = |part: &PartStatus| Part {
        drone: part.drone.clone(),
        stretches: stretches(&part.ranges),
        flown: stretches(&part.flown),
        start: Wgs84 {
            latitude_deg: part.start.latitude_degrees,
            longitude_deg: part.start.longitude_degrees,
        },
        layer: u8::try_from(part.layer).unwrap_or_default(),
        relief: part.relief.as_ref().map(|relief| Relief {
            drone: relief.drone.clone(),
            from: relief.from,
            beside: relief.beside,
        }),
        ahead: rounds_ahead(part),
        plan: part.plan.as_ref().map(|plan| PartPlan {
            digest: PlanDigest(plan.digest.clone()),
            raised: Meters(plan.raised_meters),
        }),
        passed_beside: PassedBeside {
            places: count(part.passed_beside),
            farthest: Meters(part.passed_beside_by_meters),
        },
    };
    let refused = |one: &RefusedStatus| {
        Some(Refused {
            node: NodeName::parse(&one.node).ok()?,
            times: count(one.times),
            words: one.message.clone(),
        })
    };
    let of_parts = status.parts.iter().map(|part| count(part.passed_beside));
    let of_parts = of_parts.fold(0, u32::saturating_add);
    Progress {
        completed: count(status.completed),
        flown: stretches(&status.flown),
        parts: status.parts.iter().map(part).collect(),
        failures: count(status.failures),
        refused: status.refused.iter().filter_map(refused).collect(),
        passed_beside: PassedBeside {
            places: count(status.passed_beside).saturating_sub(of_parts),
            farthest: Meters(status.passed_beside_by_meters),
        },
    }
}

pub fn write(progress: &Progress, status: &mut MissionStatus) {
    let small = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    let part = |part: &Part| PartStatus {
        drone: part.drone.clone(),
        ranges: ranges(&part.stretches),
        flown: ranges(&part.flown),
        start: corner(part.start),
        layer: i32::from(part.layer),
        relief: part.relief.as_ref().map(|relief| ReliefStatus {
            drone: relief.drone.clone(),
            from: relief.from,
            beside: relief.beside,
        }),
        ahead: part.ahead > 0,
        rounds_ahead: i32::from(part.ahead),
        plan: part.plan.as_ref().map(|plan| PlanStatus {
            digest: plan.digest.0.clone(),
            raised_meters: plan.raised.0,
        }),
        passed_beside: small(part.passed_beside.places),
        passed_beside_by_meters: in_tenths(part.passed_beside.farthest),
    };
    let beside = progress.all_passed_beside();
    status.passed_beside = small(beside.places);
    status.passed_beside_by_meters = in_tenths(beside.farthest);
    status.completed = small(progress.completed);
    status.failures = small(progress.failures);
    status.flown = ranges(&progress.flown);
    status.parts = progress.parts.iter().map(part).collect();
    let refused = |one: &Refused| RefusedStatus {
        node: one.node.to_string(),
        times: small(one.times),
        message: one.words.chars().take(MAX_AUTOPILOT_TEXT_CHARS).collect(),
    };
    status.refused = progress.refused.iter().map(refused).collect();
    status.vehicles = i32::try_from(progress.parts.len()).unwrap_or(i32::MAX);
}

fn in_tenths(distance: Meters) -> f64 {
    (distance.0 * 10.0).round() / 10.0
}

pub const fn corner(at: Wgs84) -> Corner {
    Corner {
        latitude_degrees: at.latitude_deg,
        longitude_degrees: at.longitude_deg,
    }
}

/// To a ten-millionth of a degree, so that the text reads back as the same.
pub fn rounded(at: Wgs84) -> Wgs84 {
    let to = |degrees: f64| (degrees * 1e7).round() / 1e7;
    Wgs84 {
        latitude_deg: to(at.latitude_deg),
        longitude_deg: to(at.longitude_deg),
    }
}

pub fn ranges(stretches: &Stretches) -> Vec<TrackRange> {
    let range = |one: &Stretch| TrackRange {
        from: one.from,
        to: one.to,
    };
    stretches.all().iter().map(range).collect()
}

fn stretches(ranges: &[TrackRange]) -> Stretches {
    Stretches::new(ranges.iter().map(|range| Stretch {
        from: range.from,
        to: range.to,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mission(spec: serde_json::Value) -> Mission {
        Mission::new("field", serde_json::from_value(spec).unwrap())
    }

    fn route() -> serde_json::Value {
        let waypoint =
            |east: f64| json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5 + east, "altitudeMeters": 20.5});
        json!({"waypoints": [waypoint(0.0), waypoint(0.001), waypoint(0.002)]})
    }

    /// Nothing is armed for a Mission without work.
    #[test]
    fn a_file_that_contradicts_itself_comes_to_no_work_and_the_object_says_why() {
        let below = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488\t1\n\
                     1\t0\t0\t16\t0\t0\t0\t0\t47.398\t8.5456\t50\t1\n2\t0\t0\t16\t0\t0\t0\t0\t47.3981\t8.5456\t50\t1\n";
        let open = "QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t47.397742\t8.545594\t488\t1\n\
                    1\t0\t3\t16\t0\t0\t0\t0\t0\t0\t20\t1\n2\t0\t3\t16\t0\t0\t0\t0\t47.398\t8.5456\t20\t1\n";
        for (text, words) in [(below, "is flown below the home of this file"), (open, "has no place")] {
            let file = FileWork::of(text);
            let why = file.job.unwrap_err();
            assert!(why.starts_with("spec.planFrom: item ") && why.contains(words), "{why}");
            assert!(
                !why.contains("47.39"),
                "a number of the file is told to those who may not read it: {why}"
            );
        }
    }

    #[test]
    fn what_was_written_reads_as_the_same() {
        let at = rounded(Wgs84 {
            latitude_deg: 47.397_742_123_4,
            longitude_deg: 8.545_594_567_8,
        });
        let set = |from: f64, to: f64| Stretches::new([Stretch { from, to }]);
        let progress = Progress {
            completed: 2,
            flown: set(0.0, 1.333),
            parts: vec![Part {
                drone: "field-a".into(),
                stretches: set(1.333, 7.777),
                flown: set(1.333, 4.0),
                start: at,
                layer: 2,
                relief: Some(Relief {
                    drone: "field-b".into(),
                    from: 5.0,
                    beside: true,
                }),
                ahead: 2,
                plan: Some(PartPlan {
                    digest: PlanDigest("0f".into()),
                    raised: Meters(12.5),
                }),
                passed_beside: PassedBeside {
                    places: 1,
                    farthest: Meters(4.2),
                },
            }],
            failures: 3,
            refused: vec![Refused {
                node: NodeName::parse("n1").unwrap(),
                times: 2,
                words: "too far".into(),
            }],
            passed_beside: PassedBeside {
                places: 2,
                farthest: Meters(9.6),
            },
        };
        let mut status = MissionStatus::default();
        write(&progress, &mut status);
        assert_eq!((status.passed_beside, status.passed_beside_by_meters), (3, 9.6));
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(read(&serde_json::from_str(&text).unwrap()), progress);
        // An older coordinator writes only that it is ahead.
        assert!(status.parts[0].ahead);
        status.parts[0].rounds_ahead = 0;
        assert_eq!(read(&status).parts[0].ahead, 1);
    }

    #[test]
    fn work_is_named_by_what_is_flown_and_by_nothing_else() {
        let one = Job::of(&mission(json!({"route": route()})).spec, None).unwrap();
        let other = Job::of(
            &mission(json!({"route": route(), "parallelism": 3, "suspend": true})).spec,
            None,
        )
        .unwrap();
        assert_eq!((one.digest.to_string().len(), &one.digest), (32, &other.digest));
        assert!((one.takeoff - 20.5).abs() < f64::EPSILON);
        let mut longer = route();
        longer["waypoints"][2]["holdSeconds"] = json!(1);
        assert_ne!(
            Job::of(&mission(json!({"route": longer})).spec, None).unwrap().digest,
            one.digest
        );
        let why = Job::of(&mission(json!({"route": {"waypoints": []}})).spec, None).unwrap_err();
        assert_eq!(why, "spec.route: the route has no waypoint; give at least one");
    }

    #[test]
    fn a_survey_is_named_by_its_lines_too_and_says_when_another_version_began_others() {
        let of = |spacing: f64| {
            let corner =
                |east: f64, north: f64| json!({"latitudeDegrees": 47.4 + north, "longitudeDegrees": 8.5 + east});
            let polygon = [corner(0.0, 0.0), corner(0.001, 0.0), corner(0.001, 0.001)];
            let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": spacing, "altitudeMeters": 30.0});
            Job::of(&mission(json!({"survey": survey})).spec, None).unwrap()
        };
        let job = of(20.0);
        assert_eq!(job.digest, of(20.0).digest);
        let written = job.digest.to_string();
        assert_eq!(job.digest.lines, Some(job.work.track().digest()));
        assert!(written.len() <= 64, "{written}");
        assert_eq!(WorkDigest::parse(&written), job.digest);
        let asked_for = &job.digest.asked_for;
        assert_eq!(job.is_not(&written), None);
        // Early versions named what was asked for alone.
        for begun in [asked_for.clone(), format!("{asked_for}-0123456789abcdef")] {
            assert_eq!(job.is_not(&begun), Some(PLANNED_OTHERWISE), "{begun}");
        }
        assert_eq!(job.is_not(&of(21.0).digest.to_string()), Some(CHANGED));
    }

    #[test]
    fn the_items_of_a_file_are_the_work_and_what_is_wrong_with_it_is_said() {
        let spec = |parallelism: i32| {
            let from = json!({"configMapKeyRef": {"name": "a", "key": "b"}});
            mission(json!({"planFrom": from, "parallelism": parallelism})).spec
        };
        let of = |text: &str| Job::of(&spec(1), Some(&Ok(FileWork::of(text).into())));
        let row = |number: u32, command: u16, north: f64| {
            let frame = if number == 0 { 0 } else { 3 };
            format!(
                "{number}\t0\t{frame}\t{command}\t0\t0\t0\t0\t{:.6}\t8.5\t25\t1\n",
                47.4 + north
            )
        };
        let text = |command: u16| {
            let rows = [
                row(0, 16, 0.0),
                row(1, 22, 0.0),
                row(2, 16, 0.001),
                row(3, command, 0.002),
            ];
            format!("QGC WPL 110\n{}", rows.concat())
        };
        let job = of(&text(16)).unwrap();
        assert_eq!((job.digest.to_string().len(), job.work.track().points().len()), (32, 3));
        assert!((job.takeoff - 25.0).abs() < f64::EPSILON);
        assert_eq!(of(&text(16).replace('\n', "\r\n")).unwrap().digest, job.digest);
        assert_ne!(of(&text(19)).unwrap().digest, job.digest);
        let why = |text: &str| of(text).unwrap_err();
        assert!(why("hello").starts_with("spec.planFrom: the file is neither a QGroundControl plan"));
        for secret in [
            "QGC WPL hunter2\n",
            "QGC WPL 110\n0 hunter2 0 16 0 0 0 0 0 0 hunter2 1\n",
            "{\"fileType\": \"hunter2\"}",
        ] {
            let why = why(secret);
            assert!(why.starts_with("spec.planFrom: ") && !why.contains("hunter2"), "{why}");
        }
        assert!(
            why(&text(82)).contains("item 2 (NAV_SPLINE_WAYPOINT) leaves the straight way"),
            "{}",
            why(&text(82))
        );
        assert!(why(&text(177)).contains("item 2 (DO_JUMP, command 177) cannot be part of a flight"));
        let two = Job::of(&spec(2), Some(&Ok(FileWork::of(&text(16)).into()))).unwrap_err();
        assert!(two.contains("one vehicle at a time"), "{two}");
        let unreadable = Job::of(&spec(2), Some(&Ok(FileWork::of("hello").into()))).unwrap_err();
        assert!(unreadable.contains("neither a QGroundControl plan"), "{unreadable}");
        assert_eq!(job.doubt, None, "it is flown above home");
        let above_the_sea = |home: &str| {
            let rows = text(16).replace("\t3\t", "\t0\t");
            of(&rows.replacen("\t25\t1\n", &format!("\t{home}\t1\n"), 1)).unwrap()
        };
        assert_eq!(above_the_sea("20").doubt, None);
        assert_eq!(above_the_sea("0").doubt, Some(HOME_UNKNOWN));
        let gone = Job::of(&spec(1), Some(&Err("there is no ConfigMap a".to_owned()))).unwrap_err();
        assert_eq!(gone, "spec.planFrom: there is no ConfigMap a");
    }

    #[test]
    fn a_mission_that_is_late_or_suspended_does_not_go_on() {
        let halt = |spec: serde_json::Value, running: u64| {
            let mut spec = spec;
            spec["route"] = route();
            wanted(&mission(spec), Some(Duration::from_secs(running))).halt
        };
        assert_eq!(halt(json!({}), 9999), None);
        assert_eq!(halt(json!({"activeDeadlineSeconds": 60}), 59), None);
        assert_eq!(
            halt(json!({"activeDeadlineSeconds": 60, "suspend": true}), 60),
            Some(Halt::Deadline)
        );
        assert_eq!(halt(json!({"suspend": true}), 0), Some(Halt::Suspended));
        assert_eq!(wanted(&mission(json!({"repeat": "Forever"})), None).completions, None);
    }
}
