//! People with a client certificate: through the API server's port-forward, and directly at the coordinator.

use crate::place::{PATIENCE, Place, SYSTEM, people};
use crate::said;
use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use skein_tests::certificates::{Person, person};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use testkit::wait_for;
use trust::Validity;

const DAY: Duration = Duration::from_secs(86_400);

impl Place {
    fn admitted(&self, person: &Person, name: &str) -> anyhow::Result<PathBuf> {
        let (request, key) = person.request();
        let request = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
            "spec": {
                "request": STANDARD.encode(request), "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["client auth"], "expirationSeconds": 3600,
            },
        });
        let kubectl = self.plane.kubectl();
        kubectl.apply(&request.to_string())?;
        kubectl.run(["certificate", "approve", name])?;
        let certificate = wait_for("the certificate", PATIENCE, || {
            let request = kubectl.json(["get", "csr", name])?;
            let text = request["status"]["certificate"].as_str().context("not signed yet")?;
            Ok(String::from_utf8(STANDARD.decode(text)?)?)
        })?;
        self.plane.certificate_kubeconfig(name, &certificate, &key)
    }

    fn with_certificate(&self, person: &Person, name: &str) -> anyhow::Result<PathBuf> {
        let identity = people().sign(person);
        let (certificate, key) = (identity.certificate_pem(), identity.key_pem());
        self.plane.certificate_kubeconfig(name, certificate, key)
    }

    fn says(&self, kubeconfig: &Path, args: &[&str], well: bool, words: &[&str]) -> anyhow::Result<()> {
        wait_for(format!("{args:?} to say {words:?}"), PATIENCE, || {
            let output = self.kubectl_skein(kubeconfig, args)?;
            let said = said(&output);
            ensure!(
                output.status.success() == well && words.iter().all(|word| said.contains(word)),
                "{said}"
            );
            Ok(())
        })
    }
}

fn bind(place: &Place, kind: &str, name: &str, role: &str, to: &str) -> anyhow::Result<()> {
    let mut args = vec!["create", kind, name, role, to];
    if kind == "rolebinding" {
        args.extend(["-n", SYSTEM]);
    }
    place.plane.kubectl().run(args).map(drop)
}

#[test]
fn a_person_with_a_certificate_may_ground_not_kill_and_nothing_once_without_right() -> anyhow::Result<()> {
    let place = Place::new()?;
    let eve = place.admitted(&person("eve", &["auditors"]), "eve")?;
    let refused = |args: &[&str], words: &[&str]| place.says(&eve, args, false, words);
    let done = |args: &[&str], words: &[&str]| place.says(&eve, args, true, words);
    refused(&["status"], &["you may not get configmaps/skein-ca", "User \"eve\""])?;
    bind(
        &place,
        "rolebinding",
        "auditors-connect",
        "--role=skein-connect",
        "--group=auditors",
    )?;
    refused(&["status"], &["eve may not get drones.skein.dev"])?;
    let make = [
        "create",
        "clusterrole",
        "may-ground",
        "--verb=ground",
        "--resource=swarms.skein.dev",
    ];
    place.plane.kubectl().run(make)?;
    let view = "--clusterrole=skein-viewer";
    bind(&place, "clusterrolebinding", "auditors-see", view, "--group=auditors")?;
    let ground = "--clusterrole=may-ground";
    bind(
        &place,
        "clusterrolebinding",
        "auditors-ground",
        ground,
        "--group=auditors",
    )?;
    done(&["status"], &["No Drones, and no agent is connected."])?;
    done(&["ground", "--all"], &["Ground order given"])?;
    let kill = ["kill", "default/alpha-1", "--confirm=alpha-1", "--yes-stop-the-motors"];
    refused(&kill, &["eve may not kill drones.skein.dev default/alpha-1"])?;
    refused(&["release", "--all"], &["eve may not release swarms.skein.dev"])?;
    let there = format!("https://{}", place.address());
    done(
        &["--server", &there, "status"],
        &["No Drones, and no agent is connected."],
    )?;
    let unbind = ["delete", "clusterrolebinding", "auditors-see", "auditors-ground"];
    place.plane.kubectl().run(unbind)?;
    refused(&["status"], &["eve may not get drones.skein.dev"])?;
    refused(&["ground", "--all"], &["eve may not ground swarms.skein.dev"])?;

    let root = place.with_certificate(&person("root", &["system:masters"]), "root")?;
    place.says(&root, &["release", "--all"], true, &[])?;
    let past = Validity::of(SystemTime::now() - 3 * DAY, DAY);
    let ended = place.with_certificate(&person("root", &["system:masters"]).life(past), "ended")?;
    place.says(
        &ended,
        &["status"],
        false,
        &["does not accept the credential of this kubeconfig"],
    )?;
    Ok(())
}
#[test]
fn a_plugin_that_answers_with_a_certificate_is_run_once() -> anyhow::Result<()> {
    let place = Place::new()?;
    let identity = people().sign(&person("fay", &["system:masters"]));
    let answer = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {
            "clientCertificateData": identity.certificate_pem(), "clientKeyData": identity.key_pem(),
        },
    });
    let file = |name: &str| place.scratch.path().join(name);
    std::fs::write(file("answer"), answer.to_string())?;
    let script = format!(
        "echo run >> {}; cat {}",
        file("runs").display(),
        file("answer").display()
    );
    let exec = place.plane.kubeconfig_showing("fay", &json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script], "interactiveMode": "Never",
    }}))?;
    wait_for("the status by way of the plugin", PATIENCE, || {
        let _ = std::fs::remove_file(file("runs"));
        let output = place.kubectl_skein(&exec, &["status"])?;
        ensure!(output.status.success(), "{}", said(&output));
        Ok(())
    })?;
    assert_eq!(std::fs::read_to_string(file("runs"))?, "run\n");
    Ok(())
}
