//! Flux's apply, wait and deletions, by the packages of kustomize-controller.

use serde_json::{Value, json};

use crate::tools::{FLUX, run, said, text};
use crate::{Fleet, health, manifest};

impl Fleet {
    fn flux(&self, verb: &str, more: &[&str], objects: &[Value]) -> (bool, String) {
        run(FLUX, self.flux_args(verb, more, objects))
    }

    fn flux_well(&self, verb: &str, more: &[&str], objects: &[Value]) -> String {
        said(FLUX, self.flux_args(verb, more, objects))
    }

    fn flux_args(&self, verb: &str, more: &[&str], objects: &[Value]) -> Vec<String> {
        let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
        let file = text(&self.file("flux.yaml", &documents.join("\n---\n")));
        let kubeconfig = text(self.field.cluster().kubeconfig());
        let all = [verb, "--kubeconfig", &kubeconfig]
            .into_iter()
            .chain(more.iter().copied());
        all.chain([file.as_str()]).map(str::to_owned).collect()
    }
}

/// Each kind that a manifest may have; all are flown or in force within seconds, but the Mission.
fn every_kind() -> Vec<Value> {
    let of_site = json!({"matchLabels": {"site": "north"}});
    let object = |kind: &str, spec: Value| json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": "north", "namespace": "north"}, "spec": spec});
    let of_all = |kind: &str, spec: Value| json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": "north"}, "spec": spec});
    let center = json!({"latitudeDegrees": 47.0, "longitudeDegrees": 8.0});
    let place = |east: f64| json!({"latitudeDegrees": 47.0005, "longitudeDegrees": 8.0 + east, "altitudeMeters": 20, "speedMetersPerSecond": 5});
    vec![
        of_all(
            "Geofence",
            json!({"vehicleSelector": of_site, "ceilingMeters": 100,
            "include": [{"circle": {"center": center, "radiusMeters": 1000}}]}),
        ),
        of_all(
            "ParameterProfile",
            json!({"vehicleSelector": of_site, "settings": {"returnAltitudeMeters": "30"}}),
        ),
        of_all(
            "Operator",
            json!({"vehicleSelector": of_site, "id": "CHE87astrdge12k8"}),
        ),
        manifest(Some(1)),
        object("Drone", json!({"takeoffAltitudeMeters": 12})),
        object(
            "Mission",
            json!({"route": {"waypoints": [place(0.0005), place(0.001), place(0.0015)]}}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn flux_waits_for_each_kind_until_what_was_asked_for_is_so() {
    let fleet = Fleet::of(&["n1", "n2", "n3"]).await;
    let kubectl = fleet.field.cluster().kubectl();
    let labels = ["site=north", "skein.dev/number=1", "skein.dev/uas-id=1596F12345678"];
    kubectl
        .run([["label", "node", "n1"].as_slice(), &labels].concat())
        .unwrap();
    let all = every_kind();
    let (mission, rest) = all.split_last().unwrap();
    fleet.vehicles.iter().for_each(|vehicle| vehicle.state().waits_at = 1);
    // A vehicle that is in the air before it takes no parameters until it has landed.
    let (rules, _) = rest.split_at(3);
    fleet.flux_well("apply", &[], rules);
    fleet.flux_well("wait", &["--timeout=60s"], rules);
    fleet.flux_well("apply", &[], &all);
    fleet.flux_well("wait", &["--timeout=60s"], rest);
    let (well, words) = fleet.flux("wait", &["--timeout=5s"], std::slice::from_ref(mission));
    assert!(
        !well && words.contains("Mission/north/north") && words.contains("InProgress"),
        "{words}"
    );
    let states = health::of_all_objects(&fleet);
    for (object, (kstatus, argocd)) in &states {
        let wanted = if object.starts_with("Mission/") {
            ("InProgress", "Progressing")
        } else {
            ("Current", "Healthy")
        };
        if object == "Drone/north" || !object.starts_with("Drone/") {
            assert_eq!((kstatus.as_str(), argocd.as_str()), wanted, "{object}");
        }
    }
    assert_eq!(
        states.keys().filter(|object| !object.starts_with("Drone/")).count() + 1,
        all.len(),
        "{states:?}"
    );

    fleet
        .vehicles
        .iter()
        .for_each(|vehicle| vehicle.state().waits_at = usize::MAX);
    fleet.flux_well("wait", &["--timeout=60s"], std::slice::from_ref(mission));

    fleet.flux_well("delete", &[], std::slice::from_ref(mission));
    fleet.vehicles.iter().for_each(|vehicle| vehicle.state().waits_at = 1);
    let mut patrol = mission.clone();
    patrol["metadata"]["name"] = json!("patrol");
    patrol["spec"]["repeat"] = json!("Forever");
    fleet.flux_well("apply", &[], std::slice::from_ref(&patrol));
    fleet.flux_well("wait", &["--timeout=60s"], std::slice::from_ref(&patrol));
    let flown = fleet.field.read("namespaces/north/missions/patrol");
    assert_eq!(flown["status"]["vehicles"], 1, "{flown}");

    fleet.flux_well("delete", &[], &[rest, std::slice::from_ref(&patrol)].concat());
    fleet.until_landed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flux_leaves_a_number_alone_that_was_scaled_and_takes_one_that_was_edited() {
    let fleet = Fleet::of(&["n1", "n2", "n3"]).await;
    let (none, two) = ([manifest(None)], [manifest(Some(2))]);
    fleet.flux_well("apply", &[], &none);
    fleet.until_fly(1).await;
    fleet.kubectl(["scale", "swarm/alpha", "--replicas=3"]);
    fleet.flux_well("apply", &[], &none);
    assert_eq!(fleet.replicas(), 3);
    fleet.until_fly(3).await;

    // Fields that kubectl wrote are Flux's from the next reconciliation on, and go: the default lands two.
    let edit = json!({"spec": {"replicas": 3, "grounded": false}}).to_string();
    fleet.kubectl(["scale", "swarm/alpha", "--replicas=2"]);
    fleet.kubectl(["patch", "swarm/alpha", "--type=merge", "-p", &edit]);
    fleet.flux_well("apply", &[], &none);
    assert_eq!(fleet.replicas(), 1);
    fleet.until_fly(1).await;

    // A number in the manifest comes back, except for objects that are not to be touched and ignored paths.
    fleet.flux_well("apply", &[], &two);
    fleet.kubectl(["scale", "swarm/alpha", "--replicas=3"]);
    fleet.flux_well("apply", &["--ignore=/spec/replicas"], &two);
    assert_eq!(fleet.replicas(), 3);
    fleet.kubectl([
        "annotate",
        "swarm/alpha",
        "kustomize.toolkit.fluxcd.io/reconcile=disabled",
    ]);
    let skipped = fleet.flux_well("apply", &[], &two);
    assert!(skipped.contains("skipped"), "{skipped}");
    assert_eq!(fleet.replicas(), 3);
    fleet.kubectl(["annotate", "swarm/alpha", "kustomize.toolkit.fluxcd.io/reconcile-"]);
    fleet.flux_well("apply", &[], &two);
    assert_eq!(fleet.replicas(), 2);
    fleet.until_fly(2).await;
    fleet.flux_well("delete", &[], &two);
    fleet.until_landed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn flux_lands_a_drone_before_it_makes_it_anew_for_a_field_that_cannot_change() {
    let fleet = Fleet::of(&["n1", "n2"]).await;
    let drone = |node: &str| {
        [
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": "one", "namespace": "north"},
            "spec": {"nodeName": node}}),
        ]
    };
    fleet.flux_well("apply", &[], &drone("n1"));
    fleet.flux_well("wait", &["--timeout=60s"], &drone("n1"));
    assert!(fleet.vehicles[0].flies());
    let (well, words) = fleet.flux("apply", &[], &drone("n2"));
    assert!(
        !well && words.contains("set once by the coordinator and never changes"),
        "{words}"
    );
    assert!(fleet.vehicles[0].flies());
    fleet.flux_well("apply", &["--force", "--timeout=60s"], &drone("n2"));
    assert!(!fleet.vehicles[0].flies(), "its object was gone before it was down");
    fleet.flux_well("wait", &["--timeout=60s"], &drone("n2"));
    assert!(fleet.vehicles[1].flies());
    fleet.flux_well("delete", &[], &drone("n2"));
    fleet.until_landed().await;
}
