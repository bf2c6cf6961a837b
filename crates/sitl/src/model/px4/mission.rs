//! PX4 flying a mission: item by item, then Hold, or the action of its last item.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::flight::{Flight, NEAR_HEIGHT_M};
use super::modes::Mode;
use super::plan_rules::{self, item};
use super::{Px4, events};
use crate::model::core::{Core, result};
use crate::model::geo::Neu;
use crate::model::plan::PlanKind;
use crate::wire::PlanItem;

/// Distances over the ground and in altitude at which a waypoint is reached; for a takeoff, in altitude.
const NEAR_M: f64 = 1.5;
const NEAR_TAKEOFF_HEIGHT_M: f64 = 0.35;
const REPEAT_S: f64 = 1.0;
/// MISSION_CURRENT.total without a mission.
const NO_TOTAL: u16 = u16::MAX;

/// Radius up to which it flies as recorded, until [`NEAR_M`].
const RECORDED_RADIUS_M: f64 = 2.0;

/// A waypoint may name its own, else NAV_ACC_RAD counts.
fn near_m(core: &Core, item: &PlanItem) -> f64 {
    let own = f64::from(item.params[1]);
    let radius = match item.command {
        item::WAYPOINT if own > 0.0 => own,
        _ => f64::from(core.params.get("NAV_ACC_RAD")),
    };
    if radius > RECORDED_RADIUS_M { radius } else { NEAR_M }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Mission {
    items: Vec<PlanItem>,
    id: u32,
    valid: bool,
    left: bool,
    current: usize,
    complete: bool,
    waits_until_s: Option<f64>,
    /// In the air: it climbs before its first item.
    begins: bool,
    /// Last item done, and the time of its next report.
    reached: Option<(u16, f64)>,
}

impl Mission {
    pub(super) fn replace(&mut self, items: Vec<PlanItem>, id: u32) {
        *self = Self {
            items,
            id,
            ..Self::default()
        };
    }

    pub(super) fn items(&self) -> &[PlanItem] {
        &self.items
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn is_valid(&self) -> bool {
        self.valid && !self.items.is_empty()
    }

    pub(super) fn set_valid(&mut self, valid: bool) {
        self.valid = valid;
    }

    pub(super) fn leave(&mut self) {
        self.left = true;
    }

    pub(super) fn is_left(&self) -> bool {
        self.left
    }

    pub(super) fn current(&self) -> usize {
        self.current
    }

    pub(super) fn jump(&mut self, to: usize) {
        if to < self.items.len() {
            (self.current, self.complete, self.waits_until_s) = (to, false, None);
        }
    }
}

impl Px4 {
    /// Judges a mission that a fence ended again before it is flown.
    pub(super) fn judge_left_mission(&mut self, core: &mut Core) {
        if std::mem::take(&mut self.mission.left) {
            self.check_mission(core, true);
        }
    }

    pub(super) fn start_mission(&mut self, core: &mut Core) -> u8 {
        if !self.mission.is_valid() {
            self.event(core, events::NO_MISSION_TO_START, &[]);
            self.critical(core, "Mission start denied! No valid mission\t");
            return result::DENIED;
        }
        if self.armed_s.is_none() {
            self.enter(core, Mode::Mission);
            return self.request_arm(core, events::BY_MISSION_START);
        }
        self.request_mode(core, 4, 4)
    }

    pub(super) fn begin_mission(&mut self, core: &mut Core) {
        if self.mission.complete {
            self.mission.jump(0);
        }
        self.event(core, events::MISSION_BEGINS, &[]);
        self.info(core, "Executing Mission\t");
        if self.flight.landed()
            && let Some(first) = self.mission.items.get(self.mission.current).copied()
        {
            self.say_climb(core, &first);
        }
        self.mission.begins = self.flying();
        self.fly_item(core);
    }

    /// Ignores a missing item, and flies to a valid one at once.
    pub(super) fn set_current_item(&mut self, core: &mut Core, to: usize) {
        self.mission.jump(to);
        if self.mode == Mode::Mission && self.flying() && self.mission.current == to {
            core.send(self.mission_current());
            self.fly_item(core);
        }
    }

    pub(super) fn mission_step(&mut self, core: &mut Core) {
        if self.mode != Mode::Mission || !self.flying() {
            return;
        }
        if let Some((seq, again_s)) = self.mission.reached
            && core.uptime_s >= again_s
        {
            self.send_reached(core, seq);
        }
        let Some(current) = self.mission.items.get(self.mission.current).copied() else {
            return;
        };
        let Flight::Holding { at } = self.flight else { return };
        let here = core.airframe.position;
        let height_m = match current.command {
            item::TAKEOFF => NEAR_TAKEOFF_HEIGHT_M,
            _ => NEAR_HEIGHT_M,
        };
        let there = here.ground_distance(at) < near_m(core, &current) && (here.up - at.up).abs() < height_m;
        if !there || !plan_rules::has_place(current.command) && current.command != item::DELAY {
            return;
        }
        let waits_s = match current.command {
            item::LOITER_UNLIMITED => return,
            item::LAND => {
                self.flight = Flight::Landing { touched_s: None };
                return;
            }
            item::TAKEOFF => 0.0,
            _ => f64::from(current.params[0].max(0.0)),
        };
        let until_s = *self.mission.waits_until_s.get_or_insert(core.uptime_s + waits_s);
        if core.uptime_s >= until_s {
            self.mission_item_done(core);
        }
    }

    pub(super) fn mission_item_done(&mut self, core: &mut Core) {
        let done = self.mission.current as u16;
        self.mission.waits_until_s = None;
        let Some(next) = self
            .mission
            .items
            .get(self.mission.current + 1)
            .map(|item| item.command)
        else {
            self.mission.complete = true;
            core.send(self.mission_current());
            self.send_reached(core, done);
            return self.finish_mission(core, Mode::Hold);
        };
        self.mission.current += 1;
        if next == item::RETURN_TO_LAUNCH {
            // Done at the same moment: only this one is reported.
            self.mission.complete = true;
            core.send(self.mission_current());
            self.send_reached(core, done + 1);
            return self.finish_mission(core, Mode::Return);
        }
        core.send(self.mission_current());
        self.send_reached(core, done);
        self.fly_item(core);
    }

    fn say_climb(&mut self, core: &mut Core, to: &PlanItem) {
        let height = self.height_above_home(core, to) as f32;
        self.event(core, events::MISSION_CLIMBS, &height.to_le_bytes());
        self.info(core, &format!("Climb to {height:.1} meters above home\t"));
    }

    fn fly_item(&mut self, core: &mut Core) {
        let Some(current) = self.mission.items.get(self.mission.current).copied() else {
            return;
        };
        let mut to = core.local_e7(current.x, current.y);
        to.up = self.height_above_home(core, &current) + self.home.local(core).up;
        match current.command {
            item::TAKEOFF => {
                self.mission.begins = false;
                self.climb(core, to);
            }
            item::RETURN_TO_LAUNCH => {
                self.mission.complete = true;
                self.finish_mission(core, Mode::Return);
            }
            command if plan_rules::has_place(command) && self.flight.landed() => self.climb(core, to),
            item::LAND => self.hold_for_mission(Neu {
                up: core.airframe.position.up,
                ..to
            }),
            command if plan_rules::has_place(command) => {
                // MPC_YAW_MODE, as from the factory, where the item names no direction.
                match current.params[3] {
                    yaw if yaw.is_finite() => core.airframe.turn_to(f64::from(yaw)),
                    _ => core.airframe.look_to(to),
                }
                self.hold_for_mission(to);
                let at = core.airframe.position;
                if std::mem::take(&mut self.mission.begins)
                    && to.up - at.up > NEAR_HEIGHT_M
                    && self.flight != Flight::Tumbling
                {
                    self.say_climb(core, &current);
                    self.flight = Flight::ClimbingFirst { at, to };
                }
            }
            item::DELAY => self.hold_for_mission(core.airframe.position),
            // All other items take no time.
            _ => self.mission_item_done(core),
        }
    }

    fn hold_for_mission(&mut self, at: Neu) {
        if self.flight != Flight::Tumbling {
            self.flight = Flight::Holding { at };
        }
    }

    fn finish_mission(&mut self, core: &mut Core, then: Mode) {
        self.event(core, events::MISSION_ENDS, &[]);
        self.info(core, "Mission finished, loitering\t");
        if then == Mode::Return {
            self.own_commands.mission_returns(core);
            self.go_home(core);
        } else {
            self.enter(core, Mode::Hold);
        }
    }

    fn send_reached(&mut self, core: &mut Core, seq: u16) {
        self.mission.reached = Some((seq, core.uptime_s + REPEAT_S));
        core.send(MavMessage::MISSION_ITEM_REACHED(apm::MISSION_ITEM_REACHED_DATA { seq }));
    }

    /// Altitudes are above home in frames 3 and 6, else above mean sea level.
    fn height_above_home(&self, core: &Core, item: &PlanItem) -> f64 {
        let home_amsl_m = core.config.home.amsl_m + self.home.local(core).up;
        match item.frame {
            3 | 6 => f64::from(item.z),
            _ => f64::from(item.z) - home_amsl_m,
        }
    }

    pub(super) fn mission_current(&self) -> MavMessage {
        use apm::MissionState::{
            MISSION_STATE_ACTIVE, MISSION_STATE_COMPLETE, MISSION_STATE_NO_MISSION, MISSION_STATE_NOT_STARTED,
            MISSION_STATE_PAUSED,
        };
        let mission = &self.mission;
        let flown = self.mode == Mode::Mission;
        MavMessage::MISSION_CURRENT(apm::MISSION_CURRENT_DATA {
            seq: mission.current as u16,
            total: match mission.items.len() {
                0 => NO_TOTAL,
                total => total as u16,
            },
            mission_state: match () {
                () if !mission.is_valid() => MISSION_STATE_NO_MISSION,
                () if mission.complete => MISSION_STATE_COMPLETE,
                () if flown => MISSION_STATE_ACTIVE,
                () if mission.reached.is_some() => MISSION_STATE_PAUSED,
                () => MISSION_STATE_NOT_STARTED,
            },
            // 1: in mission mode; 2: suspended.
            mission_mode: if flown { 1 } else { 2 },
            mission_id: self.plans.opaque_id(PlanKind::Mission),
            fence_id: self.plans.opaque_id(PlanKind::Fence),
            rally_points_id: self.plans.opaque_id(PlanKind::Rally),
        })
    }
}
