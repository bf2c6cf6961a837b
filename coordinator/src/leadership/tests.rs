//! The Lease as it is written.

use super::*;
use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use std::convert::Infallible;
use tower::service_fn;

fn taken(existing: Option<Lease>, by: &str) -> Lease {
    next(existing, "skein-system", by)
}

fn holder(lease: &Lease) -> Option<&str> {
    observe(lease).holder
}

#[test]
fn each_leadership_has_a_higher_term() {
    let first = taken(None, "a");
    assert_eq!((term(&first), holder(&first)), (Term(1), Some("a")));
    let second = taken(Some(first), "b");
    assert_eq!((term(&second), holder(&second)), (Term(2), Some("b")));
}

#[test]
fn its_holder_renews_it_and_keeps_its_term() {
    let lease = renewed(Some(taken(None, "a")), Term(1), "skein-system", "a").unwrap();
    assert_eq!((term(&lease), holder(&lease)), (Term(1), Some("a")));
    assert!(lease.spec.unwrap().renew_time.is_some());
}

#[test]
fn a_lease_that_another_has_or_had_meanwhile_is_not_renewed() {
    let first = taken(None, "a");
    let second = taken(Some(first), "b");
    let lost = renewed(Some(second.clone()), Term(1), "skein-system", "a").unwrap_err();
    assert_eq!(lost, Successor("b (term 2)".into()));
    // It is ours again, but of another life: events in between are not known here.
    let third = taken(Some(second), "a");
    assert!(renewed(Some(third), Term(1), "skein-system", "a").is_err());
}

#[test]
fn a_lease_that_was_removed_by_hand_is_made_again_with_the_same_term() {
    let lease = renewed(None, Term(7), "skein-system", "a").unwrap();
    assert_eq!((term(&lease), holder(&lease)), (Term(7), Some("a")));
    assert_eq!(lease.metadata.resource_version, None);
}

#[test]
fn one_that_ends_lets_go_of_its_own_lease_and_of_no_other() {
    let mine = taken(None, "a");
    let free = released(mine.clone(), Term(1), "a", None).unwrap();
    assert_eq!((term(&free), holder(&free)), (Term(1), None));
    assert_eq!(term(&taken(Some(free), "b")), Term(2));
    assert_eq!(released(taken(Some(mine), "b"), Term(1), "a", None), None);
}

#[test]
fn after_a_lost_lease_one_more_start_leads_above_all_that_agents_have_seen() {
    let fresh = taken(None, "a");
    let raised = released(fresh.clone(), Term(1), "a", raise(57)).unwrap();
    assert_eq!((term(&raised), holder(&raised)), (Term(57), None));
    assert_eq!(term(&taken(Some(raised.clone()), "b")), Term(58));
    let theirs = taken(Some(raised), "b");
    assert_eq!(released(theirs, Term(1), "a", raise(57)), None);
    let unbelievable = released(fresh, Term(1), "a", raise(u64::MAX)).unwrap();
    assert_eq!(term(&unbelievable), Term(1));
}

fn raise(to: u64) -> Option<Raise> {
    Some(Raise {
        to: Term(to),
        most: false,
    })
}

#[test]
fn that_most_agents_have_seen_a_higher_term_than_the_lease_is_noted_on_it() {
    let most = Some(Raise {
        to: Term(57),
        most: true,
    });
    let restored = taken(None, "a");
    let noted = released(restored, Term(1), "a", most).unwrap();
    assert!(noted.annotations().contains_key(labels::WENT_BACK));
    let next = taken(Some(noted), "b");
    assert!(next.annotations().contains_key(labels::WENT_BACK));
    let renewed = renewed(Some(next), Term(58), "skein-system", "b").unwrap();
    assert!(renewed.annotations().contains_key(labels::WENT_BACK));
    // One that leads by the Lease itself was only succeeded.
    let mut succeeded = taken(None, "b");
    succeeded.spec.as_mut().unwrap().lease_transitions = Some(57);
    assert_eq!(released(succeeded, Term(1), "a", most), None);
    let few = released(taken(None, "a"), Term(1), "a", raise(57)).unwrap();
    assert!(!few.annotations().contains_key(labels::WENT_BACK));
}

#[test]
fn after_a_restore_it_is_noted_and_whoever_leads_by_a_term_of_before_is_deposed() {
    let what = WentBack("rv 50 after 59".into());
    let second = taken(Some(taken(None, "a")), "b");
    let mut history = History::default();
    assert_eq!(history.went_back(reading(&second)), None);
    let renewed_then = renewed(Some(second.clone()), Term(2), "skein-system", "b").unwrap();
    assert_eq!(history.went_back(reading(&renewed_then)), None);
    let free = released(second, Term(2), "b", None).unwrap();
    assert_eq!(history.clone().went_back(reading(&free)), None);
    // The backup has term 1, and a coordinator that read nothing before leads term 2 by it.
    let again = taken(Some(taken(None, "a")), "c");
    assert!(history.went_back(reading(&again)).is_some(), "b leads by it as well");
    let lease = went_back(again, &history, &what).unwrap();
    assert_eq!(
        (term(&lease), lease.annotations()[labels::WENT_BACK].as_str()),
        (Term(3), "rv 50 after 59")
    );
    assert!(renewed(Some(lease.clone()), Term(2), "skein-system", "c").is_err());
    assert_eq!(term(&taken(Some(lease.clone()), "b")), Term(4));
    assert_eq!(went_back(lease, &history, &what), None, "it is noted already");
}

#[test]
fn a_new_epoch_that_a_person_begins_is_led_above_all_terms_of_the_one_before() {
    let mut lease = taken(None, "a");
    lease.annotations_mut().insert(labels::TERM_EPOCH.into(), "1".into());
    assert_eq!(term(&lease), Term::of(1, 1));
    assert!(
        renewed(Some(lease.clone()), Term(1), "skein-system", "a").is_err(),
        "it has to take the Lease again"
    );
    let next = taken(Some(lease), "a");
    assert_eq!(term(&next), Term::of(1, 2));
    assert!(term(&next) > Term(2_147_483_646));
    let again = renewed(None, Term::of(1, 2), "skein-system", "a").unwrap();
    assert_eq!(term(&again), Term::of(1, 2), "removed by hand");
}

#[test]
fn the_last_term_of_an_epoch_is_followed_by_the_first_of_the_next() {
    let mut lease = taken(None, "a");
    lease.spec.as_mut().unwrap().lease_transitions = Some(i32::MAX);
    let next = taken(Some(lease), "b");
    assert_eq!(term(&next), Term::of(1, 1));
    assert_eq!(term(&taken(Some(next), "a")), Term::of(1, 2));
}

/// An API server with a Lease, which is renewed once more after it was first read.
fn api(kept: &Arc<Mutex<Lease>>) -> kube::Client {
    let kept = Arc::clone(kept);
    let service = service_fn(move |request: Request<Body>| {
        let kept = Arc::clone(&kept);
        async move {
            let writes = request.method() == http::Method::PUT;
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut lease = kept.lock().unwrap();
            let mut answer = serde_json::to_value(&*lease).unwrap();
            let mut code = 200;
            if writes {
                let sent: Lease = serde_json::from_slice(&body).unwrap();
                if sent.metadata.resource_version == lease.metadata.resource_version {
                    *lease = sent;
                } else {
                    code = 409;
                    answer = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict",
                        "code": 409, "message": "the object has been modified"});
                }
            } else {
                lease.metadata.resource_version = Some("2".to_owned());
            }
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    kube::Client::new(service, "skein-system")
}

#[tokio::test]
async fn a_renewal_on_its_way_does_not_keep_a_leader_that_ends_from_letting_go() {
    let mut lease = taken(None, "a");
    lease.metadata.resource_version = Some("1".to_owned());
    let kept = Arc::new(Mutex::new(lease.clone()));
    let ours = LeaderLease::new(api(&kept), "skein-system", "a", false);
    let led = Led {
        term: Term(1),
        went_back: false,
        raised: false,
        made: false,
        lease,
    };
    ours.release(&led, None).await;
    assert_eq!(holder(&kept.lock().unwrap()), None);
}

#[tokio::test]
async fn a_leader_whose_clock_is_ahead_counts_by_the_clock_of_the_api_server() {
    let mut lease = released(taken(None, "b"), Term(1), "b", None).unwrap();
    lease.metadata.resource_version = Some("2".to_owned());
    let write = |manager: &str, time: &str| json!({"manager": manager, "operation": "Update", "time": time});
    let writes = json!([
        write("kubectl-annotate", "2020-01-02T04:04:05Z"),
        write(labels::COORDINATOR, "2020-01-02T03:04:05Z"),
    ]);
    lease.metadata.managed_fields = serde_json::from_value(writes).unwrap();
    let kept = Arc::new(Mutex::new(lease));
    let ours = LeaderLease::new(api(&kept), "skein-system", "a", false);
    let leadership = LeadershipState::default();
    assert!(ours.take(&leadership).await.is_ok());
    let there: Timestamp = "2020-01-02T03:04:05Z".parse().unwrap();
    let since = leadership.wall().as_second() - there.as_second();
    assert!((0..60).contains(&since), "{since} s");
}
