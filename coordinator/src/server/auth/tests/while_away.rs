//! While the API server does not answer, one who may ground can do so at once, and no session is given up.

use super::super::*;
use super::scripted::Scripted;
use crate::cluster::key::Key;
use crate::server::auth::right::{GROUND, RELEASE};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::time::{Instant, timeout};

const HOUR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(11);

pub(super) fn auth_of(api: &Scripted, session_life: Duration) -> Auth {
    let account = ("skein-system".to_owned(), "skein-agent".to_owned());
    let kind = Kind::Cluster {
        enrolled: watch::channel(Enrolled::default()).1,
        tokens: Box::new(Tokens::new(api.client(), account)),
        requests: Box::new(Requests::new(api.client())),
        access: Box::new(Access::new(api.client())),
    };
    Auth(Arc::new(Inner {
        kind,
        session_life: Some(session_life),
        refusals: Arc::default(),
    }))
}

const SAFE: CallKind = CallKind::People { safe: true };
const PEOPLE: CallKind = CallKind::People { safe: false };

fn swarm() -> Right {
    Right::to_order(GROUND, &Key::new("north", "alpha"))
}

/// The checks of a call to ground the Swarm.
async fn grounds(auth: &Auth, token: &str) -> Result<(), Refusal> {
    let who = auth.authenticate(SAFE, Some(token), None).await?;
    auth.may(&who, &swarm()).await
}

#[tokio::test(start_paused = true)]
async fn who_grounded_within_the_hour_grounds_within_a_second_though_the_api_hangs() {
    let api = Scripted::new();
    api.knows("t", "ada");
    api.lets("ground");
    let auth = auth_of(&api, HOUR);
    grounds(&auth, "t").await.unwrap();
    tokio::time::sleep(LATER).await;
    api.is_away(true);
    let begun = Instant::now();
    grounds(&auth, "t").await.unwrap();
    assert!(begun.elapsed() < SOON, "it took {:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_person_who_watched_within_the_hour_and_could_ground_can_ground() {
    let api = Scripted::new();
    api.knows("t", "ada");
    api.lets("get");
    api.lets("ground");
    let auth = auth_of(&api, HOUR);
    let who = auth.authenticate(PEOPLE, Some("t"), None).await.unwrap();
    auth.may(&who, &Right::to_see("north")).await.unwrap();
    tokio::time::sleep(LATER).await;
    api.is_away(true);
    grounds(&auth, "t").await.unwrap();
    let all = auth.may(&who, &Right::to_order_all(GROUND, None)).await;
    assert!(all.is_ok(), "they could ground all as well: {all:?}");
    let release = auth.may(&who, &Right::to_order_all(RELEASE, None)).await;
    assert!(matches!(release, Err(Refusal::Unasked(_))), "{release:?}");
}

#[tokio::test(start_paused = true)]
async fn a_person_who_may_only_watch_cannot_ground_while_nobody_can_be_asked() {
    let api = Scripted::new();
    api.knows("t", "bob");
    api.lets("get");
    let auth = auth_of(&api, HOUR);
    let who = auth.authenticate(PEOPLE, Some("t"), None).await.unwrap();
    auth.may(&who, &Right::to_see("")).await.unwrap();
    tokio::time::sleep(LATER).await;
    api.is_away(true);
    assert!(grounds(&auth, "t").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn guessed_tokens_do_not_make_the_coordinator_forget_who_could_ground() {
    let api = Scripted::new();
    api.knows("t", "ada");
    api.lets("ground");
    let auth = auth_of(&api, HOUR);
    grounds(&auth, "t").await.unwrap();
    for guess in 0..10_000 {
        tokio::time::advance(Duration::from_millis(10)).await;
        assert!(
            auth.authenticate(PEOPLE, Some(&format!("guess{guess}")), None)
                .await
                .is_err()
        );
    }
    api.is_away(true);
    grounds(&auth, "t").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_time_has_come_goes_on_until_its_credentials_can_be_judged() {
    let api = Scripted::new();
    api.knows_agent("t", "a");
    let auth = auth_of(&api, HOUR);
    let who = auth.authenticate(CallKind::Uplink, Some("t"), None).await.unwrap();
    api.is_away(true);
    let mut over = std::pin::pin!(auth.is_over(&who, 0.0));
    assert!(
        timeout(HOUR * 3, over.as_mut()).await.is_err(),
        "the agent would be lost"
    );
    api.is_away(false);
    assert_eq!(timeout(HOUR, over).await.unwrap(), Over::Aged);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_comes_back_within_a_minute_is_asked_about_once() {
    let api = Scripted::new();
    api.knows_agent("t", "a");
    let ended = format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(r#"{"exp":1000}"#));
    api.knows_agent(&ended, "b");
    let auth = auth_of(&api, HOUR);
    let asked = async |token: &str| {
        let before = api.asked();
        auth.authenticate(CallKind::Uplink, Some(token), None).await.unwrap();
        api.asked() - before
    };
    assert_eq!(asked("t").await, 1);
    for _ in 0..5 {
        tokio::time::sleep(LATER).await;
        assert_eq!(asked("t").await, 0);
    }
    tokio::time::sleep(LATER).await;
    assert_eq!(asked("t").await, 1);
    assert_eq!([asked(&ended).await, asked(&ended).await], [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_a_name_is_not_asked_about() {
    let api = Scripted::new();
    api.knows("t", "bob");
    let auth = auth_of(&api, HOUR);
    let who = auth.authenticate(PEOPLE, Some("t"), None).await.unwrap();
    let before = api.asked();
    let long = "a".repeat(60_000);
    for name in ["a\nWARN order taken by=admin", "A", "a/b", "../a", "-a", "a b", &long] {
        for key in [Key::new("north", name), Key::new(name, "alpha")] {
            let refused = auth.may(&who, &Right::to_see_one(&key)).await.unwrap_err();
            let words = refused.to_string();
            assert!(words.len() < 200 && !words.contains('\n'), "{words}");
        }
    }
    assert_eq!(api.asked(), before);
}

#[tokio::test(start_paused = true)]
async fn questions_about_agents_do_not_keep_people_waiting() {
    let api = Scripted::new();
    api.is_away(true);
    let auth = auth_of(&api, HOUR);
    let crowd: Vec<_> = (0..1000)
        .map(|number| {
            let auth = auth.clone();
            tokio::spawn(async move {
                auth.authenticate(CallKind::Uplink, Some(&format!("agent{number}")), None)
                    .await
                    .map(drop)
            })
        })
        .collect();
    let calls = async |count: usize| {
        for _ in 0..count {
            tokio::task::yield_now().await;
        }
    };
    calls(1000).await;
    let before = api.asked();
    assert!(before > 0);
    let person = tokio::spawn({
        let auth = auth.clone();
        async move { auth.authenticate(PEOPLE, Some("t"), None).await.map(drop) }
    });
    calls(1000).await;
    assert_eq!(api.asked(), before + 1, "nobody asks for the person");
    person.abort();
    drop(crowd);
}
