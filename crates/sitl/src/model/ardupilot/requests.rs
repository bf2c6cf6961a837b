//! ArduCopter's answers to messages that are not commands: heartbeats, parameters, plans, targets, streams.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::{MavMessage, MavSeverity};

use super::boot::ASKS_S;
use super::{ArduPilot, modes};
use crate::model::core::Core;
use crate::model::outdated;
use crate::model::plan::{Fence, PlanEvent, PlanKind, PlanNow, PlanOutput};
use crate::model::telemetry::{self, ParamEncoding, id};
use crate::wire::{Address, Outgoing, PlanItem, Request};

impl ArduPilot {
    pub(super) fn request(&mut self, core: &mut Core, from: Address, request: &Request) {
        match request {
            Request::Heartbeat { .. } => {
                if from.system == core.config.system_id {
                    self.components.insert(from.component);
                }
                self.gcs.heartbeat(core, from.system);
            }
            Request::Command(command) if self.is_ours(core, command.to) || is_for_everyone(command.to) => {
                self.command(core, from, command);
            }
            Request::SetMode {
                system,
                base_mode,
                custom_mode,
            } if *system == core.config.system_id && base_mode & 1 != 0 => {
                self.request_mode(core, *custom_mode);
            }
            Request::ParamRead { to, index, name } if core.is_for_us(*to) => {
                self.answer_param(core, from, *index, name);
            }
            Request::ParamList { to } if core.is_for_us(*to) => self.list_params(),
            Request::ParamSet { to, name, .. } if core.is_for_us(*to) && core.names_as_missing(name) => {
                core.send(telemetry::param_missing(from, -1, name));
            }
            Request::ParamSet { to, name, value, kind } if core.is_for_us(*to) => {
                self.write_param(core, name, ParamEncoding::AsFloat.decode(*value, *kind));
            }
            Request::Plan(message) if core.is_for_us(message.to) => {
                let output = self.plans.receive(self.plan_now(core), from, message);
                self.send_plan_output(core, output);
            }
            Request::RemoteId(message) => self.hear_remote_id(core, from, message),
            Request::Goto(target) if core.is_for_us(target.to) => self.goto(core, target),
            Request::Steer(target) if core.is_for_us(target.to) => self.steer(core, target),
            Request::DataStream {
                to,
                stream,
                rate_hz,
                start,
            } if core.is_for_us(*to) => {
                data_stream(core, *stream, if *start { *rate_hz } else { 0 });
            }
            Request::TimesyncAsk { ts1 } => core.send(MavMessage::TIMESYNC(apm::TIMESYNC_DATA {
                tc1: core.boot_us() as i64 * 1000,
                ts1: *ts1,
                target_system: from.system,
                target_component: from.component,
            })),
            Request::PingAsk { time_usec, seq } => core.send(outdated::ping_answer(from, *time_usec, *seq)),
            _ => {}
        }
    }

    /// Commands to a component that never sent to it are its own.
    fn is_ours(&self, core: &Core, to: Address) -> bool {
        to.system == core.config.system_id && (core.is_for_us(to) || !self.components.contains(&to.component))
    }

    pub(super) fn after_param(&mut self, core: &Core, name: &str) {
        if matches!(name, "FENCE_ENABLE" | "FENCE_TYPE") {
            self.fence.follow_parameters(core);
        }
    }

    pub(super) fn plan_step(&mut self, core: &mut Core) {
        let output = self.plans.tick(self.plan_now(core));
        self.send_plan_output(core, output);
    }

    fn plan_now(&self, core: &Core) -> PlanNow {
        let (x, y) = self.home.map_or((0, 0), |home| home.e7());
        PlanNow {
            now_s: core.uptime_s,
            sends_requests: core.uptime_s >= ASKS_S,
            flying_mission: self.mode == modes::AUTO && self.run.is_running(),
            home: PlanItem {
                command: super::plan_rules::item::WAYPOINT,
                frame: 0,
                params: [0.0; 4],
                x,
                y,
                z: self.home.map_or(0.0, |home| home.amsl_m as f32),
                autocontinue: 1,
            },
            current: self.run.current(),
        }
    }

    fn send_plan_output(&mut self, core: &mut Core, output: Vec<PlanOutput>) {
        for one in output {
            match one {
                PlanOutput::Reply { to, kind, reply } => core.send_raw(Outgoing::Plan {
                    to,
                    kind: kind.number(),
                    reply,
                }),
                PlanOutput::Event(event) => self.plan_event(core, event),
            }
        }
    }

    fn plan_event(&mut self, core: &mut Core, event: PlanEvent) {
        let warning = MavSeverity::MAV_SEVERITY_WARNING;
        let info = MavSeverity::MAV_SEVERITY_INFO;
        match event {
            PlanEvent::Received(PlanKind::Mission) => {
                self.text(core, info, "Flight plan received");
                self.mission_changed(core);
            }
            PlanEvent::Received(PlanKind::Rally) => {
                self.text(core, info, "Rally points received");
                self.count_rally_points(core);
            }
            PlanEvent::Received(PlanKind::Fence) | PlanEvent::Cleared(PlanKind::Fence) => self.read_fence(core),
            PlanEvent::Cleared(PlanKind::Mission) => self.run.forget(),
            PlanEvent::Cleared(PlanKind::Rally) => self.count_rally_points(core),
            PlanEvent::Refused(..) => {}
            PlanEvent::Invalid(_, texts) => {
                for text in texts {
                    self.text(core, warning, &text);
                }
            }
            PlanEvent::TimedOut(kind) => {
                let name = match kind {
                    PlanKind::Mission => "Mission",
                    PlanKind::Fence => "Fence",
                    PlanKind::Rally => "Rally",
                };
                self.text(core, warning, &format!("{name} upload timeout"));
            }
            PlanEvent::TooMany(_, limit) => self.text(core, warning, &format!("Only {limit} items are supported")),
            PlanEvent::SetCurrent(seq) => {
                self.set_current_item(core, seq);
            }
        }
    }

    fn count_rally_points(&self, core: &mut Core) {
        let count = self.plans.items(PlanKind::Rally).len();
        core.params.set("RALLY_TOTAL", count as f32);
    }

    fn read_fence(&mut self, core: &mut Core) {
        let read = Fence::read(self.plans.items(PlanKind::Fence), |x, y| core.local_e7(x, y));
        self.fence.shapes = read.unwrap_or_default();
        self.text(core, MavSeverity::MAV_SEVERITY_DEBUG, "Fence Indexed OK");
        // Its storage has two entries around the items (recorded).
        let stored = match self.plans.items(PlanKind::Fence).len() {
            0 => 0,
            items => items + 2,
        };
        Self::report_param(core, "FENCE_TOTAL", stored as f32);
    }
}

/// ArduPilot acts on commands to system 0, too.
fn is_for_everyone(to: Address) -> bool {
    to.system == 0 && matches!(to.component, 0 | 1)
}

fn data_stream(core: &mut Core, stream: u8, rate_hz: u16) {
    let groups: &[(u8, &[u32])] = &[
        (
            2,
            &[id::SYS_STATUS, id::GPS_RAW_INT, id::MISSION_CURRENT, id::FENCE_STATUS],
        ),
        (6, &[id::GLOBAL_POSITION_INT, id::LOCAL_POSITION_NED]),
        (10, &[id::ATTITUDE]),
        (11, &[id::VFR_HUD]),
        (12, &[id::SYSTEM_TIME, id::BATTERY_STATUS, id::EKF_STATUS_REPORT]),
    ];
    for (_, messages) in groups.iter().filter(|(group, _)| stream == 0 || stream == *group) {
        for &message in *messages {
            match rate_hz {
                0 => core.streams.stop(message),
                rate => {
                    let interval_s = 1.0 / f64::from(rate);
                    core.streams.every(message, interval_s, core.uptime_s + interval_s);
                }
            }
        }
    }
}
