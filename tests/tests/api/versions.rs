//! resourceVersion, generation and preconditions: which writes may replace which.

use serde_json::{Value, json};

use crate::both;
use crate::objects::{LEASES, NODES, drone, lease, node, swarm, with};
use crate::session::{JSON_PATCH, MERGE};

#[test]
fn an_update_needs_the_version_that_was_read() {
    both(|s| {
        let path = s.swarm("a");
        let first = s.given(s.swarm(""), &swarm("a", json!({"replicas": 1}))).body;
        let mut second = first.clone();
        second["spec"]["replicas"] = json!(2);
        s.put(&path, &second);
        second["spec"]["replicas"] = json!(3);
        s.put(&path, &second);
        s.put(&path, &with(first.clone(), "resourceVersion", json!("")));
        s.put(&path, &with(first.clone(), "resourceVersion", json!("many")));
        s.put(&path, &with(first.clone(), "resourceVersion", json!(5)));
        let mut none = first;
        none["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        s.put(&path, &none);
        s.get(&path);
    });
}

#[test]
fn built_in_kinds_may_be_updated_without_a_version() {
    both(|s| {
        let name = s.ns().to_owned();
        s.given(NODES, &node(&name));
        let mut changed = node(&name);
        changed["metadata"]["labels"]["camera"] = json!("thermal");
        s.put(format!("{NODES}/{name}"), &changed);
        let path = s.at(LEASES, "leases", "claim");
        s.given(s.at(LEASES, "leases", ""), &lease("claim", json!({})));
        s.put(&path, &lease("claim", json!({"holderIdentity": "b"})));
        s.put(
            &path,
            &with(
                lease("claim", json!({"holderIdentity": "c"})),
                "resourceVersion",
                json!("1"),
            ),
        );
    });
}

#[test]
fn an_update_of_a_missing_object_is_refused_or_makes_it() {
    both(|s| {
        s.put(s.swarm("a"), &swarm("a", json!({})));
        s.put(
            s.swarm("a"),
            &with(swarm("a", json!({})), "resourceVersion", json!("1")),
        );
        s.put(s.at(LEASES, "leases", "a"), &lease("a", json!({"holderIdentity": "a"})));
        s.put(
            s.at(LEASES, "leases", "b"),
            &with(lease("b", json!({})), "resourceVersion", json!("1")),
        );
        let name = s.ns().to_owned();
        s.put(format!("{NODES}/{name}"), &node(&name));
        s.patch(MERGE, s.swarm("a"), &json!({"spec": {"replicas": 2}}));
    });
}

#[test]
fn generation_counts_changes_of_the_desired_state_only() {
    both(|s| {
        let path = s.swarm("a");
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 1})));
        let note_generation = |s: &mut crate::Session, what: &str| {
            let now = s.request("GET", s.swarm("a")).quietly().send();
            s.note(what, now.body["metadata"]["generation"].clone());
        };
        note_generation(s, "made");
        s.patch(MERGE, &path, &json!({"spec": {"replicas": 2}}));
        note_generation(s, "spec changed");
        s.patch(MERGE, &path, &json!({"metadata": {"labels": {"a": "b"}}}));
        note_generation(s, "label changed");
        s.patch(MERGE, s.swarm("a/status"), &json!({"status": {"replicas": 2}}));
        note_generation(s, "status changed");
        s.patch(MERGE, &path, &json!({"spec": {"replicas": 2}}));
        note_generation(s, "nothing changed");
        s.patch(MERGE, s.swarm("a/scale"), &json!({"spec": {"replicas": 5}}));
        note_generation(s, "scaled");
        s.patch(MERGE, &path, &json!({"metadata": {"finalizers": ["skein.dev/x"]}}));
        s.delete(&path);
        note_generation(s, "deletion begun");
    });
}

#[test]
fn a_change_that_changes_nothing_is_not_written() {
    both(|s| {
        let path = s.drone("a");
        s.given(s.drone(""), &drone("a", json!({"grounded": true})));
        let first = s.patch(MERGE, s.drone("a/status"), &json!({"status": {"phase": "Grounded"}}));
        let same = s.put(&path, &first.body);
        s.note("put", json!(same.version() == first.version()));
        for (media, patch) in [
            (MERGE, json!({"spec": {"grounded": true}})),
            (MERGE, json!({})),
            (
                JSON_PATCH,
                json!([{"op": "replace", "path": "/spec/grounded", "value": true}]),
            ),
            (JSON_PATCH, json!([])),
        ] {
            let same = s.patch(media, &path, &patch);
            s.note("patch", json!(same.version() == first.version()));
        }
        let mut other = first.body.clone();
        other["metadata"].as_object_mut().unwrap().remove("managedFields");
        other.as_object_mut().unwrap().remove("status");
        s.request("PUT", &path)
            .header("user-agent", "other/1")
            .json(&other)
            .send();
        s.patch(MERGE, s.drone("a/status"), &json!({"status": {}}));
        s.get(&path);
    });
}

#[test]
fn a_patch_may_require_a_version() {
    both(|s| {
        let path = s.drone("a");
        let first = s.given(s.drone(""), &drone("a", json!({}))).version();
        s.patch(MERGE, &path, &json!({"spec": {"grounded": true}}));
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"resourceVersion": first}, "spec": {"grounded": false}}),
        );
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"resourceVersion": "0"}, "spec": {"grounded": false}}),
        );
        let test = json!([{"op": "test", "path": "/metadata/resourceVersion", "value": first}, {"op": "add", "path": "/spec/grounded", "value": false}]);
        s.patch(JSON_PATCH, &path, &test);
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"resourceVersion": null}, "spec": {"grounded": false}}),
        );
    });
}

#[test]
fn a_deletion_may_require_uid_and_version() {
    both(|s| {
        let path = s.drone("a");
        let first = s.given(s.drone(""), &drone("a", json!({})));
        s.delete_with(
            &path,
            &json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}}),
        );
        s.delete_with(&path, &json!({"preconditions": {"resourceVersion": "1"}}));
        s.get(&path);
        s.delete_with(
            &path,
            &json!({"preconditions": {"uid": first.uid(), "resourceVersion": first.version()}}),
        );
        s.get(&path);
    });
}

#[test]
fn a_name_is_taken_once() {
    both(|s| {
        s.post(s.swarm(""), &swarm("a", json!({})));
        s.post(s.swarm(""), &swarm("a", json!({"replicas": 9})));
        s.post(format!("{}?dryRun=All", s.swarm("")), &swarm("a", json!({})));
    });
}

#[test]
fn an_object_made_anew_is_another_object() {
    both(|s| {
        let path = s.swarm("a");
        let first = s.given(s.swarm(""), &swarm("a", json!({})));
        s.delete(&path);
        let second = s.given(s.swarm(""), &swarm("a", json!({"replicas": 4})));
        s.note("another uid", json!(first.uid() != second.uid()));
        let older = first.version().parse::<u64>().unwrap() < second.version().parse::<u64>().unwrap();
        s.note("a later version", Value::Bool(older));
        s.put(&path, &first.body);
        s.delete_with(&path, &json!({"preconditions": {"uid": first.uid()}}));
    });
}
