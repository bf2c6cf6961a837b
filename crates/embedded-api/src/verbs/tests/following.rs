//! Watches.

use super::world::{BOATS, EVENTS, THINGS, World, boat, labelled, thing, world, world_with};
use crate::store::Limits;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_watch_without_a_version_begins_with_what_is_there() {
    let world = world().await;
    world.post(THINGS, thing("b")).await.is(201);
    world.post(THINGS, thing("a")).await.is(201);
    for query in ["", "?resourceVersion=0", "?resourceVersion="] {
        let mut watch = world.watch(&format!("{THINGS}{query}")).await;
        watch.expect(&[("ADDED", "a"), ("ADDED", "b")]).await;
    }
    let mut watch = world.watch(THINGS).await;
    watch.expect(&[("ADDED", "a"), ("ADDED", "b")]).await;
    world
        .merge(&format!("{THINGS}/a"), json!({"spec": {"size": 2}}))
        .await
        .is(200);
    world.delete(&format!("{THINGS}/b")).await.is(200);
    watch.expect(&[("MODIFIED", "a"), ("DELETED", "b")]).await;
}

#[tokio::test]
async fn a_watch_from_a_version_sends_every_later_change() {
    let world = world().await;
    let since = world.post(THINGS, thing("a")).await.version();
    world.post(BOATS, boat("x")).await.is(201);
    world
        .merge(&format!("{THINGS}/a"), json!({"spec": {"size": 2}}))
        .await
        .is(200);
    let made = world.post(THINGS, thing("b")).await.version();
    world.delete(&format!("{THINGS}/a")).await.is(200);
    let mut watch = world.watch(&format!("{THINGS}?resourceVersion={since}")).await;
    watch.expect(&[("MODIFIED", "a"), ("ADDED", "b")]).await;
    let deleted = watch.next().await.expect("an event");
    assert_eq!(deleted["type"], "DELETED");
    let version = deleted["object"]["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|text| text.parse::<u64>().ok());
    assert_eq!(version, Some(made + 1), "a deletion has a version of its own");
}

#[tokio::test]
async fn an_object_that_stops_matching_is_reported_deleted_and_one_that_begins_to_added() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let since = world
        .post(THINGS, labelled("a", json!({"camera": "thermal"})))
        .await
        .version();
    let mut thermal = world
        .watch(&format!(
            "{THINGS}?resourceVersion={since}&labelSelector=camera%3Dthermal"
        ))
        .await;
    let mut wide = world
        .watch(&format!("{THINGS}?resourceVersion={since}&labelSelector=camera%3Dwide"))
        .await;
    let mut north = world
        .watch(&format!(
            "{THINGS}?resourceVersion={since}&fieldSelector=spec.place%3Dnorth"
        ))
        .await;
    world
        .merge(&path, json!({"metadata": {"labels": {"camera": "wide"}}}))
        .await
        .is(200);
    let left = world.merge(&path, json!({"spec": {"place": "north"}})).await.is(200);
    world
        .merge(&path, json!({"metadata": {"labels": {"camera": "thermal"}}}))
        .await
        .is(200);
    world.delete(&path).await.is(200);

    let gone = thermal.next().await.expect("an event");
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(
        gone["object"]["metadata"]["labels"]["camera"], "thermal",
        "as it was when it matched"
    );
    let version = gone["object"]["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|text| text.parse::<u64>().ok());
    assert!(
        version.is_some_and(|version| version > since && version < left.version()),
        "of the change: {gone}"
    );
    thermal.expect(&[("ADDED", "a"), ("DELETED", "a")]).await;
    wide.expect(&[("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")])
        .await;
    north
        .expect(&[("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")])
        .await;
}

#[tokio::test]
async fn a_watch_is_of_one_namespace_or_of_all() {
    let world = world().await;
    let elsewhere = "/apis/a.dev/v1/namespaces/kube-system/things";
    let mut here = world.watch(THINGS).await;
    let mut all = world.watch("/apis/a.dev/v1/things").await;
    world.post(elsewhere, thing("there")).await.is(201);
    world.post(THINGS, thing("here")).await.is(201);
    here.expect(&[("ADDED", "here")]).await;
    all.expect(&[("ADDED", "there"), ("ADDED", "here")]).await;
    let mut old = world.watch("/apis/a.dev/v1/watch/namespaces/default/things").await;
    old.expect(&[("ADDED", "here")]).await;
}

#[tokio::test]
async fn a_watch_may_begin_with_a_list_and_a_bookmark_at_its_end() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    let revision = world.api.revision().to_string();
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = world.watch(&format!("{THINGS}?{query}")).await;
    watch.expect(&[("ADDED", "a")]).await;
    let end = watch.next().await.expect("a bookmark");
    let expected = json!({"type": "BOOKMARK", "object": {
        "kind": "Thing", "apiVersion": "a.dev/v1",
        "metadata": {"resourceVersion": revision, "annotations": {"k8s.io/initial-events-end": "true"}},
    }});
    assert_eq!(end, expected);
    world.post(THINGS, thing("b")).await.is(201);
    watch.expect(&[("ADDED", "b")]).await;
}

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
async fn a_watch_may_send_tables_or_metadata_only() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    world.post(THINGS, thing("b")).await.is(201);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let mut tables = world.watch_as(THINGS, accept).await;
    let first = tables.next().await.expect("an event");
    assert_eq!(
        (&first["type"], &first["object"]["kind"]),
        (&json!("ADDED"), &json!("Table"))
    );
    assert!(first["object"]["columnDefinitions"].is_array());
    let second = tables.next().await.expect("an event");
    assert!(
        second["object"]["columnDefinitions"].is_null(),
        "columns are described once"
    );
    let accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
    let mut metadata = world.watch_as(THINGS, accept).await;
    let first = metadata.next().await.expect("an event");
    assert_eq!(first["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(first["object"].get("spec"), None);
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
async fn a_watcher_that_is_slow_to_read_what_is_there_loses_nothing_because_others_are_busy() {
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
