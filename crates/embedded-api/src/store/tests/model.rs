//! The store against a model of it: a list of all changes.

use super::build::{DRONES, body, facts, newest, number};
use crate::store::{Ended, Expect, Key, Limits, Options, Page, Store, Write, WriteError};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;

#[derive(Clone, Copy, Debug)]
enum Step {
    Put { which: usize, stale: bool },
    Delete { which: usize, stale: bool },
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..6_usize, prop::bool::weighted(0.1)).prop_map(|(which, stale)| Step::Put { which, stale }),
        4 => (0..6_usize, prop::bool::weighted(0.1)).prop_map(|(which, stale)| Step::Delete { which, stale }),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..60)
}

fn limits() -> impl Strategy<Value = Limits> {
    let bytes = |bytes| Limits {
        age: Duration::from_secs(600),
        events: 1000,
        bytes,
    };
    prop_oneof![
        Just(Limits::default()),
        (0..20_usize).prop_map(newest),
        (0..20_000_usize).prop_map(bytes),
    ]
}

fn key(which: usize) -> Key {
    let kind = [DRONES, "swarms"][which % 2];
    Key::new(kind, ["a", "b"][which / 2 % 2], ["x", "y"][which / 4 % 2])
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Happened {
    key: Key,
    number: u64,
    deleted: bool,
}

#[derive(Default)]
struct Model {
    happened: Vec<Happened>,
}

impl Model {
    fn revision(&self) -> u64 {
        self.happened.len() as u64
    }

    fn at(&self, revision: u64) -> BTreeMap<Key, (u64, u64)> {
        let mut state = BTreeMap::new();
        for (happened, revision) in self.happened.iter().zip(1..=revision) {
            if happened.deleted {
                state.remove(&happened.key);
            } else {
                state.insert(happened.key.clone(), (revision, happened.number));
            }
        }
        state
    }
}

async fn step(store: &Store, model: &mut Model, which: usize, stale: bool, deleted: bool) {
    let key = key(which);
    let now = model.at(model.revision()).get(&key).copied();
    let expected = now.map_or(0, |(revision, _)| revision) + u64::from(stale) * 1000;
    let number = if deleted {
        now.map_or(0, |(_, number)| number)
    } else {
        model.revision() + 100
    };
    let value = body(&key, number);
    let write = match (deleted, now.is_some() || stale) {
        (true, _) => Write::Delete {
            key: key.clone(),
            expect: expected,
            value,
        },
        (false, true) => Write::Put {
            key: key.clone(),
            expect: Expect::Revision(expected),
            value,
        },
        (false, false) => Write::Put {
            key: key.clone(),
            expect: Expect::Absent,
            value,
        },
    };
    let may = !stale && (!deleted || now.is_some());
    match store.write(write).await {
        Ok(object) => {
            assert!(may);
            model.happened.push(Happened { key, number, deleted });
            assert_eq!(
                (object.revision, super::build::number(&object)),
                (model.revision(), number)
            );
        }
        Err(WriteError::Changed { now: reported }) => {
            assert!(!may);
            assert_eq!(
                reported.map(|object| object.revision),
                now.map(|(revision, _)| revision)
            );
        }
        Err(error) => panic!("{error}"),
    }
}

/// History expires by age: a revision may have gone since the floor was read.
async fn check(store: &Store, model: &Model) {
    assert_eq!(store.revision(), model.revision());
    for revision in store.floor()..=model.revision() {
        let expected = model.at(revision);
        for kind in [DRONES, "swarms"] {
            let of_kind = expected.iter().filter(|(key, _)| &*key.resource == kind);
            let of_kind: Vec<_> = of_kind.map(|(key, state)| (key.clone(), *state)).collect();
            match paged(store, kind, revision) {
                Some(found) => assert_eq!(found, of_kind, "{kind} at {revision}"),
                None => assert!(store.floor() > revision, "{kind} at {revision}"),
            }
            watched(store, model, kind, revision).await;
        }
    }
    for (key, state) in model.at(model.revision()) {
        assert_eq!(
            store.get(&key).map(|object| (object.revision, number(&object))),
            Some(state)
        );
    }
}

fn paged(store: &Store, kind: &str, revision: u64) -> Option<Vec<(Key, (u64, u64))>> {
    let mut found = Vec::new();
    let mut page = Page {
        at: Some(revision),
        limit: Some(1),
        after: None,
    };
    loop {
        let listed = store.list(kind, None, &page, |_| true).ok()?;
        assert_eq!(listed.revision, revision);
        let objects = listed.objects.iter();
        found.extend(objects.map(|object| (object.key.clone(), (object.revision, number(object)))));
        page.after = listed.more;
        if page.after.is_none() {
            return Some(found);
        }
    }
}

async fn watched(store: &Store, model: &Model, kind: &str, since: u64) {
    let Ok(mut watch) = store.watch(kind, since) else {
        assert!(store.floor() > since, "{kind} since {since}");
        return;
    };
    for (happened, revision) in model.happened.iter().zip(1..) {
        if revision <= since || &*happened.key.resource != kind {
            continue;
        }
        let event = match timeout(Duration::from_secs(10), watch.next()).await {
            Ok(Err(Ended::Lagged { .. })) if store.floor() > since => return,
            next => next.expect("an event within ten seconds").expect("the watch goes on"),
        };
        let expected = Happened {
            key: event.object.key.clone(),
            number: number(&event.object),
            deleted: event.deleted,
        };
        assert_eq!((event.revision, &expected), (revision, happened));
        let before = model.at(revision - 1).get(&happened.key).copied();
        let previous = event.previous.as_ref().map(|object| (object.revision, number(object)));
        assert_eq!(previous, before);
    }
    assert_eq!(watch.take(), Ok(None));
    assert_eq!(watch.progress(), model.revision());
}

fn open(folder: &Path, history: Limits) -> Store {
    let options = Options {
        history,
        ..Options::new(folder)
    };
    Store::open(options, facts()).expect("opens")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_what_happened(steps in steps(), limits in limits()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let folder = tempfile::tempdir().expect("folder");
        runtime.block_on(async {
            let mut model = Model::default();
            let mut store = open(folder.path(), limits);
            let mut floor = 0;
            for taken in steps {
                match taken {
                    Step::Put { which, stale } => step(&store, &mut model, which, stale, false).await,
                    Step::Delete { which, stale } => step(&store, &mut model, which, stale, true).await,
                    Step::Restart => {
                        check(&store, &model).await;
                        store.close().await;
                        store = open(folder.path(), limits);
                    }
                }
                assert!(store.floor() >= floor, "the floor sank from {floor} to {}", store.floor());
                floor = store.floor();
            }
            check(&store, &model).await;
            store.close().await;
            check(&open(folder.path(), Limits::default()), &model).await;
        });
    }
}
