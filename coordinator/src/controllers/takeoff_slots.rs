//! Which Drones of each Swarm may take off.

use crate::cluster::world::{World, owner, uid};
use crds::{Drone, Swarm};
use fleet::planning::node_use::OnCordon;
use fleet::planning::swarm::Bounds;
use fleet::planning::swarm::replacement::Policy;
use fleet::planning::swarm::takeoff_slots::{NotYet, Pace, TakeoffSlots as SlotsOfSwarm};
use model::assignment::{Failsafe, USUAL_RESERVE};
use model::ids::DroneUid;
use model::time::Moment;
use model::units::Percent;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Percent above its reserve at which a vehicle is relieved, unless the Swarm says: time for its replacement to take off.
const ROTATION_MARGIN_PERCENT: u8 = 10;

/// Retry of a Drone that waits for others to land.
const LANDING_WAIT_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Retry of a Drone whose autopilot refused to arm during its slot.
const ARM_REFUSED_RETRY_DELAY: Duration = Duration::from_secs(2);

/// By uid of the Swarm.
#[derive(Debug, Default)]
pub struct TakeoffSlots(Mutex<HashMap<String, OfSwarm>>);

#[derive(Debug, Default)]
struct OfSwarm {
    slots: SlotsOfSwarm,
    lost: usize,
}

impl OfSwarm {
    fn pace(&self, swarm: &Swarm) -> Pace {
        Pace {
            most: bounds(swarm).most() + self.lost,
            interval: seconds(swarm.spec.takeoff_interval_seconds),
        }
    }
}

impl TakeoffSlots {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, OfSwarm>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At the beginning of a leadership: a Drone that has a vehicle counts as up, and the previous leader may just have given it its slot.
    pub(super) fn take_over(&self, world: &World, served: &Drone, now: Moment) {
        self.change(world, served, |slots, me| {
            slots.up(me);
            slots.leader_changed(now);
        });
    }

    /// Applies `change` to the slots of the Swarm of `drone`, with the Drone's uid.
    pub(super) fn change(&self, world: &World, drone: &Drone, change: impl FnOnce(&mut SlotsOfSwarm, &DroneUid)) {
        let Some((swarm, _)) = owner(drone) else { return };
        let me = DroneUid(uid(drone).to_owned());
        let mut all = self.lock();
        // It may have gone since the snapshot. A departure is handled after this, or was before.
        if world.is_member(swarm, &me.0) {
            change(&mut all.entry(swarm.to_owned()).or_default().slots, &me);
        }
    }

    /// The Drone is on the ground or gone.
    pub fn forget(&self, world: &World, drone: &Drone) {
        let Some((swarm, _)) = owner(drone) else { return };
        let mut all = self.lock();
        if let Some(of_swarm) = all.get_mut(swarm) {
            of_swarm.slots.withdraw(&DroneUid(uid(drone).to_owned()));
            // The time of the last takeoff is kept for as long as there is the Swarm.
            if of_swarm.slots.is_empty() && world.swarm_of_uid(swarm).is_none() {
                all.remove(swarm);
            }
        }
    }

    pub fn forget_swarm(&self, swarm: &str) {
        self.lock().remove(swarm);
    }

    /// This many vehicles are lost and replaced: they no longer count as up.
    pub fn lost(&self, swarm: &str, lost: usize) {
        let mut all = self.lock();
        match all.get_mut(swarm) {
            Some(of_swarm) => of_swarm.lost = lost,
            None if lost > 0 => all.entry(swarm.to_owned()).or_default().lost = lost,
            None => {}
        }
    }

    /// Whether a Drone need not wait for a slot: it has one, or is airborne (`flies`). An unknown one waits: it may be on the ground.
    pub fn has(&self, swarm: &str, drone: &str, flies: bool) -> bool {
        let all = self.lock();
        let me = DroneUid(drone.to_owned());
        let slots = all.get(swarm).map(|of_swarm| &of_swarm.slots);
        slots.is_some_and(|slots| slots.may_take_off(&me) || (flies && slots.counts(&me)))
    }

    pub fn are_full(&self, swarm: &Swarm) -> bool {
        let all = self.lock();
        let most = |lost: usize| bounds(swarm).most() + lost;
        all.get(uid(swarm))
            .is_some_and(|of_swarm| of_swarm.slots.len() >= most(of_swarm.lost))
    }

    /// Gives `drone` a slot if it may have one; else returns when to ask again. `fit`: its autopilot does not refuse to arm.
    pub fn request(&self, world: &World, swarm: &Swarm, drone: &Drone, fit: bool, now: Moment) -> Option<Duration> {
        let mut all = self.lock();
        if !world.is_member(uid(swarm), uid(drone)) {
            return Some(LANDING_WAIT_RETRY_DELAY);
        }
        let of_swarm = all.entry(uid(swarm).to_owned()).or_default();
        let pace = of_swarm.pace(swarm);
        match of_swarm.slots.request(&DroneUid(uid(drone).to_owned()), fit, pace, now) {
            Ok(()) => None,
            Err(NotYet::Full) => Some(LANDING_WAIT_RETRY_DELAY),
            Err(NotYet::TooSoon(left)) => Some(left),
            Err(NotYet::Unfit) => Some(ARM_REFUSED_RETRY_DELAY),
        }
    }

    /// Reserves the takeoff of `drone`; returns how long it has to wait, because another of its Swarm was ordered just now.
    pub fn order(&self, world: &World, drone: &Drone, now: Moment) -> Option<Duration> {
        let swarm = world.swarm_of(drone)?;
        let mut all = self.lock();
        let of_swarm = all.get_mut(uid(swarm.as_ref()))?;
        let pace = of_swarm.pace(&swarm);
        of_swarm.slots.order(&DroneUid(uid(drone).to_owned()), pace, now)
    }

    /// The time until `drone`, whose autopilot refuses to arm, gives its slot back: at zero it does; `None` if it keeps it.
    pub fn refuses(&self, swarm: &Swarm, drone: &Drone, now: Moment) -> Option<Duration> {
        let mut all = self.lock();
        let of_swarm = all.get_mut(uid(swarm))?;
        let pace = of_swarm.pace(swarm);
        of_swarm.slots.refuses(&DroneUid(uid(drone).to_owned()), pace, now)
    }
}

/// A Swarm that is being deleted replaces no Drone.
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

/// When a Drone of `swarm` should be replaced.
pub fn policy(swarm: &Swarm) -> Policy {
    let percent = |n: i32| u8::try_from(n).ok().and_then(Percent::new);
    let failsafe = swarm.spec.template.spec.failsafe.as_ref();
    let reserve = failsafe.map_or(USUAL_RESERVE, |failsafe| Failsafe::from(failsafe).reserve);
    let usual = Percent::new(reserve.get().saturating_add(ROTATION_MARGIN_PERCENT)).unwrap_or(reserve);
    Policy {
        on_cordon: match swarm.spec.on_cordon {
            crds::swarm::OnCordon::Continue => OnCordon::Continue,
            crds::swarm::OnCordon::Land => OnCordon::Land,
        },
        // At its reserve its agent brings it home in any case, and it does not take off again with so little.
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
    fn one_that_goes_while_a_new_leader_takes_over_takes_no_slot() {
        let (slots, world) = (TakeoffSlots::default(), World::new(Wakes::default()));
        world.drone(Change::Is(Arc::new(drone())));
        slots.take_over(&world, &drone(), Moment::default());
        assert!(slots.are_full(&swarm()));
        let slots = TakeoffSlots::default();
        world.drone(Change::Gone(Key::new("north", "a")));
        slots.take_over(&world, &drone(), Moment::default());
        assert!(!slots.are_full(&swarm()) && slots.lock().is_empty());
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
