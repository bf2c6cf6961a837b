//! The programs accept what the manifests pass to them.

use serde_json::Value;
use testkit::launch::workspace_binary;

use super::{object, objects, rendered};

fn containers(kind: &str, name: &str) -> Vec<Value> {
    let settings = ["tls.secretName=mine", "metrics.enabled=true"];
    let objects = objects(&rendered(&settings));
    let pod = &object(&objects, kind, name)["spec"]["template"]["spec"];
    let lists = ["initContainers", "containers"]
        .iter()
        .filter_map(|list| pod[list].as_array());
    lists.flatten().cloned().collect()
}

fn answer(program: &str, args: &[&str]) -> (bool, String) {
    let mut command = std::process::Command::new(workspace_binary(program).unwrap());
    command.args(args).env_clear();
    let output = testkit::run::output(command, None, std::time::Duration::from_secs(30)).unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn each_flag_and_variable_of_the_manifests_is_one_of_the_program() {
    for (kind, name) in [("Deployment", "skein-coordinator"), ("DaemonSet", "skein-agent")] {
        let (_, help) = answer(name, &["--help"]);
        for container in containers(kind, name) {
            let args: Vec<&str> = container["args"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            // Arguments are read in order, so an unknown one is reported before the version is.
            let (understood, words) = answer(name, &[args.as_slice(), &["--version"]].concat());
            assert!(understood, "{name} {args:?}: {words}");
            for variable in container["env"].as_array().unwrap() {
                let variable = variable["name"].as_str().unwrap();
                let known = variable == "RUST_LOG" || help.contains(&format!("[env: {variable}="));
                assert!(known, "{name} does not read {variable}");
            }
        }
    }
}

#[test]
fn the_probes_of_the_agent_are_answered_by_its_own_program() {
    for container in containers("DaemonSet", "skein-agent") {
        let Some(command) = container["readinessProbe"]["exec"]["command"].as_array() else {
            continue;
        };
        let command: Vec<&str> = command.iter().filter_map(Value::as_str).collect();
        let (program, flags) = command.split_first().unwrap();
        let (ready, words) = answer(program, &[flags, &["--ready-file=/nonexistent/ready"]].concat());
        assert!(
            !ready && words.contains("not ready: the agent receives nothing from its autopilot"),
            "{words}"
        );
        return;
    }
    panic!("the agent has no probe");
}
