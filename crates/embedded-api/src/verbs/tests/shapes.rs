//! The representations of objects.

use super::world::{NODES, THINGS, request, thing, world};
use http::Method;
use serde_json::json;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

#[tokio::test]
async fn objects_and_lists_are_printed_as_tables() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    world.post(NODES, json!({"metadata": {"name": "n-1"}})).await.is(201);
    for path in [THINGS.to_owned(), format!("{THINGS}/a"), NODES.to_owned()] {
        let mut request = request(Method::GET, &path, None);
        request.accept = TABLE.to_owned();
        let table = world.send(request).await.is(200).body;
        assert_eq!(
            (&table["kind"], table["rows"].as_array().map(Vec::len)),
            (&json!("Table"), Some(1)),
            "{path}"
        );
        assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    }
    let mut missing = request(Method::GET, &format!("{THINGS}/b"), None);
    missing.accept = TABLE.to_owned();
    assert_eq!(world.send(missing).await.is(404).body["kind"], "Status");
}

#[tokio::test]
async fn metadata_is_shown_alone() {
    let world = world().await;
    let mut made = request(Method::POST, THINGS, Some(thing("a")));
    made.accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json".to_owned();
    let made = world.send(made).await.is(201).body;
    assert_eq!(
        (&made["kind"], made.get("spec")),
        (&json!("PartialObjectMetadata"), None)
    );
    let mut list = request(Method::GET, THINGS, None);
    list.accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json".to_owned();
    assert_eq!(world.send(list).await.is(200).body["kind"], "PartialObjectMetadataList");
}

#[tokio::test]
async fn an_answer_may_be_yaml_and_a_body_too() {
    let world = world().await;
    let mut made = request(Method::POST, THINGS, None);
    made.content_type = "application/yaml".to_owned();
    made.body = "apiVersion: a.dev/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n  size: 12.0\n".into();
    assert_eq!(world.send(made).await.is(201).body["spec"]["size"], 12);
    let mut read = request(Method::GET, &format!("{THINGS}/a"), None);
    read.accept = "application/yaml".to_owned();
    let read = world.send(read).await.is(200);
    let text = read.body.as_str().expect("text");
    assert!(
        text.contains("kind: Thing\n") && text.contains("  size: 12\n"),
        "{text}"
    );
}

#[tokio::test]
async fn forms_that_nobody_knows_are_not_acceptable() {
    let world = world().await;
    for accept in ["text/html", "application/vnd.kubernetes.protobuf", "application/cbor"] {
        let mut request = request(Method::GET, THINGS, None);
        request.accept = accept.to_owned();
        world.send(request).await.is(406);
    }
    let mut request = request(Method::GET, THINGS, None);
    request.accept = "application/vnd.kubernetes.protobuf,application/json".to_owned();
    world.send(request).await.is(200);
}
