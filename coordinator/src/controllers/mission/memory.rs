//! Memory of one Mission from one reconcile to the next.

use super::reach::Judged;
use super::work::File;
use super::work::{self, Job};
use crds::Mission;
use crds::mission::{MissionStatus, PlanFrom, Survey};
use fleet::planning::drone::on_mission::Passing;
use fleet::planning::mission::PlannedFlight;
use fleet::planning::mission::progress::{Answers, Observed, Part, Progress};
use fleet::planning::population::{most_of_mission, pause};
use model::geo::offset;
use model::ids::NodeName;
use model::plan::FlightPlan;
use model::units::Wgs84;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;

pub(super) struct Memory {
    pub(super) generation: Option<i64>,
    /// The generation by which its Drones have their parts.
    pub(super) acted_on: Option<i64>,
    /// The file that it names, and when that was read.
    pub(super) file: Option<(File, Instant)>,
    pub(super) job: Result<Job, String>,
    /// Kept so that an edit of anything else plans nothing again.
    pub(super) survey: Option<Survey>,
    /// The file that it named then.
    pub(super) from: Option<PlanFrom>,
    pub(super) progress: Progress,
    pub(super) written: MissionStatus,
    /// Answers from the planner, and the places on the ground of the Drones for which more are being found.
    pub(super) answers: Arc<Answers>,
    pub(super) starts: HashMap<String, Wgs84>,
    pub(super) flights: HashMap<String, (Part, Arc<PlannedFlight>, FlightPlan)>,
    pub(super) since: HashMap<String, (Passing, Instant)>,
    pub(super) unfit: HashMap<String, (String, Instant)>,
    /// Airborne Drones whose plan cannot be made again, and why.
    pub(super) replanned: HashMap<String, String>,
    /// Findings on the rest of the flight of each Drone.
    pub(super) judged: HashMap<String, Judged>,
    pub(super) fit_since: Option<Instant>,
    /// Drones made since one last began its work, and when the last was made.
    pub(super) made: (usize, Option<Instant>),
    /// Vehicles that have refused a plan: how often, and until when they are left alone.
    pub(super) resting: HashMap<NodeName, (u32, Instant)>,
}

/// A vehicle on the ground that has moved less is where it was, meters: positions of receivers waver.
const START_EPSILON_M: f64 = 1.0;

impl Memory {
    /// Takes other work, about which nothing was found yet.
    pub(super) fn set_job(&mut self, job: Result<Job, String>) {
        self.job = job;
        self.answers = Arc::default();
        self.starts.clear();
    }

    /// Whether the flight of a Drone is planned, or cannot be planned as it was.
    pub(super) fn has_judged(&self, drone: &str) -> bool {
        self.flights.contains_key(drone) || self.replanned.contains_key(drone)
    }

    /// The place of a Drone that is on the ground at `at`; while answers are being found, the place for which they are.
    pub(super) fn start(&self, drone: &str, at: Wgs84) -> Wgs84 {
        let is_there = |start: &&Wgs84| {
            let (east, north) = offset(**start, at);
            east.hypot(north) <= START_EPSILON_M
        };
        self.starts.get(drone).filter(is_there).copied().unwrap_or(at)
    }

    /// Whether no Drone is made for now, as none of those before has flown.
    pub(super) fn rests(&mut self, drones: &[Observed], parallelism: usize, now: Instant) -> bool {
        if drones.iter().any(|seen| seen.begun) {
            self.made = (0, None);
        }
        let (made, last) = self.made;
        last.is_some_and(|last| now - last < pause(made, most_of_mission(parallelism)))
    }

    /// Whether its work can be flown, and is the work that it has begun.
    pub(super) fn can_go_on(&self) -> bool {
        let begun = self.written.work.as_ref();
        let is_it = |job: &Job| begun.is_none_or(|begun| job.is_not(begun).is_none());
        self.job.as_ref().is_ok_and(is_it)
    }

    /// Memory of a Mission at its first reconcile in this leadership, without its work.
    pub(super) fn of(mission: &Mission) -> Self {
        let written = mission.status.clone().unwrap_or_default();
        Self {
            generation: mission.metadata.generation,
            acted_on: None,
            file: None,
            job: Err("its work was not planned yet".to_owned()),
            survey: None,
            from: None,
            progress: work::read(&written),
            written,
            answers: Arc::default(),
            starts: HashMap::new(),
            flights: HashMap::new(),
            since: HashMap::new(),
            unfit: HashMap::new(),
            replanned: HashMap::new(),
            judged: HashMap::new(),
            fit_since: None,
            made: (0, None),
            resting: HashMap::new(),
        }
    }
}
