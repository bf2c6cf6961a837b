//! Which vehicle gets changed values next.
//!
//! Owns: [`next`]: within `maxUnavailable` of each profile, on the ground only, those that serve no Drone first; and that a vehicle which
//! refuses a value stops what would follow. What was observed of a vehicle counts, whichever leader began its change. Must not: set
//! anything; the agents do.

use model::vehicle::FlightTruth;
use std::collections::BTreeMap;

/// How far a vehicle is with the values that its profiles want now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// It has former ones, or none.
    Waiting,
    /// It may set them, and has not reported all of them back.
    Underway,
    /// It may set them, and its autopilot does not take one.
    Refused,
}

/// Whether a vehicle can be given values, by its autopilot's own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Grounded,
    /// Armed. Nothing is set before it has landed, so it keeps no other waiting for as long as it flies.
    /// What it was let set before it took off it sets after landing, for a moment beside as many others as may be changed.
    Armed,
    /// Not heard, or it does not say.
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
    /// Its name; an order among equals.
    pub name: &'a str,
    pub profiles: &'a [&'a str],
    pub progress: Progress,
    /// Whether it was last observed in the middle of a change of values, of these or of former ones: it counts as unavailable unless it
    /// flies.
    pub changing: bool,
    /// Whether it can be given values.
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
    /// These may set their values now.
    pub grant: Vec<String>,
    /// Profiles that are not rolled out further, and the vehicle that refuses a value.
    pub stopped: BTreeMap<String, String>,
    /// Profiles of which as many vehicles are unavailable as may be, and the first of those.
    pub busy: BTreeMap<String, String>,
}

/// Which vehicles may set their values now. `most` is `maxUnavailable` of each profile; one that is not named has 1.
///
/// One that is unavailable already goes first, and takes no further place.
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
