//! kubectl and autoscalers.

use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::ServedBy;
use testkit::control_plane::workspace_root;

use crate::{Fleet, manifest};
use skein_tests::cluster_field::Field;

const WITHIN: Duration = Duration::from_secs(60);

fn with_input(field: &Field, args: &[&str], input: &str) -> Output {
    let command = field.cluster().kubectl().command(args);
    testkit::run::output(command, Some(input), WITHIN).unwrap()
}

/// `kubectl diff`; it reads the object, then asks for a dry run: a status that the coordinator writes between the two shows as a
/// difference.
fn differs(field: &Field, args: &[&str], input: &str) -> String {
    let all = [["diff"].as_slice(), args].concat();
    let output = with_input(field, &all, input);
    let words = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), words.is_empty(), "{words}");
    words
}

async fn until_nothing_differs(field: &Field, args: &[&str], input: &str) {
    field
        .until(
            &format!("kubectl diff {args:?} to find nothing"),
            async || match differs(field, args, input) {
                nothing if nothing.is_empty() => Ok(()),
                difference => Err(difference),
            },
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_each_example_kubectl_finds_nothing_to_change() {
    let fleet = Fleet::of(&["n1", "n2", "n3"]).await;
    let kubectl = fleet.field.cluster().kubectl();
    let mut examples: Vec<_> = std::fs::read_dir(workspace_root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| path.display().to_string())
        .collect();
    examples.sort();
    assert!(examples.len() > 8, "{examples:?}");
    for way in [[].as_slice(), &["--server-side"]] {
        for example in &examples {
            let apply = [["apply", "-f", example].as_slice(), way].concat();
            kubectl.run(apply).unwrap();
            let diff = [["-f", example].as_slice(), way].concat();
            until_nothing_differs(&fleet.field, &diff, "").await;
        }
        fleet
            .field
            .until("the coordinator to have observed all of them", async || {
                let kinds = "swarms,drones,missions,geofences,parameterprofiles,operators";
                let all = kubectl.json(["get", kinds, "-n", "default"]).unwrap();
                let all = all["items"].as_array().unwrap();
                let seen = |o: &&Value| o["status"]["observedGeneration"] == o["metadata"]["generation"];
                let unseen: Vec<_> = all
                    .iter()
                    .filter(|o| !seen(o))
                    .map(|o| &o["metadata"]["name"])
                    .collect();
                if unseen.is_empty() && all.len() >= examples.len() {
                    Ok(())
                } else {
                    Err(format!("{unseen:?}"))
                }
            })
            .await;
        for example in &examples {
            let diff = [["-f", example].as_slice(), way].concat();
            until_nothing_differs(&fleet.field, &diff, "").await;
        }
        for example in &examples {
            kubectl.run(["delete", "--timeout=60s", "-f", example]).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_the_manifest_leaves_out_is_that_of_whoever_scales() {
    let field = Field::clean(ServedBy::Kubernetes).await;
    let kubectl = field.cluster().kubectl();
    let apply = |object: &Value, more: &[&str]| {
        let args = [["apply", "-f", "-"].as_slice(), more].concat();
        with_input(&field, &args, &object.to_string())
    };
    let well = |object: &Value, more: &[&str]| {
        let output = apply(object, more);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let scale = |to: &str| {
        let to = format!("--replicas={to}");
        kubectl.run(["-n", "north", "scale", "swarm/alpha", &to]).unwrap();
    };
    let number = || field.read("namespaces/north/swarms/alpha")["spec"]["replicas"].clone();
    let gone = || kubectl.run(["-n", "north", "delete", "swarm/alpha"]).map(drop).unwrap();
    let (two, none) = (manifest(Some(2)), manifest(None));

    well(&two, &[]);
    scale("4");
    let shown = differs(&field, &["-f", "-"], &two.to_string());
    assert!(
        shown.contains("-  replicas: 4") && shown.contains("+  replicas: 2"),
        "{shown}"
    );
    well(&two, &[]);
    assert_eq!(number(), 2);
    gone();

    well(&two, &["--server-side"]);
    scale("4");
    let refused = apply(&two, &["--server-side"]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && words.contains("kubectl") && words.contains(".spec.replicas"),
        "{words}"
    );
    well(&two, &["--server-side", "--force-conflicts"]);
    assert_eq!(number(), 2);

    scale("4");
    well(&none, &["--server-side"]);
    assert_eq!(number(), 4);
    gone();

    for way in [[].as_slice(), &["--server-side"]] {
        well(&none, way);
        assert_eq!(number(), 1);
        scale("4");
        let args = [["-f", "-"].as_slice(), way].concat();
        until_nothing_differs(&field, &args, &none.to_string()).await;
        well(&none, way);
        assert_eq!(number(), 4, "{way:?}");
        gone();
    }

    // A line that is only deleted sets the default: the number is given away first.
    well(&two, &[]);
    scale("4");
    well(&none, &[]);
    assert_eq!(number(), 1);
    well(&two, &[]);
    let last = ["-n", "north", "apply", "set-last-applied", "-f", "-"];
    kubectl.run_with(last, &none.to_string()).unwrap();
    scale("4");
    well(&none, &[]);
    assert_eq!(number(), 4);

    kubectl.run_with(["replace", "-f", "-"], &none.to_string()).unwrap();
    assert_eq!(number(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_autoscaler_scales_a_swarm_that_flies() {
    let fleet = Fleet::of(&["n1", "n2", "n3", "n4"]).await;
    let git = manifest(None).to_string();
    let apply = || fleet.field.cluster().kubectl().apply(&git).unwrap();
    apply();
    fleet.until_fly(1).await;

    // Its limits act at once: it has no metric that could be read.
    fleet.kubectl(["autoscale", "swarm", "alpha", "--min=3", "--max=4"]);
    fleet.until_fly(3).await;
    let wait = ["wait", "--for=condition=AbleToScale", "hpa/alpha", "--timeout=60s"];
    fleet.kubectl(wait);

    until_nothing_differs(&fleet.field, &["-f", "-"], &git).await;
    apply();
    assert_eq!(fleet.replicas(), 3);
    fleet.until_fly(3).await;

    let limits = json!({"spec": {"minReplicas": 1, "maxReplicas": 2}}).to_string();
    fleet.kubectl(["patch", "hpa", "alpha", "--type=merge", "-p", &limits]);
    fleet.until_fly(2).await;
    fleet.kubectl(["delete", "hpa/alpha"]);
    fleet.kubectl(["delete", "swarm/alpha", "--timeout=60s"]);
    fleet.until_landed().await;
}
