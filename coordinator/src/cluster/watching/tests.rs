//! Watches that break, and what is known afterwards.

use super::*;
use axum::body::{Body, Bytes};
use http::{Request, Response};
use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Mutex;
use tokio::sync::mpsc;

fn drone(name: &str) -> Drone {
    let mut drone = Drone::new(name, crds::DroneSpec::default());
    drone.metadata.namespace = Some("field".into());
    drone
}

#[test]
fn what_went_away_while_the_watch_was_broken_is_told_after_the_next_list() {
    let (mut known, news) = (Observed::new(None), RefCell::new(vec![]));
    let notify = |change: Change<Drone>| {
        if let Change::Gone(key) = change {
            news.borrow_mut().push(key.name);
        }
    };
    for event in [
        Event::Init,
        Event::InitApply(drone("a")),
        Event::InitApply(drone("b")),
        Event::InitDone,
    ] {
        known.take(event, notify);
    }
    known.take(Event::Apply(drone("c")), notify);
    assert!(news.borrow().is_empty());
    for event in [Event::Init, Event::InitApply(drone("b")), Event::InitDone] {
        known.take(event, notify);
    }
    news.borrow_mut().sort();
    assert_eq!(*news.borrow(), ["a", "c"]);
}

#[test]
fn what_is_told_is_in_the_store_by_then_and_is_not_kept_twice() {
    let writer = Writer::<Drone>::default();
    let store = writer.as_reader();
    let (mut known, news) = (Observed::new(Some(writer)), RefCell::new(vec![]));
    let notify = |change: Change<Drone>| match change {
        Change::Is(drone) => {
            let stored = store.get(&ObjectRef::from_obj(drone.as_ref()));
            assert!(stored.is_some_and(|stored| Arc::ptr_eq(&stored, &drone)));
            news.borrow_mut().push(drone.name_any());
        }
        Change::Gone(key) => {
            let reference = ObjectRef::new(&key.name).within(&key.namespace);
            assert!(store.get(&reference).is_none());
            news.borrow_mut().push(format!("no {}", key.name));
        }
        Change::Filled => news.borrow_mut().push("all".into()),
        Change::Asked | Change::Answered(_) => {}
    };
    for event in [
        Event::Init,
        Event::InitApply(drone("a")),
        Event::InitDone,
        Event::Apply(drone("b")),
        Event::Delete(drone("b")),
        Event::Init,
        Event::InitApply(drone("c")),
        Event::InitDone,
    ] {
        known.take(event, notify);
    }
    assert_eq!(*news.borrow(), ["a", "all", "b", "no b", "no a", "c", "all"]);
}

const GONE: &str =
    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","message":"too old"}"#;

/// An API server of Drones, of which each list shows one more: `list-1`, `list-1` and `list-2`, and so on. Each watch is answered by
/// `watch`, which gets the number of watches before it.
fn api(watch: impl Fn(usize) -> Response<Body> + Send + Sync + 'static) -> Api<Drone> {
    let counts = Arc::new(Mutex::new((0, 0)));
    let watch = Arc::new(watch);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (counts, watch) = (Arc::clone(&counts), Arc::clone(&watch));
        async move {
            let mut counts = counts.lock().unwrap();
            if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
                counts.1 += 1;
                return Ok::<_, Infallible>(watch(counts.1 - 1));
            }
            counts.0 += 1;
            let names = (1..=counts.0).map(|n| serde_json::to_value(drone(&format!("list-{n}"))).unwrap());
            let list = serde_json::json!({"kind": "DroneList", "apiVersion": "skein.dev/v1alpha1",
                "metadata": {"resourceVersion": "7"}, "items": names.collect::<Vec<_>>()});
            Ok(Response::new(Body::from(list.to_string().into_bytes())))
        }
    });
    Api::all(kube::Client::new(service, "default"))
}

/// The names that a follower of `api` reports.
fn followed(api: Api<Drone>) -> mpsc::UnboundedReceiver<String> {
    let (names, news) = mpsc::unbounded_channel();
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    let notify = move |change: Change<Drone>| {
        if let Change::Is(drone) = change {
            // The test may be over.
            let _ = names.send(drone.name_any());
        }
    };
    tokio::spawn(follow(api, config, None, CancellationToken::new(), notify));
    news
}

/// The next report; `None` after an hour without one.
async fn next(news: &mut mpsc::UnboundedReceiver<String>) -> Option<String> {
    let hour = Duration::from_secs(3600);
    tokio::time::timeout(hour, news.recv()).await.ok().flatten()
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_answered_with_the_status_410_lists_afresh() {
    let refuse = |_| {
        let mut response = Response::new(Body::from(GONE.as_bytes().to_vec()));
        *response.status_mut() = http::StatusCode::GONE;
        response
    };
    let mut news = followed(api(refuse));
    let first = [next(&mut news).await, next(&mut news).await, next(&mut news).await];
    assert_eq!(first.map(Option::unwrap), ["list-1", "list-1", "list-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_on_which_nothing_comes_is_asked_for_again_within_half_a_minute() {
    let watch = |before| {
        let mut object = serde_json::to_value(drone("news")).unwrap();
        object["metadata"]["resourceVersion"] = "8".into();
        let event = serde_json::json!({"type": "ADDED", "object": object});
        let text = if before == 0 {
            String::new()
        } else {
            format!("{event}\n")
        };
        let first = futures::stream::iter([Ok::<_, Infallible>(Bytes::from(text))]);
        Response::new(Body::from_stream(first.chain(futures::stream::pending())))
    };
    let (mut news, start) = (followed(api(watch)), Instant::now());
    assert_eq!(next(&mut news).await.as_deref(), Some("list-1"));
    assert_eq!(next(&mut news).await.as_deref(), Some("news"));
    assert!(
        start.elapsed() <= crate::cluster::api::CONNECTION_SILENCE_LIMIT,
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_always_fails_is_tried_every_few_seconds_and_not_in_a_rush() {
    let (mut trouble, mut now) = (Trouble::default(), Instant::now());
    let mut rests = vec![];
    for _ in 0..8 {
        let rest = trouble.rest(now, 1.0);
        now += rest + crate::cluster::api::CONNECTION_SILENCE_LIMIT;
        rests.push(rest.as_millis());
    }
    assert_eq!(rests, [400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
    assert_eq!(
        trouble.rest(now + FAILURES_FORGOTTEN_AFTER, 1.0),
        WATCH_RETRY.first,
        "after a calm time it begins from the start"
    );
}

#[tokio::test(start_paused = true)]
async fn everything_is_listed_afresh_when_asked_to_whatever_the_watch_is_silent_about() {
    // Watches are open and silent.
    let silent = |_| {
        Response::new(Body::from_stream(
            futures::stream::pending::<Result<Bytes, Infallible>>(),
        ))
    };
    let (relist, news) = (Relist::default(), Arc::new(Mutex::new(vec![])));
    let (asked, names) = (relist.another(), Arc::clone(&news));
    let notify = move |change: Change<Drone>| {
        if let Change::Is(drone) = change {
            names.lock().unwrap().push(drone.name_any());
        }
    };
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    tokio::spawn(follow_afresh(
        api(silent),
        config,
        None,
        asked,
        CancellationToken::new(),
        notify,
    ));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*news.lock().unwrap(), ["list-1"]);
    let start = Instant::now();
    relist.all().await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(*news.lock().unwrap(), ["list-1", "list-1", "list-2"]);
    relist.all().await;
    assert!(news.lock().unwrap().contains(&"list-3".to_owned()));
}
