//! The messages that one agent received, recorded before it gets them, with their times.

use agent::uplink::FromUplink;
use model::assignment::{Assignment, Desired, GroundedWhy, Order};
use model::ground::{GroundMark, GroundOrderId};
use model::rules::{Rules, RulesDigest};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const OLD: usize = 32;

/// The notes of one node, which outlive the agent, as its disk does.
#[derive(Debug, Default)]
pub struct Ledger {
    pub highest_term: u64,
    pub last_order: Option<Order>,
    pub served: BTreeSet<String>,
    /// Start of the time without contact to a leading coordinator; `None` in contact.
    pub alone_since: Option<Duration>,
    pub was_alone: Option<(Duration, Duration)>,
    pub last_up: Option<Duration>,
    pub last_down: Option<Duration>,
    /// When flight was ordered, not yet judged, for a vehicle that had to be on the ground until then.
    pub lifted: Option<Duration>,
    pub kept: Option<(String, GroundOrderId)>,
    pub streams: u32,
    pub words: u32,
    pub repeated: u32,
    pub ordered_down: u32,
    pub rules: BTreeMap<RulesDigest, Rules>,
    pub last_rules: Vec<(Duration, RulesDigest)>,
    pub named: Vec<(Duration, Option<RulesDigest>)>,
    open: bool,
    ordered_on_this_stream: bool,
    old: Vec<Order>,
}

fn now() -> Duration {
    turmoil::sim_elapsed().unwrap_or_default()
}

impl Ledger {
    /// A new agent has its stored orders, and no stream.
    pub fn born(&mut self) {
        self.note(now());
        self.open = false;
        self.ordered_on_this_stream = false;
        self.alone_since = Some(now());
    }

    pub fn receives(&mut self, word: &FromUplink) {
        self.note(now());
        match word {
            FromUplink::Opened => {
                self.streams += 1;
                self.close();
                self.open = true;
            }
            FromUplink::Closed => self.close(),
            FromUplink::Order(order) => self.order(order),
            FromUplink::Rules(rules) => self.rules(rules),
            FromUplink::Plan(_) | FromUplink::RemoteId(_) | FromUplink::StandUp(_) | FromUplink::Kill(..) => {}
        }
        self.note(now());
    }

    fn close(&mut self) {
        if self.alone_since.is_none() {
            self.alone_since = Some(now());
        }
        self.open = false;
        self.ordered_on_this_stream = false;
    }

    fn order(&mut self, order: &Order) {
        let up = self.wants_flight();
        self.take(order);
        if !up && self.wants_flight() {
            self.lifted = Some(now());
        }
    }

    fn take(&mut self, order: &Order) {
        self.words += 1;
        if order.term().0 < self.highest_term {
            return;
        }
        self.highest_term = order.term().0;
        if let Some(since) = self.alone_since.take() {
            self.was_alone = Some((since, now()));
        }
        if let (Order::Assigned(new), Some(Order::Assigned(held))) = (order, &self.last_order)
            && (&new.uid, new.term) == (&held.uid, held.term)
            && new.generation < held.generation
        {
            return;
        }
        if let Order::Assigned(a) = order {
            self.served.insert(a.uid.0.clone());
            self.mark(a);
            if self.named.last().map(|(_, named)| named) != Some(&a.rules) {
                self.named.push((now(), a.rules.clone()));
            }
        }
        if self.last_order.as_ref() != Some(order) {
            self.old.extend(self.last_order.take());
            if self.old.len() > OLD {
                self.old.remove(0);
            }
        }
        self.last_order = Some(order.clone());
        self.ordered_on_this_stream = true;
    }

    /// With its vehicle disarmed on the ground, the ground order about a Drone that was taken from it ends.
    pub fn on_ground(&mut self) {
        if matches!(self.last_order, Some(Order::Unassigned { .. })) {
            self.kept = None;
        }
    }

    fn rules(&mut self, rules: &Rules) {
        if self.last_rules.last().map(|(_, digest)| digest) != Some(&rules.digest) {
            self.last_rules.push((now(), rules.digest.clone()));
        }
        self.rules.insert(rules.digest.clone(), rules.clone());
    }

    fn mark(&mut self, a: &Assignment) {
        if self.kept.as_ref().is_some_and(|(uid, _)| *uid != a.uid.0) {
            self.kept = None;
        }
        let ordered = matches!(
            a.desired,
            Desired::Grounded {
                why: GroundedWhy::Ordered
            }
        );
        match (a.ground_mark, &self.kept) {
            (Some(GroundMark::Given(id)), _) if ordered => {
                self.ordered_down += 1;
                self.kept = Some((a.uid.0.clone(), id));
            }
            (Some(GroundMark::Done(id)), Some((_, kept))) if *kept == id => self.kept = None,
            _ => {}
        }
    }

    /// Records what holds at `at`. Call it whenever time has passed.
    pub fn note(&mut self, at: Duration) {
        if self.wants_flight() && self.open && self.ordered_on_this_stream {
            self.last_up = Some(at);
        }
        if !self.wants_flight() {
            self.last_down = Some(at);
        }
    }

    pub fn wants_flight(&self) -> bool {
        let up = matches!(&self.last_order, Some(Order::Assigned(a)) if matches!(a.desired, Desired::Flying { .. }));
        up && self.kept.is_none()
    }

    pub fn serves_another_than(&self, uid: &str) -> bool {
        matches!(&self.last_order, Some(Order::Assigned(a)) if a.uid.0 != uid)
    }

    pub fn failsafe_after(&self) -> Duration {
        match &self.last_order {
            Some(Order::Assigned(a)) => a.failsafe.after,
            _ => Duration::ZERO,
        }
    }

    pub fn of_a_former_term(&mut self) -> Option<Order> {
        let up = self.wants_flight();
        let flies = |order: &Order| matches!(order, Order::Assigned(a) if matches!(a.desired, Desired::Flying { .. }));
        let old = self.old.iter().rev();
        let found = old
            .filter(|order| order.term().0 < self.highest_term)
            .find(|order| flies(order) != up)?;
        self.repeated += 1;
        Some(found.clone())
    }
}
