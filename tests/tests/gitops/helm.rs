//! Helm 4: changes by hand, and the upgrade after them.

use std::time::Duration;

use testkit::{ControlPlane, Helm, manifests};

const SYSTEM: &str = "skein-system";
const WITHIN: Duration = Duration::from_secs(120);

fn helm(helm: &Helm, plane: &ControlPlane, args: &[&str]) -> (bool, String) {
    let mut command = helm.command(args);
    command.arg("--namespace").arg(SYSTEM).arg("--kubeconfig");
    command.arg(plane.kubectl().kubeconfig());
    let output = testkit::run::output(command, None, WITHIN).unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    (output.status.success(), words)
}

#[test]
fn helm_4_stops_at_what_was_changed_by_hand_and_is_told_who_wins() {
    let (plane, program) = (ControlPlane::start().unwrap(), Helm::find_or_build().unwrap());
    let version = program.run(["version", "--template", "{{.Version}}"]).unwrap();
    assert!(version.starts_with("v4."), "{version}");
    let chart = manifests::chart().display().to_string();
    let run = |args: &[&str]| helm(&program, &plane, args);
    let kubectl = |args: &[&str]| plane.kubectl().run([&["-n", SYSTEM], args].concat()).unwrap();
    let upgrade = |more: &[&str]| run(&[&["upgrade", "skein", &chart, "--reset-then-reuse-values"], more].concat());
    let well = |(well, words): (bool, String)| assert!(well, "{words}");
    let replicas = || kubectl(&["get", "deployment/skein-coordinator", "-o", "jsonpath={.spec.replicas}"]);
    well(run(&["install", "skein", &chart, "--create-namespace"]));

    // A restart conflicts with nothing, and stays.
    kubectl(&["rollout", "restart", "deployment/skein-coordinator"]);
    well(upgrade(&[]));
    let restarted = "jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}";
    assert_ne!(kubectl(&["get", "deployment/skein-coordinator", "-o", restarted]), "");

    // A number and an image that somebody has set stop it, by name.
    for (by_hand, manager, field) in [
        (
            ["scale", "deployment/skein-coordinator", "--replicas=3"].as_slice(),
            "kubectl",
            ".spec.replicas",
        ),
        (
            &["set", "image", "daemonset/skein-agent", "agent=example.com/agent:1"],
            "kubectl-set",
            ".spec.template.spec.containers[name=\"agent\"].image",
        ),
    ] {
        kubectl(by_hand);
        let (went, words) = upgrade(&[]);
        assert!(!went, "{by_hand:?}: {words}");
        for word in ["conflict", &format!("\"{manager}\""), field] {
            assert!(words.contains(word), "{by_hand:?}: {word}: {words}");
        }
        // A trial does not find it, the documented way does.
        well(upgrade(&["--dry-run=server"]));
        let (_, values) = run(&["get", "values", "skein", "-o", "yaml"]);
        let file = plane.scratch().path().join("values.yaml");
        std::fs::write(&file, values).unwrap();
        let rendered = program.run([
            "template",
            "skein",
            &chart,
            "-n",
            SYSTEM,
            "-f",
            &file.display().to_string(),
        ]);
        let command = plane.kubectl().command([
            "apply",
            "--server-side",
            "--field-manager=helm",
            "--dry-run=server",
            "-f",
            "-",
        ]);
        let trial = testkit::run::output(command, Some(&rendered.unwrap()), WITHIN).unwrap();
        let found = String::from_utf8_lossy(&trial.stderr).into_owned();
        assert!(!trial.status.success() && found.contains(field), "{found}");
        well(upgrade(&["--force-conflicts"]));
        well(upgrade(&[]));
    }
    assert_eq!(replicas(), "2");

    // Objects before the conflict have their new version although the upgrade failed; the next forced one ends that.
    let link = || {
        let path = "jsonpath={.spec.template.spec.containers[0].env[?(@.name==\"SKEIN_LINK\")].value}";
        kubectl(&["get", "daemonset/skein-agent", "-o", path])
    };
    let (first, second) = (link(), "serial:/host/dev/ttyACM1:57600");
    kubectl(&["scale", "deployment/skein-coordinator", "--replicas=3"]);
    let changed = ["--set", &format!("agent.link={second}")];
    assert!(!upgrade(&changed).0);
    assert_ne!(first, second);
    assert_eq!(link(), second);
    well(upgrade(&[&changed, ["--force-conflicts"].as_slice()].concat()));
    assert_eq!((link().as_str(), replicas().as_str()), (second, "2"));

    kubectl(&["scale", "deployment/skein-coordinator", "--replicas=3"]);
    well(upgrade(&["--set", "coordinator.replicas=3"]));
    assert_eq!(replicas(), "3");
}
