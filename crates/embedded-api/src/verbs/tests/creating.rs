//! Creating objects.

use super::world::{BOATS, EVENTS, LEASES, NAMESPACES, NODES, THINGS, boat, labelled, request, thing, world};
use http::Method;
use serde_json::json;

#[tokio::test]
async fn a_new_object_has_what_the_server_sets_and_its_defaults() {
    let world = world().await;
    let made = world.post(THINGS, thing("a")).await.is(201);
    let metadata = &made.body["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["uid"].as_str().map(str::len), Some(36));
    assert!(metadata["creationTimestamp"].is_string());
    assert_eq!(made.body["spec"], json!({"size": 1, "colour": "grey"}));
    let managed = &metadata["managedFields"][0];
    assert_eq!(
        (&managed["manager"], &managed["operation"]),
        (&json!("test"), &json!("Update"))
    );
    assert_eq!(world.get(&format!("{THINGS}/a")).await.is(200).body, made.body);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let world = world().await;
    world.post(THINGS, thing("a")).await.is(201);
    for path in [THINGS.to_owned(), format!("{THINGS}?dryRun=All")] {
        let again = world.post(&path, thing("a")).await.is(409);
        assert_eq!(again.message(), r#"things.a.dev "a" already exists"#);
        assert_eq!(again.body["reason"], "AlreadyExists");
    }
}

#[tokio::test]
async fn a_name_on_its_way_out_is_taken_too() {
    let world = world().await;
    let mut held = thing("a");
    held["metadata"]["finalizers"] = json!(["a.dev/x"]);
    world.post(THINGS, held).await.is(201);
    world.delete(&format!("{THINGS}/a")).await.is(200);
    let again = world.post(THINGS, thing("a")).await.is(409);
    assert_eq!(
        again.message(),
        r#"object is being deleted: things.a.dev "a" already exists"#
    );
}

#[tokio::test]
async fn a_generated_name_is_another_each_time() {
    let world = world().await;
    let mut nameless = thing("");
    nameless["metadata"] = json!({"generateName": "north-"});
    let mut names = Vec::new();
    for _ in 0..3 {
        let made = world.post(THINGS, nameless.clone()).await.is(201);
        let name = made.body["metadata"]["name"].as_str().expect("a name").to_owned();
        assert!(name.starts_with("north-") && name.len() == "north-".len() + 5, "{name}");
        names.push(name);
    }
    names.dedup();
    assert_eq!(names.len(), 3);
}

#[tokio::test]
async fn an_object_without_a_name_is_refused() {
    let world = world().await;
    let mut nameless = thing("");
    nameless["metadata"] = json!({});
    let response = world.post(THINGS, nameless).await.is(422);
    assert!(
        response
            .message()
            .contains("metadata.name: Required value: name or generateName is required"),
        "{}",
        response.body
    );
}

#[tokio::test]
async fn a_dry_run_does_everything_but_store() {
    let world = world().await;
    let before = world.api.revision();
    let made = world.post(&format!("{THINGS}?dryRun=All"), thing("a")).await.is(201);
    assert_eq!(made.body["spec"]["colour"], "grey");
    assert!(made.body["metadata"]["uid"].is_string());
    assert_eq!(made.body["metadata"].get("resourceVersion"), None);
    world.get(&format!("{THINGS}/a")).await.is(404);
    assert_eq!(world.api.revision(), before);
}

#[tokio::test]
async fn status_is_dropped_from_a_new_object() {
    let world = world().await;
    let mut with = thing("a");
    with["status"] = json!({"phase": "Done"});
    let made = world.post(THINGS, with).await.is(201);
    assert_eq!(made.body.get("status"), None);
}

#[tokio::test]
async fn a_version_cannot_be_chosen() {
    let world = world().await;
    let mut with = thing("a");
    with["metadata"]["resourceVersion"] = "5".into();
    let response = world.post(THINGS, with).await.is(500);
    assert_eq!(
        response.message(),
        "resourceVersion should not be set on objects to be created"
    );
}

#[tokio::test]
async fn there_is_no_room_in_a_namespace_that_is_missing() {
    let world = world().await;
    let response = world
        .post("/apis/a.dev/v1/namespaces/nowhere/things", thing("a"))
        .await
        .is(404);
    assert_eq!(response.message(), r#"namespaces "nowhere" not found"#);
    assert_eq!(
        response.body["details"],
        json!({"name": "nowhere", "kind": "namespaces"})
    );
}

#[tokio::test]
async fn the_namespace_of_the_body_is_that_of_the_path() {
    let world = world().await;
    let mut elsewhere = thing("a");
    elsewhere["metadata"]["namespace"] = "kube-system".into();
    let response = world.post(THINGS, elsewhere).await.is(400);
    assert_eq!(
        response.message(),
        "the namespace of the provided object does not match the namespace sent on the request"
    );
}

#[tokio::test]
async fn broken_rules_of_the_schema_are_reported_as_causes() {
    let world = world().await;
    let mut large = thing("a");
    large["spec"] = json!({"size": 101, "colour": "pink"});
    let response = world.post(THINGS, large).await.is(422);
    assert!(
        response.message().starts_with(r#"Thing.a.dev "a" is invalid: ["#),
        "{}",
        response.message()
    );
    let causes = response.body["details"]["causes"].as_array().expect("causes");
    let fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    assert_eq!(fields, ["spec.size", "spec"]);
}

#[tokio::test]
async fn unknown_fields_are_warned_of_refused_or_ignored() {
    let world = world().await;
    let mut odd = thing("a");
    odd["spec"]["siren"] = true.into();
    let warned = world.post(&format!("{THINGS}?dryRun=All"), odd.clone()).await.is(201);
    assert_eq!(warned.warnings, [r#"299 - "unknown field \"spec.siren\"""#]);
    assert_eq!(warned.body["spec"].get("siren"), None);
    let strict = world
        .post(&format!("{THINGS}?fieldValidation=Strict"), odd.clone())
        .await
        .is(400);
    let expected =
        r#"Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "spec.siren""#;
    assert_eq!(strict.message(), expected);
    let ignored = world
        .post(&format!("{THINGS}?fieldValidation=Ignore"), odd)
        .await
        .is(201);
    assert_eq!(ignored.warnings, [""; 0]);
}

#[tokio::test]
async fn duplicate_fields_are_reported_too() {
    let world = world().await;
    let mut request = request(Method::POST, &format!("{THINGS}?fieldValidation=Strict"), None);
    request.body =
        r#"{"apiVersion":"a.dev/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1,"size":2}}"#.into();
    let response = world.send(request).await.is(400);
    assert!(
        response
            .message()
            .ends_with(r#"strict decoding error: duplicate field "spec.size""#),
        "{}",
        response.message()
    );
}

#[tokio::test]
async fn an_object_that_is_too_large_is_refused() {
    let world = world().await;
    let response = world.post(THINGS, labelled("a", json!({}))).await.is(201);
    assert_eq!(response.body["metadata"]["name"], "a");
    let mut boat = super::world::boat("big");
    boat["spec"]["cargo"] = "x".repeat(1_600_000).into();
    let response = world.post(super::world::BOATS, boat).await.is(413);
    assert_eq!(response.message(), "Request entity too large: limit is 1572864");
}

#[tokio::test]
async fn a_node_needs_no_kind_and_gets_no_generation() {
    let world = world().await;
    let made = world
        .post(NODES, json!({"metadata": {"name": "n-1", "namespace": "default"}}))
        .await
        .is(201);
    assert_eq!(
        (&made.body["apiVersion"], &made.body["kind"]),
        (&json!("v1"), &json!("Node"))
    );
    assert_eq!(made.body["metadata"].get("generation"), None);
    assert_eq!(made.body["metadata"].get("namespace"), None);
}

#[tokio::test]
async fn a_field_of_the_wrong_type_in_a_built_in_object_cannot_be_read() {
    let world = world().await;
    let response = world
        .post(
            NODES,
            json!({"metadata": {"name": "n-1"}, "spec": {"unschedulable": "yes"}}),
        )
        .await
        .is(400);
    assert_eq!(
        response.message(),
        "Node in version \"v1\" cannot be handled as a Node: json: cannot unmarshal string into Go struct field \
         NodeSpec.spec.unschedulable of type bool"
    );
}

#[tokio::test]
async fn a_namespace_is_born_active() {
    let world = world().await;
    let made = world
        .post(NAMESPACES, json!({"metadata": {"name": "field"}}))
        .await
        .is(201);
    assert_eq!(made.body["status"], json!({"phase": "Active"}));
    assert_eq!(
        made.body["metadata"]["labels"],
        json!({"kubernetes.io/metadata.name": "field"})
    );
    world
        .post("/apis/a.dev/v1/namespaces/field/things", thing("a"))
        .await
        .is(201);
}

#[tokio::test]
async fn an_event_is_one_object_in_two_apis() {
    let world = world().await;
    let newer = "/apis/events.k8s.io/v1/namespaces/default/events";
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"kind": "Thing", "name": "a", "namespace": "default"},
        "reason": "Low", "message": "low", "type": "Warning",
    });
    world.post(EVENTS, event).await.is(201);
    let response = world.get(&format!("{newer}/e")).await.is(200);
    assert_eq!(
        (&response.body["note"], &response.body["regarding"]["name"]),
        (&json!("low"), &json!("a"))
    );
    let new = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "f"}, "regarding": {"namespace": "default"},
        "note": "bound", "reason": "Bound", "type": "Normal", "action": "Bind",
        "eventTime": "2026-01-02T03:04:05.000006Z", "reportingController": "a.dev/c", "reportingInstance": "c-1",
    });
    world.post(newer, new).await.is(201);
    let response = world.get(&format!("{EVENTS}/f")).await.is(200);
    assert_eq!(
        (&response.body["message"], &response.body["apiVersion"]),
        (&json!("bound"), &json!("v1"))
    );
    assert_eq!(world.get(newer).await.is(200).names(), ["e", "f"]);
}

#[tokio::test]
async fn a_replacement_of_a_missing_lease_makes_it_and_of_another_object_does_not() {
    let world = world().await;
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 10}});
    world.put(&format!("{LEASES}/l"), lease).await.is(201);
    world
        .put(&format!("{NODES}/n-1"), json!({"metadata": {"name": "n-1"}}))
        .await
        .is(404);
    let response = world.put(&format!("{THINGS}/a"), thing("a")).await.is(404);
    assert_eq!(response.message(), r#"things.a.dev "a" not found"#);
}

#[tokio::test]
async fn self_reviews_are_answered_and_not_stored() {
    let world = world().await;
    let before = world.api.revision();
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "create", "resource": "things"}},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = world.post(path, review.clone()).await.is(201);
    assert_eq!(answer.body["status"]["allowed"], true);
    assert_eq!(answer.body["spec"], review["spec"]);
    let rules = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {}});
    let answer = world
        .post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", rules)
        .await
        .is(201);
    assert_eq!(answer.body["status"]["resourceRules"][0]["verbs"], json!(["*"]));
    let me = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = world
        .post("/apis/authentication.k8s.io/v1/selfsubjectreviews", me)
        .await
        .is(201);
    assert!(answer.body["status"]["userInfo"]["username"].is_string());
    assert_eq!(world.api.revision(), before);
}

#[tokio::test]
async fn an_object_that_is_nested_too_deeply_is_refused_also_dry_and_harms_nothing() {
    let world = world().await;
    for levels in [100, 116, 117, 118, 119, 120, 121, 122, 123, 124] {
        let mut deep = boat(&format!("b-{levels}"));
        deep["spec"] = (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
        let dry = world.post(&format!("{BOATS}?dryRun=All"), deep.clone()).await;
        let made = world.post(BOATS, deep).await;
        assert_eq!(dry.code, made.code, "{levels}");
        let path = format!("{BOATS}/b-{levels}");
        match made.code {
            // With its field owners it is deeper than it was sent.
            201 => {
                world.get(&path).await.is(200);
                assert!(levels < 120);
            }
            code => assert!(code == 400 && levels > 100, "{levels}: {}", made.body),
        }
    }
    let world = world.restarted().await;
    world.get(&format!("{BOATS}/b-100")).await.is(200);
    assert!(!world.get(BOATS).await.is(200).names().is_empty());
}

#[tokio::test]
async fn a_new_object_may_have_version_0() {
    let world = world().await;
    let mut thing = thing("a");
    thing["metadata"]["resourceVersion"] = "0".into();
    let made = world.post(THINGS, thing).await.is(201);
    assert!(made.version() > 0);
}
