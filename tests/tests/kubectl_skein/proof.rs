//! Proof of identity by a key that the API server has noted, shown to the coordinator and to an impostor.

use crate::impostor::Impostor;
use crate::place::{PATIENCE, Place, SYSTEM};
use crate::said;
use anyhow::{Context, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proto::v1;
use proto::v1::fleet_client::FleetClient;
use serde_json::json;
use skein_tests::way::Way;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use testkit::wait_for;
use tonic::Code;
use trust::proof::SIGNER;
use trust::{Bundle, Caller, PersonKey, RequestName};

pub fn assert_no_token_came_to_the_coordinator(place: &Place) -> anyhow::Result<()> {
    let account = format!("system:serviceaccount:{SYSTEM}:skein-coordinator");
    let of_it = place
        .plane
        .requests()?
        .into_iter()
        .filter(|request| request.user == account);
    let reviews = of_it.filter(|request| request.resource == "tokenreviews").count();
    ensure!(reviews == 0, "{reviews} TokenReviews");
    Ok(())
}

impl Place {
    fn viewer(&self, name: &str) -> anyhow::Result<PathBuf> {
        let kubeconfig = self.person(name)?;
        self.bind(name, "skein-connect")?;
        for role in ["skein-person", "skein-viewer"] {
            self.bind_everywhere(name, role)?;
        }
        self.until_seen(&kubeconfig)?;
        Ok(kubeconfig)
    }

    fn until_seen(&self, kubeconfig: &Path) -> anyhow::Result<()> {
        wait_for("the status", PATIENCE, || {
            let output = self.kubectl_skein(kubeconfig, &["status"])?;
            ensure!(output.status.success(), "{}", said(&output));
            Ok(())
        })
    }

    fn published(&self) -> anyhow::Result<String> {
        let map = self
            .plane
            .kubectl()
            .json(["get", "configmap", "skein-ca", "-n", SYSTEM])?;
        let text = map["data"]["ca.crt"].as_str().context("nothing is published")?;
        Ok(text.to_owned())
    }

    fn publish(&self, authority: &str) -> anyhow::Result<()> {
        let data = json!({"data": {"ca.crt": authority}}).to_string();
        let patch = [
            "patch",
            "configmap",
            "skein-ca",
            "-n",
            SYSTEM,
            "--type=merge",
            "-p",
            &data,
        ];
        self.plane.kubectl().run(patch).map(drop)
    }
}

#[test]
fn one_who_poses_as_the_coordinator_gets_no_token_and_nothing_that_is_of_use_to_it() -> anyhow::Result<()> {
    let place = Place::new()?;
    let gina = place.viewer("gina")?;
    let view = ["config", "view", "--raw", "-o", "jsonpath={.users[0].user.token}"];
    let token = place.plane.kubectl_as(&gina).run(view)?;
    ensure!(token.len() > 100, "she has a token");

    // An attacker can do this who may write ConfigMaps and be forwarded to.
    let (impostor, real) = (Impostor::start(), place.published()?);
    place.publish(impostor.authority.certificate_pem())?;
    *place.kubelet.pod.lock().unwrap() = impostor.address;
    for args in [&["status"][..], &["ground", "--all"]] {
        let output = place.kubectl_skein(&gina, args)?;
        ensure!(said(&output).contains("so the impostor says"), "{}", said(&output));
    }
    let learned = impostor.learned();
    let paths: Vec<&str> = learned.iter().map(|shown| shown.path.as_str()).collect();
    assert_eq!(paths, ["/skein.v1.Fleet/List", "/skein.v1.Fleet/Ground"]);
    for shown in &learned {
        let headers = format!("{:?}", shown.headers);
        ensure!(
            shown.headers.contains_key("content-type"),
            "it reads headers: {headers}"
        );
        ensure!(!shown.headers.contains_key("authorization"), "{headers}");
        let values = || {
            shown
                .headers
                .values()
                .map(|value| String::from_utf8_lossy(value.as_bytes()))
        };
        ensure!(values().all(|value| !value.contains(token.trim())), "{headers}");
        ensure!(
            values().all(|value| !value.to_lowercase().contains("bearer")),
            "{headers}"
        );
    }

    // It has learned the name of her request, which with a key of its own is worth nothing at the coordinator.
    let Caller::Requester { request, .. } = impostor.caller(&learned[0]) else {
        anyhow::bail!("{:?}", impostor.caller(&learned[0]));
    };
    assert_eq!(place.requests_of("gina")?, [request.as_str()]);
    let way = Way::new(&place.address(), Bundle::from_pem(&real)?);
    let runtime = tokio::runtime::Runtime::new()?;
    let status = runtime.block_on(async {
        let own = PersonKey::make()?.identity(&request, SystemTime::now())?;
        let channel = way.channel(Some(&own)).await.map_err(anyhow::Error::from_boxed)?;
        let listed = FleetClient::new(channel).list(v1::ListRequest::default()).await;
        anyhow::Ok(listed.err().context("it was let in")?)
    })?;
    assert_eq!(status.code(), Code::Unauthenticated, "{status}");
    ensure!(status.message().contains("it names another key"), "{status}");

    place.publish(&real)?;
    *place.kubelet.pod.lock().unwrap() = place.address().parse()?;
    place.until_seen(&gina)?;
    assert_no_token_came_to_the_coordinator(&place)
}

#[test]
fn one_who_can_have_no_new_key_noted_is_known_by_the_last_one() -> anyhow::Result<()> {
    let place = Place::new()?;
    let ivy = place.viewer("ivy")?;
    // Left by a command of forty minutes ago: a new one is due, and the earlier one is still good.
    let key = PersonKey::make()?;
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": "skein-person-"},
        "spec": {
            "request": STANDARD.encode(key.request_pem()?), "signerName": SIGNER, "usages": ["client auth"],
            "expirationSeconds": 3600,
        },
    });
    let create = ["create", "-f", "-", "-o", "name"];
    let made = place.plane.kubectl_as(&ivy).run_with(create, &request.to_string())?;
    let name = RequestName::parse(made.trim().rsplit('/').next().unwrap_or_default())?;
    let identity = key.identity(&name, SystemTime::now() - Duration::from_secs(40 * 60))?;
    let folder = place.scratch.folder("home")?.join(".cache/skein/persons");
    let kept: Vec<_> = std::fs::read_dir(&folder)?.collect::<Result<_, _>>()?;
    ensure!(kept.len() == 1, "{kept:?}");
    std::fs::write(
        kept[0].path(),
        identity.certificate_pem().to_owned() + identity.key_pem(),
    )?;

    let kubectl = place.plane.kubectl();
    kubectl.run(["delete", "clusterrolebinding", "ivy-skein-person"])?;
    wait_for("her right to be gone", PATIENCE, || {
        place
            .plane
            .kubectl_as(&ivy)
            .refused(["auth", "can-i", "create", "certificatesigningrequests"])
    })?;
    let before = place.requests_of("ivy")?;
    let output = place.kubectl_skein(&ivy, &["status"])?;
    ensure!(output.status.success(), "{}", said(&output));
    // With the right again she gets a new one, although the last one is still good.
    place.bind_everywhere("ivy", "skein-person")?;
    wait_for("a new request", PATIENCE, || {
        let output = place.kubectl_skein(&ivy, &["status"])?;
        assert!(output.status.success(), "{}", said(&output));
        ensure!(place.requests_of("ivy")?.len() > before.len(), "the same");
        Ok(())
    })?;
    std::fs::remove_dir_all(&folder)?;
    kubectl.run(["delete", "clusterrolebinding", "ivy-skein-person"])?;
    wait_for("her to be refused", PATIENCE, || {
        let _ = std::fs::remove_dir_all(&folder);
        let output = place.kubectl_skein(&ivy, &["status"])?;
        ensure!(
            said(&output).contains("ask for the ClusterRole skein-person"),
            "{}",
            said(&output)
        );
        Ok(())
    })?;
    assert_no_token_came_to_the_coordinator(&place)
}

#[test]
fn the_commands_of_an_hour_share_a_request_and_one_that_counts_no_more_is_made_anew() -> anyhow::Result<()> {
    let place = Place::new()?;
    let hugo = place.viewer("hugo")?;
    for _ in 0..3 {
        let output = place.kubectl_skein(&hugo, &["status"])?;
        ensure!(output.status.success(), "{}", said(&output));
    }
    let first = place.requests_of("hugo")?;
    ensure!(first.len() == 1, "{first:?}");
    let folder = place.scratch.folder("home")?.join(".cache/skein/persons");
    let mode = |path: &Path| anyhow::Ok(std::fs::metadata(path)?.permissions().mode() & 0o777);
    assert_eq!(mode(&folder)?, 0o700);
    for entry in std::fs::read_dir(&folder)? {
        assert_eq!(mode(&entry?.path())?, 0o600);
    }

    // No command fails for it: the coordinator knows the request for some seconds more, and then another one is made.
    let mut before = first;
    for end in ["deny", "delete"] {
        let kubectl = place.plane.kubectl();
        let name = before.last().context("there is one")?;
        match end {
            "deny" => kubectl.run(["certificate", "deny", name])?,
            // As SECURITY.md has it: those of everybody.
            _ => kubectl.run(["delete", "csr", "--field-selector", "spec.signerName=skein.dev/person"])?,
        };
        let left = place.requests_of("hugo")?;
        before = wait_for("a new request", PATIENCE, || {
            let output = place.kubectl_skein(&hugo, &["status"])?;
            assert!(output.status.success(), "{}", said(&output));
            let now = place.requests_of("hugo")?;
            let added: Vec<_> = now.into_iter().filter(|name| !left.contains(name)).collect();
            ensure!(!added.is_empty(), "the same");
            Ok(added)
        })?;
        ensure!(before.len() == 1, "{before:?}");
    }
    assert_no_token_came_to_the_coordinator(&place)
}
