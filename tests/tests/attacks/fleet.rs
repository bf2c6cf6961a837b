//! People's calls: by whom, and what they may.

use crate::place::{PATIENCE, Place, until};
use crate::session::assert_refused;
use crate::tokens;
use proto::v1;
use tests::process::Signal;
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

/// A ServiceAccount in namespace default that may do this everywhere, and its token.
fn person(place: &Place, name: &str, rules: &[(&str, &str)]) -> String {
    place.kubectl(["create", "serviceaccount", name, "-n", "default"]);
    for (number, (verb, resource)) in rules.iter().enumerate() {
        let role = format!("{name}-{number}");
        let (verb, resource) = (format!("--verb={verb}"), format!("--resource={resource}.skein.dev"));
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
    // What is no call of ours is not answered either.
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
    place.until_told(&[
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
    place.until_told(&[
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
    };
    let status = fleet.resume(resume).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "verbs: [resume]");

    let admin = person(&place, "admin", &[("kill", "drones"), ("release", "swarms")]);
    let mut fleet = place.way.fleet(&admin).await.unwrap();
    fleet.release(all()).await.unwrap();
    assert_eq!(fleet.kill(one()).await.unwrap_err().code(), Code::NotFound);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_api_server_is_away_whoever_could_ground_can_and_nothing_else_goes_through() {
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
    // What was just asked counts for some seconds; this is about afterwards.
    tokio::time::sleep(std::time::Duration::from_secs(11)).await;

    place.plane.api_server().pause().unwrap();
    let grounded = tokio::time::timeout(PATIENCE, fleet.ground(all())).await.unwrap();
    let released = fleet.release(all()).await;
    let seen = list(&place, &pilot).await;
    let unknown = place.way.fleet(&stranger).await.unwrap().ground(all()).await;
    place.plane.api_server().signal(Signal::SIGCONT).unwrap();
    // Agents are told at once; that it could not be written yet is said, too.
    let told = grounded
        .err()
        .map(|status| status.message().to_owned())
        .unwrap_or_default();
    assert!(!told.contains("nobody can say"), "{told}");
    place.until_told(&["grounding is allowed by what was known within the last hour"]);
    assert_refused(
        &released.unwrap_err(),
        Code::Unavailable,
        "nobody can say now who you are",
    );
    assert_refused(&seen.unwrap_err(), Code::Unavailable, "nobody can say now who you are");
    assert_refused(
        &unknown.unwrap_err(),
        Code::Unavailable,
        "nobody can say now who you are",
    );
    // The order that was given meanwhile stands, and is released for the tests to come.
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
