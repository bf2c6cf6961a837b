//! The store after a restart.

use super::build::{DRONES, delete, drone, newest, next, number, open, open_with, put};
use crate::store::{Key, Limits, Page, Store};
use std::path::Path;
use std::time::Duration;

async fn reopened(store: Store, folder: &Path) -> Store {
    store.close().await;
    open(folder)
}

#[tokio::test]
async fn objects_and_revisions_survive_a_restart() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    put(&store, &drone("a"), 1).await.expect("kept");
    put(&store, &drone("a"), 2).await.expect("kept");
    put(&store, &Key::new("nodes", "", "n"), 3).await.expect("kept");
    let before = store.list(DRONES, None, &Page::default(), |_| true);
    let store = reopened(store, folder.path()).await;
    assert_eq!(store.list(DRONES, None, &Page::default(), |_| true), before);
    assert_eq!((store.revision(), store.count("nodes", None)), (3, 1));
    assert_eq!(put(&store, &drone("b"), 4).await.expect("kept").revision, 4);
}

#[tokio::test]
async fn a_watch_resumes_after_a_restart_where_it_was() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    put(&store, &drone("a"), 1).await.expect("kept");
    put(&store, &drone("a"), 2).await.expect("kept");
    delete(&store, &drone("a")).await.expect("deleted");
    let store = reopened(store, folder.path()).await;
    let mut watch = store.watch(DRONES, 1).expect("still known");
    let events = [next(&mut watch).await, next(&mut watch).await];
    assert_eq!(
        events.each_ref().map(|event| (event.revision, event.deleted)),
        [(2, false), (3, true)]
    );
    let before = events
        .each_ref()
        .map(|event| event.previous.as_ref().map(|object| number(object)));
    assert_eq!(before, [Some(1), Some(2)]);
}

#[tokio::test]
async fn the_revision_of_a_deleted_newest_object_is_not_given_again() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open_with(folder.path(), newest(0));
    put(&store, &drone("a"), 1).await.expect("kept");
    delete(&store, &drone("a")).await.expect("deleted");
    store.close().await;
    for _ in 0..3 {
        let store = open_with(folder.path(), newest(0));
        let stats = store.stats();
        assert_eq!(
            (stats.revision, stats.floor, stats.objects, stats.history_events),
            (2, 2, 0, 0)
        );
        store.close().await;
    }
    let store = open(folder.path());
    assert_eq!(put(&store, &drone("a"), 1).await.expect("kept").revision, 3);
}

#[tokio::test]
async fn the_floor_stays_where_it_was() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open_with(folder.path(), newest(3));
    for number in 0..50 {
        put(&store, &drone("a"), number).await.expect("kept");
    }
    let floor = store.floor();
    assert!(floor >= 40, "{floor}");
    let store = reopened(store, folder.path()).await;
    assert!(store.floor() >= floor, "{} after {floor}", store.floor());
    assert_eq!(number(&store.get(&drone("a")).expect("there")), 49);
}

#[tokio::test]
async fn compaction_keeps_the_file_from_growing() {
    let folder = tempfile::tempdir().expect("folder");
    let limits = Limits {
        age: Duration::ZERO,
        events: 10,
        bytes: usize::MAX,
    };
    let store = open_with(folder.path(), limits);
    let size = || {
        std::fs::metadata(folder.path().join("objects.redb"))
            .expect("there")
            .len()
    };
    for number in 0..100 {
        put(&store, &drone("a"), number).await.expect("kept");
    }
    let after_hundred = size();
    for number in 0..2000 {
        put(&store, &drone("a"), number).await.expect("kept");
    }
    assert!(size() <= 2 * after_hundred, "{} after {after_hundred}", size());
}

#[tokio::test]
async fn dropping_the_last_handle_frees_the_folder() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let other = store.clone();
    put(&store, &drone("a"), 1).await.expect("kept");
    drop(store);
    put(&other, &drone("a"), 2).await.expect("a clone goes on");
    drop(other);
    assert_eq!(number(&open(folder.path()).get(&drone("a")).expect("there")), 2);
}

#[tokio::test]
async fn an_object_older_than_the_floor_does_not_turn_the_revision_back() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open_with(folder.path(), newest(0));
    put(&store, &drone("old"), 1).await.expect("kept");
    put(&store, &drone("new"), 1).await.expect("kept");
    delete(&store, &drone("new")).await.expect("deleted");
    store.close().await;
    for _ in 0..3 {
        let store = open_with(folder.path(), newest(0));
        assert_eq!((store.revision(), store.stats().objects), (3, 1));
        store.close().await;
    }
}
