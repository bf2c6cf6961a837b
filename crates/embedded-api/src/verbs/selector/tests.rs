//! Matches of selectors, and the refusal of bad ones.

use super::*;
use crate::schema::{Schema, Type};
use crate::store::{Facts, Key};
use crate::verbs::tests::testing;
use std::sync::Arc;

fn kind(custom: bool) -> Resource {
    let mut schema = Schema::default();
    let mut spec = Schema::default();
    let flag = Schema {
        type_: Some(Type::Boolean),
        ..Schema::default()
    };
    spec.properties.insert("grounded".to_owned(), flag);
    schema.properties.insert("spec".to_owned(), spec);
    Resource {
        selectable_fields: ["spec.nodeName", "spec.grounded", "regarding.name"]
            .map(str::to_owned)
            .to_vec(),
        schema: Arc::new(schema),
        ..testing::thing(custom)
    }
}

fn thing(name: &str, labels: &[(&str, &str)], fields: &[(&str, &str)]) -> Object {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect()
    };
    Object {
        key: Key::new("things", "field", name),
        revision: 1,
        json: bytes::Bytes::new(),
        facts: Facts {
            labels: pairs(labels),
            fields: pairs(fields),
            ..Facts::default()
        },
    }
}

fn selector(labels: &str, fields: &str) -> Result<Selector, String> {
    let options = ListOptions {
        labels: labels.to_owned(),
        fields: fields.to_owned(),
        ..ListOptions::default()
    };
    Selector::of(&options, &kind(true)).map_err(|refusal| refusal.message)
}

#[test]
fn labels_select() {
    let all = [
        thing("a", &[("camera", "thermal"), ("n", "5")], &[]),
        thing("b", &[("camera", "wide")], &[]),
        thing("c", &[("camera", "")], &[]),
        thing("d", &[], &[]),
    ];
    let table = [
        ("", "abcd"),
        ("camera=thermal", "a"),
        ("camera == wide", "b"),
        ("camera!=thermal", "bcd"),
        ("camera", "abc"),
        ("!camera", "d"),
        ("camera in (wide, thermal)", "ab"),
        ("camera notin (wide)", "acd"),
        ("camera=", "c"),
        ("camera in ()", "c"),
        ("camera in (,wide)", "bc"),
        ("camera in (wide,)", "bc"),
        ("camera in (wide),!n", "b"),
        ("n>4", "a"),
        ("n<5", ""),
        ("in in (in)", ""),
    ];
    for (text, expected) in table {
        let selector = selector(text, "").expect(text);
        let found: String = all
            .iter()
            .filter(|each| selector.matches(each))
            .map(|each| &*each.key.name)
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn bad_label_selectors_are_refused() {
    for text in [
        "a b",
        "=x",
        "a=b=c",
        "a in wide",
        "a in (wide",
        "!a=b",
        "a>x",
        "a,,b",
        ",",
        "a in (b))",
        "!!a",
        "a gt 5",
        "fleet=x,",
        "a@b",
        "a/b/c=d",
        "a=-x",
    ] {
        let error = selector(text, "").expect_err(text);
        assert!(error.starts_with("the label selector "), "{error}");
    }
}

#[test]
fn fields_select() {
    let all = [
        thing("a", &[], &[("spec.nodeName", "n-1"), ("spec.grounded", "true")]),
        thing("b", &[], &[("spec.nodeName", "n,2")]),
        thing("c", &[], &[]),
    ];
    let table = [
        ("", "abc"),
        ("metadata.name=a", "a"),
        ("metadata.name!=a", "bc"),
        ("metadata.name==b,", "b"),
        ("metadata.namespace=field", "abc"),
        ("metadata.namespace=other", ""),
        ("spec.nodeName=n-1", "a"),
        ("spec.nodeName=", "c"),
        (r"spec.nodeName=n\,2", "b"),
        ("spec.nodeName!=n-1,metadata.name=c", "c"),
        ("spec.grounded=true", "a"),
    ];
    for (text, expected) in table {
        let selector = selector("", text).expect(text);
        let found: String = all
            .iter()
            .filter(|each| selector.matches(each))
            .map(|each| &*each.key.name)
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn bad_field_selectors_are_refused() {
    for text in [
        "spec.other=1",
        "metadata.name",
        "metadata.name>a",
        "a=b=c",
        r"metadata.name=a\b",
    ] {
        assert!(selector("", text).is_err(), "{text}");
    }
}

#[test]
fn a_flag_that_nobody_set_is_false_in_built_in_kinds_and_nothing_in_others() {
    let unset = thing("a", &[], &[]);
    let selects = |custom: bool, fields: &str| {
        let options = ListOptions {
            fields: fields.to_owned(),
            ..ListOptions::default()
        };
        let selector = Selector::of(&options, &kind(custom)).expect(fields);
        selector.matches(&unset)
    };
    assert!(selects(false, "spec.grounded=false"));
    assert!(!selects(true, "spec.grounded=false"));
    assert!(selects(true, "spec.grounded="));
}

#[test]
fn events_are_selected_by_the_names_of_either_api() {
    let event = thing("a", &[], &[("involvedObject.name", "d-1")]);
    assert!(selector("", "regarding.name=d-1").is_ok_and(|selector| selector.matches(&event)));
}
