//! Patches of every kind.

use super::world::{THINGS, thing, world};
use futures::future::join_all;
use serde_json::json;

#[tokio::test]
async fn a_patch_of_a_missing_object_is_refused() {
    let world = world().await;
    let response = world
        .merge(&format!("{THINGS}/a"), json!({"spec": {"size": 2}}))
        .await
        .is(404);
    assert_eq!(response.message(), r#"things.a.dev "a" not found"#);
}

#[tokio::test]
async fn patches_that_come_at_once_are_all_done() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, thing("a")).await.is(201);
    let patches = (0..20).map(|number| {
        let key = format!("l-{number}");
        world.merge(&path, json!({"metadata": {"labels": {key: "x"}}}))
    });
    for response in join_all(patches).await {
        response.is(200);
    }
    let labels = world.get(&path).await.body["metadata"]["labels"]
        .as_object()
        .map(|labels| labels.len());
    assert_eq!(labels, Some(20));
}

#[tokio::test]
async fn a_patch_cannot_change_name_kind_or_rules() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, thing("a")).await.is(201);
    let response = world.merge(&path, json!({"metadata": {"name": "b"}})).await.is(400);
    assert_eq!(
        response.message(),
        "the name of the object (b) does not match the name on the URL (a)"
    );
    let response = world.merge(&path, json!({"kind": "Boat"})).await.is(422);
    assert_eq!(
        response.message(),
        r#"Boat.a.dev "a" is invalid: kind: Invalid value: "Boat": must be Thing"#
    );
    let response = world.merge(&path, json!({"apiVersion": "v1"})).await.is(422);
    assert_eq!(
        response.message(),
        r#"Thing "a" is invalid: apiVersion: Invalid value: "v1": must be a.dev/v1"#
    );
    world.merge(&path, json!({"spec": {"colour": "pink"}})).await.is(422);
    world.merge(&path, json!({"spec": null})).await.is(422);
}
