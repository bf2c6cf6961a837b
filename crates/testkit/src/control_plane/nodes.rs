//! Nodes that are only objects: enough for a scheduler and a DaemonSet controller, without a kubelet.

use serde_json::{Value, json};

use super::ControlPlane;
use crate::Kubectl;

impl ControlPlane {
    pub fn create_node(&self, name: &str, labels: &[(&str, &str)]) -> anyhow::Result<()> {
        self.create_nodes(&[name], labels)
    }

    /// Creates Ready nodes with these labels and `kubernetes.io/hostname`. A node that exists gets the labels.
    pub fn create_nodes<N: AsRef<str>>(&self, names: &[N], labels: &[(&str, &str)]) -> anyhow::Result<()> {
        create(self.kubectl(), names, labels)
    }
}

pub(crate) fn create<N: AsRef<str>>(kubectl: &Kubectl, names: &[N], labels: &[(&str, &str)]) -> anyhow::Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let items: Vec<Value> = names.iter().map(|name| node(name.as_ref(), labels)).collect();
    kubectl.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())?;
    set_ready(kubectl, names)?;
    // The API server taints every new node as not ready; the controller that would remove the taint may be left out.
    patch(kubectl, names, &[], &json!({"spec": {"taints": null}}))
}

fn set_ready<N: AsRef<str>>(kubectl: &Kubectl, names: &[N]) -> anyhow::Result<()> {
    let patched = json!({"status": {
        "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "set by the test"}],
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    }});
    patch(kubectl, names, &["--subresource=status"], &patched)
}

fn patch<N: AsRef<str>>(kubectl: &Kubectl, names: &[N], flags: &[&str], patch: &Value) -> anyhow::Result<()> {
    let patch = patch.to_string();
    let mut args = vec!["patch", "node", "--type=merge", "-p", &patch];
    args.extend(flags);
    args.extend(names.iter().map(AsRef::as_ref));
    kubectl.run(args).map(drop)
}

fn node(name: &str, labels: &[(&str, &str)]) -> Value {
    let mut all: serde_json::Map<String, Value> = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).into()))
        .collect();
    // The limit of a label value.
    if name.len() <= 63 {
        all.insert("kubernetes.io/hostname".into(), name.into());
    }
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": all}})
}
