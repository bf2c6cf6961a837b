//! Ground orders in memory: given, in force, and not in the caches yet.

use super::object::Marked;
use crate::cluster::world::ground_order::InForce;
use model::ground::GroundOrderId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Orders known to have been given to this leader; that matters only until it knows the present.
const MAX_GIVEN_HERE: usize = 10_000;

/// An agent forgets one with its next order.
const MAX_RELEASED_ORDERS: usize = 1_000;

/// Orders to record, each with the call that gave it.
pub(super) type Unrecorded = Vec<(Call, Arc<InForce>)>;

/// By the uid of the Swarm or Drone.
#[derive(Debug, Default)]
pub struct Latch {
    orders: Mutex<HashMap<String, Latched>>,
    /// Orders in force that are not recorded yet.
    unrecorded: Mutex<Arc<Unrecorded>>,
    /// Names of the orders that were given to this leader.
    here: Mutex<HashSet<String>>,
    /// Names of orders that were released recently: agents may report their numbers for a moment more.
    ended: Mutex<VecDeque<String>>,
    /// Held while objects are being marked: one call at a time.
    pub(super) writing: tokio::sync::Mutex<()>,
    calls: AtomicU64,
}

/// An order in the latch. Only later calls may take it out: a release that was under way when the order was given does not undo it.
#[derive(Clone, Debug)]
struct Latched {
    call: Call,
    id: GroundOrderId,
    marked: Marked,
}

/// One ground order or release; later ones compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call(u64);

pub(super) fn new_id() -> GroundOrderId {
    GroundOrderId(rand::random_range(1..=u64::MAX))
}

impl Latch {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Latched>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self) -> Call {
        Call(self.calls.fetch_add(1, Ordering::SeqCst))
    }

    pub(super) fn put(&self, id: GroundOrderId, call: Call, marked: &[Marked]) {
        self.lock().extend(marked.iter().map(|m| {
            let marked = m.clone();
            (m.uid.clone(), Latched { call, id, marked })
        }));
    }

    /// `order` is in force; it is still to be recorded.
    pub(super) fn put_order(&self, call: Call, order: InForce) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if here.len() < MAX_GIVEN_HERE {
            here.insert(order.name().to_owned());
        }
        drop(here);
        let mut all = self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner);
        let others = all.iter().filter(|(_, other)| other.name() != order.name()).cloned();
        let mut now: Vec<_> = others.collect();
        now.push((call, Arc::new(order)));
        *all = Arc::new(now);
    }

    pub(super) fn was_given_here(&self, name: &str) -> bool {
        let here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.contains(name)
    }

    /// An order is recorded, or was released by `call`, which came after it.
    pub(super) fn remove_order(&self, call: Call, name: &str) {
        let mut all = self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner);
        let keeps = |(given, order): &&(Call, Arc<InForce>)| *given > call || order.name() != name;
        *all = Arc::new(all.iter().filter(keeps).cloned().collect());
    }

    /// `order` was released as a whole.
    pub(super) fn end(&self, order: &InForce) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.extend(order.id.map(|_| order.name().to_owned()));
        if ended.len() > MAX_RELEASED_ORDERS {
            ended.pop_front();
        }
    }

    /// Whether the order of this name was released as a whole, recently and by this leader.
    pub(super) fn has_ended(&self, name: &str) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.iter().any(|ended| ended == name)
    }

    /// Orders to record, oldest first.
    pub(super) fn unrecorded(&self) -> Arc<Unrecorded> {
        Arc::clone(&self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The result of `call` for the object with this uid is in the caches.
    pub(super) fn remove(&self, uid: &str, call: Call) {
        let mut orders = self.lock();
        if orders.get(uid).is_some_and(|latched| latched.call <= call) {
            orders.remove(uid);
        }
    }

    /// The order that `call` finds in force for the object with this uid.
    pub(super) fn before(&self, uid: &str, call: Call) -> Option<GroundOrderId> {
        let orders = self.lock();
        orders
            .get(uid)
            .filter(|latched| latched.call <= call)
            .map(|latched| latched.id)
    }

    pub(super) fn all(&self) -> Vec<(Marked, GroundOrderId)> {
        let orders = self.lock();
        orders.values().map(|l| (l.marked.clone(), l.id)).collect()
    }

    /// The order that was given to the object with this uid and is not in the caches yet.
    pub fn given(&self, uid: &str) -> Option<GroundOrderId> {
        self.lock().get(uid).map(|latched| latched.id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::Kind;
    use super::*;
    use crate::cluster::key::Key;

    fn swarm(uid: &str) -> Marked {
        Marked {
            uid: uid.into(),
            key: Key::new("north", "alpha"),
            kind: Kind::Swarm,
        }
    }

    #[test]
    fn a_release_that_was_under_way_does_not_undo_an_order_given_meanwhile() {
        let latch = Latch::default();
        let release = latch.begin();
        let id = new_id();
        latch.put(id, latch.begin(), &[swarm("s")]);
        assert_eq!(latch.before("s", release), None);
        latch.remove("s", release);
        assert_eq!(latch.given("s"), Some(id));
        let later = latch.begin();
        assert_eq!(latch.before("s", later), Some(id));
        latch.remove("s", later);
        assert_eq!(latch.given("s"), None);
    }

    #[test]
    fn the_orders_released_last_are_remembered() {
        let latch = Latch::default();
        let ends = |name: &str, id: &str| {
            let object = serde_json::json!({
                "apiVersion": "skein.dev/v1alpha1", "kind": "GroundOrder", "metadata": {"name": name},
                "spec": {"scope": "All", "id": id},
            });
            latch.end(&InForce::of(serde_json::from_value(object).unwrap()));
        };
        ends("of-a-person", "");
        for id in 0..=1_000 {
            ends(&format!("ground-{id}"), &id.to_string());
        }
        assert!(!latch.has_ended("ground-0"), "too long ago");
        assert!(latch.has_ended("ground-1") && latch.has_ended("ground-1000"));
        assert!(!latch.has_ended("of-a-person"), "no agent reports it");
    }

    #[test]
    fn the_newest_order_for_an_object_is_the_one_in_force() {
        let latch = Latch::default();
        let older = latch.begin();
        latch.put(GroundOrderId(1), older, &[swarm("s"), swarm("t")]);
        latch.put(GroundOrderId(2), latch.begin(), &[swarm("s")]);
        latch.remove("s", older);
        assert_eq!(
            (latch.given("s"), latch.given("t")),
            (Some(GroundOrderId(2)), Some(GroundOrderId(1)))
        );
        assert_eq!(latch.all().len(), 2);
    }
}
