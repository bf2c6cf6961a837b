//! The order in which Missions are planned, and what becomes of the results.

use super::*;
use crate::leadership::LeaderLease;
use crate::leadership::state::LeadershipState;
use fleet::planning::leadership::RENEW_EVERY;
use http::{Request, Response};
use k8s_openapi::api::coordination::v1::Lease;
use kube::client::Body;
use serde_json::json;
use std::convert::Infallible;
use std::sync::mpsc;
use tower::service_fn;

fn spec(corners: u32) -> MissionSpec {
    let corner = |number: u32| {
        let (east, north) = (f64::from(number) / f64::from(corners) * std::f64::consts::TAU).sin_cos();
        json!({"latitudeDegrees": 47.4 + 0.002 * north, "longitudeDegrees": 8.5 + 0.002 * east})
    };
    let polygon: Vec<_> = (0..corners).map(corner).collect();
    let survey = json!({"area": {"polygon": polygon}, "lineSpacingMeters": 20.0, "altitudeMeters": 30.0});
    serde_json::from_value(json!({"survey": survey})).unwrap()
}

fn survey(corners: u32) -> Task {
    Task::Survey(Box::new(spec(corners)))
}

fn of(uid: &str) -> Of {
    (uid.to_owned(), Kind::Survey)
}

/// Another task is planned, so that none is begun.
fn occupy(pool: &Pool) {
    pool.lock().running.push(Running {
        of: of("another"),
        namespace: "other".to_owned(),
        digest: String::new(),
        since: Instant::now(),
    });
}

fn busy() -> Pool {
    let pool = Pool::default();
    occupy(&pool);
    pool
}

/// Ends what another plans, and takes the next.
fn next(pool: &Pool) -> Option<(Of, Task)> {
    let mut queue = pool.lock();
    queue.running.clear();
    queue.take(Instant::now())
}

fn ask(pool: &Pool, namespace: &str, uid: &str, digest: &str) -> Asked<Done> {
    pool.ask((namespace, uid), digest, || survey(20), Instant::now())
}

fn place(asked: Asked<Done>) -> Place {
    match asked {
        Asked::Waits(place) => place,
        Asked::Done(done) => panic!("{done:?}"),
    }
}

#[test]
fn of_a_mission_that_is_edited_again_and_again_no_result_but_the_newest_is_kept() {
    let pool = busy();
    assert_eq!(place(ask(&pool, "a", "one", "first")), Place::After(1));
    let first = next(&pool).unwrap();
    assert_eq!(place(ask(&pool, "a", "one", "second")), Place::After(1));
    pool.work_off(first, Task::run);
    let kept = || {
        let queue = pool.lock();
        let digests = queue.done.values().map(|(digest, _)| digest.clone());
        digests.collect::<Vec<String>>()
    };
    assert_eq!(kept(), ["second"], "it was edited while the first was planned");
}

#[test]
fn what_was_planned_is_not_planned_again_after_an_undone_edit_or_a_new_mission() {
    let pool = busy();
    for digest in ["first", "second"] {
        occupy(&pool);
        ask(&pool, "a", "one", digest);
        pool.work_off(next(&pool).unwrap(), Task::run);
        assert!(matches!(
            ask(&pool, "a", "one", digest),
            Asked::Done(Done::Survey(Ok(_)))
        ));
    }
    assert!(matches!(ask(&pool, "a", "one", "first"), Asked::Done(_)));
    assert!(matches!(ask(&pool, "a", "anew", "second"), Asked::Done(_)));
    // Results of one namespace serve no other.
    occupy(&pool);
    assert_eq!(place(ask(&pool, "b", "one", "first")), Place::After(1));
}

#[test]
fn a_task_at_which_the_planner_panics_is_refused_and_those_behind_it_are_planned() {
    let pool = busy();
    ask(&pool, "a", "one", "bad");
    ask(&pool, "b", "two", "good");
    pool.work_off(next(&pool).unwrap(), |task| {
        assert_ne!(pool.lock().running[0].digest, "bad", "a fault");
        task.run()
    });
    assert!(matches!(
        ask(&pool, "b", "two", "good"),
        Asked::Done(Done::Survey(Ok(_)))
    ));
    match ask(&pool, "a", "one", "bad") {
        Asked::Done(Done::Survey(Err(why))) => assert_eq!(why, format!("spec.survey: {FAULT}")),
        other => panic!("{other:?}"),
    }
    assert!(pool.lock().running.is_empty());
}

#[test]
fn a_namespace_that_takes_longer_than_the_deadline_delays_only_itself_and_says_so() {
    let pool = busy();
    let begun = Instant::now();
    ask(&pool, "hostile", "endless", "x");
    next(&pool).unwrap();
    ask(&pool, "hostile", "more", "y");
    ask(&pool, "ordinary", "one", "z");
    let mut queue = pool.lock();
    assert!(queue.take(begun + PLANNING_DEADLINE / 2).is_none());
    let late = Instant::now() + PLANNING_DEADLINE;
    let (taken, _) = queue.take(late).unwrap();
    assert_eq!(taken, of("one"));
    queue.end(&taken, Done::Survey(Err(String::new())));
    assert!(queue.take(late).is_none(), "the other of its namespace waits for it");
    drop(queue);
    let endless = place(pool.ask(("hostile", "endless"), "x", || survey(20), late));
    assert_eq!(endless, Place::Late);
    assert!(endless.text("its survey").contains("for longer than 30 s"));
}

#[test]
fn one_for_which_there_is_no_room_says_so() {
    let pool = busy();
    for number in 0..MAX_WAITING_PER_NAMESPACE {
        ask(&pool, "hostile", &format!("m{number}"), "x");
    }
    let more = place(ask(&pool, "hostile", "one more", "x"));
    assert_eq!(more, Place::NoRoom);
    assert!(more.text("its survey").contains("256 Missions of its namespace"));
    assert_eq!(place(ask(&pool, "ordinary", "one", "x")), Place::After(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_survey_is_planned_beside_those_who_ask_and_fetched_once() {
    let pool = Pool::default();
    assert_eq!(place(ask(&pool, "a", "one", "x")), Place::Now);
    let waits = pool.result(("a", "one"), "x", || survey(20));
    let done = tokio::time::timeout(Duration::from_secs(30), waits).await.unwrap();
    assert!(matches!(done, Done::Survey(Ok(_))));
    assert!(pool.lock().done.is_empty());
    pool.retain(|_| false);
}

/// An API server that keeps a Lease, and when it was written.
fn api(writes: &Arc<Mutex<Vec<Instant>>>) -> kube::Client {
    let (kept, writes) = (Arc::<Mutex<Option<Lease>>>::default(), Arc::clone(writes));
    let service = service_fn(move |request: Request<Body>| {
        let (kept, writes) = (Arc::clone(&kept), Arc::clone(&writes));
        async move {
            let is_write = request.method() != http::Method::GET;
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut kept = lock(&kept);
            if is_write {
                let mut writes = lock(&writes);
                writes.push(Instant::now());
                let mut sent: Lease = serde_json::from_slice(&body).unwrap();
                sent.metadata.resource_version = Some(writes.len().to_string());
                *kept = Some(sent);
            }
            let missing = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                "code": 404, "message": "not found"});
            let (code, answer) = match &*kept {
                Some(lease) => (200, serde_json::to_value(lease).unwrap()),
                None => (404, missing),
            };
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    kube::Client::new(service, "skein-system")
}

#[tokio::test(start_paused = true)]
async fn a_leader_with_one_thread_renews_its_lease_while_a_survey_is_planned_without_end() {
    let pool = busy();
    ask(&pool, "hostile", "endless", "x");
    let (end, ends) = mpsc::channel();
    pool.begin(next(&pool).unwrap(), move |task| {
        ends.recv_timeout(Duration::from_secs(60)).unwrap();
        task.run()
    });
    let (writes, leadership) = (Arc::default(), LeadershipState::default());
    let lease = LeaderLease::new(api(&writes), "skein-system", "a", false);
    let led = lease.take(&leadership).await.unwrap();
    let mut keeps = Box::pin(lease.keep(&led, &leadership));
    let (step, begun) = (Duration::from_millis(100), Instant::now());
    while begun.elapsed() < 2 * PLANNING_DEADLINE {
        let steps = async {
            tokio::time::advance(step).await;
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            lost = &mut keeps => panic!("{lost:?}"),
            () = steps => {}
        }
        assert!(leadership.leads(), "after {:?}", begun.elapsed());
    }
    assert_eq!(place(ask(&pool, "hostile", "endless", "x")), Place::Late);
    let writes = lock(&writes).clone();
    let longest = writes.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(longest <= RENEW_EVERY + 2 * step, "{longest:?}");
    end.send(()).unwrap();
    let done = pool.result(("hostile", "endless"), "x", || survey(20)).await;
    assert!(
        matches!(done, Done::Survey(Ok(_))),
        "it was planned on the leader's thread"
    );
}
