//! The pilot's part in the lines about flights that the flight log has.

use super::Pilot;
use crate::flight_line;
use model::vehicle::FlightTruth;

impl Pilot {
    pub fn take_flight_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.flight_lines)
    }

    pub(super) fn follow_flight(&mut self, truth: FlightTruth) {
        let mut took_off = None;
        let (followed, landed) =
            std::mem::take(&mut self.followed).after(Some(truth), |observed| took_off = Some(observed));
        self.followed = followed;
        let line = took_off.map(|observed| {
            let drone = self.state.fence.held.as_ref().map(|held| &held.name);
            flight_line::took_off(observed, &self.rules_report(), self.vehicle.identity.as_ref(), drone)
        });
        self.flight_lines
            .extend(line.or_else(|| landed.map(|()| flight_line::LANDED.to_owned())));
    }
}
