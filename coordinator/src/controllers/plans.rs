//! The plans of Missions' Drones, for the other controllers.

pub use crate::cluster::world::mission as owner;
use crate::cluster::world::uid;
use crds::{Drone, labels};
use fleet::planning::drone::assess::MissionPlan;
use fleet::planning::mission::Work;
use fleet::planning::site::Corridor;
use kube::ResourceExt;
use model::ids::NodeName;
use model::plan::{PlanDigest, Waypoint};
use model::report::Report;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// The plan of one Drone.
#[derive(Clone, Debug)]
pub struct Planned {
    pub digest: PlanDigest,
    /// Where its vehicle is on the ground.
    pub start: Wgs84,
    /// Takeoff altitude, meters above home.
    pub takeoff: f64,
    pub places: Vec<Waypoint>,
    /// The numbers of the items that lead to these places.
    pub numbers: Vec<usize>,
    /// The work that it is part of; `None` where there is no hole to fly around.
    pub work: Option<Arc<Work>>,
}

/// Equal plans from one place are the same.
impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        (&self.digest, self.start, self.takeoff) == (&other.digest, other.start, other.takeoff)
    }
}

impl Planned {
    /// The next place of a vehicle that has made this `report`, and its index among the places of the plan.
    fn next(&self, report: &Report) -> Option<(usize, &Waypoint)> {
        let plan = Some(&report.plan).filter(|plan| plan.held.as_ref() == Some(&self.digest));
        let left = plan.map_or(0, |plan| usize::from(plan.reached.first_left()));
        let busy_with = plan.and_then(|plan| plan.current).map_or(0, usize::from);
        let next = self.numbers.iter().position(|number| *number >= left.max(busy_with))?;
        Some((next, self.places.get(next)?))
    }

    /// The airspace of the whole plan, from the ground to the ground.
    pub fn corridor(&self, home: AltitudeAmsl, report: &Report) -> Corridor {
        let at = |at: Wgs84, amsl: f64| model::route_order::Waypoint {
            at,
            amsl: AltitudeAmsl(amsl),
        };
        let ground = at(self.start, home.0);
        let up = at(self.start, home.0 + self.takeoff);
        let places = self
            .places
            .iter()
            .map(|place| at(place.at, place.altitude.amsl(home).0));
        let next = self.next(report);
        let crosses_hole = |(_, next): &(usize, &Waypoint)| {
            let (work, position) = self.work.as_ref().zip(report.position)?;
            Some(!work.may_be_crossed(position.at, next.at))
        };
        let barred = next.as_ref().and_then(crosses_hole) == Some(true);
        Corridor {
            digest: self.digest.clone(),
            places: [ground, up].into_iter().chain(places).chain([ground]).collect(),
            next: next.map(|(index, _)| index + 2),
            barred: barred.then(|| "a hole of the area lies between it and the place where it would go on".to_owned()),
        }
    }
}

/// One for a leadership.
#[derive(Debug, Default)]
pub struct Missions(Mutex<Known>);

#[derive(Debug, Default)]
pub struct Known {
    /// Uids of the Missions that were reconciled.
    pub missions: HashSet<String>,
    /// By the uid of the Drone; of those that have a part.
    pub plans: HashMap<String, Plan>,
    /// Vehicles that have refused a plan, by the uid of the Mission.
    pub refused: HashMap<String, Arc<[Resting]>>,
}

/// The plan of a part.
#[derive(Clone, Debug)]
pub enum Plan {
    Known(Arc<Planned>),
    /// Not made again yet in this leadership.
    Unknown,
}

impl Known {
    pub fn forget_others_than(&mut self, all: &Self) {
        self.missions.retain(|mission| all.missions.contains(mission));
        self.plans.retain(|drone, _| all.plans.contains_key(drone));
        self.refused.retain(|mission, _| all.missions.contains(mission));
    }

    /// By the Drone's uid.
    pub fn planned(&self, drone: &str) -> Option<&Arc<Planned>> {
        match self.plans.get(drone)? {
            Plan::Known(planned) => Some(planned),
            Plan::Unknown => None,
        }
    }
}

/// A vehicle that has refused a plan of a Mission: it is left alone for a while, and then taken where no other suits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resting {
    pub node: NodeName,
    pub until: Instant,
    /// In the words of its autopilot.
    pub words: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PlanOf {
    NoMission,
    /// Its Mission was not reconciled yet, its part not planned again, or its Mission is gone.
    Unknown,
    None,
    Some(Arc<Planned>),
}

impl From<&PlanOf> for MissionPlan {
    fn from(plan: &PlanOf) -> Self {
        match plan {
            PlanOf::NoMission => Self::NoMission,
            PlanOf::Unknown | PlanOf::None => Self::None,
            PlanOf::Some(planned) => Self::Some {
                digest: planned.digest.clone(),
                takeoff: AltitudeAboveHome(planned.takeoff),
            },
        }
    }
}

impl Missions {
    pub fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The vehicles that have refused a plan of the Mission of `drone`.
    pub fn refused(&self, drone: &Drone) -> Arc<[Resting]> {
        let mission = owner(drone).map(|(mission, _)| mission);
        let known = self.lock();
        let found = mission.and_then(|mission| known.refused.get(mission));
        found.cloned().unwrap_or_else(|| Arc::new([]))
    }

    pub fn plan(&self, drone: &Drone) -> PlanOf {
        let Some((mission, _)) = owner(drone) else {
            // A Drone that its Mission has left behind flies no plan, and does not take off to hold somewhere.
            return match drone.labels().contains_key(labels::MISSION) {
                true => PlanOf::None,
                false => PlanOf::NoMission,
            };
        };
        let known = self.lock();
        match known.plans.get(uid(drone)) {
            Some(Plan::Known(planned)) => PlanOf::Some(Arc::clone(planned)),
            Some(Plan::Unknown) => PlanOf::Unknown,
            None if known.missions.contains(mission) => PlanOf::None,
            None => PlanOf::Unknown,
        }
    }
}
