//! Devices of its host that a Pod may open, as measured on a real node with the agent's security context: an allowed
//! device that is not plugged in answers "No such device", a forbidden one "Operation not permitted".

use serde_json::{Value, json};
use std::path::Path;
use testkit::nodes::{Device, RealCluster, Source, Spec, images};
use testkit::{Scratch, wait_for};

use crate::PATIENCE;

const IMAGE: &str = "skein.dev/probe:1";

/// Numbers that no plugged-in device has.
const MINOR: u16 = 200;

const REFUSED: &str = "Operation not permitted";
const ABSENT: &str = "No such device or address";

pub fn who_may_open_what() -> anyhow::Result<()> {
    let scratch = Scratch::new("skein-probe-")?;
    let program = Path::new("/usr/bin/dd");
    let image = images::write(IMAGE, program, scratch.path())?;
    let terminal = nix::pty::openpty(None, None)?;
    let path = nix::unistd::ttyname(&terminal.slave)?;
    let port = |name: &str, major| Device {
        name: name.to_owned(),
        source: Source::Numbers { major, minor: MINOR },
    };
    let node = Spec {
        name: "drone-1".to_owned(),
        labels: Vec::new(),
        devices: vec![
            Device {
                name: "ttyACM0".to_owned(),
                source: Source::Terminal(path),
            },
            port("ttyACM1", 166),
            port("ttyUSB1", 188),
        ],
    };
    let cluster = RealCluster::builder().node(node).images([image]).start()?;

    let hidden = json!({});
    let asking = json!({
        "cdi.k8s.io/autopilot": "skein.dev/serial=ttyACM1",
        "devices.nri.io/container.probe": "- path: /dev/ttyACM1\n  type: c\n  major: 166\n  minor: 200\n",
    });
    let cases = [
        ("terminal", false, "ttyACM0", &hidden, None),
        ("acm", false, "ttyACM1", &hidden, Some(REFUSED)),
        ("usb", false, "ttyUSB1", &hidden, Some(REFUSED)),
        ("annotated", false, "ttyACM1", &asking, Some(REFUSED)),
        ("privileged-acm", true, "ttyACM1", &hidden, Some(ABSENT)),
        ("privileged-usb", true, "ttyUSB1", &hidden, Some(ABSENT)),
    ];
    let kubectl = cluster.plane().kubectl();
    for (name, privileged, device, annotations, _) in cases {
        kubectl.apply(&pod(name, privileged, device, annotations).to_string())?;
    }
    for (name, _, _, _, words) in cases {
        let phase = wait_for(format!("Pod {name} to end"), PATIENCE, || {
            let phase = kubectl.run(["get", "pod", name, "-o", "jsonpath={.status.phase}"])?;
            anyhow::ensure!(["Succeeded", "Failed"].contains(&phase.as_str()), "it is {phase}");
            Ok(phase)
        })?;
        let log = kubectl.run(["logs", name])?;
        match words {
            None => assert_eq!(phase, "Succeeded", "{name}: {log}"),
            Some(words) => assert!(phase == "Failed" && log.contains(words), "{name}: {phase}: {log}"),
        }
    }
    Ok(())
}

fn pod(name: &str, privileged: bool, device: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "supplementalGroups": [20],
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "probe", "image": IMAGE, "imagePullPolicy": "Never",
                "command": ["dd", format!("if=/host/dev/{device}"), "of=/dev/null", "count=0", "iflag=nonblock"],
                "securityContext": {
                    "privileged": privileged, "allowPrivilegeEscalation": privileged,
                    "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "devices", "mountPath": "/host/dev", "readOnly": true}],
            }],
            "volumes": [{"name": "devices", "hostPath": {"path": "/dev", "type": "Directory"}}],
        },
    })
}
