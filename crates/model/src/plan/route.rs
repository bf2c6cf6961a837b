//! A route: places that are flown one after the other.

use crate::geo::{self, NoPlace};
use crate::station::Altitude;
use crate::units::{Heading, Meters, MetersPerSecond, Wgs84};
use std::time::Duration;

/// With actions no more items than ArduCopter holds (1,306 with 32 KiB of storage).
pub const MOST_WAYPOINTS: usize = 1000;

pub const FASTEST: MetersPerSecond = MetersPerSecond(20.0);

pub const LONGEST_HOLD: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq)]
pub struct Waypoint {
    pub at: Wgs84,
    pub altitude: Altitude,
    /// Over ground, on the way to it; `None`: unchanged, or as the autopilot decides.
    pub speed: Option<MetersPerSecond>,
    pub hold: Duration,
    /// At the waypoint; `None` leaves it to the autopilot.
    pub heading: Option<Heading>,
    /// In this order.
    pub actions: Vec<Action>,
}

impl Waypoint {
    pub const fn passed(at: Wgs84, altitude: Altitude) -> Self {
        Self {
            at,
            altitude,
            speed: None,
            hold: Duration::ZERO,
            heading: None,
            actions: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    Photo,
    /// A photo now, and one each time the vehicle has flown this far.
    TriggerEvery(Meters),
    StopTrigger,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadRoute {
    #[error("the route has no waypoint; give at least one")]
    Empty,
    #[error("the route has {0} waypoints, more than {MOST_WAYPOINTS}; divide it into several Missions")]
    TooMany(usize),
    #[error("waypoint {number} of the route cannot be flown")]
    Waypoint {
        /// From 0.
        number: usize,
        source: BadWaypoint,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadWaypoint {
    #[error(transparent)]
    Place(#[from] NoPlace),
    #[error("its altitude is not a finite number; give meters")]
    Altitude,
    #[error("speed {0} is not above 0 and up to {fastest} m/s; choose one in that range", fastest = FASTEST.0)]
    Speed(f64),
    #[error("heading {0} is not from 0 up to 360; give degrees clockwise from north")]
    Heading(f64),
    #[error("it holds for {0} s, longer than {longest} s; shorten it", longest = LONGEST_HOLD.as_secs())]
    Hold(u64),
    #[error("a photo every {0} m is not above 0 and up to 1000 m; choose a distance in that range")]
    Trigger(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Route(Vec<Waypoint>);

impl Route {
    /// # Errors
    /// [`BadRoute`], the first invalid waypoint.
    pub fn new(waypoints: Vec<Waypoint>) -> Result<Self, BadRoute> {
        if waypoints.is_empty() {
            return Err(BadRoute::Empty);
        }
        if waypoints.len() > MOST_WAYPOINTS {
            return Err(BadRoute::TooMany(waypoints.len()));
        }
        for (number, waypoint) in waypoints.iter().enumerate() {
            check(waypoint).map_err(|source| BadRoute::Waypoint { number, source })?;
        }
        Ok(Self(waypoints))
    }

    pub fn waypoints(&self) -> &[Waypoint] {
        &self.0
    }
}

/// The number alone, meters.
pub const fn height(altitude: Altitude) -> f64 {
    match altitude {
        Altitude::AboveHome(height) => height.0,
        Altitude::Amsl(height) => height.0,
    }
}

fn check(waypoint: &Waypoint) -> Result<(), BadWaypoint> {
    geo::position(waypoint.at)?;
    if !height(waypoint.altitude).is_finite() {
        return Err(BadWaypoint::Altitude);
    }
    if let Some(MetersPerSecond(got)) = waypoint.speed.filter(|speed| !(speed.0 > 0.0 && speed.0 <= FASTEST.0)) {
        return Err(BadWaypoint::Speed(got));
    }
    if let Some(Heading(got)) = waypoint.heading.filter(|heading| !(0.0..360.0).contains(&heading.0)) {
        return Err(BadWaypoint::Heading(got));
    }
    if waypoint.hold > LONGEST_HOLD {
        return Err(BadWaypoint::Hold(waypoint.hold.as_secs()));
    }
    for action in &waypoint.actions {
        if let Action::TriggerEvery(Meters(got)) = *action
            && !(got > 0.0 && got <= 1000.0)
        {
            return Err(BadWaypoint::Trigger(got));
        }
    }
    Ok(())
}
