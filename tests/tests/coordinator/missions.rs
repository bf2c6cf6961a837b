//! Missions: from the object to plans on agents, and their results.

use crate::kstatus::until_mission;
use crate::{Agent, crew};
use crds::Drone;
use model::assignment::{Desired, Order};
use model::plan::item::Item;
use serde_json::{Value, json};
use skein_tests::cluster_field::{Coordinator, Field, PATIENCE};
use skein_tests::scripted_agent::Vehicle;
use std::collections::BTreeSet;

pub fn route(places: u32) -> Value {
    let place = |number: u32| {
        json!({"latitudeDegrees": 47.0 + f64::from(number) * 0.000_27, "longitudeDegrees": 8.001, "altitudeMeters": 20,
               "speedMetersPerSecond": 5})
    };
    json!({"waypoints": (0..places).map(place).collect::<Vec<_>>()})
}

pub fn apply(field: &Field, spec: &Value) {
    let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Mission",
                        "metadata": {"name": "field", "namespace": "north"}, "spec": spec});
    field.cluster().kubectl().apply(&object.to_string()).unwrap();
}

fn mission(field: &Field) -> Value {
    field.read("namespaces/north/missions/field")
}

pub fn condition(object: &Value, kind: &str) -> (String, String, String) {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|c| c["type"] == kind);
    let text = |field: &str| found.and_then(|c| c[field].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

pub async fn until(field: &Field, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    field
        .until(what, async || {
            let object = mission(field);
            if is(&object) {
                Ok(object)
            } else {
                Err(object["status"].to_string())
            }
        })
        .await
}

fn said(field: &Field) -> String {
    let all = field
        .cluster()
        .kubectl()
        .json(["get", "events", "-n", "north"])
        .unwrap();
    let line = |event: &Value| format!("{} {}", event["reason"], event["message"]);
    let lines = all["items"].as_array().into_iter().flatten().map(line);
    lines.collect::<Vec<_>>().join("\n")
}

pub const WAITS: u64 = u64::MAX;

pub fn fliers(field: &Field, coordinator: &Coordinator, names: &[&str]) -> (Vec<Vehicle>, Vec<Agent>) {
    let (vehicles, agents) = crew(field, coordinator, names);
    for (number, vehicle) in vehicles.iter().enumerate() {
        // Each further to the southeast, so that no way to or from the places of a route leads over another home.
        let aside = f64::from(u32::try_from(number).unwrap()) * 0.000_4;
        let mut state = vehicle.state();
        state.home = (47.0 - aside, 8.0 + aside);
        state.at = Some((47.0 - aside, 8.0 + aside, 0.0));
    }
    (vehicles, agents)
}

fn all_down(vehicles: &[Vehicle]) -> bool {
    vehicles.iter().all(|vehicle| !vehicle.flies())
}

pub async fn a_mission_is_flown_by_several_relieved_and_complete_whoever_leads(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, agents) = fliers(&field, &coordinator, &["n1", "n2", "n3"]);
    let to = |count| vehicles.iter().for_each(|vehicle| vehicle.state().waits_at = count);
    to(3);
    apply(
        &field,
        &json!({"route": route(24), "parallelism": 2, "altitudeStepMeters": 12}),
    );
    let object = until(&field, "two vehicles to have parts", |object| {
        object["status"]["vehicles"] == 2
    })
    .await;
    assert_eq!(condition(&object, "Progressing").1, "Flying");
    assert_eq!(
        condition(&object, "Reconciling").0,
        "True",
        "tools that wait see that it is under way"
    );
    until_mission(&field, "InProgress").await;
    let drones = field
        .cluster()
        .kubectl()
        .json(["get", "drones", "-n", "north", "-l", "skein.dev/mission=field"])
        .unwrap();
    assert_eq!(drones["items"].as_array().unwrap().len(), 2);

    let two_have_reached = async |field: &Field, count: usize| {
        field
            .until("two to have come so far on their plans", async || {
                let reached: Vec<usize> = vehicles.iter().map(|vehicle| vehicle.state().reached.count()).collect();
                let there = reached.iter().filter(|reached| **reached == count).count();
                (there == 2).then_some(()).ok_or(format!("{reached:?}"))
            })
            .await;
    };
    let plans = || {
        vehicles
            .iter()
            .map(|vehicle| vehicle.state().plans.len())
            .sum::<usize>()
    };

    two_have_reached(&field, 3).await;
    for vehicle in &vehicles {
        let state = vehicle.state();
        for order in &state.orders {
            if let Order::Assigned(a) = order
                && matches!(a.desired, Desired::Flying { .. })
            {
                assert_eq!(a.plan.as_ref(), state.plans.last().map(|plan| &plan.digest));
            }
        }
    }
    assert_eq!(plans(), 2);

    drop(agents);
    drop(coordinator);
    let connect = |coordinator: &Coordinator| -> Vec<Agent> {
        let agent = |vehicle| Agent::start(vehicle, &coordinator.address);
        vehicles.iter().map(agent).collect()
    };
    let coordinator = field.coordinator();
    let agents = connect(&coordinator);
    to(6);
    two_have_reached(&field, 6).await;
    assert_eq!(plans(), 2, "one each, and the same under each leader");

    // Near its reserve when the next leader comes, it comes home, and another flies only the rest of its part.
    let items = |vehicle: &Vehicle| vehicle.state().plans.last().map_or(0, |plan| plan.items.len());
    let tired = vehicles.iter().max_by_key(|vehicle| items(vehicle)).unwrap();
    let node = tired.state().node.clone();
    let drones = field.read("namespaces/north/drones");
    let mut drones = drones["items"].as_array().unwrap().iter();
    let of_it = drones.find(|drone| drone["spec"]["nodeName"] == node.as_str()).unwrap();
    let first = of_it["metadata"]["name"].as_str().unwrap().to_owned();
    drop(agents);
    drop(coordinator);
    tired.state().battery = 24;
    let coordinator = field.coordinator();
    let _agents = connect(&coordinator);
    until(&field, "another to have the rest", |object| {
        let parts = object["status"]["parts"].as_array();
        let flown = object["status"]["flown"].as_array();
        parts.into_iter().flatten().all(|part| part["drone"] != first.as_str())
            && flown.is_some_and(|flown| !flown.is_empty())
    })
    .await;
    to(usize::MAX);
    let timeout = format!("--timeout={}s", (2 * PATIENCE).as_secs());
    field
        .cluster()
        .kubectl()
        .run([
            "wait",
            "-n",
            "north",
            "--for=condition=Complete",
            "mission/field",
            &timeout,
        ])
        .unwrap();
    let object = mission(&field);
    assert_eq!(
        (&object["status"]["done"], &object["status"]["completed"]),
        (&json!("100%"), &json!(1))
    );
    assert_eq!(
        object["status"]["failures"],
        0,
        "{}\n{}",
        object["status"],
        said(&field)
    );
    let places = |items: &[Item]| -> Vec<(f64, f64)> {
        let places = items.iter().filter_map(|item| item.params[4].zip(item.params[5]));
        places.collect()
    };
    let flown = places(&tired.state().plans[0].items[2..5]);
    for vehicle in vehicles.iter().filter(|vehicle| vehicle.state().node != node) {
        for plan in &vehicle.state().plans {
            let again = places(&plan.items).into_iter().find(|place| flown.contains(place));
            assert_eq!(again, None, "{} of {flown:?}", vehicle.state().node);
        }
    }
    until_mission(&field, "Current").await;

    field.until_drones("no Drones", <[_]>::is_empty).await;
    assert!(all_down(&vehicles));
    for vehicle in &vehicles {
        let state = vehicle.state();
        let (home, at) = (state.home, state.at.unwrap());
        assert!(
            (home.0 - at.0).abs() < 1e-5 && (home.1 - at.1).abs() < 1e-5,
            "{home:?} {at:?}"
        );
    }
    field
        .cluster()
        .kubectl()
        .run(["delete", "mission", "-n", "north", "field", &timeout])
        .unwrap();
}

pub async fn a_tiring_vehicle_flies_on_until_its_relief_came_and_a_patrol_has_no_break(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = fliers(&field, &coordinator, &["n1", "n2"]);
    let go_on = |leg| vehicles.iter().for_each(|vehicle| vehicle.state().leg = leg);
    go_on(8);
    // Slow enough that a relief from home can be at a place of it before.
    let mut slow = route(24);
    for place in slow["waypoints"].as_array_mut().unwrap() {
        place["speedMetersPerSecond"] = json!(2);
    }
    apply(
        &field,
        &json!({"route": slow, "repeat": "Forever", "altitudeStepMeters": 12}),
    );
    let first = field
        .until("one to be on its way", async || {
            let far = vehicles.iter().find(|vehicle| vehicle.state().reached.count() >= 3);
            far.ok_or_else(|| "no vehicle is".to_owned())
        })
        .await;
    let second = vehicles.iter().find(|vehicle| !std::ptr::eq(*vehicle, first)).unwrap();
    let second_has_reached = |count: usize| {
        let reached = second.state().reached.count();
        if reached >= count {
            Ok(())
        } else {
            Err(reached.to_string())
        }
    };
    {
        let mut state = first.state();
        (state.leg, state.battery) = (WAITS, 35);
    }
    let object = until(&field, "a relief to have the rest", |object| {
        object["status"]["parts"]
            .as_array()
            .is_some_and(|parts| parts.len() == 2)
    })
    .await;
    assert!(
        object["status"]["parts"][0]["relief"]["from"].as_f64().unwrap() > 2.0,
        "{object}"
    );
    field
        .until("the relief to be at work", async || second_has_reached(4))
        .await;
    second.state().leg = WAITS;
    assert!(first.flies(), "it flies on until it has come to the place, too");
    first.state().leg = 1;
    until(&field, "the first to leave", |object| {
        object["status"]["parts"]
            .as_array()
            .is_some_and(|parts| parts.len() == 1)
    })
    .await;
    first.state().battery = 90;
    field
        .until("the first to be down", async || {
            if first.flies() {
                Err("it flies".to_owned())
            } else {
                Ok(())
            }
        })
        .await;
    second.state().leg = 8;
    let object = until(&field, "the next round to be assigned", |object| {
        object["status"]["parts"]
            .as_array()
            .is_some_and(|parts| parts.iter().any(|part| part["roundsAhead"] == 1))
    })
    .await;
    assert_eq!(
        (&object["status"]["completed"], &object["status"]["failures"]),
        (&json!(0), &json!(0))
    );
    go_on(8);
    until(&field, "a round to be over", |object| {
        object["status"]["completed"] == 1
    })
    .await;
    field
        .cluster()
        .kubectl()
        .run(["delete", "mission", "-n", "north", "field", "--timeout=120s"])
        .unwrap();
}

pub async fn a_mission_that_autopilots_refuse_fails_in_their_words_and_names_what_was_unflown(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = fliers(&field, &coordinator, &["n1"]);
    vehicles[0].state().refuses = Some("Mission: item 4 not supported".to_owned());
    apply(&field, &json!({"route": route(4), "backoffLimit": 0}));
    let object = until(&field, "it to fail", |object| condition(object, "Failed").0 == "True").await;
    let (_, reason, message) = condition(&object, "Failed");
    assert_eq!(reason, "BackoffLimitExceeded");
    assert!(
        message.contains("item 4 not supported")
            && message.contains("0 percent is flown")
            && message.contains("status.notFlown"),
        "{message}"
    );
    assert_eq!(object["status"]["notFlown"].as_array().unwrap().len(), 1);
    assert_eq!(condition(&object, "Stalled").0, "True");
    until_mission(&field, "Failed").await;
    assert!(vehicles[0].ordered_to_fly_for().is_empty(), "no vehicle took off");
    field
        .until("its Events to have the words", async || {
            let events = field
                .cluster()
                .kubectl()
                .json(["get", "events", "-n", "north"])
                .unwrap();
            let text = events.to_string();
            if text.contains("item 4 not supported") {
                Ok(())
            } else {
                Err(text)
            }
        })
        .await;
    field.until_drones("no Drones", <[_]>::is_empty).await;
    apply(
        &field,
        &json!({"route": route(4), "backoffLimit": 0, "ttlSecondsAfterFinished": 0}),
    );
    field
        .until("the Mission to be gone", async || {
            let all = field.read("namespaces/north/missions");
            match all["items"].as_array() {
                Some(items) if items.is_empty() => Ok(()),
                _ => Err(all.to_string()),
            }
        })
        .await;
}

/// A file of a ground station: takeoff, a speed, so many places, a camera on the way, and the way home.
pub async fn a_vehicle_that_refuses_a_plan_is_tried_after_all_others_and_after_a_rest(mut field: Field) {
    let words = "Mission: item 4 not supported";
    let coordinator = field.coordinator();
    let (vehicles, _agents) = fliers(&field, &coordinator, &["n1", "n2"]);
    let refuses = |words: Option<&str>| vehicles[0].state().refuses = words.map(str::to_owned);
    let kubectl = |args: &[&str]| field.cluster().kubectl().run(args.iter().copied()).unwrap();
    let is_complete = |object: &Value| condition(object, "Complete").0 == "True";
    refuses(Some(words));
    // The other would be bound if this one was not heard for a moment.
    kubectl(&["cordon", "n2"]);
    apply(&field, &json!({"route": route(4)}));
    until(&field, "it to be refused", |object| {
        !object["status"]["refused"].is_null()
    })
    .await;
    kubectl(&["uncordon", "n2"]);
    let object = until(&field, "the other to have flown it", is_complete).await;
    let known = json!([{"node": "n1", "times": 1, "message": words}]);
    let status = &object["status"];
    assert_eq!(
        (&status["refused"], &status["failures"]),
        (&known, &json!(1)),
        "{status}"
    );
    let plans = |number: usize| vehicles[number].state().plans.len();
    assert_eq!((plans(0), plans(1)), (1, 1));
    kubectl(&["delete", "mission", "-n", "north", "field", "--timeout=60s"]);

    // Without another it is tried again, and forgiven once it flies.
    kubectl(&["cordon", "n2"]);
    apply(&field, &json!({"route": route(4)}));
    let object = until(&field, "the Mission to say that it refuses", |object| {
        condition(object, "Progressing").1 == "PlanRefused"
    })
    .await;
    let (_, _, message) = condition(&object, "Progressing");
    assert!(message.contains("n1") && message.contains(words), "{message}");
    // Before, it would take the plan of the one that is given up.
    field
        .until_drones("only a Drone that says why it waits", |drones| {
            let waits = |drone: &Drone| json!(drone).to_string().contains("tried again after a rest");
            !drones.is_empty() && drones.iter().all(waits)
        })
        .await;
    refuses(None);
    let object = until(&field, "it to be flown", is_complete).await;
    let status = &object["status"];
    assert_eq!(
        (&status["refused"], &status["failures"]),
        (&Value::Null, &json!(1)),
        "{status}"
    );
    // An order that is sent again is no second flight.
    let drones = |number: usize| {
        vehicles[number]
            .ordered_to_fly_for()
            .into_iter()
            .collect::<BTreeSet<_>>()
    };
    assert_eq!((drones(0).len(), drones(1).len()), (1, 1), "each has flown it once");
    kubectl(&["uncordon", "n2"]);
    kubectl(&["delete", "mission", "-n", "north", "field", "--timeout=60s"]);
}

fn file(places: u32) -> String {
    let row = |number: u32, command: u16, params: [f64; 4], place: [f64; 3]| {
        let [a, b, c, d] = params;
        let [x, y, z] = place;
        let frame = if number == 0 { 0 } else { 3 };
        format!("{number}\t0\t{frame}\t{command}\t{a}\t{b}\t{c}\t{d}\t{x:.7}\t{y:.7}\t{z}\t1\n")
    };
    let at = |number: u32| [47.0 + f64::from(number) * 0.000_27, 8.001, 20.0];
    let mut rows = vec![
        row(0, 16, [0.0; 4], [47.0, 8.0, 488.0]),
        row(1, 22, [0.0; 4], at(0)),
        row(2, 178, [1.0, 5.0, -1.0, 0.0], [0.0; 3]),
        row(3, 206, [10.0, 0.0, 1.0, 0.0], [0.0; 3]),
    ];
    rows.extend((0..places).map(|number| row(number + 4, 16, [1.0, 0.0, 0.0, 0.0], at(number))));
    rows.push(row(places + 4, 20, [0.0; 4], [0.0; 3]));
    format!("QGC WPL 110\n{}", rows.concat())
}

fn put(field: &Field, text: &str) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "files", "namespace": "north"},
                     "data": {"field.waypoints": text}});
    field.cluster().kubectl().apply(&map.to_string()).unwrap();
}

pub async fn the_items_of_a_file_in_a_config_map_are_flown_as_they_stand_and_cannot_change(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, agents) = fliers(&field, &coordinator, &["n1"]);
    let vehicle = &vehicles[0];
    vehicle.state().leg = 8;
    let from = json!({"configMapKeyRef": {"name": "files", "key": "field.waypoints"}});
    apply(&field, &json!({"planFrom": from}));
    let says = async |field: &Field, what: &str, words: &str| {
        let is = |object: &Value| {
            let (status, reason, message) = condition(object, "Progressing");
            status == "False" && reason == "BadWork" && message.contains(words)
        };
        until(field, what, is).await;
    };
    says(
        &field,
        "a missing file to be said",
        "spec.planFrom: there is no ConfigMap files",
    )
    .await;
    put(&field, &file(6).replace("\t22\t", "\t82\t"));
    says(
        &field,
        "a bad file to be said",
        "item 0 (NAV_SPLINE_WAYPOINT) leaves the straight way",
    )
    .await;
    assert!(vehicle.state().plans.is_empty());
    put(&field, &file(12));
    let has_reached = async |field: &Field, count: usize| {
        field
            .until("it to have come so far", async || {
                let reached = vehicle.state().reached.count();
                (reached >= count).then_some(()).ok_or(reached.to_string())
            })
            .await;
        vehicle.state().leg = WAITS;
    };
    has_reached(&field, 6).await;
    let plan = vehicle.state().plans.last().unwrap().clone();
    let commands: Vec<u16> = plan.items.iter().map(|item| item.command).collect();
    // Above its home, the first place; the items; the camera is switched off on the way home.
    let expected = [vec![16, 16, 178, 206], vec![16; 12], vec![206, 16]].concat();
    assert_eq!(commands, expected);
    assert_eq!(plan.items[5].params[..2], [Some(1.0), Some(0.0)]);

    drop(agents);
    drop(coordinator);
    put(&field, &file(11));
    let coordinator = field.coordinator();
    let _agents = [Agent::start(vehicle, &coordinator.address)];
    says(
        &field,
        "a changed file to be said",
        "the work of a Mission that has begun cannot change",
    )
    .await;
    field
        .until("it to come home", async || {
            if vehicle.flies() {
                Err("it flies".to_owned())
            } else {
                Ok(())
            }
        })
        .await;
    put(&field, &file(12));
    vehicle.state().leg = 8;
    let object = until(&field, "it to complete", |object| {
        condition(object, "Complete").0 == "True"
    })
    .await;
    assert_eq!(
        (&object["status"]["done"], &object["status"]["failures"]),
        (&json!("100%"), &json!(0))
    );
    field.until_drones("no Drones", <[_]>::is_empty).await;
}
