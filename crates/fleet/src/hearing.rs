//! Whether the silence of single agents says anything of them, or rather of the coordinator: cut off itself, it receives no
//! reports.
//!
//! Owns: [`Hearing`]. Must not: read a clock, or say what follows.
//!
//!   heard: at least half as many agents as there are vehicles in service --fewer--> deaf --enough, for SETTLES--> heard

use crate::time::Moment;
use std::time::Duration;

/// After it was deaf, agents have this long to come back before the silence of one says anything: their back-off is capped at 5 s.
pub const SETTLES: Duration = Duration::from_secs(8);

/// How many of its agents a coordinator receives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hearing {
    deaf: Option<Moment>,
}

impl Hearing {
    /// Whether too few are heard, or were just now: `agents` are connected, and `serving` nodes have a Drone.
    pub fn is_deaf(&mut self, agents: usize, serving: usize, now: Moment) -> bool {
        if agents.saturating_mul(2) < serving {
            self.deaf = Some(now);
        }
        self.deaf.is_some_and(|deaf| now.since(deaf) < SETTLES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Moment {
        Moment::at(Duration::from_secs(seconds))
    }

    #[test]
    fn one_of_several_that_falls_silent_is_lost_and_many_at_once_are_not() {
        let mut hearing = Hearing::default();
        assert!(!hearing.is_deaf(9, 10, at(0)));
        assert!(!hearing.is_deaf(5, 10, at(1)));
        assert!(hearing.is_deaf(4, 10, at(2)));
        assert!(hearing.is_deaf(0, 10, at(1000)));
    }

    #[test]
    fn those_who_come_back_have_time_to_before_the_others_are_lost() {
        let mut hearing = Hearing::default();
        assert!(hearing.is_deaf(2, 50, at(100)));
        assert!(hearing.is_deaf(40, 50, at(101)), "idle ones may have come first");
        assert!(hearing.is_deaf(48, 50, at(107)));
        assert!(!hearing.is_deaf(49, 50, at(108)));
    }

    #[test]
    fn a_swarm_of_one_is_replaced_where_another_agent_is_heard() {
        assert!(!Hearing::default().is_deaf(1, 1, at(0)));
        assert!(Hearing::default().is_deaf(0, 1, at(0)), "there is none that could");
    }
}
