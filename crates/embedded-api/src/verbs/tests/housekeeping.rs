//! Deletion of Events, and too many requests.

use super::world::{EVENTS, THINGS, thing, world_with};
use crate::verbs::events_ttl::Limits;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn of_too_many_events_the_first_go() {
    let limits = Limits {
        count: 8,
        sweep: Duration::from_secs(3600),
        ..Limits::default()
    };
    let world = world_with(|options| options.events = limits).await;
    for number in 0..20 {
        let event = json!({"metadata": {"name": format!("e-{number:02}")}, "involvedObject": {"namespace": "default"}});
        world.post(EVENTS, event).await.is(201);
    }
    let few = |response: &super::world::Response| response.names().len() <= 9;
    let left = world.until(EVENTS, "the first to go", few).await;
    assert!(left.names().contains(&"e-19"), "{:?}", left.names());
    assert!(!left.names().contains(&"e-00"), "{:?}", left.names());
}

#[tokio::test]
async fn old_events_go() {
    let limits = Limits {
        age: Duration::ZERO,
        sweep: Duration::from_millis(10),
        ..Limits::default()
    };
    let world = world_with(|options| options.events = limits).await;
    world.post(THINGS, thing("a")).await.is(201);
    world
        .post(
            EVENTS,
            json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}),
        )
        .await
        .is(201);
    world.until_gone(&format!("{EVENTS}/e")).await;
    world.get(&format!("{THINGS}/a")).await.is(200);
}

#[tokio::test]
async fn requests_take_turns_when_there_are_many() {
    let world = world_with(|options| options.in_flight = 1).await;
    let made = (0..20).map(|number| {
        let world = &world;
        async move { world.post(THINGS, thing(&format!("t-{number}"))).await.is(201) }
    });
    assert_eq!(futures::future::join_all(made).await.len(), 20);
}

#[tokio::test]
async fn writers_that_wait_for_the_disk_keep_nobody_from_reading() {
    let world = world_with(|options| options.in_flight = 8).await;
    world.post(THINGS, thing("a")).await.is(201);
    // All write permits are taken, and not released.
    let writing = world.api.writes.acquire_many(4).await.expect("all of them");
    tokio::time::pause();
    let refused = futures::future::join_all((0..10).map(|number| {
        let world = &world;
        async move { world.post(THINGS, thing(&format!("t-{number}"))).await.code }
    }));
    let reading = async { world.get(&format!("{THINGS}/a")).await.code };
    let (refused, read) = tokio::join!(refused, reading);
    assert_eq!((refused, read), (vec![429; 10], 200));
    drop(writing);
    // The store's thread has a clock of its own.
    tokio::time::resume();
    world.post(THINGS, thing("b")).await.is(201);
}
