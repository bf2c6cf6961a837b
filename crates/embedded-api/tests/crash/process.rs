//! The program as a process: started, killed, started again on the same folder.

use crate::SOON;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

pub(crate) struct Program {
    folder: tempfile::TempDir,
    running: Option<Child>,
}

impl Program {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("crd.json"), definition().to_string()).unwrap();
        Self { folder, running: None }
    }

    fn spawn(&self) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skein-api"));
        command.arg("--data-dir").arg(self.folder.path().join("data"));
        command.arg("--crds").arg(self.folder.path().join("crd.json"));
        // If the test dies, the program reads the end of its standard input.
        command
            .arg("--until-stdin-closes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.kill_on_drop(true).spawn().unwrap()
    }

    pub(crate) async fn start(&mut self) {
        let mut child = self.spawn();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(SOON, said.next_line()).await.unwrap().unwrap();
        let ready: Value = serde_json::from_str(&line.expect("it starts")).unwrap();
        assert!(ready["server"].as_str().unwrap().starts_with("https://127.0.0.1:"));
        self.running = Some(child);
    }

    pub(crate) async fn start_and_kill(&mut self, after: Duration) {
        let child = self.spawn();
        tokio::time::sleep(after).await;
        self.running = Some(child);
        self.kill().await;
    }

    pub(crate) async fn kill(&mut self) {
        let mut child = self.running.take().unwrap();
        timeout(SOON, child.kill()).await.unwrap().unwrap();
    }

    pub(crate) async fn drones(&self) -> Api<DynamicObject> {
        let read = Kubeconfig::read_from(self.folder.path().join("data/kubeconfig")).unwrap();
        let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
        let client = kube::Client::try_from(config.unwrap()).unwrap();
        let kind = GroupVersionKind::gvk("example.dev", "v1", "Drone");
        Api::namespaced_with(client, "default", &ApiResource::from_gvk(&kind))
    }
}

fn definition() -> Value {
    let counted = json!({"type": "object", "properties": {
        "count": {"type": "integer"}, "padding": {"type": "string"},
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "drones.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "drones", "singular": "drone", "kind": "Drone", "listKind": "DroneList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": counted, "status": counted},
                }},
            }],
        },
    })
}
