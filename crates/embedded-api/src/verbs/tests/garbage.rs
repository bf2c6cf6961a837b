//! Objects whose owners are deleted.

use super::world::{BOATS, NAMESPACES, Response, THINGS, World, boat, thing, world};
use crate::store::Key;
use serde_json::{Value, json};

async fn family(world: &World, boats: &[&str], blocks: bool) -> Value {
    let owner = world.post(THINGS, thing("owner")).await.is(201).body;
    for name in boats {
        world.post(BOATS, owned(name, &[&owner], blocks)).await.is(201);
    }
    owner
}

fn owned(name: &str, owners: &[&Value], blocks: bool) -> Value {
    let reference = |owner: &&Value| {
        json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
        })
    };
    let mut boat = boat(name);
    boat["metadata"]["ownerReferences"] = owners.iter().map(reference).collect();
    boat
}

fn going(response: &Response) -> bool {
    response.body["metadata"]["deletionTimestamp"].is_string()
}

fn path(name: &str) -> String {
    format!("{BOATS}/{name}")
}

#[tokio::test]
async fn an_object_with_an_owner_that_nobody_serves_stays() {
    let world = world().await;
    let stranger = json!({"apiVersion": "b.dev/v1", "kind": "Stranger", "metadata": {"name": "s", "uid": "u-1"}});
    world.post(BOATS, owned("one", &[&stranger], false)).await.is(201);
    // Later objects are checked later: once this is collected, the other was checked.
    let mut nobody = stranger.clone();
    nobody["apiVersion"] = "a.dev/v1".into();
    nobody["kind"] = "Thing".into();
    world.post(BOATS, owned("two", &[&nobody], false)).await.is(201);
    world.until_gone(&path("two")).await;
    world.get(&path("one")).await.is(200);
}

#[tokio::test]
async fn what_a_dependent_owns_goes_too() {
    let world = world().await;
    family(&world, &["one"], true).await;
    let one = world.get(&path("one")).await.is(200).body;
    world.post(BOATS, owned("of-one", &[&one], true)).await.is(201);
    world
        .delete(&format!("{THINGS}/owner?propagationPolicy=Foreground"))
        .await
        .is(200);
    world.until_gone(&format!("{THINGS}/owner")).await;
    world.get(&path("one")).await.is(404);
    world.get(&path("of-one")).await.is(404);
}

#[tokio::test]
async fn a_dependent_that_is_taken_from_its_owner_frees_it() {
    let world = world().await;
    family(&world, &["one"], true).await;
    world
        .merge(&path("one"), json!({"metadata": {"finalizers": ["a.dev/x"]}}))
        .await
        .is(200);
    world
        .delete(&format!("{THINGS}/owner?propagationPolicy=Foreground"))
        .await
        .is(200);
    world.until(&path("one"), "the first to go", going).await;
    world
        .merge(&path("one"), json!({"metadata": {"ownerReferences": null}}))
        .await
        .is(200);
    world.until_gone(&format!("{THINGS}/owner")).await;
}

#[tokio::test]
async fn a_dependent_that_no_longer_blocks_its_owner_frees_it() {
    let world = world().await;
    family(&world, &["one"], true).await;
    world
        .merge(&path("one"), json!({"metadata": {"finalizers": ["a.dev/x"]}}))
        .await
        .is(200);
    world
        .delete(&format!("{THINGS}/owner?propagationPolicy=Foreground"))
        .await
        .is(200);
    let mut references =
        world.until(&path("one"), "the first to go", going).await.body["metadata"]["ownerReferences"].take();
    references[0]["blockOwnerDeletion"] = false.into();
    world
        .merge(&path("one"), json!({"metadata": {"ownerReferences": references}}))
        .await
        .is(200);
    world.until_gone(&format!("{THINGS}/owner")).await;
    world.get(&path("one")).await.is(200);
}

#[tokio::test]
async fn owners_that_own_each_other_go_too() {
    let world = world().await;
    let owner = family(&world, &["one"], true).await;
    let one = world.get(&path("one")).await.is(200).body;
    let reference = &owned("x", &[&one], true)["metadata"]["ownerReferences"];
    let name = owner["metadata"]["name"].as_str().unwrap_or_default();
    world
        .merge(
            &format!("{THINGS}/{name}"),
            json!({"metadata": {"ownerReferences": reference}}),
        )
        .await
        .is(200);
    world
        .delete(&format!("{THINGS}/owner?propagationPolicy=Foreground"))
        .await
        .is(200);
    world.until_gone(&format!("{THINGS}/owner")).await;
    world.until_gone(&path("one")).await;
}

#[tokio::test]
async fn what_slips_into_a_namespace_on_its_way_out_goes_though_the_namespace_still_waits() {
    let world = world().await;
    let name = |finalizers: &Value| json!({"metadata": {"name": "field", "finalizers": finalizers}});
    world.post(NAMESPACES, name(&json!(["a.dev/x"]))).await.is(201);
    world.delete(&format!("{NAMESPACES}/field")).await.is(200);
    let path = "/apis/a.dev/v1/namespaces/field/boats/late";
    // The request that creates it checked the namespace before that was deleted, and writes only now.
    let emptied = |response: &Response| response.body["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty);
    world
        .until(&format!("{NAMESPACES}/field"), "it to be empty", emptied)
        .await;
    let mut late = boat("late");
    late["metadata"]["namespace"] = "field".into();
    late["metadata"]["uid"] = "u-late".into();
    let key = Key::new("boats.a.dev", "field", "late");
    world.api.core.create(key, late, false).await.expect("made");
    world.until_gone(path).await;
}
