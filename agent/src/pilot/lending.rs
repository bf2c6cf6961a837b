//! A program flies the vehicle within airspace of its own, and the agent takes the vehicle back.

use super::Pilot;
use crate::gcs::lease::Volume;
use crate::streams::Needed;
use fleet::flight::converge::waits_for_heartbeat;
use fleet::flight::lending::{Program, Question, flies_on};
use fleet::flight::memory::StepKind;
use model::lent::Lent;
use model::time::Moment;
use model::vehicle::{FlightTruth, OFFBOARD};
use tracing::{info, warn};

impl Pilot {
    pub const fn hear_program(&mut self, program: Program) {
        self.program = program;
    }

    pub const fn passes_program(&self) -> bool {
        self.passes_program
    }

    /// `None`: nowhere.
    pub fn program_volume(&self) -> Option<Volume> {
        let held = self.state.fence.held.as_ref().filter(|_| self.passes_program)?;
        let route = held.route.clone()?;
        let home = self.vehicle.home;
        Some(Volume { route, home })
    }

    /// State of the vehicle since it was lent in this flight. Once it has airspace for a program again, it is not taken back any more.
    pub(super) fn lent(&self) -> Option<Lent> {
        match self.lending.flies() {
            true => Some(Lent::Flies),
            false => self.taken_back.filter(|_| !self.has_room()).map(Lent::TakenBack),
        }
    }

    fn has_room(&self) -> bool {
        let held = self.state.fence.held.as_ref();
        let route = held.and_then(|held| held.route.as_ref());
        route.is_some_and(|route| route.room.is_some())
    }

    /// An OFFBOARD is of a program while the vehicle has airspace for one or is to stop in it, and until it was observed in another mode since.
    pub(super) fn know_lent(&mut self) {
        let beat = self.vehicle.heartbeat.as_ref();
        let offboard = beat.is_some_and(|beat| beat.value.mode.label == OFFBOARD);
        self.vehicle.lent = self.has_room() || self.state.stops_in.is_some() || (self.vehicle.lent && offboard);
    }

    pub(super) fn observe_lending(&mut self, now: Moment) {
        let before = self.lending.flies();
        let led = self.contact.confirmed() && !self.is_behind(now);
        let battery = self.gauge.levels(now).lasting;
        let verdict = self.lending.observe(&Question {
            vehicle: &self.vehicle,
            held: self.state.fence.held.as_ref(),
            program: self.program,
            battery,
            near_reserve: self.near_reserve.was(),
            led,
            uplink_silent: self.contact.silent(now),
            terminating: self.terminating,
            now,
        });
        self.passes_program = verdict.passes;
        if self.lending.flies() && !before {
            info!("a program flies the vehicle within its airspace");
            self.taken_back = None;
        }
        if self.vehicle.truth(now) == FlightTruth::Disarmed {
            self.taken_back = None;
        }
        if let Some(why) = verdict.taken_back {
            warn!(
                ?why,
                "the vehicle is taken back from its program: it stops, and is granted a way from there"
            );
            self.taken_back = Some(why);
            let held = self.state.fence.held.as_ref();
            self.state.stops_in = held.and_then(|held| held.route.clone());
            self.state.fence = self.state.fence.without_route();
            self.memory.take_back(now);
            // PX4 acts by itself a second after the last set-point.
            if waits_for_heartbeat(StepKind::Stop, &self.situation(now)) {
                self.streams.hurry(Needed::BeatNow);
            }
        }
    }

    /// It keeps the airspace out of which it was taken back until it was observed to have stopped, or flies another route.
    pub(super) fn observe_stop(&mut self, now: Moment) {
        let held = self.state.fence.held.as_ref();
        let has_route = held.is_some_and(|held| held.route.is_some());
        let flies_on = flies_on(&self.vehicle, self.memory.is_to_stop(), now);
        self.state.stops_in = self.state.stops_in.take().filter(|_| flies_on && !has_route);
    }
}
