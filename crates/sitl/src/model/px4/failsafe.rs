//! PX4's failsafes: a wait in Hold in which the user may intervene, then the action.
//!
//!   none --cause--> Waits (Hold, CRITICAL) --COM_FAIL_ACT_T--> Acts (CRITICAL) --user's mode, disarm--> none
//!
//! A worse cause changes the action: at the end of a running wait, or at once when another action is active.

use super::flight::Flight;
use super::maneuvers::Takeoff;
use super::modes::Mode;
use super::{Px4, events};
use crate::model::core::Core;

/// Ordered from the mildest to the most severe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Action {
    Hold,
    Return,
    Land,
    /// Descends without a position; reported as Land.
    Descend,
    Disarm,
    Terminate,
}

impl Action {
    fn number(self) -> u8 {
        match self {
            Self::Hold => 5,
            Self::Return => 6,
            Self::Land => 7,
            Self::Descend => 8,
            Self::Disarm => 9,
            Self::Terminate => 10,
        }
    }

    /// No wait: the flight could not continue.
    fn is_at_once(self) -> bool {
        matches!(self, Self::Hold | Self::Descend | Self::Terminate)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Failsafe {
    pub(super) action: Action,
    cause: u8,
    acts_s: Option<f64>,
}

impl Px4 {
    /// No effect on the ground, or under an action at least as severe.
    pub(super) fn fail_safe(&mut self, core: &mut Core, action: Action, cause: u8) {
        if !self.flying() {
            return;
        }
        match self.failsafe {
            Some(now) if now.action >= action => {}
            Some(Failsafe { acts_s: Some(_), .. }) if !action.is_at_once() => {
                if let Some(now) = &mut self.failsafe {
                    (now.action, now.cause) = (action, cause);
                }
            }
            Some(_) => self.act(core, action, cause),
            None if action.is_at_once() => self.act(core, action, cause),
            None => self.wait(core, action, cause),
        }
    }

    pub(super) fn failsafe_step(&mut self, core: &mut Core) {
        let Some(failsafe) = self.failsafe else { return };
        if failsafe.acts_s.is_some_and(|at_s| core.uptime_s >= at_s) {
            self.act(core, failsafe.action, failsafe.cause);
        }
    }

    /// The cause must end and occur again to count again.
    pub(super) fn user_takes_over(&mut self, core: &mut Core) {
        if let Some(failsafe) = self.failsafe.take()
            && failsafe.acts_s.is_some()
        {
            self.event(core, events::TAKEN_OVER, &[]);
        }
    }

    pub(super) fn end_failsafe(&mut self, core: &mut Core, action: Action) {
        if self.failsafe.is_none_or(|failsafe| failsafe.action != action) {
            return;
        }
        self.failsafe = None;
        if self.flying() && self.flight != Flight::Tumbling {
            match self.intended {
                // To the default altitude above where it is.
                Mode::Takeoff => {
                    self.takeoff = Takeoff::default();
                    self.enter_takeoff(core);
                }
                other => self.enter(core, other),
            }
        }
    }

    fn wait(&mut self, core: &mut Core, action: Action, cause: u8) {
        let wait_s = core.params.get("COM_FAIL_ACT_T");
        let mut arguments = self.intended.custom_mode().to_le_bytes().to_vec();
        arguments.push(action.number());
        arguments.extend((wait_s as u16).to_le_bytes());
        if cause == events::CAUSE_GENERIC {
            self.event(core, events::FAILSAFE_GENERIC_HOLD, &arguments);
        } else {
            arguments.push(cause);
            self.event(core, events::FAILSAFE_HOLD, &arguments);
        }
        self.critical(
            core,
            &format!("Failsafe activated: entering Hold for {wait_s:.0} seconds\t"),
        );
        self.change_actual(core, Mode::Hold);
        self.flight = Flight::stop(&core.airframe);
        self.failsafe = Some(Failsafe {
            action,
            cause,
            acts_s: Some(core.uptime_s + f64::from(wait_s)),
        });
    }

    pub(super) fn act(&mut self, core: &mut Core, action: Action, cause: u8) {
        let mut arguments = self.intended.custom_mode().to_le_bytes().to_vec();
        arguments.push(action.number());
        if cause == events::CAUSE_GENERIC {
            self.event(core, events::FAILSAFE_GENERIC, &arguments);
        } else {
            arguments.push(cause);
            self.event(core, events::FAILSAFE, &arguments);
        }
        self.critical(core, "Failsafe activated\t");
        self.failsafe = Some(Failsafe {
            action,
            cause,
            acts_s: None,
        });
        match action {
            Action::Hold => {
                self.change_actual(core, Mode::Hold);
                self.flight = Flight::stop(&core.airframe);
            }
            Action::Return => {
                self.own_commands.neutral_gimbal(core);
                self.change_actual(core, Mode::Return);
                self.return_from_here(core);
            }
            Action::Land => self.descend(core, Mode::Land),
            Action::Descend => self.descend(core, Mode::Descend),
            Action::Disarm => self.disarm(core, events::BY_FAILSAFE),
            Action::Terminate => self.terminate(core),
        }
    }

    fn descend(&mut self, core: &mut Core, mode: Mode) {
        self.own_commands.neutral_gimbal(core);
        self.change_actual(core, mode);
        if !matches!(self.flight, Flight::Landing { .. } | Flight::Tumbling) {
            self.flight = Flight::Landing { touched_s: None };
        }
    }

    /// Permanent; it stays armed and cannot recover.
    pub(super) fn terminate(&mut self, core: &mut Core) {
        self.change_mode(core, Mode::Termination);
        self.flight = Flight::Falling;
    }

    /// Tumbles and falls in the air, does not lift off from the ground.
    pub(super) fn lose_motor(&mut self, core: &mut Core) {
        self.motor_fails = true;
        if self.flying() {
            self.fail_safe(core, Action::Descend, events::CAUSE_GENERIC);
            self.flight = Flight::Tumbling;
        }
    }
}
