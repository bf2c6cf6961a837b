//! The pilot's part in getting the autopilot's descriptions of its events, and events that were missed.

use super::Pilot;
use crate::command::{Outstanding, Patience};
use crate::metadata::{Done, Fetch, Job, MetadataCache};
use crate::outgoing::{Outgoing, Purpose};
use crate::recipe::Command;
use link::dialect::{MavCmd, MavMessage, REQUEST_EVENT_DATA};
use model::time::Moment;
use model::vehicle::{Autopilot, FlightTruth};

impl Pilot {
    /// A pilot that reads PX4's own descriptions of its events and keeps them in `cache`. Without them it knows the arming
    /// checks that are built in.
    pub fn keeping_descriptions(mut self, cache: MetadataCache) -> Self {
        self.descriptions = Fetch::new(Some(cache));
        self
    }

    /// Work that takes longer than the pilot may: do it elsewhere, one at a time, and call [`Self::job_done`] at its end.
    pub const fn take_job(&mut self) -> Option<Job> {
        self.descriptions.take_job()
    }

    /// `None`: it broke off.
    pub fn job_done(&mut self, done: Option<Done>, now: Moment, jitter: f64) {
        if let Some(table) = self.descriptions.done(done, now, jitter) {
            self.normalizer.events_described(table);
        }
    }

    pub(super) fn next_description(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        let identity = self.vehicle.identity.clone()?;
        let free = self.outstanding.is_none() && self.link_up.is_some() && !self.terminating;
        if !free || identity.autopilot != Autopilot::Px4 || !self.vehicle.link_alive(now) {
            return None;
        }
        if let Some((first_sequence, last_sequence)) = self.normalizer.events_missed(now) {
            return Some(self.aside(MavMessage::REQUEST_EVENT(REQUEST_EVENT_DATA {
                first_sequence,
                last_sequence,
                target_system: identity.system.0,
                target_component: identity.component.0,
            })));
        }
        // Armed is known only with the next heartbeat.
        if self.vehicle.truth(now) != FlightTruth::Disarmed || self.memory.arm_under_way(now) {
            return None;
        }
        if let Some(message) = self.descriptions.wanted(now) {
            self.descriptions.asked(now);
            let command = Command::long(MavCmd::MAV_CMD_REQUEST_MESSAGE, [f32::from(message), 0.0, 0.0, 0.0]);
            let patience = Patience::for_request();
            let (outstanding, message) = Outstanding::begin(Purpose::Descriptions, identity, command, patience, now);
            self.outstanding = Some(outstanding);
            return Some(self.outgoing(message, None));
        }
        let message = self.descriptions.next(&identity, now, jitter)?;
        Some(self.aside(message))
    }
}
