//! People by the key that their request to the API server names: the same users as for the API server, and nobody else.

use crate::certificates::refused;
use crate::people::{Fleet, fleet, grant, list, seen_by};
use crate::place::{Place, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use skein_tests::session::assert_refused;
use std::time::SystemTime;
use tonic::{Code, Status};
use trust::proof::SIGNER;
use trust::{Identity, PersonKey, RequestName};

fn everybody_may_ask(place: &Place) {
    let of = "--resource=certificatesigningrequests.certificates.k8s.io";
    place.kubectl(["create", "clusterrole", "may-ask", "--verb=create", of]);
    let (role, to) = ("--clusterrole=may-ask", "--group=system:authenticated");
    place.kubectl(["create", "clusterrolebinding", "may-ask", role, to]);
}

fn asked(place: &Place, user: &str, key: &PersonKey, signer: &str, claimed: &str) -> String {
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"generateName": format!("of-{user}-")},
        "spec": {
            "request": STANDARD.encode(key.request_pem().unwrap()), "signerName": signer, "usages": ["client auth"],
            "expirationSeconds": 3600, "username": claimed, "groups": ["system:masters"],
        },
    });
    let user = format!("--as={user}");
    let made = place.plane.kubectl();
    let made = made.run_with(["create", "-f", "-", "-o", "name", &user], &request.to_string());
    made.unwrap().trim().rsplit('/').next().unwrap().to_owned()
}

fn shown(key: &PersonKey, name: &str) -> Identity {
    key.identity(&RequestName::parse(name).unwrap(), SystemTime::now())
        .unwrap()
}

async fn refusal(open: &Fleet, words: &str) -> Status {
    until("it to be refused", async || {
        let seen = list(&mut open.clone()).await;
        let status = seen.err().ok_or_else(|| "it still counts".to_owned())?;
        status
            .message()
            .contains(words)
            .then_some(status.clone())
            .ok_or(status.to_string())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_known_by_their_own_request_and_its_key_and_by_neither_alone() {
    let place = Place::new();
    let bystander = place.bystander().await;
    everybody_may_ask(&place);
    let (rita, mallory) = (PersonKey::make().unwrap(), PersonKey::make().unwrap());
    let request = asked(&place, "rita", &rita, SIGNER, "rita");
    let status = seen_by(&place, &shown(&rita, &request)).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "rita may not get drones.skein.dev");
    grant(&place, "rita-sees", "get", "drones", "--user=rita");
    until("her right", async || {
        let seen = seen_by(&place, &shown(&rita, &request)).await;
        seen.map(drop).map_err(|status| status.to_string())
    })
    .await;

    // A false coordinator has learned the name of her request; the key stays with her.
    let status = seen_by(&place, &shown(&mallory, &request)).await.unwrap_err();
    assert_refused(&status, Code::Unauthenticated, "it names another key");
    place.until_logged(&["call refused", &request, "it names another key"]);
    // The API server says who made a request.
    let forged = asked(&place, "mallory", &mallory, SIGNER, "rita");
    let status = seen_by(&place, &shown(&mallory, &forged)).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "mallory may not get drones.skein.dev");
    let other = asked(&place, "rita", &rita, "kubernetes.io/kube-apiserver-client", "rita");
    let status = seen_by(&place, &shown(&rita, &other)).await.unwrap_err();
    assert_refused(
        &status,
        Code::Unauthenticated,
        "it is for signer \"kubernetes.io/kube-apiserver-client\"",
    );
    let status = seen_by(&place, &shown(&rita, "never-made")).await.unwrap_err();
    assert_refused(&status, Code::Unauthenticated, "there is none of that name");
    let status = refused(&place, &shown(&rita, &request), "a").await;
    assert_refused(&status, Code::PermissionDenied, "only an agent's own credentials");
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_denied_or_deleted_ends_what_it_said_on_open_connections_too() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let key = PersonKey::make().unwrap();
    grant(&place, "sven-sees", "get", "drones", "--user=sven");
    let of = "--resource=certificatesigningrequests.certificates.k8s.io";
    place.kubectl(["create", "clusterrole", "sven-asks", "--verb=create", of]);
    let role = "--clusterrole=sven-asks";
    place.kubectl(["create", "clusterrolebinding", "sven-asks", role, "--user=sven"]);
    for (end, words) in [("deny", "it was denied"), ("delete", "there is none of that name")] {
        let request = asked(&place, "sven", &key, SIGNER, "sven");
        until("his rights", async || {
            let seen = seen_by(&place, &shown(&key, &request)).await;
            seen.map(drop).map_err(|status| status.to_string())
        })
        .await;
        let mut open = fleet(&place, &shown(&key, &request)).await.unwrap();
        list(&mut open).await.unwrap();
        match end {
            "deny" => place.kubectl(["certificate", "deny", &request]),
            _ => place.kubectl(["delete", "certificatesigningrequest", &request]),
        };
        let status = refusal(&open, words).await;
        assert_refused(&status, Code::Unauthenticated, words);
    }
    bystander.stays_unharmed().await;
}
