//! Which vehicle gets changed values next.
//!
//! Owns: [`next`]: within `maxUnavailable` of each profile, on the ground only, vehicles without a Drone first; a vehicle that refuses a
//! value stops the rollout. Observed state counts, whichever leader began a change. Must not: set anything; the agents do.

use model::vehicle::FlightTruth;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Done,
    Waiting,
    /// Allowed to set them, not all reported back.
    Underway,
    /// Allowed to set them, and its autopilot rejects one.
    Refused,
}

/// By its autopilot's own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Grounded,
    /// Nothing is set before it lands, so it blocks no other while it flies. Values allowed before takeoff are set after landing, for a
    /// moment beyond `maxUnavailable`.
    Armed,
    /// Not heard, or not reported.
    Unknown,
}

impl From<FlightTruth> for State {
    fn from(truth: FlightTruth) -> Self {
        match truth {
            FlightTruth::Disarmed => Self::Grounded,
            FlightTruth::ArmedOnGround | FlightTruth::Airborne(_) => Self::Armed,
            FlightTruth::Unknown(_) => Self::Unknown,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// Orders equals.
    pub name: &'a str,
    pub profiles: &'a [&'a str],
    pub progress: Progress,
    /// Whether it was last observed in the middle of a change, of these or of former values: then it counts as unavailable unless it flies.
    pub changing: bool,
    pub state: State,
    pub serves: bool,
}

impl Candidate<'_> {
    fn is_unavailable(&self) -> bool {
        match self.progress {
            Progress::Refused => true,
            Progress::Underway => self.state != State::Armed,
            Progress::Done | Progress::Waiting => self.changing && self.state != State::Armed,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Next {
    pub grant: Vec<String>,
    /// Profiles whose rollout stopped, and the vehicle that refuses a value.
    pub stopped: BTreeMap<String, String>,
    /// Profiles at their `maxUnavailable`, and the first unavailable vehicle.
    pub busy: BTreeMap<String, String>,
}

/// `most`: `maxUnavailable` of each profile, 1 by default. A vehicle that is unavailable already goes first, and takes no further place.
pub fn next(vehicles: &[Candidate<'_>], most: &BTreeMap<&str, u32>) -> Next {
    let mut next = Next::default();
    let mut unavailable: BTreeMap<&str, (u32, &str)> = BTreeMap::new();
    for vehicle in vehicles.iter().filter(|vehicle| vehicle.is_unavailable()) {
        for profile in vehicle.profiles {
            let (count, first) = unavailable.entry(profile).or_insert((0, vehicle.name));
            *count += 1;
            *first = vehicle.name.min(first);
            if vehicle.progress == Progress::Refused {
                let first = next
                    .stopped
                    .entry((*profile).to_owned())
                    .or_insert_with(|| vehicle.name.to_owned());
                if vehicle.name < first.as_str() {
                    vehicle.name.clone_into(first);
                }
            }
        }
    }
    let mut waiting: Vec<&Candidate<'_>> = vehicles
        .iter()
        .filter(|vehicle| vehicle.progress == Progress::Waiting && vehicle.state == State::Grounded)
        .collect();
    waiting.sort_by_key(|vehicle| (!vehicle.changing, vehicle.serves, vehicle.name));
    for vehicle in waiting {
        let may = vehicle.profiles.iter().all(|profile| {
            let most = most.get(profile).copied().unwrap_or(1);
            let count = unavailable.get(profile).map_or(0, |(count, _)| *count);
            !next.stopped.contains_key(*profile) && (vehicle.changing || count < most)
        });
        if !may {
            continue;
        }
        if !vehicle.changing {
            for profile in vehicle.profiles {
                unavailable.entry(profile).or_insert((0, vehicle.name)).0 += 1;
            }
        }
        next.grant.push(vehicle.name.to_owned());
    }
    for (profile, (count, first)) in unavailable {
        if count >= most.get(profile).copied().unwrap_or(1) {
            next.busy.insert(profile.to_owned(), first.to_owned());
        }
    }
    next
}
