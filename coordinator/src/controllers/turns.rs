//! Whose turn it is to rise, of each Swarm.
//!
//! Owns: the turns ([`fleet::swarm::turns`]) of all Swarms, and what a Swarm's spec says of them. Must not: decide.

use crate::cluster::world::{World, owner, uid};
use crate::context::Context;
use crate::controllers::drone::facts::DroneSnapshot;
use crds::{Drone, Swarm};
use fleet::assignment::USUAL_RESERVE;
use fleet::ids::DroneUid;
use fleet::node_use::OnCordon;
use fleet::swarm::Bounds;
use fleet::swarm::retire::Policy;
use fleet::swarm::turns::{NotYet, Pace, Turns as OfOne};
use fleet::time::Moment;
use fleet::units::Percent;
use fleet::vehicle::FlightTruth;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A vehicle is relieved at its reserve and this many percent more, where the Swarm does not say when: so much is left for the
/// one in its place to rise.
const ROTATE_BEFORE_RESERVE: u8 = 10;

/// Who waits for others to come down looks again this soon.
const AGAIN: Duration = Duration::from_millis(500);

/// Whose autopilot refused to arm through its turn is looked at this soon, whether it still does.
const UNFIT: Duration = Duration::from_secs(2);

/// The turns of all Swarms, by uid.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<String, Turn>>);

#[derive(Debug, Default)]
struct Turn {
    turns: OfOne,
    lost: usize,
}

impl Turn {
    fn pace(&self, swarm: &Swarm) -> Pace {
        Pace {
            most: bounds(swarm).most() + self.lost,
            interval: seconds(swarm.spec.takeoff_interval_seconds),
        }
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Turn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before the first is told to rise: all that have a vehicle count as up, until their agents have said that they are down, and
    /// whoever led before may have told one to rise just now.
    pub fn begin(&self, context: &Context) {
        let now = context.leadership.now();
        for drone in context.world.all_drones(None) {
            let snapshot = DroneSnapshot::of(context, drone);
            if snapshot.was_served() {
                self.take_over(&context.world, &snapshot.drone, now);
            }
        }
    }

    fn take_over(&self, world: &World, served: &Drone, now: Moment) {
        self.change(world, served, |turns, me| {
            turns.up(me);
            turns.taken_over(now);
        });
    }

    fn change(&self, world: &World, drone: &Drone, change: impl FnOnce(&mut OfOne, &DroneUid)) {
        let Some((swarm, _)) = owner(drone) else { return };
        let me = DroneUid(uid(drone).to_owned());
        let mut all = self.lock();
        // It may have gone since it was seen. Who goes is forgotten after this, or was before.
        if world.is_member(swarm, &me.0) {
            change(&mut all.entry(swarm.to_owned()).or_default().turns, &me);
        }
    }

    /// Takes in what is seen of a Drone.
    pub fn see(&self, context: &Context, snapshot: &DroneSnapshot) {
        if !snapshot.was_served() {
            if snapshot.facts.deleting {
                self.forget(context, &snapshot.drone);
            }
            return;
        }
        match snapshot.facts.truth {
            Some(FlightTruth::Disarmed) if snapshot.wished_up() => self.change(&context.world, &snapshot.drone, OfOne::stands),
            Some(FlightTruth::Disarmed) => self.forget(context, &snapshot.drone),
            Some(FlightTruth::ArmedOnGround) => self.change(&context.world, &snapshot.drone, OfOne::armed),
            Some(FlightTruth::Airborne(_) | FlightTruth::Unknown(_)) | None => {
                self.change(&context.world, &snapshot.drone, OfOne::up)
            }
        }
    }

    /// A Drone is down or gone.
    pub fn forget(&self, context: &Context, drone: &Drone) {
        let Some((swarm, _)) = owner(drone) else { return };
        let mut all = self.lock();
        if let Some(turn) = all.get_mut(swarm) {
            turn.turns.down(&DroneUid(uid(drone).to_owned()));
            // When the last rose is kept in mind for as long as there is the Swarm.
            if turn.turns.is_empty() && context.world.swarm_of_uid(swarm).is_none() {
                all.remove(swarm);
            }
        }
    }

    /// A Swarm is gone.
    pub fn forget_swarm(&self, swarm: &str) {
        self.lock().remove(swarm);
    }

    /// So many vehicles of a Swarm are lost and replaced: they count no more as up.
    pub fn lost(&self, swarm: &str, lost: usize) {
        let mut all = self.lock();
        match all.get_mut(swarm) {
            Some(turn) => turn.lost = lost,
            None if lost > 0 => all.entry(swarm.to_owned()).or_default().lost = lost,
            None => {}
        }
    }

    /// Whether a Drone of the Swarm `swarm` need not wait for its turn: it has it, or is in the air (`flies`). One of which nothing
    /// is known has to: it may stand.
    #[must_use]
    pub fn has(&self, swarm: &str, drone: &str, flies: bool) -> bool {
        let all = self.lock();
        let me = DroneUid(drone.to_owned());
        let turns = all.get(swarm).map(|turn| &turn.turns);
        turns.is_some_and(|turns| turns.may_rise(&me) || (flies && turns.counts(&me)))
    }

    /// Whether as many of `swarm` are up as may be.
    #[must_use]
    pub fn are_full(&self, swarm: &Swarm) -> bool {
        let all = self.lock();
        let most = |lost: usize| bounds(swarm).most() + lost;
        all.get(uid(swarm))
            .is_some_and(|turn| turn.turns.len() >= most(turn.lost))
    }

    /// Gives `drone` its turn if it may have it; else says when to ask again. `fit` is whether its autopilot does not refuse to arm.
    pub fn ask(&self, context: &Context, swarm: &Swarm, drone: &Drone, fit: bool, now: Moment) -> Option<Duration> {
        let mut all = self.lock();
        if !context.world.is_member(uid(swarm), uid(drone)) {
            return Some(AGAIN);
        }
        let turn = all.entry(uid(swarm).to_owned()).or_default();
        let pace = turn.pace(swarm);
        match turn.turns.ask(&DroneUid(uid(drone).to_owned()), fit, pace, now) {
            Ok(()) => None,
            Err(NotYet::Full) => Some(AGAIN),
            Err(NotYet::TooSoon(left)) => Some(left),
            Err(NotYet::Unfit) => Some(UNFIT),
        }
    }

    /// `drone` stands, and its autopilot refuses to arm: after which time it gives its turn back, which it has at zero; `None` if it
    /// keeps it.
    pub fn refuses(&self, swarm: &Swarm, drone: &Drone, now: Moment) -> Option<Duration> {
        let mut all = self.lock();
        let turn = all.get_mut(uid(swarm))?;
        let pace = turn.pace(swarm);
        turn.turns.refuses(&DroneUid(uid(drone).to_owned()), pace, now)
    }
}

/// How far `swarm` may go above and below its wish. One that is being deleted replaces nobody.
#[must_use]
pub fn bounds(swarm: &Swarm) -> Bounds {
    let number = |n: i32| usize::try_from(n).unwrap_or_default();
    if swarm.metadata.deletion_timestamp.is_some() {
        return Bounds {
            replicas: 0,
            surge: 0,
            unavailable: 0,
        };
    }
    Bounds {
        replicas: number(swarm.spec.replicas),
        surge: number(swarm.spec.max_surge),
        unavailable: number(swarm.spec.max_unavailable),
    }
}

/// When `swarm` had better do without a Drone.
#[must_use]
pub fn policy(swarm: &Swarm) -> Policy {
    let percent = |n: i32| u8::try_from(n).ok().and_then(Percent::new);
    let failsafe = swarm.spec.template.spec.failsafe.as_ref();
    let reserve = failsafe
        .and_then(|f| percent(f.reserve_percent))
        .unwrap_or(USUAL_RESERVE);
    let usual = Percent::new(reserve.get().saturating_add(ROTATE_BEFORE_RESERVE)).unwrap_or(reserve);
    Policy {
        on_cordon: match swarm.spec.on_cordon {
            crds::swarm::OnCordon::Continue => OnCordon::Continue,
            crds::swarm::OnCordon::Land => OnCordon::Land,
        },
        // At its reserve its agent brings it home in any case, and it does not rise again with so little.
        rotate_at: swarm
            .spec
            .rotate_at_percent
            .and_then(percent)
            .unwrap_or(usual)
            .max(reserve),
        replace_lost_after: swarm.spec.replace_lost_after_seconds.map(seconds),
    }
}

fn seconds(n: i32) -> Duration {
    Duration::from_secs(u64::try_from(n).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::key::Key;
    use crate::cluster::world::{Change, Wakes};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use std::sync::Arc;

    fn swarm() -> Swarm {
        let mut swarm = Swarm::new("alpha", crds::SwarmSpec::default());
        swarm.spec.replicas = 1;
        swarm.spec.max_surge = 0;
        swarm.metadata.uid = Some("s".into());
        swarm
    }

    fn drone() -> Drone {
        let mut drone = Drone::new("a", crds::DroneSpec::default());
        drone.metadata.namespace = Some("north".into());
        drone.metadata.uid = Some("uid-a".into());
        drone.metadata.owner_references = Some(vec![OwnerReference {
            api_version: "skein.dev/v1alpha1".into(),
            kind: "Swarm".into(),
            name: "alpha".into(),
            uid: "s".into(),
            controller: Some(true),
            block_owner_deletion: None,
        }]);
        drone
    }

    #[test]
    fn one_that_goes_while_a_new_leader_takes_over_takes_nobodys_turn() {
        let (turns, world) = (Turns::default(), World::new(Wakes::default()));
        world.drone(Change::Is(Arc::new(drone())));
        turns.take_over(&world, &drone(), Moment::default());
        assert!(turns.are_full(&swarm()));
        let turns = Turns::default();
        world.drone(Change::Gone(Key::new("north", "a")));
        turns.take_over(&world, &drone(), Moment::default());
        assert!(!turns.are_full(&swarm()) && turns.lock().is_empty());
    }

    #[test]
    fn one_that_came_home_at_its_reserve_is_replaced_whatever_the_swarm_says_of_relief() {
        let rotate_at = |percent: Option<i32>, reserve: Option<i32>| {
            let mut swarm = Swarm::new("alpha", crds::SwarmSpec::default());
            swarm.spec.rotate_at_percent = percent;
            swarm.spec.template.spec.failsafe = reserve.map(|reserve_percent| crds::drone::Failsafe {
                reserve_percent,
                ..crds::drone::Failsafe::default()
            });
            policy(&swarm).rotate_at.get()
        };
        assert_eq!(rotate_at(None, None), 30);
        assert_eq!(rotate_at(None, Some(40)), 50);
        assert_eq!(rotate_at(Some(60), Some(40)), 60);
        assert_eq!(rotate_at(Some(25), Some(40)), 40);
        assert_eq!(rotate_at(Some(5), None), 20);
    }
}
