//! Paths and methods, and the refusal of all others.

use super::world::{BOATS, NAMESPACES, NODES, THINGS, request, thing, world};
use http::Method;
use serde_json::{Value, json};

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
async fn all_groups_are_discovered_in_one_document() {
    let world = world().await;
    let mut request = request(Method::GET, "/apis", None);
    request.accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json".to_owned();
    let answer = world.api.handle(request).await;
    assert_eq!(
        answer.content_type,
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    assert!(
        answer.headers.iter().any(|(name, _)| *name == "etag"),
        "{:?}",
        answer.headers
    );
}

#[tokio::test]
async fn paths_that_nobody_serves_are_not_found() {
    let world = world().await;
    for path in [
        "/nowhere",
        "/apis/a.dev/v9",
        "/apis/nobody.dev/v1",
        "/apis/nobody.dev/v1/things",
        "/apis/a.dev/v1/kites",
        "/apis/a.dev/v1/namespaces/default/kites/a",
        "/apis/a.dev/v1/things/a",
        "/openapi/v3/apis/nobody.dev/v1",
    ] {
        assert_eq!(world.get(path).await.is(404).body, "404 page not found\n", "{path}");
    }
    for path in [
        "/api/v2",
        "/api/v1/kites",
        "/api/v1/kites/a",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/nodes/a/wings",
    ] {
        let response = world.get(path).await.is(404);
        assert_eq!(
            response.message(),
            "the server could not find the requested resource",
            "{path}"
        );
        assert_eq!(response.body["details"], json!({}));
    }
    world.post(THINGS, thing("a")).await.is(201);
    let part = world.get(&format!("{THINGS}/a/wings")).await.is(404);
    assert_eq!(part.message(), r#"things.a.dev "a" not found"#);
}

#[tokio::test]
async fn methods_that_do_not_fit_are_not_allowed() {
    let world = world().await;
    let send = |method: Method, path: &str| world.send(request(method, path, Some(json!({}))));
    for (method, path) in [
        (Method::PUT, NODES.to_owned()),
        (Method::POST, format!("{NODES}/a")),
        (Method::POST, "/version".to_owned()),
        (Method::DELETE, "/apis/a.dev".to_owned()),
        (Method::DELETE, format!("{THINGS}/a/status")),
        (Method::OPTIONS, THINGS.to_owned()),
        (Method::DELETE, "/api/v1/events".to_owned()),
        (Method::POST, "/api/v1/events".to_owned()),
    ] {
        let response = send(method.clone(), &path).await.is(405);
        assert_eq!(response.body["reason"], "MethodNotAllowed", "{method} {path}");
    }
    let response = send(Method::POST, &format!("{THINGS}/a/status")).await.is(405);
    assert_eq!(
        response.message(),
        r#"create is not supported on resources of kind "things.a.dev""#
    );
    for method in [Method::DELETE, Method::PUT, Method::POST] {
        assert_eq!(
            send(method, "/apis/a.dev/v1/things").await.is(404).body,
            "404 page not found\n"
        );
    }
    assert_eq!(
        send(Method::PUT, THINGS).await.is(400).message(),
        "name must be provided"
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
async fn the_definitions_of_custom_resources_can_be_read() {
    let world = world().await;
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(world.get(crds).await.is(200).names(), ["boats.a.dev", "things.a.dev"]);
    let one = world.get(&format!("{crds}/things.a.dev")).await.is(200);
    let conditions = one.body["status"]["conditions"]
        .as_array()
        .cloned()
        .expect("conditions");
    assert!(
        conditions
            .iter()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    );
    assert!(one.body["metadata"]["uid"].is_string());
}

#[tokio::test]
async fn a_fresh_folder_has_four_namespaces() {
    let world = world().await;
    let list = world.get("/api/v1/namespaces").await.is(200);
    assert_eq!(
        list.names(),
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
    let phases = list.body["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| item["status"]["phase"].clone());
    assert_eq!(phases.collect::<Vec<Value>>(), vec![json!("Active"); 4]);
}

#[tokio::test]
async fn bodies_of_unknown_form_are_not_supported() {
    let world = world().await;
    for content_type in ["application/vnd.kubernetes.protobuf", "application/cbor", "text/plain"] {
        // A typed client has no protobuf for custom resources.
        let mut request = request(Method::POST, BOATS, Some(json!({})));
        request.content_type = content_type.to_owned();
        let response = world.send(request).await.is(415);
        assert_eq!(response.body["reason"], "UnsupportedMediaType");
    }
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
