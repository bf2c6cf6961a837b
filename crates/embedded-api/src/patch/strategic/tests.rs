//! Strategic merge patches and their refusals, as recorded from a real API server (1.36.3).

use crate::apply::tests::recorded::{keyed, list, object, of, text, widget};
use crate::patch::{PatchType, apply};
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::schema::{Schema, Type};
use serde_json::{Value, json};
use std::sync::Arc;

fn node() -> Resource {
    let merged = |key: &str, schema: Schema| Schema {
        patch_merge_key: Some(key.to_owned()),
        ..schema
    };
    let fields = |names: &[&'static str]| object(names.iter().map(|&name| (name, text())).collect());
    let taint = fields(&["key", "effect"]);
    let condition = fields(&["type", "status", "reason"]);
    let spec = object(vec![
        ("unschedulable", of(Type::Boolean)),
        ("taints", list(taint)),
        ("podCIDRs", merged("", list(text()))),
    ]);
    let status = object(vec![("conditions", merged("type", keyed(&["type"], condition)))]);
    Resource {
        group: String::new(),
        kind: "Node".to_owned(),
        custom: false,
        schema: Arc::new(object(vec![("spec", spec), ("status", status)])),
        ..widget()
    }
}

fn live() -> Value {
    json!({
        "metadata": {"labels": {"a": "1"}, "finalizers": ["x.dev/a", "x.dev/b"]},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
        "status": {"conditions": [
            {"type": "Ready", "status": "True"}, {"type": "Mem", "status": "False"}, {"type": "Disk", "status": "False"}
        ]},
    })
}

fn patched(object: Value, patch: &Value) -> Result<Value, Refusal> {
    let body = serde_json::to_vec(patch).unwrap();
    apply(PatchType::Strategic, &node(), object, &body).map(|patched| patched.object)
}

fn done(patch: Value) -> Result<Value, Refusal> {
    patched(live(), &patch)
}

#[test]
fn cordon_taint_and_label_do_what_kubectl_means() {
    for (patch, pointer, value) in [
        (
            json!({"spec": {"unschedulable": true}}),
            "/spec/unschedulable",
            json!(true),
        ),
        (json!({"spec": {"taints": null}}), "/spec", json!({})),
        (
            json!({"spec": {"taints": [{"key": "z", "effect": "NoExecute"}]}}),
            "/spec/taints",
            json!([{"key": "z", "effect": "NoExecute"}]),
        ),
        (
            json!({"metadata": {"labels": {"a": null, "b": "2"}}}),
            "/metadata/labels",
            json!({"b": "2"}),
        ),
        (
            json!({"metadata": {"annotations": {"x": null, "y": "1"}}}),
            "/metadata/annotations",
            json!({"y": "1"}),
        ),
        (
            json!({"spec": {"other": {"$patch": "delete"}}}),
            "/spec/other",
            json!(null),
        ),
    ] {
        let object = done(patch.clone()).unwrap();
        assert_eq!(object.pointer(pointer).unwrap_or(&Value::Null), &value, "{patch}");
    }
}

#[test]
fn directives_replace_delete_and_retain() {
    let metadata = |labels: Value| done(json!({"metadata": labels})).unwrap()["metadata"].clone();
    let labels = |labels: Value| metadata(json!({"labels": labels}))["labels"].clone();
    assert_eq!(labels(json!({"$patch": "replace", "c": "3"})), json!({"c": "3"}));
    assert_eq!(labels(json!({"$patch": "delete"})), json!({}));
    assert_eq!(labels(json!({"$retainKeys": ["z"], "z": "1"})), json!({"z": "1"}));
    assert_eq!(
        metadata(json!({"$retainKeys": ["labels"]})),
        json!({"labels": {"a": "1"}})
    );
    assert_eq!(done(json!({"$patch": "replace", "x": 1})), Ok(json!({"x": 1})));
    assert_eq!(done(json!({"$patch": "delete"})), Ok(json!({})));
}

#[test]
fn values_of_a_set_are_merged_and_ordered() {
    for (patch, finalizers) in [
        (json!({"finalizers": ["c"]}), json!(["c", "x.dev/a", "x.dev/b"])),
        (
            json!({"finalizers": ["x.dev/a", "c", "c"]}),
            json!(["x.dev/a", "c", "x.dev/b"]),
        ),
        (json!({"finalizers": []}), json!(["x.dev/a", "x.dev/b"])),
        (
            json!({"$deleteFromPrimitiveList/finalizers": ["x.dev/a"]}),
            json!(["x.dev/b"]),
        ),
        (
            json!({"$deleteFromPrimitiveList/finalizers": ["zz"]}),
            json!(["x.dev/a", "x.dev/b"]),
        ),
        (
            json!({"$setElementOrder/finalizers": ["x.dev/b", "x.dev/a"]}),
            json!(["x.dev/b", "x.dev/a"]),
        ),
        (
            json!({"$setElementOrder/finalizers": ["c", "x.dev/b", "x.dev/a"], "finalizers": ["c"]}),
            json!(["c", "x.dev/b", "x.dev/a"]),
        ),
        (
            json!({
                "$setElementOrder/finalizers": ["c", "x.dev/b"], "finalizers": ["c"],
                "$deleteFromPrimitiveList/finalizers": ["x.dev/a"],
            }),
            json!(["c", "x.dev/b"]),
        ),
    ] {
        let object = done(json!({"metadata": patch})).unwrap();
        assert_eq!(object["metadata"]["finalizers"], finalizers, "{patch}");
    }
}

#[test]
fn items_with_a_key_are_merged_and_ordered() {
    let ready = json!({"type": "Ready", "status": "True"});
    let mem = json!({"type": "Mem", "status": "False"});
    let disk = json!({"type": "Disk", "status": "False"});
    let new = json!({"type": "New", "status": "True"});
    for (patch, conditions) in [
        (
            json!({"conditions": [{"type": "Ready", "status": "False", "reason": "r"}]}),
            json!([{"type": "Ready", "status": "False", "reason": "r"}, mem, disk]),
        ),
        (json!({"conditions": [new]}), json!([new, ready, mem, disk])),
        (
            json!({"conditions": [{"type": "Mem", "$patch": "delete"}]}),
            json!([ready, disk]),
        ),
        (
            json!({"conditions": [{"type": "X", "$patch": "delete"}]}),
            json!([ready, mem, disk]),
        ),
        (json!({"conditions": [{"$patch": "replace"}, new]}), json!([new])),
        (json!({"conditions": [{"$patch": "replace"}]}), json!([])),
        (
            json!({"conditions": [new, {"type": "Mem", "status": "True"}, {"type": "Ready", "status": null}]}),
            json!([new, {"type": "Mem", "status": "True"}, {"type": "Ready"}, disk]),
        ),
        (
            json!({
                "$setElementOrder/conditions": [{"type": "Disk"}, {"type": "New"}, {"type": "Ready"}],
                "conditions": [new, {"type": "Ready", "status": "Unknown"}],
            }),
            json!([mem, disk, new, {"type": "Ready", "status": "Unknown"}]),
        ),
    ] {
        let object = done(json!({"status": patch})).unwrap();
        assert_eq!(object["status"]["conditions"], conditions, "{patch}");
    }
}

#[test]
fn a_new_list_is_taken_without_its_directives() {
    let patch = json!({"metadata": {"ownerReferences": [
        {"uid": "u1", "name": "o", "controller": null}, {"$patch": "delete", "uid": "u2"},
    ]}});
    assert_eq!(
        done(patch).unwrap()["metadata"]["ownerReferences"],
        json!([{"uid": "u1", "name": "o"}])
    );
}

#[test]
fn faults_of_a_patch_have_the_codes_of_an_api_server() {
    let metadata = |patch: Value| json!({"metadata": patch});
    let conditions = |items: Value| json!({"status": {"conditions": items}});
    for (patch, code) in [
        (metadata(json!({"labels": {"$patch": "frob", "c": "3"}})), 500),
        (metadata(json!({"labels": {"$patch": "merge", "c": "3"}})), 500),
        (metadata(json!({"labels": {"$retainKeys": ["z"], "q": "1"}})), 400),
        (metadata(json!({"labels": {"$retainKeys": "z"}})), 400),
        (
            metadata(json!({"$setElementOrder/finalizers": ["x.dev/b", "x.dev/a"], "finalizers": ["x.dev/c"]})),
            500,
        ),
        (metadata(json!({"$setElementOrder/finalizers": "x"})), 500),
        (metadata(json!({"$setElementOrderfinalizers": ["x"]})), 400),
        (metadata(json!({"$deleteFromPrimitiveList": ["x"]})), 400),
        (metadata(json!({"finalizers": [1]})), 500),
        (conditions(json!([{"$patch": "delete"}])), 500),
        (conditions(json!([{"type": "Ready", "$patch": "merge"}])), 500),
        (conditions(json!([{"type": "Ready", "$patch": "x"}])), 500),
        (conditions(json!([{"status": "True"}])), 500),
        (
            json!({"status": {
                "$setElementOrder/conditions": [{"type": "Disk"}, {"type": "Ready"}, {"type": "New"}],
                "conditions": [{"type": "New", "status": "True"}, {"type": "Ready", "status": "Unknown"}],
            }}),
            500,
        ),
    ] {
        let refusal = done(patch.clone()).unwrap_err();
        assert_eq!(refusal.code, code, "{patch}");
    }
}

#[test]
fn lists_of_lists_are_refused() {
    let object = json!({"metadata": {"finalizers": []}});
    let patch = json!({"metadata": {"finalizers": [["x"]]}});
    let refusal = patched(object, &patch).unwrap_err();
    assert_eq!((refusal.code, refusal.reason), (422, "Invalid"));
}

#[test]
fn what_is_no_part_of_an_object_is_refused() {
    let applied = |body: &str| apply(PatchType::Strategic, &node(), live(), body.as_bytes());
    for body in ["[1]", "{\"a\""] {
        assert_eq!(applied(body).unwrap_err().code, 400);
    }
    assert_eq!(applied("null").unwrap().object, live(), "null changes nothing");
}
