//! The size of work in numbers.

use super::area::Area;
use super::boundary::Edge;
use super::track::{Leg, Point, Work, length};
use ::geo::coordinate_position::{CoordPos, CoordinatePosition};
use ::geo::{BoundingRect, Coord};
use rstar::RTree;

/// Sample places in an area, about.
const SAMPLES_PER_AREA: f64 = 4000.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The lines of a survey, and the edges of its holes; 1 for a route.
    pub lines: usize,
    /// Of the lines.
    pub work_meters: f64,
    /// Between lines; without the ways there and home.
    pub transit_meters: f64,
    pub photos: u64,
    pub survey: Option<SurveyFigures>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurveyFigures {
    pub area_square_meters: f64,
    pub spacing_meters: f64,
    /// Share of the area within half of the spacing of a line, 0 to 1.
    pub covered: f64,
}

impl Work {
    pub fn figures(&self) -> Figures {
        let points = self.track().points();
        let begins = points
            .windows(2)
            .filter(|pair| pair[0].leg == Leg::Transit && pair[1].leg == Leg::Work);
        Figures {
            lines: begins.count(),
            work_meters: length(points, Leg::Work),
            transit_meters: length(points, Leg::Transit),
            photos: photos(points),
            survey: self.survey.as_ref().map(|survey| SurveyFigures {
                area_square_meters: survey.area.square_meters(),
                spacing_meters: survey.spacing,
                covered: covered(&survey.area, points, survey.spacing / 2.0),
            }),
        }
    }
}

pub fn photos(path: &[Point]) -> u64 {
    let single: u64 = path.iter().map(|point| u64::from(point.photos)).sum();
    let mut triggered = 0;
    let mut flown = 0.0;
    for pair in path.windows(2) {
        let [before, point] = pair else { continue };
        let Some(distance) = point.trigger else {
            flown = 0.0;
            continue;
        };
        // The camera begins with a photo.
        if before.trigger != point.trigger || before.leg != point.leg {
            (triggered, flown) = (triggered + 1, 0.0);
        }
        flown += point.from(before);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float cast saturates"
        )]
        let more = (flown / distance.0 + 1e-3).floor() as u64;
        triggered += more;
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let used = more as f64 * distance.0;
        flown -= used;
    }
    single + triggered
}

/// Share of `area` within `reach` meters of work on `path`, 0 to 1.
pub fn covered(area: &Area, path: &[Point], reach: f64) -> f64 {
    let Some(bounds) = area.polygon().bounding_rect() else {
        return 0.0;
    };
    let step = (bounds.width() * bounds.height() / SAMPLES_PER_AREA).sqrt();
    let worked = path
        .windows(2)
        .filter(|pair| pair[1].leg == Leg::Work)
        .map(|pair| Edge {
            start: pair[0].at,
            end: pair[1].at,
        });
    let worked = RTree::bulk_load(worked.collect());
    // A millimeter for the arithmetic.
    let reach = (reach + 0.001).powi(2);
    let (mut all, mut near) = (0_u32, 0_u32);
    let mut y = bounds.min().y + step / 2.0;
    while y < bounds.max().y {
        let mut x = bounds.min().x + step / 2.0;
        while x < bounds.max().x {
            let place = Coord { x, y };
            if area.polygon().coordinate_position(&place) == CoordPos::Inside {
                all += 1;
                near += u32::from(worked.locate_within_distance([x, y], reach).next().is_some());
            }
            x += step;
        }
        y += step;
    }
    if all == 0 {
        1.0
    } else {
        f64::from(near) / f64::from(all)
    }
}
