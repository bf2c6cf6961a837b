//! Cases that the sequences of [`recorded`] do not cover.

pub(crate) mod recorded;
mod sequences;

use self::recorded::{object, of, widget};
use super::managed::Managed;
use super::{Writer, merge, track};
use crate::resource::Resource;
use crate::schema::{ListType, Schema, Type};
use serde_json::{Value, json};
use std::sync::Arc;

const NOW: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-01-01T00:00:01Z";

fn writer<'a>(resource: &'a Resource, manager: &'a str, now: &'a str) -> Writer<'a> {
    Writer {
        resource,
        manager,
        subresource: None,
        now,
    }
}

fn widget_with(spec: Value) -> Value {
    json!({"apiVersion": "test.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

fn created(spec: Value) -> Value {
    track::update(None, widget_with(spec), &writer(&widget(), "a", NOW))
}

fn entry(manager: &str, operation: &str, version: &str, fields: Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields,
    })
}

fn entries(object: &Value) -> &Value {
    &object["metadata"]["managedFields"]
}

#[test]
fn an_entry_is_written_as_kubernetes_writes_it() {
    let mut object = created(json!({"replicas": 1}));
    let owned = json!({"f:spec": {".": {}, "f:replicas": {}}});
    let mut first = entry("a", "Update", "test.dev/v1", owned);
    first["time"] = NOW.into();
    assert_eq!(entries(&object), &json!([first]));

    let resource = widget();
    let status = Writer {
        subresource: Some("status"),
        ..writer(&resource, "b", LATER)
    };
    let old = object.clone();
    object["status"] = json!({"phase": "x"});
    let object = track::update(Some(&old), object, &status);
    let mut second = entry(
        "b",
        "Update",
        "test.dev/v1",
        json!({"f:status": {".": {}, "f:phase": {}}}),
    );
    second["time"] = LATER.into();
    second["subresource"] = "status".into();
    assert_eq!(entries(&object), &json!([first, second]));
}

#[test]
fn a_writer_without_a_name_is_unknown() {
    let object = track::update(None, widget_with(json!({})), &writer(&widget(), "", NOW));
    assert_eq!(entries(&object)[0]["manager"], "unknown");
}

#[test]
fn entries_come_appliers_first_then_by_time_then_by_name() {
    let resource = widget();
    let mut live = created(json!({"text": "t"}));
    for (manager, now) in [("z", NOW), ("b", LATER)] {
        let mut new = live.clone();
        new["spec"][if manager == "z" { "replicas" } else { "text" }] = json!(manager.len());
        live = track::update(Some(&live), new, &writer(&resource, manager, now));
    }
    let applied = widget_with(json!({"inner": {"a": "1"}}));
    let live = merge::apply(Some(&live), &applied, &writer(&resource, "last", LATER), false).unwrap();
    let managers: Vec<&Value> = entries(&live)
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["manager"])
        .collect();
    assert_eq!(managers, ["last", "a", "z", "b"]);
}

#[test]
fn a_write_that_changes_nothing_changes_no_time() {
    let live = created(json!({"replicas": 1}));
    let same = track::update(Some(&live), live.clone(), &writer(&widget(), "b", LATER));
    assert_eq!(same, live);
    let mut with_other_times = live.clone();
    with_other_times["metadata"]["managedFields"][0]["time"] = LATER.into();
    let same = track::update(Some(&live), with_other_times, &writer(&widget(), "b", LATER));
    assert_eq!(same, live);
}

#[test]
fn times_of_entries_that_are_sent_are_stored_in_utc_and_whole_seconds() {
    let live = created(json!({"replicas": 1}));
    let mut new = live.clone();
    let mut sent = entry("q", "Apply", "test.dev/v1", json!({"f:spec": {"f:replicas": {}}}));
    sent["time"] = json!("2026-01-01T02:00:00.5+02:00");
    new["metadata"]["managedFields"] = json!([sent]);
    let object = track::update(Some(&live), new, &writer(&widget(), "b", LATER));
    assert_eq!(entries(&object)[0]["time"], NOW);
}

#[test]
fn entries_in_other_versions_stay_as_they_are() {
    let resource = widget();
    let mut live = created(json!({"replicas": 1}));
    let old = entry("q", "Update", "test.dev/v0", json!({"f:spec": {"f:replicas": {}}}));
    let applied = entry("b", "Apply", "test.dev/v0", json!({"f:spec": {"f:text": {}}}));
    live["metadata"]["managedFields"] = json!([applied, old]);
    live["spec"]["text"] = json!("t");
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(2);
    let live = track::update(Some(&live), new, &writer(&resource, "c", NOW));
    let managed = Managed::of(&live);
    assert_eq!(managed.iter().count(), 3);
    // Its fields were named in another version, so fields that it no longer names are not searched.
    let applied = widget_with(json!({"replicas": 2}));
    let live = merge::apply(Some(&live), &applied, &writer(&resource, "b", NOW), false).unwrap();
    assert_eq!(live["spec"], json!({"replicas": 2, "text": "t"}));
    assert_eq!(Managed::of(&live).iter().count(), 3);
}

#[test]
fn an_empty_list_of_entries_is_forgetting_only_for_built_in_kinds() {
    let built_in = Resource {
        custom: false,
        ..widget()
    };
    let live = created(json!({"replicas": 1}));
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([]);
    let updated = track::update(Some(&live), new.clone(), &writer(&widget(), "b", NOW));
    assert_eq!(entries(&updated), entries(&live));
    let forgotten = track::update(Some(&live), new, &writer(&built_in, "b", NOW));
    assert_eq!(entries(&forgotten), &Value::Null);
}

#[test]
fn the_oldest_of_eleven_writers_are_joined() {
    let resource = widget();
    let mut live = created(json!({}));
    for index in 0..11 {
        let mut new = live.clone();
        new["spec"]["tags"][format!("t{index}")] = "x".into();
        let now = format!("2026-01-01T00:{:02}:00Z", (index + 9) % 11);
        live = track::update(Some(&live), new, &writer(&resource, &format!("w{index:02}"), &now));
    }
    let managed = Managed::of(&live);
    assert_eq!(managed.iter().count(), 10);
    let joined = managed
        .iter()
        .find(|entry| entry.owner.manager == "ancient-changes")
        .unwrap();
    assert_eq!(
        joined.fields.to_json(),
        json!({"f:spec": {".": {}, "f:tags": {"f:t2": {}, "f:t3": {}}}})
    );
    assert_eq!(joined.time.as_deref(), Some("2026-01-01T00:01:00Z"));
}

#[test]
fn what_became_one_whole_is_owned_as_one() {
    let list = |list_type: ListType| Schema {
        items: Some(Box::new(of(Type::String))),
        list: list_type,
        ..of(Type::Array)
    };
    let kind = |list_type: ListType| Resource {
        schema: Arc::new(object(vec![("spec", object(vec![("set", list(list_type))]))])),
        ..widget()
    };
    let (set, atomic) = (kind(ListType::Set), kind(ListType::Atomic));
    let applied = |items: &[&str]| widget_with(json!({"set": items}));
    let live = merge::apply(None, &applied(&["x"]), &writer(&set, "a", NOW), false).unwrap();
    let other = |force| merge::apply(Some(&live), &applied(&["y"]), &writer(&atomic, "b", NOW), force);
    let refusal = other(false).unwrap_err();
    assert_eq!(
        refusal.message,
        "Apply failed with 1 conflict: conflict with \"a\": .spec.set"
    );
    assert_eq!(other(true).unwrap()["spec"]["set"], json!(["y"]));
}

#[test]
fn entries_that_cannot_be_read_stop_an_apply_but_no_plain_write() {
    let resource = widget();
    let mut live = created(json!({"replicas": 1}));
    live["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Bad"}]);
    let refusal = merge::apply(
        Some(&live),
        &widget_with(json!({})),
        &writer(&resource, "b", NOW),
        false,
    )
    .unwrap_err();
    assert!(refusal.message.contains("operation"), "{}", refusal.message);
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(2);
    let object = track::update(Some(&live), new, &writer(&resource, "b", NOW));
    assert_eq!(entries(&object), &Value::Null);
}

#[test]
fn kubectl_keeps_the_annotation_of_client_side_apply_up_to_date() {
    let resource = widget();
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let mut object = widget_with(json!({"replicas": 1}));
    object["metadata"]["annotations"] = json!({annotation: "{}"});
    let live = track::update(None, object, &writer(&resource, "kubectl-client-side-apply", NOW));
    let applied = widget_with(json!({"replicas": 1, "text": "t"}));
    let apply = |manager| merge::apply(Some(&live), &applied, &writer(&resource, manager, NOW), false).unwrap();
    let text = |object: &Value| {
        object["metadata"]["annotations"][annotation]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let updated: Value = serde_json::from_str(&text(&apply("kubectl"))).unwrap();
    assert_eq!(updated, applied);
    assert_eq!(text(&apply("other")), "{}");
}

#[test]
fn core_kinds_are_named_without_a_group() {
    let node = Resource {
        group: String::new(),
        kind: "Node".to_owned(),
        ..widget()
    };
    let refused = |applied: Value| {
        merge::apply(None, &applied, &writer(&node, "a", NOW), false)
            .unwrap_err()
            .message
    };
    assert_eq!(refused(json!({})), "invalid object type: /, Kind=");
    assert_eq!(
        refused(json!({"apiVersion": "v2", "kind": "Node"})),
        "invalid object type: /v2, Kind=Node"
    );
    assert_eq!(
        refused(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "s"}, "x": 1})),
        "failed to create typed patch object (s/n; /v1, Kind=Node): .x: field not declared in schema"
    );
}
