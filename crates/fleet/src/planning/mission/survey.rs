//! A survey: an area that is flown over so that all of it is covered.

use super::area::{Area, BadArea};
use super::boundary::Boundary;
use super::strip::{Edges, Run};
use super::{rows, spiral};
use ::geo::{Coord, InteriorPoint, Polygon};
use model::geo::NoPlace;
use model::plan::route::{FASTEST, height};
use model::station::Altitude;
use model::units::{Heading, Meters, MetersPerSecond, Percent, Wgs84};

/// Least and largest distance of lines.
pub const SPACING_LIMITS_M: (f64, f64) = (1.0, 1000.0);

pub const MAX_LINES: f64 = 1000.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    pub area: Area,
    pub pattern: Pattern,
    pub spacing: Spacing,
    pub altitude: Altitude,
    /// Over ground.
    pub speed: MetersPerSecond,
    /// Distance between photos on a line. A camera's front overlap replaces it.
    pub trigger: Option<Meters>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Side by side, flown there and back.
    Lines {
        /// `None`: so that there are the fewest.
        heading: Option<Heading>,
    },
    ExpandingSquare {
        /// `None`: the middle of the area.
        center: Option<Wgs84>,
        heading: Heading,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    Fixed(Meters),
    Camera(Camera),
}

/// Looks straight down, its image's width across the line of flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    pub sensor_width_mm: f64,
    pub sensor_height_mm: f64,
    pub focal_length_mm: f64,
    /// Shared by photos of neighboring lines.
    pub side_overlap: Percent,
    /// Shared by one photo and the next.
    pub front_overlap: Percent,
}

impl Camera {
    /// Width and height on the ground of a photo from `height` meters above it.
    pub fn footprint(&self, height: f64) -> (Meters, Meters) {
        let scale = height / self.focal_length_mm;
        (
            Meters(self.sensor_width_mm * scale),
            Meters(self.sensor_height_mm * scale),
        )
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadSurvey {
    #[error(transparent)]
    Area(#[from] BadArea),
    #[error("the lines are {0:.2} m apart, not from {least} to {most} m; change the spacing, or the altitude or overlap of the camera", least = SPACING_LIMITS_M.0, most = SPACING_LIMITS_M.1)]
    Spacing(f64),
    #[error(
        "the photos are {0:.2} m apart, not from 0.1 to 1000 m; change the distance, or the altitude or overlap of the camera"
    )]
    Trigger(f64),
    #[error("the {0} of the camera is not a number above 0; give millimeters")]
    Camera(&'static str),
    #[error("photos cannot overlap by {0} percent; choose at most 95")]
    Overlap(u8),
    #[error(
        "a camera needs an altitude above home, as the height above ground is not known from one above mean sea level; give the spacing instead"
    )]
    CameraAboveSea,
    #[error("the altitude of the survey is not a finite number; give meters")]
    Altitude,
    #[error("speed {0} is not above 0 and up to {fastest} m/s; choose one in that range", fastest = FASTEST.0)]
    Speed(f64),
    #[error("heading {0} is not from 0 up to 360; give degrees clockwise from north")]
    Heading(f64),
    /// More than can be planned or uploaded.
    #[error("the survey has about {0:.0} lines, more than {MAX_LINES}; raise the spacing, or divide the area")]
    TooManyLines(f64),
    #[error("the center of the expanding square has no place")]
    Center(#[source] NoPlace),
    #[error("the center of the expanding square is not in the area; move it, or leave it out")]
    CenterOutside,
    #[error("there is no way around the holes from one part of the area to another; make a Mission of each")]
    Apart,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Distances {
    /// Meters.
    pub spacing: f64,
    /// Meters.
    pub trigger: Option<f64>,
}

impl Survey {
    pub(super) fn distances(&self) -> Result<Distances, BadSurvey> {
        let distances = match self.spacing {
            Spacing::Fixed(spacing) => Distances {
                spacing: spacing.0,
                trigger: self.trigger.map(|trigger| trigger.0),
            },
            Spacing::Camera(camera) => {
                let Altitude::AboveHome(height) = self.altitude else {
                    return Err(BadSurvey::CameraAboveSea);
                };
                let lengths = [
                    (camera.sensor_width_mm, "sensor width"),
                    (camera.sensor_height_mm, "sensor height"),
                    (camera.focal_length_mm, "focal length"),
                ];
                if let Some((_, name)) = lengths
                    .iter()
                    .find(|(length, _)| !(*length > 0.0 && length.is_finite()))
                {
                    return Err(BadSurvey::Camera(name));
                }
                for overlap in [camera.side_overlap, camera.front_overlap] {
                    if overlap.get() > 95 {
                        return Err(BadSurvey::Overlap(overlap.get()));
                    }
                }
                let (width, length) = camera.footprint(height.0);
                let rest = |overlap: Percent| f64::from(100 - overlap.get()) / 100.0;
                Distances {
                    spacing: width.0 * rest(camera.side_overlap),
                    trigger: Some(length.0 * rest(camera.front_overlap)),
                }
            }
        };
        if !(SPACING_LIMITS_M.0..=SPACING_LIMITS_M.1).contains(&distances.spacing) {
            return Err(BadSurvey::Spacing(distances.spacing));
        }
        if let Some(trigger) = distances.trigger.filter(|trigger| !(0.1..=1000.0).contains(trigger)) {
            return Err(BadSurvey::Trigger(trigger));
        }
        Ok(distances)
    }

    fn check(&self) -> Result<Distances, BadSurvey> {
        if !height(self.altitude).is_finite() {
            return Err(BadSurvey::Altitude);
        }
        if !(self.speed.0 > 0.0 && self.speed.0 <= FASTEST.0) {
            return Err(BadSurvey::Speed(self.speed.0));
        }
        let heading = match self.pattern {
            Pattern::Lines { heading } => heading,
            Pattern::ExpandingSquare { heading, .. } => Some(heading),
        };
        if let Some(Heading(got)) = heading.filter(|heading| !(0.0..360.0).contains(&heading.0)) {
            return Err(BadSurvey::Heading(got));
        }
        self.distances()
    }

    /// In the order of strips only.
    pub(super) fn runs(&self) -> Result<(Vec<Run>, Distances), BadSurvey> {
        let distances = self.check()?;
        let spacing = distances.spacing;
        let strips = match self.pattern {
            Pattern::Lines { heading } => {
                few_enough(rows::count(&self.area, spacing, heading))?;
                rows::strips(&self.area, spacing, heading)
            }
            Pattern::ExpandingSquare { center, heading } => {
                let center = self.center(center)?;
                let (x, y) = heading.0.to_radians().sin_cos();
                let along = Coord { x, y };
                few_enough(4.0 * spiral::rings(&self.area, spacing, center, along) + 1.0)?;
                spiral::strips(&self.area, spacing, center, along)
            }
        };
        let (outline, holes) = (Boundary::of_area(&self.area), Boundary::of_holes(&self.area));
        let mut edges = Edges::of(&self.area);
        let mut runs = Vec::new();
        for strip in &strips {
            runs.extend(strip.runs(&outline, &holes));
            for edge in &mut edges {
                edge.need(strip);
            }
        }
        runs.extend(edges.into_iter().flat_map(|edge| edge.runs(spacing)));
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        few_enough(runs.len() as f64 / 2.0)?;
        Ok((runs, distances))
    }

    fn center(&self, given: Option<Wgs84>) -> Result<Coord<f64>, BadSurvey> {
        let Some(given) = given else {
            let middle = self.area.polygon().interior_point();
            return middle.map(Coord::from).ok_or(BadSurvey::CenterOutside);
        };
        let center = self.area.place(given).map_err(BadSurvey::Center)?;
        let ring = Polygon::new(self.area.polygon().exterior().clone(), Vec::new());
        if ::geo::Intersects::intersects(&ring, &center) {
            Ok(center)
        } else {
            Err(BadSurvey::CenterOutside)
        }
    }
}

fn few_enough(lines: f64) -> Result<(), BadSurvey> {
    if lines > MAX_LINES {
        Err(BadSurvey::TooManyLines(lines))
    } else {
        Ok(())
    }
}
