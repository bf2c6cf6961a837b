//! Replacing objects, their status and their scale.

use super::world::{BOATS, THINGS, boat, thing, world};
use serde_json::json;

#[tokio::test]
async fn an_object_without_a_status_subresource_takes_status_in_the_main_object() {
    let world = world().await;
    let mut with = boat("b");
    with["status"] = json!({"phase": "Sunk"});
    let made = world.post(BOATS, with).await.is(201);
    assert_eq!(made.body["status"], json!({"phase": "Sunk"}));
    world.get(&format!("{BOATS}/b/status")).await.is(404);
}

#[tokio::test]
async fn a_thing_without_a_number_gets_one_through_its_scale() {
    let world = world().await;
    let path = format!("{THINGS}/a/scale");
    world.post(THINGS, thing("a")).await.is(201);
    let unread = world.get(&path).await.is(500);
    assert_eq!(
        (unread.message(), &unread.body["details"]["causes"][0]["message"]),
        (
            r#"Internal error occurred: the spec replicas field ".spec.replicas" does not exist"#,
            &json!(r#"the spec replicas field ".spec.replicas" does not exist"#)
        )
    );
    for patch in [json!({}), json!({"metadata": {"annotations": {"a": "b"}}})] {
        let empty = world.merge(&path, patch).await.is(400);
        assert_eq!(
            empty.message(),
            r#"the spec replicas field ".spec.replicas" cannot be empty"#
        );
    }
    let replaced = json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]);
    let patched = world.patch(&path, "application/json-patch+json", replaced).await;
    assert_eq!(patched.is(200).body["spec"], json!({"replicas": 3}));
    world.post(THINGS, thing("b")).await.is(201);
    let path = format!("{THINGS}/b/scale");
    let patched = world.merge(&path, json!({"spec": {"replicas": 2}})).await.is(200);
    assert_eq!(patched.body["spec"], json!({"replicas": 2}));
}

#[tokio::test]
async fn a_scale_that_makes_no_sense_is_refused() {
    let world = world().await;
    let path = format!("{THINGS}/a/scale");
    world.get(&path).await.is(404);
    let mut scaled = thing("a");
    scaled["spec"]["replicas"] = 2.into();
    world.post(THINGS, scaled).await.is(201);
    world.merge(&path, json!({"spec": {"replicas": "many"}})).await.is(422);
    world.put(&path, thing("a")).await.is(400);
    world.get(&format!("{BOATS}/a/scale")).await.is(404);
    world.delete(&path).await.is(405);
}
