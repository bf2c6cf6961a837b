//! Deleting objects, one by one and together.

use super::world::{BOATS, NAMESPACES, NODES, THINGS, boat, thing, world};
use serde_json::json;

#[tokio::test]
async fn a_dry_deletion_deletes_nothing() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    world.delete(&format!("{THINGS}/a?dryRun=All")).await.is(200);
    world
        .delete_with(&format!("{THINGS}/a"), json!({"dryRun": ["All"]}))
        .await
        .is(200);
    world.delete(&format!("{THINGS}?dryRun=All")).await.is(200);
    world.get(&format!("{THINGS}/a")).await.is(200);
}

#[tokio::test]
async fn an_empty_namespace_goes_at_once_and_its_name_is_free() {
    let world = world().await;
    world
        .post(NAMESPACES, json!({"metadata": {"name": "field"}}))
        .await
        .is(201);
    world.delete("/api/v1/namespaces/field").await.is(200);
    world.until_gone("/api/v1/namespaces/field").await;
    world
        .post(NAMESPACES, json!({"metadata": {"name": "field"}}))
        .await
        .is(201);
}

#[tokio::test]
async fn a_namespace_goes_however_its_deletion_is_requested() {
    let world = world().await;
    for policy in ["Foreground", "Background", "Orphan"] {
        world
            .post(NAMESPACES, json!({"metadata": {"name": "field"}}))
            .await
            .is(201);
        world
            .post("/apis/a.dev/v1/namespaces/field/things", thing("a"))
            .await
            .is(201);
        world
            .delete(&format!("{NAMESPACES}/field?propagationPolicy={policy}"))
            .await
            .is(200);
        world.until_gone("/api/v1/namespaces/field").await;
    }
}

#[tokio::test]
async fn objects_of_all_kinds_are_deleted() {
    let world = world().await;
    world.post(BOATS, boat("b")).await.is(201);
    world.post(NODES, json!({"metadata": {"name": "n-1"}})).await.is(201);
    let gone = world.delete(&format!("{NODES}/n-1")).await.is(200);
    assert_eq!(gone.body["details"]["kind"], "nodes");
    assert_eq!(gone.body["details"].get("group"), None);
    world.delete(&format!("{BOATS}/b")).await.is(200);
}
