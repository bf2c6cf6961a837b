//! The judgments, in the order of what can be sent.

use super::{ARM, OUR_COMPONENT, Oracle, READS};
use crate::flight::facts::{Mode, State};
use crate::flight::ledger::StoredOrder;
use agent::kill::Shot;
use agent::outgoing::Outgoing;
use link::dialect::{MavAutopilot, MavCmd, MavMessage, MavType};
use model::assignment::{Desired, OnCoordinatorLoss, OnLowBattery, Preflight};
use model::kill::KillOrder;
use model::report::Report;
use model::units::Address;
use model::vehicle::FlightTruth;

/// Milliseconds after the loss of a stream for which the heartbeat of a ground station goes on, so that a fail-over
/// brings no vehicle home.
const BRIDGED_MS: u64 = 20_000;

impl Oracle {
    /// Judges a message at the moment at which it is handed out to be written.
    #[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
    pub fn judge(&mut self, out: &Outgoing, now: u64) {
        let us = self.ours.map_or(1, |ours| ours.system);
        let (command, params, target, confirmation) = match &out.message {
            MavMessage::COMMAND_LONG(m) => (
                m.command,
                [m.param1, m.param2, m.param3, m.param7],
                (m.target_system, m.target_component),
                m.confirmation,
            ),
            MavMessage::COMMAND_INT(m) => (
                m.command,
                [m.param1, m.param2, m.param3, m.z],
                (m.target_system, m.target_component),
                0,
            ),
            MavMessage::PARAM_REQUEST_READ(m) => {
                self.is_ours((m.target_system, m.target_component), out);
                return;
            }
            MavMessage::REQUEST_EVENT(m) => {
                self.is_ours((m.target_system, m.target_component), out);
                return;
            }
            MavMessage::FILE_TRANSFER_PROTOCOL(m) => {
                self.is_ours((m.target_system, m.target_component), out);
                assert!(
                    READS.contains(&m.payload[3]),
                    "a file of the autopilot's is changed: {out:?}"
                );
                assert_eq!(
                    self.perhaps.state(now),
                    State::Down,
                    "files are fetched in flight: {out:?}"
                );
                return;
            }
            MavMessage::HEARTBEAT(m) if m.mavtype == MavType::MAV_TYPE_GCS => {
                let bridged = self.order_taken_until.is_some_and(|until| now - until <= BRIDGED_MS);
                assert!(
                    self.order_taken || bridged,
                    "a ground station's heartbeat without a coordinator"
                );
                assert_eq!(out.from, Address::new(255, 190));
                return;
            }
            MavMessage::HEARTBEAT(_) => {
                assert_eq!(out.from, Address::new(us, OUR_COMPONENT));
                return;
            }
            other => panic!("the agent has no business to send {other:?}"),
        };
        self.is_ours(target, out);
        assert_eq!(out.from, Address::new(us, OUR_COMPONENT));
        assert!(
            !params[..2].iter().any(|p| (*p - 21_196.0).abs() < 1.0),
            "nothing is forced: {out:?}"
        );
        assert_eq!(out.permit.is_some(), command == ARM, "{out:?}");
        match command {
            MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL
            | MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL
            | MavCmd::MAV_CMD_REQUEST_MESSAGE => return,
            MavCmd::MAV_CMD_RUN_PREARM_CHECKS => return,
            ARM => {
                assert!(
                    confirmation == 0 && matches!(out.message, MavMessage::COMMAND_LONG(_)),
                    "{out:?}"
                );
                self.judge_arm(params, now);
            }
            MavCmd::MAV_CMD_DO_SET_MODE => self.judge_mode(params, now),
            MavCmd::MAV_CMD_NAV_TAKEOFF => self.judge_takeoff(params, now),
            MavCmd::MAV_CMD_DO_REPOSITION => self.judge_height(params, now),
            MavCmd::MAV_CMD_NAV_LAND | MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH => self.judge_descent(command, now),
            other => panic!("the agent has no business to send {other:?}"),
        }
        let Some(ours) = self.ours else { return };
        let foreign = self.certain.armed && self.certain.mode(&ours, now) == Some(Mode::Foreign);
        assert!(!foreign, "commanded while a pilot flies: {out:?}; {self:?}");
        // Only a person's ground order lands a vehicle that has hovered at the end of a return for half a minute.
        let hovers = self.perhaps.mode(&ours, now) == Some(Mode::Return) && self.perhaps.return_hovers(now);
        let lands_hover = command == MavCmd::MAV_CMD_NAV_LAND && hovers && self.ledger.may_be_grounded_by_a_person();
        assert!(
            !self.ledger.let_go() || lands_hover,
            "commanded after a takeover: {out:?}; {self:?}"
        );
    }

    fn is_ours(&self, target: (u8, u8), out: &Outgoing) {
        let ours = self.ours.map(|ours| (ours.system, ours.component));
        assert_eq!(ours, Some(target), "sent to a stranger: {out:?}");
    }

    pub fn judge_arm(&mut self, params: [f32; 4], now: u64) {
        assert_eq!(params, [1.0, 0.0, 0.0, 0.0], "it disarms, or forces");
        let ledger = &self.ledger;
        assert!(ledger.wants_flight(), "armed though no leader orders it: {self:?}");
        assert!(ledger.is_of_the_leader(), "armed for one that is deposed: {self:?}");
        assert!(
            self.order_taken && self.stream_open,
            "armed on an order of before: {self:?}"
        );
        assert!(!self.terminating, "armed while ending: {self:?}");
        assert!(!ledger.over, "armed again after it came down unasked: {self:?}");
        assert!(!ledger.killed, "armed after a kill: {self:?}");
        let (Some(ours), Some(failsafe)) = (self.ours, ledger.failsafe()) else {
            panic!("armed without a vehicle or a Drone: {self:?}")
        };
        let facts = &self.perhaps;
        assert_eq!(
            facts.state(now),
            State::Down,
            "armed though not known to be down: {self:?}"
        );
        assert!(
            facts.received_within(2000, now),
            "armed though not heard lately: {self:?}"
        );
        assert_eq!(
            facts.mode(&ours, now),
            Some(Mode::Station),
            "armed in another's mode: {self:?}"
        );
        assert!(facts.is_ready(now), "armed though the checks do not pass: {self:?}");
        assert!(
            !self.certain.is_low(failsafe.reserve.get(), now),
            "armed on a low battery: {self:?}"
        );
        let covered = failsafe.preflight != Preflight::Refuse || facts.has_own_failsafes(&ours);
        assert!(
            covered,
            "armed though the autopilot's failsafes are not known to be on: {self:?}"
        );
        let since = self.last_arm.map_or(u64::MAX, |at| now.saturating_sub(at));
        assert!(since >= 1000, "armed again after {since} ms: {self:?}");
        self.justified = None;
        self.last_arm = Some(now);
        self.armed_in_this_life = true;
        self.ledger.our_landing = false;
    }

    fn judge_mode(&self, params: [f32; 4], now: u64) {
        let px4 = self
            .ours
            .is_some_and(|ours| ours.autopilot == MavAutopilot::MAV_AUTOPILOT_PX4);
        let sub = if px4 { 3.0 } else { 0.0 };
        assert_eq!(params[..3], [1.0, 4.0, sub], "no mode of ours");
        assert!(
            self.perhaps.state(now) == State::Down && self.ledger.wants_flight() && !self.terminating,
            "a mode was set without need: {self:?}"
        );
    }

    fn judge_takeoff(&mut self, params: [f32; 4], now: u64) {
        assert!(
            self.ledger.wants_flight() && !self.terminating && !self.ledger.killed,
            "a takeoff that was not ordered: {self:?}"
        );
        let state = self.perhaps.state(now);
        assert_eq!(
            state,
            State::ArmedOnGround,
            "a takeoff from elsewhere than the ground: {self:?}"
        );
        let justified = self.ledger.is_of_the_leader() && self.order_taken;
        self.or_sent_again(MavCmd::MAV_CMD_NAV_TAKEOFF, justified);
        assert!(self.armed_in_this_life, "somebody else has armed it: {self:?}");
        self.ledger.our_landing = false;
        let Some(ours) = self.ours else { return };
        assert!(
            !matches!(
                self.certain.mode(&ours, now),
                Some(Mode::Land | Mode::Return | Mode::Foreign)
            ),
            "a takeoff in another's mode: {self:?}"
        );
        let desired = self.ledger.held.as_ref().map(|held| held.desired);
        if let (Some(Desired::Flying { altitude }), MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA) =
            (desired, ours.autopilot)
        {
            assert!(
                (f64::from(params[3]) - altitude.0).abs() < 0.01,
                "to another height: {params:?}"
            );
        }
        assert!(params[3].is_finite());
        self.ledger.lifted = true;
    }

    /// Another altitude, of a vehicle that holds; its mode stays.
    fn judge_height(&mut self, params: [f32; 4], now: u64) {
        assert!(
            self.ledger.wants_flight() && !self.terminating && !self.ledger.killed,
            "a height that was not ordered: {self:?}"
        );
        let state = self.perhaps.state(now);
        assert_eq!(state, State::InTheAir, "a height for one that does not fly: {self:?}");
        let justified = self.ledger.is_of_the_leader() && self.order_taken;
        self.or_sent_again(MavCmd::MAV_CMD_DO_REPOSITION, justified);
        let Some(ours) = self.ours else { return };
        assert_eq!(
            self.perhaps.mode(&ours, now),
            Some(Mode::Station),
            "a height for one that does not hold: {self:?}"
        );
        let px4 = ours.autopilot == MavAutopilot::MAV_AUTOPILOT_PX4;
        assert_eq!(params[..2], [-1.0, f32::from(u8::from(px4))], "its mode or speed too");
        // PX4's is above sea level.
        let desired = self.ledger.held.as_ref().map(|held| held.desired);
        let off = match desired {
            Some(Desired::Flying { altitude }) if !px4 => (f64::from(params[3]) - altitude.0).abs(),
            _ => 0.0,
        };
        assert!(params[3].is_finite() && off < 0.01, "to another height: {params:?}");
    }

    /// A command is justified by what is known now, or was and is sent again: twice at most, and once more in the form
    /// that the autopilot asks for.
    fn or_sent_again(&mut self, command: MavCmd, justified: bool) {
        let again = match self.justified {
            Some((last, times)) if last == command => times + 1,
            _ => u8::MAX,
        };
        assert!(justified || again <= 3, "{command:?} is not justified: {self:?}");
        self.justified = Some((command, if justified { 0 } else { again }));
    }

    fn judge_descent(&mut self, command: MavCmd, now: u64) {
        let ordered = self.terminating || self.ledger.may_be_ordered_down();
        let returns = command == MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH;
        let armed = self.perhaps.armed && self.perhaps.received_within(3000, now);
        let due = self.failsafe_is_due(returns, now) || (ordered && !returns);
        assert!(self.perhaps.armed, "a descent of a vehicle that is not armed: {self:?}");
        self.or_sent_again(command, armed && due);
        if ordered && !returns {
            self.ledger.our_landing = true;
        }
    }

    fn failsafe_is_due(&self, returns: bool, now: u64) -> bool {
        let Some(failsafe) = self.ledger.failsafe() else {
            return false;
        };
        let silent = if self.led {
            0
        } else {
            now.saturating_sub(self.alone_since)
        };
        let alone = u128::from(silent) >= failsafe.after.as_millis()
            && match failsafe.on_coordinator_loss {
                OnCoordinatorLoss::Return => true,
                OnCoordinatorLoss::Land => !returns,
                OnCoordinatorLoss::Continue | OnCoordinatorLoss::Hold => false,
            };
        let low = self.perhaps.may_be_low(failsafe.reserve.get(), now)
            && match failsafe.on_low_battery {
                OnLowBattery::Return => true,
                OnLowBattery::Land => !returns,
                OnLowBattery::Continue => false,
            };
        alone || low
    }

    pub fn judge_kill(&mut self, order: &KillOrder, received: u64, shot: Option<&Shot>, now: u64) {
        let before = self.nonces.contains(&order.nonce);
        self.nonces.push(order.nonce);
        let Some(shot) = shot else { return };
        let seen = u64::try_from(order.last_report.since_epoch().as_millis()).unwrap_or(u64::MAX);
        assert!(!before, "a kill order was carried out twice: {order:?}");
        assert!(
            self.order_taken && self.stream_open,
            "a kill before anything was said on the stream: {order:?}"
        );
        let held = self.ledger.held.as_ref();
        // The held Drone is in doubt while an arm command may be under way.
        let in_doubt = self.let_go_in_doubt || self.last_arm.is_some_and(|at| now.saturating_sub(at) <= 65_000);
        assert!(
            held.map_or(in_doubt, |held| held.uid == order.uid && held.term == order.term),
            "a kill of another Drone: {order:?}; {self:?}"
        );
        assert_eq!(
            order.term.0, self.ledger.highest_term,
            "a kill by one that does not lead"
        );
        assert!(
            now.saturating_sub(received) <= 2000 && seen <= received && received - seen <= 3000,
            "a kill too late: {order:?} at {received} and now {now}"
        );
        let MavMessage::COMMAND_LONG(m) = &shot.message else {
            panic!("{shot:?}")
        };
        let to = self.ours.map(|ours| (ours.system, ours.component));
        assert_eq!(to, Some((m.target_system, m.target_component)), "a kill of a stranger");
        assert_eq!((m.command, m.confirmation), (ARM, 0));
        let params = [m.param1, m.param2, m.param3, m.param4, m.param5, m.param6, m.param7];
        assert_eq!(params, [0.0, 21_196.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    /// Judges the agent's report, and whether it may go while it is ending.
    pub fn judge_report(&self, report: &Report, may_exit: bool, now: u64) {
        let found = report
            .identity
            .as_ref()
            .map(|found| (found.system.0, found.component.0));
        let ours = self.ours.map(|ours| (ours.system, ours.component));
        let another_airframe = found.is_none() && self.ledger.hardware.len() > 1;
        assert!(
            found == ours || another_airframe,
            "it has moved to another vehicle: {found:?}, {self:?}"
        );
        // Another airframe says nothing of the Drone's flight.
        if another_airframe {
            return;
        }
        let state = self.perhaps.state(now);
        let truth = match report.truth {
            FlightTruth::Unknown(_) => None,
            FlightTruth::Disarmed => Some(State::Down),
            FlightTruth::ArmedOnGround => Some(State::ArmedOnGround),
            FlightTruth::Airborne(_) => Some(State::InTheAir),
        };
        if let Some(truth) = truth {
            let by_earlier_words = truth == State::InTheAir && self.perhaps.was_in_the_air(now);
            assert!(
                truth == state || by_earlier_words,
                "it says {truth:?} and not {state:?}: {self:?}"
            );
        }
        if let Some(held) = &report.held {
            assert!(
                !held.settled || state == State::Down,
                "settled though not down: {self:?}"
            );
        }
        if matches!(self.ledger.stored_order, StoredOrder::Yes(_)) {
            assert!(report.ground_latch.is_some(), "a ground order was forgotten: {self:?}");
        }
        assert!(
            report.takeovers >= self.ledger.takeovers || report.held.is_none(),
            "a takeover was missed: {self:?}"
        );
        let ours = self.ledger.flown && self.ledger.lifted;
        if may_exit && self.ledger.held.is_some() && ours && report.held.is_some() {
            assert_eq!(state, State::Down, "it leaves a vehicle that it has flown: {self:?}");
        }
    }
}
