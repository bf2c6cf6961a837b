//! The coordinator's metrics, and that the dashboard and the alerts of `deploy/monitoring` use no others.

use crate::{crew, flying};
use serde_json::json;
use skein_tests::cluster_field::{Field, condition, described};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use testkit::GoTool;
use testkit::control_plane::workspace_root;

const PROMQL: GoTool = GoTool {
    name: "promql",
    package: ".",
    sources: &["main.go"],
};

const WITHIN: Duration = Duration::from_secs(120);

fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(
        stream,
        "GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("application/openmetrics-text"), "{head}");
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return unchunked(body);
    }
    body.to_owned()
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            break;
        }
        whole.push_str(&rest[..length]);
        body = &rest[length + 2..];
    }
    whole
}

fn value(scrape: &str, series: &str) -> f64 {
    let line = scrape
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{scrape}"))
        .parse()
        .unwrap()
}

pub async fn what_is_counted_is_what_happened_and_all_that_dashboard_and_alerts_ask_for(mut field: Field) {
    let coordinator = field.coordinator();
    let metrics = coordinator.metrics.clone();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    vehicles[0].state().ready = false;
    vehicles[0].state().reasons = vec!["GPS 1: Bad fix".into()];
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    field
        .until_drones("one to fly and one to be refused", |drones| {
            flying(drones) == 1 && drones.iter().any(|d| condition(d, "Armable").0 == "False")
        })
        .await;
    let mut scrapes = vec![scrape(&metrics)];
    vehicles[0].state().reasons = vec![];
    vehicles[0].state().ready = true;
    field.until_drones("both to fly", |drones| flying(drones) == 2).await;
    scrapes.push(scrape(&metrics));
    field.scale("north", "alpha", 1).await;
    let drones = field
        .until_drones("one to have landed", |drones| drones.len() == 1)
        .await;

    field
        .until("all of it to be counted", async || {
            let now = scrape(&metrics);
            let seen = [
                ("skein_leader", 1.0),
                ("skein_agents_connected", 2.0),
                ("skein_flight_transitions_total{transition=\"takeoff\"}", 2.0),
                ("skein_flight_transitions_total{transition=\"landing\"}", 1.0),
                ("skein_flight_transitions_total{transition=\"lost\"}", 0.0),
                ("skein_arming_refusals_total{class=\"unclear\"}", 1.0),
                ("skein_swarm_replicas{namespace=\"north\",swarm=\"alpha\"}", 1.0),
                ("skein_swarm_flying{namespace=\"north\",swarm=\"alpha\"}", 1.0),
                ("skein_drones{phase=\"Flying\"}", 1.0),
                ("skein_vehicles{state=\"flying\"}", 1.0),
                ("skein_vehicles{state=\"disarmed\"}", 1.0),
            ];
            let wrong = seen.into_iter().find(|(series, wanted)| value(&now, series) != *wanted);
            wrong.map_or(Ok(()), |(series, wanted)| {
                Err(format!(
                    "{series} is {}, not {wanted}; {}",
                    value(&now, series),
                    described(&drones[0])
                ))
            })
        })
        .await;
    let last = scrape(&metrics);
    assert!(value(&last, "skein_agent_reports_total") > value(&scrapes[0], "skein_agent_reports_total"));
    let patches = "rest_client_requests_total{method=\"PATCH\",code=\"200\"}";
    assert!(value(&last, patches) > value(&scrapes[0], patches));
    scrapes.extend(std::iter::repeat_n(last, 3));
    judge(&field, &scrapes);
}

/// Uses Prometheus's own engine.
fn judge(field: &Field, scrapes: &[String]) {
    let monitoring = workspace_root().join("deploy/monitoring");
    let mut command = Command::new(PROMQL.find_or_build().unwrap());
    for (number, text) in scrapes.iter().enumerate() {
        let file: PathBuf = field.cluster().scratch().path().join(format!("scrape-{number}.txt"));
        std::fs::write(&file, text).unwrap();
        command.arg("--scrape").arg(file);
    }
    command.arg("--rules").arg(monitoring.join("alerts.yaml"));
    command.arg("--dashboard").arg(monitoring.join("fleet-dashboard.json"));
    let output = testkit::run::output(command, None, WITHIN).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for panel in [
        "Flying",
        "Desired",
        "Agents",
        "Drones by phase",
        "Lowest batteries",
        "Rules on board",
        "Reconciles",
    ] {
        let lines = said.lines().filter(|line| line.starts_with(&format!("ok {panel}: ")));
        assert!(
            lines.clone().count() > 0 && lines.clone().all(|line| !line.contains(": 0 series:")),
            "{panel} shows nothing:\n{said}"
        );
    }
}
