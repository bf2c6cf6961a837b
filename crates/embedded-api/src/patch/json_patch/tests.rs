//! JSON patches and their refusals, as recorded from a real API server (1.36.3).

use crate::apply::tests::recorded::widget;
use crate::patch::{PatchType, apply};
use crate::refusal::Refusal;
use serde_json::{Value, json};

const GENERIC: &str = "the server rejected our request due to an error in our request";

fn done(patch: Value) -> Result<Value, Refusal> {
    let object = json!({"meta": {"labels": {"a": "b"}}, "spec": {"n": 1, "list": ["x", "y"], "map": {"k": "v"}}});
    let body = serde_json::to_vec(&patch).unwrap();
    apply(PatchType::Json, &widget(), object, &body).map(|patched| patched.object["spec"].clone())
}

#[test]
fn operations_are_done_one_after_the_other() {
    for (patch, spec) in [
        (json!([]), json!({"n": 1, "list": ["x", "y"], "map": {"k": "v"}})),
        (
            json!([{"op": "remove", "path": "/spec/list"}, {"op": "remove", "path": "/spec/map"}]),
            json!({"n": 1}),
        ),
        (
            json!([{"op": "replace", "path": "/spec", "value": {}}, {"op": "add", "path": "/spec/a~1b~0", "value": 2}]),
            json!({"a/b~": 2}),
        ),
        (
            json!([
                {"op": "move", "from": "/spec/list/0", "path": "/spec/list/1"}, {"op": "remove", "path": "/spec/map"}
            ]),
            json!({"n": 1, "list": ["y", "x"]}),
        ),
        (
            json!([{"op": "copy", "from": "/spec/map", "path": "/spec/list"}, {"op": "remove", "path": "/spec/map"}]),
            json!({"n": 1, "list": {"k": "v"}}),
        ),
        (
            json!([{"op": "test", "path": "/spec/n", "value": 1}, {"op": "replace", "path": "/spec", "value": 5}]),
            json!(5),
        ),
    ] {
        assert_eq!(done(patch.clone()), Ok(spec), "{patch}");
    }
}

#[test]
fn a_field_that_is_not_there_counts_as_null() {
    for patch in [
        json!({"op": "test", "path": "/spec/absent", "value": null}),
        json!({"op": "test", "path": "/spec/absent"}),
        json!({"op": "replace", "path": "/spec/absent", "value": "new"}),
        json!({"op": "copy", "from": "/spec/absent", "path": "/spec/n"}),
    ] {
        assert!(done(json!([patch])).is_ok(), "{patch}");
    }
}

#[test]
fn an_operation_that_cannot_be_done_is_refused_without_a_reason() {
    for patch in [
        json!({"op": "remove", "path": "/spec/none"}),
        json!({"op": "remove", "path": "/none/none"}),
        json!({"op": "remove", "path": "/spec/list/7"}),
        json!({"op": "remove", "path": "/spec/list/x"}),
        json!({"op": "remove", "path": ""}),
        json!({"op": "add", "path": "", "value": {}}),
        json!({"op": "add", "path": "nope", "value": 1}),
        json!({"op": "add", "path": "/spec/list/9", "value": 1}),
        json!({"op": "add", "path": "/spec/list/x", "value": 1}),
        json!({"op": "add", "path": "/spec/a/b", "value": 1}),
        json!({"op": "add", "path": "/spec/n/b", "value": 1}),
        json!({"op": "add", "value": 3}),
        json!({"op": "replace", "path": "/spec/x/y", "value": 1}),
        json!({"op": "replace", "path": "/spec/list/9", "value": 1}),
        json!({"op": "replace", "path": "", "value": "new"}),
        json!({"op": "test", "path": "/spec/n", "value": 2}),
        json!({"op": "test", "path": "/spec/n", "value": 1.0}),
        json!({"op": "test", "path": "/spec/n"}),
        json!({"op": "test", "path": "/spec/absent", "value": 1}),
        json!({"op": "test", "path": "/x/y", "value": null}),
        json!({"op": "test", "path": "/spec/list/9", "value": null}),
        json!({"op": "test", "path": "", "value": 1}),
        json!({"op": "move", "from": "/spec/nope", "path": "/spec/n"}),
        json!({"op": "move", "from": "/spec/n", "path": "/x/n"}),
        json!({"op": "move", "from": "/spec/map", "path": "/spec/map/k"}),
        json!({"op": "move", "path": "/spec/n"}),
        json!({"op": "copy", "from": "/x/nope", "path": "/spec/n"}),
        json!({"op": "frob", "path": "/spec/n"}),
        json!({"path": "/spec/n"}),
    ] {
        let refusal = done(json!([patch])).unwrap_err();
        assert_eq!((refusal.code, refusal.reason), (422, "Invalid"), "{patch}");
        assert_eq!(refusal.message, GENERIC, "{patch}");
        assert_eq!(refusal.details, json!({}), "{patch}");
    }
}

#[test]
fn what_is_no_list_of_operations_is_refused() {
    let refused = |body: &[u8]| apply(PatchType::Json, &widget(), json!({}), body).unwrap_err();
    for body in [r#"{"op":"add"}"#, r#"["x"]"#, r#"[{"op":3}]"#, r#"[{"op""#, ""] {
        let refusal = refused(body.as_bytes());
        assert_eq!(refusal.code, 400);
        assert!(
            refusal.message.starts_with("error decoding patch: "),
            "{}",
            refusal.message
        );
    }
}

#[test]
fn ten_thousand_operations_are_enough() {
    let test = json!({"op": "test", "path": "/spec/n", "value": 1});
    assert!(done(Value::Array(vec![test.clone(); 10_000])).is_ok());
    let refusal = done(Value::Array(vec![test; 10_001])).unwrap_err();
    assert_eq!((refusal.code, refusal.reason), (413, "RequestEntityTooLarge"));
}

#[test]
fn unknown_fields_of_operations_are_reported() {
    let body = br#"[{"op": "add", "path": "/a", "value": 1, "zzz": 1}]"#;
    let patched = apply(PatchType::Json, &widget(), json!({}), body).unwrap();
    assert_eq!(patched.unknown, [r#"json patch unknown field "[0].zzz""#]);
}

#[test]
fn copies_do_not_grow_without_bound() {
    let copy = |index: usize| json!({"op": "copy", "from": "/spec/map", "path": format!("/spec/map/m{index}")});
    let doubled = |count: usize| done((0..count).map(copy).collect());
    assert!(doubled(10).is_ok());
    assert_eq!(doubled(40).unwrap_err().message, GENERIC);
}

#[test]
fn moves_do_not_nest_without_bound() {
    let deeper = [
        json!({"op": "add", "path": "/spec/box", "value": {}}),
        json!({"op": "move", "from": "/spec/map", "path": "/spec/box/in"}),
        json!({"op": "move", "from": "/spec/box", "path": "/spec/map"}),
    ];
    let levels = |count: usize| Value::Array(deeper.iter().cycle().take(3 * count).cloned().collect());
    assert!(done(levels(100)).is_ok());
    assert_eq!(done(levels(3000)).unwrap_err().message, GENERIC);
}

#[test]
fn ten_thousand_moves_of_a_large_value_end_soon() {
    let large = json!([{"op": "add", "path": "/spec/a", "value": vec![0; 300_000]}]);
    let to_and_fro = json!([
        {"op": "move", "from": "/spec/a", "path": "/spec/b"}, {"op": "move", "from": "/spec/b", "path": "/spec/a"}
    ]);
    let moves = to_and_fro.as_array().unwrap().iter().cycle().take(9_998).cloned();
    let patch: Value = large.as_array().unwrap().iter().cloned().chain(moves).collect();
    let begun = std::time::Instant::now();
    assert_eq!(done(patch).unwrap_err().message, GENERIC);
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
}
