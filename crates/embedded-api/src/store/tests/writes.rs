//! Effects and refusals of writes.

use super::build::{DRONES, body, delete, drone, facts, number, open, put, put_if};
use crate::store::{Expect, Key, Options, Store, Write, WriteError};
use futures::future::join_all;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_written_object_can_be_read_with_its_revision() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let first = put(&store, &drone("a"), 1).await.expect("kept");
    let second = put(&store, &drone("b"), 2).await.expect("kept");
    assert_eq!((first.revision, second.revision, store.revision()), (1, 2, 2));
    let read = store.get(&drone("b")).expect("there");
    assert_eq!((number(&read), &*read.facts.uid), (2, "uid-b"));
}

fn nested(levels: usize) -> serde_json::Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[tokio::test]
async fn an_object_too_deep_to_be_read_again_is_refused_and_the_deepest_stored_is_read() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let write = |name: &str, levels: usize| {
        let key = drone(name);
        let mut value = body(&key, 1);
        value["spec"]["deep"] = nested(levels);
        store.write(Write::Put {
            key,
            expect: Expect::Absent,
            value,
        })
    };
    // The object, its spec, and the content of the spec.
    write("a", 118).await.expect("kept");
    for levels in [119, 125, 126, 200, 1000] {
        let refused = write("b", levels).await;
        assert!(
            matches!(refused, Err(WriteError::Malformed(_))),
            "{levels}: {refused:?}"
        );
    }
    store.close().await;
    let store = open(folder.path());
    assert_eq!(number(&store.get(&drone("a")).expect("there")), 1);
    assert_eq!(store.get(&drone("b")), None);
}

#[tokio::test]
async fn an_object_is_made_once() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    put(&store, &drone("a"), 1).await.expect("kept");
    let again = put_if(&store, &drone("a"), 2, Expect::Absent).await;
    assert!(matches!(again, Err(WriteError::Exists)), "{again:?}");
    assert_eq!(
        (store.revision(), number(&store.get(&drone("a")).expect("there"))),
        (1, 1)
    );
}

#[tokio::test]
async fn a_change_of_an_older_state_is_refused_with_the_present_one() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    put(&store, &drone("a"), 1).await.expect("kept");
    put(&store, &drone("a"), 2).await.expect("kept");
    match put_if(&store, &drone("a"), 3, Expect::Revision(1)).await {
        Err(WriteError::Changed { now: Some(now) }) => assert_eq!(number(&now), 2),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_gone_can_be_neither_changed_nor_deleted() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    put(&store, &drone("a"), 1).await.expect("kept");
    let gone = delete(&store, &drone("a")).await.expect("deleted");
    assert_eq!((gone.revision, number(&gone)), (2, 1));
    assert_eq!(store.get(&drone("a")), None);
    let put = put_if(&store, &drone("a"), 3, Expect::Revision(2)).await;
    assert!(matches!(put, Err(WriteError::Changed { now: None })), "{put:?}");
    let key = drone("a");
    let value = body(&key, 1);
    let deleted = store.write(Write::Delete { key, expect: 1, value }).await;
    assert!(matches!(deleted, Err(WriteError::Changed { now: None })), "{deleted:?}");
}

#[tokio::test]
async fn of_many_that_make_the_same_object_at_once_one_succeeds() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let (key, store) = (&drone("a"), &store);
    let tries = (0..100).map(|number| put_if(store, key, number, Expect::Absent));
    let outcomes = join_all(tries).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(store.revision(), 1);
}

#[tokio::test]
async fn a_chain_of_changes_fits_into_one_commit() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let (key, store) = (&drone("a"), &store);
    let changes = (0..100).map(|step| {
        let expect = if step == 0 {
            Expect::Absent
        } else {
            Expect::Revision(step)
        };
        put_if(store, key, step, expect)
    });
    for (outcome, step) in join_all(changes).await.into_iter().zip(0..) {
        assert_eq!(number(&outcome.expect("each meets the one before")), step);
    }
    assert_eq!(store.revision(), 100);
}

#[tokio::test]
async fn something_without_metadata_is_no_object() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let (key, expect) = (drone("a"), Expect::Absent);
    let value = json!({"spec": 1});
    let outcome = store.write(Write::Put { key, expect, value }).await;
    assert!(matches!(outcome, Err(WriteError::Malformed(_))), "{outcome:?}");
    assert_eq!(put(&store, &drone("b"), 1).await.expect("kept").revision, 1);
}

#[tokio::test]
async fn a_name_too_long_to_keep_is_refused_and_harms_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let outcome = put(&store, &drone(&"x".repeat(70_000)), 1).await;
    assert!(matches!(outcome, Err(WriteError::Malformed(_))), "{outcome:?}");
    assert_eq!(put(&store, &drone("b"), 1).await.expect("kept").revision, 1);
}

#[tokio::test]
async fn dependents_are_found_by_their_owner() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let owned = |name: &str, owners: &[&str], expect| {
        let owners: Vec<_> = owners.iter().map(|uid| json!({"uid": uid})).collect();
        store.write(Write::Put {
            key: drone(name),
            expect,
            value: json!({"metadata": {"ownerReferences": owners}, "spec": {"number": 0}}),
        })
    };
    let names = |uid| {
        let owned = store.owned_by(uid);
        owned
            .iter()
            .map(|object| object.key.name.to_string())
            .collect::<Vec<_>>()
    };
    owned("a", &["one"], Expect::Absent).await.expect("kept");
    owned("b", &["one", "two"], Expect::Absent).await.expect("kept");
    assert_eq!(
        (names("one"), names("two")),
        (vec!["a".to_owned(), "b".to_owned()], vec!["b".to_owned()])
    );
    owned("b", &["two"], Expect::Revision(2)).await.expect("kept");
    assert_eq!(
        (names("one"), names("two")),
        (vec!["a".to_owned()], vec!["b".to_owned()])
    );
    delete(&store, &drone("a")).await.expect("deleted");
    assert_eq!((names("one"), names("none")), (vec![], vec![]));
}

#[tokio::test]
async fn an_owner_is_blocked_until_the_last_that_blocks_it_is_gone_or_lets_it_go() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let owned = |name: &str, blocks: bool, expect| {
        let owner = json!({"uid": "one", "blockOwnerDeletion": blocks});
        store.write(Write::Put {
            key: drone(name),
            expect,
            value: json!({"metadata": {"ownerReferences": [owner]}, "spec": {"number": 0}}),
        })
    };
    owned("a", false, Expect::Absent).await.expect("kept");
    assert!(!store.is_blocked("one"));
    owned("b", true, Expect::Absent).await.expect("kept");
    owned("c", true, Expect::Absent).await.expect("kept");
    owned("b", true, Expect::Revision(2)).await.expect("kept");
    assert!(store.is_blocked("one") && !store.is_blocked("two"));
    delete(&store, &drone("b")).await.expect("deleted");
    assert!(store.is_blocked("one"));
    owned("c", false, Expect::Revision(3)).await.expect("kept");
    assert!(!store.is_blocked("one"));
    owned("c", true, Expect::Revision(6)).await.expect("kept");
    store.close().await;
    assert!(open(folder.path()).is_blocked("one"), "also after a restart");
}

#[tokio::test]
async fn objects_are_counted_by_kind_and_namespace() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    for (kind, namespace, name) in [
        (DRONES, "a", "1"),
        (DRONES, "a", "2"),
        (DRONES, "b", "1"),
        ("nodes", "", "n"),
    ] {
        put(&store, &Key::new(kind, namespace, name), 0).await.expect("kept");
    }
    assert_eq!(store.count(DRONES, None), 3);
    assert_eq!(store.count(DRONES, Some("a")), 2);
    assert_eq!(store.count("nodes", Some("")), 1);
    assert_eq!(store.count("swarms", None), 0);
    assert_eq!(store.stats().objects, 4);
}

#[tokio::test]
async fn a_closed_store_is_read_but_not_written() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    put(&store, &drone("a"), 1).await.expect("kept");
    store.clone().close().await;
    let outcome = put(&store, &drone("b"), 1).await;
    assert!(matches!(outcome, Err(WriteError::Closed)), "{outcome:?}");
    assert!(store.get(&drone("a")).is_some());
    store.close().await;
}

#[tokio::test]
async fn a_store_whose_thread_ended_in_a_panic_refuses_writes_and_ends_watches() {
    let folder = tempfile::tempdir().expect("folder");
    let facts = Arc::new(|_: &Key, _: &_| panic!("a fault of ours"));
    let store = Store::open(Options::new(folder.path()), facts).expect("opens");
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    let outcome = put(&store, &drone("a"), 1).await;
    assert!(matches!(outcome, Err(WriteError::Closed)), "{outcome:?}");
    let ended = tokio::time::timeout(Duration::from_secs(10), watch.next()).await;
    assert_eq!(ended.expect("in time"), Err(crate::store::Ended::Closed));
}

#[tokio::test]
async fn a_write_counts_when_its_caller_has_gone() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    let (key, none) = (drone("a"), Duration::ZERO);
    let _ = tokio::time::timeout(none, put_if(&store, &key, 1, Expect::Absent)).await;
    put(&store, &drone("b"), 2).await.expect("kept");
    let first = super::build::next(&mut watch).await;
    assert_eq!(number(&first.object), 1);
}

#[test]
fn facts_of_tests_read_labels() {
    let facts = facts()(&drone("a"), &json!({"metadata": {"labels": {"a": "b"}}}));
    assert_eq!(facts.label("a"), Some("b"));
    assert_eq!((facts.label("b"), facts.field("spec.nodeName")), (None, None));
}
