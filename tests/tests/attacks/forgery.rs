//! Agents with no credentials, or with those of another agent.

use crate::place::Place;
use skein_tests::session::{Stream, assert_refused, refused};
use skein_tests::tokens::{self, AUDIENCE};
use std::time::{SystemTime, UNIX_EPOCH};
use tonic::Code;

#[tokio::test(flavor = "multi_thread")]
async fn no_token_and_what_is_no_token_is_refused() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let status = refused(&place.way, "", "a").await;
    assert_refused(&status, Code::Unauthenticated, "no credentials");
    place.until_logged(&["call refused", "no credentials", "peer=127.0.0.1"]);
    let status = refused(&place.way, "Not.A.Token", "a").await;
    assert_refused(&status, Code::Unauthenticated, "the token is not accepted");
    place.until_logged(&["call refused", "the token is not accepted"]);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_token_is_refused_and_it_is_the_end_of_its_life_that_counts() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let token = tokens::of_agent(place.plane, "a");
    let living = |from: u64, until: u64| {
        tokens::forged(place.plane, &token, |claims| {
            claims["iat"] = from.into();
            claims["nbf"] = from.into();
            claims["exp"] = until.into();
        })
    };
    let mut good = Stream::open(&place.way, &living(now - 60, now + 600), "a")
        .await
        .unwrap();
    good.until_ordered().await.unwrap();
    drop(good);
    let status = refused(&place.way, &living(now - 7200, now - 3600), "a").await;
    assert_refused(&status, Code::Unauthenticated, "the token is not accepted");
    place.until_logged(&["call refused", "expired"]);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_audience_or_another_account_is_refused() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let bound = ["--bound-object-kind", "Node", "--bound-object-name", "a"];
    for audience in ["https://kubernetes.default.svc", "somebody-else"] {
        let flags = [&["--audience", audience][..], &bound].concat();
        let token = tokens::make(place.plane, "skein-agent", &flags);
        let status = refused(&place.way, &token, "a").await;
        assert_refused(&status, Code::Unauthenticated, "audience");
    }
    place.until_logged(&["call refused", "audience"]);

    let flags = [&["--audience", AUDIENCE][..], &bound].concat();
    let token = tokens::make(place.plane, "skein-coordinator", &flags);
    let status = refused(&place.way, &token, "a").await;
    assert_refused(
        &status,
        Code::PermissionDenied,
        "system:serviceaccount:skein-system:skein-coordinator",
    );
    place.until_logged(&[
        "call refused",
        "agents are system:serviceaccount:skein-system:skein-agent",
    ]);
    // The same name in another namespace is another account.
    place.kubectl(["create", "serviceaccount", "skein-agent", "-n", "default"]);
    let token = place.kubectl([
        "create",
        "token",
        "skein-agent",
        "-n",
        "default",
        "--audience",
        AUDIENCE,
    ]);
    let status = refused(&place.way, &token, "a").await;
    assert_refused(
        &status,
        Code::PermissionDenied,
        "system:serviceaccount:default:skein-agent",
    );
    place.kubectl(["delete", "serviceaccount", "skein-agent", "-n", "default"]);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_one_node_does_not_speak_for_another_and_one_of_no_node_for_nobody() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let token = tokens::of_agent(place.plane, "a");
    let mut victim = Stream::open(&place.way, &tokens::of_agent(place.plane, "b"), "b")
        .await
        .unwrap();
    victim.until_ordered().await.unwrap();
    let status = refused(&place.way, &token, "b").await;
    assert_refused(&status, Code::PermissionDenied, "those of node a");
    place.until_logged(&["agent refused", "node a", "it is b"]);
    // The attempt does not replace the agent that is connected.
    let status = refused(&place.way, &token, "bystander").await;
    assert_refused(&status, Code::PermissionDenied, "those of node a");

    let unbound = tokens::make(place.plane, "skein-agent", &["--audience", AUDIENCE]);
    let status = refused(&place.way, &unbound, "a").await;
    assert_refused(&status, Code::Unauthenticated, "Kubernetes must be 1.33 or later");
    place.until_logged(&["call refused", "the token names no node"]);
    // The holder adds a claim to the token, without the key.
    let mut parts: Vec<&str> = token.split('.').collect();
    let other = tokens::of_agent(place.plane, "b");
    let claims = other.split('.').nth(1).unwrap().to_owned();
    parts[1] = &claims;
    let status = refused(&place.way, &parts.join("."), "b").await;
    assert_refused(&status, Code::Unauthenticated, "the token is not accepted");
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_node_that_is_gone_is_refused() {
    let place = Place::new();
    let bystander = place.bystander().await;
    place
        .plane
        .create_nodes(&["gone"], &[("node-role.kubernetes.io/drone", "")])
        .unwrap();
    let token = tokens::of_agent(place.plane, "gone");
    place.kubectl(["delete", "node", "gone"]);
    let status = refused(&place.way, &token, "gone").await;
    assert_refused(&status, Code::Unauthenticated, "the token is not accepted");
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_a_person_opens_no_uplink() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let person = tokens::make(place.plane, "skein-agent", &[]);
    let status = refused(&place.way, &person, "a").await;
    assert_refused(&status, Code::Unauthenticated, "the token is not accepted");
    bystander.stays_unharmed().await;
}
