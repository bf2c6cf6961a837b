//! One writer: changes objects that no other writer changes, one request at a time, and records the answers.

use crate::change::{Change, FINALIZER, State};
use crate::record::Applied;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

const NAMES: usize = 12;
/// Makes objects large, so that the history is compacted meanwhile.
const PADDING: usize = 4096;

#[derive(Clone)]
pub(crate) struct Pace {
    acknowledged: watch::Sender<u64>,
    highest: Arc<AtomicU64>,
}

impl Pace {
    pub(crate) fn new(revision: u64) -> Self {
        Self {
            acknowledged: watch::Sender::new(0),
            highest: Arc::new(AtomicU64::new(revision)),
        }
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        *self.acknowledged.borrow()
    }

    pub(crate) fn highest(&self) -> u64 {
        self.highest.load(Ordering::SeqCst)
    }

    pub(crate) fn saw(&self, revision: u64) {
        self.highest.fetch_max(revision, Ordering::SeqCst);
    }

    pub(crate) async fn reaches(&self, count: u64) {
        let mut acknowledged = self.acknowledged.subscribe();
        acknowledged.wait_for(|now| *now >= count).await.unwrap();
    }
}

pub(crate) struct Writer {
    id: usize,
    random: SmallRng,
    objects: BTreeMap<String, State>,
    applied: Vec<Applied>,
    under_way: Option<(String, Change)>,
    count: u64,
}

impl Writer {
    pub(crate) fn new(id: usize, seed: u64) -> Self {
        Self {
            id,
            random: SmallRng::seed_from_u64(seed),
            objects: BTreeMap::new(),
            applied: Vec::new(),
            under_way: None,
            count: 0,
        }
    }

    pub(crate) fn objects(&self) -> BTreeMap<String, State> {
        self.objects.clone()
    }

    pub(crate) fn take_applied(&mut self) -> Vec<Applied> {
        std::mem::take(&mut self.applied)
    }

    pub(crate) async fn write(mut self, drones: Api<DynamicObject>, pace: Pace) -> Self {
        loop {
            let name = format!("drone-{}-{}", self.id, self.random.random_range(0..NAMES));
            let change = self.choose(&name);
            self.under_way = Some((name.clone(), change));
            let before = pace.highest();
            let Some(now) = send(&drones, &name, change, self.objects.get(&name)).await else {
                return self;
            };
            self.under_way = None;
            if let Some(now) = &now {
                assert!(
                    now.revision > before,
                    "{name}: {change:?} got {} after {before}",
                    now.revision
                );
                pace.saw(now.revision);
            }
            assert!(
                change.made(self.objects.get(&name), now.as_ref()),
                "{name}: {change:?} of {:?} was answered with {now:?}",
                self.objects.get(&name),
            );
            self.take(name, now);
            pace.acknowledged.send_modify(|count| *count += 1);
        }
    }

    fn choose(&mut self, name: &str) -> Change {
        self.count += 1;
        let count = self.count;
        let Some(state) = self.objects.get(name) else {
            return Change::Create {
                count,
                held: self.random.random_bool(0.3),
            };
        };
        match self.random.random_range(0..10) {
            0..=1 if state.facts.held && state.facts.deleting => Change::Release,
            0..=1 if !state.facts.deleting => Change::Delete,
            2 if state.facts.held => Change::Release,
            3..=5 => Change::PatchSpec(count),
            6..=7 => Change::PatchStatus(count),
            _ => Change::Replace(count),
        }
    }

    fn take(&mut self, name: String, now: Option<State>) {
        let before = match &now {
            Some(state) => self.objects.insert(name, state.clone()),
            None => self.objects.remove(&name),
        };
        self.applied.extend(match now {
            Some(state) => Some(Applied::State(state)),
            None => before.map(|state| Applied::Gone { uid: state.uid }),
        });
    }

    /// Returns whether a change was in progress at the restart, made or not; any other state is detected by the caller.
    pub(crate) fn resolve(&mut self, found: &BTreeMap<String, State>) -> bool {
        let Some((name, change)) = self.under_way.take() else {
            return false;
        };
        let now = found.get(&name);
        if change.made(self.objects.get(&name), now) {
            self.take(name, now.cloned());
        }
        true
    }
}

/// Outer `None`: no answer. Inner `None`: the object is deleted.
async fn send(
    drones: &Api<DynamicObject>,
    name: &str,
    change: Change,
    before: Option<&State>,
) -> Option<Option<State>> {
    let (posting, patching) = (PostParams::default(), PatchParams::default());
    let patch = Patch::Merge(change.patch());
    let sent = match change {
        Change::Create { .. } | Change::Replace(_) => {
            let object = body(name, change, before);
            match change {
                Change::Replace(_) => drones.replace(name, &posting, &object).await,
                _ => drones.create(&posting, &object).await,
            }
        }
        Change::PatchStatus(_) => drones.patch_status(name, &patching, &patch).await,
        Change::PatchSpec(_) | Change::Release => drones.patch(name, &patching, &patch).await,
        Change::Delete => match drones.delete(name, &DeleteParams::default()).await {
            Ok(answer) => match answer.left() {
                Some(object) => Ok(object),
                None => return Some(None),
            },
            Err(error) => Err(error),
        },
    };
    match sent {
        Ok(object) if before.is_some_and(|state| change.after(Some(state)).is_none()) => {
            assert_eq!(object.metadata.uid, before.map(|state| state.uid.clone()));
            Some(None)
        }
        Ok(object) => Some(Some(State::from(&object))),
        Err(kube::Error::Api(status)) => panic!("{name}: {change:?} of {before:?} refused: {status:?}"),
        Err(_) => None,
    }
}

fn body(name: &str, change: Change, before: Option<&State>) -> DynamicObject {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.dev", "v1", "Drone"));
    let mut object = DynamicObject::new(name, &kind);
    let facts = change.after(before).unwrap();
    object.metadata.resource_version = before.map(|state| state.revision.to_string());
    object.metadata.finalizers = facts.held.then(|| vec![FINALIZER.to_owned()]);
    object.data = json!({"spec": {"count": facts.spec, "padding": "x".repeat(PADDING)}});
    object
}
