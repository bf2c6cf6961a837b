//! Whose turn it is to rise: never more of a Swarm are in the air than it may have there, and takeoffs are spread in time.
//!
//! Owns: [`Turns`], who of one Swarm is in the air or was told to go there. It errs on the safe side: who is not known to be down
//! counts as up. But to be counted is no leave to rise: a turn is asked for, and is for one takeoff. Must not: read a clock, or bring
//! anybody down: who is up stays up.

use crate::ids::DroneUid;
use crate::time::Moment;
use std::collections::HashMap;
use std::time::Duration;

/// The turns of one Swarm.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    up: HashMap<DroneUid, Up>,
    last: Option<Moment>,
}

/// Why a Drone counts as up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Up {
    /// It was given its turn, and has not been seen to rise: it has leave to.
    Told,
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
}

impl Turns {
    /// Whether `drone` has leave to rise: it was given its turn, and has not used it.
    #[must_use]
    pub fn may_rise(&self, drone: &DroneUid) -> bool {
        self.up.get(drone) == Some(&Up::Told)
    }

    /// Whether `drone` counts as up.
    #[must_use]
    pub fn counts(&self, drone: &DroneUid) -> bool {
        self.up.contains_key(drone)
    }

    /// Nobody knows that `drone` is down.
    pub fn up(&mut self, drone: &DroneUid) {
        if !self.up.contains_key(drone) {
            self.up.insert(drone.clone(), Up::NotDown);
        }
    }

    /// `drone` is in the air: if it had its turn, it has used it. After that it rises by another.
    pub fn risen(&mut self, drone: &DroneUid) {
        self.up.insert(drone.clone(), Up::NotDown);
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
    }

    /// Of those that are not among `these`, nobody is left.
    pub fn keep(&mut self, these: impl Fn(&DroneUid) -> bool) {
        self.up.retain(|drone, _| these(drone));
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

    /// Gives `drone`, which stands, its turn, if it may have it now.
    ///
    /// # Errors
    /// [`NotYet`].
    pub fn ask(&mut self, drone: &DroneUid, pace: Pace, now: Moment) -> Result<(), NotYet> {
        if self.may_rise(drone) {
            return Ok(());
        }
        let others = self.up.len() - usize::from(self.counts(drone));
        if others >= pace.most {
            return Err(NotYet::Full);
        }
        let waited = self.last.map(|last| now.since(last));
        if let Some(left) = waited
            .and_then(|waited| pace.interval.checked_sub(waited))
            .filter(|left| !left.is_zero())
        {
            return Err(NotYet::TooSoon(left));
        }
        self.last = Some(now);
        self.up.insert(drone.clone(), Up::Told);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

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
        assert_eq!(turns.ask(&uid("a"), pace(3, 10), at(0)), Ok(()));
        assert_eq!(turns.ask(&uid("a"), pace(3, 10), at(1)), Ok(()));
        let left = Duration::from_secs(6);
        assert_eq!(turns.ask(&uid("b"), pace(3, 10), at(4)), Err(NotYet::TooSoon(left)));
        assert_eq!(turns.ask(&uid("b"), pace(3, 10), at(10)), Ok(()));
        assert_eq!(
            turns.ask(&uid("c"), pace(3, 0), at(10)),
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
        assert_eq!(turns.ask(&uid("d"), pace(2, 0), at(0)), Err(NotYet::Full));
        turns.stands(&uid("a"));
        assert_eq!(
            turns.ask(&uid("a"), pace(2, 0), at(0)),
            Err(NotYet::Full),
            "it has landed"
        );
        turns.up(&uid("a"));
        turns.down(&uid("a"));
        assert_eq!(turns.ask(&uid("d"), pace(2, 0), at(0)), Err(NotYet::Full));
        turns.down(&uid("b"));
        assert_eq!(turns.ask(&uid("d"), pace(2, 0), at(0)), Ok(()));
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
        assert_eq!(turns.ask(&uid("a"), pace(3, 10), at(0)), Ok(()));
        assert!(turns.ask(&uid("b"), pace(3, 10), at(1)).is_err());
        turns.up(&uid("a"));
        turns.stands(&uid("a"));
        assert!(turns.may_rise(&uid("a")), "it had its turn before it fell silent");
    }

    #[test]
    fn a_turn_is_for_one_takeoff() {
        let mut turns = Turns::default();
        assert_eq!(turns.ask(&uid("a"), pace(1, 10), at(0)), Ok(()));
        turns.risen(&uid("a"));
        assert!(turns.counts(&uid("a")));
        turns.stands(&uid("a"));
        assert!(!turns.counts(&uid("a")));
        assert_eq!(turns.ask(&uid("b"), pace(1, 10), at(10)), Ok(()));
        assert_eq!(turns.ask(&uid("a"), pace(1, 10), at(20)), Err(NotYet::Full));
    }

    #[test]
    fn one_that_was_thought_to_be_up_is_not_in_its_own_way() {
        let mut turns = Turns::default();
        turns.up(&uid("a"));
        assert_eq!(turns.ask(&uid("a"), pace(1, 0), at(0)), Ok(()));
        assert!(turns.may_rise(&uid("a")));
    }

    #[test]
    fn who_takes_over_the_lead_waits_as_if_another_had_risen_just_then() {
        let mut turns = Turns::default();
        turns.taken_over(at(100));
        let left = Duration::from_secs(20);
        assert_eq!(turns.ask(&uid("a"), pace(3, 30), at(110)), Err(NotYet::TooSoon(left)));
        assert_eq!(turns.ask(&uid("a"), pace(3, 30), at(130)), Ok(()));
    }

    #[test]
    fn one_that_is_gone_keeps_nobody_on_the_ground() {
        let mut turns = Turns::default();
        turns.up(&uid("gone"));
        assert_eq!(turns.ask(&uid("a"), pace(1, 0), at(0)), Err(NotYet::Full));
        turns.keep(|drone| *drone == uid("a"));
        assert_eq!(turns.ask(&uid("a"), pace(1, 0), at(0)), Ok(()));
    }

    proptest! {
        #[test]
        fn never_are_more_told_to_rise_than_may_be_up(
            most in 0usize..5,
            steps in proptest::collection::vec((0u8..8, 0u8..5, 0u64..20), 0..200),
        ) {
            // Who is up in truth: as told, and until it lands.
            let (mut turns, mut now, mut rises, mut flying) = (Turns::default(), 0, vec![], HashSet::new());
            for (name, what, passed) in steps {
                now += passed;
                let drone = uid(&name.to_string());
                match what {
                    0 if !flying.contains(&drone) => {
                        let had = turns.may_rise(&drone);
                        if turns.ask(&drone, pace(most, 7), at(now)).is_ok() && !had {
                            rises.push(now);
                        }
                    }
                    1 if turns.may_rise(&drone) => {
                        flying.insert(drone.clone());
                        turns.risen(&drone);
                    }
                    2 => turns.up(&drone),
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
                let or_about_to = turns.up.iter().filter(|(d, up)| **up == Up::Told && !flying.contains(*d)).count();
                prop_assert!(flying.len() + or_about_to <= most);
            }
            prop_assert!(rises.windows(2).all(|pair| pair[1] - pair[0] >= 7));
        }
    }
}
