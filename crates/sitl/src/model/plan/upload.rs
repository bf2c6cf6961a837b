//! One open upload: its items so far, and its timers.

use super::rules::PlanRules;
use crate::wire::{Address, PlanItem};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait,
    Request(u16),
    GiveUp,
}

#[derive(Clone, Debug)]
pub(super) struct Upload {
    pub(super) from: Address,
    count: usize,
    items: Vec<PlanItem>,
    requested_s: Option<f64>,
    received_s: f64,
}

impl Upload {
    pub(super) fn new(from: Address, count: usize, now_s: f64) -> Self {
        Self {
            from,
            count,
            items: Vec::with_capacity(count),
            requested_s: None,
            received_s: now_s,
        }
    }

    pub(super) fn next_seq(&self) -> u16 {
        // At most `count`, which was a u16.
        self.items.len() as u16
    }

    pub(super) fn was_requested(&self) -> bool {
        self.requested_s.is_some()
    }

    pub(super) fn mark_requested(&mut self, now_s: f64) {
        self.requested_s = Some(now_s);
    }

    /// Resets the timer without an item; returns the item to request again.
    pub(super) fn revive(&mut self, now_s: f64) -> u16 {
        self.received_s = now_s;
        self.next_seq()
    }

    pub(super) fn take(&mut self, item: PlanItem, now_s: f64) {
        self.items.push(item);
        self.received_s = now_s;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.items.len() >= self.count
    }

    pub(super) fn items(&self) -> &[PlanItem] {
        &self.items
    }

    pub(super) fn next(&mut self, now_s: f64, sends_requests: bool, rules: &PlanRules) -> Next {
        // Steps of 20 ms do not add up exactly.
        const SLACK_S: f64 = 1e-6;
        let Some(requested_s) = self.requested_s else {
            // The clock of an upload starts with its first request.
            if !sends_requests {
                return Next::Wait;
            }
            self.requested_s = Some(now_s);
            self.received_s = now_s;
            return Next::Request(self.next_seq());
        };
        if now_s + SLACK_S >= self.received_s + rules.give_up_s {
            return Next::GiveUp;
        }
        if now_s + SLACK_S >= requested_s + rules.repeat_s {
            self.requested_s = Some(now_s);
            return Next::Request(self.next_seq());
        }
        Next::Wait
    }
}
