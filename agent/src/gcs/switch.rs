//! What becomes of each frame: where it goes, or why it is not let through.
//!
//! [`Switch`] is a plain state machine. Must not: touch a socket, change a frame, or read a clock.
//!
//! Before the routes are asked, a guest's frame is dropped when
//!
//! * it is SETUP_SIGNING (256), which carries a key and is never forwarded, from whichever side;
//! * it speaks as the agent, or as a component that was heard on the autopilot's line with the system of a vehicle:
//!   nobody may fly on borrowed authority, and other guests must not be lied to about the vehicle;
//! * it is RADIO_STATUS (109) or RADIO (166): it reports the guest's own radio, and an autopilot would slow our line for it;
//! * its sender may only watch: then it is forwarded to none;
//! * its sender is a program and it is not on the list of [`super::program`], or it moves the vehicle while no program may, or out of its
//!   volume ([`super::lease`]), or asks for a mode that [`super::mode_requests`] does not let pass, or moves another vehicle on the line;
//! * it would reach the autopilot and is a heartbeat that [`super::charge`] holds back, or in read-only mode is not on the list
//!   of [`super::read_only`]. Other guests get it all the same.

use super::acknowledgment::{Answer, Given};
use super::askers::Askers;
use super::autopilots::Autopilots;
use super::charge::Charge;
use super::fields;
use super::lease::Lease;
use super::local_origin::LocalOrigin;
use super::mode_requests::{Judgment, ModeRequests};
use super::outbox::STALE;
use super::program::{self, Aim, Says};
use super::read_only::only_asks;
use super::routes::{Address, Destinations, GuestId, Origin, Routes};
use crate::command::{OUR_COMPONENT, SYSTEM_AT_FIRST};
use link::raw::{Direction, RawFrame};
use model::units::{ComponentId, SystemId};
use std::collections::BTreeMap;
use tokio::time::Instant;

const SETUP_SIGNING: u32 = 256;
const RADIO_STATUS: u32 = 109;
const RADIO: u32 = 166;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub read_only: bool,
    /// Those of the ground station in charge; else none.
    pub pass_heartbeats: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    Command,
    /// It flies the vehicle while that has airspace for a program, and asks; it reaches the vehicle alone.
    Control,
    Watch,
}

#[derive(Clone, Copy, Debug)]
struct Joined {
    at: Instant,
    rights: Rights,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    SetupSigning,
    Impostor,
    Radio,
    HeldHeartbeat,
    ReadOnly,
    NotOfPrograms,
    /// It leads out of the volume of its program, or it cannot be told where.
    OutsideVolume,
    NotNow,
    /// It would move another vehicle than that of its program, which may be heard on the same line.
    AnotherVehicle,
    /// A mode of a program's that it has, as far as is known, or asked for since the last HEARTBEAT.
    Repeated,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub to: Destinations,
    pub refusal: Option<Refusal>,
    /// Written only while a program may fly the vehicle, and no later than this.
    pub leased: Option<Instant>,
    pub answer: Option<Answer>,
}

fn refused(refusal: Refusal) -> Verdict {
    Verdict {
        refusal: Some(refusal),
        ..Verdict::default()
    }
}

#[derive(Debug)]
pub struct Switch {
    policy: Policy,
    routes: Routes,
    askers: Askers,
    charge: Charge,
    joined: BTreeMap<GuestId, Joined>,
    autopilots: Autopilots,
    /// HEARTBEAT.autopilot of our vehicle.
    stack: Option<u8>,
    modes: ModeRequests,
    origin: LocalOrigin,
    lease: Lease,
    ours: Option<Address>,
}

impl Switch {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            routes: Routes::default(),
            askers: Askers::default(),
            charge: Charge::default(),
            joined: BTreeMap::new(),
            autopilots: Autopilots::default(),
            stack: None,
            modes: ModeRequests::default(),
            origin: LocalOrigin::default(),
            lease: Lease::default(),
            ours: None,
        }
    }

    pub fn leasing(self, lease: Lease) -> Self {
        Self { lease, ..self }
    }

    pub fn join(&mut self, guest: GuestId, rights: Rights, now: Instant) {
        self.routes.join(guest);
        self.joined.insert(guest, Joined { at: now, rights });
    }

    pub fn leave(&mut self, guest: GuestId) {
        self.routes.leave(guest);
        self.askers.leave(guest);
        self.charge.leave(guest);
        self.joined.remove(&guest);
    }

    pub fn receive_from_line(&mut self, frame: &RawFrame, now: Instant) -> Vec<GuestId> {
        let who = frame.sender();
        let origin = match frame.from {
            Direction::Autopilot => Origin::Autopilot,
            Direction::Us => Origin::Us,
            // It went its ways when it came.
            Direction::Guest => return Vec::new(),
        };
        // It may also beat as a ground station; that name is not its own, but that of every ground station.
        if origin == Origin::Us && who.component == OUR_COMPONENT {
            self.ours = Some(who);
        }
        self.routes.learn(origin, who);
        if origin == Origin::Autopilot && self.autopilots.receive(frame).is_some() {
            self.charge.autopilot_is(self.autopilots.armed());
            if self.is_own(who.system) {
                if self.modes.autopilot(None) != Some(who) {
                    self.origin = LocalOrigin::default();
                }
                self.stack = Some(fields::byte(frame, 5));
                self.modes.hear(frame);
            }
            // Orders to it must never reach another aircraft of the same name that came as a guest before it was heard.
            self.routes.only_on_line(who);
        }
        if origin == Origin::Autopilot && self.modes.autopilot(None) == Some(who) {
            self.origin.hear(frame);
        }
        if fields::beat(frame).is_some_and(|beat| beat.gcs) {
            self.charge.beats_elsewhere(now);
        }
        if frame.message_id == SETUP_SIGNING {
            return Vec::new();
        }
        let mut guests = self.routes.destinations(origin, frame.target).guests;
        let asked = match origin {
            Origin::Autopilot => self.askers.answer(frame, now),
            Origin::Us | Origin::Guest(_) => Vec::new(),
        };
        // Several may go by the address that it is for.
        if guests.iter().any(|guest| asked.contains(guest)) {
            guests.retain(|guest| asked.contains(guest));
        }
        guests
    }

    pub fn receive_from_guest(&mut self, guest: GuestId, frame: &RawFrame, now: Instant) -> Verdict {
        let verdict = self.judge(guest, frame, now);
        let to_refused = verdict
            .refusal
            .and_then(|refusal| self.answer_to_refused(refusal, frame));
        let answer = verdict.answer.or(to_refused);
        Verdict { answer, ..verdict }
    }

    /// The sender of a command waits for an answer, and asks again without one.
    fn answer_to_refused(&self, refusal: Refusal, frame: &RawFrame) -> Option<Answer> {
        let given = match refusal {
            Refusal::NotNow => Given::TemporarilyRejected,
            Refusal::ReadOnly | Refusal::NotOfPrograms | Refusal::AnotherVehicle => Given::Denied,
            Refusal::SetupSigning
            | Refusal::Impostor
            | Refusal::Radio
            | Refusal::HeldHeartbeat
            | Refusal::OutsideVolume
            | Refusal::Repeated => return None,
        };
        let by = self.modes.autopilot(frame.target)?;
        let is_its = |to: Address| [ComponentId(0), by.component].contains(&to.component);
        let command = fields::command(frame).filter(|_| frame.target.is_none_or(is_its))?;
        Some(Answer { by, command, given })
    }

    fn judge(&mut self, guest: GuestId, frame: &RawFrame, now: Instant) -> Verdict {
        let who = frame.sender();
        match frame.message_id {
            SETUP_SIGNING => return refused(Refusal::SetupSigning),
            RADIO_STATUS | RADIO => return refused(Refusal::Radio),
            _ if self.is_taken(who) => return refused(Refusal::Impostor),
            _ => {}
        }
        let Some(Joined { at: joined, rights }) = self.joined.get(&guest).copied() else {
            return Verdict::default();
        };
        if rights == Rights::Watch {
            return refused(Refusal::ReadOnly);
        }
        if rights == Rights::Control {
            return self.receive_from_program(guest, frame, now);
        }
        self.routes.learn(Origin::Guest(guest), who);
        let mut to = self.routes.destinations(Origin::Guest(guest), frame.target);
        let mut refusal = None;
        if to.autopilot {
            refusal = self.holds_back(guest, frame, joined, now);
            to.autopilot = refusal.is_none();
        }
        if to.autopilot {
            self.askers.ask(guest, frame, now);
        }
        Verdict {
            to,
            refusal,
            ..Verdict::default()
        }
    }

    /// No other guest is reached by it, and its heartbeats feed no failsafe.
    fn receive_from_program(&mut self, guest: GuestId, frame: &RawFrame, now: Instant) -> Verdict {
        let mut verdict = match program::says(frame, self.stack) {
            Says::SetPoint(_) | Says::Mode(_) if !self.is_for_own(frame.target) => refused(Refusal::AnotherVehicle),
            Says::Asks => Verdict::default(),
            Says::SetPoint(aim) => self.judge_set_point(&aim, now),
            Says::Mode(wanted) => self.judge_mode(wanted, frame.target, now),
            Says::Beat => {
                self.lease.hear(None, now);
                refused(Refusal::HeldHeartbeat)
            }
            Says::Other => refused(Refusal::NotOfPrograms),
        };
        self.routes.learn(Origin::Guest(guest), frame.sender());
        let to = self.routes.destinations(Origin::Guest(guest), frame.target);
        verdict.to.autopilot = to.autopilot && verdict.refusal.is_none();
        if verdict.to.autopilot {
            self.askers.ask(guest, frame, now);
        }
        verdict
    }

    /// A set-point that leads out of the volume renews no lease, either.
    fn judge_set_point(&self, aim: &Aim, now: Instant) -> Verdict {
        match self.lease.has(aim, self.origin.place(), now) {
            Some(false) => refused(Refusal::OutsideVolume),
            Some(true) if self.lease.hear(Some(aim), now) => Verdict {
                leased: Some(now + STALE),
                ..Verdict::default()
            },
            Some(true) | None => refused(Refusal::NotNow),
        }
    }

    fn judge_mode(&mut self, wanted: u32, target: Option<Address>, now: Instant) -> Verdict {
        let judgment = if self.lease.hear(None, now) {
            self.modes.judge(wanted, target, now)
        } else {
            Judgment::Refused
        };
        let accepted = || Verdict {
            answer: self.modes.autopilot(target).map(|by| Answer {
                by,
                command: program::DO_SET_MODE,
                given: Given::Accepted,
            }),
            ..refused(Refusal::Repeated)
        };
        match judgment {
            Judgment::Passes(until) => Verdict {
                leased: Some(until),
                ..Verdict::default()
            },
            Judgment::HasIt => accepted(),
            Judgment::Refused => refused(Refusal::NotNow),
            Judgment::Later => refused(Refusal::Repeated),
        }
    }

    /// Whether our vehicle has this system id; of several on the line, that one is whose system the agent speaks with.
    fn is_own(&self, system: SystemId) -> bool {
        let own = self.ours.map(|ours| ours.system);
        own.or_else(|| self.autopilots.only_system()) == Some(system)
    }

    /// Whether it moves our vehicle alone: a frame to all moves each vehicle on the line.
    fn is_for_own(&self, target: Option<Address>) -> bool {
        match target.map_or(SystemId(0), |target| target.system) {
            SystemId(0) => self.autopilots.only_system().is_some_and(|only| self.is_own(only)),
            system => self.is_own(system),
        }
    }

    pub fn ours(&self) -> Address {
        let system = self.autopilots.system().unwrap_or(SYSTEM_AT_FIRST);
        self.ours.unwrap_or(Address {
            system,
            component: OUR_COMPONENT,
        })
    }

    pub fn in_charge(&self) -> Option<GuestId> {
        self.charge.guest()
    }

    fn holds_back(&mut self, guest: GuestId, frame: &RawFrame, joined: Instant, now: Instant) -> Option<Refusal> {
        if let Some(beat) = fields::beat(frame) {
            let address = frame.sender();
            let passes = self.policy.pass_heartbeats && beat.gcs && self.charge.beats(guest, address, joined, now);
            return (!passes).then_some(Refusal::HeldHeartbeat);
        }
        (self.policy.read_only && !only_asks(frame)).then_some(Refusal::ReadOnly)
    }

    fn is_taken(&self, who: Address) -> bool {
        let of_vehicle = self.autopilots.has_system(who.system);
        let at_first = self.autopilots.system().is_none() && who.system == SYSTEM_AT_FIRST;
        let ours = who.component == OUR_COMPONENT && (of_vehicle || at_first);
        ours || self.ours == Some(who) || (of_vehicle && self.routes.is_on_line(who))
    }
}

#[cfg(test)]
mod tests;
