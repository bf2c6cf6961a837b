//! A vehicle that stands down: a flight ended without an order of Skein's, and it is not armed before a person acts.
//!
//! The vehicle carries this, not the Drone that it flew for: that may be gone, and another be bound. It is kept on the agent's disk,
//! reported, and numbered, so that a person's permission ends one stand-down and none after.
//!
//! | what ends it | when |
//! |---|---|
//! | `skein resume --vehicle` | the Drone that it flew for does not have it any more |
//! | what lets the Drone itself fly again: `skein resume`, a ground order | while that Drone has it |
//! | the deletion of that Drone | a person deleted it, and not a Swarm or a Mission, and had the time to know |
//! | another battery ([`SpentPack::is_replaced`]) | its battery was the reason, and that Drone is gone |
//!
//! Owns: [`StandDowns`], when one begins and ends. Must not: send anything; [`crate::safety::may_arm`] checks it.

use crate::flight::battery::SpentPack;
use crate::flight_record::{FlightRecord, Stage};
use model::alarm::Cause;
use model::assignment::{Assignment, Desired, GroundedWhy};
use model::failsafe::Diverted;
use model::ids::{DroneName, DroneUid};
use model::stand_down::{Reported, StoodDown};
use model::time::Moment;
use model::vehicle::{FlightTruth, Vehicle};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A Drone deleted sooner after the stand-down, and after its agent could report it, was not deleted by somebody who knew of it: reports,
/// and people, take their time.
pub const PERSON_KNOWS_AFTER: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StandDown {
    pub why: StoodDown,
    pub uid: DroneUid,
    pub name: DroneName,
    #[serde(default)]
    pub pack: SpentPack,
    /// That Drone was deleted before anybody could know of the stand-down: no person's permission.
    #[serde(default)]
    pub deletion_is_no_word: bool,
    /// As far as this life of the agent knows.
    #[serde(skip)]
    since: Option<Moment>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandDowns {
    pub count: u32,
    /// `None`: it has ended.
    pub now: Option<StandDown>,
    /// The Drone whose flight ended without a stand-down, or whose deletion ended the last one; until it flies again or its vehicle is let
    /// go.
    pub dismissed: Option<DroneUid>,
}

impl StandDown {
    /// As far as this life of the agent knows.
    pub const fn since(&self) -> Option<Moment> {
        self.since
    }
}

impl StandDowns {
    pub fn reported(&self) -> Option<Reported> {
        self.now.as_ref().map(|now| Reported {
            number: self.count,
            why: now.why,
            uid: now.uid.clone(),
            name: now.name.clone(),
        })
    }

    /// The state after `vehicle` was observed under `held`. `landed_by_plan`: the plan's last item landed it, as ordered.
    /// `confirmed_since`: since when the coordinator has confirmed `held` on its present stream.
    pub fn observed(
        &self,
        held: Option<&Assignment>,
        (before, record): (&FlightRecord, &FlightRecord),
        landed_by_plan: bool,
        confirmed_since: Option<Moment>,
        (vehicle, now): (&Vehicle, Moment),
    ) -> Self {
        let ended = held.is_some_and(|held| has_ended(record, held));
        let begins = ended || held.is_some_and(|held| comes_down_by_itself(before, held));
        let down = vehicle.truth(now) == FlightTruth::Disarmed;
        let flies = matches!(vehicle.truth(now), FlightTruth::Airborne(_));
        match (&self.now, held) {
            (None, Some(held)) if ended && landed_by_plan && !is_disturbed(record, held) => Self {
                dismissed: Some(held.uid.clone()),
                ..self.clone()
            },
            (Some(present), held) => self.going_on(present, held, (ended, confirmed_since), (vehicle, now)),
            (None, Some(held)) if begins && down && self.dismissed.as_ref() != Some(&held.uid) => Self {
                count: self.count.saturating_add(1),
                now: Some(StandDown {
                    why: why(if ended { record } else { before }, held),
                    uid: held.uid.clone(),
                    name: held.name.clone(),
                    pack: SpentPack::of(vehicle),
                    deletion_is_no_word: deletion(held).is_some(),
                    since: Some(now),
                }),
                dismissed: None,
            },
            (None, held) => Self {
                dismissed: self
                    .dismissed
                    .clone()
                    .filter(|uid| ended && !flies && held.is_some_and(|held| held.uid == *uid)),
                ..self.clone()
            },
        }
    }

    fn going_on(
        &self,
        present: &StandDown,
        held: Option<&Assignment>,
        (ended, confirmed_since): (bool, Option<Moment>),
        (vehicle, now): (&Vehicle, Moment),
    ) -> Self {
        let since = present.since.unwrap_or(now);
        let present = &StandDown {
            since: Some(since),
            ..present.clone()
        };
        let gone = Self {
            now: None,
            ..self.clone()
        };
        let stays = |next: StandDown| Self {
            now: Some(next),
            ..self.clone()
        };
        let Some(own) = held.filter(|held| held.uid == present.uid) else {
            let pack = present.pack.after(vehicle, now);
            let replaced = present.why == StoodDown::LowBattery && pack.is_replaced(vehicle, now);
            return if replaced {
                gone
            } else {
                stays(StandDown {
                    pack,
                    ..present.clone()
                })
            };
        };
        match (own.desired, deletion(own)) {
            (_, Some(Deletion::Ours))
            | (
                Desired::Grounded {
                    why: GroundedWhy::Unbound,
                },
                _,
            ) => stays(present.clone()),
            (_, Some(Deletion::Persons)) if present.deletion_is_no_word => stays(present.clone()),
            (_, Some(Deletion::Persons)) => {
                let known = confirmed_since.is_some_and(|told| now.since(told.max(since)) >= PERSON_KNOWS_AFTER);
                if known {
                    let dismissed = Some(own.uid.clone());
                    Self { dismissed, ..gone }
                } else {
                    stays(StandDown {
                        deletion_is_no_word: true,
                        ..present.clone()
                    })
                }
            }
            // What lets the Drone fly again lets its vehicle.
            _ if !ended => gone,
            _ => stays(present.clone()),
        }
    }

    /// After a person's permission for stand-down `number`. While the Drone that it flew for has the vehicle, that Drone must be allowed to
    /// fly again instead.
    pub fn stood_up(&self, number: u32, held: Option<&Assignment>) -> Self {
        let about = number == self.count && self.is_without_its_drone(held.map(|held| &held.uid));
        Self {
            now: self.now.clone().filter(|_| !about),
            ..self.clone()
        }
    }

    fn is_without_its_drone(&self, held: Option<&DroneUid>) -> bool {
        self.now.as_ref().is_some_and(|now| held != Some(&now.uid))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deletion {
    Persons,
    Ours,
}

const fn deletion(held: &Assignment) -> Option<Deletion> {
    match (held.desired, held.recalled) {
        (
            Desired::Grounded {
                why: GroundedWhy::Deleted,
            },
            recalled,
        ) => Some(if recalled { Deletion::Ours } else { Deletion::Persons }),
        _ => None,
    }
}

fn why(record: &FlightRecord, held: &Assignment) -> StoodDown {
    match record.diversion.as_ref().map(|diversion| diversion.why) {
        _ if record.was_killed(held) => StoodDown::Killed,
        Some(Diverted::LowBattery | Diverted::Autopilot(Cause::Battery)) => StoodDown::LowBattery,
        Some(Diverted::CoordinatorLoss) => StoodDown::CoordinatorLoss,
        Some(Diverted::Autopilot(_)) => StoodDown::AutopilotFailsafe,
        None if record.let_go(held) => StoodDown::TakenOver,
        None => StoodDown::Landed,
    }
}

/// Whether the vehicle would not be armed for `held` again before a person acts.
fn has_ended(record: &FlightRecord, held: &Assignment) -> bool {
    let own = record.uid.as_ref() == Some(&held.uid);
    own && (record.stage == Stage::Over || record.was_killed(held) || record.let_go(held))
}

/// Whether anything but the orders had a part in the flight for `held`.
fn is_disturbed(record: &FlightRecord, held: &Assignment) -> bool {
    record.diversion.is_some() || record.was_killed(held) || record.let_go(held)
}

/// Whether its autopilot, or its battery, was landing the vehicle when `held` was taken from it or had it wait on the ground: that landing
/// was wanted, but its cause remains.
fn comes_down_by_itself(before: &FlightRecord, held: &Assignment) -> bool {
    let own = before.uid.as_ref() == Some(&held.uid);
    let leaves = matches!(
        held.desired,
        Desired::Grounded {
            why: GroundedWhy::Deleted | GroundedWhy::Unbound | GroundedWhy::Waiting
        }
    );
    let by_itself = matches!(why(before, held), StoodDown::LowBattery | StoodDown::AutopilotFailsafe);
    own && leaves && before.stage == Stage::Flown && by_itself
}

#[cfg(test)]
mod tests;
