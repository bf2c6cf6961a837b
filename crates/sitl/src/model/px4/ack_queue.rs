//! Queue between PX4's modules and its link, which every COMMAND_ACK passes.
//! The link empties its four places once per loop, and more acks overwrite the oldest: of ten commands at once four are
//! acknowledged, of three mode changes with two acks each four (recorded).

use std::collections::VecDeque;

use crate::model::core::Core;
use crate::wire::Address;

const PLACES: usize = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct AckQueue(VecDeque<(Address, u16, u8)>);

impl AckQueue {
    pub(super) fn push(&mut self, to: Address, command: u16, result: u8) {
        if self.0.len() == PLACES {
            self.0.pop_front();
        }
        self.0.push_back((to, command, result));
    }

    pub(super) fn send(&mut self, core: &mut Core) {
        for (to, command, result) in self.0.drain(..) {
            core.ack(to, command, result);
        }
    }
}
