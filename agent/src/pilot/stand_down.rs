//! The pilot's part in a stand-down: it observes whether one begins or ends, and takes a person's word that one is over.
//!
//! Must not: decide ([`fleet::flight::stand_down`] does).

use super::Pilot;
use fleet::flight_record::FlightRecord;
use model::ids::DroneUid;
use model::stand_down::{StandUp, advice};
use model::time::Moment;
use model::vehicle::{ArmingReason, ReasonClass};
use tracing::{info, warn};

impl Pilot {
    /// `record`: that of the flight, after the same observation.
    pub(super) fn stand_down(&mut self, record: &FlightRecord, now: Moment) {
        let held = self.state.fence.held.as_ref();
        let records = (&self.state.record, record);
        let landed_by_plan = self.keeper.has_landed(held.and_then(|held| held.plan.as_ref()));
        let next = self.state.stand_downs.observed(
            held,
            records,
            landed_by_plan,
            self.contact.confirmed_since(),
            (&self.vehicle, now),
        );
        match (&self.state.stand_downs.now, &next.now) {
            (None, Some(down)) => {
                warn!(
                    number = next.count,
                    why = down.why.text(),
                    "the vehicle stands down: it is armed for no Drone before a person acts"
                );
            }
            (Some(_), None) => info!(number = next.count, "the vehicle stands down no longer"),
            _ => {}
        }
        self.state.stand_downs = next;
    }

    /// An order of a coordinator that no longer leads is refused.
    pub fn stand_up(&mut self, order: StandUp, now: Moment) {
        let highest = self.state.fence.highest_term;
        if order.term < highest {
            warn!(got = %order.term, %highest, "the end of a stand-down is refused: its sender no longer leads");
            return;
        }
        self.state.fence = self.state.fence.raised_to(order.term);
        let held = self.state.fence.held.as_ref();
        let next = self.state.stand_downs.stood_up(order.number, held);
        if next != self.state.stand_downs {
            warn!(
                number = order.number,
                "a person has said that the vehicle may fly again"
            );
            self.state.stand_downs = next;
        }
        self.observe(now);
    }

    /// Why it is not armed for the Drone that it is bound to, if it stands down since a flight for another.
    pub(super) fn stands_down(&self, held: Option<&DroneUid>, now: Moment) -> Option<ArmingReason> {
        let down = self.state.stand_downs.now.as_ref()?;
        // The Drone itself says what to do about its own flight.
        (held != Some(&down.uid)).then(|| ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(advice(&self.node, down.why, &down.name), down.since().unwrap_or(now))
        })
    }
}
