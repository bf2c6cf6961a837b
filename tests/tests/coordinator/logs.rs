//! The Drone that each line of a coordinator's log is about.

use crate::{crew, flying};
use crds::Drone;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::Value;
use serde_json::json;
use skein_tests::cluster_field::Field;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const ABOUT_A_DRONE: [&str; 4] = ["bound", "phase changed", "order sent to the agent", RELEASED];

const RELEASED: &str = "released: its vehicle is landed and disarmed";

const SOON: Duration = Duration::from_secs(10);

pub async fn each_line_about_a_drone_is_in_its_span_and_none_mixes_two(mut field: Field) {
    let coordinator = field.coordinator_with(|launch| launch.env("SKEIN_LOG_FORMAT", "json"));
    let (_vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    for name in ["first", "second"] {
        field.drone("south", json!({"name": name}), json!({})).await;
    }
    let drones = field.until_drones("both to fly", |d| flying(d) == 2).await;
    for name in ["first", "second"] {
        let gone = DeleteParams::default();
        field.drones("south").delete(name, &gone).await.unwrap();
    }
    field.until_drones("both to be gone", <[Drone]>::is_empty).await;
    let gone = Instant::now();

    // Its line follows the write that removes the Drone.
    let log = loop {
        let log = coordinator.process.stderr();
        if log.matches(RELEASED).count() == 2 {
            break log;
        }
        assert!(gone.elapsed() < SOON, "not both are logged as released: {log}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    // The last one may still be on its way.
    let lines: Vec<Value> = log
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    for drone in &drones {
        let other = drones.iter().find(|d| d.uid() != drone.uid()).unwrap();
        let spans = |line: &Value| line["spans"].as_array().cloned().unwrap_or_default();
        let is_its = |span: &Value| span["name"] == "drone" && span["drone"] == drone.name_any().as_str();
        let own: Vec<&Value> = lines.iter().filter(|line| spans(line).iter().any(is_its)).collect();
        let logged: BTreeSet<&str> = own.iter().filter_map(|line| line["message"].as_str()).collect();
        for words in ABOUT_A_DRONE {
            assert!(
                logged.contains(words),
                "{} has no line {words:?}: {logged:?}",
                drone.name_any()
            );
        }
        for line in own {
            let span = spans(line).into_iter().find(is_its).unwrap();
            assert_eq!(span["namespace"], "south", "{line}");
            assert_eq!(span["uid"].as_str(), drone.uid().as_deref(), "{line}");
            let text = line.to_string();
            let (uid, node) = (other.uid().unwrap(), other.spec.node_name.clone().unwrap());
            for strange in [format!("\"{}\"", other.name_any()), uid, format!("\"{node}\"")] {
                assert!(
                    !text.contains(&strange),
                    "a line about {} says {strange}: {line}",
                    drone.name_any()
                );
            }
        }
    }
    for line in &lines {
        let in_a_span = line["spans"]
            .as_array()
            .is_some_and(|all| all.iter().any(|span| span["name"] == "drone"));
        let about = line["message"]
            .as_str()
            .is_some_and(|words| ABOUT_A_DRONE.contains(&words));
        assert!(in_a_span || !about, "in no Drone's span: {line}");
    }
}
