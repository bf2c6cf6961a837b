//! States of Swarms, Drones and Missions for tools based on `kstatus`, such as Flux: Current means that everything is
//! done.

use crate::{crew, flying};
use anyhow::Context;
use kube::api::DeleteParams;
use proto::v1::ReasonClass;
use serde_json::json;
use skein_tests::cluster_field::{Field, PATIENCE, condition};
use skein_tests::scripted_agent::Vehicle;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use testkit::GoTool;

const KSTATUS: GoTool = GoTool {
    name: "kstatus",
    package: ".",
    sources: &["main.go"],
};

const WITHIN: Duration = Duration::from_secs(60);

/// Time after which an altitude that is 4 m away counts as not reached.
const COUNTS_AS_LATE: Duration = Duration::from_secs(38);

fn said(field: &Field) -> anyhow::Result<BTreeMap<String, String>> {
    let all = field
        .cluster()
        .kubectl()
        .run(["get", "swarms,drones,missions", "-n", "north", "-o", "json"])?;
    let input = field.cluster().scratch().path().join("kstatus.json");
    std::fs::write(&input, all)?;
    let mut command = std::process::Command::new(KSTATUS.find_or_build()?);
    command.arg(&input);
    let output = testkit::run::output(command, None, WITHIN)?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{words}");
    let pair = |line: &str| {
        let (object, status) = line.split_once(' ').context("no object")?;
        Ok((object.to_owned(), status.to_owned()))
    };
    words.lines().map(pair).collect()
}

async fn until(field: &Field, what: &str, swarm: &str, drones: &[&str]) {
    let word = |status: &String| status.split(':').next().unwrap_or_default().to_owned();
    let probe = async || {
        let all = said(field).map_err(|error| format!("{error:#}"))?;
        let of = |kind: &str| -> Vec<String> {
            let mut words: Vec<_> = all
                .iter()
                .filter(|(o, _)| o.starts_with(kind))
                .map(|(_, t)| word(t))
                .collect();
            words.sort();
            words
        };
        if of("Swarm/") == [swarm] && of("Drone/") == drones {
            Ok(())
        } else {
            Err(format!("{all:#?}"))
        }
    };
    testkit::until(what, COUNTS_AS_LATE + PATIENCE, probe).await;
}

pub async fn until_mission(field: &Field, status: &str) {
    let probe = async || {
        let all = said(field).map_err(|error| format!("{error:#}"))?;
        let is = all.get("Mission/field").is_some_and(|text| text.starts_with(status));
        is.then_some(()).ok_or_else(|| format!("{all:#?}"))
    };
    field
        .until(&format!("the Mission to be {status} for tools that wait"), probe)
        .await;
}

async fn ask_for_height(field: &Field, meters: f64) {
    crate::relief::patch_swarm(field, json!({"template": {"spec": {"takeoffAltitudeMeters": meters}}})).await;
}

fn stuck(vehicles: &[Vehicle], at: Option<f64>) {
    for vehicle in vehicles {
        vehicle.state().stuck_at = at;
    }
}

pub async fn a_swarm_is_current_for_tools_that_wait_only_when_what_was_asked_for_is_so(mut field: Field) {
    field.swarm("north", "alpha", json!({"replicas": 2})).await;
    field.drone("north", json!({"name": "alone"}), json!({})).await;
    until(
        &field,
        "what no coordinator has observed to be waited for",
        "InProgress",
        &["InProgress"],
    )
    .await;
    let (drones, params) = (field.drones("north"), DeleteParams::default());
    let deleted = drones.delete("alone", &params).await;
    deleted.expect("nothing keeps a Drone that no coordinator has observed");

    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    vehicles[0].state().ready = false;
    vehicles[0].state().reasons = vec!["GPS 1: Bad fix".into()];
    vehicles[0].state().class = ReasonClass::WillHeal;
    let heals = ["Current", "InProgress"];
    until(
        &field,
        "one to fly and one to wait for what heals",
        "InProgress",
        &heals,
    )
    .await;

    vehicles[0].state().reasons = vec!["Compass not calibrated".into()];
    vehicles[0].state().class = ReasonClass::NeedsHuman;
    until(
        &field,
        "what needs a person to be a failure",
        "Failed",
        &["Current", "Failed"],
    )
    .await;

    vehicles[0].state().reasons = vec![];
    vehicles[0].state().ready = true;
    until(&field, "both to fly", "Current", &["Current", "Current"]).await;

    stuck(&vehicles, Some(10.0));
    ask_for_height(&field, 14.0).await;
    let start = Instant::now();
    let both = ["InProgress", "InProgress"];
    field
        .until(
            "both to be on their way, and nothing else to be said of the Swarm meanwhile",
            async || {
                let all = said(&field).map_err(|error| format!("{error:#}"))?;
                assert!(all["Swarm/alpha"].starts_with("InProgress"), "{all:#?}");
                let under_way = all.values().filter(|status| status.starts_with("InProgress")).count();
                if under_way == 1 + both.len() {
                    Ok(())
                } else {
                    Err(format!("{all:#?}"))
                }
            },
        )
        .await;
    stuck(&vehicles, None);
    until(&field, "both to be there", "Current", &["Current", "Current"]).await;
    println!(
        "asked for another altitude: on its way and there within {:?}",
        start.elapsed()
    );

    // An altitude that is not reached is reported, and causes no command.
    stuck(&vehicles, Some(14.0));
    ask_for_height(&field, 18.0).await;
    let given = |vehicle: &Vehicle| vehicle.state().orders.len();
    field
        .until_drones("both to take it up", |drones| {
            drones.iter().all(|d| condition(d, "Ready").1 == "ChangingAltitude")
        })
        .await;
    let before: Vec<usize> = vehicles.iter().map(given).collect();
    until(&field, "both to be late", "Failed", &["Failed", "Failed"]).await;
    let late = field.all_drones().await;
    for drone in &late {
        let (status, reason, message) = condition(drone, "Ready");
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", "AltitudeNotReached"),
            "{message}"
        );
        assert!(message.contains("not at 18 m"), "{message}");
        assert_eq!(condition(drone, "Flying").0, "True");
    }
    assert_eq!(
        vehicles.iter().map(given).collect::<Vec<_>>(),
        before,
        "no agent was sent anything"
    );
    stuck(&vehicles, None);
    until(&field, "both to be there after all", "Current", &["Current", "Current"]).await;

    let lands = |yes| vehicles.iter().for_each(|v| v.state().lands = yes);
    lands(false);
    field.scale("north", "alpha", 1).await;
    until(&field, "one to be going", "InProgress", &["Current", "Terminating"]).await;
    lands(true);
    until(&field, "one to be left", "Current", &["Current"]).await;
    field.until_drones("it to fly", |drones| flying(drones) == 1).await;

    lands(false);
    let delete = kube::api::DeleteParams::default();
    field.swarms("north").delete("alpha", &delete).await.unwrap();
    until(&field, "all to be going", "Terminating", &["Terminating"]).await;
    lands(true);
    until_gone(&field).await;
}

async fn until_gone(field: &Field) {
    field
        .until("all to be gone", async || {
            let all = said(field).map_err(|error| format!("{error:#}"))?;
            if all.is_empty() {
                Ok(())
            } else {
                Err(format!("{all:#?}"))
            }
        })
        .await;
}
