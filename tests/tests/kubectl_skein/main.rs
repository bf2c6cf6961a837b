//! `kubectl skein` on a real API server, through its port-forward and under RBAC; and `skein enroll` by its authority.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod impostor;
mod people;
mod place;
mod proof;

use anyhow::ensure;
use place::{PATIENCE, Place};
use serde_json::json;
use std::process::Output;
use std::sync::atomic::Ordering;
use testkit::{Launch, wait_for};

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_person_gets_through_to_the_coordinator_and_may_what_rbac_says() -> anyhow::Result<()> {
    let mut place = Place::new()?;
    let ada = place.person("ada")?;
    let refused = |place: &Place, args: &[&str], words: &[&str]| {
        wait_for(format!("{args:?} to be refused for {words:?}"), PATIENCE, || {
            let output = place.kubectl_skein(&ada, args)?;
            let said = said(&output);
            ensure!(
                !output.status.success() && words.iter().all(|word| said.contains(word)),
                "{said}"
            );
            Ok(())
        })
    };
    let done = |place: &Place, args: &[&str], words: &str| {
        wait_for(format!("{args:?} to say {words:?}"), PATIENCE, || {
            let output = place.kubectl_skein(&ada, args)?;
            ensure!(
                output.status.success() && said(&output).contains(words),
                "{}",
                said(&output)
            );
            Ok(())
        })
    };
    refused(
        &place,
        &["status"],
        &[
            "you may not get configmaps/skein-ca in namespace skein-system",
            "default:ada",
        ],
    )?;
    place.bind("ada", "skein-connect")?;
    // Her token is not sent to the coordinator instead.
    let unconfirmed = [
        "you may not create certificatesigningrequests",
        "default:ada",
        "ask for the ClusterRole skein-person",
    ];
    refused(&place, &["status"], &unconfirmed)?;
    place.bind_everywhere("ada", "skein-person")?;
    refused(&place, &["status"], &["get", "drones"])?;
    place.bind_everywhere("ada", "skein-viewer")?;
    done(&place, &["status"], "No Drones, and no agent is connected.")?;
    refused(&place, &["ground", "--all"], &["ground", "swarms"])?;
    place.grant("ada", "ground", "swarms")?;
    done(&place, &["ground", "--all"], "Ground order given")?;
    let nothing = [
        "-l 'team=red'",
        "no Swarm or Drone has labels that match",
        "nothing was done",
    ];
    refused(&place, &["ground", "-l", "team=red"], &nothing)?;
    refused(&place, &["release", "--all"], &["release", "swarms"])?;

    place.kubelet.broken.store(true, Ordering::SeqCst);
    refused(&place, &["status"], &["connection refused by the pod"])?;
    place.kubelet.broken.store(false, Ordering::SeqCst);

    let watching = place.start_kubectl_skein(&ada, &["watch"])?;
    watching.wait_for_line(PATIENCE, |line| line.contains("No Drones, and no agent is connected."))?;
    place.roll()?;
    watching.wait_for_line(PATIENCE, |line| line.contains("lost the coordinator"))?;
    watching.wait_for_line(PATIENCE, |line| line.contains("connected to the coordinator again"))?;
    watching.stop(PATIENCE)?;

    // An authority that the cluster does not publish is not trusted, and no token is shown to it.
    let stranger = trust::Authority::make(trust::Validity::any_time())?;
    let other = json!({"data": {"ca.crt": stranger.certificate_pem()}}).to_string();
    let map = [
        "patch",
        "configmap",
        "skein-ca",
        "-n",
        place::SYSTEM,
        "--type=merge",
        "-p",
        &other,
    ];
    place.plane.kubectl().run(map)?;
    refused(
        &place,
        &["status"],
        &["does not show a certificate of its coordinator", "nothing was sent"],
    )?;
    place.roll()?;
    done(&place, &["status"], "No Drones, and no agent is connected.")?;
    assert_eq!(place.requests_of("ada")?.len(), 1, "all that with one request");
    proof::assert_no_token_came_to_the_coordinator(&place)?;
    Ok(())
}

#[test]
fn a_credential_plugin_is_run_and_a_kubeconfig_that_impersonates_is_refused() -> anyhow::Result<()> {
    let place = Place::new()?;
    place.person("bob")?;
    place.bind("bob", "skein-connect")?;
    for role in ["skein-person", "skein-viewer"] {
        place.bind_everywhere("bob", role)?;
    }
    let token = place.plane.kubectl().run(["create", "token", "bob", "-n", "default"])?;
    let answer = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token.trim()},
    });
    let runs = place.scratch.path().join("runs");
    let script = format!("echo run >> {}; echo '{answer}'", runs.display());
    let admin: serde_json::Value =
        serde_json::from_str(&place.plane.kubectl().run(["config", "view", "--raw", "-o", "json"])?)?;
    let kubeconfig = |user: serde_json::Value| {
        let mut all = admin.clone();
        all["users"][0]["user"] = user;
        let path = place.scratch.path().join("plugin.kubeconfig");
        std::fs::write(&path, all.to_string())?;
        anyhow::Ok(path)
    };
    let exec = kubeconfig(json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script], "interactiveMode": "Never",
    }}))?;
    wait_for("the status by way of the plugin", PATIENCE, || {
        let _ = std::fs::remove_file(&runs);
        let output = place.kubectl_skein(&exec, &["status"])?;
        ensure!(output.status.success(), "{}", said(&output));
        Ok(())
    })?;
    assert_eq!(std::fs::read_to_string(&runs)?, "run\n", "it is run once");

    let acting = kubeconfig(json!({"token": token.trim(), "as": "viewer"}))?;
    let output = place.kubectl_skein(&acting, &["status"])?;
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("acts as somebody else"), "{}", said(&output));
    Ok(())
}

#[test]
fn an_agent_outside_the_cluster_is_enrolled_and_revoked_by_the_cluster_s_authority() -> anyhow::Result<()> {
    let place = Place::new()?;
    place
        .plane
        .create_nodes(&["far"], &[("node-role.kubernetes.io/drone", "")])?;
    let carl = place.person("carl")?;
    for role in ["skein-connect", "skein-enroll"] {
        place.bind("carl", role)?;
    }
    for role in ["skein-person", "skein-viewer"] {
        place.bind_everywhere("carl", role)?;
    }
    let out = place.scratch.path().join("far").display().to_string();
    let enrolled = place.kubectl_skein(&carl, &["enroll", "far", "--out", &out, "--days", "30"])?;
    ensure!(enrolled.status.success(), "{}", said(&enrolled));
    let file = |name: &str| format!("{out}/{name}");
    let agent = Launch::workspace("skein-agent")?
        .args(["--node", "far", "--link", "udp:127.0.0.1:9"])
        .args(["--coordinator", &format!("https://{}", place.address())])
        .args(["--coordinator-ca", &file("ca.crt"), "--client-cert", &file("agent.crt")])
        .args(["--client-key", &file("agent.key"), "--state-dir"])
        .arg(place.scratch.folder("state")?)
        .logs_in(place.scratch.folder("logs")?)
        .start()?;
    wait_for("the agent to be connected", PATIENCE, || {
        let output = place.kubectl_skein(&carl, &["status"])?;
        ensure!(
            said(&output).contains("far"),
            "{}\n{}\n{}",
            said(&output),
            agent.tail(),
            place.coordinator.tail()
        );
        Ok(())
    })?;
    let revoked = place.kubectl_skein(&carl, &["enroll", "--revoke", "far"])?;
    ensure!(
        said(&revoked).contains("1 certificate of far counts no more"),
        "{}",
        said(&revoked)
    );
    agent.wait_for_line(PATIENCE, |line| line.contains("no coordinator, retrying for ever"))?;
    agent.stop(PATIENCE)?;
    Ok(())
}
