//! Merge patches and their refusals, as recorded from a real API server (1.36.3).

use crate::apply::tests::recorded::widget;
use crate::patch::{PatchType, apply};
use serde_json::json;

#[test]
fn null_removes_and_lists_are_replaced() {
    let object = json!({"spec": {"text": "x", "tags": {"k": "v"}, "list": [1, 2]}});
    let patch = json!({"spec": {"text": null, "tags": {"y": "1", "z": null}, "list": [3], "free": {"m": {"q": null}}}});
    let spec = json!({"tags": {"k": "v", "y": "1"}, "list": [3], "free": {"m": {}}});
    let body = serde_json::to_vec(&patch).unwrap();
    let patched = apply(PatchType::Merge, &widget(), object, &body).unwrap();
    assert_eq!(patched.object, json!({"spec": spec}));
}

#[test]
fn what_is_no_part_of_an_object_is_refused() {
    let refused = |body: &str| apply(PatchType::Merge, &widget(), json!({}), body.as_bytes()).unwrap_err();
    for body in ["[1", "[1]", "\"x\"", " null\n", ""] {
        assert_eq!(refused(body).code, 400);
    }
}
