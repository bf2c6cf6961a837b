//! PX4's handling of uploaded plans: it reads the fence, checks the mission against it, and reports faults.
//! Recorded of 1.17: the navigator reads a fence some 0.5 s after its upload, and only if its id is new. Shapes that do
//! not allow home are left out, with a text and an event for each; the plan is read back whole. A polygon behind a
//! circle is read once for each vertex, all but the first from the middle.

use super::modes::Mode;
use super::{Px4, events, plan_rules};
use crate::model::core::Core;
use crate::model::geo::Neu;
use crate::model::plan::{Fence, PlanEvent, PlanKind, PlanNow, PlanOutput, fence_item, verdict};
use crate::wire::{Address, Outgoing, PlanItem, PlanMessage};

const FENCE_AFTER_S: f64 = 0.5;

impl Px4 {
    pub(super) fn receive_plan(&mut self, core: &mut Core, from: Address, message: &PlanMessage) {
        let output = self.plans.receive(self.plan_now(core), from, message);
        self.send_plan_output(core, output);
    }

    pub(super) fn plan_step(&mut self, core: &mut Core) {
        let output = self.plans.tick(self.plan_now(core));
        self.send_plan_output(core, output);
        if self.fence_due_s.is_some_and(|due_s| core.uptime_s >= due_s) {
            self.fence_due_s = None;
            self.take_fence(core);
        }
    }

    fn take_fence(&mut self, core: &mut Core) {
        let id = self.plans.opaque_id(PlanKind::Fence);
        if id == self.fence_judged {
            return;
        }
        self.fence_judged = id;
        let items = self.plans.items(PlanKind::Fence);
        let left_out = match Fence::read(items, |x, y| core.local_e7(x, y)) {
            Ok(fence) => {
                let broken = read_from_the_middle(items);
                self.fence = fence;
                let home = self.home.local(core);
                let outside = if self.home.is_set() {
                    self.fence.leave_out(home)
                } else {
                    0
                };
                outside + broken
            }
            Err(_) => {
                self.fence = Fence::default();
                1
            }
        };
        for _ in 0..left_out {
            self.event(core, events::FENCE_WITHOUT_HOME, &[]);
            self.critical(core, "Geofence invalid, doesn't contain Home position\t");
        }
        self.check_mission(core, true);
        // Ends the mission in flight (observed: 1.17); no other fence and no upload of the same items makes it whole
        // again.
        if self.mode == Mode::Mission && self.flying() && !self.mission.is_valid() {
            self.event(core, events::MISSION_NOT_VALID, &[]);
            self.critical(core, "No valid mission available, loitering\t");
            self.mission.leave();
            self.enter(core, Mode::Hold);
        }
    }

    /// `None` until the fence is judged, and unless it counts as a whole.
    pub(super) fn judged_fence(&self) -> Option<Vec<PlanItem>> {
        let items = self.plans.items(PlanKind::Fence);
        let stored = Fence::read(items, |_, _| Neu::default()).ok()?;
        let shapes = |fence: &Fence| fence.polygons.len() + fence.circles.len();
        let judged = self.plans.opaque_id(PlanKind::Fence) == self.fence_judged;
        let counts = judged && shapes(&stored) == shapes(&self.fence) && read_from_the_middle(items) == 0;
        counts.then(|| items.to_vec())
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
                let items = self.plans.items(PlanKind::Mission).to_vec();
                let id = self.plans.opaque_id(PlanKind::Mission);
                let is_new = self.mission.id() != id;
                if is_new || !self.mission.is_left() {
                    self.mission.replace(items, id);
                    self.check_mission(core, is_new);
                }
            }
            PlanEvent::Received(PlanKind::Fence) | PlanEvent::Cleared(PlanKind::Fence) => {
                self.fence_due_s.get_or_insert(core.uptime_s + FENCE_AFTER_S);
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
            PlanEvent::SetCurrent(seq) => self.set_current_item(core, usize::from(seq)),
        }
    }

    /// Keeps a mission outside the fence, but will not fly it; reasons are sent for a new one only (observed: 1.17).
    pub(super) fn check_mission(&mut self, core: &mut Core, says_why: bool) {
        if self.mission.is_left() {
            return;
        }
        let outside = self.mission.items().iter().position(|item| {
            let place = core.local_e7(item.x, item.y);
            plan_rules::has_place(item.command) && !self.fence.allows(place)
        });
        self.mission.set_valid(outside.is_none());
        if let Some(place) = outside.filter(|_| says_why) {
            let number = place as u16 + 1;
            self.event(core, events::MISSION_OUTSIDE_FENCE, &number.to_le_bytes());
            self.critical(core, &format!("Geofence violation for waypoint {number}\t"));
        }
    }
}

/// Polygons read from the middle of another, behind a circle.
fn read_from_the_middle(items: &[PlanItem]) -> usize {
    let circle = |item: &&PlanItem| matches!(item.command, fence_item::CIRCLE_IN | fence_item::CIRCLE_OUT);
    let vertex = |item: &&PlanItem| matches!(item.command, fence_item::POLYGON_IN | fence_item::POLYGON_OUT);
    let mut behind = items.iter().skip_while(|item| !circle(item)).filter(vertex);
    let mut broken = 0;
    while let Some(first) = behind.next() {
        let others = (first.params[0] as usize).saturating_sub(1);
        broken += behind.by_ref().take(others).count();
    }
    broken
}
