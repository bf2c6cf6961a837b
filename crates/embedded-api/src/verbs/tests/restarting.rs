//! The same folder, opened again.

use super::world::{BOATS, Response, THINGS, boat, options, thing, world};
use crate::verbs::{Api, OpenError};
use serde_json::{Value, json};

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let world = world().await;
    let made = world.post(THINGS, thing("a")).await.is(201);
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.a.dev";
    let before = world.get(definition).await.is(200).body;
    let revision = world.api.revision();
    let world = world.restarted().await;
    assert_eq!(world.get(&format!("{THINGS}/a")).await.is(200).body, made.body);
    assert_eq!(world.get(definition).await.is(200).body, before);
    assert_eq!(world.api.revision(), revision, "a restart writes nothing");
    let mut watch = world
        .watch(&format!("{THINGS}?resourceVersion={}", made.version() - 1))
        .await;
    watch.expect(&[("ADDED", "a")]).await;
}

#[tokio::test]
async fn garbage_is_collected_after_a_restart_too() {
    let world = world().await;
    let owner = world.post(THINGS, thing("owner")).await.is(201).body;
    let mut owned = boat("b");
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "a.dev/v1", "kind": "Thing", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    owned["metadata"]["finalizers"] = json!(["a.dev/x"]);
    world.post(BOATS, owned).await.is(201);
    world.delete(&format!("{THINGS}/owner")).await.is(200);
    let going = |response: &Response| response.body["metadata"]["deletionTimestamp"].is_string();
    world.until(&format!("{BOATS}/b"), "it to go", going).await;
    let world = world.restarted().await;
    world
        .merge(&format!("{BOATS}/b"), json!({"metadata": {"finalizers": null}}))
        .await
        .is(200);
    world.get(&format!("{BOATS}/b")).await.is(404);
}

#[tokio::test]
async fn a_namespace_on_its_way_out_goes_after_a_restart() {
    let world = world().await;
    world
        .post(
            "/api/v1/namespaces",
            json!({"metadata": {"name": "field", "finalizers": ["a.dev/x"]}}),
        )
        .await
        .is(201);
    world
        .post("/apis/a.dev/v1/namespaces/field/things", thing("a"))
        .await
        .is(201);
    world.delete("/api/v1/namespaces/field").await.is(200);
    let world = world.restarted().await;
    world.until_gone("/apis/a.dev/v1/namespaces/field/things/a").await;
    world
        .merge("/api/v1/namespaces/field", json!({"metadata": {"finalizers": null}}))
        .await
        .is(200);
    world.until_gone("/api/v1/namespaces/field").await;
}

#[tokio::test]
async fn a_definition_that_is_no_longer_given_is_no_longer_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let api = Api::open(options(&folder)).await.expect("it opens");
    api.close().await;
    let mut fewer = options(&folder);
    fewer.crds.pop();
    let api = Api::open(fewer).await.expect("it opens again");
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let answer = api.handle(super::world::request(http::Method::GET, path, None)).await;
    let crate::request::Body::Whole(body) = answer.body else {
        panic!("a stream")
    };
    let list: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_definition_that_cannot_be_served_is_one_clear_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bad = options(&folder);
    bad.crds.push(json!({"kind": "ConfigMap", "apiVersion": "v1"}));
    assert!(matches!(Api::open(bad).await, Err(OpenError::Definition(_))));
    let mut twice = options(&folder);
    twice.crds.push(super::world::things());
    assert!(matches!(Api::open(twice).await, Err(OpenError::Kinds(_))));
}

#[tokio::test]
async fn a_folder_is_opened_once_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let api = Api::open(options(&folder)).await.expect("it opens");
    assert!(matches!(Api::open(options(&folder)).await, Err(OpenError::Store(_))));
    drop(api);
    // Background tasks release the folder a moment later.
    for _ in 0..10_000 {
        if Api::open(options(&folder)).await.is_ok() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the folder is never let go");
}
