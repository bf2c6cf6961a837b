//! Damage by people to the Secret and the ConfigMap, and an API server that is unavailable when a certificate is due.

use crate::kept::{DAY, authorities, both, bundle, coming, ending, one, remove, secret, write_secret};
use crate::place::{Coordinator, alone, plane, until};
use skein_tests::session::Bystander;
use skein_tests::tokens;
use skein_tests::way::Way;
use std::time::{Duration, SystemTime};
use testkit::process::Signal;
use trust::Authorities;

fn lasting(now: SystemTime) -> Authorities {
    one(now - DAY, now + 4 * 365 * DAY)
}

async fn until_published(what: &str, wanted: &Authorities) {
    until(what, async || {
        let wanted = wanted.bundle(SystemTime::now());
        match bundle(plane()) {
            Some(found) if found == wanted => Ok(()),
            other => Err(format!("{:?}", other.map(|bundle| bundle.certificates().len()))),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_with_a_damaged_secret_does_not_lead_and_is_told_what_to_do() {
    let _alone = alone().await;
    let (plane, now) = (plane(), SystemTime::now());
    let (good, other) = (lasting(now).to_pem(), lasting(now).to_pem());
    let key = |text: &str| text.find("-----BEGIN PRIVATE KEY-----").unwrap();
    let swapped = format!("{}{}", &good[..key(&good)], &other[key(&other)..]);
    let damages: [(Vec<u8>, &str); 5] = [
        (good.as_bytes()[..good.len() / 3].to_vec(), "authority 1"),
        (swapped.into_bytes(), "does not belong to its certificate"),
        (format!("{good}{}", &other[..key(&other)]).into_bytes(), "authority 2"),
        (vec![0xff, 0xfe, 0x00, 0x80], "authority 1"),
        (Vec::new(), "there is no authority in it"),
    ];
    for (text, why) in damages {
        write_secret(plane, &text);
        let coordinator = Coordinator::start();
        coordinator.until_logged(&["no certificate to serve with yet", "Secret skein-ca", why]);
        coordinator.until_logged(&["no certificate to serve with yet", "failures=2"]);
        assert_eq!(secret(plane).unwrap(), text, "{why}");
        assert_eq!(bundle(plane), None);
        assert!(!coordinator.has_logged("leading"), "{why}");
        assert!(!coordinator.is_ready().await, "{why}");
    }
    let coordinator = Coordinator::start();
    coordinator.until_logged(&["no certificate to serve with yet"]);
    write_secret(plane, &good);
    until_published("the saved copy", &Authorities::from_pem(&good).unwrap()).await;
    let way = Way::new(&coordinator.address, bundle(plane).unwrap());
    let bystander = Bystander::start(way, &tokens::of_agent(plane, "bystander")).await;
    assert!(coordinator.is_ready().await);

    // A coordinator that cannot serve does not become leader.
    write_secret(plane, "damaged");
    let next = Coordinator::start();
    next.until_logged(&["no certificate to serve with yet"]);
    assert!(!next.is_ready().await);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_damaged_or_removed_while_a_coordinator_runs_ends_nothing_and_is_put_back() {
    let _alone = alone().await;
    let (plane, now) = (plane(), SystemTime::now());
    let all = both(&ending(now), &coming(now, DAY));
    write_secret(plane, all.to_pem());
    let coordinator = Coordinator::start();
    until_published("both", &all).await;
    let way = Way::new(&coordinator.address, bundle(plane).unwrap());
    let bystander = Bystander::start(way.clone(), &tokens::of_agent(plane, "bystander")).await;

    // At the next check, which is soon here; with years left it takes minutes.
    remove(plane, "configmap", "skein-ca");
    until_published("the ConfigMap to be there again", &all).await;

    write_secret(plane, "damaged");
    coordinator.until_logged(&["stay as they are", "Secret skein-ca"]);
    way.tls(None).await.unwrap();
    assert_eq!(secret(plane).unwrap(), b"damaged");
    coordinator.until_logged(&["certificate renewed by the authority that was read last"]);
    way.tls(None).await.unwrap();
    write_secret(plane, all.to_pem());
    assert_eq!(authorities(plane), all);
    bystander.stays_unharmed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_due_while_the_api_server_is_away_is_made_all_the_same() {
    let _alone = alone().await;
    let (plane, now) = (plane(), SystemTime::now());
    let all = both(&ending(now), &coming(now, DAY));
    write_secret(plane, all.to_pem());
    let coordinator = Coordinator::start();
    until_published("both", &all).await;
    let way = Way::new(&coordinator.address, bundle(plane).unwrap());
    let bystander = Bystander::start(way.clone(), &tokens::of_agent(plane, "bystander")).await;
    let shown = async || {
        let stream = way.tls(None).await.map_err(|error| error.to_string())?;
        let (_, session) = stream.get_ref();
        Ok::<_, String>(session.peer_certificates().unwrap()[0].clone())
    };
    plane.api_server().pause().unwrap();
    let before = shown().await.unwrap();
    let renewed = tokio::time::timeout(Duration::from_secs(60), async {
        while shown().await.unwrap() == before {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await;
    plane.api_server().signal(Signal::SIGCONT).unwrap();
    renewed.unwrap();
    bystander.stays_unharmed().await;
}
