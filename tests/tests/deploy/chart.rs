//! The chart: the plain manifests are what it renders, everything it can render is accepted, and what it refuses.

use serde_json::{Value, json};
use testkit::control_plane::workspace_root;
use testkit::manifests;

use super::{HELM, PLANE, folder, kubectl, object, objects, rendered};

/// Sorts objects and environments, as kustomize puts what it has patched first, and no variable refers to another.
fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    for object in &mut objects {
        let containers = object
            .pointer_mut("/spec/template/spec/containers")
            .and_then(Value::as_array_mut);
        for env in containers
            .into_iter()
            .flatten()
            .filter_map(|container| container["env"].as_array_mut())
        {
            env.sort_by_key(|variable| variable["name"].to_string());
        }
    }
    objects.sort_by_key(|object| {
        let metadata = &object["metadata"];
        format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"])
    });
    objects
}

fn kustomized(components: &[&str]) -> Vec<Value> {
    // Kustomizations reach only files below them, or folders beside them: so one of ours is above a copy.
    let scratch = testkit::Scratch::new("skein-kustomize-").unwrap();
    let top = scratch.folder("top").unwrap();
    for file in ["deploy", "crds"] {
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .arg(folder(file))
            .arg(scratch.path())
            .status()
            .unwrap();
        assert!(copied.success());
    }
    let components: Vec<String> = components
        .iter()
        .map(|name| format!("../deploy/components/{name}"))
        .collect();
    let text = json!({"resources": ["../deploy"], "components": components});
    std::fs::write(top.join("kustomization.yaml"), text.to_string()).unwrap();
    objects(&kubectl(&["kustomize", &top.to_string_lossy()]))
}

fn charted(settings: &[&str]) -> Vec<Value> {
    let mut objects = objects(&rendered(settings));
    for object in objects.iter_mut().filter(|o| o["kind"] == "CustomResourceDefinition") {
        let metadata = object["metadata"].as_object_mut().unwrap();
        let annotations = metadata.remove("annotations");
        assert_eq!(annotations, Some(json!({"helm.sh/resource-policy": "keep"})));
    }
    objects
}

#[test]
fn the_plain_manifests_are_generated_from_the_chart() {
    for (path, wanted) in manifests::generated(&HELM).unwrap() {
        let there = std::fs::read_to_string(workspace_root().join(&path)).unwrap();
        assert!(there == wanted, "{path} differs: run `cargo xtask generate`");
    }
}

#[test]
fn the_manifests_and_the_chart_are_the_same_objects_with_each_way_to_a_serial_port() {
    for (components, settings) in [
        ([].as_slice(), [].as_slice()),
        (&["serial-privileged"], &["agent.device.access=privileged"]),
        (
            &["serial-device-plugin"],
            &["agent.device.access=plugin,agent.link=serial:/dev/ttyACM0:57600"],
        ),
    ] {
        let mut plain = kustomized(components);
        // The installer creates the Namespace, as Helm keeps its records in it.
        let before = plain.len();
        plain.retain(|object| object["kind"] != "Namespace");
        assert_eq!(plain.len(), before - 1);
        let (plain, chart) = (sorted(plain), sorted(charted(settings)));
        for (plain, chart) in plain.iter().zip(&chart) {
            assert_eq!(plain, chart, "{components:?}");
        }
        assert_eq!(plain.len(), chart.len());
    }
}

#[test]
fn whatever_can_be_set_is_accepted_by_the_api_server_without_a_warning() {
    for settings in [
        [].as_slice(),
        &["agent.device.access=plugin", "agent.link=serial:/dev/ttyACM0:57600"],
        &["agent.device.access=privileged", "agent.link=auto"],
        &["agent.device.access=none", "agent.link=udp-listen:0.0.0.0:14550"],
        &["agent.device.access=none", "agent.link=udp-listen:[::]:14550"],
        &["agent.link=serial:/host/dev/serial/by-path/pci-0000:00:14.0-usb-0:1.2:1.0-port0:57600"],
        &[
            "agent.device.access=plugin",
            "agent.link=serial:/dev/serial/by-path/platform-xhci-hcd.0-usb-0:1:1.0:57600",
        ],
        &[
            "agent.device.hostPath=/dev/ttyACM0",
            "agent.device.hostPathType=CharDevice",
        ],
        &[
            "images.registry=registry.example/team",
            "images.pullSecrets[0].name=login",
            "images.tag=0.2.0",
            "coordinator.replicas=3",
            "coordinator.bindAddress=0.0.0.0",
            "coordinator.nodeSelector.disk=fast",
            "coordinator.tolerations[0].operator=Exists",
            "coordinator.podAnnotations.team=flight",
            "coordinator.extraArgs[0]=--log=text",
            "coordinator.extraEnv[0].name=A,coordinator.extraEnv[0].value=b",
        ],
        &[
            "agent.extraEnv[0].name=SKEIN_SIGNING_KEY,agent.extraEnv[0].value=/keys/key",
            "agent.extraVolumes[0].name=keys,agent.extraVolumes[0].secret.secretName=keys",
            "agent.extraVolumeMounts[0].name=keys,agent.extraVolumeMounts[0].mountPath=/keys",
            "agent.podAnnotations.team=flight",
            "agent.landingTimeoutSeconds=600",
            "log.level=debug",
            "log.format=text",
        ],
        &[
            "agent.upload.bucket=flight-logs",
            "agent.upload.endpoint=https://store.example:9000",
            "agent.upload.prefix=fleet/2026",
            "agent.upload.credentialsSecret=store",
            "agent.upload.caConfigMap=store-ca",
            "agent.upload.virtualHost=true",
        ],
        &["traces.endpoint=http://collector.tracing:4317"],
        &[
            "traces.endpoint=https://collector.tracing:4317",
            "traces.caConfigMap=collector-ca",
        ],
        &[
            "tls.secretName=mine",
            "traces.endpoint=https://collector.tracing:4317",
            "traces.caConfigMap=collector-ca",
            "metrics.enabled=false",
            "service.type=NodePort",
            "service.nodePort=30051",
        ],
        &["roles.install=false", "networkPolicy.enabled=false", "crds.keep=false"],
        &[
            "crds.install=false",
            "roles.aggregate=true",
            "vehicles.grantedOnly=true",
        ],
    ] {
        let args = [
            "apply",
            "--server-side",
            "--dry-run=server",
            "--validate=strict",
            "--force-conflicts",
            "-f",
            "-",
        ];
        let command = PLANE.kubectl().command(args);
        let deadline = std::time::Duration::from_secs(60);
        let output = testkit::run::output(command, Some(&rendered(settings)), deadline).unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && words.is_empty(), "{settings:?}: {words}");
    }
}

fn refusal(settings: &[&str]) -> String {
    manifests::template(&HELM, settings).unwrap_err().to_string()
}

#[test]
fn bad_values_are_refused_by_name_and_with_what_to_do() {
    for (setting, words) in [
        // A misspelled name would otherwise be ignored silently.
        (
            "agent.lnik=auto",
            "at '/agent': additional properties 'lnik' not allowed",
        ),
        (
            "coordinator.replicas=0",
            "at '/coordinator/replicas': minimum: got 0, want 1",
        ),
        (
            "coordinator.replicas=two",
            "at '/coordinator/replicas': got string, want integer",
        ),
        (
            "log.format=xml",
            "at '/log/format': value must be one of 'json', 'text'",
        ),
        (
            "agent.device.access=magic",
            "value must be one of 'hostPath', 'plugin', 'privileged', 'none'",
        ),
        (
            "images.pullPolicy=Sometimes",
            "value must be one of 'IfNotPresent', 'Always', 'Never'",
        ),
        (
            "agent.device.group=0",
            "at '/agent/device/group': minimum: got 0, want 1",
        ),
        (
            "agent.resources.limits.memory=lots",
            "at '/agent/resources/limits/memory'",
        ),
        (
            "images.tag=latest",
            "latest does not say which version flies; name a version",
        ),
        (
            "agent.upload.endpoint=https://store.example",
            "the bucket is missing; set agent.upload.bucket",
        ),
        ("agent.upload.bucket=Logs", "is not the name of a bucket"),
        ("agent.upload.bucket=logs", "the credentials are missing; name a Secret"),
        (
            "agent.upload.bucket=logs,agent.upload.credentialsSecret=s",
            "the image has no certificate authorities; name a ConfigMap",
        ),
        (
            "agent.upload.bucket=logs,agent.upload.credentialsSecret=s,agent.upload.endpoint=http://store",
            "plain text across a network; use https://",
        ),
        (
            "agent.upload.bucket=logs,agent.upload.endpoint=store/bucket",
            "is not a store; use https://HOST",
        ),
        (
            "traces.endpoint=collector:4317",
            "is not a collector; use http://HOST:4317",
        ),
        (
            "traces.endpoint=http://collector",
            "is not a collector; use http://HOST:4317",
        ),
        (
            "traces.endpoint=https://collector:4317",
            "the images have no certificate authorities; name a ConfigMap",
        ),
        ("traces.caConfigMap=ca", "certificates are for https://"),
        (
            "agent.link=/dev/ttyACM0",
            "is not a link; use auto, auto:57600, serial:/host/dev/ttyACM0:57600",
        ),
        (
            "agent.link=serial:/dev/ttyACM0:57600",
            "sees the host's /dev as /host/dev; write serial:/host/dev",
        ),
        (
            "agent.link=auto",
            "use agent.device.access plugin or privileged, or name the device",
        ),
        ("agent.device.access=plugin", "name the device as the plugin gives it"),
        (
            "agent.device.access=none",
            "agent.device.access is none; use plugin, privileged or hostPath",
        ),
        ("agent.device.hostPath=/", "is more than devices; use /dev"),
        (
            "agent.device.hostPath=/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0",
            "use /dev, and name the port in agent.link",
        ),
        (
            "agent.coordinator=http://c:50051",
            "use https://HOST:PORT, or leave it empty",
        ),
        ("agent.landingTimeoutSeconds=30", "30 s may end an agent in the air"),
        ("tls.certManager.enabled=true", "set tls.certManager.issuerRef.name"),
        (
            "metrics.enabled=false,metrics.serviceMonitor.enabled=true",
            "set metrics.enabled",
        ),
    ] {
        let refusal = refusal(&[setting]);
        assert!(refusal.contains(words), "{setting}: {refusal}");
    }
}

#[test]
fn each_value_has_its_place_in_the_schema_and_each_place_a_default() {
    let chart = manifests::chart();
    let read = |name: &str| std::fs::read_to_string(chart.join(name)).unwrap();
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let values: Value = serde_saphyr::from_str(&read("values.yaml")).unwrap();
    same_names("", &schema, &schema, &values);
}

fn same_names(path: &str, root: &Value, schema: &Value, value: &Value) {
    let reference = schema["$ref"].as_str().map(|name| name.trim_start_matches("#/$defs/"));
    let schema = reference.map_or(schema, |name| &root["$defs"][name]);
    let (Some(places), Some(values)) = (schema["properties"].as_object(), value.as_object()) else {
        return;
    };
    // `global` is Helm's own; resources have no claims by default.
    let places: Vec<&String> = places
        .keys()
        .filter(|name| *name != "global" && *name != "claims")
        .collect();
    let names: Vec<&String> = values.keys().collect();
    assert_eq!(places.len(), names.len(), "{path}: {places:?} {names:?}");
    for name in places {
        assert!(values.contains_key(name), "{path}.{name} has no default");
        same_names(
            &format!("{path}.{name}"),
            root,
            &schema["properties"][name],
            &value[name],
        );
    }
}

#[test]
fn a_serial_port_comes_by_a_device_plugin_without_any_privilege() {
    let objects = kustomized(&["serial-device-plugin"]);
    let pod = &object(&objects, "DaemonSet", "skein-agent")["spec"]["template"]["spec"];
    let agent = &pod["containers"][0];
    assert_eq!(agent["resources"]["limits"]["skein.dev/autopilot"], "1");
    assert_eq!(agent["securityContext"]["allowPrivilegeEscalation"], false);
    assert_eq!(agent["securityContext"]["privileged"], Value::Null);
    let volumes = pod["volumes"].as_array().unwrap();
    assert!(volumes.iter().all(|volume| volume["name"] != "devices"), "{volumes:?}");
}

#[test]
fn or_by_a_privileged_container_that_is_still_not_root() {
    let objects = kustomized(&["serial-privileged"]);
    let pod = &object(&objects, "DaemonSet", "skein-agent")["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["securityContext"]["privileged"], true);
    assert_eq!(
        pod["containers"][0]["securityContext"]["capabilities"]["drop"],
        json!(["ALL"])
    );
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["supplementalGroups"], json!([20]));
}

fn parsed(settings: &[&str]) -> Vec<Value> {
    rendered(settings)
        .split("\n---\n")
        .map(|document| serde_saphyr::from_str(document.trim_start_matches("---\n")).unwrap())
        .collect()
}

#[test]
fn alerts_and_dashboard_are_those_of_the_monitoring_folder() {
    let objects = parsed(&[
        "metrics.serviceMonitor.enabled=true",
        "metrics.alerts.enabled=true",
        "metrics.dashboard.enabled=true",
    ]);
    let read = |name: &str| std::fs::read_to_string(workspace_root().join("deploy/monitoring").join(name)).unwrap();
    let alerts: Value = serde_saphyr::from_str(&read("alerts.yaml")).unwrap();
    assert_eq!(object(&objects, "PrometheusRule", "skein")["spec"], alerts);
    let at = "https://git.example.org/skein/";
    let with_links = parsed(&["metrics.alerts.enabled=true", &format!("metrics.alerts.documents={at}")]);
    let linked = object(&with_links, "PrometheusRule", "skein")["spec"].to_string();
    let path = r#""runbook_url":"docs/"#;
    let linked_path = path.replace("docs/", &format!("{at}docs/"));
    assert_eq!(linked, alerts.to_string().replace(path, &linked_path));
    assert!(linked.contains(&linked_path));
    let dashboard: Value = serde_json::from_str(&read("fleet-dashboard.json")).unwrap();
    let map = object(&objects, "ConfigMap", "skein-fleet-dashboard");
    let shown: Value = serde_json::from_str(map["data"]["skein-fleet.json"].as_str().unwrap()).unwrap();
    assert_eq!(shown, dashboard);
    let monitor = &object(&objects, "ServiceMonitor", "skein-coordinator")["spec"];
    let service = object(&objects, "Service", "skein-coordinator-metrics");
    assert_eq!(monitor["endpoints"][0]["port"], service["spec"]["ports"][0]["name"]);
    for (key, value) in monitor["selector"]["matchLabels"].as_object().unwrap() {
        assert_eq!(&service["metadata"]["labels"][key], value);
    }
}

#[test]
fn a_certificate_of_cert_manager_has_the_name_that_agents_check_and_is_mounted() {
    let objects = parsed(&["tls.certManager.enabled=true", "tls.certManager.issuerRef.name=ours"]);
    let certificate = &object(&objects, "Certificate", "skein-coordinator")["spec"];
    assert_eq!(certificate["dnsNames"], json!(["skein-coordinator"]));
    assert_eq!(certificate["issuerRef"]["name"], "ours");
    let pod = &object(&objects, "Deployment", "skein-coordinator")["spec"]["template"]["spec"];
    assert_eq!(pod["volumes"][0]["secret"]["secretName"], certificate["secretName"]);
    let container = &pod["containers"][0];
    let flag = format!(
        "--tls-dir={}",
        container["volumeMounts"][0]["mountPath"].as_str().unwrap()
    );
    assert!(
        container["args"].as_array().unwrap().contains(&json!(flag)),
        "{container}"
    );
}
