//! Upgrades of agents, on a real API server with the DaemonSet controller, the scheduler, scripted agents, and fake
//! kubelets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod kubelet;

use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams};
use kubelet::Kubelet;
use serde_json::json;
use skein_tests::SYSTEM;
use skein_tests::cluster_field::{Coordinator, Field, condition, phase};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use testkit::ServedBy;

const LONG: Duration = Duration::from_secs(180);

async fn until<T>(what: &str, probe: impl AsyncFn() -> Result<T, String>) -> T {
    testkit::until(what, LONG, probe).await
}

fn counted(coordinator: &Coordinator, series: &str) -> Option<f64> {
    let mut stream = TcpStream::connect(&coordinator.metrics).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: test\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.map(|value| value.parse().unwrap())
}

async fn until_counted(coordinator: &Coordinator, series: &str, wanted: f64) {
    until(&format!("{series} to be {wanted}"), async || {
        let is = counted(coordinator, series);
        if is == Some(wanted) {
            Ok(())
        } else {
            Err(format!("{is:?}"))
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_replaced_one_by_one_on_the_ground_and_a_flying_one_after_its_landing() {
    let mut field = Field::clean(ServedBy::Kubernetes).await;
    let coordinator = field.coordinator();
    let kubelet = Kubelet::start(&field, &coordinator.address, &["n1", "n2", "n3"]).await;
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    let drones = field
        .until_drones("one to fly", |drones| drones.iter().any(|d| phase(d) == "Flying"))
        .await;
    let flying = drones[0].spec.node_name.clone().unwrap();
    let before = kubelet.pods().await;
    let orders = kubelet.vehicle(&flying).state().orders.len();

    kubelet.change_template("one").await;
    let after = until("those on the ground to have a new Pod", async || {
        let now = kubelet.running().await;
        let new = now.iter().filter(|(node, uid)| before.get(*node) != Some(uid)).count();
        if new == 2 && now.len() == 3 {
            Ok(now)
        } else {
            Err(format!("{now:?}"))
        }
    })
    .await;
    assert_eq!(after[&flying], before[&flying], "it flies");
    until_counted(&coordinator, "skein_agent_upgrades_total{result=\"done\"}", 2.0).await;
    until_counted(&coordinator, "skein_agent_upgrades_waiting{why=\"flying\"}", 1.0).await;
    assert_eq!(kubelet.running().await[&flying], before[&flying], "it flies still");
    assert!(kubelet.vehicle(&flying).flies());
    assert!(
        !kubelet.vehicle(&flying).ordered_to_land_since(orders),
        "no vehicle lands for an upgrade"
    );

    field
        .swarms("north")
        .delete("alpha", &DeleteParams::background())
        .await
        .unwrap();
    until_counted(&coordinator, "skein_agent_upgrades_total{result=\"done\"}", 3.0).await;
    assert_ne!(kubelet.running().await[&flying], before[&flying]);
    assert_eq!(kubelet.most_away(), 1, "one at a time");
    assert_eq!(kubelet.ended_in_flight(), Vec::<String>::new());
    assert_eq!(counted(&coordinator, "skein_agents_outdated"), Some(0.0));

    let events: Api<Event> = Api::namespaced(field.client.clone(), SYSTEM);
    until("an Event about the DaemonSet for each node", async || {
        let all = events.list(&ListParams::default()).await.unwrap();
        let about = |e: &&Event| {
            let regarding = e.regarding.as_ref().and_then(|r| r.kind.as_deref());
            regarding == Some("DaemonSet") && e.reason.as_deref() == Some("AgentUpgraded")
        };
        let notes: BTreeSet<_> = all.iter().filter(about).filter_map(|e| e.note.clone()).collect();
        if notes.len() == 3 {
            Ok(())
        } else {
            Err(format!("{notes:?}"))
        }
    })
    .await;
    let plane = field.cluster().kubernetes().unwrap();
    let unused = plane.unused_grants(SYSTEM, "skein-coordinator").unwrap();
    let unused: Vec<_> = unused
        .into_iter()
        .filter(|grant| grant.group == "apps" || grant.resource == "pods")
        .collect();
    assert_eq!(unused, [], "granted for upgrades and not used");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_does_not_run_stops_one_agent_and_the_next_mends_it_first() {
    let mut field = Field::clean(ServedBy::Kubernetes).await;
    let coordinator = field.coordinator_with(|launch| launch.arg("--agent-upgrade-patience=25"));
    let kubelet = Kubelet::start(&field, &coordinator.address, &["n1", "n2"]).await;
    let before = kubelet.pods().await;
    kubelet.runs_nothing_new(true);
    kubelet.change_template("broken").await;
    until_counted(&coordinator, "skein_agent_upgrades_stuck", 1.0).await;
    until_counted(&coordinator, "skein_agent_upgrades_waiting{why=\"stopped\"}", 1.0).await;
    let now = kubelet.pods().await;
    assert_eq!((before["n1"] == now["n1"], before["n2"] == now["n2"]), (false, true));
    assert_eq!(
        counted(&coordinator, "skein_agent_upgrades_total{result=\"ended\"}"),
        Some(1.0)
    );

    kubelet.runs_nothing_new(false);
    kubelet.change_template("fixed").await;
    until_counted(&coordinator, "skein_agent_upgrades_total{result=\"done\"}", 2.0).await;
    assert_eq!(counted(&coordinator, "skein_agent_upgrades_stuck"), Some(0.0));
    let fixed = kubelet.running().await;
    assert_eq!(fixed.len(), 2);
    assert!(fixed["n1"] != now["n1"] && fixed["n2"] != before["n2"], "{fixed:?}");
    assert_eq!(kubelet.most_away(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vehicle_whose_agent_is_replaced_stays_down_until_the_new_one_is_well() {
    let mut field = Field::clean(ServedBy::Kubernetes).await;
    let coordinator = field.coordinator();
    let kubelet = Kubelet::start(&field, &coordinator.address, &["n1"]).await;
    let vehicle = kubelet.vehicle("n1");
    vehicle.state().ready = false;
    field.swarm("north", "alpha", json!({"replicas": 1})).await;
    field
        .until_drones("its autopilot to refuse", |drones| {
            drones.iter().any(|d| condition(d, "Armable").0 == "False")
        })
        .await;
    let before = kubelet.pods().await;

    kubelet.change_template("one").await;
    until("another Pod", async || {
        let now = kubelet.running().await;
        if now.contains_key("n1") && now["n1"] != before["n1"] {
            Ok(())
        } else {
            Err(format!("{now:?}"))
        }
    })
    .await;
    vehicle.state().ready = true;
    field
        .until_drones("the reason why it stays down", |drones| {
            drones.iter().any(|d| condition(d, "Ready").1 == "AgentUpgrading")
        })
        .await;
    assert!(!vehicle.flies());
    assert_eq!(
        counted(&coordinator, "skein_agent_upgrades_total{result=\"done\"}"),
        Some(0.0)
    );
    field
        .until_drones("it to fly", |drones| drones.iter().any(|d| phase(d) == "Flying"))
        .await;
    assert_eq!(
        counted(&coordinator, "skein_agent_upgrades_total{result=\"done\"}"),
        Some(1.0)
    );
    assert_eq!(kubelet.ended_in_flight(), Vec::<String>::new());
}
