//! Lists: selectors, pages, and which revision they show.

use serde_json::json;

use crate::both;
use crate::objects::{CORE, NODES, drone, event, labeled, node, swarm};
use crate::session::{MERGE, Session};

fn five(s: &mut Session) {
    for (name, camera, node) in [
        ("a", "thermal", "n-1"),
        ("b", "thermal", "n-2"),
        ("c", "wide", "n-1"),
        ("d", "", "n-3"),
        ("e", "none", "n-4"),
    ] {
        let labels = if camera == "none" {
            json!({})
        } else {
            json!({"camera": camera, "fleet": "x"})
        };
        s.given(s.drone(""), &labeled(drone(name, json!({"nodeName": node})), labels));
    }
}

fn names(s: &mut Session, query: &str) {
    let path = s.drone("");
    s.request("GET", format!("{path}?{query}"))
        .send_and(|list| match list["items"].as_array() {
            Some(items) => items.iter().map(|item| item["metadata"]["name"].clone()).collect(),
            None => list,
        });
}

#[test]
fn a_list_holds_all_objects_in_order_of_their_names() {
    both(|s| {
        s.get(s.drone(""));
        five(s);
        s.get(s.drone(""));
        s.get("/apis/skein.dev/v1alpha1/drones?labelSelector=nobody");
        s.get("/apis/skein.dev/v1alpha1/namespaces/nowhere/drones");
    });
}

#[test]
fn labels_select() {
    both(|s| {
        five(s);
        for selector in [
            "camera=thermal",
            "camera==wide",
            "camera!=thermal",
            "camera",
            "!camera",
            "camera in (wide, thermal)",
            "camera notin (wide)",
            "camera=",
            "camera=thermal,fleet=x",
            "camera=thermal,fleet!=x",
            "fleet in (x),!missing",
            "",
            "  camera  =  wide ",
            "camera in ()",
            "camera in (,wide)",
            "fleet=x,",
        ] {
            let selector = selector.replace(' ', "%20").replace('=', "%3D").replace(',', "%2C");
            names(s, &format!("labelSelector={selector}"));
        }
    });
}

#[test]
fn bad_label_selectors_are_refused() {
    both(|s| {
        for selector in [
            "a b",
            "=x",
            "a=b=c",
            "a in wide",
            "a in (wide",
            "!a=b",
            "a>x",
            "a@b",
            "a/b/c=d",
            "a=-x",
            "a,,b",
            ",",
            "a in (b))",
            "!!a",
            "a gt 5",
        ] {
            let selector = selector
                .replace(' ', "%20")
                .replace('=', "%3D")
                .replace(',', "%2C")
                .replace('>', "%3E");
            names(s, &format!("labelSelector={selector}"));
        }
        s.given(s.drone(""), &labeled(drone("five", json!({})), json!({"n": "5"})));
        names(s, "labelSelector=n%3E4");
        names(s, "labelSelector=n%3C4");
    });
}

#[test]
fn fields_select() {
    both(|s| {
        five(s);
        for selector in [
            "metadata.name=a",
            "metadata.name!=a",
            "spec.nodeName=n-1",
            "spec.nodeName!=n-1",
            "spec.nodeName=n-1,metadata.name=c",
            "spec.nodeName=",
            "metadata.namespace=nowhere",
            "metadata.name==b",
            "",
            "spec.takeoffAltitudeMeters=10",
            "status.phase=x",
            "metadata.uid=x",
            "metadata.name",
            "metadata.name>a",
            "a=b=c",
            "metadata.name=a,",
            "metadata.name=a\\,b",
        ] {
            let selector = selector
                .replace('=', "%3D")
                .replace(',', "%2C")
                .replace('>', "%3E")
                .replace('\\', "%5C");
            names(s, &format!("fieldSelector={selector}"));
        }
        names(s, "fieldSelector=spec.nodeName%3Dn-1&labelSelector=camera%3Dwide");
    });
}

#[test]
fn fields_of_built_in_kinds_select() {
    both(|s| {
        let name = s.ns().to_owned();
        let mut object = labeled(node(&name), json!({"case": name}));
        object["spec"] = json!({"unschedulable": true});
        s.given(NODES, &object);
        let of = |s: &mut Session, path: String| {
            s.request("GET", path).send_and(|list| match list["items"].as_array() {
                Some(items) => items.iter().map(|item| item["metadata"]["name"].clone()).collect(),
                None => list,
            });
        };
        for selector in [
            "spec.unschedulable%3Dtrue",
            "spec.unschedulable%3Dfalse",
            "metadata.name%3Dx",
            "spec.podCIDR%3Dx",
        ] {
            of(
                s,
                format!("{NODES}?labelSelector=case%3D{name}&fieldSelector={selector}"),
            );
        }
        for (event_name, drone, reason) in [("e1", "a", "Low"), ("e2", "b", "Low"), ("e3", "a", "Bound")] {
            s.given(s.at(CORE, "events", ""), &event(&name, event_name, drone, reason));
        }
        for selector in [
            "involvedObject.name%3Da",
            "reason%3DLow,involvedObject.kind%3DDrone",
            "type%3DNormal",
            "source%3Dcase",
            "message%3Dx",
            "involvedObject.uid%3D",
            "reportingComponent%3D",
            "involvedObject.namespace%3Dnowhere",
        ] {
            of(s, format!("{}?fieldSelector={selector}", s.at(CORE, "events", "")));
        }
        of(
            s,
            format!(
                "{}?fieldSelector=status.phase%3DRunning,spec.nodeName%3Dx",
                s.at(CORE, "pods", "")
            ),
        );
        of(
            s,
            format!("/api/v1/namespaces?fieldSelector=metadata.name%3D{name},status.phase%3DActive"),
        );
        of(s, "/api/v1/namespaces?fieldSelector=spec.x%3D1".into());
    });
}

#[test]
fn pages_follow_each_other_and_show_one_moment() {
    both(|s| {
        five(s);
        let path = s.drone("");
        let one = s.get(format!("{path}?limit=2"));
        let token = |body: &serde_json::Value| body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        s.given(&path, &drone("bb", json!({})));
        let gone = s.request("DELETE", s.drone("d")).quietly().send();
        assert_eq!(gone.code, 200);
        s.request("PATCH", s.drone("e"))
            .quietly()
            .text(MERGE, r#"{"spec": {"grounded": true}}"#)
            .send();
        let two = s.get(format!("{path}?limit=2&continue={}", token(&one.body)));
        s.note("the same moment", json!(one.version() == two.version()));
        s.get(format!("{path}?limit=2&continue={}", token(&two.body)));
        s.get(format!("{path}?limit=100"));
        s.get(format!("{path}?limit=2&labelSelector=camera%3Dthermal"));
        s.get(format!("{path}?limit=1&labelSelector=camera%3Dthermal"));
        s.get(format!("{path}?limit=0"));
        s.get(format!("{path}?limit=-1"));
        s.get(format!("{path}?limit=many"));
    });
}

#[test]
fn a_bad_token_is_refused() {
    both(|s| {
        five(s);
        let path = s.drone("");
        s.get(format!("{path}?limit=2&continue=garbage"));
        s.get(format!("{path}?limit=2&continue=e30"));
        let one = s.request("GET", format!("{path}?limit=2")).quietly().send();
        let token = one.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        s.get(format!("{path}?limit=2&resourceVersion=5&continue={token}"));
        s.get(format!("{path}?continue={token}"));
        let swarms = s.swarm("");
        s.get(format!("{swarms}?limit=2&continue={token}"));
    });
}

#[test]
fn a_list_may_ask_for_a_moment() {
    both(|s| {
        let made = s.given(s.swarm(""), &swarm("a", json!({"replicas": 1})));
        let path = s.swarm("");
        s.request("PATCH", s.swarm("a"))
            .quietly()
            .text(MERGE, r#"{"spec": {"replicas": 2}}"#)
            .send();
        for query in [
            "resourceVersion=0",
            "resourceVersion=",
            "resourceVersion=x",
            "resourceVersion=-1",
            "resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch=Exact",
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersion=0&resourceVersionMatch=NotOlderThan",
            "resourceVersion=1&resourceVersionMatch=Guess",
            "resourceVersion=0&limit=1",
        ] {
            s.get(format!("{path}?{query}"));
        }
        let exact = s.get(format!(
            "{path}?resourceVersion={}&resourceVersionMatch=Exact",
            made.version()
        ));
        s.note(
            "of that moment",
            json!(exact.body["metadata"]["resourceVersion"] == made.version()),
        );
        s.get(format!(
            "{path}?resourceVersion={}&resourceVersionMatch=NotOlderThan",
            made.version()
        ));
        s.get(format!("{path}?resourceVersion={}", made.version()));
        s.get(format!("{}?resourceVersion={}", s.swarm("a"), made.version()));
        s.get(format!("{}?resourceVersion=0", s.swarm("a")));
    });
}

#[test]
fn a_future_revision_is_waited_for_until_a_timeout() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({})));
        let path = s.swarm("");
        s.get(format!("{path}?resourceVersion=999999999"));
        s.get(format!("{path}?resourceVersion=999999999&resourceVersionMatch=Exact"));
        s.get(format!("{}?resourceVersion=999999999", s.swarm("a")));
    });
}
