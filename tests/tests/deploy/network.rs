//! Network policies: which connections are allowed.

use serde_json::{Value, json};

use super::{object, objects, rendered};

fn policy(name: &str, settings: &[&str]) -> (Vec<Value>, Value) {
    let objects = objects(&rendered(settings));
    let policy = object(&objects, "NetworkPolicy", name)["spec"].clone();
    (objects, policy)
}

#[test]
fn agents_reach_the_coordinator_and_all_else_is_closed_in_both_directions() {
    let (all, coordinator) = policy("skein-coordinator", &[]);
    let (_, agent) = policy("skein-agent", &[]);
    for (policy, workload) in [
        (&coordinator, object(&all, "Deployment", "skein-coordinator")),
        (&agent, object(&all, "DaemonSet", "skein-agent")),
    ] {
        assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
        assert_eq!(policy["podSelector"], workload["spec"]["selector"]);
    }
    let agents = json!({"podSelector": {"matchLabels": {"app.kubernetes.io/name": "skein-agent"}}});
    let coordinators = json!({"podSelector": {"matchLabels": {"app.kubernetes.io/name": "skein-coordinator"}}});
    let uplink = json!([{"port": 50051}]);
    assert_eq!(coordinator["ingress"][0], json!({"from": [agents], "ports": uplink}));
    let monitoring = json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}});
    assert_eq!(
        coordinator["ingress"][1],
        json!({"from": [monitoring], "ports": [{"port": 9090}]})
    );
    assert_eq!(coordinator["ingress"].as_array().unwrap().len(), 2);
    let names = json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]});
    assert_eq!(
        coordinator["egress"],
        json!([names, {"ports": [{"port": 443}, {"port": 6443}]}])
    );
    assert_eq!(agent["ingress"], json!([]));
    assert_eq!(agent["egress"], json!([{"to": [coordinators], "ports": uplink}, names]));
}

#[test]
fn an_autopilot_on_the_network_is_let_through() {
    let at = |link: &str| {
        let settings = [format!("agent.device.access=none,agent.link={link}")];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let (objects, policy) = policy("skein-agent", &settings);
        let ports =
            object(&objects, "DaemonSet", "skein-agent")["spec"]["template"]["spec"]["containers"][0]["ports"].clone();
        (policy, ports)
    };
    let (tcp, ports) = at("tcp:192.0.2.1:5760");
    assert_eq!(tcp["egress"][2], json!({"ports": [{"port": 5760, "protocol": "TCP"}]}));
    assert_eq!((&tcp["ingress"], ports), (&json!([]), Value::Null));
    let (udp, _) = at("udp:autopilot:14580");
    assert_eq!(udp["egress"][2], json!({"ports": [{"port": 14580, "protocol": "UDP"}]}));
    // The autopilot sends to the node, from a port that it chooses.
    let (listening, ports) = at("udp-listen:0.0.0.0:14550");
    assert_eq!(
        listening["ingress"],
        json!([{"ports": [{"port": 14550, "protocol": "UDP"}]}])
    );
    assert_eq!(listening["egress"][2], json!({"ports": [{"protocol": "UDP"}]}));
    assert_eq!(ports[0]["hostPort"], 14550);
}

#[test]
fn both_programs_reach_the_collector_of_their_traces_and_are_given_its_name() {
    for (kind, name) in [("Deployment", "skein-coordinator"), ("DaemonSet", "skein-agent")] {
        let (_, without) = policy(name, &[]);
        let settings = [
            "traces.endpoint=https://collector.tracing:14317/",
            "traces.caConfigMap=collector-ca",
        ];
        let (objects, with) = policy(name, &settings);
        let mut egress = without["egress"].as_array().unwrap().clone();
        egress.push(json!({"ports": [{"port": 14317}]}));
        assert_eq!(with["egress"], json!(egress), "{name}");
        let pod = &object(&objects, kind, name)["spec"]["template"]["spec"];
        let env = pod["containers"][0]["env"].as_array().unwrap();
        let value = |name: &str| env.iter().find(|v| v["name"] == name).unwrap()["value"].clone();
        assert_eq!(value("OTEL_EXPORTER_OTLP_ENDPOINT"), "https://collector.tracing:14317/");
        let authorities = value("OTEL_EXPORTER_OTLP_CERTIFICATE");
        let named = |list: &Value| {
            list.as_array()
                .unwrap()
                .iter()
                .find(|v| v["name"] == "traces-ca")
                .cloned()
        };
        let folder = named(&pod["containers"][0]["volumeMounts"]).unwrap()["mountPath"].clone();
        assert_eq!(authorities, format!("{}/ca.crt", folder.as_str().unwrap()));
        assert_eq!(named(&pod["volumes"]).unwrap()["configMap"]["name"], "collector-ca");
    }
}

#[test]
fn others_are_let_in_by_name_and_metrics_are_scraped_of_each_replica() {
    let settings = [
        "networkPolicy.uplinkFrom[0].ipBlock.cidr=192.0.2.0/24",
        "networkPolicy.apiServers[0].ipBlock.cidr=198.51.100.1/32",
    ];
    let (objects, policy) = policy("skein-coordinator", &settings);
    assert_eq!(
        policy["ingress"][0]["from"][1],
        json!({"ipBlock": {"cidr": "192.0.2.0/24"}})
    );
    assert_eq!(
        policy["egress"][1]["to"],
        json!([{"ipBlock": {"cidr": "198.51.100.1/32"}}])
    );
    // Scraping reads each replica by its own address.
    let service = &object(&objects, "Service", "skein-coordinator-metrics")["spec"];
    let workload = object(&objects, "Deployment", "skein-coordinator");
    assert_eq!(service["selector"], workload["spec"]["selector"]["matchLabels"]);
    assert_eq!(service["clusterIP"], "None");
    let args = workload["spec"]["template"]["spec"]["containers"][0]["args"]
        .as_array()
        .unwrap();
    assert!(args.contains(&json!("--metrics-listen=[::]:9090")), "{args:?}");
}
