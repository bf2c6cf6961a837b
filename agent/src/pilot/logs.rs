//! The pilot's part in bringing the autopilot's own logs: when there is time for it.

use super::Pilot;
use crate::logs::fetch::LogFetch;
use crate::logs::wanted::{Wait, Wanted};
use crate::outgoing::Outgoing;
use model::assignment::Desired;
use model::time::Moment;
use model::vehicle::FlightTruth;

impl Pilot {
    pub fn bringing_logs(mut self, wanted: Wanted) -> Self {
        self.logs = LogFetch::of(wanted);
        self
    }

    pub(super) fn next_log(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        if let Some(why) = self.no_time_for_logs(now) {
            self.logs.wait(why);
            return None;
        }
        let identity = self.vehicle.identity.clone()?;
        let message = self.logs.next(&identity, now, jitter)?;
        Some(self.aside(message))
    }

    fn no_time_for_logs(&self, now: Moment) -> Option<Wait> {
        let held = self.state.fence.held.as_ref();
        let to_fly = held.is_some_and(|held| matches!(held.desired, Desired::Flying { .. }));
        if self.link_up.is_none() || self.vehicle.identity.is_none() || !self.vehicle.link_alive(now) {
            Some(Wait::Long("the autopilot is not heard; see `skein status`"))
        } else if self.vehicle.truth(now) != FlightTruth::Disarmed || self.memory.arm_under_way(now) {
            Some(Wait::Long(
                "the vehicle is not on the ground and disarmed; the autopilot's logs come after the flight",
            ))
        } else if to_fly {
            Some(Wait::Long(
                "the vehicle is ordered to fly; ground it, or wait until its flight is over (`skein ground --drone NAME`)",
            ))
        } else if self.outstanding.is_some() || self.terminating || self.descriptions.is_downloading() {
            Some(Wait::Soon("the agent asks the autopilot for something else"))
        } else {
            None
        }
    }
}
