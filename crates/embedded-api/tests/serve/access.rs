//! Admitted clients, and readers of the files.

use crate::world::{SOON, World, body, client, raw};
use embedded_api::serve::{self, Options, ServeError};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use serde_json::json;
use std::os::unix::fs::MetadataExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

#[tokio::test]
async fn a_kube_client_gets_in_with_the_kubeconfig() {
    let world = World::new();
    let serving = world.serve().await;
    let namespaces = Api::<Namespace>::all(client(&serving.kubeconfig).await);
    let found = timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
    assert_eq!(found.metadata.name.as_deref(), Some("a"));
}

#[tokio::test]
async fn without_the_token_nothing_is_handled_and_everything_is_401() {
    let world = World::new();
    let serving = world.serve().await;
    let good = world.token();
    let tokens = [
        "".to_owned(),
        "Authorization: Bearer x\r\n".to_owned(),
        format!("Authorization: Bearer {good}x\r\n"),
    ];
    for path in ["/healthz", "/livez", "/readyz", "/version", "/api/v1/nodes", "/nothing"] {
        for token in &tokens {
            let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}\r\n");
            let response = raw(&serving, &request).await;
            assert!(response.starts_with("HTTP/1.1 401 "), "{path}: {response}");
            assert!(response.contains("content-type: application/json"));
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
            });
            assert_eq!(body(&response), status);
        }
    }
    assert_eq!(world.requests(), 0);
    let request = format!("GET /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {good}\r\n\r\n");
    assert!(raw(&serving, &request).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(world.requests(), 1);
}

#[tokio::test]
async fn a_body_without_the_token_is_not_read() {
    let world = World::new();
    let serving = world.serve().await;
    let request = "POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n";
    let response = raw(&serving, request).await;
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
}

#[tokio::test]
async fn a_client_that_speaks_no_tls_gets_nothing() {
    let world = World::new();
    let serving = world.serve().await;
    let mut plain = TcpStream::connect(serving.address).await.unwrap();
    plain.write_all(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    let _ = timeout(SOON, plain.read_to_end(&mut said)).await.unwrap();
    // At most a TLS alert.
    assert!(said.len() < 16 && !said.starts_with(b"HTTP"), "{said:?}");
    assert_eq!(world.requests(), 0);
}

#[tokio::test]
async fn every_file_is_its_owners_alone() {
    let world = World::new();
    let _serving = world.serve().await;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(world.folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().mode() & 0o777, 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["authority.pem", "kubeconfig", "port", "token"]);
}

#[tokio::test]
async fn an_address_that_others_reach_must_be_meant() {
    let world = World::new();
    let open = |beyond_loopback| Options {
        listen: "0.0.0.0:0".parse().unwrap(),
        beyond_loopback,
        names: vec!["laptop.local".to_owned()],
        ..Options::default()
    };
    let refused = serve::start(world.script.clone(), &world.folder, open(false)).await;
    assert!(matches!(refused, Err(ServeError::NotLoopback(_))));
    assert_eq!(std::fs::read_dir(world.folder.path()).unwrap().count(), 0);
    let serving = world.serve_with(open(true)).await;
    assert!(serving.url.starts_with("https://127.0.0.1:"), "{}", serving.url);
    let namespaces = Api::<Namespace>::all(client(&serving.kubeconfig).await);
    timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
}
