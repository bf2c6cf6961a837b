//! The CronJob of docs/concepts/mission.md, on a real API server.

use super::{PLANE, folder, object, objects};
use std::time::Duration;
use testkit::wait_for;

#[test]
fn the_documented_cron_job_makes_missions_and_its_account_may_do_nothing_else() {
    let page = std::fs::read_to_string(folder("docs/concepts/mission.md")).unwrap();
    let mut blocks = page.split("```yaml\n").filter_map(|rest| rest.split("```").next());
    let example = blocks.find(|block| block.contains("kind: CronJob")).unwrap();
    let kubectl = PLANE.kubectl();
    kubectl.apply(example).unwrap();
    let all = objects(example);
    let pod = &object(&all, "CronJob", "field-each-morning")["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let account = pod["serviceAccountName"].as_str().unwrap();
    let user = format!("--as=system:serviceaccount:default:{account}");
    let args = pod["containers"][0]["args"].as_array().unwrap();
    let args = args.iter().map(|arg| match arg.as_str().unwrap() {
        "/mission/field.yaml" => "-",
        arg => arg,
    });
    let args: Vec<&str> = args.chain([user.as_str()]).collect();
    let mission = std::fs::read_to_string(folder("examples/mission.yaml")).unwrap();
    let mission = mission.replacen("  name: meadow\n", "  generateName: field-\n", 1);

    // Rights take effect some moments after their creation.
    let make = || kubectl.run_with(&args, &mission);
    wait_for("the first Mission", Duration::from_secs(60), make).unwrap();
    make().unwrap();
    let made = kubectl.json(["get", "missions", "-n", "default"]).unwrap();
    let made = made["items"].as_array().unwrap();
    let names = made.iter().filter_map(|mission| mission["metadata"]["name"].as_str());
    assert_eq!(names.filter(|name| name.starts_with("field-")).count(), 2, "{made:?}");
    for request in [["get", "missions"], ["get", "drones"], ["get", "secrets"]] {
        let refused = kubectl
            .refused([&request[..], &["-n", "default", &user]].concat())
            .unwrap();
        assert!(refused.contains("cannot list resource"), "{refused}");
    }
}
