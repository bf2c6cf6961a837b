//! The end of objects: finalizers, owners, collections and namespaces.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::both;
use crate::objects::{CORE, LEASES, NAMESPACES, drone, event, labeled, lease, owned_by, swarm, with};
use crate::session::{Answer, MERGE, Session};
use crate::side::PATIENCE;

const PAUSE: Duration = Duration::from_millis(20);

fn gone(answer: &Answer) -> bool {
    answer.code == 404
}

/// Waits until the garbage collector knows all Drones. A real one learns of them by watching, a little later, in the
/// order of creation: once it has collected a Drone whose owner never existed, it knows all older ones.
pub fn known_to_the_collector(s: &mut Session) {
    const NAME: &str = "made-last";
    let nobody = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "nobody",
        "uid": "22222222-3333-4444-5555-666666666666"}});
    let orphan = with(
        drone(NAME, json!({})),
        "ownerReferences",
        json!([owned_by(&nobody, false)]),
    );
    s.given(s.drone(""), &orphan);
    let start = Instant::now();
    while !gone(&s.request("GET", s.drone(NAME)).quietly().send()) {
        assert!(start.elapsed() < PATIENCE, "the garbage collector does not come by");
        std::thread::sleep(PAUSE);
    }
}

fn family(s: &mut Session, block: bool) -> Value {
    let owner = s.given(s.swarm(""), &swarm("owner", json!({}))).body;
    for name in ["one", "two"] {
        s.given(
            s.drone(""),
            &with(
                drone(name, json!({})),
                "ownerReferences",
                json!([owned_by(&owner, block)]),
            ),
        );
    }
    known_to_the_collector(s);
    owner
}

#[test]
fn an_object_with_a_finalizer_stays_until_it_is_taken_off() {
    both(|s| {
        let path = s.drone("a");
        s.given(
            s.drone(""),
            &with(
                drone("a", json!({})),
                "finalizers",
                json!(["skein.dev/landed", "skein.dev/other"]),
            ),
        );
        s.delete(&path);
        s.delete(&path);
        s.patch(MERGE, &path, &json!({"spec": {"grounded": true}}));
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"finalizers": ["skein.dev/landed", "skein.dev/new"]}}),
        );
        s.patch(MERGE, &path, &json!({"metadata": {"finalizers": ["skein.dev/landed"]}}));
        s.patch(MERGE, &path, &json!({"metadata": {"deletionTimestamp": null}}));
        s.post(s.drone(""), &drone("a", json!({})));
        s.patch(MERGE, &path, &json!({"metadata": {"finalizers": null}}));
        s.get(&path);
    });
}

#[test]
fn a_replacement_may_take_the_last_finalizer_off() {
    both(|s| {
        let path = s.drone("a");
        s.given(
            s.drone(""),
            &with(drone("a", json!({})), "finalizers", json!(["skein.dev/landed"])),
        );
        let mut kept = s.delete(&path).body;
        kept["metadata"]["finalizers"] = json!([]);
        s.put(&path, &kept);
        s.get(&path);
    });
}

#[test]
fn a_deletion_answers_what_it_did() {
    both(|s| {
        for (name, options) in [
            ("a", json!({})),
            ("b", json!({"gracePeriodSeconds": 0})),
            ("c", json!({"gracePeriodSeconds": 30})),
            ("d", json!({"orphanDependents": true})),
            ("e", json!({"propagationPolicy": "Guess"})),
            (
                "f",
                json!({"propagationPolicy": "Background", "orphanDependents": true}),
            ),
        ] {
            s.given(s.drone(""), &drone(name, json!({})));
            s.delete_with(s.drone(name), &options);
        }
        s.given(s.drone(""), &drone("g", json!({})));
        s.delete(format!(
            "{}?gracePeriodSeconds=0&propagationPolicy=Background",
            s.drone("g")
        ));
        s.given(s.at(LEASES, "leases", ""), &lease("a", json!({})));
        s.delete(s.at(LEASES, "leases", "a"));
        let ns = s.ns().to_owned();
        s.given(s.at(CORE, "events", ""), &event(&ns, "e", "a", "Low"));
        s.delete(s.at(CORE, "events", "e"));
    });
}

#[test]
fn dependents_go_after_their_owner() {
    both(|s| {
        family(s, true);
        s.delete_with(s.swarm("owner"), &json!({"propagationPolicy": "Background"}));
        s.get(s.swarm("owner"));
        s.until("the first to be gone", s.drone("one"), gone);
        s.until("the second to be gone", s.drone("two"), gone);
    });
}

#[test]
fn dependents_go_before_their_owner_in_foreground_deletion() {
    both(|s| {
        family(s, true);
        let held = json!({"metadata": {"finalizers": ["skein.dev/landed"]}});
        s.patch(MERGE, s.drone("one"), &held);
        s.delete_with(s.swarm("owner"), &json!({"propagationPolicy": "Foreground"}));
        s.until("the second to be gone", s.drone("two"), gone);
        s.until("the first to be going", s.drone("one"), |a| {
            a.body["metadata"]["deletionTimestamp"].is_string()
        });
        s.get(s.swarm("owner"));
        s.patch(MERGE, s.drone("one"), &json!({"metadata": {"finalizers": null}}));
        s.until("the owner to be gone", s.swarm("owner"), gone);
    });
}

#[test]
fn a_dependent_that_blocks_nothing_does_not_hold_its_owner() {
    both(|s| {
        family(s, false);
        s.patch(
            MERGE,
            s.drone("one"),
            &json!({"metadata": {"finalizers": ["skein.dev/landed"]}}),
        );
        s.delete_with(s.swarm("owner"), &json!({"propagationPolicy": "Foreground"}));
        s.until("the owner to be gone", s.swarm("owner"), gone);
        s.until("the first to be going", s.drone("one"), |a| {
            a.body["metadata"]["deletionTimestamp"].is_string()
        });
    });
}

#[test]
fn orphans_stay_without_their_owner() {
    both(|s| {
        family(s, true);
        s.delete_with(s.swarm("owner"), &json!({"propagationPolicy": "Orphan"}));
        s.until("the owner to be gone", s.swarm("owner"), gone);
        s.until("the first to be free", s.drone("one"), |a| {
            a.body["metadata"]["ownerReferences"].is_null()
        });
        s.until("the second to be free", s.drone("two"), |a| {
            a.body["metadata"]["ownerReferences"].is_null()
        });
    });
}

#[test]
fn an_object_whose_owner_never_was_is_collected() {
    both(|s| {
        let owner = s.given(s.swarm(""), &swarm("owner", json!({}))).body;
        let mut absent = owned_by(&owner, true);
        absent["uid"] = json!("11111111-2222-3333-4444-555555555555");
        s.given(
            s.drone(""),
            &with(drone("a", json!({})), "ownerReferences", json!([absent])),
        );
        s.until("it to be gone", s.drone("a"), gone);
        let mut renamed = owned_by(&owner, true);
        renamed["name"] = json!("other");
        s.given(
            s.drone(""),
            &with(drone("b", json!({})), "ownerReferences", json!([renamed])),
        );
        s.until("it to be gone", s.drone("b"), gone);
        s.get(s.swarm("owner"));
    });
}

#[test]
fn an_object_with_one_owner_left_stays() {
    both(|s| {
        let one = s.given(s.swarm(""), &swarm("one", json!({}))).body;
        let two = s.given(s.swarm(""), &swarm("two", json!({}))).body;
        let mut second = owned_by(&two, false);
        second["controller"] = json!(false);
        s.given(
            s.drone(""),
            &with(
                drone("a", json!({})),
                "ownerReferences",
                json!([owned_by(&one, true), second]),
            ),
        );
        s.given(
            s.drone(""),
            &with(drone("b", json!({})), "ownerReferences", json!([owned_by(&one, true)])),
        );
        s.delete(s.swarm("one"));
        s.until("the other to be gone", s.drone("b"), gone);
        s.until("the first owner to be forgotten", s.drone("a"), |a| {
            a.body["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|all| all.len() == 1)
        });
    });
}

#[test]
fn a_collection_is_deleted_by_its_labels() {
    both(|s| {
        for (name, camera) in [("a", "thermal"), ("b", "thermal"), ("c", "wide")] {
            s.given(s.drone(""), &labeled(drone(name, json!({})), json!({"camera": camera})));
        }
        s.patch(
            MERGE,
            s.drone("b"),
            &json!({"metadata": {"finalizers": ["skein.dev/landed"]}}),
        );
        s.delete(format!("{}?labelSelector=camera%3Dthermal&dryRun=All", s.drone("")));
        s.delete(format!("{}?labelSelector=camera%3Dthermal", s.drone("")));
        s.get(s.drone(""));
        s.delete(format!("{}?fieldSelector=metadata.name%3Dc", s.drone("")));
        s.delete(format!("{}?labelSelector=a%20b", s.drone("")));
        s.delete(s.drone(""));
        s.get(s.drone(""));
        s.delete("/apis/skein.dev/v1alpha1/drones");
    });
}

#[test]
fn a_namespace_goes_with_all_that_is_in_it() {
    both(|s| {
        let name = format!("{}-x", s.ns());
        let path = format!("{NAMESPACES}/{name}");
        s.given(
            NAMESPACES,
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        );
        let drones = format!("/apis/skein.dev/v1alpha1/namespaces/{name}/drones");
        s.given(&drones, &drone("plain", json!({})));
        s.given(
            &drones,
            &with(drone("held", json!({})), "finalizers", json!(["skein.dev/landed"])),
        );
        let end = s.request("DELETE", &path).send_and(|mut body| {
            body["status"].as_object_mut().map(|status| status.remove("conditions"));
            body
        });
        s.note("it is ending", end.body["status"]["phase"].clone());
        s.until("the plain one to be gone", format!("{drones}/plain"), gone);
        s.until("the held one to be going", format!("{drones}/held"), |a| {
            a.body["metadata"]["deletionTimestamp"].is_string()
        });
        s.post(&drones, &drone("late", json!({})));
        s.post(
            NAMESPACES,
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        );
        let freed = s
            .request("PATCH", format!("{drones}/held"))
            .quietly()
            .text(MERGE, r#"{"metadata": {"finalizers": null}}"#)
            .send();
        assert_eq!(freed.code, 200);
        s.until("the namespace to be gone", path, gone);
        s.get(drones);
    });
}

#[test]
fn some_namespaces_cannot_be_deleted() {
    both(|s| {
        for name in ["default", "kube-system", "missing"] {
            s.delete(format!("{NAMESPACES}/{name}"));
        }
        s.delete(NAMESPACES);
    });
}
