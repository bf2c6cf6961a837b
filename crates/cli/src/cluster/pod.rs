//! Choice of the coordinator's Pod.

use k8s_openapi::api::core::v1::Pod;

pub const LABEL: &str = "app.kubernetes.io/name=skein-coordinator";

/// For a Pod that names no port `grpc`.
const DEFAULT_GRPC_PORT: u16 = 50_051;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub pod: String,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPod {
    #[error(
        "no coordinator runs in namespace {0} (no Pod with {LABEL}); name the namespace it is in with \
         --coordinator-namespace, or install it"
    )]
    None(String),
    #[error("the coordinator is not ready yet: {0}; see `kubectl -n {1} describe pod {0}`")]
    NotReady(String, String),
}

/// Prefers the leader, named by the `holder` of its Lease, to other ready Pods.
pub fn choose(namespace: &str, holder: Option<&str>, pods: &[Pod]) -> Result<Chosen, NoPod> {
    let alive = || pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let holds = |pod: &&Pod| holder.is_some_and(|holder| is_of(holder, name(pod)));
    let leader = alive()
        .filter(|pod| runs(pod))
        .filter(holds)
        .max_by_key(|pod| name(pod).len());
    let chosen = leader.or_else(|| alive().find(|pod| ready(pod)));
    match (chosen, alive().next()) {
        (Some(pod), _) => Ok(Chosen {
            pod: name(pod).to_owned(),
            port: port(pod),
        }),
        (None, Some(pod)) => Err(NoPod::NotReady(name(pod).to_owned(), namespace.to_owned())),
        (None, None) => Err(NoPod::None(namespace.to_owned())),
    }
}

fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

/// A holder is the Pod's name, perhaps with a suffix for each start.
fn is_of(holder: &str, pod: &str) -> bool {
    match holder.strip_prefix(pod) {
        Some(rest) => !pod.is_empty() && (rest.is_empty() || rest.starts_with(['-', '_'])),
        None => false,
    }
}

fn runs(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running")
}

fn ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
}

fn port(pod: &Pod) -> u16 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    ports
        .find(|port| port.name.as_deref() == Some("grpc"))
        .and_then(|port| u16::try_from(port.container_port).ok())
        .unwrap_or(DEFAULT_GRPC_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, ready: bool) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "ports": [{"name": "health", "containerPort": 1}, {"name": "grpc", "containerPort": 7}]}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]},
        }))
        .unwrap()
    }

    fn chosen(holder: Option<&str>, pods: &[Pod]) -> String {
        choose("skein-system", holder, pods).unwrap().pod
    }

    #[test]
    fn the_leader_is_chosen_also_when_it_is_not_ready_yet() {
        let pods = [pod("c-1", true), pod("c-2", false), pod("c-22", true)];
        assert_eq!(chosen(Some("c-2"), &pods), "c-2");
        assert_eq!(chosen(Some("c-2-17"), &pods), "c-2");
        assert_eq!(chosen(Some("c-22_x7f"), &pods), "c-22");
    }

    #[test]
    fn where_no_leader_is_known_a_ready_coordinator_is_chosen_at_its_own_port() {
        let mut leaving = pod("c-0", true);
        leaving.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-11-21T10:00:00Z")).unwrap());
        let pods = [leaving, pod("c-1", false), pod("c-2", true)];
        for holder in [None, Some("c-0"), Some("elsewhere"), Some("")] {
            assert_eq!(chosen(holder, &pods), "c-2", "{holder:?}");
        }
        assert_eq!(choose("n", None, &pods).unwrap().port, 7);
        let mut plain = pod("c", true);
        plain.spec = None;
        assert_eq!(choose("n", None, &[plain]).unwrap().port, 50_051);
    }

    #[test]
    fn no_pod_and_no_ready_pod_are_distinguished() {
        assert!(
            choose("n", Some("c"), &[])
                .unwrap_err()
                .to_string()
                .contains("--coordinator-namespace")
        );
        let error = choose("n", None, &[pod("c", false)]).unwrap_err().to_string();
        assert!(
            error.contains("not ready yet: c; see `kubectl -n n describe pod c`"),
            "{error}"
        );
    }
}
