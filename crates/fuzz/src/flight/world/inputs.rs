//! Inputs from the coordinator and the operating system: streams, orders, kills, and the end of a life.

use super::{World, at};
use crate::flight::oracle::Oracle;
use agent::outgoing::Written;
use link::LinkEvent;
use model::assignment::Desired;

impl World<'_> {
    pub(super) fn stream(&mut self, open: bool) {
        self.trace("stream is open", &open);
        self.stream_open = open;
        self.oracle.stream(open, self.now);
        if open {
            self.pilot.uplink_opened(at(self.now));
        } else {
            self.pilot.uplink_closed(at(self.now));
        }
    }

    pub(super) fn link(&mut self, up: bool) {
        self.trace("link is up", &up);
        self.link_up = up;
        let event = if up {
            LinkEvent::Up
        } else {
            LinkEvent::Down("unplugged".into())
        };
        self.pilot.receive(&event, at(self.now), self.jitter);
        self.oracle.watch(self.now);
    }

    pub(super) fn order(&mut self, disk_is_full: bool) {
        if !self.stream_open {
            self.stream(true);
        }
        self.tally.orders += 1;
        let order = self.coordinators.order(&mut self.bytes);
        self.trace("order", &order);
        match self.pilot.consider(&order, at(self.now)) {
            Ok(fence) => {
                // As the shell does: an order that cannot be written down is not taken, unless it brings the vehicle
                // down.
                let upwards = fence
                    .held
                    .as_ref()
                    .is_some_and(|a| matches!(a.desired, Desired::Flying { .. }));
                if disk_is_full && upwards && fence != self.pilot.state().fence {
                    self.oracle.could_not_take(&order);
                    self.pilot.not_taken(order.term());
                    return;
                }
                self.oracle.order_received(&order, true, self.now);
                self.pilot.adopt(fence, at(self.now));
            }
            Err(refused) => {
                self.trace("refused", &refused);
                self.tally.refused += 1;
                self.oracle.order_received(&order, false, self.now);
                self.pilot.refused(order.term(), &refused);
            }
        }
        self.save();
    }

    pub(super) fn save(&mut self) {
        self.saved = (self.pilot.state().clone(), self.oracle.ledger.clone());
    }

    /// Ends the agent, ordered or not, perhaps before it has written down what it received last.
    pub(super) fn end(&mut self, how: u8) {
        if how & 0x40 != 0 {
            self.trace("asked to end", &());
            self.pilot.terminate();
            self.oracle.terminate();
            return;
        }
        if how & 0x80 != 0 {
            self.vehicle_sends(0);
        }
        self.tally.restarts += 1;
        self.trace("restart", &self.saved.0);
        self.pilot = Self::pilot(self.saved.0.clone(), self.extras, self.now);
        self.oracle = Oracle::born(self.saved.1.clone(), self.now);
        self.stream_open = false;
        self.link(true);
    }

    pub(super) fn kill(&mut self) {
        if !self.stream_open {
            return;
        }
        let (order, received) = self.coordinators.kill(&mut self.bytes, self.now);
        let shot = self.pilot.kill(&order, at(received), at(self.now), self.jitter);
        if shot.is_some() {
            assert!(self.link_up, "a kill for a line that is down");
        }
        self.oracle.judge_kill(&order, received, shot.as_ref(), self.now);
        self.trace("kill", &(&order, received, &shot));
        let Some(shot) = shot else { return };
        self.tally.kills += 1;
        let written_at = self.now + self.wire.takes;
        let spent = shot.permit.spend(at(written_at));
        assert_eq!(
            spent.is_ok(),
            written_at - received <= 2000,
            "a kill that waited was sent"
        );
        let how = if spent.is_ok() { self.wire.how } else { Written::No };
        self.pilot.kill_written(how);
        if how != Written::No {
            self.oracle.ledger.killed = self.oracle.ledger.held.is_some();
        }
        if how == Written::Yes && self.wire.arrives {
            let vehicle = &mut self.vehicle;
            (vehicle.armed, vehicle.in_air, vehicle.height, vehicle.target) = (false, false, 0.0, 0.0);
        }
    }
}
