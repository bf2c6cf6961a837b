//! Limits on the Drones of one Swarm or Mission, whatever its plan asks for.

use model::backoff::Backoff;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Existing {
    pub has_vehicle: bool,
    pub leaving: bool,
    pub lost: bool,
}

impl Existing {
    /// A Drone that leaves or is lost blocks no other, and there are no more of those than vehicles: each keeps its own until the landing.
    const fn counts(self) -> bool {
        !(self.has_vehicle && (self.leaving || self.lost))
    }
}

/// How many of the `asked` Drones are made: at most `most` count at once.
pub fn creations(asked: usize, existing: impl IntoIterator<Item = Existing>, most: usize) -> usize {
    let counted = existing.into_iter().filter(|one| one.counts()).count();
    asked.min(most.saturating_sub(counted))
}

/// For each place of `parallelism`: one at work, one that relieves it, and one on its way home by its own plan.
pub const fn most_of_mission(parallelism: usize) -> usize {
    parallelism.saturating_mul(3)
}

const CREATE_BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(2),
    cap: Duration::from_secs(60),
};

/// Pause after so many Drones were made since one last began its work; `most` may be there at once.
pub fn pause(made_in_vain: usize, most: usize) -> Duration {
    match u32::try_from(made_in_vain.saturating_sub(most)) {
        Ok(0) => Duration::ZERO,
        Ok(failures) => CREATE_BACKOFF.delay(failures, 1.0),
        Err(_) => CREATE_BACKOFF.cap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Existing = Existing {
        has_vehicle: true,
        leaving: false,
        lost: false,
    };

    #[test]
    fn no_more_drones_count_at_once_than_may_be_there_however_many_are_asked_for() {
        for there in 0..10 {
            for asked in 0..10 {
                let made = creations(asked, vec![ONE; there], 4);
                assert!(
                    made <= asked && (made == 0 || there + made <= 4),
                    "{there} {asked}: {made}"
                );
            }
        }
        assert_eq!(creations(3, vec![ONE; 1], 4), 3);
    }

    #[test]
    fn one_that_leaves_with_its_vehicle_or_is_lost_with_it_is_not_in_the_way_of_another() {
        let leaves = Existing { leaving: true, ..ONE };
        let lost = Existing { lost: true, ..ONE };
        assert_eq!(creations(2, [leaves, lost], 2), 2);
        let without = |one: Existing| Existing {
            has_vehicle: false,
            ..one
        };
        assert_eq!(creations(2, [without(leaves)], 2), 1, "nothing else bounds those");
        assert_eq!(creations(2, [without(lost), without(ONE)], 2), 0);
    }

    #[test]
    fn drones_that_are_made_in_vain_come_ever_more_slowly() {
        let after = |made| pause(made, 2).as_secs();
        assert_eq!([after(0), after(2), after(3), after(4)], [0, 0, 2, 4]);
        assert_eq!(
            (after(9), after(1_000_000), pause(usize::MAX, 0).as_secs()),
            (60, 60, 60)
        );
    }
}
