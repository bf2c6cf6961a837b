//! The pilot's part in the rules on board: which rules it holds, when there is time for them, and whether they prevent arming.

use super::Pilot;
use crate::command::{Outstanding, Patience};
use crate::outgoing::{Outgoing, Purpose};
use crate::recipe::Command;
use crate::remote_id::CLOCK_IS_SET_S;
use crate::rules::Situation;
use fleet::safety::FRESH_FOR_ARMING;
use link::dialect::{MavCmd, MavMessage};
use model::assignment::Desired;
use model::rules::{self, Rules, RulesClearance, RulesReport};
use model::time::Moment;
use model::units::Address;
use model::vehicle::{Airframe, FlightTruth, Identity};
use std::time::Duration;
use tracing::warn;

/// From the decision to change something to its being written: a disk that takes long, or a process that is stopped, must not let a
/// change of before through when the vehicle may have been armed by somebody else meanwhile.
const WRITTEN_WITHIN: Duration = Duration::from_millis(500);

/// A pilot that was not asked for this long belonged to a process that was stopped. It is asked ten times a second.
const STOPPED: Duration = Duration::from_millis(700);
/// One that was not asked for this long may hold an order of before as well. A slow disk, which keeps it waiting for a second twice, does not
/// make it so: a vehicle that is armed would wait on the ground after each write.
const ORDERS_STOPPED: Duration = Duration::from_millis(2500);
/// After that, what comes from the line is of before for as long as it takes to read it, and nothing says that it is.
const BEHIND: Duration = Duration::from_secs(3);
/// Longer than this no line is behind.
const BEHIND_AT_MOST: Duration = Duration::from_secs(60);

impl Pilot {
    /// Notices that the process was stopped: the line, and what lies before it, may hold what the autopilot has said meanwhile. While the
    /// computer is suspended, or its virtual machine is, moments stand still and only the date goes on.
    pub(super) fn notice_stop(&mut self, now: Moment) {
        let Some((before, date)) = self.asked_at.replace((now, self.date)) else {
            return;
        };
        // A clock that is set for the first time says nothing of the time that has passed.
        let date = date.filter(|before| before.as_secs() >= CLOCK_IS_SET_S);
        let dates = self.date.zip(date).map(|(date, before)| date.saturating_sub(before));
        let stopped = now.since(before).max(dates.unwrap_or_default());
        if stopped >= STOPPED {
            let behind = now.plus((stopped * 2 + BEHIND).min(BEHIND_AT_MOST));
            self.line_behind_until = self.line_behind_until.max(behind);
            if stopped >= ORDERS_STOPPED {
                self.orders_behind_until = self.orders_behind_until.max(behind);
            }
        }
    }

    /// Whether the order that is held may be of before the process was stopped, though its stream still seems to last.
    pub(super) fn is_behind(&self, now: Moment) -> bool {
        now < self.orders_behind_until
    }

    /// Rules of a coordinator that no longer leads are refused.
    pub fn take_rules(&mut self, rules: Rules) {
        let highest = self.state.fence.highest_term;
        if rules.term < highest {
            warn!(got = %rules.term, %highest, "rules refused: their sender no longer leads");
            return;
        }
        // Neither rules nor orders of a lower one are taken any more.
        self.state.fence = self.state.fence.raised_to(rules.term);
        self.board.take(rules);
        self.remember_rules();
    }

    pub(super) fn rules_report(&self) -> RulesReport {
        let report = self.board.report();
        // After a silence it may be another airframe, until it has said which it is.
        let number = self.vehicle.identity.as_ref().and_then(|identity| identity.hardware);
        let unread = number.is_none() && self.board.memory().hardware.is_some();
        RulesReport {
            in_force: report.in_force && !unread,
            ..report
        }
    }

    pub(super) fn rules_clearance(&self, now: Moment) -> RulesClearance {
        if self.board.is_changing(now) {
            return RulesClearance::Changing;
        }
        let named = self.state.fence.held.as_ref().and_then(|held| held.rules.as_ref());
        rules::clearance(self.preflight_policy(), named, &self.rules_report())
    }

    pub(super) fn receive_for_rules(&mut self, message: &MavMessage, us: Address, now: Moment, jitter: f64) {
        if let Some(identity) = &self.vehicle.identity {
            self.board.receive(message, identity, us, now, jitter);
        }
    }

    pub(super) fn next_rule(&mut self, now: Moment, jitter: f64) -> Option<Outgoing> {
        if self.board.is_idle() || self.keeper.is_transferring() {
            return None;
        }
        let identity = self.vehicle.identity.clone()?;
        let free = self.outstanding.is_none() && self.link_up.is_some() && !self.terminating;
        // Until it has said which airframe it is, it may be another.
        let ours = self.airframe() == Airframe::Same;
        if !free || !ours || !self.vehicle.link_alive(now) {
            return None;
        }
        let may_write = self.may_change_rules(now);
        let situation = Situation {
            to: &identity,
            home: self.vehicle.home_at,
            may_write,
        };
        let send = self.board.next(situation, now, jitter);
        self.remember_rules();
        if let Some(send) = send {
            return Some(Outgoing {
                once_remembered: send.once_remembered,
                on_ground_until: send.once_remembered.then(|| now.plus(WRITTEN_WITHIN)),
                ..self.aside(send.message)
            });
        }
        let held = self.state.fence.held.as_ref();
        let idle = held.is_none_or(|held| matches!(held.desired, Desired::Grounded { .. }));
        // Nobody is about to fly it again, as far as is known, and the rules are not only those of the disk.
        let rested = self.memory.since_armed(now).is_none_or(|ago| ago >= self.rest.settle)
            && self
                .memory
                .since_others_flew(now)
                .is_none_or(|ago| ago >= self.rest.quiet);
        let may_reboot = idle && rested && may_write && self.contact.confirmed();
        (may_reboot && self.board.wants_reboot(now)).then(|| self.reboot(identity, now))
    }

    /// Whether fence and parameters may be changed now: the vehicle is on the ground and disarmed, as its latest heartbeat says, is not
    /// about to be armed, and what it says is of now.
    pub fn may_change_rules(&self, now: Moment) -> bool {
        // Armed is known only with the next heartbeat.
        let beat = self.vehicle.heartbeat.as_ref();
        let fresh = beat.is_some_and(|beat| beat.fresh(now, FRESH_FOR_ARMING).is_some());
        fresh
            && !self.vehicle.shares_id(now)
            && now >= self.line_behind_until
            && self.vehicle.truth(now) == FlightTruth::Disarmed
            && !self.memory.arm_under_way(now)
    }

    fn reboot(&mut self, to: Identity, now: Moment) -> Outgoing {
        warn!("rebooting the autopilot, so that parameters count that were set");
        self.board.reboot_ordered(now);
        let command = Command::long(MavCmd::MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN, [1.0, 0.0, 0.0, 0.0]);
        let patience = Patience::for_request();
        let (outstanding, message) = Outstanding::begin(Purpose::Reboot, to, command, patience, now);
        self.outstanding = Some(outstanding);
        Outgoing {
            on_ground_until: Some(now.plus(WRITTEN_WITHIN)),
            ..self.outgoing(message, None)
        }
    }

    fn remember_rules(&mut self) {
        if self.state.rules != *self.board.memory() {
            self.state.rules = self.board.memory().clone();
        }
    }
}
