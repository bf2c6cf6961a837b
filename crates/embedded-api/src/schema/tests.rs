//! Objects made to be as expensive as possible.

use super::duplicates::duplicates;
use super::node::Node;
use super::path::Path;
use super::validate::validate;
use super::{Schema, metadata, object_meta, prune};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far more than they take.
const SOON: Duration = Duration::from_secs(10);

fn soon<T>(what: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = what();
    assert!(begun.elapsed() < SOON, "it took {:?}", begun.elapsed());
    result
}

fn owners(count: usize, controller: bool) -> Value {
    let owner = |index| json!({"uid": format!("{index}"), "controller": controller});
    json!({"ownerReferences": (0..count).map(owner).collect::<Vec<_>>()})
}

fn node(document: &Value) -> Node {
    Node::of(&Schema::parse(document).unwrap()).unwrap()
}

#[test]
fn a_hundred_thousand_owners_are_compared_soon() {
    let mut metadata = owners(100_000, false);
    assert_eq!(soon(|| object_meta::merge_owners(&mut metadata)), None);
}

#[test]
fn many_controllers_are_not_each_reported_with_all_of_them() {
    let metadata = owners(20_000, true);
    let causes = soon(|| metadata::check(&metadata, metadata::names::NameRule::PathSegment, false));
    let length: usize = causes.iter().map(|cause| cause.message.len()).sum();
    assert!(length < 50_000_000, "{length}");
}

#[test]
fn as_many_finalizers_as_fit_are_compared_soon() {
    let metadata = |from: usize| {
        json!({"deletionTimestamp": "x", "finalizers":
        (from..from + 100_000).map(|each| format!("a.b/{each}")).collect::<Vec<_>>()})
    };
    let (old, new) = (metadata(0), metadata(50_000));
    assert_eq!(soon(|| metadata::check_update(&new, &old)).len(), 1);
    assert_eq!(soon(|| metadata::finalizer_warnings(&new, Some(&old))), [""; 0]);
}

#[test]
fn a_long_name_over_many_items_is_read_soon() {
    let json = format!(r#"{{"{}":[0{}]}}"#, "k".repeat(1_000_000), ",0".repeat(1_000_000));
    assert_eq!(soon(|| duplicates(json.as_bytes())), [""; 0]);
}

#[test]
fn a_long_name_over_many_faults_is_not_repeated_for_each() {
    let inner = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}});
    let document = json!({"type": "object", "additionalProperties": inner});
    let mut object = json!({});
    object["k".repeat(1_000_000)] = json!({"a": vec![1; 100_000]});
    let causes = soon(|| validate(&object, None, &node(&document), &Path::ROOT));
    assert!((1..100).contains(&causes.len()), "{}", causes.len());
    let unknown: serde_json::Map<String, Value> = (0..50_000).map(|each| (format!("u{each}"), json!(1))).collect();
    object["k".repeat(1_000_000)] = Value::Object(unknown);
    let schema = Schema::parse(&document).unwrap();
    let removed = soon(|| prune::prune(&mut object, &schema));
    assert!((1..100).contains(&removed.len()), "{}", removed.len());
    assert_eq!(object["k".repeat(1_000_000)], json!({}));
}

#[test]
fn a_hundred_thousand_wrong_items_are_reported_soon() {
    let document = json!({"type": "array", "items": {"type": "string"}});
    let causes = soon(|| validate(&json!(vec![1; 100_000]), None, &node(&document), &Path::ROOT));
    assert_eq!(causes.len(), 100_000);
}

#[test]
fn long_lists_with_keys_are_compared_soon() {
    let item =
        json!({"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 0}}});
    let node = node(&json!({"type": "array", "items": item,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}));
    let list = |order: &mut dyn Iterator<Item = usize>, v: i64| -> Value {
        order.map(|each| json!({"k": format!("{each}"), "v": v})).collect()
    };
    let old = list(&mut (0..30_000), -1);
    let same = list(&mut (0..30_000).rev(), -1);
    assert_eq!(soon(|| validate(&same, Some(&old), &node, &Path::ROOT)), []);
    let other = list(&mut (0..30_000).rev(), -2);
    assert_eq!(soon(|| validate(&other, Some(&old), &node, &Path::ROOT)).len(), 30_000);
}
