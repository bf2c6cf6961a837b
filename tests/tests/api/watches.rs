//! Watches: where they begin, their events, and how they end.

use serde_json::{Value, json};

use crate::both;
use crate::objects::{CORE, EVENTS, NAMESPACES, NODES, drone, event, labeled, node, swarm, with};
use crate::session::{MERGE, Session};
use crate::side::Side;

fn patched(s: &mut Session, path: String, patch: &Value) {
    let answer = s.request("PATCH", path).quietly().text(MERGE, patch.to_string()).send();
    assert_eq!(answer.code, 200, "{}", answer.body);
}

fn deleted(s: &mut Session, path: String) {
    let answer = s.request("DELETE", path).quietly().send();
    assert_eq!(answer.code, 200, "{}", answer.body);
}

fn history(s: &mut Session) -> String {
    let before = s.given(s.swarm(""), &swarm("first", json!({}))).version();
    s.given(s.swarm(""), &swarm("a", json!({"replicas": 1})));
    patched(s, s.swarm("a"), &json!({"spec": {"replicas": 2}}));
    s.given(s.swarm(""), &swarm("b", json!({})));
    patched(s, s.swarm("a/status"), &json!({"status": {"replicas": 2}}));
    deleted(s, s.swarm("a"));
    before
}

#[test]
fn a_watch_from_a_version_sends_every_later_change() {
    both(|s| {
        let before = history(s);
        s.watched(format!("{}?resourceVersion={before}&timeoutSeconds=1", s.swarm("")));
    });
}

#[test]
fn a_watch_without_a_version_begins_with_what_is_there() {
    both(|s| {
        history(s);
        s.watched(format!("{}?timeoutSeconds=1", s.swarm("")));
        s.watched(format!("{}?timeoutSeconds=1&resourceVersion=0", s.swarm("")));
        s.watched(format!("{}?timeoutSeconds=1&resourceVersion=", s.swarm("")));
    });
}

#[test]
fn a_watch_sends_changes_while_it_lasts() {
    both(|s| {
        let list = s.request("GET", s.drone("")).quietly().send().version();
        let mut watch = s.watch(format!("{}?resourceVersion={list}", s.drone("")));
        s.given(
            s.drone(""),
            &with(drone("a", json!({})), "finalizers", json!(["skein.dev/landed"])),
        );
        patched(s, s.drone("a"), &json!({"spec": {"nodeName": "n-1"}}));
        patched(s, s.drone("a/status"), &json!({"status": {"phase": "Flying"}}));
        watch.take(s, 3);
        deleted(s, s.drone("a"));
        patched(s, s.drone("a"), &json!({"metadata": {"finalizers": null}}));
        watch.take(s, 2);
    });
}

#[test]
fn a_watch_may_be_of_one_object() {
    both(|s| {
        let before = history(s);
        s.watched(format!(
            "{}?resourceVersion={before}&timeoutSeconds=1&fieldSelector=metadata.name%3Db",
            s.swarm("")
        ));
        s.watched(format!("{}?resourceVersion={before}&timeoutSeconds=1", s.swarm("b")));
        s.watched(format!("{}?timeoutSeconds=1", s.swarm("missing")));
    });
}

#[test]
fn an_object_that_stops_matching_is_reported_deleted() {
    both(|s| {
        let before = s
            .given(
                s.drone(""),
                &labeled(drone("a", json!({})), json!({"camera": "thermal"})),
            )
            .version();
        patched(s, s.drone("a"), &json!({"metadata": {"labels": {"camera": "wide"}}}));
        patched(s, s.drone("a"), &json!({"spec": {"grounded": true}}));
        patched(s, s.drone("a"), &json!({"metadata": {"labels": {"camera": "thermal"}}}));
        patched(s, s.drone("a"), &json!({"spec": {"nodeName": "n-1"}}));
        deleted(s, s.drone("a"));
        s.watched(format!(
            "{}?resourceVersion={before}&timeoutSeconds=1&labelSelector=camera%3Dthermal",
            s.drone("")
        ));
        s.watched(format!(
            "{}?resourceVersion={before}&timeoutSeconds=1&labelSelector=camera%3Dwide",
            s.drone("")
        ));
        s.watched(format!(
            "{}?resourceVersion={before}&timeoutSeconds=1&fieldSelector=spec.nodeName%3Dn-1",
            s.drone("")
        ));
        s.watched(format!(
            "{}?resourceVersion={before}&timeoutSeconds=1&fieldSelector=spec.nodeName%3D",
            s.drone("")
        ));
    });
}

#[test]
fn bookmarks_come_before_the_end() {
    both(|s| {
        let before = history(s);
        let events = s.watch(format!(
            "{}?resourceVersion={before}&timeoutSeconds=4&allowWatchBookmarks=true",
            s.swarm("")
        ));
        let path = s.swarm("");
        let (bookmarks, changes): (Vec<Value>, Vec<Value>) = collected(s, events)
            .into_iter()
            .partition(|event| event["type"] == "BOOKMARK");
        // A real server sends one before the end of so short a watch only if other objects have changed meanwhile.
        let ours = s.side().server() == Side::embedded().server();
        assert!(!ours || !bookmarks.is_empty());
        s.note(&format!("WATCH {path} with bookmarks"), changes.into());
    });
}

fn collected(s: &mut Session, watch: crate::session::Watch) -> Vec<Value> {
    let events = watch.until_end(s);
    s.steps.pop();
    events
}

#[test]
fn a_watch_may_begin_with_a_list_and_a_bookmark_at_its_end() {
    both(|s| {
        history(s);
        let path = format!(
            "{}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            s.swarm("")
        );
        let mut watch = s.watch(&path);
        let ends = |event: &Value| event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true";
        watch.until(s, |events| events.last().is_some_and(ends));
        s.given(s.swarm(""), &swarm("later", json!({})));
        watch.until(s, |events| {
            events.last().is_some_and(|event| event["type"] != "BOOKMARK")
        });
        let mut watch = s.watch(format!("{path}&resourceVersion=0"));
        watch.until(s, |events| events.last().is_some_and(ends));
        let mut watch = s.watch(format!("{path}&labelSelector=nothing%3Dthere"));
        watch.until(s, |events| events.last().is_some_and(ends));
    });
}

#[test]
fn options_that_do_not_fit_together_are_refused() {
    both(|s| {
        for query in [
            "sendInitialEvents=true",
            "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=5",
            "sendInitialEvents=false",
            "resourceVersionMatch=NotOlderThan",
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "resourceVersion=x",
            "timeoutSeconds=x",
            "labelSelector=a%20b",
            "fieldSelector=spec.x%3D1",
            "limit=5&timeoutSeconds=1",
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
        ] {
            s.watched(format!("{}?{query}&timeoutSeconds=1", s.swarm("")));
        }
        s.get(format!(
            "{}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            s.swarm("")
        ));
    });
}

#[test]
fn a_version_that_is_too_old_is_gone() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({})));
        s.watched(format!("{}?resourceVersion=1&timeoutSeconds=1", s.swarm("")));
    });
}

#[test]
fn a_watch_spans_all_namespaces() {
    both(|s| {
        let label = s.ns().to_owned();
        let before = s.given(s.swarm(""), &swarm("first", json!({}))).version();
        s.given(s.swarm(""), &labeled(swarm("a", json!({})), json!({"case": label})));
        s.given(
            "/apis/skein.dev/v1alpha1/namespaces/default/swarms",
            &labeled(swarm(&label, json!({})), json!({"case": label})),
        );
        s.watched(format!(
            "/apis/skein.dev/v1alpha1/swarms?resourceVersion={before}&timeoutSeconds=1&labelSelector=case%3D{label}"
        ));
    });
}

#[test]
fn built_in_kinds_are_watched_too() {
    both(|s| {
        let name = s.ns().to_owned();
        let before = s.given(NODES, &node(&name)).version();
        let made = s
            .given(s.at(CORE, "events", ""), &event(&name, "e", "a", "Low"))
            .version();
        patched(s, format!("{NODES}/{name}"), &json!({"spec": {"unschedulable": true}}));
        s.watched(format!(
            "{NODES}?resourceVersion={before}&timeoutSeconds=1&fieldSelector=metadata.name%3D{name}"
        ));
        patched(s, s.at(CORE, "events", "e"), &json!({"count": 2}));
        s.watched(format!(
            "{}?resourceVersion={made}&timeoutSeconds=1",
            s.at(EVENTS, "events", "")
        ));
        s.watched(format!(
            "{NAMESPACES}?timeoutSeconds=1&fieldSelector=metadata.name%3D{name}"
        ));
        s.watched(format!("{}?timeoutSeconds=1", s.at(CORE, "pods", "")));
    });
}

#[test]
fn a_watch_may_send_tables_or_metadata_only() {
    both(|s| {
        let before = history(s);
        let path = format!("{}?resourceVersion={before}&timeoutSeconds=1", s.swarm(""));
        let watch = s.watch_as("application/json;as=Table;v=v1;g=meta.k8s.io", &path);
        watch.until_end(s);
        let watch = s.watch_as("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", &path);
        watch.until_end(s);
        let watch = s.watch_as(
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            &path,
        );
        watch.until_end(s);
        let watch = s.watch_as(
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            format!("{path}&includeObject=None"),
        );
        watch.until_end(s);
    });
}
