//! The shutdown order, and what stays over a restart.

use crate::world::{SOON, World, client};
use embedded_api::serve::{self, Limits, Options, ServeError};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, WatchParams};
use kube::config::Kubeconfig;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

#[tokio::test]
async fn at_the_end_watches_end_and_requests_under_way_are_answered() {
    let mut world = World::new();
    let serving = world.serve().await;
    let client = client(&serving.kubeconfig).await;
    let namespaces = Api::<Namespace>::all(client.clone());
    let mut events = Box::pin(namespaces.watch(&WatchParams::default(), "0").await.unwrap());
    assert!(events.next().await.is_some());
    let sender = world.watches.recv().await.unwrap();
    let slow = tokio::spawn(async move {
        let request = http::Request::get("/slow").body(Vec::new()).unwrap();
        client.request_text(request).await
    });
    timeout(SOON, async {
        while world.requests() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let address = serving.address;
    let end = tokio::spawn(serving.end());
    assert!(timeout(SOON, events.next()).await.unwrap().is_none());
    timeout(SOON, sender.closed()).await.unwrap();
    world.let_go.send(true).unwrap();
    assert!(timeout(SOON, slow).await.unwrap().unwrap().is_ok());
    timeout(SOON, end).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn the_end_does_not_wait_for_ever_for_a_request_that_stays() {
    let world = World::new();
    let limits = Limits {
        ending: Duration::from_millis(100),
        ..Limits::default()
    };
    let serving = world.limited(limits).await;
    let client = client(&serving.kubeconfig).await;
    let slow = tokio::spawn(async move {
        let request = http::Request::get("/slow").body(Vec::new()).unwrap();
        client.request_text(request).await
    });
    timeout(SOON, async {
        while world.requests() < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    timeout(SOON, serving.end()).await.unwrap();
    assert!(timeout(SOON, slow).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn a_client_from_before_a_restart_goes_on_after_it() {
    let world = World::new();
    let serving = world.serve().await;
    let (address, kubeconfig) = (serving.address, serving.kubeconfig.clone());
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    let namespaces = Api::<Namespace>::all(client(&kubeconfig).await);
    timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
    serving.end().await;
    let again = world.serve().await;
    assert_eq!((again.address, again.moved_from), (address, None));
    assert_eq!(std::fs::read_to_string(&kubeconfig).unwrap(), text);
    timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
}

#[tokio::test]
async fn when_the_port_is_taken_the_kubeconfig_names_the_new_one() {
    let world = World::new();
    let first = world.serve().await;
    let port = first.address.port();
    first.end().await;
    let _taken = std::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
    let second = world.serve().await;
    assert_eq!(second.moved_from, Some(port));
    let namespaces = Api::<Namespace>::all(client(&second.kubeconfig).await);
    timeout(SOON, namespaces.get("a")).await.unwrap().unwrap();
}

#[tokio::test]
async fn the_kubeconfig_goes_where_it_is_wanted_and_not_over_another_one() {
    let world = World::new();
    let path: PathBuf = world.folder.path().join("mine");
    std::fs::write(&path, "clusters: [{name: work}]\n").unwrap();
    let options = Options {
        kubeconfig: Some(path.clone()),
        context: "field".to_owned(),
        ..Options::default()
    };
    let refused = serve::start(world.script.clone(), &world.folder, options.clone()).await;
    assert!(matches!(refused, Err(ServeError::Kubeconfig(_))));
    std::fs::remove_file(&path).unwrap();
    let serving = world.serve_with(options).await;
    assert_eq!(serving.kubeconfig, path);
    assert_eq!(
        Kubeconfig::read_from(&path).unwrap().current_context.as_deref(),
        Some("field")
    );
}
