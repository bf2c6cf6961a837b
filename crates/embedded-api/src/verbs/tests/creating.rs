//! Creating objects.

use super::world::{BOATS, THINGS, boat, labeled, thing, world};
use serde_json::json;

#[tokio::test]
async fn a_name_on_its_way_out_is_taken_too() {
    let world = world().await;
    let mut held = thing("a");
    held["metadata"]["finalizers"] = json!(["a.dev/x"]);
    world.post(THINGS, held).await.is(201);
    world.delete(&format!("{THINGS}/a")).await.is(200);
    let again = world.post(THINGS, thing("a")).await.is(409);
    assert_eq!(
        again.message(),
        r#"object is being deleted: things.a.dev "a" already exists"#
    );
}

#[tokio::test]
async fn an_object_that_is_too_large_is_refused() {
    let world = world().await;
    let response = world.post(THINGS, labeled("a", json!({}))).await.is(201);
    assert_eq!(response.body["metadata"]["name"], "a");
    let mut boat = super::world::boat("big");
    boat["spec"]["cargo"] = "x".repeat(1_600_000).into();
    let response = world.post(super::world::BOATS, boat).await.is(413);
    assert_eq!(response.message(), "Request entity too large: limit is 1572864");
}

#[tokio::test]
async fn an_object_that_is_nested_too_deeply_is_refused_also_dry_and_harms_nothing() {
    let world = world().await;
    for levels in [100, 116, 117, 118, 119, 120, 121, 122, 123, 124] {
        let mut deep = boat(&format!("b-{levels}"));
        deep["spec"] = (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
        let dry = world.post(&format!("{BOATS}?dryRun=All"), deep.clone()).await;
        let made = world.post(BOATS, deep).await;
        assert_eq!(dry.code, made.code, "{levels}");
        let path = format!("{BOATS}/b-{levels}");
        match made.code {
            // With its field owners it is deeper than it was sent.
            201 => {
                world.get(&path).await.is(200);
                assert!(levels < 120);
            }
            code => assert!(code == 400 && levels > 100, "{levels}: {}", made.body),
        }
    }
    let world = world.restarted().await;
    world.get(&format!("{BOATS}/b-100")).await.is(200);
    assert!(!world.get(BOATS).await.is(200).names().is_empty());
}

#[tokio::test]
async fn a_new_object_may_have_version_0() {
    let world = world().await;
    let mut thing = thing("a");
    thing["metadata"]["resourceVersion"] = "0".into();
    let made = world.post(THINGS, thing).await.is(201);
    assert!(made.version() > 0);
}
