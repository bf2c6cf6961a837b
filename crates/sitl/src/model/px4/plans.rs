//! What PX4 does with uploaded plans: it reads the fence, checks the mission against it, and reports faults.
//!
//! Owns: the texts and events about plans. Must not: handle the protocol, or fly.

use super::{Px4, events, plan_rules};
use crate::model::core::Core;
use crate::model::plan::{Fence, PlanEvent, PlanKind, PlanNow, PlanOutput, verdict};
use crate::wire::{Address, Outgoing, PlanItem, PlanMessage};

impl Px4 {
    pub(super) fn receive_plan(&mut self, core: &mut Core, from: Address, message: &PlanMessage) {
        let output = self.plans.receive(self.plan_now(core), from, message);
        self.send_plan_output(core, output);
    }

    pub(super) fn plan_step(&mut self, core: &mut Core) {
        let output = self.plans.tick(self.plan_now(core));
        self.send_plan_output(core, output);
    }

    fn plan_now(&self, core: &Core) -> PlanNow {
        PlanNow {
            now_s: core.uptime_s,
            sends_requests: true,
            flying_mission: false,
            // Item 0 is an item like any other.
            home: PlanItem {
                command: 0,
                frame: 0,
                params: [0.0; 4],
                x: 0,
                y: 0,
                z: 0.0,
                autocontinue: 1,
            },
            current: self.mission.current() as u16,
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
        match event {
            PlanEvent::Received(PlanKind::Mission) | PlanEvent::Cleared(PlanKind::Mission) => {
                self.mission.replace(self.plans.items(PlanKind::Mission).to_vec());
                self.check_mission(core);
            }
            PlanEvent::Received(PlanKind::Fence) | PlanEvent::Cleared(PlanKind::Fence) => {
                let read = Fence::read(self.plans.items(PlanKind::Fence), |x, y| core.local_e7(x, y));
                // An incomplete polygon is not a fence.
                self.fence = read.unwrap_or_default();
                self.check_mission(core);
            }
            PlanEvent::Refused(PlanKind::Mission, verdict::UNSUPPORTED | verdict::UNSUPPORTED_FRAME) => {
                self.event(core, events::MISSION_ITEM_INVALID, &[]);
                self.critical(core, "IGN MISSION_ITEM: Invalid item\t");
            }
            PlanEvent::TimedOut(_) => {
                self.event(core, events::MISSION_TIMEOUT, &[]);
                self.critical(core, "Operation timeout\t");
            }
            PlanEvent::Received(PlanKind::Rally)
            | PlanEvent::Cleared(PlanKind::Rally)
            | PlanEvent::Refused(..)
            | PlanEvent::Invalid(..)
            | PlanEvent::TooMany(..) => {}
            PlanEvent::SetCurrent(seq) => self.mission.jump(usize::from(seq)),
        }
    }

    /// A mission that leaves the fence is kept, but it will not fly.
    fn check_mission(&mut self, core: &mut Core) {
        let outside = self.mission.items().iter().position(|item| {
            let place = core.local_e7(item.x, item.y);
            plan_rules::has_place(item.command) && !self.fence.allows(place)
        });
        self.mission.set_valid(outside.is_none());
        if let Some(place) = outside {
            // Counted from one.
            let number = place as u16 + 1;
            self.event(core, events::MISSION_OUTSIDE_FENCE, &number.to_le_bytes());
            self.critical(core, &format!("Geofence violation for waypoint {number}\t"));
        }
    }
}
