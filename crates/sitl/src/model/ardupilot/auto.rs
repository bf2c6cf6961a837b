//! AUTO: the mission as it is flown, item by item.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::{MavMessage, MavSeverity};

use super::flight::{Flight, Outcome};
use super::guided::height_above_boot;
use super::plan_rules::{self, item};
use super::{ArduPilot, modes};
use crate::model::core::{Core, cmd, result};
use crate::model::geo::Neu;
use crate::model::plan::PlanKind;
use crate::model::telemetry::id;
use crate::wire::{Address, PlanItem};

/// More items in a row that only jump or set something are an endless loop.
const PASSED_AT_ONCE: usize = 100;

impl ArduPilot {
    pub(super) fn start_mission(&mut self, core: &mut Core, from: Address, first: f32, last: f32) {
        if first != 0.0 || last != 0.0 {
            return core.ack(from, cmd::MISSION_START, result::DENIED);
        }
        let changed = self.set_mode(core, modes::AUTO);
        if changed.is_ok() {
            self.auto_armed = true;
            if !self.run.is_running() && self.mission_len() > 1 {
                self.start_or_resume_mission(core);
            }
            core.ack(from, cmd::MISSION_START, result::ACCEPTED);
        } else {
            core.ack(from, cmd::MISSION_START, result::FAILED);
        }
        self.announce_mode(core);
        self.send_refusal(core, modes::AUTO, changed);
    }

    pub(super) fn start_or_resume_mission(&mut self, core: &mut Core) {
        let restarts = core.params.get("MIS_RESTART") > 0.0;
        if self.run.can_resume() && !restarts {
            self.begin_item(core, self.run.current());
        } else {
            self.run.forget_jumps();
            self.begin_item(core, 1);
        }
    }

    pub(super) fn mission_begins_with_takeoff(&self) -> bool {
        let mut items = self.plans.items(PlanKind::Mission).iter().skip(1);
        let first = items.find(|item| plan_rules::is_navigation(item.command));
        first.is_some_and(|first| first.command == item::TAKEOFF)
    }

    /// DO_SET_MISSION_CURRENT before the ack; MAV_RESULT.
    pub(super) fn current_by_command(&mut self, seq: f32, reset: f32) -> u8 {
        if reset == 1.0 {
            self.run.forget_jumps();
        }
        // -1 only resets.
        if seq == -1.0 && reset == 1.0 && self.mission_len() > 1 {
            return result::ACCEPTED;
        }
        if seq == 0.0 && self.mission_len() <= 1 {
            return result::FAILED;
        }
        if seq < 0.0 || seq as usize >= self.mission_len() {
            return result::DENIED;
        }
        self.choose_item(seq as u16);
        result::ACCEPTED
    }

    /// MISSION_SET_CURRENT; ignores a missing item.
    pub(super) fn set_current_item(&mut self, core: &mut Core, seq: u16) {
        if usize::from(seq) < self.mission_len() {
            self.choose_item(seq);
            self.go_to_current_item(core);
        }
    }

    fn choose_item(&mut self, seq: u16) {
        let seq = seq.max(1);
        if self.is_flying_mission() {
            self.run.begin(seq);
        } else {
            self.run.choose(seq);
        }
    }

    pub(super) fn go_to_current_item(&mut self, core: &mut Core) {
        self.send(core, id::MISSION_CURRENT);
        if self.is_flying_mission() {
            self.begin_item(core, self.run.current());
        }
    }

    /// DO_PAUSE_CONTINUE; MAV_RESULT.
    pub(super) fn pause_or_continue(&mut self, core: &mut Core, p1: f32) -> u8 {
        let flying = self.armed_s.is_some() && !self.landed(core);
        match (p1, self.mode) {
            (0.0, modes::GUIDED | modes::AVOID_ADSB) => {
                self.pause_guided(core);
                result::ACCEPTED
            }
            (1.0, modes::GUIDED | modes::AVOID_ADSB) => {
                self.continue_guided(core);
                result::ACCEPTED
            }
            (0.0, modes::GUIDED_NO_GPS) => {
                if flying {
                    self.stop_here(core);
                }
                result::ACCEPTED
            }
            (1.0, modes::GUIDED_NO_GPS) => result::ACCEPTED,
            (0.0, modes::AUTO) if matches!(self.flight, Flight::Guided { .. }) && self.is_flying_mission() => {
                self.stop_here(core);
                self.run.paused = true;
                result::ACCEPTED
            }
            (1.0, modes::AUTO) if self.run.paused => {
                self.run.paused = false;
                if let Some(item) = self.current_item() {
                    self.start_item(core, &item);
                }
                result::ACCEPTED
            }
            (0.0 | 1.0, _) => result::FAILED,
            _ => result::DENIED,
        }
    }

    pub(super) fn mission_changed(&mut self, core: &mut Core) {
        if !self.is_flying_mission() {
            return;
        }
        let changed = self.current_item();
        if changed.is_some_and(|item| item.command == item::WAYPOINT) {
            let text = "Auto mission changed, restarted command";
            self.text(core, MavSeverity::MAV_SEVERITY_CRITICAL, text);
            self.begin_item(core, self.run.current());
        }
    }

    pub(super) fn auto_step(&mut self, core: &mut Core, outcome: Outcome) {
        if !self.is_flying_mission() || self.run.paused {
            return;
        }
        let Some(item) = self.current_item() else {
            return self.end_mission(core);
        };
        if self.run.takeoff_waits {
            if let (Some(armed_s), true) = (self.armed_s, self.auto_armed) {
                self.run.takeoff_waits = false;
                self.flight = Flight::take_off(core.uptime_s, armed_s, self.height_of(core, &item));
            }
            return;
        }
        if !self.is_done(core, &item, outcome) {
            return;
        }
        let seq = self.run.current();
        core.send(MavMessage::MISSION_ITEM_REACHED(apm::MISSION_ITEM_REACHED_DATA { seq }));
        if matches!(item.command, item::WAYPOINT | item::LOITER_TIME) {
            let text = format!("Reached command #{seq}");
            self.text(core, MavSeverity::MAV_SEVERITY_INFO, &text);
        }
        self.begin_item(core, seq.saturating_add(1));
    }

    pub(super) fn mission_current(&self) -> MavMessage {
        let items = self.mission_len();
        MavMessage::MISSION_CURRENT(apm::MISSION_CURRENT_DATA {
            seq: self.run.current(),
            total: items.saturating_sub(1) as u16,
            mission_state: match self.run.number(items) {
                1 => apm::MissionState::MISSION_STATE_NO_MISSION,
                2 => apm::MissionState::MISSION_STATE_NOT_STARTED,
                3 => apm::MissionState::MISSION_STATE_ACTIVE,
                4 => apm::MissionState::MISSION_STATE_PAUSED,
                _ => apm::MissionState::MISSION_STATE_COMPLETE,
            },
            mission_mode: u8::from(self.mode == modes::AUTO),
            ..apm::MISSION_CURRENT_DATA::DEFAULT
        })
    }

    fn mission_len(&self) -> usize {
        self.plans.items(PlanKind::Mission).len()
    }

    fn current_item(&self) -> Option<PlanItem> {
        let items = self.plans.items(PlanKind::Mission);
        items.get(usize::from(self.run.current())).copied()
    }

    fn is_flying_mission(&self) -> bool {
        self.mode == modes::AUTO && self.run.is_running()
    }

    fn begin_item(&mut self, core: &mut Core, seq: u16) {
        let mut seq = seq;
        for _ in 0..PASSED_AT_ONCE {
            let Some(item) = self.plans.items(PlanKind::Mission).get(usize::from(seq)).copied() else {
                break;
            };
            if item.command == item::DO_JUMP {
                let [to, times, ..] = item.params;
                seq = if self.run.jumps_again(seq, times) {
                    to as u16
                } else {
                    seq.saturating_add(1)
                };
                continue;
            }
            let text = format!("Mission: {seq} {}", plan_rules::name(item.command));
            self.text(core, MavSeverity::MAV_SEVERITY_INFO, &text);
            if plan_rules::is_navigation(item.command) {
                self.run.begin(seq);
                return self.start_item(core, &item);
            }
            seq = seq.saturating_add(1);
        }
        self.end_mission(core);
    }

    fn start_item(&mut self, core: &mut Core, item: &PlanItem) {
        let flying = self.armed_s.is_some() && !self.landed(core);
        match item.command {
            item::TAKEOFF if !flying => self.run.takeoff_waits = true,
            item::TAKEOFF => {
                let to_up_m = self.height_of(core, item);
                self.flight = Flight::Climbing { to_up_m };
            }
            _ if !flying => {}
            item::RETURN_TO_LAUNCH => {
                self.flight = Flight::go_home(&core.airframe, &core.params, self.home_local(core), core.uptime_s)
            }
            item::LAND if item.x == 0 && item.y == 0 => self.flight = Flight::land(core.uptime_s),
            item::DELAY => self.stop_here(core),
            _ => {
                let target = self.place_of(core, item);
                // WP_YAW_BEHAVIOR, as from the factory.
                core.airframe.look_to(target);
                self.flight = Flight::Guided { target };
            }
        }
    }

    fn is_done(&mut self, core: &Core, item: &PlanItem, outcome: Outcome) -> bool {
        let landed_for_good = outcome == Outcome::LandedForGood;
        let there = match (item.command, self.flight) {
            (item::LAND, Flight::Guided { target }) => {
                if core.airframe.position.ground_distance(target) < self.radius_m(core) {
                    self.flight = Flight::land(core.uptime_s);
                }
                return false;
            }
            (item::RETURN_TO_LAUNCH | item::LAND, _) => return landed_for_good,
            (item::LOITER_UNLIMITED, _) => return false,
            (item::DELAY, Flight::Guided { .. }) => true,
            (item::TAKEOFF, Flight::Guided { .. }) => true,
            (_, Flight::Guided { target }) => {
                // WPNAV_RADIUS is the radius of a sphere: a place over which it still climbs is not reached.
                let position = core.airframe.position;
                let away = position.ground_distance(target).hypot(position.up - target.up);
                away < self.radius_m(core) && is_slow(core)
            }
            _ => false,
        };
        if !there {
            return false;
        }
        let since_s = *self.run.there_since_s.get_or_insert(core.uptime_s);
        let waits_s = match item.command {
            item::WAYPOINT | item::LOITER_TIME | item::DELAY => f64::from(item.params[0]),
            _ => 0.0,
        };
        core.uptime_s - since_s >= waits_s
    }

    /// Stops motors on the ground, waits in the air.
    fn end_mission(&mut self, core: &mut Core) {
        self.run.complete();
        if self.armed_s.is_none() {
            return;
        }
        if self.landed(core) {
            self.disarm(core);
        } else {
            self.stop_here(core);
        }
    }

    pub(super) fn stop_here(&mut self, core: &Core) {
        self.flight = self.stop(core);
    }

    pub(super) fn stop(&self, core: &Core) -> Flight {
        let (position, velocity) = (core.airframe.position, core.airframe.velocity);
        let accel_m_s2 = (f64::from(core.params.get("WPNAV_ACCEL")) / 100.0).max(0.5);
        let seconds = velocity.north.hypot(velocity.east) / (2.0 * accel_m_s2);
        Flight::Guided {
            target: Neu {
                north: position.north + velocity.north * seconds,
                east: position.east + velocity.east * seconds,
                up: position.up,
            },
        }
    }

    fn radius_m(&self, core: &Core) -> f64 {
        f64::from(core.params.get("WPNAV_RADIUS")) / 100.0
    }

    fn height_of(&self, core: &Core, item: &PlanItem) -> f64 {
        let up = height_above_boot(core, self.home, item.frame, f64::from(item.z));
        up.unwrap_or(core.airframe.position.up)
    }

    /// 0, 0 means the present place.
    fn place_of(&self, core: &Core, item: &PlanItem) -> Neu {
        let over = if item.x == 0 && item.y == 0 {
            core.airframe.position
        } else {
            core.local_e7(item.x, item.y)
        };
        Neu {
            up: self.height_of(core, item),
            ..over
        }
    }
}

fn is_slow(core: &Core) -> bool {
    const SLOW_M_S: f64 = 1.0;
    let velocity = core.airframe.velocity;
    velocity.north.hypot(velocity.east) < SLOW_M_S
}
