//! Whose turn it is to rise: never more of a Swarm are in the air than it may have there, and takeoffs are spread in time.
//!
//! Owns: [`Turns`], who of one Swarm is in the air or was told to go there. It errs on the safe side: who is not known to be down
//! counts as up. But to be counted is no leave to rise: a turn is asked for, and is for one takeoff. Must not: read a clock, or bring
//! anybody down: who is up stays up.

use crate::ids::DroneUid;
use crate::time::Moment;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// One that has its turn has this long to rise, where takeoffs are spread: the next waits for it, and whose autopilot refuses to arm
/// for so long gives its turn back. Else all that wait for the same, as for a first fix, would rise together once they have it.
pub const TO_RISE: Duration = Duration::from_secs(10);

/// The turns of one Swarm.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    up: HashMap<DroneUid, Up>,
    /// Whose turn was over before their autopilots would arm.
    unfit: HashSet<DroneUid>,
    last: Option<Moment>,
    /// Who had its turn last.
    latest: Option<DroneUid>,
}

/// Why a Drone counts as up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Up {
    /// It was given its turn then, and has not been seen to rise: it has leave to.
    Told(Moment),
    /// It is in the air, or nobody knows that it is not. That is no leave: seen to stand, it asks for its turn.
    NotDown,
}

/// How many may be up, and how they are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// At most this many are up at a time.
    pub most: usize,
    /// From one takeoff to the next.
    pub interval: Duration,
}

/// Why a Drone has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotYet {
    /// As many are up as may be.
    Full,
    /// Another has been told to rise just now; this is how long to wait.
    TooSoon(Duration),
    /// It had its turn, and its autopilot still refuses to arm.
    Unfit,
}

impl Turns {
    /// Whether `drone` has leave to rise: it was given its turn, and has not used it.
    #[must_use]
    pub fn may_rise(&self, drone: &DroneUid) -> bool {
        matches!(self.up.get(drone), Some(Up::Told(_)))
    }

    /// Whether `drone` counts as up.
    #[must_use]
    pub fn counts(&self, drone: &DroneUid) -> bool {
        self.up.contains_key(drone)
    }

    /// `drone` is in the air, or nobody knows that it is not. If it had its turn, that is used: after this it rises by another.
    pub fn up(&mut self, drone: &DroneUid) {
        self.up.insert(drone.clone(), Up::NotDown);
        self.unfit.remove(drone);
    }

    /// `drone` is armed on the ground.
    pub fn armed(&mut self, drone: &DroneUid) {
        if !self.counts(drone) {
            self.up(drone);
        }
    }

    /// `drone` is known to be down, and is wished to rise as soon as it may.
    pub fn stands(&mut self, drone: &DroneUid) {
        if !self.may_rise(drone) {
            self.up.remove(drone);
        }
    }

    /// `drone` is known to be down and is not wished to rise, or it is gone.
    pub fn down(&mut self, drone: &DroneUid) {
        self.up.remove(drone);
        self.unfit.remove(drone);
    }

    /// Before `now` somebody else gave turns, and the last of them may have been just now.
    pub fn taken_over(&mut self, now: Moment) {
        self.last = Some(now);
    }

    /// How many count as up.
    #[must_use]
    pub fn len(&self) -> usize {
        self.up.len()
    }

    /// Whether nobody is up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.up.is_empty()
    }

    /// `drone` stands, and its autopilot refuses to arm: it gives its turn back, or has this long to rise. `None` if it had none,
    /// or takeoffs are not spread.
    pub fn refuses(&mut self, drone: &DroneUid, pace: Pace, now: Moment) -> Option<Duration> {
        let Some(Up::Told(told)) = self.up.get(drone) else {
            return None;
        };
        if pace.interval.is_zero() {
            return None;
        }
        let left = TO_RISE.saturating_sub(now.since(*told));
        if left.is_zero() {
            self.up.remove(drone);
            self.unfit.insert(drone.clone());
        }
        Some(left)
    }

    /// Gives `drone`, which stands, its turn, if it may have it now; `fit` is whether its autopilot does not refuse to arm.
    ///
    /// # Errors
    /// [`NotYet`].
    pub fn ask(&mut self, drone: &DroneUid, fit: bool, pace: Pace, now: Moment) -> Result<(), NotYet> {
        if self.may_rise(drone) {
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
        if let Some(left) = left.max(self.rising(pace, now)).filter(|left| !left.is_zero()) {
            return Err(NotYet::TooSoon(left));
        }
        self.last = Some(now);
        self.unfit.remove(drone);
        self.up.insert(drone.clone(), Up::Told(now));
        self.latest = Some(drone.clone());
        Ok(())
    }

    /// How long the one that had its turn last is waited for, where takeoffs are spread. Those before it have been.
    fn rising(&self, pace: Pace, now: Moment) -> Option<Duration> {
        let latest = self.latest.as_ref().filter(|_| !pace.interval.is_zero())?;
        match self.up.get(latest)? {
            Up::Told(told) => Some(TO_RISE.saturating_sub(now.since(*told))),
            Up::NotDown => None,
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
    fn takeoffs_are_spread_and_one_that_had_its_turn_keeps_it() {
        let mut turns = Turns::default();
        assert_eq!(turns.ask(&uid("a"), true, pace(3, 10), at(0)), Ok(()));
        assert_eq!(turns.ask(&uid("a"), true, pace(3, 10), at(1)), Ok(()));
        turns.up(&uid("a"));
        let left = Duration::from_secs(6);
        assert_eq!(
            turns.ask(&uid("b"), true, pace(3, 10), at(4)),
            Err(NotYet::TooSoon(left))
        );
        assert_eq!(turns.ask(&uid("b"), true, pace(3, 10), at(10)), Ok(()));
        assert_eq!(
            turns.ask(&uid("c"), true, pace(3, 0), at(10)),
            Ok(()),
            "without an interval all rise at once"
        );
    }

    #[test]
    fn nobody_rises_while_as_many_are_up_as_may_be_and_who_is_up_stays_up() {
        let mut turns = Turns::default();
        for name in ["a", "b", "c"] {
            turns.up(&uid(name));
        }
        assert_eq!(turns.ask(&uid("d"), true, pace(2, 0), at(0)), Err(NotYet::Full));
        turns.stands(&uid("a"));
        assert_eq!(
            turns.ask(&uid("a"), true, pace(2, 0), at(0)),
            Err(NotYet::Full),
            "it has landed"
        );
        turns.up(&uid("a"));
        turns.down(&uid("a"));
        assert_eq!(turns.ask(&uid("d"), true, pace(2, 0), at(0)), Err(NotYet::Full));
        turns.down(&uid("b"));
        assert_eq!(turns.ask(&uid("d"), true, pace(2, 0), at(0)), Ok(()));
    }

    #[test]
    fn silence_gives_nobody_leave_to_rise() {
        let mut turns = Turns::default();
        for name in ["a", "b", "c"] {
            turns.up(&uid(name));
            assert!(turns.counts(&uid(name)) && !turns.may_rise(&uid(name)));
        }
        for name in ["a", "b", "c"] {
            turns.stands(&uid(name));
        }
        assert!(turns.is_empty());
        assert_eq!(turns.ask(&uid("a"), true, pace(3, 10), at(0)), Ok(()));
        assert!(turns.ask(&uid("b"), true, pace(3, 10), at(1)).is_err());
        turns.armed(&uid("a"));
        turns.stands(&uid("a"));
        assert!(turns.may_rise(&uid("a")));
        turns.up(&uid("a"));
        turns.stands(&uid("a"));
        assert!(!turns.may_rise(&uid("a")), "it fell silent before it rose");
    }

    #[test]
    fn a_turn_is_for_one_takeoff() {
        let mut turns = Turns::default();
        assert_eq!(turns.ask(&uid("a"), true, pace(1, 10), at(0)), Ok(()));
        turns.up(&uid("a"));
        assert!(turns.counts(&uid("a")));
        turns.stands(&uid("a"));
        assert!(!turns.counts(&uid("a")));
        assert_eq!(turns.ask(&uid("b"), true, pace(1, 10), at(10)), Ok(()));
        assert_eq!(turns.ask(&uid("a"), true, pace(1, 10), at(20)), Err(NotYet::Full));
    }

    #[test]
    fn those_that_wait_for_the_same_do_not_rise_together_once_they_have_it() {
        let (mut turns, pace) = (Turns::default(), pace(9, 3));
        assert_eq!(
            turns.ask(&uid("a"), false, pace, at(0)),
            Ok(()),
            "whether it would arm is found out by trying"
        );
        let left = Duration::from_secs(6);
        assert_eq!(
            turns.ask(&uid("b"), true, pace, at(4)),
            Err(NotYet::TooSoon(left)),
            "a has not risen yet"
        );
        assert_eq!(turns.refuses(&uid("a"), pace, at(4)), Some(left));
        assert_eq!(turns.refuses(&uid("a"), pace, at(10)), Some(Duration::ZERO));
        assert!(!turns.may_rise(&uid("a")));
        assert_eq!(turns.ask(&uid("a"), false, pace, at(10)), Err(NotYet::Unfit));
        assert_eq!(turns.ask(&uid("b"), false, pace, at(10)), Ok(()));
        assert_eq!(turns.refuses(&uid("b"), pace, at(20)), Some(Duration::ZERO));
        // Both have their fix.
        assert_eq!(turns.ask(&uid("a"), true, pace, at(30)), Ok(()));
        assert!(turns.ask(&uid("b"), true, pace, at(30)).is_err());
        turns.up(&uid("a"));
        assert_eq!(turns.ask(&uid("b"), true, pace, at(33)), Ok(()));
    }

    #[test]
    fn where_takeoffs_are_not_spread_nobody_waits_for_another_or_gives_its_turn_back() {
        let mut turns = Turns::default();
        assert_eq!(turns.ask(&uid("a"), false, pace(3, 0), at(0)), Ok(()));
        assert_eq!(turns.ask(&uid("b"), true, pace(3, 0), at(0)), Ok(()));
        assert_eq!(turns.refuses(&uid("a"), pace(3, 0), at(100)), None);
        assert!(turns.may_rise(&uid("a")));
    }

    #[test]
    fn one_that_was_thought_to_be_up_is_not_in_its_own_way() {
        let mut turns = Turns::default();
        turns.up(&uid("a"));
        assert_eq!(turns.ask(&uid("a"), true, pace(1, 0), at(0)), Ok(()));
        assert!(turns.may_rise(&uid("a")));
    }

    #[test]
    fn who_takes_over_the_lead_waits_as_if_another_had_risen_just_then() {
        let mut turns = Turns::default();
        turns.taken_over(at(100));
        let left = Duration::from_secs(20);
        assert_eq!(
            turns.ask(&uid("a"), true, pace(3, 30), at(110)),
            Err(NotYet::TooSoon(left))
        );
        assert_eq!(turns.ask(&uid("a"), true, pace(3, 30), at(130)), Ok(()));
    }

    #[test]
    fn one_that_is_gone_keeps_nobody_on_the_ground() {
        let mut turns = Turns::default();
        turns.up(&uid("gone"));
        assert_eq!(turns.ask(&uid("a"), true, pace(1, 0), at(0)), Err(NotYet::Full));
        turns.down(&uid("gone"));
        assert_eq!(turns.ask(&uid("a"), true, pace(1, 0), at(0)), Ok(()));
    }

    proptest! {
        #[test]
        fn never_are_more_told_to_rise_than_may_be_up(
            most in 0usize..5,
            steps in proptest::collection::vec((0u8..8, 0u8..6, 0u64..20), 0..200),
        ) {
            // Who is up in truth: as told, and until it lands.
            let (mut turns, mut now, mut rises, mut flying) = (Turns::default(), 0, vec![], HashSet::new());
            for (name, what, passed) in steps {
                now += passed;
                let drone = uid(&name.to_string());
                match what {
                    0 if !flying.contains(&drone) => {
                        let had = turns.may_rise(&drone);
                        if turns.ask(&drone, true, pace(most, 7), at(now)).is_ok() && !had {
                            rises.push(now);
                        }
                    }
                    1 if turns.may_rise(&drone) => {
                        flying.insert(drone.clone());
                        turns.up(&drone);
                    }
                    2 => turns.up(&drone),
                    5 if !flying.contains(&drone) => {
                        turns.refuses(&drone, pace(most, 7), at(now));
                    }
                    3 => {
                        flying.remove(&drone);
                        turns.stands(&drone);
                    }
                    4 => {
                        flying.remove(&drone);
                        turns.down(&drone);
                    }
                    _ => {}
                }
                let or_about_to = turns.up.iter().filter(|(d, up)| matches!(up, Up::Told(_)) && !flying.contains(*d)).count();
                prop_assert!(flying.len() + or_about_to <= most);
            }
            prop_assert!(rises.windows(2).all(|pair| pair[1] - pair[0] >= 7));
        }
    }
}
