//! Which Drones of a Swarm may take off: never more are in the air than allowed, and takeoffs are spread in time.
//!
//! Owns: [`TakeoffSlots`], which Drones of one Swarm are in the air or have a slot. It errs on the safe side: a Drone not known to be on
//! the ground counts as up. Counting is no permit to take off: a slot is requested, for one takeoff. Must not: read a clock, or land
//! anything: what is up stays up.

use model::ids::DroneUid;
use model::time::Moment;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Time to take off with a slot, where takeoffs are spread: the next waits for it, and a Drone whose autopilot refuses to arm for so long
/// gives its slot back. Else all that wait for the same, as for a first fix, would take off together.
pub const TO_TAKE_OFF: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default)]
pub struct TakeoffSlots {
    up: HashMap<DroneUid, Up>,
    /// Their slots ended before their autopilots would arm.
    unfit: HashSet<DroneUid>,
    last: Option<Moment>,
    latest: Option<DroneUid>,
    /// The last ordered takeoff. The order follows its slot later: it is confirmed first.
    ordered: Option<(DroneUid, Moment)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Up {
    /// It was given a slot then, and may take off.
    Granted(Moment),
    /// In the air, or not known to be on the ground. It has no slot: observed on the ground, it requests one.
    NotOnGround,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub most: usize,
    pub interval: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotYet {
    Full,
    /// After another's slot; how long to wait.
    TooSoon(Duration),
    /// It had a slot, and its autopilot still refuses to arm.
    Unfit,
}

impl TakeoffSlots {
    /// It was given a slot, and has not used it.
    pub fn may_take_off(&self, drone: &DroneUid) -> bool {
        matches!(self.up.get(drone), Some(Up::Granted(_)))
    }

    pub fn counts(&self, drone: &DroneUid) -> bool {
        self.up.contains_key(drone)
    }

    /// `drone` is in the air, or not known to be on the ground. This uses up its slot: the next takeoff needs another.
    pub fn up(&mut self, drone: &DroneUid) {
        self.up.insert(drone.clone(), Up::NotOnGround);
        self.unfit.remove(drone);
    }

    pub fn armed(&mut self, drone: &DroneUid) {
        if !self.counts(drone) {
            self.up(drone);
        }
    }

    pub fn on_ground(&mut self, drone: &DroneUid) {
        if !self.may_take_off(drone) {
            self.up.remove(drone);
        }
    }

    /// Known to be on the ground without a desire for flight, or gone.
    pub fn withdraw(&mut self, drone: &DroneUid) {
        self.up.remove(drone);
        self.unfit.remove(drone);
    }

    /// Another leader gave slots before `now`, perhaps just now.
    pub fn leader_changed(&mut self, now: Moment) {
        self.last = Some(now);
    }

    pub fn len(&self) -> usize {
        self.up.len()
    }

    pub fn is_empty(&self) -> bool {
        self.up.is_empty()
    }

    /// `drone` is on the ground, and its autopilot refuses to arm: it gives its slot back, or has this long to take off. `None` if it had
    /// none, or takeoffs are not spread.
    pub fn refuses(&mut self, drone: &DroneUid, pace: Pace, now: Moment) -> Option<Duration> {
        let Some(Up::Granted(granted)) = self.up.get(drone) else {
            return None;
        };
        if pace.interval.is_zero() {
            return None;
        }
        let left = TO_TAKE_OFF.saturating_sub(now.since(*granted));
        if left.is_zero() {
            self.up.remove(drone);
            self.unfit.insert(drone.clone());
        }
        Some(left)
    }

    /// Gives a slot to `drone`, which is on the ground; `fit`: its autopilot does not refuse to arm.
    ///
    /// # Errors
    /// [`NotYet`].
    pub fn request(&mut self, drone: &DroneUid, fit: bool, pace: Pace, now: Moment) -> Result<(), NotYet> {
        if self.may_take_off(drone) {
            return Ok(());
        }
        if !fit && self.unfit.contains(drone) {
            return Err(NotYet::Unfit);
        }
        let others = self.up.len() - usize::from(self.counts(drone));
        if others >= pace.most {
            return Err(NotYet::Full);
        }
        let left = self.last.map(|last| pace.interval.saturating_sub(now.since(last)));
        if let Some(left) = left.max(self.taking_off(pace, now)).filter(|left| !left.is_zero()) {
            return Err(NotYet::TooSoon(left));
        }
        self.last = Some(now);
        self.unfit.remove(drone);
        self.up.insert(drone.clone(), Up::Granted(now));
        self.latest = Some(drone.clone());
        Ok(())
    }

    /// Before the takeoff of `drone` is ordered: how long it has to wait, because another was ordered just now. `None` counts it as
    /// ordered, and spreads the next takeoff from here.
    pub fn order(&mut self, drone: &DroneUid, pace: Pace, now: Moment) -> Option<Duration> {
        let other = self.ordered.as_ref().filter(|(other, _)| other != drone);
        let left = other.map(|(_, at)| pace.interval.saturating_sub(now.since(*at)));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            return Some(left);
        }
        self.ordered = Some((drone.clone(), now));
        self.last = Some(now);
        None
    }

    /// Remaining wait for the last slot, where takeoffs are spread. Earlier ones are over.
    fn taking_off(&self, pace: Pace, now: Moment) -> Option<Duration> {
        let latest = self.latest.as_ref().filter(|_| !pace.interval.is_zero())?;
        match self.up.get(latest)? {
            Up::Granted(granted) => Some(TO_TAKE_OFF.saturating_sub(now.since(*granted))),
            Up::NotOnGround => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn uid(name: &str) -> DroneUid {
        DroneUid(name.into())
    }

    const fn at(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    fn pace(most: usize, seconds: u64) -> Pace {
        Pace {
            most,
            interval: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn takeoffs_are_spread_however_long_a_slot_waited_for_its_confirmation() {
        let mut slots = TakeoffSlots::default();
        let pace = pace(3, 10);
        assert_eq!(slots.request(&uid("a"), true, pace, at(0)), Ok(()));
        assert_eq!(slots.request(&uid("b"), true, pace, at(10)), Ok(()), "a was waited for");
        assert_eq!(slots.order(&uid("a"), pace, at(12)), None);
        assert_eq!(slots.order(&uid("b"), pace, at(13)), Some(Duration::from_secs(9)));
        assert_eq!(slots.order(&uid("a"), pace, at(14)), None, "sent again");
        assert_eq!(slots.order(&uid("b"), pace, at(24)), None);
        slots.up(&uid("b"));
        let left = Duration::from_secs(5);
        assert_eq!(slots.request(&uid("c"), true, pace, at(29)), Err(NotYet::TooSoon(left)));
        assert_eq!(slots.order(&uid("c"), self::pace(3, 0), at(29)), None, "not spread");
    }

    #[test]
    fn takeoffs_are_spread_and_a_slot_that_was_given_stays() {
        let mut slots = TakeoffSlots::default();
        assert_eq!(slots.request(&uid("a"), true, pace(3, 10), at(0)), Ok(()));
        assert_eq!(slots.request(&uid("a"), true, pace(3, 10), at(1)), Ok(()));
        slots.up(&uid("a"));
        let left = Duration::from_secs(6);
        assert_eq!(
            slots.request(&uid("b"), true, pace(3, 10), at(4)),
            Err(NotYet::TooSoon(left))
        );
        assert_eq!(slots.request(&uid("b"), true, pace(3, 10), at(10)), Ok(()));
        assert_eq!(
            slots.request(&uid("c"), true, pace(3, 0), at(10)),
            Ok(()),
            "without an interval all take off at once"
        );
    }

    #[test]
    fn none_takes_off_while_as_many_are_up_as_may_be_and_what_is_up_stays_up() {
        let mut slots = TakeoffSlots::default();
        for name in ["a", "b", "c"] {
            slots.up(&uid(name));
        }
        assert_eq!(slots.request(&uid("d"), true, pace(2, 0), at(0)), Err(NotYet::Full));
        slots.on_ground(&uid("a"));
        assert_eq!(
            slots.request(&uid("a"), true, pace(2, 0), at(0)),
            Err(NotYet::Full),
            "it has landed"
        );
        slots.up(&uid("a"));
        slots.withdraw(&uid("a"));
        assert_eq!(slots.request(&uid("d"), true, pace(2, 0), at(0)), Err(NotYet::Full));
        slots.withdraw(&uid("b"));
        assert_eq!(slots.request(&uid("d"), true, pace(2, 0), at(0)), Ok(()));
    }

    #[test]
    fn silence_gives_no_slot() {
        let mut slots = TakeoffSlots::default();
        for name in ["a", "b", "c"] {
            slots.up(&uid(name));
            assert!(slots.counts(&uid(name)) && !slots.may_take_off(&uid(name)));
        }
        for name in ["a", "b", "c"] {
            slots.on_ground(&uid(name));
        }
        assert!(slots.is_empty());
        assert_eq!(slots.request(&uid("a"), true, pace(3, 10), at(0)), Ok(()));
        assert!(slots.request(&uid("b"), true, pace(3, 10), at(1)).is_err());
        slots.armed(&uid("a"));
        slots.on_ground(&uid("a"));
        assert!(slots.may_take_off(&uid("a")));
        slots.up(&uid("a"));
        slots.on_ground(&uid("a"));
        assert!(!slots.may_take_off(&uid("a")), "it fell silent before it took off");
    }

    #[test]
    fn a_slot_is_for_one_takeoff() {
        let mut slots = TakeoffSlots::default();
        assert_eq!(slots.request(&uid("a"), true, pace(1, 10), at(0)), Ok(()));
        slots.up(&uid("a"));
        assert!(slots.counts(&uid("a")));
        slots.on_ground(&uid("a"));
        assert!(!slots.counts(&uid("a")));
        assert_eq!(slots.request(&uid("b"), true, pace(1, 10), at(10)), Ok(()));
        assert_eq!(slots.request(&uid("a"), true, pace(1, 10), at(20)), Err(NotYet::Full));
    }

    #[test]
    fn those_that_wait_for_the_same_do_not_take_off_together_once_they_have_it() {
        let (mut slots, pace) = (TakeoffSlots::default(), pace(9, 3));
        assert_eq!(
            slots.request(&uid("a"), false, pace, at(0)),
            Ok(()),
            "whether it would arm is found out by trying"
        );
        let left = Duration::from_secs(6);
        assert_eq!(
            slots.request(&uid("b"), true, pace, at(4)),
            Err(NotYet::TooSoon(left)),
            "a has not taken off yet"
        );
        assert_eq!(slots.refuses(&uid("a"), pace, at(4)), Some(left));
        assert_eq!(slots.refuses(&uid("a"), pace, at(10)), Some(Duration::ZERO));
        assert!(!slots.may_take_off(&uid("a")));
        assert_eq!(slots.request(&uid("a"), false, pace, at(10)), Err(NotYet::Unfit));
        assert_eq!(slots.request(&uid("b"), false, pace, at(10)), Ok(()));
        assert_eq!(slots.refuses(&uid("b"), pace, at(20)), Some(Duration::ZERO));
        assert_eq!(slots.request(&uid("a"), true, pace, at(30)), Ok(()));
        assert!(slots.request(&uid("b"), true, pace, at(30)).is_err());
        slots.up(&uid("a"));
        assert_eq!(slots.request(&uid("b"), true, pace, at(33)), Ok(()));
    }

    #[test]
    fn where_takeoffs_are_not_spread_none_waits_for_another_or_gives_its_slot_back() {
        let mut slots = TakeoffSlots::default();
        assert_eq!(slots.request(&uid("a"), false, pace(3, 0), at(0)), Ok(()));
        assert_eq!(slots.request(&uid("b"), true, pace(3, 0), at(0)), Ok(()));
        assert_eq!(slots.refuses(&uid("a"), pace(3, 0), at(100)), None);
        assert!(slots.may_take_off(&uid("a")));
    }

    #[test]
    fn one_that_was_thought_to_be_up_is_not_in_its_own_way() {
        let mut slots = TakeoffSlots::default();
        slots.up(&uid("a"));
        assert_eq!(slots.request(&uid("a"), true, pace(1, 0), at(0)), Ok(()));
        assert!(slots.may_take_off(&uid("a")));
    }

    #[test]
    fn a_new_leader_waits_as_if_another_had_taken_off_just_then() {
        let mut slots = TakeoffSlots::default();
        slots.leader_changed(at(100));
        let left = Duration::from_secs(20);
        assert_eq!(
            slots.request(&uid("a"), true, pace(3, 30), at(110)),
            Err(NotYet::TooSoon(left))
        );
        assert_eq!(slots.request(&uid("a"), true, pace(3, 30), at(130)), Ok(()));
    }

    #[test]
    fn one_that_is_gone_keeps_nobody_on_the_ground() {
        let mut slots = TakeoffSlots::default();
        slots.up(&uid("gone"));
        assert_eq!(slots.request(&uid("a"), true, pace(1, 0), at(0)), Err(NotYet::Full));
        slots.withdraw(&uid("gone"));
        assert_eq!(slots.request(&uid("a"), true, pace(1, 0), at(0)), Ok(()));
    }

    proptest! {
        #[test]
        fn never_are_more_slots_given_than_may_be_up(
            most in 0usize..5,
            steps in proptest::collection::vec((0u8..8, 0u8..6, 0u64..20), 0..200),
        ) {
            // Truly up: from its slot until it lands.
            let (mut slots, mut now, mut takeoffs, mut flying) = (TakeoffSlots::default(), 0, vec![], HashSet::new());
            for (name, what, passed) in steps {
                now += passed;
                let drone = uid(&name.to_string());
                match what {
                    0 if !flying.contains(&drone) => {
                        let had = slots.may_take_off(&drone);
                        if slots.request(&drone, true, pace(most, 7), at(now)).is_ok() && !had {
                            takeoffs.push(now);
                        }
                    }
                    1 if slots.may_take_off(&drone) => {
                        flying.insert(drone.clone());
                        slots.up(&drone);
                    }
                    2 => slots.up(&drone),
                    5 if !flying.contains(&drone) => {
                        slots.refuses(&drone, pace(most, 7), at(now));
                    }
                    3 => {
                        flying.remove(&drone);
                        slots.on_ground(&drone);
                    }
                    4 => {
                        flying.remove(&drone);
                        slots.withdraw(&drone);
                    }
                    _ => {}
                }
                let or_about_to = slots.up.iter().filter(|(d, up)| matches!(up, Up::Granted(_)) && !flying.contains(*d)).count();
                prop_assert!(flying.len() + or_about_to <= most);
            }
            prop_assert!(takeoffs.windows(2).all(|pair| pair[1] - pair[0] >= 7));
        }
    }
}
