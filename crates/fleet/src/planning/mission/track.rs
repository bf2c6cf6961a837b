//! What is flown, point by point, in a flat frame.

use super::area::{Area, apart, flat, frame};
use super::shorten::shortened;
use super::strip::Run;
use super::survey::{BadSurvey, Pattern, Survey};
use super::tour::{self, Sight};
use super::way::Ways;
use ::geo::Coord;
use model::geo::{Frame, Local};
use model::plan::item::Item;
use model::plan::route::{Action, BadRoute, BadWaypoint, Route, Waypoint, height};
use model::station::Altitude;
use model::units::{Heading, Meters, MetersPerSecond, Wgs84};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

/// Assumed speed where none is given: PX4's own (`MPC_XY_CRUISE`).
pub const USUAL_SPEED: MetersPerSecond = MetersPerSecond(5.0);

/// Ratio of the ways at which another order of the lines is flown.
const REORDER_WORTH_RATIO: f64 = 0.97;

/// Ratio of lines and ways at which a slightly changed order is flown.
const CHANGE_WORTH_RATIO: f64 = 0.98;

/// Ratio of ways to lines from which on an area is a maze.
const MAZE_RATIO: f64 = 0.5;

/// Of one kind of leg, meters.
pub(super) fn length(path: &[Point], leg: Leg) -> f64 {
    let legs = path.windows(2).filter(|pair| pair[1].leg == leg);
    legs.map(|pair| pair[1].from(&pair[0])).sum()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// The purpose of the mission.
    Work,
    Transit,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// East and north in the frame of the work, meters.
    pub at: Coord<f64>,
    pub altitude: Altitude,
    pub leg: Leg,
    /// On the way there; `None`: as the autopilot decides.
    pub speed: Option<MetersPerSecond>,
    /// Distance between photos on the way there.
    pub trigger: Option<Meters>,
    pub hold: Duration,
    pub heading: Option<Heading>,
    pub photos: u32,
}

impl Point {
    /// The same place, on the way to something else.
    pub(super) fn passed(&self) -> Self {
        Self {
            leg: Leg::Transit,
            trigger: None,
            ..self.without_stop()
        }
    }

    /// Without hold, photos or actions.
    fn without_stop(&self) -> Self {
        Self {
            hold: Duration::ZERO,
            heading: None,
            photos: 0,
            ..self.clone()
        }
    }

    /// Meters.
    pub(super) fn from(&self, before: &Self) -> f64 {
        let up = match (self.altitude, before.altitude) {
            (Altitude::AboveHome(_), Altitude::AboveHome(_)) | (Altitude::Amsl(_), Altitude::Amsl(_)) => {
                height(self.altitude) - height(before.altitude)
            }
            // The altitude of home is not known.
            (Altitude::AboveHome(_), Altitude::Amsl(_)) | (Altitude::Amsl(_), Altitude::AboveHome(_)) => 0.0,
        };
        apart(self.at, before.at).0.hypot(up)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track(pub(super) Vec<Point>);

impl Track {
    pub fn points(&self) -> &[Point] {
        &self.0
    }

    /// Tracks with one digest have equal positions on the ground, to a centimeter.
    pub fn digest(&self) -> String {
        let mut sum = Sha256::new();
        for at in self.0.iter().flat_map(|point| [point.at.x, point.at.y]) {
            // Makes -0.0 equal to 0.0.
            sum.update(format!("{} ", (at * 100.0).round() + 0.0));
        }
        let digits = sum.finalize();
        digits.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    pub(super) fn end(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let end = self.0.len().saturating_sub(1) as f64;
        end
    }

    /// Between two points nothing is done.
    pub(super) fn at(&self, position: f64) -> Option<Point> {
        let (index, share) = split(position);
        let before = self.0.get(index)?;
        if share <= 0.0 {
            return Some(before.clone());
        }
        let next = self.0.get(index + 1)?;
        let altitude = match (before.altitude, next.altitude) {
            (Altitude::AboveHome(a), Altitude::AboveHome(b)) => {
                next.altitude.raised(Meters((a.0 - b.0) * (1.0 - share)))
            }
            (Altitude::Amsl(a), Altitude::Amsl(b)) => next.altitude.raised(Meters((a.0 - b.0) * (1.0 - share))),
            _ => next.altitude,
        };
        Some(Point {
            at: before.at + (next.at - before.at) * share,
            altitude,
            ..next.without_stop()
        })
    }

    /// The first position from `position` on at which work begins.
    pub(super) fn work_from(&self, position: f64) -> f64 {
        let (mut index, share) = split(position);
        if share > 0.0 {
            return position;
        }
        while self.0.get(index + 1).is_some_and(|next| next.leg == Leg::Transit) {
            index += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let position = index as f64;
        position.min(self.end())
    }

    /// Each with its own position. The first is passed only.
    pub(super) fn part(&self, from: f64, to: f64) -> Vec<(f64, Point)> {
        let first = self.at(from).map(|point| (from, point.passed()));
        let (begin, _) = split(from);
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let inner = self
            .0
            .iter()
            .enumerate()
            .skip(begin + 1)
            .map(|(index, point)| (index as f64, point.clone()));
        let inner = inner.take_while(|(position, _)| *position <= to);
        let last = (split(to).1 > 0.0)
            .then(|| self.at(to))
            .flatten()
            .map(|point| (to, point));
        first.into_iter().chain(inner).chain(last).collect()
    }
}

/// The point before a position, and the share of the way to the next.
pub(super) fn split(position: f64) -> (usize, f64) {
    let whole = position.max(0.0).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float cast saturates"
    )]
    let index = whole as usize;
    (index, position.max(0.0) - whole)
}

#[derive(Clone, Debug)]
pub struct Work {
    pub(super) frame: Frame,
    pub(super) track: Track,
    pub(super) inside: Ways,
    /// To the work and home again.
    pub(super) around: Ways,
    pub(super) survey: Option<Surveyed>,
    /// Items that are flown as a person has written them.
    pub(super) written: Option<Arc<Written>>,
}

#[derive(Clone, Debug)]
pub(super) struct Surveyed {
    pub area: Area,
    pub spacing: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Written {
    pub items: Vec<Item>,
    /// Items with a place, by number.
    pub places: Vec<(usize, Waypoint)>,
}

impl Work {
    /// # Errors
    /// [`BadRoute`], when some waypoints lie too far from the others.
    pub fn of_route(route: &Route) -> Result<Self, BadRoute> {
        let places: Vec<Wgs84> = route.waypoints().iter().map(|waypoint| waypoint.at).collect();
        let bad = |number, source| BadRoute::Waypoint { number, source };
        let frame = frame(&places).map_err(|source| bad(0, source.into()))?;
        let (mut speed, mut trigger) = (None, None);
        let mut points: Vec<Point> = Vec::new();
        for (number, waypoint) in route.waypoints().iter().enumerate() {
            let at = flat(&frame, waypoint.at).map_err(|source| bad(number, BadWaypoint::Place(source)))?;
            speed = waypoint.speed.or(speed);
            let point = point_of(waypoint, at, speed, trigger);
            if points.is_empty() {
                // Actions at the first waypoint are work without a way.
                points.push(point.passed());
                if point.hold.is_zero() && point.photos == 0 {
                    trigger = after(waypoint, trigger);
                    continue;
                }
            }
            points.push(point);
            trigger = after(waypoint, trigger);
        }
        if let [only] = points.as_slice() {
            points.push(Point {
                leg: Leg::Work,
                ..only.clone()
            });
        }
        Ok(Self {
            frame,
            track: Track(points),
            inside: Ways::free(),
            around: Ways::free(),
            survey: None,
            written: None,
        })
    }

    /// The lines of a survey, in the order in which one vehicle would fly them.
    ///
    /// # Errors
    /// [`BadSurvey`].
    pub fn of_survey(survey: &Survey) -> Result<Self, BadSurvey> {
        let (runs, distances) = survey.runs()?;
        // More room than the lines need, as their ends lie on its edge.
        let (inside, around) = Ways::inside_and_around(&survey.area, distances.spacing * 0.55);
        let point = |at, leg| Point {
            at,
            altitude: survey.altitude,
            leg,
            speed: Some(survey.speed),
            trigger: distances.trigger.filter(|_| leg == Leg::Work).map(Meters),
            hold: Duration::ZERO,
            heading: None,
            photos: 0,
        };
        let piece = |run: Run| {
            let legs = std::iter::once(Leg::Transit).chain(std::iter::repeat(Leg::Work));
            run.path.into_iter().zip(legs).map(|(at, leg)| point(at, leg)).collect()
        };
        let in_one_go = |tour: &[Run]| {
            let (track, _) = joined(tour.iter().cloned().map(piece).collect(), &[&inside, &around])?;
            Some((length(track.points(), Leg::Transit), track))
        };
        let is_lines = matches!(survey.pattern, Pattern::Lines { .. });
        let mut tour = if is_lines {
            tour::nearest_first(&runs, Sight::Through)
        } else {
            tour::in_order(&runs)
        };
        let (mut ways, mut track) = in_one_go(&tour).ok_or(BadSurvey::Apart)?;
        let lines = length(track.points(), Leg::Work);
        // With an obstacle between lines, their ends are farther apart than they seem.
        let is_hidden = |pair: &[Point]| pair[0].leg == Leg::Transit && pair[1].leg == Leg::Transit;
        if is_lines && track.points().windows(2).any(is_hidden) {
            for sight in [Sight::Near(&inside), Sight::Far(&inside)] {
                // Looking far is costly, and only of use in mazes.
                if matches!(sight, Sight::Far(_)) && ways < MAZE_RATIO * lines {
                    break;
                }
                let other = tour::nearest_first(&runs, sight);
                if let Some(shorter) = in_one_go(&other).filter(|(length, _)| *length < REORDER_WORTH_RATIO * ways) {
                    ((ways, track), tour) = (shorter, other);
                }
            }
        }
        if is_lines {
            let between = |a, b| inside.length(a, b).or_else(|| around.length(a, b));
            let other = shortened(&tour, ways, (1.0 - CHANGE_WORTH_RATIO) * (lines + ways), &between)
                .and_then(|other| in_one_go(&other));
            let is_worth = |(length, _): &(f64, Track)| lines + *length < CHANGE_WORTH_RATIO * (lines + ways);
            if let Some((_, shorter)) = other.filter(is_worth) {
                track = shorter;
            }
        }
        inside.forget();
        around.forget();
        Ok(Self {
            frame: *survey.area.frame(),
            track,
            inside,
            around,
            survey: Some(Surveyed {
                area: survey.area.clone(),
                spacing: distances.spacing,
            }),
            written: None,
        })
    }

    /// With other work; `None` when there is no way between two of its pieces.
    pub(super) fn with(&self, pieces: Vec<Vec<Point>>) -> Option<Self> {
        self.joined(pieces).map(|(work, _)| work)
    }

    /// Also returns the first point of each piece.
    pub(super) fn joined(&self, pieces: Vec<Vec<Point>>) -> Option<(Self, Vec<usize>)> {
        let joined = joined(pieces, &[&self.inside, &self.around]);
        self.inside.forget();
        self.around.forget();
        let (track, begins) = joined?;
        let work = Self {
            frame: self.frame,
            track,
            inside: self.inside.clone(),
            around: self.around.clone(),
            survey: self.survey.clone(),
            written: self.written.clone(),
        };
        Some((work, begins))
    }

    pub const fn track(&self) -> &Track {
        &self.track
    }

    pub fn area(&self) -> Option<&Area> {
        self.survey.as_ref().map(|survey| &survey.area)
    }

    pub fn spacing(&self) -> Option<Meters> {
        self.survey.as_ref().map(|survey| Meters(survey.spacing))
    }

    pub fn position(&self, at: Coord<f64>) -> Wgs84 {
        let local = Local {
            east: at.x,
            north: at.y,
            up: 0.0,
        };
        self.frame.position(local).0
    }

    /// The waypoints of one vehicle along `points`: speed and camera are set where they change, and at the first point.
    pub fn waypoints(&self, points: &[Point]) -> Vec<Waypoint> {
        let mut speed = None;
        let mut trigger: Option<Meters> = None;
        let next = points.iter().skip(1).map(Some).chain(std::iter::once(None));
        points
            .iter()
            .zip(next)
            .map(|(point, next)| {
                let mut waypoint = Waypoint::passed(self.position(point.at), point.altitude);
                waypoint.hold = point.hold;
                waypoint.heading = point.heading;
                if point.speed != speed {
                    (waypoint.speed, speed) = (point.speed, point.speed);
                }
                waypoint.actions = (0..point.photos).map(|_| Action::Photo).collect();
                let from_here = next.and_then(|next| next.trigger);
                if from_here != trigger {
                    waypoint
                        .actions
                        .push(from_here.map_or(Action::StopTrigger, Action::TriggerEvery));
                    trigger = from_here;
                }
                waypoint
            })
            .collect()
    }
}

fn point_of(waypoint: &Waypoint, at: Coord<f64>, speed: Option<MetersPerSecond>, trigger: Option<Meters>) -> Point {
    let photos = waypoint
        .actions
        .iter()
        .filter(|action| **action == Action::Photo)
        .count();
    Point {
        at,
        altitude: waypoint.altitude,
        leg: Leg::Work,
        speed,
        trigger,
        hold: waypoint.hold,
        heading: waypoint.heading,
        photos: u32::try_from(photos).unwrap_or(u32::MAX),
    }
}

fn after(waypoint: &Waypoint, before: Option<Meters>) -> Option<Meters> {
    waypoint.actions.iter().fold(before, |trigger, action| match *action {
        Action::Photo => trigger,
        Action::TriggerEvery(distance) => Some(distance),
        Action::StopTrigger => None,
    })
}

/// Pieces with the ways between them, by the first of `ways` that has one; and the first point of each piece.
fn joined(pieces: Vec<Vec<Point>>, ways: &[&Ways]) -> Option<(Track, Vec<usize>)> {
    let mut points: Vec<Point> = Vec::new();
    let mut begins = Vec::with_capacity(pieces.len());
    for piece in pieces {
        if let (Some(last), Some(first)) = (points.last(), piece.first()) {
            let way = ways.iter().find_map(|ways| ways.shortest(last.at, first.at))?;
            let between = way.get(1..way.len().saturating_sub(1)).unwrap_or_default();
            let pass = first.passed();
            points.extend(between.iter().map(|at| Point {
                at: *at,
                ..pass.clone()
            }));
        }
        begins.push(points.len());
        points.extend(piece);
    }
    Some((Track(points), begins))
}
