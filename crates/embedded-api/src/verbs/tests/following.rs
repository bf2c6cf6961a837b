//! Watches.

use super::world::{BOATS, EVENTS, THINGS, World, boat, thing, world, world_with};
use crate::store::Limits;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_watch_may_leave_out_what_is_there() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    let mut watch = world
        .watch(&format!(
            "{THINGS}?sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
        ))
        .await;
    // The watch has begun when it has reported this object; it is created again until then.
    let mut number = 0;
    let event = loop {
        number += 1;
        world.post(THINGS, thing(&format!("b-{number}"))).await.is(201);
        if let Ok(event) = tokio::time::timeout(Duration::from_millis(50), watch.next()).await {
            break event.expect("an event");
        }
    };
    let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
    assert!(name.starts_with("b-"), "{event}");
}

#[tokio::test]
async fn a_version_that_is_compacted_or_of_another_server_is_gone() {
    let small = Limits {
        age: Duration::ZERO,
        events: 1,
        ..Limits::default()
    };
    let world = world_with(|options| options.history = small).await;
    let since = world.post(THINGS, thing("a")).await.version();
    for size in 2..60 {
        world
            .merge(&format!("{THINGS}/a"), json!({"spec": {"size": size}}))
            .await
            .is(200);
    }
    for requested in [since, world.api.revision() + 1000] {
        let mut watch = world.watch(&format!("{THINGS}?resourceVersion={requested}")).await;
        let error = watch.next().await.expect("an error");
        assert_eq!(
            (&error["type"], &error["object"]["code"]),
            (&json!("ERROR"), &json!(410))
        );
        assert_eq!(error["object"]["reason"], "Expired");
        let message = error["object"]["message"].as_str().unwrap_or_default();
        assert!(
            message.starts_with(&format!("too old resource version: {requested} (")),
            "{message}"
        );
        assert_eq!(watch.next().await, None);
    }
    let response = world
        .get(&format!("{THINGS}?resourceVersion={since}&resourceVersionMatch=Exact"))
        .await
        .is(410);
    assert!(
        response
            .message()
            .starts_with("The resourceVersion for the provided list is too old."),
        "{}",
        response.message()
    );
}

#[tokio::test]
async fn a_page_of_a_compacted_revision_may_be_continued_at_the_newest() {
    let small = Limits {
        age: Duration::ZERO,
        events: 1,
        ..Limits::default()
    };
    let world = world_with(|options| options.history = small).await;
    for name in ["a", "b", "c"] {
        world.post(THINGS, thing(name)).await.is(201);
    }
    let first = world.get(&format!("{THINGS}?limit=1")).await.is(200).body;
    for size in 2..60 {
        world
            .merge(&format!("{THINGS}/a"), json!({"spec": {"size": size}}))
            .await
            .is(200);
    }
    let token = |list: &serde_json::Value| list["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
    let response = world
        .get(&format!("{THINGS}?limit=1&continue={}", token(&first)))
        .await
        .is(410);
    assert!(
        response
            .message()
            .starts_with("The provided continue parameter is too old to display a consistent list result.")
    );
    let rest = world
        .get(&format!("{THINGS}?continue={}", token(&response.body)))
        .await
        .is(200);
    assert_eq!(rest.names(), ["b", "c"]);
}

#[tokio::test]
async fn a_watch_ends_at_its_timeout_with_a_bookmark() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    tokio::time::pause();
    let mut plain = world.watch(&format!("{THINGS}?timeoutSeconds=1")).await;
    plain.expect(&[("ADDED", "a")]).await;
    assert_eq!(plain.next().await, None);

    let mut marked = world
        .watch(&format!("{THINGS}?timeoutSeconds=15&allowWatchBookmarks=true"))
        .await;
    marked.expect(&[("ADDED", "a")]).await;
    let bookmark = marked.next().await.expect("a bookmark");
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(
        bookmark["object"]["metadata"]["resourceVersion"],
        world.api.revision().to_string()
    );
    assert_eq!(marked.next().await, None);
}

#[tokio::test]
async fn events_are_watched_through_either_api() {
    let world = world().await;
    let mut newer = world.watch("/apis/events.k8s.io/v1/namespaces/default/events").await;
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "message": "low"});
    world.post(EVENTS, event).await.is(201);
    let event = newer.next().await.expect("an event");
    assert_eq!(
        (&event["object"]["apiVersion"], &event["object"]["note"]),
        (&json!("events.k8s.io/v1"), &json!("low"))
    );
}

#[tokio::test]
async fn watches_end_when_the_api_does() {
    let world = world().await;
    let mut watch = world.watch(THINGS).await;
    let World { api, .. } = world;
    api.close().await;
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn a_watcher_that_does_not_read_keeps_nobody_waiting() {
    let world = world().await;
    let _idle = world.watch(THINGS).await;
    for number in 0..300 {
        world.post(THINGS, thing(&format!("t-{number}"))).await.is(201);
    }
    let mut other = world
        .watch(&format!("{THINGS}?fieldSelector=metadata.name%3Dt-299"))
        .await;
    other.expect(&[("ADDED", "t-299")]).await;
}

#[tokio::test]
async fn a_watcher_that_takes_nothing_for_long_loses_its_watch() {
    let world = world().await;
    for number in 0..100 {
        world.post(THINGS, thing(&format!("t-{number}"))).await.is(201);
    }
    let mut idle = world.watch(THINGS).await;
    idle.until_full().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    idle.until_given_up().await;
    let mut received = 0;
    while idle.next().await.is_some() {
        received += 1;
    }
    assert!((64..100).contains(&received), "{received} events");
}

#[tokio::test]
async fn a_watch_may_be_requested_without_an_end() {
    let world = world().await;
    let mut watch = world.watch(&format!("{THINGS}?timeoutSeconds={}", i64::MAX)).await;
    world.post(THINGS, thing("a")).await.is(201);
    watch.expect(&[("ADDED", "a")]).await;
}

#[tokio::test]
async fn a_watcher_slow_to_read_what_is_there_loses_nothing_because_others_are_busy() {
    let small = Limits {
        age: Duration::ZERO,
        events: 1,
        ..Limits::default()
    };
    let world = world_with(|options| options.history = small).await;
    for number in 0..100 {
        world.post(THINGS, thing(&format!("t-{number:02}"))).await.is(201);
    }
    let mut slow = world.watch(THINGS).await;
    slow.until_full().await;
    for number in 0..20 {
        world.post(BOATS, boat(&format!("b-{number}"))).await.is(201);
    }
    for number in 0..100 {
        slow.expect(&[("ADDED", &format!("t-{number:02}"))]).await;
    }
    world.post(THINGS, thing("u")).await.is(201);
    slow.expect(&[("ADDED", "u")]).await;
}
