//! What `kubectl get pods` shows of a Pod.
//!
//! Owns: its cells. Must not: explain why a container waits: nothing runs Pods here, so only the phase is
//! known.

use super::{AGE, Cells, NAME, items, made, name, or, text, title, wide};
use serde_json::Value;

pub(super) const CELLS: Cells = Cells {
    titles: &[
        NAME,
        title("Ready", "How many of its containers are ready."),
        title("Status", "Where it is in its life."),
        title("Restarts", "How often its containers were started again."),
        AGE,
        wide("IP", "Its address."),
        wide("Node", "Where it runs."),
        wide("Nominated Node", "Where it will run once there is room."),
        wide("Readiness Gates", "Conditions that must hold besides its own."),
    ],
    row: |pod, now| {
        let statuses = || items(pod, "/status/containerStatuses");
        let ready = statuses()
            .filter(|each| each.get("ready") == Some(&Value::Bool(true)))
            .count();
        let restarts: i64 = statuses().filter_map(|each| each.get("restartCount")?.as_i64()).sum();
        let some = |pointer: &str| Value::from(or(text(pod, pointer), "<none>"));
        let going = pod.pointer("/metadata/deletionTimestamp").is_some();
        let phase = or(text(pod, "/status/reason"), text(pod, "/status/phase"));
        vec![
            name(pod),
            format!("{ready}/{}", items(pod, "/spec/containers").count()).into(),
            if going { "Terminating" } else { phase }.into(),
            restarts.to_string().into(),
            made(pod, now),
            some("/status/podIP"),
            some("/spec/nodeName"),
            some("/status/nominatedNodeName"),
            "<none>".into(),
        ]
    },
};

#[cfg(test)]
mod tests {
    use super::super::row;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_shows_how_many_of_its_containers_are_ready() {
        let pod = json!({
            "metadata": {"name": "p", "creationTimestamp": "2026-11-21T05:00:00Z"},
            "spec": {"containers": [{}, {}], "nodeName": "n1"},
            "status": {"phase": "Running", "podIP": "10.0.0.9", "containerStatuses": [
                {"ready": true, "restartCount": 2}, {"ready": false, "restartCount": 1}]},
        });
        assert_eq!(
            row(CELLS, &pod),
            ["p", "1/2", "Running", "3", "60m", "10.0.0.9", "n1", "<none>", "<none>"]
        );
    }

    #[test]
    fn a_pod_on_its_way_out_is_terminating() {
        let pod = json!({"metadata": {"deletionTimestamp": "2026-11-21T05:00:00Z"}, "status": {"phase": "Running"}});
        assert_eq!(row(CELLS, &pod)[2], "Terminating");
    }
}
