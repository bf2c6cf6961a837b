//! The events of a watch.

use super::build::{DRONES, delete, drone, newest, next, number, open, open_with, put};
use crate::store::{Compacted, Ended, Key};
use std::time::Duration;

#[tokio::test]
async fn a_watch_returns_every_change_in_order_with_the_state_before() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    put(&store, &drone("a"), 1).await.expect("kept");
    put(&store, &drone("a"), 2).await.expect("kept");
    delete(&store, &drone("a")).await.expect("deleted");
    let events = [next(&mut watch).await, next(&mut watch).await, next(&mut watch).await];
    let before = events
        .each_ref()
        .map(|event| event.previous.as_ref().map(|object| number(object)));
    assert_eq!(before, [None, Some(1), Some(2)]);
    assert_eq!(events.each_ref().map(|event| number(&event.object)), [1, 2, 2]);
    assert_eq!(
        events.each_ref().map(|event| (event.revision, event.deleted)),
        [(1, false), (2, false), (3, true)]
    );
}

#[tokio::test]
async fn a_watch_hears_of_its_own_kind_only() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    put(&store, &Key::new("nodes", "", "n"), 1).await.expect("kept");
    put(&store, &drone("a"), 1).await.expect("kept");
    assert_eq!(next(&mut watch).await.revision, 2);
    assert_eq!(watch.take(), Ok(None));
}

#[tokio::test]
async fn a_watch_that_is_not_waited_for_to_the_end_misses_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    for number in 0..100 {
        let waited = tokio::time::timeout(Duration::ZERO, watch.next()).await;
        assert!(waited.is_err(), "{waited:?}");
        put(&store, &drone("a"), number).await.expect("kept");
        assert_eq!(next(&mut watch).await.revision, number + 1);
    }
}

#[tokio::test]
async fn a_thousand_waiting_watches_all_hear_of_a_change() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let watch = || store.watch(DRONES, 0).expect("from the start");
    let waiting: Vec<_> = (0..1000)
        .map(|_| watch())
        .map(|mut watch| tokio::spawn(async move { next(&mut watch).await.revision }))
        .collect();
    put(&store, &drone("a"), 1).await.expect("kept");
    for watcher in waiting {
        assert_eq!(watcher.await.expect("heard"), 1);
    }
}

#[tokio::test]
async fn a_watch_reports_the_revision_up_to_which_it_returned_everything() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    put(&store, &Key::new("nodes", "", "n"), 1).await.expect("kept");
    assert_eq!(watch.progress(), 1);
    put(&store, &drone("a"), 1).await.expect("kept");
    put(&store, &drone("b"), 1).await.expect("kept");
    put(&store, &Key::new("nodes", "", "n"), 2).await.expect("kept");
    assert_eq!(watch.progress(), 1, "not beyond what it returned");
    next(&mut watch).await;
    assert_eq!(watch.progress(), 2);
    next(&mut watch).await;
    assert_eq!(watch.progress(), 4);
}

#[tokio::test]
async fn a_watch_that_is_not_read_fails_as_lagged() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open_with(folder.path(), newest(5));
    let mut slow = store.watch(DRONES, 0).expect("from the start");
    put(&store, &drone("a"), 0).await.expect("kept");
    next(&mut slow).await;
    for number in 0..20 {
        put(&store, &drone("a"), number).await.expect("kept");
    }
    assert_eq!(slow.next().await, Err(Ended::Lagged { after: 1 }));
    assert_eq!(slow.progress(), 1);
    let refused = store.watch(DRONES, 1).err();
    let floor = store.floor();
    assert_eq!(refused, Some(Compacted { requested: 1, floor }));
}

#[tokio::test]
async fn a_watch_of_a_quiet_kind_does_not_lag_behind_a_busy_one() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open_with(folder.path(), newest(5));
    let mut quiet = store.watch("swarms", 0).expect("from the start");
    for number in 0..50 {
        put(&store, &drone("a"), number).await.expect("kept");
    }
    let swarm = Key::new("swarms", "default", "s");
    put(&store, &swarm, 1).await.expect("kept");
    assert_eq!(next(&mut quiet).await.revision, 51);
}

#[tokio::test]
async fn a_watch_ends_with_the_store_after_the_last_change() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    put(&store, &drone("a"), 1).await.expect("kept");
    store.close().await;
    assert_eq!(next(&mut watch).await.revision, 1);
    assert_eq!(watch.next().await, Err(Ended::Closed));
}

#[tokio::test]
async fn closing_wakes_a_watch_that_waits() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 0).expect("from the start");
    let waiting = tokio::spawn(async move { watch.next().await });
    store.close().await;
    let ended = tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .expect("in time");
    assert_eq!(ended.expect("no panic"), Err(Ended::Closed));
}

#[tokio::test]
async fn a_watch_from_a_future_revision_waits_for_what_follows_it() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(folder.path());
    let mut watch = store.watch(DRONES, 2).expect("from later");
    for number in 0..3 {
        put(&store, &drone("a"), number).await.expect("kept");
    }
    assert_eq!(next(&mut watch).await.revision, 3);
}
