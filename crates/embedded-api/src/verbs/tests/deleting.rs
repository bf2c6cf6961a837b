//! Deleting objects, one by one and together.

use super::world::{BOATS, NAMESPACES, NODES, THINGS, boat, labelled, thing, world};
use serde_json::{Value, json};

fn held(name: &str) -> Value {
    let mut thing = thing(name);
    thing["metadata"]["finalizers"] = json!(["a.dev/x"]);
    thing
}

#[tokio::test]
async fn a_deletion_answers_what_it_did() {
    let world = world().await;
    let made = world.post(THINGS, thing("a")).await.is(201).body;
    let gone = world.delete(&format!("{THINGS}/a")).await.is(200).body;
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": "a", "group": "a.dev", "kind": "things", "uid": made["metadata"]["uid"]},
    });
    assert_eq!(gone, expected);
    let again = world.delete(&format!("{THINGS}/a")).await.is(404);
    assert_eq!(again.message(), r#"things.a.dev "a" not found"#);
}

#[tokio::test]
async fn a_deleted_object_with_a_finalizer_stays_until_it_is_taken_off() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, held("a")).await.is(201);
    let going = world.delete(&path).await.is(200);
    assert!(going.body["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(going.body["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(going.body["metadata"]["generation"], 2);
    let again = world.delete(&path).await.is(200);
    assert_eq!(again.version(), going.version());

    world.merge(&path, json!({"spec": {"size": 3}})).await.is(200);
    let response = world
        .merge(&path, json!({"metadata": {"finalizers": ["a.dev/x", "a.dev/new"]}}))
        .await
        .is(422);
    assert!(
        response
            .message()
            .contains("no new finalizers can be added if the object is being deleted")
    );

    let last = world
        .merge(&path, json!({"metadata": {"finalizers": null}}))
        .await
        .is(200);
    assert_eq!(last.body["spec"]["size"], 3);
    world.get(&path).await.is(404);
}

#[tokio::test]
async fn a_replacement_may_take_the_last_finalizer_off() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    world.post(THINGS, held("a")).await.is(201);
    let mut going = world.delete(&path).await.is(200).body;
    going["metadata"]["finalizers"] = json!([]);
    world.put(&path, going).await.is(200);
    world.get(&path).await.is(404);
}

#[tokio::test]
async fn a_deletion_may_require_uid_and_version() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let made = world.post(THINGS, thing("a")).await.is(201).body;
    let with = |uid: &Value, version: &Value| json!({"preconditions": {"uid": uid, "resourceVersion": version}});
    let (uid, version) = (&made["metadata"]["uid"], &made["metadata"]["resourceVersion"]);
    let response = world
        .delete_with(&path, with(&"other".into(), &Value::Null))
        .await
        .is(409);
    assert!(
        response
            .message()
            .starts_with(r#"Operation cannot be fulfilled on Thing.a.dev "a": the UID in the precondition"#)
    );
    let response = world.delete_with(&path, with(&Value::Null, &"1".into())).await.is(409);
    assert!(
        response
            .message()
            .contains("the ResourceVersion in the precondition (1) does not match")
    );
    world.get(&path).await.is(200);
    world.delete_with(&path, with(uid, version)).await.is(200);
    world.get(&path).await.is(404);
}

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
async fn options_of_a_deletion_are_checked() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    let path = format!("{THINGS}/a");
    world
        .delete_with(&path, json!({"propagationPolicy": "Guess"}))
        .await
        .is(422);
    world.delete_with(&path, thing("a")).await.is(400);
    world.delete(&format!("{path}?gracePeriodSeconds=x")).await.is(400);
    world.get(&path).await.is(200);
}

#[tokio::test]
async fn a_collection_is_deleted_by_its_labels_and_fields() {
    let world = world().await;
    for (name, camera) in [("a", "thermal"), ("c", "wide"), ("d", "wide")] {
        world
            .post(THINGS, labelled(name, json!({"camera": camera})))
            .await
            .is(201);
    }
    let mut going = held("b");
    going["metadata"]["labels"] = json!({"camera": "thermal"});
    world.post(THINGS, going).await.is(201);

    let deleted = world
        .delete(&format!("{THINGS}?labelSelector=camera%3Dthermal"))
        .await
        .is(200);
    assert_eq!(deleted.names(), ["a", "b"]);
    assert_eq!(world.get(THINGS).await.names(), ["b", "c", "d"]);
    assert_eq!(
        world
            .delete(&format!("{THINGS}?fieldSelector=metadata.name%3Dc"))
            .await
            .is(200)
            .names(),
        ["c"]
    );
    world.delete(&format!("{THINGS}?labelSelector=a%20b")).await.is(400);
    world.delete(THINGS).await.is(200);
    let left = world.get(THINGS).await;
    assert_eq!(left.names(), ["b"]);
    assert!(left.body["items"][0]["metadata"]["deletionTimestamp"].is_string());
}

#[tokio::test]
async fn a_namespace_goes_with_all_that_is_in_it() {
    let world = world().await;
    let things = "/apis/a.dev/v1/namespaces/field/things";
    world
        .post(NAMESPACES, json!({"metadata": {"name": "field"}}))
        .await
        .is(201);
    world.post(things, thing("plain")).await.is(201);
    world.post(things, held("held")).await.is(201);
    world
        .post(
            "/api/v1/namespaces/field/events",
            json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "field"}}),
        )
        .await
        .is(201);

    let going = world.delete("/api/v1/namespaces/field").await.is(200);
    assert_eq!(going.body["status"]["phase"], "Terminating");
    world.until_gone(&format!("{things}/plain")).await;
    let is_going = |response: &super::world::Response| response.body["metadata"]["deletionTimestamp"].is_string();
    world
        .until(&format!("{things}/held"), "the held one to go", is_going)
        .await;
    let response = world.post(things, thing("late")).await.is(403);
    assert_eq!(
        response.message(),
        "things.a.dev \"late\" is forbidden: unable to create new content in namespace field because it is being terminated"
    );
    assert_eq!(response.body["details"]["causes"][0]["reason"], "NamespaceTerminating");
    world.get("/api/v1/namespaces/field").await.is(200);

    world
        .merge(&format!("{things}/held"), json!({"metadata": {"finalizers": null}}))
        .await
        .is(200);
    world.until_gone("/api/v1/namespaces/field").await;
    assert_eq!(world.get("/api/v1/namespaces/field/events").await.names(), [""; 0]);
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
async fn the_first_namespaces_cannot_be_deleted() {
    let world = world().await;
    for name in ["default", "kube-system", "kube-public"] {
        let response = world.delete(&format!("{NAMESPACES}/{name}")).await.is(403);
        assert_eq!(
            response.message(),
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted")
        );
    }
    world.delete(NAMESPACES).await.is(405);
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
