//! Properties of sets of field paths, by examples and by generated sets.

use super::{FieldSet, FieldsError, Scalar, Step, shown};
use proptest::prelude::*;
use serde_json::{Value, json};

fn field(name: &str) -> Step {
    Step::Field(name.to_owned())
}

fn set(fields: &Value) -> FieldSet {
    FieldSet::from_json(fields).unwrap()
}

fn paths(set: &FieldSet) -> Vec<String> {
    set.paths().iter().map(|path| shown(path)).collect()
}

#[test]
fn fields_v1_is_read_and_written_as_a_server_writes_it() {
    let fields = json!({
        "f:metadata": {"f:finalizers": {".": {}, "v:\"skein.dev/land\"": {}}},
        "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:note": {}}}, "f:list": {"i:0": {}}},
    });
    let read = set(&fields);
    assert_eq!(
        paths(&read),
        [
            ".metadata.finalizers",
            ".metadata.finalizers[=\"skein.dev/land\"]",
            ".spec.list[0]",
            ".spec.ports[port=80,protocol=\"TCP\"]",
            ".spec.ports[port=80,protocol=\"TCP\"].note",
        ]
    );
    assert_eq!(read.to_json(), fields);
    assert_eq!(read.len(), 5);
}

#[test]
fn an_empty_object_is_a_leaf_and_a_dot_a_member_with_more_below() {
    assert_eq!(paths(&set(&json!({"f:a": {}}))), [".a"]);
    assert_eq!(paths(&set(&json!({"f:a": {"f:b": {}}}))), [".a.b"]);
    assert_eq!(paths(&set(&json!({"f:a": {".": {}, "f:b": {}}}))), [".a", ".a.b"]);
    assert_eq!(paths(&set(&json!({"f:a": null}))), [".a"]);
    assert!(set(&json!({})).is_empty());
    assert!(set(&json!({".": {}})).is_empty(), "nobody owns a whole object");
}

#[test]
fn keys_are_the_same_in_any_order_and_spacing() {
    let one = set(&json!({"k:{\"a\":1,\"b\":\"x\"}": {}}));
    let other = set(&json!({"k:{ \"b\": \"x\", \"a\": 1.0 }": {}}));
    assert_eq!(one, other);
}

#[test]
fn steps_of_an_unknown_kind_are_left_out() {
    assert!(set(&json!({"x:spec": {}})).is_empty());
    assert_eq!(paths(&set(&json!({"f:a": {"x:b": {}}}))), [".a"]);
}

#[test]
fn what_is_not_fields_v1_is_refused() {
    for (fields, error) in [
        (json!("zzz"), FieldsError::NotAnObject(json!("zzz"))),
        (json!({"f:a": 5}), FieldsError::NotAnObject(json!(5))),
        (json!({"spec": {}}), FieldsError::BadStep("spec".into())),
        (json!({"": {}}), FieldsError::BadStep("".into())),
        (json!({"i:x": {}}), FieldsError::BadStep("i:x".into())),
        (json!({"k:[1]": {}}), FieldsError::BadStep("k:[1]".into())),
        (json!({"v:{": {}}), FieldsError::BadStep("v:{".into())),
    ] {
        assert_eq!(FieldSet::from_json(&fields), Err(error));
    }
}

#[test]
fn a_difference_keeps_what_is_above_and_below() {
    let all = set(&json!({"f:a": {".": {}, "f:b": {".": {}, "f:c": {}}}}));
    let b = FieldSet::fields(&["a", "b"]);
    assert_eq!(paths(&all.clone().difference(&b)), [".a", ".a.b.c"]);
    assert_eq!(paths(&all.outside(&b)), [".a"]);
}

#[test]
fn leaves_are_the_paths_with_nothing_below() {
    let all = set(&json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
    assert_eq!(paths(&all.leaves()), [".c", ".a.b"]);
}

#[test]
fn a_whole_number_is_the_same_however_it_is_written() {
    assert_eq!(Scalar::of(&json!(1.0)), Scalar::of(&json!(1)));
    assert_ne!(Scalar::of(&json!(1.5)), Scalar::of(&json!(1)));
    assert_ne!(Scalar::of(&json!("1")), Scalar::of(&json!(1)));
    assert_eq!(Scalar::of(&json!(null)), None);
}

fn a_step() -> impl Strategy<Value = Step> {
    let name = || prop::sample::select(vec!["a", "b", "c", "\"q\" .:{"]);
    let scalar = prop_oneof![
        (0..3i64).prop_map(Scalar::Int),
        name().prop_map(|name| Scalar::Text(name.to_owned())),
        any::<bool>().prop_map(Scalar::Bool),
        Just(Scalar::Real("1.5".to_owned())),
    ];
    prop_oneof![
        4 => name().prop_map(field),
        1 => scalar.clone().prop_map(Step::Value),
        1 => (0..3i64).prop_map(Step::Index),
        1 => prop::collection::btree_map(name(), scalar, 1..3)
            .prop_map(|fields| Step::Key(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())),
    ]
}

fn a_path() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(a_step(), 1..4)
}

fn a_set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(a_path(), 0..12).prop_map(|paths| FieldSet::of(paths.iter().map(Vec::as_slice)))
}

proptest! {
    #[test]
    fn a_set_is_its_paths(set in a_set()) {
        let paths = set.paths();
        prop_assert_eq!(paths.len(), set.len());
        prop_assert!(paths.iter().all(|path| set.contains(path)));
        prop_assert_eq!(FieldSet::of(paths.iter().map(Vec::as_slice)), set);
    }

    #[test]
    fn fields_v1_loses_nothing(set in a_set()) {
        prop_assert_eq!(FieldSet::from_json(&set.to_json()), Ok(set));
    }

    #[test]
    fn each_operation_is_what_it_is_for_plain_sets(a in a_set(), b in a_set(), path in a_path()) {
        let paths = [a.paths(), b.paths(), vec![path]].concat();
        let (union, both) = (a.clone().union(b.clone()), a.intersection(&b));
        let difference = a.clone().difference(&b);
        let outside = a.clone().outside(&b);
        let leaves = a.clone().leaves();
        for path in &paths {
            let (in_a, in_b) = (a.contains(path), b.contains(path));
            prop_assert_eq!(union.contains(path), in_a || in_b);
            prop_assert_eq!(both.contains(path), in_a && in_b);
            prop_assert_eq!(difference.contains(path), in_a && !in_b);
            let above = (1..=path.len()).any(|length| b.contains(&path[..length]));
            prop_assert_eq!(outside.contains(path), in_a && !above);
            let below = a.paths().iter().any(|other| other.len() > path.len() && other.starts_with(path));
            prop_assert_eq!(leaves.contains(path), in_a && !below);
        }
    }

    #[test]
    fn a_set_is_what_it_shares_and_what_it_does_not(a in a_set(), b in a_set()) {
        prop_assert_eq!(a.intersection(&b).union(a.clone().difference(&b)), a.clone());
        prop_assert_eq!(a.clone().union(b.clone()), b.clone().union(a.clone()));
        prop_assert!(a.clone().difference(&a).is_empty());
        prop_assert_eq!(a.clone().union(b.clone()).is_empty(), a.is_empty() && b.is_empty());
    }
}
