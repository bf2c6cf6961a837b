//! Whether what leaves the agent is allowed, judged from what it was ordered and shown.
//!
//! Owns: the ten invariants of design.md as far as one agent can break them, written a second time. Two readings of the
//! vehicle are kept: `perhaps` forgets nothing and is what a command must be justified by; `certain` forgets everything
//! at each doubt about a reboot and is what a command must not contradict. Must not: share a rule with `fleet` or
//! believe the agent, except for which autopilot it has found on the wire.

mod judge;

use super::facts::{Facts, Ours, State};
use super::ledger::Ledger;
use link::dialect::{HEARTBEAT_DATA, MavAutopilot, MavCmd, MavMessage, MavType};
use model::assignment::Order;
use model::vehicle::{Autopilot, Identity};

const ARM: MavCmd = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
const OUR_COMPONENT: u8 = 191;
/// Operations of MAVLink FTP that change no file: none, end a session, end all, list, open to read, read, checksum,
/// read a burst.
const READS: [u8; 8] = [0, 1, 2, 3, 4, 5, 14, 15];

/// An autopilot that was heard before one was chosen.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    sender: (u8, u8),
    first: u64,
    last: u64,
}

/// One life of the agent; the ledger outlives it.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    pub ledger: Ledger,
    /// The vehicle that served the held Drone when this life began.
    served_by: Option<(u8, u8)>,
    ours: Option<Ours>,
    perhaps: Facts,
    certain: Facts,
    candidates: Vec<Candidate>,
    stream_open: bool,
    /// On the stream that is open now.
    order_taken: bool,
    /// Moment of the loss of the last stream on which an order was taken.
    order_taken_until: Option<u64>,
    /// An order of the leader came on the open stream, taken or not.
    led: bool,
    alone_since: u64,
    terminating: bool,
    last_arm: Option<u64>,
    /// The Drone was taken from it while its vehicle may not have been down, so it may still serve it.
    let_go_in_doubt: bool,
    armed_in_this_life: bool,
    /// The command that was justified last, and how often it was sent again since.
    justified: Option<(MavCmd, u8)>,
    nonces: Vec<u64>,
}

impl Oracle {
    pub fn born(ledger: Ledger, now: u64) -> Self {
        let served_by = ledger.held.as_ref().and(ledger.vehicle);
        let alone_since = ledger.alone_since.unwrap_or(now);
        let mut born = Self {
            ledger,
            served_by,
            alone_since,
            ..Self::default()
        };
        born.note_alone();
        born
    }

    /// The next life goes on counting.
    const fn note_alone(&mut self) {
        self.ledger.alone_since = if self.led { None } else { Some(self.alone_since) };
    }

    pub const fn terminate(&mut self) {
        self.terminating = true;
    }

    pub const fn stream(&mut self, open: bool, now: u64) {
        if self.led {
            self.alone_since = now;
        }
        if self.order_taken {
            self.order_taken_until = Some(now);
        }
        (self.stream_open, self.order_taken, self.led) = (open, false, false);
        self.note_alone();
    }

    pub fn order_received(&mut self, order: &Order, took_it: bool, now: u64) {
        let leads = order.term().0 >= self.ledger.highest_term;
        self.ledger.order_received(order, took_it, self.perhaps.state(now));
        self.led |= self.stream_open && leads;
        self.note_alone();
        self.order_taken |= self.stream_open && took_it;
        if took_it {
            let unassigned = matches!(order, Order::Unassigned { .. });
            self.let_go_in_doubt = unassigned && self.certain.state(now) != State::Down;
        }
        self.watch(now);
    }

    /// The order was received and could not be written down.
    pub fn could_not_take(&mut self, order: &Order) {
        let leads = order.term().0 >= self.ledger.highest_term;
        self.ledger.highest_term = self.ledger.highest_term.max(order.term().0);
        self.led |= self.stream_open && leads;
        self.note_alone();
    }

    pub fn watch(&mut self, now: u64) {
        let Some(ours) = self.ours else { return };
        let certain = (self.certain.state(now), self.certain.mode(&ours, now));
        self.ledger.watch(certain, self.perhaps.state(now));
    }

    pub const fn seeks(&self) -> bool {
        self.ours.is_none()
    }

    /// `found` is the autopilot that the agent has chosen by now.
    pub fn received(&mut self, sender: (u8, u8), message: &MavMessage, found: Option<&Identity>, now: u64) {
        if let MavMessage::HEARTBEAT(beat) = message
            && self.ours.is_none()
        {
            self.note_autopilot(sender, beat, now);
        }
        if let Some(found) = found.filter(|_| self.ours.is_none()) {
            self.found(sender, message, found, now);
        }
        let Some(ours) = self.ours.filter(|ours| (ours.system, ours.component) == sender) else {
            return;
        };
        if let MavMessage::HEARTBEAT(beat) = message
            && (beat.mavlink_version != 3 || (beat.autopilot, beat.mavtype) != (ours.autopilot, ours.kind))
        {
            return;
        }
        if let MavMessage::AUTOPILOT_VERSION(reported) = message {
            self.ledger.note_hardware(reported);
        }
        if self.certain.clock_went_back(message) {
            self.certain.forget();
            self.perhaps.may_have_rebooted();
        }
        self.certain.note(&ours, message, now);
        self.perhaps.note(&ours, message, now);
        self.watch(now);
    }

    fn note_autopilot(&mut self, sender: (u8, u8), beat: &HEARTBEAT_DATA, now: u64) {
        let autopilot = matches!(
            beat.autopilot,
            MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA | MavAutopilot::MAV_AUTOPILOT_PX4
        );
        let flies = matches!(beat.mavtype, MavType::MAV_TYPE_QUADROTOR | MavType::MAV_TYPE_HEXAROTOR);
        if !autopilot || !flies || beat.mavlink_version != 3 || sender.0 == 0 || sender.1 == 0 {
            return;
        }
        match self.candidates.iter_mut().find(|candidate| candidate.sender == sender) {
            Some(candidate) => candidate.last = candidate.last.max(now),
            None => self.candidates.push(Candidate {
                sender,
                first: now,
                last: now,
            }),
        }
    }

    fn found(&mut self, sender: (u8, u8), message: &MavMessage, found: &Identity, now: u64) {
        let MavMessage::HEARTBEAT(beat) = message else {
            panic!("an autopilot is found by its heartbeat, not by {message:?}")
        };
        assert_eq!(
            sender,
            (found.system.0, found.component.0),
            "found by another's heartbeat"
        );
        let autopilot = match found.autopilot {
            Autopilot::ArduPilot => MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
            Autopilot::Px4 => MavAutopilot::MAV_AUTOPILOT_PX4,
        };
        assert_eq!(beat.autopilot, autopilot);
        assert!(
            !matches!(beat.mavtype, MavType::MAV_TYPE_GCS | MavType::MAV_TYPE_FIXED_WING),
            "it cannot fly {beat:?}"
        );
        if let Some(served_by) = self.served_by {
            assert_eq!(sender, served_by, "the Drone has moved to another vehicle");
        } else if self.ledger.vehicle != Some(sender) {
            let others = self.candidates.iter().filter(|candidate| candidate.sender != sender);
            let near = others
                .filter(|candidate| now.saturating_sub(candidate.last) < 5000)
                .count();
            assert_eq!(near, 0, "chosen among several: {:?}", self.candidates);
            let known = self.candidates.iter().find(|candidate| candidate.sender == sender);
            assert!(
                known.is_none_or(|known| now.saturating_sub(known.first) >= 3000),
                "chosen before another could be heard: {:?}",
                self.candidates
            );
        }
        self.ledger.vehicle = Some(sender);
        let (system, component) = sender;
        self.ours = Some(Ours {
            system,
            component,
            autopilot,
            kind: beat.mavtype,
        });
    }
}
