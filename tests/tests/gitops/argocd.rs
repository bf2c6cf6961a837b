//! Argo CD's comparison and sync, by its own packages.

use serde_json::{Value, json};

use crate::tools::{ARGOCD, documented, said, text};
use crate::{Fleet, manifest};

struct Application {
    sync_options: Option<Value>,
    ignores: bool,
    prune: bool,
}

impl Application {
    const PLAIN: Self = Self {
        sync_options: Some(Value::Null),
        ignores: false,
        prune: false,
    };

    fn text(&self) -> String {
        let block = documented("spec:\n  ignoreDifferences:\n");
        let documented: Value = serde_saphyr::from_str(&block).unwrap();
        let mut spec = documented["spec"].clone();
        if !self.ignores {
            spec.as_object_mut().unwrap().remove("ignoreDifferences");
        }
        if let Some(options) = &self.sync_options {
            spec["syncPolicy"] = json!({"syncOptions": options});
        }
        spec["syncPolicy"]["automated"] = json!({"prune": self.prune, "selfHeal": true});
        spec["project"] = json!("default");
        spec["destination"] = json!({"server": "https://kubernetes.default.svc", "namespace": "north"});
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "field", "namespace": "argocd"},
            "spec": spec})
        .to_string()
    }
}

impl Fleet {
    fn argocd(&self, verb: &str, application: &Application, objects: &[Value]) -> String {
        let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
        let file = text(&self.file("argocd.yaml", &documents.join("\n---\n")));
        let application = text(&self.file("application.yaml", &application.text()));
        let kubeconfig = text(self.field.cluster().kubeconfig());
        let args = [
            verb,
            "--timeout=90s",
            "--kubeconfig",
            &kubeconfig,
            "--application",
            &application,
            &file,
        ];
        said(ARGOCD, args)
    }

    fn configure_argocd(&self) {
        let labels = json!({"app.kubernetes.io/part-of": "argocd"});
        for object in [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm", "namespace": "argocd", "labels": labels}}),
        ] {
            self.field.cluster().kubectl().apply(&object.to_string()).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn argo_cd_leaves_a_number_alone_that_was_scaled_where_it_is_told_so() {
    let fleet = Fleet::of(&["n1", "n2", "n3"]).await;
    fleet.configure_argocd();
    let documented = Application {
        sync_options: None,
        ignores: true,
        prune: false,
    };
    let (none, two) = ([manifest(None)], [manifest(Some(2))]);
    let synced = "Swarm/alpha Synced\n";

    // A manifest without a number: nothing is out of sync, and a sync changes nothing.
    fleet.argocd("sync", &documented, &none);
    assert_eq!(fleet.argocd("diff", &documented, &none), synced);
    fleet.until_fly(1).await;
    fleet.kubectl(["scale", "swarm/alpha", "--replicas=3"]);
    for application in [&documented, &Application::PLAIN] {
        assert_eq!(fleet.argocd("diff", application, &none), synced);
        fleet.argocd("sync", application, &none);
        assert_eq!(fleet.replicas(), 3);
    }
    fleet.until_fly(3).await;

    // With a number: out of sync unless it is ignored, and then put back by selfHeal, which syncs what is out of sync.
    assert_eq!(fleet.argocd("diff", &documented, &two), synced);
    assert_eq!(
        fleet.argocd("diff", &Application::PLAIN, &two),
        "Swarm/alpha OutOfSync\n"
    );
    fleet.argocd("sync", &Application::PLAIN, &two);
    assert_eq!(fleet.replicas(), 2);
    fleet.until_fly(2).await;

    // Replacing the object sets the default.
    let replace = Application {
        sync_options: Some(json!(["Replace=true"])),
        ..Application::PLAIN
    };
    fleet.argocd("sync", &replace, &none);
    assert_eq!(fleet.replicas(), 1);
    fleet.until_fly(1).await;
    fleet.kubectl(["delete", "swarm/alpha", "--timeout=60s"]);
    fleet.until_landed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn argo_cd_lands_what_it_prunes_and_what_it_replaces_by_force() {
    let fleet = Fleet::of(&["n1"]).await;
    fleet.configure_argocd();
    let git = [manifest(Some(1))];
    let uid = || fleet.field.read("namespaces/north/swarms/alpha")["metadata"]["uid"].clone();
    fleet.argocd("sync", &Application::PLAIN, &git);
    fleet.until_fly(1).await;
    let (first, orders) = (uid(), fleet.vehicles[0].state().orders.len());

    // By force: the old object is gone, and the vehicle down, before there is a new one.
    let mut forced = git.clone();
    forced[0]["metadata"]["annotations"] = json!({"argocd.argoproj.io/sync-options": "Force=true,Replace=true"});
    fleet.argocd("sync", &Application::PLAIN, &forced);
    assert_ne!(uid(), first);
    assert!(fleet.vehicles[0].ordered_to_land_since(orders), "it was not landed");
    fleet.until_fly(1).await;

    let prune = Application {
        prune: true,
        ..Application::PLAIN
    };
    let mut kept = git.clone();
    kept[0]["metadata"]["annotations"] = json!({"argocd.argoproj.io/sync-options": "Prune=false"});
    fleet.argocd("sync", &Application::PLAIN, &kept);
    fleet.argocd("sync", &prune, &[]);
    assert!(fleet.field.read("namespaces/north/swarms/alpha")["metadata"]["deletionTimestamp"].is_null());
    fleet.until_fly(1).await;

    fleet.vehicles[0].state().lands = false;
    fleet.argocd("sync", &Application::PLAIN, &git);
    fleet.argocd("sync", &prune, &[]);
    assert!(fleet.field.read("namespaces/north/swarms/alpha")["metadata"]["deletionTimestamp"].is_string());
    assert!(fleet.vehicles[0].flies());
    fleet.vehicles[0].state().lands = true;
    fleet.until_landed().await;
    fleet.kubectl(["wait", "--for=delete", "swarm/alpha", "--timeout=60s"]);
}
