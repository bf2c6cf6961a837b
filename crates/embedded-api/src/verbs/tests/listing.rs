//! Lists and their pages.

use super::world::{THINGS, World, labeled, thing, world};
use serde_json::{Value, json};

async fn five(world: &World) {
    for name in ["a", "b", "c", "d", "e"] {
        world
            .post(
                THINGS,
                labeled(name, json!({"even": (["b", "d"].contains(&name)).to_string()})),
            )
            .await
            .is(201);
    }
}

fn token(list: &Value) -> String {
    list["metadata"]["continue"].as_str().unwrap_or_default().to_owned()
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
