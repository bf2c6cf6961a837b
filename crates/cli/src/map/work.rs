//! The path of a Mission on the map.

use super::vehicles::{fine, tenths};
use crds::Mission;
use crds::mission::TrackRange;
use fleet::planning::mission::{Stretch, Stretches, Work};
use model::station::Altitude;
use serde_json::{Value, json};

/// A longer path is not sent.
const MAX_POINTS: usize = 50_000;

/// Longitude and latitude in degrees, altitude in meters.
pub type Place = [f64; 3];

/// `None` for a plan, for unplannable work, and for a survey begun by another plan, whose positions are other ground.
pub fn path(mission: &Mission) -> Option<Vec<Place>> {
    let work = match (&mission.spec.route, &mission.spec.survey) {
        (Some(route), _) => Work::of_route(&route.to_route().ok()?).ok()?,
        (None, Some(survey)) => {
            let work = Work::of_survey(&survey.to_survey().ok()?).ok()?;
            let begun = mission.status.as_ref().and_then(|status| status.work.as_deref());
            if begun.is_some_and(|begun| !begun.ends_with(&work.track().digest())) {
                return None;
            }
            work
        }
        (None, None) => return None,
    };
    let points = work.track().points();
    (points.len() <= MAX_POINTS).then(|| {
        let place = |point: &fleet::planning::mission::Point| {
            let at = work.position(point.at);
            let height = match point.altitude {
                Altitude::AboveHome(height) => height.0,
                Altitude::Amsl(height) => height.0,
            };
            [fine(at.longitude_deg), fine(at.latitude_deg), tenths(height)]
        };
        points.iter().map(place).collect()
    })
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

    #[test]
    fn a_survey_that_others_have_planned_otherwise_has_no_path_here() {
        let corner = |east: f64, north: f64| json!({"latitudeDegrees": 47.4 + north, "longitudeDegrees": 8.5 + east});
        let polygon = [corner(0.0, 0.0), corner(0.001, 0.0), corner(0.001, 0.001)];
        let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": 20.0, "altitudeMeters": 30.0});
        let mut mission = Mission::new("field", serde_json::from_value(json!({"survey": survey})).unwrap());
        assert!(path(&mission).is_some());
        let survey = mission.spec.survey.as_ref().unwrap().to_survey().unwrap();
        let digest = Work::of_survey(&survey).unwrap().track().digest();
        for (work, is_shown) in [
            (format!("0f-{digest}"), true),
            ("0f-0123456789abcdef".to_owned(), false),
        ] {
            mission.status = Some(crds::mission::MissionStatus {
                work: Some(work.clone()),
                ..Default::default()
            });
            assert_eq!(path(&mission).is_some(), is_shown, "{work}");
        }
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
