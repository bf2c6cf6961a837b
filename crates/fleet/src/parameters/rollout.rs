//! Which vehicle gets changed values next.
//!
//! Owns: [`next`]: within `maxUnavailable` of each profile, on the ground only, those that serve nobody first; and that a vehicle which
//! refuses a value stops what would follow. Must not: set anything; the agents do.

use std::collections::BTreeMap;

/// How far a vehicle is with the values that its profiles want now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has them.
    Done,
    /// It has former ones, or none.
    Waiting,
    /// It may set them, and has not reported all of them back.
    Underway,
    /// It may set them, and its autopilot does not take one.
    Refused,
}

/// One vehicle.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// Its name; an order among equals.
    pub name: &'a str,
    /// The profiles that select it.
    pub profiles: &'a [&'a str],
    /// How far it is.
    pub progress: Progress,
    /// Whether its autopilot says that it is on the ground and disarmed.
    pub grounded: bool,
    /// Whether it serves a Drone.
    pub serves: bool,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Next {
    /// These may set their values now.
    pub grant: Vec<String>,
    /// Profiles that are not rolled out further, and the vehicle that refuses a value.
    pub stopped: BTreeMap<String, String>,
}

/// Which vehicles may set their values now. `most` is `maxUnavailable` of each profile; one that is not named has 1.
#[must_use]
pub fn next(vehicles: &[Candidate<'_>], most: &BTreeMap<&str, u32>) -> Next {
    let mut next = Next::default();
    let mut underway: BTreeMap<&str, u32> = BTreeMap::new();
    for vehicle in vehicles {
        for profile in vehicle.profiles {
            match vehicle.progress {
                Progress::Underway => *underway.entry(profile).or_default() += 1,
                Progress::Refused => {
                    *underway.entry(profile).or_default() += 1;
                    let first = next
                        .stopped
                        .entry((*profile).to_owned())
                        .or_insert_with(|| vehicle.name.to_owned());
                    if vehicle.name < first.as_str() {
                        vehicle.name.clone_into(first);
                    }
                }
                Progress::Done | Progress::Waiting => {}
            }
        }
    }
    let mut waiting: Vec<&Candidate<'_>> = vehicles
        .iter()
        .filter(|vehicle| vehicle.progress == Progress::Waiting && vehicle.grounded)
        .collect();
    waiting.sort_by_key(|vehicle| (vehicle.serves, vehicle.name));
    for vehicle in waiting {
        let may = vehicle.profiles.iter().all(|profile| {
            let most = most.get(profile).copied().unwrap_or(1);
            !next.stopped.contains_key(*profile) && underway.get(profile).copied().unwrap_or(0) < most
        });
        if may {
            for profile in vehicle.profiles {
                *underway.entry(profile).or_default() += 1;
            }
            next.grant.push(vehicle.name.to_owned());
        }
    }
    next
}
