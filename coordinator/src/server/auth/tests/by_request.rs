//! Persons by their requests: what a caller shows, what the API server is asked, and what holds while it is away.

use super::super::layer::AuthLayer;
use super::super::person_request::BadRequest;
use super::super::*;
use super::neighbors::call;
use super::scripted::Scripted;
use super::while_away::auth_of;
use crate::cluster::key::Key;
use crate::server::admission::Ticket;
use crate::server::auth::right::{GROUND, RELEASE};
use tokio::time::Instant;
use tonic::Code;
use trust::{PersonKey, PublicKey, RequestName};

const HOUR: Duration = Duration::from_secs(3600);
const LATER: Duration = Duration::from_secs(11);
const SAFE: CallKind = CallKind::People { safe: true };
const PEOPLE: CallKind = CallKind::People { safe: false };
const NOW: Duration = Duration::ZERO;

/// A caller with this key, after the handshake.
fn shown(name: &str, key: &PersonKey) -> Caller {
    Caller::Requester {
        request: RequestName::parse(name).unwrap(),
        key: PublicKey::of_request(key.request_pem().unwrap().as_bytes()).unwrap(),
    }
}

fn key() -> PersonKey {
    PersonKey::make().unwrap()
}

async fn authenticate(auth: &Auth, kind: CallKind, caller: &Caller) -> Result<Who, Refusal> {
    auth.authenticate(kind, None, Some(caller)).await
}

#[tokio::test(start_paused = true)]
async fn a_person_is_known_by_their_own_request_and_key_together() {
    let (api, ada, mallory) = (Scripted::new(), key(), key());
    api.takes_request("of-ada", "ada", &ada, NOW);
    api.takes_request("of-mallory", "mallory", &mallory, NOW);
    let auth = auth_of(&api, HOUR);
    let name = async |caller: &Caller| authenticate(&auth, PEOPLE, caller).await.map(|who| who.name());
    assert_eq!(name(&shown("of-ada", &ada)).await.unwrap(), "user ada");
    assert_eq!(name(&shown("of-mallory", &mallory)).await.unwrap(), "user mallory");
    // Another's request with a key of one's own, also when the request is known already.
    let stolen = name(&shown("of-ada", &mallory)).await.unwrap_err();
    assert!(matches!(stolen, Refusal::BadRequest(_, BadRequest::Key)), "{stolen}");
    let missing = name(&shown("of-nobody", &ada)).await.unwrap_err();
    assert!(
        matches!(missing, Refusal::BadRequest(_, BadRequest::Missing)),
        "{missing}"
    );
    api.takes_request("old", "ada", &ada, HOUR + LATER);
    let old = name(&shown("old", &ada)).await.unwrap_err();
    assert!(matches!(old, Refusal::BadRequest(_, BadRequest::Ended)), "{old}");
    // It speaks for a person, never for an agent.
    let agent = authenticate(&auth, CallKind::Uplink, &shown("of-ada", &ada))
        .await
        .unwrap_err();
    assert!(matches!(agent, Refusal::NoAgent(_)), "{agent}");
}

#[tokio::test(start_paused = true)]
async fn the_api_server_is_asked_once_in_ten_seconds_and_a_deleted_request_shows_nobody() {
    let (api, ada) = (Scripted::new(), key());
    api.takes_request("r", "ada", &ada, NOW);
    let (auth, caller) = (auth_of(&api, HOUR), shown("r", &ada));
    for _ in 0..10 {
        authenticate(&auth, PEOPLE, &caller).await.unwrap();
    }
    assert_eq!(api.asked(), 1);
    api.loses_request("r");
    tokio::time::sleep(LATER).await;
    for _ in 0..10 {
        let refused = authenticate(&auth, SAFE, &caller).await;
        assert!(matches!(refused, Err(Refusal::BadRequest(_, BadRequest::Missing))));
    }
    assert_eq!(api.asked(), 2);
    // The answer is not remembered, also when the API server is away then.
    api.is_away(true);
    tokio::time::sleep(LATER).await;
    assert!(matches!(
        authenticate(&auth, SAFE, &caller).await,
        Err(Refusal::Unasked(_))
    ));
}

#[tokio::test(start_paused = true)]
async fn who_grounded_within_the_hour_may_ground_while_the_api_hangs_and_nothing_else() {
    let (api, ada) = (Scripted::new(), key());
    api.takes_request("r", "ada", &ada, NOW);
    api.lets("ground");
    let (auth, caller) = (auth_of(&api, HOUR), shown("r", &ada));
    let swarm = |verb| Right::to_order(verb, &Key::new("north", "alpha"));
    let grounds = async || {
        let who = authenticate(&auth, SAFE, &caller).await?;
        auth.may(&who, &swarm(GROUND)).await
    };
    grounds().await.unwrap();
    for guess in 0..10_000 {
        tokio::time::advance(Duration::from_millis(10)).await;
        assert!(
            authenticate(&auth, PEOPLE, &shown(&format!("guess{guess}"), &ada))
                .await
                .is_err()
        );
    }
    api.is_away(true);
    let begun = Instant::now();
    grounds().await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "it took {:?}",
        begun.elapsed()
    );
    let release = authenticate(&auth, PEOPLE, &caller).await;
    assert!(matches!(release, Err(Refusal::Unasked(_))), "{release:?}");
    let known = Who::User(User {
        name: "ada".to_owned(),
        ..User::default()
    });
    assert!(auth.may(&known, &swarm(RELEASE)).await.is_err());
}

const LIST: &str = "/skein.v1.Fleet/List";

#[tokio::test(start_paused = true)]
async fn guesses_of_one_address_are_bounded_and_keep_no_known_person_out() {
    let (api, ada) = (Scripted::new(), key());
    api.takes_request("r", "ada", &ada, NOW);
    let layer = AuthLayer::new(auth_of(&api, HOUR));
    let from = |name: &str| Ticket::of("127.0.0.1:7", Some(shown(name, &ada)));
    assert_eq!(call(&layer, &from("r"), LIST, "").await, Code::Ok);
    let before = api.asked();
    let mut answers = Vec::new();
    for guess in 0..1000 {
        answers.push(call(&layer, &from(&format!("guess{guess}")), LIST, "").await);
    }
    let refused = answers.iter().filter(|code| **code == Code::ResourceExhausted).count();
    assert!(refused >= 890, "{refused}");
    assert_eq!(api.asked() - before, 1000 - refused);
    assert_eq!(call(&layer, &from("r"), LIST, "").await, Code::Ok);
    tokio::time::sleep(LATER).await;
    assert_eq!(call(&layer, &from("r"), LIST, "").await, Code::Ok);
}

#[tokio::test(start_paused = true)]
async fn one_connection_has_one_question_asked_at_a_time() {
    let api = Scripted::new();
    api.is_away(true);
    let layer = AuthLayer::new(auth_of(&api, HOUR));
    let ticket = Ticket::of("127.0.0.1:7", Some(shown("r", &key())));
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let (layer, ticket) = (layer.clone(), ticket.clone());
            tokio::spawn(async move { call(&layer, &ticket, LIST, "").await })
        })
        .collect();
    let waited = tokio::time::timeout(Duration::from_millis(100), std::future::pending::<()>()).await;
    assert!(waited.is_err());
    assert_eq!(api.asked(), 1);
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}
