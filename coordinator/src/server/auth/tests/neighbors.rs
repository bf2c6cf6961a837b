//! Callers that share an address, as behind one gateway or a port-forward: what one does is not held against another.

use super::super::layer::AuthLayer;
use super::scripted::Scripted;
use super::while_away::auth_of;
use crate::server::admission::Ticket;
use http::{Request, Response};
use std::convert::Infallible;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tonic::Code;
use tonic::body::Body;
use tower::{Layer, Service, service_fn};

const HERE: &str = "127.0.0.1:7";
const SESSION: &str = "/skein.v1.Uplink/Session";
const GROUND: &str = "/skein.v1.Fleet/Ground";
const KILL: &str = "/skein.v1.Fleet/Kill";
const LIST: &str = "/skein.v1.Fleet/List";

/// The answer to a call on the connection of `ticket`.
pub(super) async fn call(layer: &AuthLayer, ticket: &Ticket, path: &str, token: &str) -> Code {
    let answer = service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::empty())));
    let mut request = Request::builder().uri(path).extension(ticket.clone());
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::empty()).unwrap();
    let response = layer.layer(answer).call(request).await.unwrap();
    let code = response.headers().get("grpc-status");
    code.map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()))
}

fn here() -> Ticket {
    Ticket::of(HERE, None)
}

/// Guesses until the coordinator judges no more of them.
async fn guess(layer: &AuthLayer, path: &str) {
    for number in 0..1000 {
        if call(layer, &here(), path, &format!("guess{number}")).await == Code::ResourceExhausted {
            return;
        }
    }
    panic!("a thousand guesses were all judged");
}

#[tokio::test(start_paused = true)]
async fn a_known_caller_is_admitted_whatever_others_at_the_same_address_guess() {
    let api = Scripted::new();
    api.knows("t", "ada");
    api.knows_agent("a", "node-a");
    let layer = AuthLayer::new(auth_of(&api, Duration::from_secs(3600)));
    assert_eq!(call(&layer, &here(), GROUND, "t").await, Code::Ok);
    assert_eq!(call(&layer, &here(), SESSION, "a").await, Code::Ok);
    guess(&layer, LIST).await;
    assert_eq!(call(&layer, &here(), GROUND, "t").await, Code::Ok);
    assert_eq!(call(&layer, &here(), SESSION, "a").await, Code::Ok);
    // Also when the answer is not fresh any more.
    tokio::time::sleep(Duration::from_secs(60)).await;
    guess(&layer, SESSION).await;
    assert_eq!(call(&layer, &here(), GROUND, "t").await, Code::Ok);
    assert_eq!(call(&layer, &here(), SESSION, "a").await, Code::Ok);
}

#[tokio::test(start_paused = true)]
async fn a_whole_fleet_at_one_address_is_judged() {
    let api = Scripted::new();
    let layer = AuthLayer::new(auth_of(&api, Duration::from_secs(3600)));
    for number in 0..2000 {
        let token = format!("a{number}");
        api.knows_agent(&token, &format!("node-{number}"));
        assert_eq!(call(&layer, &here(), SESSION, &token).await, Code::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn one_connection_has_one_question_asked_at_a_time() {
    let api = Scripted::new();
    api.is_away(true);
    let layer = AuthLayer::new(auth_of(&api, Duration::from_secs(3600)));
    let ticket = here();
    let calls: Vec<_> = (0..64)
        .map(|number| {
            let (layer, ticket) = (layer.clone(), ticket.clone());
            tokio::spawn(async move { call(&layer, &ticket, SESSION, &format!("guess{number}")).await })
        })
        .collect();
    let waited = timeout(Duration::from_millis(100), std::future::pending::<()>()).await;
    assert!(waited.is_err());
    assert_eq!(api.asked(), 1);
    calls.iter().for_each(JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn many_connections_of_one_address_have_so_many_questions_asked_at_a_time() {
    let api = Scripted::new();
    api.is_away(true);
    let layer = AuthLayer::new(auth_of(&api, Duration::from_secs(3600)));
    let calls: Vec<_> = (0..1000)
        .map(|number| {
            let layer = layer.clone();
            tokio::spawn(async move { call(&layer, &here(), SESSION, &format!("guess{number}")).await })
        })
        .collect();
    let waited = timeout(Duration::from_millis(100), std::future::pending::<()>()).await;
    assert!(waited.is_err());
    let refused = calls.iter().filter(|call| call.is_finished()).count();
    assert!(refused >= 900, "{} wait for an answer", 1000 - refused);
    calls.iter().for_each(JoinHandle::abort);
}

/// Connections of one address, each with a guess at who may order `path`.
fn guessers(layer: &AuthLayer, path: &'static str, connections: usize) -> Vec<JoinHandle<Code>> {
    let guess = |number| {
        let layer = layer.clone();
        tokio::spawn(async move { call(&layer, &here(), path, &format!("{path}{number}")).await })
    };
    (0..connections).map(guess).collect()
}

#[tokio::test(start_paused = true)]
async fn nobodys_guesses_keep_a_ground_order_of_another_at_the_same_address_out_for_long() {
    let api = Scripted::new();
    let layer = AuthLayer::new(auth_of(&api, Duration::from_secs(3600)));
    guess(&layer, LIST).await;
    for (path, token) in [(GROUND, "t"), (KILL, "k")] {
        api.knows(token, "ada");
        // As many as one address may have, all of them before the good one.
        let guessers = guessers(&layer, path, 2047);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let begun = Instant::now();
        assert_eq!(call(&layer, &here(), path, token).await, Code::Ok, "{path}");
        assert!(begun.elapsed() <= Duration::from_secs(2), "{:?}", begun.elapsed());
        guessers.iter().for_each(JoinHandle::abort);
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    // Other calls are refused as before.
    guess(&layer, LIST).await;
    api.knows("l", "eve");
    assert_eq!(call(&layer, &here(), LIST, "l").await, Code::ResourceExhausted);
}

#[tokio::test(start_paused = true)]
async fn guesses_at_orders_cost_few_requests_and_those_that_hang_up_take_no_turn() {
    let api = Scripted::new();
    let layer = AuthLayer::new(auth_of(&api, Duration::from_secs(3600)));
    let first = guessers(&layer, GROUND, 2000);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(api.asked() <= 1101, "{} questions in a second", api.asked());
    first.iter().for_each(JoinHandle::abort);
    tokio::time::sleep(Duration::from_millis(1)).await;
    api.knows("t", "ada");
    let begun = Instant::now();
    assert_eq!(call(&layer, &here(), GROUND, "t").await, Code::Ok);
    assert!(begun.elapsed() <= Duration::from_millis(150), "{:?}", begun.elapsed());
}
