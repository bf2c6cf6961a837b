//! Lists and their pages.

use super::world::{EVENTS, NODES, THINGS, World, labelled, thing, world};
use serde_json::{Value, json};

async fn five(world: &World) {
    for name in ["a", "b", "c", "d", "e"] {
        world
            .post(
                THINGS,
                labelled(name, json!({"even": (["b", "d"].contains(&name)).to_string()})),
            )
            .await
            .is(201);
    }
}

fn token(list: &Value) -> String {
    list["metadata"]["continue"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_list_holds_all_objects_in_order_of_their_names() {
    let world = world().await;
    world.post(THINGS, thing("b")).await.is(201);
    world.post(THINGS, thing("a")).await.is(201);
    let list = world.get(THINGS).await.is(200);
    assert_eq!(list.names(), ["a", "b"]);
    assert_eq!(
        (&list.body["kind"], &list.body["apiVersion"]),
        (&json!("ThingList"), &json!("a.dev/v1"))
    );
    assert_eq!(list.version(), world.api.revision());
    assert_eq!(world.get("/apis/a.dev/v1/things").await.names(), ["a", "b"]);
    assert_eq!(
        world
            .get("/apis/a.dev/v1/namespaces/nowhere/things")
            .await
            .is(200)
            .names(),
        [""; 0]
    );
}

#[tokio::test]
async fn pages_follow_each_other_and_show_one_moment() {
    let world = world().await;
    five(&world).await;
    let first = world.get(&format!("{THINGS}?limit=2")).await.is(200);
    assert_eq!(first.names(), ["a", "b"]);
    assert_eq!(first.body["metadata"]["remainingItemCount"], 3);
    world.delete(&format!("{THINGS}/d")).await.is(200);
    world.post(THINGS, thing("cc")).await.is(201);
    let second = world
        .get(&format!("{THINGS}?limit=2&continue={}", token(&first.body)))
        .await
        .is(200);
    assert_eq!(second.names(), ["c", "d"]);
    assert_eq!(second.version(), first.version());
    let third = world
        .get(&format!("{THINGS}?limit=2&continue={}", token(&second.body)))
        .await
        .is(200);
    assert_eq!(third.names(), ["e"]);
    assert_eq!(token(&third.body), "");
}

#[tokio::test]
async fn pages_go_over_all_namespaces() {
    let world = world().await;
    five(&world).await;
    world
        .post("/apis/a.dev/v1/namespaces/kube-system/things", thing("a"))
        .await
        .is(201);
    let first = world.get("/apis/a.dev/v1/things?limit=4").await.is(200);
    let second = world
        .get(&format!("/apis/a.dev/v1/things?continue={}", token(&first.body)))
        .await
        .is(200);
    assert_eq!((first.names().len(), second.names()), (4, vec!["e", "a"]));
}

#[tokio::test]
async fn what_is_left_is_counted_only_where_everything_is_selected() {
    let world = world().await;
    five(&world).await;
    let page = world
        .get(&format!("{THINGS}?limit=1&labelSelector=even%3Dtrue"))
        .await
        .is(200);
    assert_eq!(page.names(), ["b"]);
    assert_eq!(page.body["metadata"].get("remainingItemCount"), None);
    let rest = world
        .get(&format!(
            "{THINGS}?limit=1&labelSelector=even%3Dtrue&continue={}",
            token(&page.body)
        ))
        .await;
    assert_eq!(rest.names(), ["d"]);
    assert_eq!(token(&rest.body), "");
}

#[tokio::test]
async fn bad_tokens_and_versions_are_refused() {
    let world = world().await;
    five(&world).await;
    let first = world.get(&format!("{THINGS}?limit=2")).await;
    let bad = world.get(&format!("{THINGS}?continue=garbage")).await.is(400);
    assert!(
        bad.message()
            .starts_with("invalid continue token: continue key is not valid: "),
        "{}",
        bad.message()
    );
    let both = world
        .get(&format!("{THINGS}?resourceVersion=5&continue={}", token(&first.body)))
        .await
        .is(400);
    assert_eq!(
        both.message(),
        "specifying resource version is not allowed when using continue"
    );
    world.get(&format!("{THINGS}?resourceVersion=x")).await.is(400);
    world.get(&format!("{THINGS}?limit=many")).await.is(400);
}

#[tokio::test]
async fn a_list_may_ask_for_a_moment() {
    let world = world().await;
    let then = world.post(THINGS, thing("a")).await.version();
    world.post(THINGS, thing("b")).await.is(201);
    let exact = world
        .get(&format!("{THINGS}?resourceVersion={then}&resourceVersionMatch=Exact"))
        .await
        .is(200);
    assert_eq!((exact.names(), exact.version()), (vec!["a"], then));
    for query in [
        "resourceVersion=0",
        &format!("resourceVersion={then}&resourceVersionMatch=NotOlderThan"),
    ] {
        assert_eq!(
            world.get(&format!("{THINGS}?{query}")).await.is(200).names(),
            ["a", "b"]
        );
    }
    let response = world.get(&format!("{THINGS}?resourceVersion=999999")).await.is(504);
    assert!(
        response
            .message()
            .starts_with("Timeout: Too large resource version: 999999, current: "),
        "{}",
        response.message()
    );
    world.get(&format!("{THINGS}/a?resourceVersion=999999")).await.is(504);
    world.get(&format!("{THINGS}/a?resourceVersion={then}")).await.is(200);
}

#[tokio::test]
async fn labels_and_fields_select() {
    let world = world().await;
    five(&world).await;
    world
        .merge(&format!("{THINGS}/c"), json!({"spec": {"place": "north"}}))
        .await
        .is(200);
    for (query, expected) in [
        ("labelSelector=even%3Dtrue", "bd"),
        ("labelSelector=even!%3Dtrue", "ace"),
        ("labelSelector=even%20in%20(true,false),!odd", "abcde"),
        ("fieldSelector=metadata.name%3Db", "b"),
        ("fieldSelector=spec.place%3Dnorth", "c"),
        ("fieldSelector=spec.place%3D", "abde"),
        ("fieldSelector=metadata.namespace%3Dnowhere", ""),
        ("fieldSelector=metadata.name!%3Db&labelSelector=even%3Dtrue", "d"),
    ] {
        let found = world.get(&format!("{THINGS}?{query}")).await.is(200);
        assert_eq!(found.names().concat(), expected, "{query}");
    }
    let response = world
        .get(&format!("{THINGS}?fieldSelector=spec.size%3D1"))
        .await
        .is(400);
    assert_eq!(response.message(), "field label not supported: spec.size");
    world.get(&format!("{THINGS}?labelSelector=a%20b")).await.is(400);
}

#[tokio::test]
async fn fields_of_built_in_kinds_select() {
    let world = world().await;
    world
        .post(
            NODES,
            json!({"metadata": {"name": "n-1"}, "spec": {"unschedulable": true}}),
        )
        .await
        .is(201);
    world.post(NODES, json!({"metadata": {"name": "n-2"}})).await.is(201);
    assert_eq!(
        world
            .get(&format!("{NODES}?fieldSelector=spec.unschedulable%3Dtrue"))
            .await
            .names(),
        ["n-1"]
    );
    assert_eq!(
        world
            .get(&format!("{NODES}?fieldSelector=spec.unschedulable%3Dfalse"))
            .await
            .names(),
        ["n-2"]
    );
    let event =
        json!({"metadata": {"name": "e"}, "involvedObject": {"name": "a", "namespace": "default"}, "type": "Normal"});
    world.post(EVENTS, event).await.is(201);
    assert_eq!(
        world
            .get(&format!("{EVENTS}?fieldSelector=involvedObject.name%3Da"))
            .await
            .names(),
        ["e"]
    );
    assert_eq!(
        world
            .get(&format!("{EVENTS}?fieldSelector=type%3DWarning"))
            .await
            .names(),
        [""; 0]
    );
    let newer = "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Da";
    assert_eq!(world.get(newer).await.is(200).names(), ["e"]);
}

#[tokio::test]
async fn a_page_of_a_revision_that_never_was_is_refused() {
    let world = world().await;
    five(&world).await;
    let first = world.get(&format!("{THINGS}?limit=2")).await.is(200);
    let other = super::world::world().await;
    let response = other
        .get(&format!("{THINGS}?continue={}", token(&first.body)))
        .await
        .is(410);
    let rest = other
        .get(&format!("{THINGS}?continue={}", token(&response.body)))
        .await
        .is(200);
    assert_eq!(rest.names(), [""; 0]);
}
