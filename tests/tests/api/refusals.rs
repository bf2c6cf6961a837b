//! Requests for what does not exist, is not allowed, or needs a credential.

use serde_json::json;

use crate::both;
use crate::objects::{CORE, NODES, drone, swarm};
use crate::session::Session;

#[test]
fn unknown_paths_are_not_found() {
    both(|s| {
        for path in [
            "/nowhere",
            "/api/v2",
            "/apis/skein.dev",
            "/apis/skein.dev/v9",
            "/apis/nobody.dev/v1",
            "/apis/skein.dev/v1alpha1/kites",
            "/apis/skein.dev/v1alpha1/namespaces/default/kites",
            "/apis/skein.dev/v1alpha1/namespaces/default/kites/a",
            "/api/v1/kites",
            "/api/v1/kites/a",
            "/apis/skein.dev/v1alpha1/namespaces/default/drones/a/wings",
            "/apis/skein.dev/v9/namespaces/default/drones",
            "/apis/nobody.dev/v1/drones",
            "/api/v1/namespaces/default/nodes",
            "/api/v1/nodes/a/wings",
            "/apis/skein.dev/v1alpha1/drones/a",
            "/apis//x",
            "/api/v1/namespaces/default/drones",
        ] {
            s.get(path);
        }
    });
}

#[test]
fn missing_objects_are_not_found_by_name() {
    both(|s| {
        s.get(s.drone("a"));
        s.get(s.swarm("a"));
        s.get(format!("{NODES}/nowhere"));
        s.get("/api/v1/namespaces/nowhere");
        s.get(s.at(CORE, "events", "a"));
        s.get(s.at(CORE, "pods", "a"));
        s.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/nowhere");
        s.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/kites.skein.dev");
        s.delete(s.drone("a"));
        s.delete(format!("{NODES}/nowhere"));
        s.get(s.drone("A_b"));
    });
}

#[test]
fn methods_that_do_not_fit_are_not_allowed() {
    both(|s| {
        s.request("PUT", s.drone("")).json(&drone("a", json!({}))).send();
        s.request("PATCH", s.drone("")).json(&json!({})).send();
        s.request("POST", s.drone("a")).json(&drone("a", json!({}))).send();
        s.request("PUT", NODES).json(&json!({})).send();
        s.request("POST", "/api/v1/nodes/a").json(&json!({})).send();
        s.request("POST", "/version").json(&json!({})).send();
        s.request("DELETE", "/apis").send();
        s.request("OPTIONS", s.drone("")).send();
        s.request("PUT", "/apis/skein.dev/v1alpha1/drones")
            .json(&drone("a", json!({})))
            .send();
    });
}

#[test]
fn who_shows_no_credential_gets_nothing() {
    both(|s| {
        let asks = |s: &mut Session, method: &str, path: String| {
            let answer = s
                .request(method, path)
                .anonymous()
                .quietly()
                .json(&swarm("a", json!({})))
                .send();
            s.note(
                &format!("{method} without a credential"),
                json!({"code": answer.code, "body": answer.body}),
            );
        };
        asks(s, "GET", s.drone(""));
        asks(s, "POST", s.swarm(""));
        asks(s, "GET", "/api/v1/nodes".into());
        asks(s, "GET", "/apis".into());
    });
}

#[test]
fn a_wrong_token_is_refused() {
    both(|s| {
        for token in ["Bearer wrong", "Bearer ", "Basic YTpi", "wrong"] {
            s.request("GET", s.drone(""))
                .anonymous()
                .header("authorization", token)
                .send();
            s.request("GET", "/version")
                .anonymous()
                .header("authorization", token)
                .send();
        }
    });
}

#[test]
fn query_options_are_checked() {
    both(|s| {
        s.given(s.drone(""), &drone("a", json!({})));
        for query in [
            "dryRun=Some",
            "fieldValidation=Guess",
            "dryRun=All&dryRun=All",
            "unknown=1",
            "pretty=true",
        ] {
            let path = format!("{}?{query}", s.drone("a"));
            s.patch(crate::session::MERGE, path, &json!({"spec": {"grounded": true}}));
        }
        for query in [
            "gracePeriodSeconds=x",
            "propagationPolicy=Guess",
            "gracePeriodSeconds=-1",
            "dryRun=Some",
        ] {
            s.delete(format!("{}?{query}", s.drone("a")));
            s.given(format!("{}?dryRun=All", s.drone("")), &drone("b", json!({})));
        }
    });
}
