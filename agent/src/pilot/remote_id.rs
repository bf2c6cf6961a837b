//! The pilot's part in Remote ID: which Operator it holds, and when it is sent.

use super::Pilot;
use crate::outgoing::Outgoing;
use crate::remote_id::Situation;
use link::Frame;
use link::dialect::MavMessage;
use model::remote_id::{RemoteIdOrder, RemoteIdReport, advice, is_transmitter};
use model::time::Moment;
use model::units::{Address, ComponentId, SystemId};
use model::vehicle::{Airframe, ArmingReason, FlightTruth, Identity, ReasonClass};
use std::time::Duration;
use tracing::warn;

impl Pilot {
    /// Of this computer, since 1970.
    pub const fn dated(&mut self, date: Option<Duration>) {
        self.date = date;
    }

    /// Orders of a coordinator that no longer leads are refused.
    pub fn take_remote_id(&mut self, order: RemoteIdOrder, now: Moment) {
        let (term, highest) = (order.term, self.state.fence.highest_term);
        match self.remote_id.take(order, highest, self.vehicle.truth(now)) {
            Ok(()) => self.state.fence = self.state.fence.raised_to(term),
            Err(got) => warn!(%got, %highest, "operator refused: its sender no longer leads"),
        }
        self.remember_remote_id();
    }

    /// A transmitter is a component of its own of the vehicle.
    pub(super) fn hear_transmitter(&mut self, frame: &Frame, now: Moment) {
        let MavMessage::OPEN_DRONE_ID_ARM_STATUS(status) = &frame.message else {
            return;
        };
        let Ok(system) = u8::try_from(frame.header.system_id) else {
            return;
        };
        let from = Address {
            system: SystemId(system),
            component: ComponentId(frame.header.component_id),
        };
        if self
            .discovery
            .latched()
            .is_some_and(|identity| is_transmitter(from, identity.system))
        {
            self.remote_id.heard(status, now);
        }
    }

    fn remote_id_situation(&self, now: Moment) -> Situation {
        let ours = match self.airframe() {
            Airframe::Same => true,
            // After a silence its number is read again: no flight loses its operator for that.
            Airframe::Unread => matches!(self.vehicle.truth(now), FlightTruth::Airborne(_)),
            Airframe::Another => false,
        };
        let heard = self.link_up.is_some() && self.vehicle.link_alive(now) && ours;
        Situation {
            to: self.vehicle.identity.as_ref().filter(|_| heard).map(Identity::address),
            home: self.vehicle.home_at,
            truth: self.vehicle.truth(now),
            silent: self.contact.silent(now),
            date: self.date,
        }
    }

    pub(super) fn next_remote_id(&mut self, now: Moment) -> Option<Outgoing> {
        let situation = self.remote_id_situation(now);
        let message = self.remote_id.next(&situation, now);
        self.remember_remote_id();
        Some(self.aside(message?))
    }

    pub(super) fn remote_id_report(&self, now: Moment) -> RemoteIdReport {
        self.remote_id.report(&self.remote_id_situation(now), now)
    }

    pub(super) fn remote_id_reasons(&self, now: Moment) -> Vec<ArmingReason> {
        if self.vehicle.ready(now) != Some(false) {
            return Vec::new();
        }
        let report = self.remote_id_report(now);
        let given = self.vehicle.reasons.iter();
        let given = given.filter_map(|reason| Some((advice(&reason.text, &report)?, reason.first)));
        let ours = given.map(|(text, first)| ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(text.to_owned(), first)
        });
        ours.collect()
    }

    fn remember_remote_id(&mut self) {
        if self.state.remote_id != *self.remote_id.memory() {
            self.state.remote_id = self.remote_id.memory().clone();
        }
    }
}
