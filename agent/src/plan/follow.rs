//! The plan followed on its way, and distinguished from everything that is not ours.

use super::{Current, Keeper, counts_from_home};
use crate::rules::transfer::addressee;
use link::dialect::{MISSION_CURRENT_DATA, MavMessage, MavMissionResult, MavMissionType, MissionState};
use model::home_shift::HomeShift;
use model::plan::flight::{Reached, Uploaded};
use model::takeover::InCommand;
use model::time::Moment;
use model::units::Address;
use model::vehicle::{Airborne, FlightTruth, Mode, TRUTH_STALE_AFTER, Vehicle};
use std::time::Duration;
use tracing::{info, warn};

/// MISSION_CURRENT reports an upload within this.
const CURRENT_LAGS: Duration = Duration::from_secs(2);
/// A change of mode shows within this.
const MODE_SHOWS: Duration = Duration::from_secs(5);
/// One that stops in the middle for this long was stopped by somebody: the report that the mission is over comes with that.
const STOPPED_FOR: Duration = Duration::from_secs(3);
/// Commands below it move the vehicle.
const FIRST_DO: u16 = 95;

impl Keeper {
    /// Takes in what the vehicle is observed to do, and who was in command before. Call it after every change of `vehicle`, before its mode
    /// is judged.
    pub fn observe(&mut self, vehicle: &Vehicle, in_command: InCommand, now: Moment) {
        if let Some(position) = vehicle.position {
            self.following.seen(position);
        }
        self.following.is_accurate_to(vehicle.accuracy(now).horizontal);
        self.watch_home(vehicle.home_shift);
        let beat = vehicle.heartbeat.as_ref();
        let Some(beat) = beat.and_then(|beat| beat.fresh(now, TRUTH_STALE_AFTER)) else {
            return;
        };
        let mode = beat.mode.mode;
        let truth = vehicle.truth(now);
        let down = truth == FlightTruth::Disarmed;
        match truth {
            FlightTruth::ArmedOnGround | FlightTruth::Airborne(Airborne::Landing) => {
                let at = vehicle.position.map(|position| position.value.at);
                self.lands = at.is_some_and(|at| self.following.is_where_it_lands(at, vehicle.home_at));
            }
            FlightTruth::Airborne(_) => self.lands = false,
            FlightTruth::Disarmed | FlightTruth::Unknown(_) => {}
        }
        self.on_it = mode == Mode::Mission && !down;
        if self.memory.flown {
            self.follow(mode, down, in_command, now);
        }
        if down && self.memory.ended && !self.is_finished() {
            // What was left out may be flown on the next flight.
            self.memory.ended = false;
        }
    }

    /// Autopilots count what is left of a plan from home as it is now: 50 m lower, and a place 30 m above home lies in the ground.
    fn watch_home(&mut self, shift: Option<HomeShift>) {
        let plan = self.memory.held.as_ref();
        let shift = shift.filter(HomeShift::moves_altitudes);
        let Some(shift) = shift.filter(|_| plan.is_some_and(|plan| counts_from_home(&plan.0))) else {
            self.moved_home = None;
            return;
        };
        let words = format!(
            "its home position was moved in flight and is {shift} now, so that altitudes above home are others than were planned: it holds and \
             does not go on; set home back (MAV_CMD_DO_SET_HOME of a ground station)"
        );
        if self.moved_home.as_ref() != Some(&words) {
            warn!(%shift, "home was moved in flight; the plan is not flown on");
            self.moved_home = Some(words);
        }
    }

    fn follow(&mut self, mode: Mode, down: bool, in_command: InCommand, now: Moment) {
        if down {
            if self.memory.was_on_it
                && let Some(last) = self.following.has_landed()
            {
                self.memory.reached = self.memory.reached.with(last);
                self.memory.landed = self.lands;
                self.end();
            }
            return self.stop();
        }
        if in_command == InCommand::SomebodyElse {
            return self.stop();
        }
        self.paused_by_other = false;
        match mode {
            Mode::Mission => {
                self.memory.was_on_it = true;
                self.stopped_since = None;
                // It has not obeyed: a hold from now on is somebody else's, until it is ordered again.
                if self.memory.told_to_hold
                    && !self.hold_under_way
                    && now.since(*self.hold_ended_at.get_or_insert(now)) >= MODE_SHOWS
                {
                    self.memory.told_to_hold = false;
                }
            }
            Mode::Station if self.memory.told_to_hold || self.memory.ended => self.stop(),
            Mode::Station if self.memory.was_on_it => {
                let since = *self.stopped_since.get_or_insert(now);
                self.paused_by_other = now.since(since) >= STOPPED_FOR;
            }
            Mode::Station => {
                // An agent that was restarted since gives it as long: the mode may be about to show.
                if now.since(*self.started_at.get_or_insert(now)) >= MODE_SHOWS {
                    self.stop();
                }
            }
            Mode::Land | Mode::Return if self.following.descent().is_some() => {}
            Mode::Takeoff => {}
            Mode::Land | Mode::Return | Mode::Foreign => self.stop(),
        }
    }

    pub(super) fn end(&mut self) {
        if !self.memory.ended {
            self.memory.ended = true;
            let (reached, items) = (self.memory.reached.count(), self.items());
            info!(reached, items, "the plan has ended");
        }
    }

    /// `us`: our system and component id.
    pub fn receive(&mut self, message: &MavMessage, us: Address, now: Moment) {
        match message {
            MavMessage::MISSION_CURRENT(m) => self.current(m, now),
            MavMessage::MISSION_ITEM_REACHED(m) => {
                if let Some(index) = m.seq.checked_sub(self.first()).filter(|_| self.runs()) {
                    let reached = self.following.has_reached(usize::from(index), now);
                    self.advance(&reached);
                }
            }
            _ => {}
        }
        let Some((whose, kind)) = addressee(message) else {
            return;
        };
        let missions = matches!(
            kind,
            MavMissionType::MAV_MISSION_TYPE_MISSION | MavMissionType::MAV_MISSION_TYPE_ALL
        );
        if whose == us {
            if let Some(transfer) = self.transfer.as_mut().filter(|_| missions) {
                transfer.receive(message, now);
            }
            return;
        }
        self.others_at = Some(now);
        if let MavMessage::MISSION_ACK(ack) = message
            && missions
            && ack.mavtype == MavMissionResult::MAV_MISSION_ACCEPTED
        {
            self.doubt("somebody else has transferred a mission");
        }
    }

    /// Whether what the autopilot says of its mission is about ours.
    const fn runs(&self) -> bool {
        self.memory.flown
            && self.memory.was_on_it
            && !self.memory.ended
            && !self.doubted
            && self.memory.uploaded_from.is_some()
    }

    fn current(&mut self, m: &MISSION_CURRENT_DATA, now: Moment) {
        self.current = Some(Current {
            state: m.mission_state,
            at: now,
        });
        let length = self.following.list().len();
        if let Some(read_back) = self
            .read_back
            .filter(|read_back| read_back.equal && now.since(read_back.at) >= CURRENT_LAGS)
        {
            let other = read_back.id != 0 && m.mission_id != 0 && m.mission_id != read_back.id;
            let reported = m.total != 0 && m.total != u16::MAX;
            if other || (reported && usize::from(m.total) != length) {
                self.doubt("the autopilot reports another mission");
            }
        }
        let first = self.first();
        let moves = |(item, _): &Uploaded| item.command < FIRST_DO;
        let begins = self.following.list().iter().position(moves).unwrap_or_default();
        let begins = first.saturating_add(u16::try_from(begins).unwrap_or(u16::MAX));
        if self.set_at.is_some_and(|at| now > at) && !self.memory.flown {
            self.is_set = (first..=begins).contains(&m.seq);
        }
        if !self.runs() {
            return;
        }
        match m.mission_state {
            MissionState::MISSION_STATE_COMPLETE if self.ran => {
                let reached = self.following.has_ended(now);
                self.advance(&reached);
            }
            MissionState::MISSION_STATE_COMPLETE | MissionState::MISSION_STATE_NO_MISSION => {}
            state => {
                self.ran |= state == MissionState::MISSION_STATE_ACTIVE;
                if let Some(index) = m.seq.checked_sub(first).filter(|_| self.on_it) {
                    let reached = self.following.goes_on_to(usize::from(index), now);
                    self.advance(&reached);
                }
            }
        }
    }

    fn advance(&mut self, reached: &[u16]) {
        for (item, distance) in self.following.take_passed_beside() {
            // One that is flown again counts once.
            if !self.memory.reached.has(item) {
                warn!(item, meters = distance.0, "a place of the plan was passed beside");
                self.memory.passed_beside = self.memory.passed_beside.with(distance);
            }
        }
        let ranges = self.memory.reached.ranges().iter().copied();
        if !reached.is_empty() {
            self.memory.reached = Reached::of(ranges.chain(reached.iter().map(|item| (*item, *item))));
        }
        self.memory.at = self.following.at();
        if self.following.is_at_end() {
            self.end();
        }
    }

    pub(super) fn doubt(&mut self, why: &'static str) {
        if self.read_back.take().is_some() {
            warn!(why, "the mission on the autopilot is read again");
        }
        (self.ready, self.is_set, self.doubted) = (false, false, true);
    }
}
