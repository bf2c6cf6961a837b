//! A Drone's takeoff as an OpenTelemetry collector receives it from coordinator and agent, both killed on the way, and
//! without a collector.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod collector;

use anyhow::{Context, ensure};
use collector::{Collector, Received, Scheme};
use serde_json::Value;
use skein_tests::stage::{PATIENCE, Stage, swarm};
use std::collections::BTreeSet;
use testkit::{Scratch, ServedBy, wait_for};

const COORDINATOR: &str = "skein-coordinator";
const AGENT: &str = "skein-agent";

const PARTS: [(&str, &str); 6] = [
    (COORDINATOR, "bind"),
    (COORDINATOR, "order"),
    (AGENT, "prepare"),
    (AGENT, "arm"),
    (AGENT, "takeoff"),
    (AGENT, "liftoff"),
];

fn set(vehicles: &[&str], autopilot: &str, settings: Vec<(&'static str, String)>) -> anyhow::Result<Stage> {
    set_with(vehicles, autopilot, &[], settings)
}

fn set_with(
    vehicles: &[&str],
    autopilot: &str,
    simulator: &[&str],
    mut settings: Vec<(&'static str, String)>,
) -> anyhow::Result<Stage> {
    settings.extend([
        // Sent soon, so that the test need not wait.
        ("OTEL_BSP_SCHEDULE_DELAY", "200".to_owned()),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000".to_owned()),
    ]);
    let way = |_: &testkit::Cluster, kubeconfig| Ok(kubeconfig);
    Stage::set_with(ServedBy::Embedded, vehicles, autopilot, simulator, (way, settings))
}

fn wait_for_traces(stage: &Stage, collector: &Collector) -> anyhow::Result<Vec<(Value, Vec<Received>)>> {
    let result = wait_for("a trace of each Drone", PATIENCE, || {
        let all = collector.spans();
        let drones = stage.drones("default")?.into_iter();
        let of_each: Vec<_> = drones
            .map(|drone| {
                let uid = drone["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                let spans = all
                    .iter()
                    .filter(|span| span.attributes.get("skein.drone.uid") == Some(&uid));
                (drone, spans.cloned().collect::<Vec<_>>())
            })
            .collect();
        for (drone, spans) in &of_each {
            let names: BTreeSet<_> = spans.iter().map(|span| (&*span.service, &*span.name)).collect();
            let missing: Vec<_> = PARTS
                .iter()
                .chain([&(COORDINATOR, "flight")])
                .filter(|part| !names.contains(*part))
                .collect();
            ensure!(missing.is_empty(), "{}: no {missing:?}", drone["metadata"]["name"]);
        }
        Ok(of_each)
    });
    result.map_err(|error| stage.explain(error))
}

fn one_tree<'a>(drone: &Value, spans: &'a [Received]) -> &'a Received {
    let traces: BTreeSet<_> = spans.iter().map(|span| &span.trace).collect();
    assert_eq!(traces.len(), 1, "{spans:#?}");
    let roots: Vec<_> = spans.iter().filter(|span| span.parent.is_empty()).collect();
    let [root] = roots[..] else { panic!("{spans:#?}") };
    assert_eq!((&*root.service, &*root.name), (COORDINATOR, "flight"));
    let ids: BTreeSet<_> = spans.iter().map(|span| &span.id).collect();
    assert_eq!(ids.len(), spans.len(), "an id twice: {spans:#?}");
    let node = drone["spec"]["nodeName"].as_str().unwrap();
    for span in spans {
        assert!(span.parent.is_empty() || span.parent == root.id, "{span:?}");
        assert!(span.start <= span.end, "{span:?}");
        assert_eq!(
            span.attributes["skein.drone.name"],
            drone["metadata"]["name"].as_str().unwrap()
        );
        assert_eq!(span.attributes["k8s.namespace.name"], "default");
        let named = if span.service == AGENT {
            &span.instance
        } else {
            &span.attributes["k8s.node.name"]
        };
        assert_eq!(named, node, "{span:?}");
    }
    root
}

#[test]
fn each_takeoff_is_one_trace_across_coordinator_and_agent() -> anyhow::Result<()> {
    let collector = Collector::start(Scheme::Http)?;
    let nodes = ["ardupilot-1", "px4-1"];
    let mut stage = set(&nodes, "mixed", collector.settings())?;
    for node in nodes {
        stage.add_node(node)?;
    }
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 2, &[]))?;
    stage.wait_in_air(&nodes, 2)?;
    let traces = wait_for_traces(&stage, &collector)?;
    assert_eq!(traces.len(), 2);
    for (drone, spans) in &traces {
        let root = one_tree(drone, spans);
        // Parts that were refused and tried again occur more than once; the last led to the takeoff.
        let last = |(service, name): (&str, &str)| {
            let of_part = spans
                .iter()
                .filter(|span| (&*span.service, &*span.name) == (service, name));
            of_part.max_by_key(|span| span.end).unwrap()
        };
        let parts = PARTS.map(last);
        for pair in parts.windows(2) {
            assert!(pair[0].end <= pair[1].end, "{pair:#?}");
        }
        for span in parts {
            assert!(root.start <= span.start && !span.failed, "{span:?} {root:?}");
        }
        let [bind, order, prepare, arm, takeoff, liftoff] = parts;
        assert_eq!((root.start, order.start), (bind.start, bind.end));
        assert!(order.end <= prepare.start, "{order:?} {prepare:?}");
        assert!(prepare.end <= arm.start && arm.end <= takeoff.start, "{parts:#?}");
        assert!(takeoff.start <= liftoff.start && liftoff.end <= root.end, "{parts:#?}");
        let created = drone["metadata"]["creationTimestamp"].as_str().context("no time")?;
        let created: k8s_openapi::jiff::Timestamp = created.parse()?;
        assert_eq!(
            i128::from(root.start),
            created.as_nanosecond(),
            "the root begins with the object"
        );
    }
    let all: BTreeSet<_> = traces.iter().map(|(_, spans)| &spans[0].trace).collect();
    assert_eq!(all.len(), 2, "each has its own");
    Ok(())
}

#[test]
fn a_coordinator_and_an_agent_that_are_killed_on_the_way_go_on_in_the_same_trace() -> anyhow::Result<()> {
    let collector = Collector::start(Scheme::Https)?;
    // The commands to arm are lost at first: the vehicle does not fly before both are killed.
    let faults = Scratch::new("skein-traces-")?;
    let script = faults.path().join("script");
    std::fs::write(&script, "on arm 1 lose-command\non arm 2 lose-command")?;
    let simulator = ["--faults", &script.display().to_string()];
    let mut stage = set_with(&["ardupilot-1"], "ardupilot", &simulator, collector.settings())?;
    stage.add_node("ardupilot-1")?;
    stage.cluster.kubectl().apply(&swarm("default", "alpha", 1, &[]))?;
    wait_for("the order to be sent", PATIENCE, || {
        let sent = collector.spans().iter().any(|span| span.name == "order");
        ensure!(sent, "not yet");
        Ok(())
    })
    .map_err(|error| stage.explain(error))?;
    ensure!(
        stage.wire("ardupilot-1").arms() == 0,
        "it was armed before both could be killed"
    );
    stage.kill_coordinator();
    stage.take_agent("ardupilot-1")?.kill();
    stage.start_coordinator()?;
    stage.start_agent("ardupilot-1")?;
    stage.wait_in_air(&["ardupilot-1"], 1)?;
    let traces = wait_for_traces(&stage, &collector)?;
    let [(drone, spans)] = &traces[..] else {
        panic!("{traces:?}")
    };
    one_tree(drone, spans);
    let orders = spans.iter().filter(|span| span.name == "order").count();
    assert_eq!(orders, 2, "each leader has sent one: {spans:#?}");
    Ok(())
}

#[test]
fn a_collector_that_is_not_there_holds_up_no_flight_and_is_one_warning() -> anyhow::Result<()> {
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let nowhere = testkit::ports::free_tcp_port()?;
    for endpoint in [silent.local_addr()?.to_string(), format!("127.0.0.1:{nowhere}")] {
        let settings = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{endpoint}"))];
        let mut stage = set(&["px4-1"], "px4", settings)?;
        stage.add_node("px4-1")?;
        stage.cluster.kubectl().apply(&swarm("default", "alpha", 1, &[]))?;
        stage.wait_in_air(&["px4-1"], 1)?;
        let agent = stage.agent("px4-1")?;
        agent.wait_for_line(PATIENCE, |line| line.contains("spans of traces are lost"))?;
        stage.kubectl(&["delete", "swarm", "alpha", "--wait=false"])?;
        stage.wait_in_air(&["px4-1"], 0)?;
        let warnings = stage.agent("px4-1")?.tail().matches("spans of traces are lost").count();
        assert_eq!(warnings, 1);
    }
    Ok(())
}
