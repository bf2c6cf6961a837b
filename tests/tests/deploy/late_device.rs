//! An agent whose device plugin is late, as after a reboot of its node.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ControlPlane, manifests, wait_for};

use super::{DRONE, HELM, SYSTEM};

fn offer(plane: &ControlPlane, devices: &str) {
    let of = json!({"skein.dev/autopilot": devices});
    let patch = json!({"status": {"capacity": of, "allocatable": of}}).to_string();
    let args = [
        "patch",
        "node",
        "drone-1",
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ];
    plane.kubectl().run(args).unwrap();
}

fn wait_for_pod(plane: &ControlPlane, what: &str, is: impl Fn(&Value) -> bool) -> String {
    wait_for(what, Duration::from_secs(60), || {
        let selector = "app.kubernetes.io/name=skein-agent";
        let pods = plane.kubectl().json(["-n", SYSTEM, "get", "pods", "-l", selector])?;
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        match pods.as_slice() {
            [one] if is(one) && one["metadata"]["deletionTimestamp"].is_null() => {
                Ok(one["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            }
            others => anyhow::bail!("{others:?}"),
        }
    })
    .unwrap()
}

fn is_placed(pod: &Value) -> bool {
    pod["spec"]["nodeName"] == "drone-1" && pod["status"]["phase"] == "Pending"
}

fn waits_for_the_device(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut messages = conditions.filter_map(|condition| condition["message"].as_str());
    pod["spec"]["nodeName"].is_null() && messages.any(|message| message.contains("Insufficient skein.dev/autopilot"))
}

#[test]
fn an_agent_refused_before_its_device_plugin_is_there_comes_back_with_the_plugin() {
    let plane = ControlPlane::builder()
        .manifests(["crds", "deploy/namespace.yaml"])
        .start()
        .unwrap();
    let settings = ["agent.device.access=plugin", "agent.link=serial:/dev/ttyACM0:57600"];
    let rendered = manifests::template(&HELM, &settings).unwrap();
    let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    plane.kubectl().run_with(args, &rendered).unwrap();
    plane.create_node("drone-1", &[DRONE]).unwrap();

    wait_for_pod(&plane, "the agent to wait for its device", waits_for_the_device);
    offer(&plane, "1");
    let first = wait_for_pod(&plane, "the agent to be placed", is_placed);

    // After a reboot the kubelet knows no device, and refuses the Pod that it is to run.
    offer(&plane, "0");
    let refused = json!({"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError",
        "message": "Allocate failed due to can not allocate unregistered device skein.dev/autopilot"}});
    let refused = refused.to_string();
    let args = [
        "-n",
        SYSTEM,
        "patch",
        "pod",
        &first,
        "--subresource=status",
        "--type=merge",
        "-p",
        &refused,
    ];
    plane.kubectl().run(args).unwrap();
    let second = wait_for_pod(&plane, "another one to wait for the device", waits_for_the_device);
    assert_ne!(second, first);
    offer(&plane, "1");
    assert_eq!(wait_for_pod(&plane, "it to be placed", is_placed), second);
}
