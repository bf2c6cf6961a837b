//! Matches of selectors, and the refusal of bad ones.

use super::*;
use crate::schema::{Schema, Type};
use crate::store::{Facts, Key};
use crate::verbs::testing;
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
    Selector::of(&options, &kind(true), None).map_err(|refusal| refusal.message)
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
fn bad_label_selectors_are_refused_in_kubernetes_words() {
    let table = [
        (
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a in wide", "unable to parse requirement: found 'wide' expected: '('"),
        (
            "a in (wide",
            "unable to parse requirement: found '', expected: ',' or ')'",
        ),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "a>x",
            r#"unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer"#,
        ),
        ("a,,b", "found ',', expected: identifier after ','"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a in (b))", "found ')', expected: ',' or 'end of string'"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        (
            "a gt 5",
            "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("fleet=x,", "found '', expected: identifier after ','"),
    ];
    for (text, expected) in table {
        assert_eq!(selector(text, ""), Err(expected.to_owned()), "{text}");
    }
    let starts = [
        (
            "a@b",
            r#"unable to parse requirement: <nil>: Invalid value: "a@b": name part must consist of"#,
        ),
        (
            "a/b/c=d",
            r#"unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key must consist"#,
        ),
        (
            "a=-x",
            r#"unable to parse requirement: values[0][a]: Invalid value: "-x": a valid label must be an empty"#,
        ),
    ];
    for (text, expected) in starts {
        let error = selector(text, "").expect_err(text);
        assert!(error.starts_with(expected), "{text}: {error}");
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
fn bad_field_selectors_are_refused_in_kubernetes_words() {
    let table = [
        ("spec.other=1", "field label not supported: spec.other"),
        (
            "metadata.name",
            "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
        ),
        (
            "metadata.name>a",
            "invalid selector: 'metadata.name>a'; can't understand 'metadata.name>a'",
        ),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (
            r"metadata.name=a\b",
            r"invalid field selector: invalid escape sequence: \b",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(selector("", text), Err(expected.to_owned()), "{text}");
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
        let selector = Selector::of(&options, &kind(custom), None).expect(fields);
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

#[test]
fn a_name_in_the_path_selects() {
    let selector = Selector::of(&ListOptions::default(), &kind(true), Some("b")).expect("nothing is wrong");
    assert!(!selector.is_everything());
    assert!(selector.matches(&thing("b", &[], &[])));
    assert!(!selector.matches(&thing("a", &[], &[])));
}
