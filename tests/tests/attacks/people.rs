//! People with client certificates of the cluster: the same users as for the API server, and never agents.

use crate::certificates::{authorities, refused, write_list};
use crate::place::{Place, people, until};
use model::ids::NodeName;
use proto::v1;
use proto::v1::fleet_client::FleetClient;
use rcgen::DnValue;
use rcgen::string::BmpString;
use serde_json::{Value, json};
use skein_tests::certificates::{ClusterAuthority, Person, person};
use skein_tests::session::assert_refused;
use std::time::{Duration, SystemTime};
use tonic::transport::Channel;
use tonic::{Code, Status};
use trust::{Enrolled, Identity, Peer, Validity};

const DAY: Duration = Duration::from_secs(86_400);

pub type Fleet = FleetClient<Channel>;

pub async fn fleet(place: &Place, identity: &Identity) -> Result<Fleet, Status> {
    let channel = place.way.channel(Some(identity)).await;
    Ok(FleetClient::new(
        channel.map_err(|error| Status::unknown(error.to_string()))?,
    ))
}

pub async fn list(fleet: &mut Fleet) -> Result<v1::ListResponse, Status> {
    let listed = fleet.list(v1::ListRequest::default()).await;
    listed.map(tonic::Response::into_inner)
}

pub async fn seen_by(place: &Place, identity: &Identity) -> Result<v1::ListResponse, Status> {
    until("a coordinator that knows the fleet", async || {
        let listed = match fleet(place, identity).await {
            Ok(mut fleet) => list(&mut fleet).await,
            Err(status) => Err(status),
        };
        match listed {
            Err(status) if status.message().contains("does not know the fleet") => Err(status.to_string()),
            other => Ok(other),
        }
    })
    .await
}

fn user(person: &Person) -> Identity {
    people().sign(person)
}

fn known_as(place: &Place, identity: &Identity) -> Value {
    let (certificate, key) = (identity.certificate_pem(), identity.key_pem());
    let kubeconfig = place.plane.certificate_kubeconfig("whoami", certificate, key).unwrap();
    let whoami = place.plane.kubectl_as(kubeconfig).json(["auth", "whoami"]).unwrap();
    whoami["status"]["userInfo"].clone()
}

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

pub fn grant(place: &Place, role: &str, verb: &str, resource: &str, to: &str) {
    let (verb, resource) = (format!("--verb={verb}"), format!("--resource={resource}.skein.dev"));
    place.kubectl(["create", "clusterrole", role, &verb, &resource]);
    place.kubectl([
        "create",
        "clusterrolebinding",
        role,
        &format!("--clusterrole={role}"),
        to,
    ]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_with_a_certificate_may_what_rbac_grants_their_name_and_their_groups() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let ada = user(&person("ada@field", &["pilots", "auditors"]));
    let known = known_as(&place, &ada);
    assert_eq!(known["username"], "ada@field");
    assert_eq!(known["groups"], json!(["pilots", "auditors", "system:authenticated"]));
    let status = seen_by(&place, &ada).await.unwrap_err();
    assert_refused(
        &status,
        Code::PermissionDenied,
        "ada@field may not get drones.skein.dev",
    );
    grant(&place, "auditors-see", "get", "drones", "--group=auditors");
    grant(&place, "ada-grounds", "ground", "swarms", "--user=ada@field");
    until("her rights", async || {
        let seen = seen_by(&place, &ada).await;
        seen.map(drop).map_err(|status| status.to_string())
    })
    .await;
    let mut fleet = fleet(&place, &ada).await.unwrap();
    fleet.ground(all()).await.unwrap();
    place.until_logged(&["order taken", "user ada@field", "ground swarms.skein.dev"]);
    let status = fleet.kill(one()).await.unwrap_err();
    assert_refused(
        &status,
        Code::PermissionDenied,
        "ada@field may not kill drones.skein.dev",
    );
    let status = fleet.release(all()).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "verbs: [release]");
    let bob = user(&person("bob", &["auditors"]));
    seen_by(&place, &bob).await.unwrap();
    let status = self::fleet(&place, &bob).await.unwrap().ground(all()).await;
    assert_refused(&status.unwrap_err(), Code::PermissionDenied, "bob may not ground");

    // A permission that is removed ends soon, also on an open connection.
    place.kubectl(["delete", "clusterrolebinding", "auditors-see", "ada-grounds"]);
    for what in ["get drones", "ground swarms"] {
        let refused = until("her rights to be gone", async || {
            let answer = match what {
                "get drones" => list(&mut fleet.clone()).await.map(drop),
                _ => fleet.clone().ground(all()).await.map(drop),
            };
            answer.err().ok_or_else(|| format!("she may still {what}"))
        });
        assert_refused(&refused.await, Code::PermissionDenied, what);
    }
    let root = user(&person("root", &["system:masters"]));
    let mut fleet = self::fleet(&place, &root).await.unwrap();
    assert_eq!(fleet.kill(one()).await.unwrap_err().code(), Code::NotFound);
    fleet.release(all()).await.unwrap();
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_the_api_server_would_refuse_is_refused_before_any_request() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let masters = || person("root", &["system:masters"]);
    seen_by(&place, &user(&masters())).await.unwrap();
    let past = Validity::of(SystemTime::now() - 3 * DAY, DAY);
    let future = Validity::of(SystemTime::now() + DAY, DAY);
    let shown = [
        (user(&masters().life(past)), "certificate expired"),
        (user(&masters().life(future)), "not valid yet"),
        (user(&masters().for_servers()), "server authentication"),
        (ClusterAuthority::make().sign(&masters()), "UnknownIssuer"),
        (user(&person("", &["system:masters"])), "no common name"),
    ];
    for (identity, why) in shown {
        let status = seen_by(&place, &identity).await.unwrap_err();
        assert_ne!(status.code(), Code::Ok, "{status}");
        place.until_logged(&["connection refused", why]);
    }
    // A name that is "root" to a reader that skips a kind of text is another name to the API server.
    let visitor = DnValue::BmpString(BmpString::try_from("visitor").unwrap());
    let masked = user(&person("root", &[]).also_named(visitor));
    assert_eq!(known_as(&place, &masked)["username"], "visitor");
    seen_by(&place, &masked).await.unwrap_err();
    place.until_logged(&["connection refused", "no UTF-8 text"]);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_ends_on_an_open_connection_is_worth_nothing_from_then_on() {
    let place = Place::new();
    let root = person("root", &["system:masters"]);
    seen_by(&place, &user(&root)).await.unwrap();
    let soon = Validity::of(SystemTime::now(), Duration::from_secs(6));
    let mut open = fleet(&place, &user(&root.life(soon))).await.unwrap();
    list(&mut open).await.unwrap();
    let status = until("the end of the certificate", async || {
        let seen = list(&mut open.clone()).await;
        seen.err().ok_or_else(|| "it still counts".to_owned())
    });
    assert_refused(&status.await, Code::Unauthenticated, "has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_user_of_the_cluster_is_an_agent_and_no_agent_is_a_person() {
    let place = Place::new();
    let bystander = place.bystander().await;
    let kubelet = user(&person("system:node:a", &["system:nodes"]));
    let status = seen_by(&place, &kubelet).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "system:node:a may not get drones");
    let account = "system:serviceaccount:skein-system:skein-agent";
    for posing in [
        person("system:node:a", &["system:nodes"]),
        person("skein://agent/a", &[]),
        person("a", &["system:masters"]).uri("skein://agent/a"),
        person(account, &["system:serviceaccounts:skein-system"]),
    ] {
        let status = refused(&place, &user(&posing), "a").await;
        assert_refused(&status, Code::PermissionDenied, "only an agent's own credentials");
    }
    let operator = user(&person("ada", &[]).uri("skein://operator/ada"));
    let status = seen_by(&place, &operator).await.unwrap_err();
    assert_refused(&status, Code::PermissionDenied, "ada may not get drones");

    let (now, authorities) = (SystemTime::now(), authorities(&place));
    let mut enrolled = Enrolled::default();
    let peer = Peer::agent(NodeName::parse("a").unwrap());
    let agent = enrolled.issue(authorities.signer(now), &peer, Validity::of(now, DAY), now);
    write_list(&place, &enrolled.to_map());
    let agent = agent.unwrap();
    let status = until("the list to be read", async || {
        let status = seen_by(&place, &agent).await.unwrap_err();
        let read = !status.message().contains("not on the list");
        read.then_some(status).ok_or_else(|| "not on the list".to_owned())
    });
    assert_refused(
        &status.await,
        Code::PermissionDenied,
        "an agent (of node a) may use the uplink only",
    );
    bystander.stays_unharmed().await;
}
