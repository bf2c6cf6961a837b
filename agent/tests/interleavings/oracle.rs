//! Judges what the agent sends by what it was sent and shown; written from the invariants, without code of `fleet`.

use crate::vehicle::SYSTEM;
use agent::outgoing::Outgoing;
use link::dialect::{MavCmd, MavFrame, MavLandedState, MavMessage, MavModeFlag, MavSysStatusSensor};
use model::assignment::{Desired, GroundedWhy, OnCoordinatorLoss, Order};
use model::ground::{GroundMark, GroundOrderId};

const NAV_LAND: MavCmd = MavCmd::MAV_CMD_NAV_LAND;
const NAV_RETURN: MavCmd = MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH;
const NAV_TAKEOFF: MavCmd = MavCmd::MAV_CMD_NAV_TAKEOFF;
const ARM: MavCmd = MavCmd::MAV_CMD_COMPONENT_ARM_DISARM;
const SET_MODE: MavCmd = MavCmd::MAV_CMD_DO_SET_MODE;
const REPOSITION: MavCmd = MavCmd::MAV_CMD_DO_REPOSITION;

/// Milliseconds; a longer flight is observed, or the gap in observations is noticed: one of five seconds is not, and messages come late by up to two.
const UNSEEN_AT_MOST: u64 = 7000;

#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    armed: bool,
    custom_mode: u32,
    beat_at: Option<u64>,
    landed: Option<MavLandedState>,
    landed_at: u64,
    ready: bool,
    ready_at: Option<u64>,
    remaining: i8,
    remaining_at: Option<u64>,
    /// Since when every reading is at or below the reserve.
    low_since: Option<u64>,
    status_low_since: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Oracle {
    shown: Shown,
    link_up: bool,
    stream_open: bool,
    highest_term: u64,
    /// The last order taken, and whether on the present stream.
    taken: Option<Order>,
    taken_on_this_stream: bool,
    led_on_this_stream: bool,
    contact_at: u64,
    kept: Option<(String, GroundOrderId)>,
    terminating: bool,
    last_arm: Option<u64>,
    /// Since when it is in the air in truth, whatever was shown.
    up_since: Option<u64>,
    flew: bool,
    /// Another Drone, an order to the ground, or a landing that the agent commanded allows another flight.
    may_fly_again: bool,
}

/// Whether a position is above home, at the altitude of every order (above home, or above the sea).
fn is_ordered((frame, x, y, z): (MavFrame, i32, i32, f32)) -> bool {
    let over_home = (x, y) == (473_977_420, 85_455_940) || (x, y) == (i32::MAX, i32::MAX);
    let height = if frame == MavFrame::MAV_FRAME_GLOBAL {
        z - 488.0
    } else {
        z
    };
    over_home && (height - 10.0).abs() < 0.1
}

fn foreign(custom_mode: u32) -> bool {
    !matches!(
        custom_mode,
        4 | 6 | 9 | 0x0304_0000 | 0x0204_0000 | 0x0604_0000 | 0x0504_0000
    )
}

/// PX4's mode numbers are greater than all of ArduCopter's.
const fn is_px4(custom_mode: u32) -> bool {
    custom_mode > 0xFFFF
}

fn station(custom_mode: u32) -> bool {
    matches!(custom_mode, 4 | 0x0304_0000)
}

impl Oracle {
    /// A new agent has observed nothing, but remembers its orders and since when it is alone.
    pub fn restarted(&mut self, now: u64) {
        if self.led_on_this_stream {
            self.contact_at = now;
        }
        self.shown = Shown::default();
        self.link_up = true;
        self.stream_open = false;
        self.taken_on_this_stream = false;
        self.led_on_this_stream = false;
        self.terminating = false;
        self.last_arm = None;
    }

    pub fn terminating(&mut self) {
        self.terminating = true;
    }

    pub fn flies(&mut self, in_air: bool, now: u64) {
        self.up_since = in_air.then(|| self.up_since.unwrap_or(now));
        self.flew |= self.up_since.is_some_and(|since| now - since > UNSEEN_AT_MOST);
    }

    pub fn link(&mut self, up: bool) {
        self.link_up = up;
    }

    pub fn stream(&mut self, open: bool, now: u64) {
        if self.led_on_this_stream {
            self.contact_at = now;
        }
        self.stream_open = open;
        self.taken_on_this_stream = false;
        self.led_on_this_stream = false;
    }

    pub fn told(&mut self, order: &Order, took_it: bool) {
        let term = order.term().0;
        if term < self.highest_term {
            assert!(!took_it, "it took an order of a deposed coordinator");
            return;
        }
        self.highest_term = term;
        self.led_on_this_stream = true;
        if !took_it {
            return;
        }
        let goes_on = match (order, &self.taken) {
            (Order::Assigned(new), Some(Order::Assigned(before))) => {
                new.uid == before.uid && matches!(new.desired, Desired::Flying { .. })
            }
            _ => false,
        };
        self.may_fly_again |= !goes_on;
        match order {
            Order::Unassigned { .. } => {
                // While it flies it lands first; the ground order goes with the Drone.
                if self.down() {
                    self.kept = None;
                }
            }
            Order::Assigned(a) => {
                let other = self.kept.as_ref().is_some_and(|(uid, _)| *uid != a.uid.0);
                if other {
                    self.kept = None;
                }
                let ordered = matches!(
                    a.desired,
                    Desired::Grounded {
                        why: GroundedWhy::Ordered
                    }
                );
                match (a.ground_mark, &self.kept) {
                    (Some(GroundMark::Given(id)), _) if ordered => self.kept = Some((a.uid.0.clone(), id)),
                    (Some(GroundMark::Done(id)), Some((_, kept))) if *kept == id => self.kept = None,
                    _ => {}
                }
            }
        }
        self.taken = Some(order.clone());
        self.taken_on_this_stream = true;
    }

    fn down(&self) -> bool {
        !self.shown.armed && self.shown.landed == Some(MavLandedState::MAV_LANDED_STATE_ON_GROUND)
    }

    pub fn shown(&mut self, message: &MavMessage, now: u64) {
        let shown = &mut self.shown;
        match message {
            MavMessage::HEARTBEAT(m) => {
                if shown.custom_mode != m.custom_mode {
                    shown.ready_at = None;
                }
                shown.armed = m.base_mode.contains(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED);
                shown.custom_mode = m.custom_mode;
                shown.beat_at = Some(now);
            }
            MavMessage::EXTENDED_SYS_STATE(m) => {
                shown.landed = Some(m.landed_state);
                shown.landed_at = now;
            }
            MavMessage::SYS_STATUS(m) => {
                shown.ready = m
                    .onboard_control_sensors_health
                    .contains(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK);
                shown.ready_at = Some(now);
                // The agent may go by either message.
                let low = m.battery_remaining <= 20;
                shown.status_low_since = low.then(|| shown.status_low_since.unwrap_or(now));
            }
            MavMessage::BATTERY_STATUS(m) => {
                shown.remaining = m.battery_remaining;
                shown.remaining_at = Some(now);
                shown.low_since = (m.battery_remaining <= 20).then(|| shown.low_since.unwrap_or(now));
            }
            _ => {}
        }
    }

    fn wants_flight(&self) -> bool {
        let taken = self.taken.as_ref();
        let flying = matches!(taken, Some(Order::Assigned(a)) if matches!(a.desired, Desired::Flying { .. }));
        let newest = taken.is_some_and(|order| order.term().0 >= self.highest_term);
        flying && newest && self.taken_on_this_stream && self.stream_open && self.kept.is_none()
    }

    #[allow(deprecated, reason = "older firmware knows no other way, and newer still knows it")]
    pub fn judge(&mut self, out: &Outgoing, now: u64) {
        let place = match &out.message {
            MavMessage::COMMAND_INT(m) => Some((m.frame, m.x, m.y, m.z)),
            _ => None,
        };
        let (command, p, target) = match &out.message {
            MavMessage::COMMAND_LONG(m) => (m.command, [m.param1, m.param2], (m.target_system, m.target_component)),
            MavMessage::COMMAND_INT(m) => (m.command, [m.param1, m.param2], (m.target_system, m.target_component)),
            MavMessage::HEARTBEAT(_) | MavMessage::PARAM_REQUEST_READ(_) => return,
            other => panic!("what is this? {other:?}"),
        };
        assert_eq!(target, (SYSTEM, 1), "a command to a stranger: {out:?}");
        assert_eq!(out.permit.is_some(), command == ARM, "{out:?}");
        assert!(
            !p.iter().any(|p| (*p - 21_196.0).abs() < 1.0),
            "nothing is ever forced: {out:?}"
        );
        assert!(self.link_up, "written to a link that is down: {out:?}");
        let shown = self.shown;
        let fresh = |limit: u64| shown.beat_at.is_some_and(|at| now - at <= limit);
        match command {
            MavCmd::MAV_CMD_GET_MESSAGE_INTERVAL
            | MavCmd::MAV_CMD_SET_MESSAGE_INTERVAL
            | MavCmd::MAV_CMD_REQUEST_MESSAGE => return,
            MavCmd::MAV_CMD_RUN_PREARM_CHECKS => assert!(!shown.armed, "asked of an armed vehicle: {out:?}"),
            ARM => self.judge_arm(p, now, out),
            // A message that takes a vehicle out of any mode needs a current mode, also when it is repeated.
            SET_MODE => assert!(
                self.down() && fresh(1200) && self.wants_flight(),
                "a mode was set without need: {out:?} {self:?}"
            ),
            NAV_TAKEOFF => assert!(
                shown.armed && fresh(1200) && self.wants_flight() && !self.terminating,
                "a takeoff that nobody ordered: {out:?} {self:?}"
            ),
            // A restarted agent goes by where the vehicle is, which may be below its altitude.
            REPOSITION => {
                let in_air = shown.landed == Some(MavLandedState::MAV_LANDED_STATE_IN_AIR);
                let of_now = fresh(if is_px4(shown.custom_mode) { 1200 } else { 3000 });
                assert!(
                    shown.armed && in_air && of_now && self.wants_flight() && !self.terminating,
                    "a movement that nobody ordered: {out:?} {self:?}"
                );
                assert!(place.is_some_and(is_ordered), "a movement to another place: {out:?}");
            }
            NAV_LAND | NAV_RETURN => {
                self.judge_descent(command, now, out);
                self.may_fly_again |= command == NAV_LAND;
            }
            other => panic!("a command that the agent has no business to send: {other:?}"),
        }
        assert!(
            !(shown.armed && foreign(shown.custom_mode) && fresh(3000)),
            "commanded while a pilot flies: {out:?} {self:?}"
        );
    }

    fn judge_arm(&mut self, p: [f32; 2], now: u64, out: &Outgoing) {
        let shown = &self.shown;
        assert_eq!((p[0], p[1]), (1.0, 0.0), "it disarms or forces: {out:?}");
        assert!(matches!(&out.message, MavMessage::COMMAND_LONG(m) if m.confirmation == 0));
        assert!(self.wants_flight(), "armed though no leader orders it: {self:?}");
        assert!(!self.terminating, "armed while ending");
        assert!(self.down(), "armed though it is not known to be down: {self:?}");
        assert!(
            shown.beat_at.is_some_and(|at| now - at <= 2000),
            "armed on an old heartbeat: {self:?}"
        );
        assert!(now - shown.landed_at <= 3000, "armed on an old landed_state: {self:?}");
        assert!(station(shown.custom_mode), "armed in a mode of others: {self:?}");
        let ready = shown.ready_at.is_some_and(|at| now - at <= 3000);
        assert!(ready && shown.ready, "armed though the checks do not pass: {self:?}");
        // Where its two messages disagree, one of them is late.
        let low = shown.remaining_at.is_some_and(|at| now - at <= 10_000)
            && shown.remaining <= 20
            && shown.status_low_since.is_some();
        assert!(!low, "armed on a low battery: {self:?}");
        let since = self.last_arm.map_or(u64::MAX, |at| now - at);
        assert!(since >= 1000, "armed again after {since} ms");
        self.last_arm = Some(now);
        assert!(
            !self.flew || self.may_fly_again,
            "armed again after a flight that ended without an order: {self:?}"
        );
        (self.flew, self.may_fly_again) = (false, false);
    }

    fn judge_descent(&self, command: MavCmd, now: u64, out: &Outgoing) {
        let shown = &self.shown;
        assert!(
            shown.armed,
            "a descent of a vehicle that is not armed: {out:?} {self:?}"
        );
        let wants_ground = self.terminating || self.kept.is_some() || {
            match self.taken.as_ref() {
                None => false,
                Some(Order::Unassigned { .. }) => true,
                Some(Order::Assigned(a)) => matches!(a.desired, Desired::Grounded { .. }),
            }
        };
        let silent = if self.led_on_this_stream {
            0
        } else {
            now - self.contact_at
        };
        let alone = match self.taken.as_ref() {
            Some(Order::Assigned(a)) => {
                let due = u128::from(silent) >= a.failsafe.after.as_millis();
                match a.failsafe.on_coordinator_loss {
                    OnCoordinatorLoss::Land | OnCoordinatorLoss::Return => due,
                    OnCoordinatorLoss::Continue | OnCoordinatorLoss::Hold => false,
                }
            }
            _ => false,
        };
        let lasted = |since: Option<u64>| since.is_some_and(|since| now - since >= 2500);
        let low = lasted(shown.low_since) || lasted(shown.status_low_since);
        let allowed = if command == NAV_RETURN {
            alone || low
        } else {
            wants_ground || alone || low
        };
        assert!(
            allowed,
            "brought down though nothing asks for it: {out:?} at {now}: {self:?}"
        );
    }
}
