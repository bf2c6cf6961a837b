//! kstatus and Argo CD's health of one object.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::ServedBy;

use crate::Fleet;
use crate::tools::{ARGOCD, KSTATUS, documented, said, text};
use skein_tests::cluster_field::Field;

const KINDS: [&str; 6] = ["Swarm", "Drone", "Mission", "Geofence", "ParameterProfile", "Operator"];

/// Argo CD's settings in the document, as ConfigMap `argocd-cm`.
fn configure(field: &Field) {
    let block = documented("data:\n  resource.customizations.health.skein.dev_Swarm: |\n");
    let (_, lua) = block.split_once(": |\n").unwrap();
    let lua: Vec<&str> = lua
        .lines()
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    let lua = lua.join("\n");
    let data: BTreeMap<String, String> = KINDS
        .iter()
        .map(|kind| (format!("resource.customizations.health.skein.dev_{kind}"), lua.clone()))
        .collect();
    let labels = json!({"app.kubernetes.io/part-of": "argocd"});
    let objects = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": "argocd-cm", "namespace": "argocd", "labels": labels}}),
    ];
    for object in objects {
        field.cluster().kubectl().apply(&object.to_string()).unwrap();
    }
}

fn of(field: &Field, objects: &str) -> BTreeMap<String, (String, String)> {
    configure(field);
    let file = field.cluster().scratch().path().join("health.json");
    std::fs::write(&file, objects).unwrap();
    let kubeconfig = text(field.cluster().kubeconfig());
    let file = text(&file);
    let kstatus = said(KSTATUS, [file.as_str()]);
    let argocd = said(ARGOCD, ["health", "--kubeconfig", &kubeconfig, &file]);
    let words = |text: &str| -> Vec<(String, String)> {
        let line = |line: &str| {
            let (object, rest) = line.split_once(' ').unwrap();
            (object.to_owned(), rest.split(':').next().unwrap().to_owned())
        };
        text.lines().map(line).collect()
    };
    let both = words(&kstatus).into_iter().zip(words(&argocd));
    both.map(|((object, kstatus), (same, argocd))| {
        assert_eq!(object, same);
        (object, (kstatus, argocd))
    })
    .collect()
}

pub fn of_all_objects(fleet: &Fleet) -> BTreeMap<String, (String, String)> {
    let kinds = "swarms,drones,missions,geofences,parameterprofiles,operators";
    let args = ["get", kinds, "-n", "north", "-o", "json"];
    of(&fleet.field, &fleet.field.cluster().kubectl().run(args).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn argo_cd_says_of_each_kind_what_kstatus_says() {
    let field = Field::clean(ServedBy::Kubernetes).await;
    let states = [
        (-1, json!([]), ("InProgress", "Progressing")),
        (1, json!([["Ready", "True"]]), ("InProgress", "Progressing")),
        (1, json!([["Stalled", "True"]]), ("InProgress", "Progressing")),
        (2, json!([]), ("Current", "Healthy")),
        (2, json!([["Ready", "True"]]), ("Current", "Healthy")),
        (
            2,
            json!([["Ready", "True"], ["Reconciling", "False"], ["Stalled", "False"]]),
            ("Current", "Healthy"),
        ),
        (
            2,
            json!([["Ready", "False"], ["Reconciling", "True"]]),
            ("InProgress", "Progressing"),
        ),
        (
            2,
            json!([["Ready", "True"], ["Reconciling", "True"]]),
            ("InProgress", "Progressing"),
        ),
        (2, json!([["Ready", "False"]]), ("InProgress", "Progressing")),
        (2, json!([["Ready", "Unknown"]]), ("InProgress", "Progressing")),
        (
            2,
            json!([["Ready", "False"], ["Stalled", "True"]]),
            ("Failed", "Degraded"),
        ),
        (
            2,
            json!([["Ready", "True"], ["Suspended", "True"]]),
            ("Current", "Suspended"),
        ),
    ];
    let mut objects = Vec::new();
    for kind in KINDS {
        for (number, (observed, conditions, _)) in states.iter().enumerate() {
            let condition = |pair: &Value| {
                json!({"type": pair[0], "status": pair[1], "reason": "Test", "message": "of a test",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"})
            };
            let conditions: Vec<Value> = conditions.as_array().unwrap().iter().map(condition).collect();
            objects.push(json!({
                "apiVersion": "skein.dev/v1alpha1", "kind": kind,
                "metadata": {"name": format!("state-{number}"), "namespace": "north", "generation": 2},
                "spec": {}, "status": {"observedGeneration": observed, "conditions": conditions},
            }));
        }
        objects.push(json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": kind,
            "metadata": {"name": "deleted", "namespace": "north", "generation": 2, "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["skein.dev/landed"]},
            "spec": {}, "status": {"observedGeneration": 2},
        }));
    }
    let said = of(
        &field,
        &json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string(),
    );
    assert_eq!(said.len(), KINDS.len() * (states.len() + 1));
    for kind in KINDS {
        for (number, (observed, conditions, wanted)) in states.iter().enumerate() {
            let (kstatus, argocd) = &said[&format!("{kind}/state-{number}")];
            assert_eq!(
                (kstatus.as_str(), argocd.as_str()),
                *wanted,
                "{kind}, observed {observed}: {conditions}"
            );
        }
        let (kstatus, argocd) = &said[&format!("{kind}/deleted")];
        assert_eq!(
            (kstatus.as_str(), argocd.as_str()),
            ("Terminating", "Progressing"),
            "{kind}"
        );
    }
}
