//! The command protocol (MAVLink guide, services/command): one command on its way, and when it has ended.
//!
//! What is safe to repeat is repeated, and the form is changed once when the autopilot asks for it. Must not: send, read a clock, or conclude from
//! the answer what the vehicle does: ACCEPTED is no proof of an effect and FAILED none of its absence; state is.
//!
//! An arm command is one frame. It is never repeated, in no form.

use crate::recipe::{Command, Form};
use fleet::flight::memory::{Outcome, StepKind};
use link::dialect::{COMMAND_ACK_DATA, MavMessage, MavResult};
use model::time::Moment;
use model::units::{ComponentId, SystemId};
use model::vehicle::Identity;
use std::time::Duration;

/// MAV_COMP_ID_ONBOARD_COMPUTER.
pub const OUR_COMPONENT: ComponentId = ComponentId(191);

/// Our system id until the autopilot's is known, which is ours then.
pub const SYSTEM_AT_FIRST: SystemId = SystemId(1);

/// IN_PROGRESS prolongs the wait by this much, and no command waits longer than [`AT_MOST`].
const IN_PROGRESS_WAIT: Duration = Duration::from_secs(5);
const AT_MOST: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    pub transmissions: u8,
    pub wait: Duration,
}

impl Patience {
    pub const fn for_step(kind: StepKind) -> Self {
        let (transmissions, wait_ms) = match kind {
            StepKind::Arm => (1, 2000),
            StepKind::TakeOff => (2, 1500),
            StepKind::AskReasons | StepKind::ChangeHeight | StepKind::SetSpeed | StepKind::FlyTo | StepKind::TurnTo => {
                (2, 1000)
            }
            StepKind::SetStation
            | StepKind::FlyPlan
            | StepKind::Hold
            | StepKind::Land
            | StepKind::FailsafeLand
            | StepKind::FailsafeReturn => (3, 1000),
            // Meanwhile it flies on.
            StepKind::Stop => (3, 500),
        };
        Self {
            transmissions,
            wait: Duration::from_millis(wait_ms),
        }
    }

    /// The asking is repeated elsewhere while the message is missing.
    pub const fn for_request() -> Self {
        Self {
            transmissions: 1,
            wait: Duration::from_millis(800),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Outstanding<P> {
    pub purpose: P,
    to: Identity,
    command: Command,
    patience: Patience,
    may_change_form: bool,
    sent: u8,
    first_sent: Moment,
    deadline: Moment,
    /// Until when the first answer may be to the command before this one.
    late_until: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    Waiting,
    Send(Box<MavMessage>),
    Ended(Outcome),
}

impl<P> Outstanding<P> {
    pub fn begin(purpose: P, to: Identity, command: Command, patience: Patience, now: Moment) -> (Self, MavMessage) {
        let message = command.message(&to, 0);
        let this = Self {
            purpose,
            to,
            command,
            patience,
            may_change_form: patience.transmissions > 1,
            sent: 1,
            first_sent: now,
            deadline: now.plus(patience.wait),
            late_until: None,
        };
        (this, message)
    }

    /// The same command where `before` was given up for it without an answer: an answer names the command, but not where that leads. Where
    /// none comes late, this one is repeated once.
    pub fn in_place_of(self, before: &Self) -> Self {
        let alike = before.command.command == self.command.command;
        let may_repeat = self.patience.transmissions > 1;
        Self {
            late_until: (alike && may_repeat).then_some(before.deadline),
            ..self
        }
    }

    pub fn acknowledged(&mut self, ack: &COMMAND_ACK_DATA, now: Moment) -> Progress {
        if !self.is_about(ack) || self.late_until.take().is_some_and(|until| now < until) {
            return Progress::Waiting;
        }
        match ack.result {
            MavResult::MAV_RESULT_ACCEPTED => Progress::Ended(Outcome::Accepted),
            MavResult::MAV_RESULT_IN_PROGRESS => {
                self.deadline = now.plus(IN_PROGRESS_WAIT).min(self.first_sent.plus(AT_MOST));
                Progress::Waiting
            }
            refusal => match self.asked_form(refusal) {
                Some(form) => {
                    self.may_change_form = false;
                    self.command = self.command.in_form(form);
                    self.deadline = now.plus(self.patience.wait);
                    Progress::Send(Box::new(self.command.message(&self.to, 0)))
                }
                None => Progress::Ended(Outcome::Refused {
                    result: name(refusal).to_owned(),
                }),
            },
        }
    }

    /// Whether it is to be sent once more by now.
    pub fn is_due_again(&self, now: Moment) -> bool {
        now >= self.deadline && self.sent < self.patience.transmissions
    }

    /// Whether what was handed out last is a repetition, so that it may have arrived before.
    pub const fn is_repeated(&self) -> bool {
        self.sent > 1
    }

    pub fn at(&mut self, now: Moment) -> Progress {
        if now < self.deadline {
            return Progress::Waiting;
        }
        if self.sent >= self.patience.transmissions {
            return Progress::Ended(Outcome::NoAnswer);
        }
        let confirmation = self.sent;
        self.sent += 1;
        self.deadline = now.plus(self.patience.wait);
        Progress::Send(Box::new(self.command.message(&self.to, confirmation)))
    }

    pub fn is_about(&self, ack: &COMMAND_ACK_DATA) -> bool {
        ack.command == self.command.command && self.for_us(ack)
    }

    /// Old firmware leaves the target fields 0.
    fn for_us(&self, ack: &COMMAND_ACK_DATA) -> bool {
        (ack.target_system == 0 || ack.target_system == self.to.system.0)
            && (ack.target_component == 0 || ack.target_component == OUR_COMPONENT.0)
    }

    fn asked_form(&self, result: MavResult) -> Option<Form> {
        if !self.may_change_form {
            return None;
        }
        match (result, self.command.form) {
            // The long form names no frame: an altitude of another than the autopilot's own would be one of that.
            (MavResult::MAV_RESULT_COMMAND_LONG_ONLY, Form::Int(frame)) => {
                (frame == Command::own_frame(self.to.autopilot)).then_some(Form::Long)
            }
            (MavResult::MAV_RESULT_COMMAND_INT_ONLY, Form::Long) => {
                Some(Form::Int(Command::own_frame(self.to.autopilot)))
            }
            (MavResult::MAV_RESULT_COMMAND_UNSUPPORTED_MAV_FRAME, _) => self.command.other_frame(),
            _ => None,
        }
    }
}

/// The result's name without its prefix.
pub const fn name(result: MavResult) -> &'static str {
    match result {
        MavResult::MAV_RESULT_ACCEPTED => "ACCEPTED",
        MavResult::MAV_RESULT_TEMPORARILY_REJECTED => "TEMPORARILY_REJECTED",
        MavResult::MAV_RESULT_DENIED => "DENIED",
        MavResult::MAV_RESULT_UNSUPPORTED => "UNSUPPORTED",
        MavResult::MAV_RESULT_FAILED => "FAILED",
        MavResult::MAV_RESULT_IN_PROGRESS => "IN_PROGRESS",
        MavResult::MAV_RESULT_CANCELLED => "CANCELLED",
        MavResult::MAV_RESULT_COMMAND_LONG_ONLY => "COMMAND_LONG_ONLY",
        MavResult::MAV_RESULT_COMMAND_INT_ONLY => "COMMAND_INT_ONLY",
        MavResult::MAV_RESULT_COMMAND_UNSUPPORTED_MAV_FRAME => "COMMAND_UNSUPPORTED_MAV_FRAME",
        MavResult::MAV_RESULT_NOT_IN_CONTROL => "NOT_IN_CONTROL",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::latched_as;
    use crate::recipe::command;
    use fleet::flight::converge::Step;
    use link::dialect::{MavCmd, MavFrame};
    use model::route_order::Waypoint;
    use model::units::{AltitudeAboveHome, AltitudeAmsl, SystemId, Wgs84};
    use model::vehicle::Autopilot;

    fn at(ms: u64) -> Moment {
        Moment::at(Duration::from_millis(ms))
    }

    fn begin(step: &Step, autopilot: Autopilot) -> Outstanding<StepKind> {
        let to = latched_as(autopilot, SystemId(7));
        let kind = step.kind().unwrap();
        let command = command(step, autopilot, Some(AltitudeAmsl(0.0))).unwrap();
        Outstanding::begin(kind, to, command, Patience::for_step(kind), at(0)).0
    }

    fn takeoff(autopilot: Autopilot) -> Outstanding<StepKind> {
        begin(
            &Step::TakeOff {
                altitude: AltitudeAboveHome(10.0),
            },
            autopilot,
        )
    }

    fn ack(command: MavCmd, result: MavResult) -> COMMAND_ACK_DATA {
        COMMAND_ACK_DATA {
            command,
            result,
            ..COMMAND_ACK_DATA::default()
        }
    }

    const TAKEOFF: MavCmd = MavCmd::MAV_CMD_NAV_TAKEOFF;
    const LAND: MavCmd = MavCmd::MAV_CMD_NAV_LAND;
    const ACCEPTED: MavResult = MavResult::MAV_RESULT_ACCEPTED;

    #[test]
    fn only_an_answer_to_this_command_for_us_ends_it() {
        let mut land = begin(&Step::Land, Autopilot::ArduPilot);
        assert_eq!(land.acknowledged(&ack(TAKEOFF, ACCEPTED), at(1)), Progress::Waiting);
        let to_another = COMMAND_ACK_DATA {
            target_system: 255,
            target_component: 190,
            ..ack(LAND, ACCEPTED)
        };
        assert_eq!(land.acknowledged(&to_another, at(1)), Progress::Waiting);
        let to_us = COMMAND_ACK_DATA {
            target_system: 7,
            target_component: OUR_COMPONENT.0,
            ..ack(LAND, ACCEPTED)
        };
        assert_eq!(
            land.clone().acknowledged(&to_us, at(1)),
            Progress::Ended(Outcome::Accepted)
        );
        assert_eq!(
            land.acknowledged(&ack(LAND, ACCEPTED), at(1)),
            Progress::Ended(Outcome::Accepted)
        );
    }

    #[test]
    fn a_land_command_is_repeated_and_then_given_up_as_unanswered() {
        let mut land = begin(&Step::Land, Autopilot::ArduPilot);
        assert_eq!(land.at(at(999)), Progress::Waiting);
        assert!(!land.is_repeated());
        for n in 1..=2_u8 {
            let Progress::Send(message) = land.at(at(u64::from(n) * 1000)) else {
                panic!("repetition {n}")
            };
            assert!(matches!(*message, MavMessage::COMMAND_LONG(m) if m.confirmation == n));
            assert!(land.is_repeated());
        }
        assert_eq!(land.at(at(3000)), Progress::Ended(Outcome::NoAnswer));
    }

    #[test]
    fn in_progress_prolongs_the_wait_but_not_for_ever() {
        let mut land = begin(&Step::Land, Autopilot::ArduPilot);
        let progress = ack(LAND, MavResult::MAV_RESULT_IN_PROGRESS);
        for s in 0..30 {
            assert_eq!(land.acknowledged(&progress, at(s * 1000)), Progress::Waiting);
            assert_eq!(land.at(at(s * 1000 + 999)), Progress::Waiting);
        }
        assert!(matches!(land.at(at(30_000)), Progress::Send(_)));
    }

    #[test]
    fn the_form_is_changed_once_when_the_autopilot_asks_for_it() {
        let mut long = takeoff(Autopilot::Px4);
        let Progress::Send(m) = long.acknowledged(&ack(TAKEOFF, MavResult::MAV_RESULT_COMMAND_LONG_ONLY), at(1)) else {
            panic!()
        };
        assert!(matches!(*m, MavMessage::COMMAND_LONG(_)));
        let again = long.acknowledged(&ack(TAKEOFF, MavResult::MAV_RESULT_COMMAND_INT_ONLY), at(2));
        assert_eq!(
            again,
            Progress::Ended(Outcome::Refused {
                result: "COMMAND_INT_ONLY".into()
            })
        );

        let mut frame = takeoff(Autopilot::Px4);
        let frame_unknown = ack(TAKEOFF, MavResult::MAV_RESULT_COMMAND_UNSUPPORTED_MAV_FRAME);
        let Progress::Send(m) = frame.acknowledged(&frame_unknown, at(1)) else {
            panic!()
        };
        #[allow(deprecated, reason = "old firmware may know only this one")]
        let other = MavFrame::MAV_FRAME_GLOBAL_INT;
        assert!(matches!(*m, MavMessage::COMMAND_INT(m) if m.frame == other));

        let mut land = begin(&Step::Land, Autopilot::ArduPilot);
        let Progress::Send(m) = land.acknowledged(&ack(LAND, MavResult::MAV_RESULT_COMMAND_INT_ONLY), at(1)) else {
            panic!()
        };
        assert!(matches!(*m, MavMessage::COMMAND_INT(m) if m.frame == MavFrame::MAV_FRAME_GLOBAL_RELATIVE_ALT));
    }

    #[test]
    fn an_altitude_above_sea_level_is_never_sent_as_one_above_home() {
        let place = Waypoint {
            at: Wgs84 {
                latitude_deg: 47.0,
                longitude_deg: 8.0,
            },
            amsl: AltitudeAmsl(518.0),
        };
        let long_only = ack(MavCmd::MAV_CMD_DO_REPOSITION, MavResult::MAV_RESULT_COMMAND_LONG_ONLY);
        let answer = |autopilot| begin(&Step::FlyTo { place }, autopilot).acknowledged(&long_only, at(1));
        let refused = Outcome::Refused {
            result: "COMMAND_LONG_ONLY".into(),
        };
        assert_eq!(answer(Autopilot::ArduPilot), Progress::Ended(refused));
        assert!(matches!(answer(Autopilot::Px4), Progress::Send(_)));
    }

    #[test]
    fn the_answer_to_a_place_that_was_given_up_is_none_to_the_next() {
        let place = Waypoint {
            at: Wgs84 {
                latitude_deg: 47.0,
                longitude_deg: 8.0,
            },
            amsl: AltitudeAmsl(518.0),
        };
        let to = || begin(&Step::FlyTo { place }, Autopilot::ArduPilot);
        let accepted = ack(MavCmd::MAV_CMD_DO_REPOSITION, ACCEPTED);
        let mut next = to().in_place_of(&to());
        assert_eq!(next.acknowledged(&accepted, at(100)), Progress::Waiting);
        assert_eq!(
            next.acknowledged(&accepted, at(200)),
            Progress::Ended(Outcome::Accepted)
        );
        let mut unheard = to().in_place_of(&to());
        assert_eq!(
            unheard.acknowledged(&accepted, at(1000)),
            Progress::Ended(Outcome::Accepted),
            "an answer comes within a second"
        );
        let mut stop = begin(&Step::Land, Autopilot::ArduPilot).in_place_of(&to());
        assert_eq!(
            stop.acknowledged(&ack(LAND, ACCEPTED), at(100)),
            Progress::Ended(Outcome::Accepted)
        );
    }

    #[test]
    fn an_arm_command_is_one_frame_whatever_happens() {
        let to = latched_as(Autopilot::Px4, SystemId(7));
        let arm = Command {
            command: MavCmd::MAV_CMD_COMPONENT_ARM_DISARM,
            ..command(&Step::SetStation, Autopilot::Px4, None).unwrap()
        };
        let (arm, _) = Outstanding::begin(StepKind::Arm, to, arm, Patience::for_step(StepKind::Arm), at(0));
        for result in [
            MavResult::MAV_RESULT_COMMAND_INT_ONLY,
            MavResult::MAV_RESULT_COMMAND_UNSUPPORTED_MAV_FRAME,
            MavResult::MAV_RESULT_TEMPORARILY_REJECTED,
        ] {
            let answer = arm
                .clone()
                .acknowledged(&ack(MavCmd::MAV_CMD_COMPONENT_ARM_DISARM, result), at(1));
            assert!(matches!(answer, Progress::Ended(Outcome::Refused { .. })));
        }
        assert_eq!(arm.clone().at(at(2000)), Progress::Ended(Outcome::NoAnswer));
    }
}
