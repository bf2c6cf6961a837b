//! The next step for one Node object, where agents become Nodes.

use crds::labels;
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::core::ObjectMeta;
use model::ids::NodeName;
use std::time::Duration;

/// An agent that comes back within this time is never reported as gone: it reconnects within 5 s, and a restarted program within a few
/// more. The same for an autopilot, which reboots within this time.
const AGENT_GONE_GRACE: Duration = Duration::from_secs(10);

const MAX_LABEL_LENGTH: usize = 63;

const READY: &str = "Ready";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Its stream is open, and it receives from its autopilot.
    Connected,
    /// Its stream is open, and it has received nothing from its autopilot for this long, as far as is known.
    NoAutopilot { since: Duration },
    /// Its stream has been closed for this long, as far as is known.
    Gone { since: Duration },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Rest,
    /// Nothing yet; check again after this time.
    CheckAgain(Duration),
    Register,
    Write(ReadyState),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyState {
    Connected,
    /// No vehicle can be used.
    NoAutopilot,
    /// The state of its vehicle is unknown, and so is the Node's.
    Gone,
}

pub fn step(object: Option<&Node>, agent: Agent) -> Step {
    let Some(node) = object else {
        return match agent {
            Agent::Connected | Agent::NoAutopilot { .. } => Step::Register,
            Agent::Gone { .. } => Step::Rest,
        };
    };
    if !is_ours(node) || node.metadata.deletion_timestamp.is_some() {
        return Step::Rest;
    }
    let state = match agent {
        Agent::Connected => ReadyState::Connected,
        Agent::NoAutopilot { .. } => ReadyState::NoAutopilot,
        Agent::Gone { .. } => ReadyState::Gone,
    };
    if state.is_written_on(node) {
        return Step::Rest;
    }
    match agent {
        Agent::Gone { since } if since < AGENT_GONE_GRACE && ready(node).is_some() => {
            Step::CheckAgain(AGENT_GONE_GRACE - since)
        }
        // An agent that has just started or connected again has not received anything yet.
        Agent::NoAutopilot { since } if since < AGENT_GONE_GRACE => Step::CheckAgain(AGENT_GONE_GRACE - since),
        Agent::Gone { .. } | Agent::NoAutopilot { .. } | Agent::Connected => Step::Write(state),
    }
}

/// By our label; a person who removes it takes over the Node.
pub fn is_ours(node: &Node) -> bool {
    node.labels()
        .get(labels::MANAGED_BY)
        .is_some_and(|by| by == labels::COORDINATOR)
}

pub fn object(node: &NodeName) -> Node {
    // A longer name is no label value.
    let hostname = Some(("kubernetes.io/hostname", node.as_str())).filter(|(_, name)| name.len() <= MAX_LABEL_LENGTH);
    let labels = [(labels::DRONE_NODE, ""), (labels::MANAGED_BY, labels::COORDINATOR)];
    let labels = labels.into_iter().chain(hostname);
    Node {
        metadata: ObjectMeta {
            name: Some(node.to_string()),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()),
            ..ObjectMeta::default()
        },
        ..Node::default()
    }
}

impl ReadyState {
    const fn text(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Connected => ("True", "AgentConnected", "the agent of this node is connected"),
            Self::NoAutopilot => (
                "False",
                "AutopilotSilent",
                "the agent of this node is connected but receives nothing from its autopilot; check cable, port, baud rate and power",
            ),
            Self::Gone => (
                "Unknown",
                "AgentGone",
                "the agent of this node is not connected; check that it runs and reaches the coordinator",
            ),
        }
    }

    fn is_written_on(self, node: &Node) -> bool {
        let (status, reason, message) = self.text();
        ready(node).is_some_and(|c| {
            c.status == status && c.reason.as_deref() == Some(reason) && c.message.as_deref() == Some(message)
        })
    }

    /// The desired Ready condition. The time of its last transition is kept while its status is the same.
    pub fn condition(self, node: &Node, now: Timestamp) -> NodeCondition {
        let (status, reason, message) = self.text();
        let since = ready(node).filter(|c| c.status == status);
        // Kubernetes keeps whole seconds.
        let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
        NodeCondition {
            type_: READY.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_transition_time: since
                .and_then(|c| c.last_transition_time.clone())
                .or_else(|| Some(now.clone())),
            last_heartbeat_time: Some(now),
        }
    }
}

fn ready(node: &Node) -> Option<&NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|c| c.type_ == READY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{NodeSpec, NodeStatus};

    const GONE_LONG: Agent = Agent::Gone {
        since: Duration::from_secs(3600),
    };

    fn name() -> NodeName {
        NodeName::parse("alpha").unwrap()
    }

    fn written(state: ReadyState, second: i64) -> Node {
        let node = object(&name());
        let condition = state.condition(&node, Timestamp::from_second(second).unwrap());
        Node {
            status: Some(NodeStatus {
                conditions: Some(vec![condition]),
                ..NodeStatus::default()
            }),
            ..node
        }
    }

    #[test]
    fn an_agent_without_a_node_gets_one_that_drones_can_be_bound_to() {
        assert_eq!(step(None, Agent::Connected), Step::Register);
        let node = object(&name());
        assert!(node.labels().contains_key(labels::DRONE_NODE) && is_ours(&node));
        assert_eq!(step(Some(&node), Agent::Connected), Step::Write(ReadyState::Connected));
        let facts = crate::cluster::world::NodeFacts::of(&written(ReadyState::Connected, 0)).unwrap();
        assert!(facts.ready && !facts.cordoned && !facts.tainted);
        assert!(
            !crate::cluster::world::NodeFacts::of(&written(ReadyState::Gone, 0))
                .unwrap()
                .ready
        );
    }

    #[test]
    fn a_node_whose_name_is_longer_than_a_label_may_be_has_no_label_to_be_refused() {
        let hostname = |name: &str| {
            let node = object(&NodeName::parse(name).unwrap());
            assert!(node.labels().values().all(|value| value.len() <= MAX_LABEL_LENGTH) && is_ours(&node));
            node.labels().get("kubernetes.io/hostname").cloned()
        };
        let longest = "a".repeat(MAX_LABEL_LENGTH);
        assert_eq!(hostname(&longest), Some(longest.clone()));
        assert_eq!(hostname(&format!("{longest}.field.example")), None);
    }

    #[test]
    fn nothing_is_written_while_nothing_changes() {
        assert_eq!(
            step(Some(&written(ReadyState::Connected, 0)), Agent::Connected),
            Step::Rest
        );
        assert_eq!(step(Some(&written(ReadyState::Gone, 0)), GONE_LONG), Step::Rest);
    }

    #[test]
    fn an_agent_gone_for_a_moment_costs_no_write_and_one_that_stays_away_is_told() {
        let node = written(ReadyState::Connected, 0);
        let gone = |seconds| Agent::Gone {
            since: Duration::from_secs(seconds),
        };
        assert_eq!(step(Some(&node), gone(4)), Step::CheckAgain(Duration::from_secs(6)));
        assert_eq!(step(Some(&node), gone(10)), Step::Write(ReadyState::Gone));
        assert_eq!(
            step(Some(&written(ReadyState::Gone, 0)), Agent::Connected),
            Step::Write(ReadyState::Connected)
        );
    }

    #[test]
    fn a_node_whose_autopilot_is_not_heard_is_not_ready_and_says_what_to_check() {
        let no_autopilot = |seconds| Agent::NoAutopilot {
            since: Duration::from_secs(seconds),
        };
        let new = object(&name());
        assert_eq!(step(None, no_autopilot(0)), Step::Register);
        assert_eq!(
            step(Some(&new), no_autopilot(1)),
            Step::CheckAgain(Duration::from_secs(9))
        );
        assert_eq!(step(Some(&new), no_autopilot(10)), Step::Write(ReadyState::NoAutopilot));
        let node = written(ReadyState::Connected, 0);
        assert_eq!(
            step(Some(&node), no_autopilot(4)),
            Step::CheckAgain(Duration::from_secs(6))
        );
        assert_eq!(
            step(Some(&node), no_autopilot(10)),
            Step::Write(ReadyState::NoAutopilot)
        );
        let node = written(ReadyState::NoAutopilot, 0);
        assert_eq!(step(Some(&node), no_autopilot(60)), Step::Rest);
        assert_eq!(step(Some(&node), Agent::Connected), Step::Write(ReadyState::Connected));
        assert_eq!(step(Some(&node), GONE_LONG), Step::Write(ReadyState::Gone));
        let written = ready(&node).unwrap();
        assert_eq!(
            (written.status.as_str(), written.reason.as_deref()),
            ("False", Some("AutopilotSilent"))
        );
        assert!(!crate::cluster::world::NodeFacts::of(&node).unwrap().ready);
    }

    #[test]
    fn a_deleted_node_stays_away_until_its_agent_is_there() {
        assert_eq!(step(None, GONE_LONG), Step::Rest);
        let mut going = written(ReadyState::Connected, 0);
        going.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(step(Some(&going), GONE_LONG), Step::Rest);
    }

    #[test]
    fn a_node_that_somebody_else_made_or_took_over_is_not_touched() {
        let mut node = written(ReadyState::Gone, 0);
        node.labels_mut().remove(labels::MANAGED_BY);
        assert_eq!(step(Some(&node), Agent::Connected), Step::Rest);
        assert_eq!(step(Some(&Node::default()), Agent::Connected), Step::Rest);
    }

    #[test]
    fn what_a_person_put_on_a_node_is_no_reason_to_write() {
        let mut node = written(ReadyState::Connected, 0);
        node.labels_mut().remove(labels::DRONE_NODE);
        node.labels_mut().insert("site".into(), "north".into());
        node.spec = Some(NodeSpec {
            unschedulable: Some(true),
            ..NodeSpec::default()
        });
        assert_eq!(step(Some(&node), Agent::Connected), Step::Rest);
    }

    #[test]
    fn the_time_of_the_condition_is_that_of_its_last_change_of_status() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let node = written(ReadyState::Connected, 10);
        let same = ReadyState::Connected.condition(&node, at(20));
        assert_eq!(same.last_transition_time.unwrap().0, at(10));
        let other = ReadyState::Gone.condition(&node, at(20));
        assert_eq!(other.last_transition_time.unwrap().0, at(20));
    }
}
