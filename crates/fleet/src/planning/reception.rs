//! Whether the silence of single agents rather means that the coordinator itself is cut off.
//!
//!   in contact: at least half as many agents as there are vehicles in service --fewer--> cut off --enough, for RECONNECT_TIME--> in
//!   contact

use model::time::Moment;
use std::time::Duration;

/// Time for agents to come back after that: their back-off is capped at 5 s.
pub const RECONNECT_TIME: Duration = Duration::from_secs(8);

#[derive(Clone, Copy, Debug, Default)]
pub struct Reception {
    cut_off: Option<Moment>,
}

impl Reception {
    /// Whether too few are connected, or were just now; `serving`: nodes with a Drone.
    pub fn is_cut_off(&mut self, agents: usize, serving: usize, now: Moment) -> bool {
        if agents.saturating_mul(2) < serving {
            self.cut_off = Some(now);
        }
        self.cut_off.is_some_and(|cut_off| now.since(cut_off) < RECONNECT_TIME)
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
        let mut reception = Reception::default();
        assert!(!reception.is_cut_off(9, 10, at(0)));
        assert!(!reception.is_cut_off(5, 10, at(1)));
        assert!(reception.is_cut_off(4, 10, at(2)));
        assert!(reception.is_cut_off(0, 10, at(1000)));
    }

    #[test]
    fn those_who_come_back_have_time_to_before_the_others_are_lost() {
        let mut reception = Reception::default();
        assert!(reception.is_cut_off(2, 50, at(100)));
        assert!(reception.is_cut_off(40, 50, at(101)), "idle ones may have come first");
        assert!(reception.is_cut_off(48, 50, at(107)));
        assert!(!reception.is_cut_off(49, 50, at(108)));
    }

    #[test]
    fn a_swarm_of_one_is_replaced_where_another_agent_is_heard() {
        assert!(!Reception::default().is_cut_off(1, 1, at(0)));
        assert!(Reception::default().is_cut_off(0, 1, at(0)), "there is none that could");
    }
}
