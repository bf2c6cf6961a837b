//! Mode changes: the requirements of each, and the answers to requests.

use mavlink::dialects::ardupilotmega::MavSeverity;

use super::flight::{Flight, Speeds};
use super::{ArduPilot, modes};
use crate::model::core::{Core, cmd, result};
use crate::model::plan::PlanKind;
use crate::model::telemetry::id;
use crate::wire::Address;

pub(super) type Refusal = &'static str;

impl ArduPilot {
    pub(super) fn set_mode(&mut self, core: &mut Core, mode: u32) -> Result<(), Refusal> {
        if mode == self.mode {
            return Ok(());
        }
        let armed = self.armed_s.is_some();
        if modes::needs_more(mode) || (armed && mode == modes::THROW) {
            return Err("init failed");
        }
        // Disarmed, any mode may be chosen.
        if armed && modes::needs_position(mode) && !self.position.is_known(core) {
            return Err("requires position");
        }
        if mode == modes::AUTO && armed {
            self.can_start_mission(core)?;
        }
        if self.mode == modes::AUTO {
            self.run.stop();
        }
        self.mode = mode;
        self.held = None;
        self.speeds = Speeds::default();
        if armed && !self.landed(core) {
            self.flight = match mode {
                modes::LAND => Flight::land(core.uptime_s),
                modes::RTL => Flight::go_home(&core.airframe, &core.params, self.home_local(core), core.uptime_s),
                mode => match modes::sink(mode) {
                    Some(how) => Flight::Sinking { how, touched_s: None },
                    None => Flight::Guided {
                        target: core.airframe.position,
                    },
                },
            };
        } else if matches!(self.flight, Flight::Spooling { .. }) {
            self.flight = Flight::Landed;
        }
        if mode == modes::AUTO && self.plans.items(PlanKind::Mission).len() > 1 {
            self.start_or_resume_mission(core);
        }
        Ok(())
    }

    /// Requires a mission that begins with a takeoff, on the ground and armed.
    fn can_start_mission(&mut self, core: &mut Core) -> Result<(), Refusal> {
        if self.plans.items(PlanKind::Mission).len() <= 1 {
            return Err("init failed");
        }
        if self.landed(core) && !self.mission_begins_with_takeoff() {
            self.text(core, MavSeverity::MAV_SEVERITY_CRITICAL, "Auto: Missing Takeoff Cmd");
            return Err("init failed");
        }
        Ok(())
    }

    pub(super) fn mode_by_command(&mut self, core: &mut Core, from: Address, command: u16, mode: u32) {
        let changed = self.set_mode(core, mode);
        core.ack(
            from,
            command,
            if changed.is_ok() {
                result::ACCEPTED
            } else {
                result::FAILED
            },
        );
        self.announce_mode(core);
        self.send_refusal(core, mode, changed);
    }

    pub(super) fn do_set_mode(&mut self, core: &mut Core, from: Address, p1: f32, p2: f32) {
        if p1 as u32 & 1 == 0 {
            return core.ack(from, cmd::DO_SET_MODE, result::DENIED);
        }
        let mode = p2 as u32;
        if !self.has_mode(core, mode) {
            return core.ack(from, cmd::DO_SET_MODE, result::FAILED);
        }
        self.mode_by_command(core, from, cmd::DO_SET_MODE, mode);
    }

    /// SET_MODE is not acknowledged.
    pub(super) fn request_mode(&mut self, core: &mut Core, mode: u32) {
        if !self.has_mode(core, mode) {
            return;
        }
        let changed = self.set_mode(core, mode);
        self.announce_mode(core);
        self.send_refusal(core, mode, changed);
    }

    fn has_mode(&mut self, core: &mut Core, mode: u32) -> bool {
        let exists = modes::name(mode).is_some();
        if !exists {
            self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &format!("No such mode {mode}"));
        }
        exists
    }

    pub(super) fn send_refusal(&mut self, core: &mut Core, mode: u32, changed: Result<(), Refusal>) {
        if let Err(why) = changed {
            let name = modes::name(mode).unwrap_or("?");
            let text = format!("Mode change to {name} failed: {why}");
            self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &text);
        }
    }

    pub(super) fn announce_mode(&mut self, core: &mut Core) {
        if self.announced_mode != self.mode {
            self.announced_mode = self.mode;
            self.send(core, id::HEARTBEAT);
        }
    }
}
