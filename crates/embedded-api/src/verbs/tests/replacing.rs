//! Replacing objects, their status and their scale.

use super::world::{BOATS, LEASES, NODES, THINGS, boat, thing, world};
use serde_json::{Value, json};

#[tokio::test]
async fn an_update_needs_the_version_that_was_read() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let first = world.post(THINGS, thing("a")).await.is(201).body;
    let mut next = first.clone();
    next["spec"]["size"] = 2.into();
    let second = world.put(&path, next.clone()).await.is(200);
    assert_eq!(second.body["metadata"]["generation"], 2);

    let response = world.put(&path, next.clone()).await.is(409);
    assert_eq!(
        response.message(),
        "Operation cannot be fulfilled on things.a.dev \"a\": the object has been modified; please apply your changes to \
         the latest version and try again"
    );
    for missing in [Value::Null, "".into(), "0".into()] {
        next["metadata"]["resourceVersion"] = missing;
        let response = world.put(&path, next.clone()).await.is(422);
        let expected = r#"things.a.dev "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"#;
        assert_eq!(response.message(), expected);
    }
    next["metadata"]["resourceVersion"] = "many".into();
    let response = world.put(&path, next).await.is(500);
    assert_eq!(
        response.message(),
        r#"strconv.ParseUint: parsing "many": invalid syntax"#
    );
}

#[tokio::test]
async fn a_node_may_be_replaced_blindly_and_a_lease_may_not() {
    let world = world().await;
    world.post(NODES, json!({"metadata": {"name": "n-1"}})).await.is(201);
    let labelled = json!({"metadata": {"name": "n-1", "labels": {"camera": "wide"}}});
    let replaced = world.put(&format!("{NODES}/n-1"), labelled).await.is(200);
    assert_eq!(replaced.body["metadata"]["labels"], json!({"camera": "wide"}));
    let lease = json!({"metadata": {"name": "l"}, "spec": {}});
    world.post(LEASES, lease.clone()).await.is(201);
    world.put(&format!("{LEASES}/l"), lease).await.is(422);
}

#[tokio::test]
async fn an_update_that_changes_nothing_is_not_written() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let first = world.post(THINGS, thing("a")).await.is(201).body;
    let before = world.api.revision();
    assert_eq!(world.put(&path, first.clone()).await.is(200).body, first);
    assert_eq!(
        world.merge(&path, json!({"spec": {"size": 1}})).await.is(200).body,
        first
    );
    assert_eq!(world.merge(&path, json!({})).await.is(200).body, first);
    assert_eq!(world.api.revision(), before);
}

#[tokio::test]
async fn a_replacement_of_an_earlier_object_of_that_name_is_refused() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let first = world.post(THINGS, thing("a")).await.is(201).body;
    world.delete(&path).await.is(200);
    world.post(THINGS, thing("a")).await.is(201);
    let response = world.put(&path, first).await.is(409);
    assert!(
        response
            .message()
            .contains("Precondition failed: UID in precondition: "),
        "{}",
        response.message()
    );
}

#[tokio::test]
async fn the_name_in_the_body_is_that_of_the_path() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    let response = world.put(&format!("{THINGS}/a"), thing("b")).await.is(400);
    assert_eq!(
        response.message(),
        "the name of the object (b) does not match the name on the URL (a)"
    );
}

#[tokio::test]
async fn status_is_written_through_its_subresource_only() {
    let world = world().await;
    let path = format!("{THINGS}/a");
    let mut object = world.post(THINGS, thing("a")).await.is(201).body;
    object["status"] = json!({"phase": "Done"});
    object["spec"]["size"] = 5.into();
    object["metadata"]["labels"] = json!({"x": "y"});

    let main = world.put(&path, object.clone()).await.is(200).body;
    assert_eq!(main.get("status"), None);
    assert_eq!(main["spec"]["size"], 5);
    assert_eq!(main["metadata"]["generation"], 2);

    object["metadata"]["resourceVersion"] = main["metadata"]["resourceVersion"].clone();
    object["metadata"]["labels"] = json!({});
    object["spec"]["size"] = 6.into();
    let status = world.put(&format!("{path}/status"), object).await.is(200).body;
    assert_eq!(status["status"], json!({"phase": "Done"}));
    assert_eq!(status["spec"]["size"], 5);
    assert_eq!(status["metadata"]["labels"], json!({"x": "y"}));
    assert_eq!(status["metadata"]["generation"], 2);
    let managed = status["metadata"]["managedFields"].as_array().expect("owners");
    assert!(
        managed.iter().any(|entry| entry["subresource"] == "status"),
        "{managed:?}"
    );
    assert_eq!(world.get(&format!("{path}/status")).await.is(200).body, status);
}

#[tokio::test]
async fn an_object_without_a_status_subresource_takes_status_in_the_main_object() {
    let world = world().await;
    let mut with = boat("b");
    with["status"] = json!({"phase": "Sunk"});
    let made = world.post(BOATS, with).await.is(201);
    assert_eq!(made.body["status"], json!({"phase": "Sunk"}));
    world.get(&format!("{BOATS}/b/status")).await.is(404);
}

#[tokio::test]
async fn the_status_of_a_node_is_updated_and_its_spec_unchanged() {
    let world = world().await;
    world.post(NODES, json!({"metadata": {"name": "n-1"}})).await.is(201);
    let condition = json!({"type": "Ready", "status": "True"});
    let report = json!({"status": {"conditions": [condition]}, "spec": {"unschedulable": true}});
    let patched = world
        .patch(
            &format!("{NODES}/n-1/status"),
            "application/strategic-merge-patch+json",
            report,
        )
        .await
        .is(200);
    assert_eq!(patched.body["status"]["conditions"][0]["status"], "True");
    assert_eq!(patched.body["spec"].get("unschedulable"), None);
}

#[tokio::test]
async fn a_thing_is_scaled_through_its_scale() {
    let world = world().await;
    let path = format!("{THINGS}/a/scale");
    let mut scaled = thing("a");
    scaled["spec"]["replicas"] = 2.into();
    let made = world.post(THINGS, scaled).await.is(201);
    let scale = world.get(&path).await.is(200);
    assert_eq!(
        (&scale.body["apiVersion"], &scale.body["kind"]),
        (&json!("autoscaling/v1"), &json!("Scale"))
    );
    assert_eq!(
        (&scale.body["spec"], &scale.body["status"]),
        (&json!({"replicas": 2}), &json!({"replicas": 0}))
    );
    assert_eq!(scale.version(), made.version());

    let wanted = |replicas: Value, version: Value| {
        json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "resourceVersion": version},
            "spec": {"replicas": replicas},
        })
    };
    let put = world.put(&path, wanted(4.into(), Value::Null)).await.is(200);
    assert_eq!(put.body["spec"], json!({"replicas": 4}));
    world
        .put(
            &path,
            wanted(5.into(), made.body["metadata"]["resourceVersion"].clone()),
        )
        .await
        .is(409);
    let patched = world.merge(&path, json!({"spec": {"replicas": 6}})).await.is(200);
    assert_eq!(patched.body["spec"], json!({"replicas": 6}));
    let again = world.merge(&path, json!({"spec": {"replicas": 6}})).await.is(200);
    assert_eq!(again.version(), patched.version());

    let thing = world.get(&format!("{THINGS}/a")).await.is(200).body;
    assert_eq!(
        (&thing["spec"]["replicas"], &thing["metadata"]["generation"]),
        (&json!(6), &json!(3))
    );
    let managed = thing["metadata"]["managedFields"].as_array().expect("owners");
    assert!(
        managed.iter().any(|entry| entry["subresource"] == "scale"),
        "{managed:?}"
    );
}

#[tokio::test]
async fn a_thing_without_a_number_gets_one_through_its_scale() {
    let world = world().await;
    let path = format!("{THINGS}/a/scale");
    world.post(THINGS, thing("a")).await.is(201);
    let unread = world.get(&path).await.is(500);
    assert_eq!(
        (unread.message(), &unread.body["details"]["causes"][0]["message"]),
        (
            r#"Internal error occurred: the spec replicas field ".spec.replicas" does not exist"#,
            &json!(r#"the spec replicas field ".spec.replicas" does not exist"#)
        )
    );
    for patch in [json!({}), json!({"metadata": {"annotations": {"a": "b"}}})] {
        let empty = world.merge(&path, patch).await.is(400);
        assert_eq!(
            empty.message(),
            r#"the spec replicas field ".spec.replicas" cannot be empty"#
        );
    }
    let replaced = json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]);
    let patched = world.patch(&path, "application/json-patch+json", replaced).await;
    assert_eq!(patched.is(200).body["spec"], json!({"replicas": 3}));
    world.post(THINGS, thing("b")).await.is(201);
    let path = format!("{THINGS}/b/scale");
    let patched = world.merge(&path, json!({"spec": {"replicas": 2}})).await.is(200);
    assert_eq!(patched.body["spec"], json!({"replicas": 2}));
}

#[tokio::test]
async fn a_scale_that_makes_no_sense_is_refused() {
    let world = world().await;
    let path = format!("{THINGS}/a/scale");
    world.get(&path).await.is(404);
    let mut scaled = thing("a");
    scaled["spec"]["replicas"] = 2.into();
    world.post(THINGS, scaled).await.is(201);
    let negative = world.merge(&path, json!({"spec": {"replicas": -1}})).await.is(422);
    assert!(
        negative.message().contains("should be a non-negative integer"),
        "{}",
        negative.message()
    );
    world.merge(&path, json!({"spec": {"replicas": "many"}})).await.is(422);
    world.put(&path, thing("a")).await.is(400);
    world.get(&format!("{BOATS}/a/scale")).await.is(404);
    world.delete(&path).await.is(405);
}
