//! Whose turn it is to rise: never more of a Swarm are in the air than it may have there, and takeoffs are spread in time.
//!
//! Owns: [`Turns`], who of one Swarm is in the air or was told to go there. It errs on the safe side: who is not known to be down
//! counts as up. Must not: read a clock, or bring anybody down: who is up stays up.

use crate::ids::DroneUid;
use crate::time::Moment;
use std::collections::HashSet;
use std::time::Duration;

/// The turns of one Swarm.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    up: HashSet<DroneUid>,
    last: Option<Moment>,
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
    /// Whether `drone` has had its turn.
    #[must_use]
    pub fn has(&self, drone: &DroneUid) -> bool {
        self.up.contains(drone)
    }

    /// `drone` is in the air, or nobody knows that it is not.
    pub fn up(&mut self, drone: &DroneUid) {
        if !self.up.contains(drone) {
            self.up.insert(drone.clone());
        }
    }

    /// `drone` is known to be down and is not wished to rise, or it is gone.
    pub fn down(&mut self, drone: &DroneUid) {
        self.up.remove(drone);
    }

    /// Whether nobody is up.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.up.is_empty()
    }

    /// Gives `drone` its turn, if it may have it now.
    ///
    /// # Errors
    /// [`NotYet`].
    pub fn ask(&mut self, drone: &DroneUid, pace: Pace, now: Moment) -> Result<(), NotYet> {
        if self.has(drone) {
            return Ok(());
        }
        if self.up.len() >= pace.most {
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
        self.up.insert(drone.clone());
        Ok(())
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
        assert_eq!(turns.ask(&uid("a"), pace(2, 0), at(0)), Ok(()));
        turns.down(&uid("a"));
        assert_eq!(turns.ask(&uid("d"), pace(2, 0), at(0)), Err(NotYet::Full));
        turns.down(&uid("b"));
        assert_eq!(turns.ask(&uid("d"), pace(2, 0), at(0)), Ok(()));
    }

    proptest! {
        #[test]
        fn never_are_more_told_to_rise_than_may_be_up(
            most in 0usize..5,
            steps in proptest::collection::vec((0u8..8, any::<bool>(), 0u64..20), 0..100),
        ) {
            let (mut turns, mut now, mut rises) = (Turns::default(), 0, vec![]);
            for (name, asks, passed) in steps {
                now += passed;
                let drone = uid(&name.to_string());
                if asks {
                    let had = turns.has(&drone);
                    if turns.ask(&drone, pace(most, 7), at(now)).is_ok() && !had {
                        rises.push(now);
                    }
                } else {
                    turns.down(&drone);
                }
                prop_assert!(turns.up.len() <= most);
            }
            prop_assert!(rises.windows(2).all(|pair| pair[1] - pair[0] >= 7));
        }
    }
}
