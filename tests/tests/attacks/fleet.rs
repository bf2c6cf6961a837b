//! People's calls: the callers, and their permissions.

use crate::place::{PATIENCE, Place, until};
use proto::v1;
use skein_tests::session::assert_refused;
use skein_tests::tokens;
use std::time::{Duration, Instant};
use testkit::process::Signal;
use tonic::{Code, Status};

fn all() -> v1::GroundRequest {
    v1::GroundRequest {
        target: Some(v1::ground_request::Target::All(v1::All {})),
    }
}

fn one() -> v1::KillRequest {
    v1::KillRequest {
        namespace: "default".into(),
        name: "alpha-1".into(),
        code: String::new(),
    }
}

async fn list(place: &Place, token: &str) -> Result<v1::ListResponse, Status> {
    let listed = until("a coordinator that knows the fleet", async || {
        let mut fleet = place.way.fleet(token).await.unwrap();
        match fleet.list(v1::ListRequest::default()).await {
            Err(status) if status.message().contains("does not know the fleet") => Err(status.to_string()),
            other => Ok(other),
        }
    });
    listed.await.map(tonic::Response::into_inner)
}

fn person(place: &Place, name: &str, rules: &[(&str, &str)]) -> String {
    place.kubectl(["create", "serviceaccount", name, "-n", "default"]);
    for (number, (verb, resource)) in rules.iter().enumerate() {
        let role = format!("{name}-{number}");
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let mut resource = format!("--resource={resource}.skein.dev");
        if !subresource.is_empty() {
            resource = format!("{resource}/{subresource}");
        }
        let verb = format!("--verb={verb}");
        place.kubectl(["create", "clusterrole", &role, &verb, &resource]);
        let (role_of, account) = (
            format!("--clusterrole={role}"),
            format!("--serviceaccount=default:{name}"),
        );
        place.kubectl(["create", "clusterrolebinding", &role, &role_of, &account]);
    }
    place
        .kubectl(["create", "token", name, "-n", "default"])
        .trim()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_the_fleet_without_being_somebody() {
    let place = Place::new();
    let bystander = place.bystander().await;
    assert_refused(
        &list(&place, "").await.unwrap_err(),
        Code::Unauthenticated,
        "no credentials",
    );
    assert_refused(
        &list(&place, "guess").await.unwrap_err(),
        Code::Unauthenticated,
        "not accepted",
    );
    let agent = tokens::of_agent(place.plane, "a");
    assert_refused(
        &list(&place, &agent).await.unwrap_err(),
        Code::Unauthenticated,
        "not accepted",
    );
    let mut health = place.way.fleet("").await.unwrap();
    assert!(health.get(v1::GetRequest::default()).await.is_err());
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_may_ground_and_may_not_kill() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let nobody = person(&place, "nobody", &[]);
    let status = list(&place, &nobody).await.unwrap_err();
    assert_refused(
        &status,
        Code::PermissionDenied,
        "resources: [drones], verbs: [get] bound by a ClusterRoleBinding",
    );
    place.until_logged(&[
        "call refused",
        "system:serviceaccount:default:nobody may not get drones.skein.dev",
    ]);

    let auditor = person(&place, "auditor", &[("get", "drones"), ("ground", "swarms")]);
    let listed = list(&place, &auditor).await.unwrap();
    assert!(
        listed
            .vehicles
            .iter()
            .any(|vehicle| vehicle.node == "bystander" && vehicle.agent_connected)
    );
    let mut fleet = place.way.fleet(&auditor).await.unwrap();
    fleet.ground(all()).await.unwrap();
    place.until_logged(&[
        "order taken",
        "user system:serviceaccount:default:auditor",
        "ground swarms.skein.dev",
    ]);
    let status = fleet.release(all()).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "verbs: [release]");
    let status = fleet.kill(one()).await.unwrap_err();
    assert_refused(
        &status,
        Code::PermissionDenied,
        "resources: [drones], verbs: [kill] bound in namespace default",
    );
    let resume = v1::ResumeRequest {
        namespace: "default".into(),
        name: "alpha-1".into(),
        node: String::new(),
    };
    let status = fleet.resume(resume).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "verbs: [resume]");
    let vehicle = v1::ResumeRequest {
        node: "node-1".into(),
        ..v1::ResumeRequest::default()
    };
    let status = fleet.resume(vehicle).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "verbs: [resume]");
    let status = fleet.logs(logs_of_one()).await.unwrap_err();
    assert_refused(
        &status,
        Code::PermissionDenied,
        "resources: [drones/log], verbs: [get] bound in namespace default",
    );
    let of_node = v1::LogsRequest {
        whose: Some(v1::logs_request::Whose::Node(v1::NodeTarget {
            name: "bystander".into(),
        })),
        ..logs_of_one()
    };
    let status = fleet.logs(of_node).await.unwrap_err();
    assert_refused(
        &status,
        Code::PermissionDenied,
        "resources: [vehicles/log], verbs: [get]",
    );

    let admin = person(
        &place,
        "admin",
        &[("kill", "drones"), ("release", "swarms"), ("get", "drones/log")],
    );
    let mut fleet = place.way.fleet(&admin).await.unwrap();
    fleet.release(all()).await.unwrap();
    assert_eq!(fleet.kill(one()).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(fleet.logs(logs_of_one()).await.unwrap_err().code(), Code::NotFound);
    bystander.stays_unharmed().await;
}

fn logs_of_one() -> v1::LogsRequest {
    v1::LogsRequest {
        whose: Some(v1::logs_request::Whose::Drone(v1::DroneTarget {
            namespace: "default".into(),
            name: "alpha-1".into(),
        })),
        question: Some(v1::LogQuestion::default()),
    }
}

fn by(selector: &str) -> v1::GroundRequest {
    v1::GroundRequest {
        target: Some(v1::ground_request::Target::Selector(v1::SelectorTarget {
            selector: selector.into(),
            namespace: String::new(),
        })),
    }
}

/// A red Swarm without Drones in each of three namespaces; a person may ground, or ground and see, in one.
fn three_swarms(place: &Place, person: &str) {
    for (space, verb) in [
        ("ours", Some("get,ground,release")),
        ("shown", Some("get")),
        ("others", None),
    ] {
        let _ = place.plane.kubectl().run(["create", "namespace", space]);
        let swarm = format!(
            "apiVersion: skein.dev/v1alpha1\nkind: Swarm\nmetadata: {{name: {person}, namespace: {space}, \
             labels: {{crew: {person}}}}}\nspec: {{replicas: 0}}\n"
        );
        let file = place.plane.scratch().path().join("swarm.yaml");
        std::fs::write(&file, swarm).unwrap();
        place.kubectl(["apply", "-f", file.to_str().unwrap()]);
        if let Some(verbs) = verb {
            let (verbs, account) = (format!("--verb={verbs}"), format!("--serviceaccount=default:{person}"));
            let resources = "--resource=swarms.skein.dev,drones.skein.dev";
            place.kubectl(["create", "role", person, "-n", space, &verbs, resources]);
            let role = format!("--role={person}");
            place.kubectl(["create", "rolebinding", person, "-n", space, &role, &account]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_what_a_selector_selects_each_is_grounded_as_far_as_the_caller_may() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let nobody = person(&place, "nosy", &[]);
    let crew = person(&place, "crew", &[]);
    three_swarms(&place, "crew");
    let selector = "crew=crew";
    let grounded = |space: &str| {
        let path = "-o=jsonpath={.spec.grounded}";
        place.kubectl(["get", "swarm", "crew", "-n", space, path]) == "true"
    };

    // A caller without permissions learns nothing, not even whether objects exist.
    let mut fleet = place.way.fleet(&nobody).await.unwrap();
    let answer = until("a coordinator that knows the fleet", async || {
        match fleet.clone().ground(by(selector)).await {
            Err(status) if status.code() == Code::PermissionDenied => Ok(status),
            other => Err(format!("{other:?}")),
        }
    });
    let answer = answer.await;
    let words = "may not ground swarms.skein.dev in all namespaces";
    assert_refused(&answer, Code::PermissionDenied, words);
    let nothing = fleet.ground(by("crew=none")).await.unwrap_err();
    assert_eq!(nothing.message(), answer.message());
    assert!(!["ours", "shown", "others"].into_iter().any(grounded));

    let mut fleet = place.way.fleet(&crew).await.unwrap();
    let answer = until("the Swarms to be known", async || {
        let answer = fleet
            .clone()
            .ground(by(selector))
            .await
            .map_err(|status| status.to_string())?;
        let answer = answer.into_inner();
        if answer.not_done.len() == 1 && answer.hidden == 1 {
            Ok(answer)
        } else {
            Err(format!("{answer:?}"))
        }
    })
    .await;
    assert_eq!((answer.done.len(), answer.done[0].namespace.as_str()), (1, "ours"));
    let left = &answer.not_done[0];
    assert_eq!(left.object.as_ref().map(|o| o.namespace.as_str()), Some("shown"));
    assert!(
        left.why.contains("may not ground swarms.skein.dev shown/crew"),
        "{}",
        left.why
    );
    assert!(!format!("{answer:?}").contains("others"), "{answer:?}");
    assert!(grounded("ours") && !grounded("shown") && !grounded("others"));

    let answer = fleet.release(by(selector)).await.unwrap().into_inner();
    assert_eq!((answer.done.len(), answer.not_done.len(), answer.hidden), (1, 1, 1));
    assert!(!grounded("ours"));
    let only_seen = v1::GroundRequest {
        target: Some(v1::ground_request::Target::Selector(v1::SelectorTarget {
            selector: selector.into(),
            namespace: "shown".into(),
        })),
    };
    let answer = fleet.ground(only_seen).await.unwrap_err();
    assert_refused(&answer, Code::PermissionDenied, "nothing was done");
    assert!(answer.message().contains("Swarm shown/crew"), "{answer}");
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_api_server_is_away_who_could_ground_can_and_nothing_else_goes() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let pilot = person(
        &place,
        "pilot",
        &[("get", "drones"), ("ground", "swarms"), ("release", "swarms")],
    );
    let mut fleet = place.way.fleet(&pilot).await.unwrap();
    list(&place, &pilot).await.unwrap();
    fleet.ground(all()).await.unwrap();
    fleet.release(all()).await.unwrap();
    let stranger = tokens::make(place.plane, "skein-agent", &[]);
    // An answer counts for some seconds; this test is about the time after.
    tokio::time::sleep(std::time::Duration::from_secs(11)).await;

    place.plane.api_server().pause().unwrap();
    let (orders, start) = (
        place.coordinator.stderr().matches("ground order target").count(),
        Instant::now(),
    );
    let order = tokio::spawn({
        let mut fleet = fleet.clone();
        async move { tokio::time::timeout(PATIENCE, fleet.ground(all())).await.unwrap() }
    });
    // In force within a second, although the caller's identity and permissions cannot be checked.
    while place.coordinator.stderr().matches("ground order target").count() == orders {
        assert!(start.elapsed() < PATIENCE, "the order is not in force");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    let grounded = order.await.unwrap();
    let released = fleet.release(all()).await;
    let seen = list(&place, &pilot).await;
    let unknown = place.way.fleet(&stranger).await.unwrap().ground(all()).await;
    place.plane.api_server().signal(Signal::SIGCONT).unwrap();
    // Agents get it at once; the answer also says that it could not be written yet.
    let answer = grounded
        .err()
        .map(|status| status.message().to_owned())
        .unwrap_or_default();
    assert!(!answer.contains("cannot be checked now"), "{answer}");
    place.until_logged(&["grounding is allowed by what was known within the last hour"]);
    assert_refused(
        &released.unwrap_err(),
        Code::Unavailable,
        "who you are and what you may do cannot be checked now",
    );
    assert_refused(
        &seen.unwrap_err(),
        Code::Unavailable,
        "who you are and what you may do cannot be checked now",
    );
    assert_refused(
        &unknown.unwrap_err(),
        Code::Unavailable,
        "who you are and what you may do cannot be checked now",
    );
    until("the order to be released", async || {
        let mut fleet = place.way.fleet(&pilot).await.unwrap();
        fleet
            .release(all())
            .await
            .map(drop)
            .map_err(|status| status.to_string())
    })
    .await;
    bystander.stays_unharmed().await;
}
