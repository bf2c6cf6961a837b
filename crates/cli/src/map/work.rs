//! The paths of Missions on the map. Those of surveys are planned beside the feed, as the coordinator plans them.

use super::vehicles::{fine, tenths};
use coordinator::controllers::mission::pool::{Asked, Done, Pool, Task};
use coordinator::controllers::mission::work::{Job, asked_for};
use crds::Mission;
use crds::mission::TrackRange;
use fleet::planning::mission::{Point, Stretch, Stretches, Work};
use kube::ResourceExt;
use model::station::Altitude;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;

/// A longer path is not sent.
const MAX_POINTS: usize = 50_000;

/// Bounds the memory: while the paths that are kept have so many, no further survey is planned.
const MAX_KEPT_POINTS: usize = 1_000_000;

/// Longitude and latitude in degrees, altitude in meters.
pub type Place = [f64; 3];

#[derive(Debug)]
pub enum Path {
    Known(Arc<[Place]>),
    /// None is shown: a plan, unplannable work, or a survey begun by another plan, whose positions are other ground.
    None,
    /// A later document has it.
    Awaited,
}

/// Kept by what is asked for: the status of a Mission that is flown changes every few seconds.
#[derive(Debug, Default)]
pub struct Paths {
    pool: Pool,
    /// Surveys by the uid of their Mission.
    kept: HashMap<String, Survey>,
}

#[derive(Debug)]
struct Survey {
    asked_for: String,
    /// Digest of the lines.
    lines: String,
    places: Option<Arc<[Place]>>,
}

impl Paths {
    pub fn path(&mut self, mission: &Mission) -> Path {
        let uid = mission.uid().unwrap_or_default();
        let before = self.kept.remove(&uid);
        match (&mission.spec.route, &mission.spec.survey) {
            (Some(route), _) => {
                let work = route.to_route().ok().and_then(|route| Work::of_route(&route).ok());
                work.as_ref().and_then(places).map_or(Path::None, Path::Known)
            }
            (None, Some(_)) => self.of_survey(mission, uid, before),
            (None, None) => Path::None,
        }
    }

    fn of_survey(&mut self, mission: &Mission, uid: String, before: Option<Survey>) -> Path {
        let Ok(asked_for) = asked_for(&mission.spec) else {
            return Path::None;
        };
        let same = before.filter(|before| before.asked_for == asked_for);
        let Some(survey) = same.or_else(|| self.planned(mission, &uid, asked_for)) else {
            return Path::Awaited;
        };
        let begun = mission.status.as_ref().and_then(|status| status.work.as_deref());
        let path = survey.path(begun);
        self.kept.insert(uid, survey);
        path
    }

    fn planned(&self, mission: &Mission, uid: &str, asked_for: String) -> Option<Survey> {
        let points = |survey: &Survey| survey.places.as_ref().map_or(0, |places| places.len());
        if self.kept.values().map(points).sum::<usize>() >= MAX_KEPT_POINTS {
            return None;
        }
        let namespace = mission.namespace().unwrap_or_default();
        let task = || Task::Survey(Box::new(mission.spec.clone()));
        match self.pool.ask((&namespace, uid), &asked_for, task, Instant::now()) {
            Asked::Done(Done::Survey(job)) => Some(Survey::of(asked_for, job.ok().as_ref())),
            Asked::Done(_) | Asked::Waits(_) => None,
        }
    }

    pub fn retain(&mut self, is_shown: impl Fn(&str) -> bool) {
        self.kept.retain(|uid, _| is_shown(uid));
        self.pool.retain(is_shown);
    }
}

impl Survey {
    fn of(asked_for: String, job: Option<&Job>) -> Self {
        Self {
            asked_for,
            lines: job.and_then(|job| job.digest.lines.clone()).unwrap_or_default(),
            places: job.and_then(|job| places(&job.work)),
        }
    }

    fn path(&self, begun: Option<&str>) -> Path {
        match &self.places {
            Some(places) if begun.is_none_or(|begun| begun.ends_with(&self.lines)) => Path::Known(Arc::clone(places)),
            _ => Path::None,
        }
    }
}

fn places(work: &Work) -> Option<Arc<[Place]>> {
    let points = work.track().points();
    let place = |point: &Point| {
        let at = work.position(point.at);
        let height = match point.altitude {
            Altitude::AboveHome(height) => height.0,
            Altitude::Amsl(height) => height.0,
        };
        [fine(at.longitude_deg), fine(at.latitude_deg), tenths(height)]
    };
    (points.len() <= MAX_POINTS).then(|| points.iter().map(place).collect())
}

pub fn lines(path: &[Place], ranges: impl IntoIterator<Item = TrackRange>) -> Value {
    let stretches = ranges.into_iter().map(|range| Stretch {
        from: range.from,
        to: range.to,
    });
    let lines: Vec<Vec<Place>> = Stretches::new(stretches)
        .all()
        .iter()
        .map(|stretch| line(path, stretch))
        .filter(|line| line.len() > 1)
        .collect();
    json!({"type": "MultiLineString", "coordinates": lines})
}

fn line(path: &[Place], stretch: &Stretch) -> Vec<Place> {
    let (from, to) = (whole(stretch.from) + 1, whole(stretch.to.ceil()).min(path.len()));
    let inside = path.get(from..to).unwrap_or_default();
    let (first, last) = (at(path, stretch.from), at(path, stretch.to));
    first.into_iter().chain(inside.iter().copied()).chain(last).collect()
}

fn whole(position: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; a cast saturates"
    )]
    let index = position.max(0.0) as usize;
    index
}

fn at(path: &[Place], position: f64) -> Option<Place> {
    let index = whole(position);
    let before = *path.get(index).or(path.last())?;
    let after = path.get(index + 1).copied().unwrap_or(before);
    let share = position.fract();
    let between = |from: f64, to: f64| from + (to - from) * share;
    let [east, north, height] = before;
    // The shorter way around the Earth.
    let longitude = between(east, east + (after[0] - east + 540.0).rem_euclid(360.0) - 180.0);
    let longitude = (longitude + 540.0).rem_euclid(360.0) - 180.0;
    Some([
        fine(longitude),
        fine(between(north, after[1])),
        tenths(between(height, after[2])),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mission() -> Mission {
        let corner = |east: f64, north: f64| json!({"latitudeDegrees": 47.4 + north, "longitudeDegrees": 8.5 + east});
        let polygon = [corner(0.0, 0.0), corner(0.001, 0.0), corner(0.001, 0.001)];
        let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": 20.0, "altitudeMeters": 30.0});
        Mission::new("field", serde_json::from_value(json!({"survey": survey})).unwrap())
    }

    #[test]
    fn a_survey_that_others_have_planned_otherwise_has_no_path_here() {
        let spec = mission().spec;
        let planned = Survey::of(asked_for(&spec).unwrap(), Job::of(&spec, None).ok().as_ref());
        let is_shown = |begun: Option<&str>| matches!(planned.path(begun), Path::Known(_));
        let work = Work::of_survey(&spec.survey.unwrap().to_survey().unwrap()).unwrap();
        let digest = work.track().digest();
        assert!(is_shown(None));
        assert!(is_shown(Some(&format!("0f-{digest}"))));
        assert!(!is_shown(Some("0f-0123456789abcdef")));
    }

    #[test]
    fn while_so_many_places_are_kept_no_further_survey_is_planned() {
        let many = Survey {
            asked_for: String::new(),
            lines: String::new(),
            places: Some(vec![[0.0; 3]; MAX_KEPT_POINTS].into()),
        };
        let mut paths = Paths::default();
        paths.kept.insert("another".to_owned(), many);
        // Outside of a runtime, where nothing can be given to the pool.
        assert!(matches!(paths.path(&mission()), Path::Awaited));
        paths.retain(|_| false);
        assert!(paths.kept.is_empty());
    }

    #[test]
    fn ranges_are_cut_out_of_the_path_between_its_places_too() {
        let path = [[0.0, 0.0, 10.0], [1.0, 0.0, 10.0], [1.0, 1.0, 20.0]];
        let range = |from, to| TrackRange { from, to };
        let cut = lines(&path, [range(0.5, 1.5), range(1.75, 9.0)]);
        assert_eq!(
            cut["coordinates"],
            json!([
                [[0.5, 0.0, 10.0], [1.0, 0.0, 10.0], [1.0, 0.5, 15.0]],
                [[1.0, 0.75, 17.5], [1.0, 1.0, 20.0], [1.0, 1.0, 20.0]]
            ])
        );
        assert_eq!(lines(&path, [])["coordinates"], json!([]));
        let across = [[179.998, -16.8, 10.0], [-179.998, -16.8, 10.0]];
        assert_eq!(
            lines(&across, [range(0.25, 0.75)])["coordinates"],
            json!([[[179.999, -16.8, 10.0], [-179.999, -16.8, 10.0]]])
        );
        assert_eq!(lines(&[], [range(0.0, 1.0)])["coordinates"], json!([]));
    }
}
