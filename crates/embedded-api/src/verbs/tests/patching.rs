//! Patches of every kind.

use super::world::{NODES, THINGS, thing, world};
use futures::future::join_all;
use serde_json::{Value, json};

const JSON: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

#[tokio::test]
async fn a_merge_patch_sets_and_removes() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, thing("a")).await.is(201);
    let patched = world
        .merge(
            &path,
            json!({"metadata": {"labels": {"x": "y"}}, "spec": {"size": null}}),
        )
        .await
        .is(200);
    assert_eq!(patched.body["spec"], json!({"colour": "grey"}));
    assert_eq!(patched.body["metadata"]["labels"], json!({"x": "y"}));
    assert_eq!(patched.body["metadata"]["generation"], 2);
}

#[tokio::test]
async fn a_json_patch_is_done_or_refused_as_a_whole() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, thing("a")).await.is(201);
    let replace = json!({"op": "replace", "path": "/spec/size", "value": 7});
    let patched = world.patch(&path, JSON, json!([replace])).await.is(200);
    assert_eq!(patched.body["spec"]["size"], 7);
    let failing =
        json!([{"op": "replace", "path": "/spec/size", "value": 8}, {"op": "test", "path": "/spec/size", "value": 1}]);
    world.patch(&path, JSON, failing).await.is(422);
    assert_eq!(world.get(&path).await.body["spec"]["size"], 7);
}

#[tokio::test]
async fn a_strategic_patch_is_for_built_in_kinds() {
    let world = world().await;
    world.post(NODES, json!({"metadata": {"name": "n-1"}})).await.is(201);
    let cordoned = world
        .patch(
            &format!("{NODES}/n-1"),
            STRATEGIC,
            json!({"spec": {"unschedulable": true}}),
        )
        .await
        .is(200);
    assert_eq!(cordoned.body["spec"]["unschedulable"], true);
    world.post(THINGS, thing("a")).await.is(201);
    let response = world.patch(&format!("{THINGS}/a"), STRATEGIC, json!({})).await.is(415);
    assert!(
        response
            .message()
            .starts_with("the body of the request was in an unknown format"),
        "{}",
        response.message()
    );
}

#[tokio::test]
async fn a_patch_of_a_missing_object_is_refused() {
    let world = world().await;
    let response = world
        .merge(&format!("{THINGS}/a"), json!({"spec": {"size": 2}}))
        .await
        .is(404);
    assert_eq!(response.message(), r#"things.a.dev "a" not found"#);
}

#[tokio::test]
async fn a_patch_may_require_a_version() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let first = world.post(THINGS, thing("a")).await.is(201);
    world.merge(&path, json!({"spec": {"size": 2}})).await.is(200);
    let version = first.version().to_string();
    world
        .merge(
            &path,
            json!({"metadata": {"resourceVersion": version}, "spec": {"size": 3}}),
        )
        .await
        .is(409);
    world
        .merge(
            &path,
            json!({"metadata": {"resourceVersion": "0"}, "spec": {"size": 3}}),
        )
        .await
        .is(422);
    world
        .merge(
            &path,
            json!({"metadata": {"resourceVersion": null}, "spec": {"size": 3}}),
        )
        .await
        .is(422);
}

#[tokio::test]
async fn patches_that_come_at_once_are_all_done() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, thing("a")).await.is(201);
    let patches = (0..20).map(|number| {
        let key = format!("l-{number}");
        world.merge(&path, json!({"metadata": {"labels": {key: "x"}}}))
    });
    for response in join_all(patches).await {
        response.is(200);
    }
    let labels = world.get(&path).await.body["metadata"]["labels"]
        .as_object()
        .map(|labels| labels.len());
    assert_eq!(labels, Some(20));
}

#[tokio::test]
async fn a_patch_cannot_change_name_kind_or_rules() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, thing("a")).await.is(201);
    let response = world.merge(&path, json!({"metadata": {"name": "b"}})).await.is(400);
    assert_eq!(
        response.message(),
        "the name of the object (b) does not match the name on the URL (a)"
    );
    let response = world.merge(&path, json!({"kind": "Boat"})).await.is(422);
    assert_eq!(
        response.message(),
        r#"Boat.a.dev "a" is invalid: kind: Invalid value: "Boat": must be Thing"#
    );
    let response = world.merge(&path, json!({"apiVersion": "v1"})).await.is(422);
    assert_eq!(
        response.message(),
        r#"Thing "a" is invalid: apiVersion: Invalid value: "v1": must be a.dev/v1"#
    );
    world.merge(&path, json!({"spec": {"colour": "pink"}})).await.is(422);
    world.merge(&path, json!({"spec": null})).await.is(422);
}

#[tokio::test]
async fn unknown_fields_in_a_patch_are_warned_of_or_refused() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, thing("a")).await.is(201);
    let warned = world.merge(&path, json!({"spec": {"siren": true}})).await.is(200);
    assert_eq!(warned.warnings, [r#"299 - "unknown field \"spec.siren\"""#]);
    let response = world
        .merge(
            &format!("{path}?fieldValidation=Strict"),
            json!({"spec": {"siren": true}}),
        )
        .await
        .is(422);
    assert!(
        response
            .message()
            .ends_with(r#"strict decoding error: unknown field "spec.siren""#),
        "{}",
        response.message()
    );
}

fn sized(size: u32) -> Value {
    json!({"apiVersion": "a.dev/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": size}})
}

#[tokio::test]
async fn applying_makes_what_is_not_there_and_changes_what_is() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let made = world.apply(&path, "me", sized(1)).await.is(201);
    let managed = &made.body["metadata"]["managedFields"][0];
    assert_eq!(
        (&managed["manager"], &managed["operation"]),
        (&json!("me"), &json!("Apply"))
    );
    assert_eq!(made.body["spec"], json!({"size": 1, "colour": "grey"}));
    let same = world.apply(&path, "me", sized(1)).await.is(200);
    assert_eq!(same.version(), made.version());
    let changed = world.apply(&path, "me", sized(2)).await.is(200);
    assert_eq!(
        (&changed.body["spec"]["size"], &changed.body["metadata"]["generation"]),
        (&json!(2), &json!(2))
    );
}

#[tokio::test]
async fn what_another_manager_set_otherwise_is_a_conflict_unless_it_is_taken() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.apply(&path, "one", sized(1)).await.is(201);
    let response = world.apply(&path, "two", sized(2)).await.is(409);
    assert_eq!(
        response.message(),
        r#"Apply failed with 1 conflict: conflict with "one": .spec.size"#
    );
    let taken = world
        .apply(&format!("{path}?force=true"), "two", sized(2))
        .await
        .is(200);
    assert_eq!(taken.body["spec"]["size"], 2);
}

#[tokio::test]
async fn an_apply_that_is_not_well_formed_is_refused() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let applied = json!({"apiVersion": "a.dev/v1", "kind": "Thing", "spec": {}});
    let response = world.apply(&path, "me", applied.clone()).await.is(400);
    assert!(
        response.message().ends_with("name must be provided"),
        "{}",
        response.message()
    );
    world
        .patch(&path, "application/apply-patch+yaml", applied.clone())
        .await
        .is(422);
    let mut other = applied.clone();
    other["kind"] = "Boat".into();
    let response = world.apply(&path, "me", other).await.is(400);
    assert_eq!(response.message(), "invalid object type: a.dev/v1, Kind=Boat");
    let mut named = applied.clone();
    named["metadata"] = json!({"name": "b"});
    world.apply(&path, "me", named).await.is(400);
    world
        .apply(&format!("{path}/status"), "me", applied.clone())
        .await
        .is(404);
    world
        .apply("/apis/a.dev/v1/namespaces/nowhere/things/a", "me", applied)
        .await
        .is(404);
}

#[tokio::test]
async fn status_and_spec_are_applied_apart() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let mut both = sized(1);
    both["status"] = json!({"phase": "Done"});
    let main = world.apply(&path, "me", both.clone()).await.is(201);
    assert_eq!(main.body.get("status"), None);
    let mut status = both;
    status["spec"]["size"] = 9.into();
    let status = world.apply(&format!("{path}/status"), "me", status).await.is(200);
    assert_eq!(status.body["status"], json!({"phase": "Done"}));
    assert_eq!(status.body["spec"]["size"], 1);
}

#[tokio::test]
async fn a_dry_run_of_a_patch_changes_nothing() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let first = world.post(THINGS, thing("a")).await.is(201);
    let dry = world
        .merge(&format!("{path}?dryRun=All"), json!({"spec": {"size": 9}}))
        .await
        .is(200);
    assert_eq!(dry.body["spec"]["size"], 9);
    assert_eq!(dry.version(), first.version());
    assert_eq!(world.get(&path).await.body, first.body);
}
