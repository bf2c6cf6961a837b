//! Properties of any sequence of creates, merges and applies of one object by three managers.

use super::super::extract;
use super::super::field_set::{FieldSet, Step};
use super::super::managed::{Managed, Operation};
use super::super::object_meta::OWNERLESS;
use super::super::view::View;
use super::recorded::{Write, widget, written};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

type Drawn = (&'static str, &'static str, Option<&'static str>, bool, Value);

fn a_text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["1", "2"]).prop_map(Value::from)
}

fn some(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let each = prop::collection::btree_map(prop::sample::select(keys), a_text(), 0..=keys.len());
    each.prop_map(|map| json!(map))
}

fn a_subset(of: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(of, 0..=of.len()).prop_shuffle()
}

fn slots() -> impl Strategy<Value = Value> {
    let fields = (prop::option::of(a_text()), prop::option::of(a_text()));
    (a_subset(&["a", "b", "c"]), prop::collection::vec(fields, 3)).prop_map(|(names, fields)| {
        let slot = |(name, (value, extra)): (&str, (Option<Value>, Option<Value>))| {
            let given = [("name", Some(json!(name))), ("value", value), ("extra", extra)];
            given
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)))
                .map(|(k, v)| (k.to_owned(), v))
                .collect()
        };
        let slots: Vec<Map<String, Value>> = names.into_iter().zip(fields).map(slot).collect();
        json!(slots)
    })
}

fn a_spec() -> impl Strategy<Value = Value> {
    let field = prop_oneof![
        (1..3).prop_map(|n| ("replicas", json!(n))),
        a_text().prop_map(|text| ("text", text)),
        some(&["x", "y"]).prop_map(|tags| ("tags", tags)),
        some(&["x", "y"]).prop_map(|map| ("atomicMap", map)),
        prop::collection::vec(a_text(), 0..3).prop_map(|list| ("atomicList", json!(list))),
        a_subset(&["a", "b", "c"]).prop_map(|set| ("set", json!(set))),
        slots().prop_map(|slots| ("slots", slots)),
        some(&["a", "b"]).prop_map(|inner| ("inner", inner)),
        prop::sample::select(vec![
            json!({"a": {"b": 1}}),
            json!({"a": {"b": 2, "c": {}}}),
            json!({"a": [1]}),
            json!({})
        ])
        .prop_map(|free| ("free", free)),
    ];
    let fields = prop::collection::vec(field, 0..5);
    fields.prop_map(|fields| {
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    })
}

fn a_write() -> impl Strategy<Value = Drawn> {
    let by = prop::sample::select(vec!["a", "b", "c"]);
    let names = &["replicas", "text", "tags", "set", "slots", "inner", "free"];
    let removal =
        a_subset(names).prop_map(|names| names.into_iter().map(|name| (name.to_owned(), Value::Null)).collect());
    let status = || a_text().prop_map(|text| json!({"status": {"phase": text}}));
    let spec = |spec: Value| json!({"spec": spec});
    let applied = move |(by, force, body)| ("apply", by, None, force, spec(body));
    prop_oneof![
        3 => (by.clone(), any::<bool>(), a_spec()).prop_map(applied),
        2 => (by.clone(), a_spec()).prop_map(move |(by, body)| ("merge", by, None, false, spec(body))),
        1 => (by.clone(), removal).prop_map(move |(by, body)| ("merge", by, None, false, spec(body))),
        1 => (by.clone(), status()).prop_map(|(by, body)| ("merge", by, Some("status"), false, body)),
        1 => (by, any::<bool>(), status()).prop_map(|(by, force, body)| ("apply", by, Some("status"), force, body)),
    ]
}

fn play(writes: &[Drawn], mut holds: impl FnMut(&Drawn, &Value, &Value)) {
    let resource = widget();
    let first = json!({"spec": {"text": "1"}});
    let create = Write {
        op: "create",
        by: "a",
        at: None,
        force: false,
        body: &first,
        now: "2026-01-01T00:00:00Z",
    };
    let mut live = written(&resource, None, &create).unwrap();
    for (index, drawn) in writes.iter().enumerate() {
        let (op, by, at, force, body) = drawn;
        let now = format!("2026-01-01T00:{index:02}:01Z");
        let write = Write {
            op,
            by,
            at: *at,
            force: *force,
            body,
            now: &now,
        };
        match written(&resource, Some(&live), &write) {
            Ok(after) => {
                holds(drawn, &live, &after);
                live = after;
            }
            Err(refusal) => {
                let conflict = refusal.code == 409 && *op == "apply" && !force;
                assert!(conflict || refusal.code == 422, "{refusal:?} to {drawn:?}");
            }
        }
    }
}

fn again(drawn: &Drawn, object: &Value, now: &str) -> Value {
    let (op, by, at, _, body) = drawn;
    let write = Write {
        op,
        by,
        at: *at,
        force: false,
        body,
        now,
    };
    written(&widget(), Some(object), &write).unwrap()
}

fn has_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || items.iter().any(has_empty_list),
        Value::Object(fields) => fields.values().any(has_empty_list),
        _ => false,
    }
}

fn is_in(view: View<'_>, value: &Value, path: &[Step]) -> bool {
    match path {
        [] => true,
        [Step::Field(name), rest @ ..] => value
            .get(name)
            .is_some_and(|below| is_in(view.field(name).view, below, rest)),
        [step, rest @ ..] => {
            let items = value.as_array().into_iter().flatten();
            let found = items.filter(|item| view.step(item).as_ref() == Ok(step));
            found.into_iter().any(|item| is_in(view.items(), item, rest))
        }
    }
}

proptest! {
    #[test]
    fn the_same_write_again_changes_nothing_not_even_a_time(writes in prop::collection::vec(a_write(), 1..12)) {
        play(&writes, |drawn, _, after| {
            // A list from which an apply removed all items is removed; only the next apply makes it an empty one.
            let stable = if has_empty_list(&drawn.4) { &again(drawn, after, "2029-01-01T00:00:00Z") } else { after };
            assert_eq!(&again(drawn, stable, "2030-01-01T00:00:00Z"), stable);
        });
    }

    #[test]
    fn nobody_owns_what_is_not_there(writes in prop::collection::vec(a_write(), 1..12)) {
        let resource = widget();
        play(&writes, |_, _, after| {
            for entry in Managed::of(after).iter() {
                for path in entry.fields.paths() {
                    assert!(is_in(View::root(&resource.schema), after, &path), "{path:?} is not in {after}");
                }
            }
        });
    }

    #[test]
    fn what_is_written_plainly_has_one_plain_owner(writes in prop::collection::vec(a_write(), 1..12)) {
        play(&writes, |_, _, after| {
            let managed = Managed::of(after);
            let plain = managed.iter().filter(|entry| entry.owner.operation == Operation::Update);
            let mut all = FieldSet::default();
            for entry in plain {
                assert!(all.intersection(&entry.fields).is_empty());
                all = all.union(entry.fields.clone());
            }
        });
    }

    #[test]
    fn an_applier_owns_just_what_it_applied(writes in prop::collection::vec(a_write(), 1..12)) {
        let resource = widget();
        play(&writes, |(op, by, at, _, body), _, after| {
            if *op == "apply" {
                let named = extract::fields(&resource.schema, body).difference(&OWNERLESS);
                let managed = Managed::of(after);
                let entry = managed.iter().find(|entry| {
                    let owner = &entry.owner;
                    owner.operation == Operation::Apply && owner.manager == *by && owner.subresource == at.unwrap_or("")
                });
                assert_eq!(entry.map(|entry| entry.fields.clone()).unwrap_or_default(), named);
            }
        });
    }

    #[test]
    fn without_force_nobody_loses_a_field_that_is_still_there(writes in prop::collection::vec(a_write(), 1..12)) {
        let resource = widget();
        play(&writes, |(op, by, _, force, _), before, after| {
            if *op == "apply" && !force {
                let (old, new) = (Managed::of(before), Managed::of(after));
                for entry in old.iter().filter(|entry| entry.owner.manager != *by) {
                    let remaining = new.get(&entry.owner).map(|entry| entry.fields.clone()).unwrap_or_default();
                    for path in entry.fields.clone().difference(&remaining).paths() {
                        assert!(!is_in(View::root(&resource.schema), after, &path), "{path:?} of {entry:?}");
                    }
                }
            }
        });
    }
}
