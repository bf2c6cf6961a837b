//! Paths and methods, and the refusal of all others.

use super::world::{NAMESPACES, request, world};
use http::Method;
use serde_json::json;

#[tokio::test]
async fn documents_are_where_clients_expect_them() {
    let world = world().await;
    for (path, kind) in [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/a.dev", "APIGroup"),
        ("/apis/a.dev/v1", "APIResourceList"),
        ("/api/v1", "APIResourceList"),
    ] {
        assert_eq!(world.get(path).await.is(200).body["kind"], kind, "{path}");
    }
    assert_eq!(world.get("/version").await.is(200).body["major"], "1");
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        assert_eq!(world.get(path).await.is(200).body, "ok", "{path}");
    }
    let paths = world.get("/openapi/v3").await.is(200).body["paths"]
        .as_object()
        .cloned()
        .expect("paths");
    assert!(paths.contains_key("apis/a.dev/v1"), "{paths:?}");
    world.get("/openapi/v3/apis/a.dev/v1").await.is(200);
    assert_eq!(world.get("/openapi/v2").await.is(200).body["swagger"], "2.0");
    let all = world.get("/").await.is(200);
    assert!(
        all.body["paths"]
            .as_array()
            .is_some_and(|paths| paths.contains(&json!("/apis/a.dev/v1")))
    );
}

#[tokio::test]
async fn what_is_not_done_on_purpose_says_why() {
    let world = world().await;
    let pods = "/api/v1/namespaces/default/pods";
    assert_eq!(world.get(pods).await.is(200).names(), [""; 0]);
    let response = world.post(pods, json!({"metadata": {"name": "p"}})).await.is(405);
    assert!(
        response.message().contains("nothing runs Pods here"),
        "{}",
        response.message()
    );
    let log = world.get(&format!("{pods}/p/log")).await.is(405);
    assert!(log.message().contains("pods/log"), "{}", log.message());
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let response = world.delete(&format!("{crds}/things.a.dev")).await.is(405);
    assert!(
        response.message().contains("fixed while this server runs"),
        "{}",
        response.message()
    );
}

#[tokio::test]
async fn built_in_kinds_may_come_as_protobuf() {
    let world = world().await;
    let mut made = request(Method::POST, NAMESPACES, None);
    made.content_type = "application/vnd.kubernetes.protobuf".to_owned();
    // A Namespace named `x`.
    made.body = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x05\x0a\x03\x0a\x01x"[..].into();
    let made = world.send(made).await.is(201).body;
    assert_eq!(
        (&made["metadata"]["name"], &made["status"]["phase"]),
        (&json!("x"), &json!("Active"))
    );
}
