//! Fields that the server sets, and that clients cannot set.

use super::*;
use crate::verbs::meta::text;
use crate::verbs::testing;

const BIRTH: ServerFields<'static> = ServerFields {
    namespace: Some("field"),
    uid: "u-1",
    now: "2026-01-01T00:00:00Z",
    random: 0,
};

fn born(custom: bool, mut object: Value, random: u64) -> Value {
    let server_fields = ServerFields { random, ..BIRTH };
    normalize_new(&testing::thing(custom), &mut object);
    set_server_fields(&testing::thing(custom), &mut object, &server_fields);
    object
}

#[test]
fn a_new_object_gets_its_uid_its_time_and_its_generation() {
    let object = born(
        true,
        json!({"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "x"}}),
        0,
    );
    let expected = json!({
        "metadata": {
            "name": "a", "namespace": "field", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
        },
        "spec": {},
    });
    assert_eq!(object, expected);
}

#[test]
fn what_only_the_server_sets_cannot_be_chosen() {
    let object = born(
        true,
        json!({"metadata": {
            "name": "a", "uid": "mine", "generation": 7, "selfLink": "/x", "deletionGracePeriodSeconds": 5,
            "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z",
        }}),
        0,
    );
    assert_eq!(meta::uid(&object), "u-1");
    assert_eq!(object["metadata"]["generation"], 1);
    assert_eq!(text(&object, "/metadata/creationTimestamp"), BIRTH.now);
    for gone in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        assert_eq!(object["metadata"].get(gone), None, "{gone}");
    }
}

#[test]
fn a_built_in_object_has_no_generation_and_may_be_born_with_a_status() {
    let object = born(false, json!({"metadata": {"name": "a"}, "status": {"x": 1}}), 0);
    assert_eq!(object["metadata"].get("generation"), None);
    assert_eq!(object["status"], json!({"x": 1}));
}

#[test]
fn a_generated_name_ends_in_five_letters_and_is_cut_to_fit() {
    let name = |start: &str, random: u64| {
        let object = born(true, json!({"metadata": {"generateName": start}}), random);
        meta::name(&object).to_owned()
    };
    assert_eq!(name("north-", 0), "north-bbbbb");
    assert_eq!(name("north-", u64::MAX).len(), "north-".len() + 5);
    assert_ne!(name("north-", 12345), name("north-", 54321));
    assert_eq!(name(&"x".repeat(80), 1).len(), 63);
    assert_eq!(name(&"ä".repeat(40), 1).chars().count(), 29 + 5);
    let chosen = born(true, json!({"metadata": {"generateName": "north-", "name": "mine"}}), 1);
    assert_eq!(meta::name(&chosen), "mine");
}

#[test]
fn a_namespace_is_born_active_with_its_name_as_a_label() {
    let resource = Resource {
        group: String::new(),
        plural: "namespaces".to_owned(),
        namespaced: false,
        ..testing::thing(false)
    };
    let mut object = json!({"metadata": {"name": "x"}});
    let server_fields = ServerFields {
        namespace: None,
        ..BIRTH
    };
    normalize_new(&resource, &mut object);
    set_server_fields(&resource, &mut object, &server_fields);
    assert_eq!(
        object["metadata"]["labels"],
        json!({"kubernetes.io/metadata.name": "x"})
    );
    assert_eq!(object["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(object["status"], json!({"phase": "Active"}));

    let mut new = json!({"metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"finalizers": []}});
    restore_fixed_fields(&resource, &object, &mut new, None);
    assert_eq!(
        new["metadata"]["labels"],
        json!({"a": "b", "kubernetes.io/metadata.name": "x"})
    );
    assert_eq!(new["spec"], object["spec"]);
    assert_eq!(new["status"], object["status"]);
}

fn old() -> Value {
    json!({
        "metadata": {
            "name": "a", "uid": "u-1", "resourceVersion": "7", "generation": 3, "labels": {"x": "1"},
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"n": 1}, "status": {"s": 1},
    })
}

#[test]
fn an_update_changes_all_but_status_and_what_the_server_has_set() {
    let mut new = json!({
        "metadata": {
            "name": "a", "labels": {"x": "2"}, "generation": 9, "creationTimestamp": "2001-01-01T00:00:00Z",
            "resourceVersion": "6", "selfLink": "/x",
        },
        "spec": {"n": 2}, "status": {"s": 2},
    });
    restore_fixed_fields(&testing::thing(true), &old(), &mut new, None);
    let mut expected = old();
    expected["spec"]["n"] = 2.into();
    expected["metadata"]["labels"]["x"] = "2".into();
    assert_eq!(new, expected);
}

#[test]
fn a_write_of_the_status_of_a_custom_resource_changes_that_only() {
    let mut new = json!({"metadata": {"name": "a", "labels": {"x": "2"}}, "spec": {"n": 2}, "status": {"s": 2}});
    restore_fixed_fields(&testing::thing(true), &old(), &mut new, Some("status"));
    let mut expected = old();
    expected["status"]["s"] = 2.into();
    assert_eq!(new, expected);
}

#[test]
fn a_write_of_the_status_of_a_built_in_object_keeps_its_spec() {
    let mut new = json!({"metadata": {"name": "a", "labels": {"x": "2"}}, "spec": {"n": 2}, "status": {"s": 2}});
    restore_fixed_fields(&testing::thing(false), &old(), &mut new, Some("status"));
    let mut expected = old();
    expected["status"]["s"] = 2.into();
    expected["metadata"]["labels"]["x"] = "2".into();
    assert_eq!(new, expected);
}

#[test]
fn generation_counts_changes_of_the_desired_state() {
    let counted = |custom: bool, change: fn(&mut Value)| {
        let mut new = old();
        change(&mut new);
        update_generation(&testing::thing(custom), &old(), &mut new);
        new["metadata"]["generation"].clone()
    };
    assert_eq!(counted(true, |_| {}), 3);
    assert_eq!(counted(true, |new| new["spec"]["n"] = 2.into()), 4);
    assert_eq!(counted(true, |new| new["more"] = 2.into()), 4);
    assert_eq!(counted(true, |new| new["metadata"]["labels"]["x"] = "2".into()), 3);
    assert_eq!(counted(true, |new| new["status"]["s"] = 2.into()), 3);
}

#[test]
fn name_and_namespace_of_the_body_are_those_of_the_path() {
    let matched = |mut object: Value, name: Option<&str>| {
        let matched = match_path(&testing::thing(true), &mut object, Some("field"), name);
        matched.map(|()| object).map_err(|refusal| refusal.message)
    };
    assert_eq!(
        matched(json!({"metadata": {"name": "a"}}), Some("a")),
        Ok(json!({"metadata": {"name": "a", "namespace": "field"}}))
    );
    assert_eq!(
        matched(json!({"metadata": {"name": "b"}}), Some("a")),
        Err("the name of the object (b) does not match the name on the URL (a)".to_owned())
    );
    assert_eq!(
        matched(json!({}), Some("a")),
        Err("the name of the object (a based on URL) was undeterminable: name must be provided".to_owned())
    );
    assert_eq!(
        matched(json!({"metadata": {"name": "a", "namespace": "default"}}), None),
        Err("the namespace of the provided object does not match the namespace sent on the request".to_owned())
    );
}
