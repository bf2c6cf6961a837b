//! Several coordinators that create the first authority, or the next one, at the same moment.

use crate::kept::{DAY, authorities, bundle, forget, one, write_secret};
use crate::place::{Coordinator, SYSTEM, alone, plane, until};
use coordinator::server::keys::{self, Keys};
use coordinator::server::security::{ClusterSecurity, SESSION_LIFE};
use futures::future::join_all;
use skein_tests::way::Way;
use std::time::SystemTime;
use tokio_util::sync::CancellationToken;
use trust::authorities::{AHEAD, LIFE};

#[tokio::test(flavor = "multi_thread")]
async fn of_three_coordinators_that_start_at_once_one_makes_the_authority_for_all() {
    let _alone = alone().await;
    let plane = plane();
    for _ in 0..4 {
        forget(plane);
        let coordinators = [(); 3].map(|()| Coordinator::start());
        until("the authority to be published", async || {
            bundle(plane).map(drop).ok_or_else(|| "not yet".to_owned())
        })
        .await;
        for coordinator in &coordinators {
            let way = Way::new(&coordinator.address, bundle(plane).unwrap());
            until("a certificate of the one authority", async || {
                way.tls(None).await.map(drop).map_err(|error| error.to_string())
            })
            .await;
        }
        let kept = authorities(plane).bundle(SystemTime::now());
        assert_eq!(kept.certificates().len(), 1);
        assert_eq!(bundle(plane).unwrap(), kept);
        let makers = coordinators.iter().filter(|one| one.has_logged("first authority made"));
        assert_eq!(makers.count(), 1);
    }
}

async fn at_once(count: usize) -> Vec<Keys> {
    let client = crate::place::client().await;
    let security = ClusterSecurity {
        tls_dir: None,
        agent_account: (SYSTEM.to_owned(), "skein-agent".to_owned()),
        session_life: SESSION_LIFE,
    };
    let ending = CancellationToken::new();
    let begun = (0..count).map(|_| keys::open(&client, SYSTEM, &security, &ending));
    let opened = join_all(begun).await;
    opened.into_iter().map(|opened| opened.unwrap().0).collect()
}

fn agree(keys: &[Keys], count: usize) {
    let now = SystemTime::now();
    let kept = authorities(plane());
    let signer = kept.signer(now);
    assert_eq!(kept.bundle(now).certificates().len(), count);
    assert_eq!(bundle(plane()).unwrap(), kept.bundle(now));
    for one in keys {
        let shown = one.server.identity();
        assert!(signer.has_signed(shown.chain()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn however_often_it_is_tried_there_is_one_first_authority_and_one_next() {
    let _alone = alone().await;
    let (plane, now) = (plane(), SystemTime::now());
    let made = now - (LIFE - AHEAD) - DAY;
    let old = one(made, made + LIFE).to_pem();
    for _ in 0..15 {
        forget(plane);
        agree(&at_once(6).await, 1);
        forget(plane);
        write_secret(plane, &old);
        agree(&at_once(6).await, 2);
    }
}
