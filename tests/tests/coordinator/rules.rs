//! Rules on board: from objects to agents, and their results.

use crate::{Agent, crew, flying, missions};
use model::assignment::Order;
use model::rules::{FenceState, Rules, RulesReport};
use serde_json::{Value, json};
use skein_tests::cluster_field::{Field, PATIENCE};
use skein_tests::scripted_agent::Vehicle;

fn apply(field: &Field, kind: &str, name: &str, spec: &Value) {
    let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    field.cluster().kubectl().apply(&object.to_string()).unwrap();
}

fn run<const N: usize>(field: &Field, args: [&str; N]) {
    field.cluster().kubectl().run(args).unwrap();
}

fn fence(site: &str, radius: f64) -> Value {
    json!({
        "vehicleSelector": {"matchLabels": {"site": site}},
        "include": [{"circle": {"center": {"latitudeDegrees": 47.0, "longitudeDegrees": 8.0}, "radiusMeters": radius}}],
        "ceilingMeters": 60,
    })
}

fn condition(object: &Value, kind: &str) -> (String, String) {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|c| c["type"] == kind);
    let text = |field: &str| found.and_then(|c| c[field].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

async fn until_in_force(field: &Field, kind: &str, name: &str, of: (i64, i64), reason: &str) {
    let what = format!("{kind} {name} to be in force on {} of {}", of.0, of.1);
    field
        .until(&what, async || {
            let object = field.read(&format!("{kind}s/{name}"));
            let status = &object["status"];
            let counts = (status["inForce"].as_i64(), status["selected"].as_i64());
            let now = counts == (Some(of.0), Some(of.1)) && condition(&object, "InForce").1 == reason;
            if now { Ok(()) } else { Err(status.to_string()) }
        })
        .await;
}

fn last(vehicle: &Vehicle) -> Option<Rules> {
    vehicle.state().rules.last().cloned()
}

async fn until_rules(field: &Field, vehicle: &Vehicle, what: &str, is: impl Fn(&Rules) -> bool) -> Rules {
    field
        .until(what, async || match last(vehicle) {
            Some(rules) if is(&rules) => Ok(rules),
            other => Err(format!("{other:?}")),
        })
        .await
}

fn value(rules: &Rules, name: &str) -> Option<f64> {
    let found = rules.parameters.iter().find(|parameter| parameter.name == name);
    found.map(|parameter| parameter.value)
}

pub async fn a_geofence_reaches_the_vehicles_it_selects_and_its_status_says_where_it_holds(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, agents) = crew(&field, &coordinator, &["n1", "n2"]);
    run(&field, ["label", "node", "n1", "site=north", "skein.dev/number=3"]);
    apply(&field, "Geofence", "north", &fence("north", 300.0));
    let is_fenced = |rules: &Rules| rules.fence.as_ref().is_some_and(|fence| fence.items() == 1);
    let first = until_rules(&field, &vehicles[0], "the fence to be sent", is_fenced).await;
    assert_eq!(value(&first, "FENCE_TYPE"), Some(5.0));
    assert_eq!(value(&first, "FENCE_ALT_MAX"), Some(60.0));
    until_in_force(&field, "geofence", "north", (1, 1), "OnAll").await;

    // Its agent's report counts, and the order names what has to be in force.
    vehicles[0].state().reported = Some(RulesReport {
        fence: FenceState::Refused("Fence validation failed".into()),
        parameters_in_force: 4,
        ..RulesReport::default()
    });
    until_in_force(&field, "geofence", "north", (0, 1), "NotOnAll").await;
    let object = field.read("geofences/north");
    assert_eq!(object["status"]["unsettled"][0]["reason"], "Refused");
    assert_eq!(condition(&object, "Stalled").0, "True");
    vehicles[0].state().ready = false;
    field
        .drone("north", json!({"name": "a"}), json!({"nodeName": "n1"}))
        .await;
    field
        .until("the order to name the rules", async || {
            let state = vehicles[0].state();
            let named = |order: &Order| matches!(order, Order::Assigned(a) if a.rules.as_ref() == Some(&first.digest));
            if state.orders.iter().any(named) {
                Ok(())
            } else {
                Err(format!("{:?}", state.orders))
            }
        })
        .await;
    vehicles[0].state().reported = None;
    until_in_force(&field, "geofence", "north", (1, 1), "OnAll").await;

    // Values by precedence and by the number of the vehicle, with those of the fence in one digest.
    let profile = |precedence: i32, value: &str| {
        json!({
            "vehicleSelector": {"matchLabels": {"site": "north"}}, "enforce": "Apply", "precedence": precedence,
            "ardupilot": {"RTL_ALT": value, "FENCE_ACTION": "0"},
        })
    };
    apply(&field, "ParameterProfile", "base", &profile(0, "1500"));
    apply(
        &field,
        "ParameterProfile",
        "site",
        &profile(5, "{{ 3000 + 500*number }}"),
    );
    let is_set = |rules: &Rules| value(rules, "RTL_ALT") == Some(4500.0);
    let both = until_rules(&field, &vehicles[0], "the values to be sent", is_set).await;
    assert_eq!(value(&both, "FENCE_ACTION"), Some(1.0), "the fence wins over all");
    assert!(is_fenced(&both));
    assert_ne!(both.digest, first.digest);
    until_in_force(&field, "parameterprofile", "site", (1, 1), "OnAll").await;
    until_in_force(&field, "parameterprofile", "base", (1, 1), "OnAll").await;

    // A Vehicle's own labels count too, and win.
    let inventory = async || {
        let all = field.read("vehicles");
        let mut all = all["items"].as_array().unwrap().iter();
        let found = all.find(|vehicle| vehicle["spec"]["nodeName"] == "n2");
        found
            .map(|vehicle| vehicle["metadata"]["name"].as_str().unwrap().to_owned())
            .ok_or_else(|| "not in the inventory".to_owned())
    };
    assert_eq!(last(&vehicles[1]), None, "nothing selects it");
    let name = field.until("n2 to be in the inventory", inventory).await;
    run(&field, ["label", "vehicle", &name, "site=north"]);
    until_rules(&field, &vehicles[1], "the fence to reach the other", is_fenced).await;
    until_in_force(&field, "geofence", "north", (2, 2), "OnAll").await;

    assert_eq!(coordinator.process.stop(PATIENCE).unwrap().code(), Some(0));
    drop(agents);
    let sent = vehicles[0].state().rules.len();
    let second = field.coordinator();
    let start = |vehicle: &Vehicle| Agent::start(vehicle, &second.address);
    let _agents: Vec<_> = vehicles.iter().map(start).collect();
    field
        .until("the rules to come again", async || {
            let state = vehicles[0].state();
            let again = state.rules.len() > sent && state.rules.last().map(|rules| &rules.digest) == Some(&both.digest);
            if again {
                Ok(())
            } else {
                Err(format!("{:?}", state.rules.last()))
            }
        })
        .await;

    run(&field, ["delete", "geofence", "north"]);
    until_rules(&field, &vehicles[0], "the fence to be taken back", |rules| {
        rules.fence.is_none() && is_set(rules)
    })
    .await;
    until_rules(&field, &vehicles[1], "all of it to be taken back", |rules| {
        rules.fence.is_none()
    })
    .await;
    run(&field, ["delete", "parameterprofile", "site", "base"]);
    until_rules(&field, &vehicles[0], "nothing to be wanted", Rules::is_empty).await;
}

pub async fn a_station_outside_of_a_geofence_gets_no_route_and_the_drone_says_why(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1"]);
    run(&field, ["label", "node", "n1", "site=south"]);
    apply(&field, "Geofence", "south", &fence("south", 100.0));
    until_in_force(&field, "geofence", "south", (1, 1), "OnAll").await;
    let station = json!({"latitudeDegrees": 47.002, "longitudeDegrees": 8.0, "altitudeMeters": 15});
    field
        .drone("north", json!({"name": "a"}), json!({"station": station}))
        .await;
    let says = async || {
        let drone = field.read("namespaces/north/drones/a");
        let text = drone["status"].to_string();
        if text.contains("inside spec.include[0] of Geofence south") {
            Ok(())
        } else {
            Err(text)
        }
    };
    field.until("the Drone to say which Geofence is in the way", says).await;
    let drones = field.until_drones("it to be there", |drones| drones.len() == 1).await;
    assert_eq!(flying(&drones), 0);
    assert_eq!(vehicles[0].ordered_to_fly_for(), Vec::<String>::new());
    run(&field, ["delete", "geofence", "south"]);
}

pub async fn a_vehicle_on_a_mission_comes_home_where_a_new_geofence_forbids_the_rest(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = missions::fliers(&field, &coordinator, &["n1"]);
    run(&field, ["label", "node", "n1", "site=west"]);
    vehicles[0].state().leg = 4;
    missions::apply(&field, &json!({"route": missions::route(16)}));
    field
        .until("it to have flown a part", async || {
            let reached = vehicles[0].state().reached.count();
            if reached >= 4 {
                Ok(())
            } else {
                Err(format!("{reached} reached"))
            }
        })
        .await;
    vehicles[0].state().leg = missions::WAITS;
    // It allows all of the way, which is 450 m long, and changes nothing.
    apply(&field, "Geofence", "west", &fence("west", 900.0));
    until_in_force(&field, "geofence", "west", (1, 1), "OnAll").await;
    assert!(vehicles[0].flies());
    apply(&field, "Geofence", "west", &fence("west", 200.0));
    let stopped = missions::until(&field, "the Mission to say that it is out of reach", |object| {
        missions::condition(object, "Progressing").1 == "OutOfReach"
    });
    let stopped = stopped.await;
    assert!(
        missions::condition(&stopped, "Progressing").2.contains("Geofence west"),
        "{}",
        stopped["status"]
    );
    let flown = stopped["status"]["flown"].clone();
    assert!(flown[0]["to"].as_f64().unwrap() > 0.0, "what was flown counts: {flown}");
    assert_eq!(stopped["status"]["failures"], 0, "that is no fault of a vehicle");
    field
        .until("it to be down", async || match vehicles[0].flies() {
            true => Err("it flies".to_owned()),
            false => Ok(()),
        })
        .await;
    field
        .until("an Event to say why", async || {
            let events = field
                .cluster()
                .kubectl()
                .json(["get", "events", "-n", "north"])
                .unwrap();
            let said = |event: &Value| {
                let words = event["message"].as_str().unwrap_or_default();
                event["reason"] == "PartGivenUp"
                    && words.contains("may not fly on")
                    && words.contains("spec.include[0] of Geofence west")
            };
            match events["items"].as_array().unwrap().iter().any(said) {
                true => Ok(()),
                false => Err(events.to_string()),
            }
        })
        .await;

    vehicles[0].state().leg = 2;
    run(&field, ["delete", "geofence", "west"]);
    missions::until(&field, "the rest to be flown", |object| {
        missions::condition(object, "Complete").0 == "True"
    })
    .await;
}
