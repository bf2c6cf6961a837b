//! Operators of vehicles: from objects to agents, and their results.

use crate::crew;
use model::remote_id::{Location, Operator, RemoteIdOrder, RemoteIdReport, Sending, Transmitter};
use serde_json::{Value, json};
use skein_tests::cluster_field::Field;
use skein_tests::scripted_agent::Vehicle;

fn apply(field: &Field, name: &str, site: &str, location: &Value) {
    let object = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Operator", "metadata": {"name": name},
        "spec": {
            "vehicleSelector": {"matchLabels": {"site": site}},
            "id": "CHE87astrdge12k8", "description": "Site patrol", "location": location,
            "eu": {"category": "Open", "class": 2},
        },
    });
    field.cluster().kubectl().apply(&object.to_string()).unwrap();
}

fn condition(object: &Value, kind: &str) -> (String, String) {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|c| c["type"] == kind);
    let text = |field: &str| found.and_then(|c| c[field].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

async fn until_sent(field: &Field, vehicle: &Vehicle, what: &str, is: impl Fn(Option<&Operator>) -> bool) {
    field
        .until(what, async || {
            let last: Option<RemoteIdOrder> = vehicle.state().remote_ids.last().cloned();
            match last {
                Some(order) if is(order.operator.as_ref()) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
}

async fn until_says(field: &Field, name: &str, kind: &str, wanted: (&str, &str)) -> Value {
    field
        .until(&format!("Operator {name} to be {kind} {}", wanted.1), async || {
            let object = field.read(&format!("operators/{name}"));
            let (value, reason) = condition(&object, kind);
            if (value.as_str(), reason.as_str()) == wanted {
                Ok(object)
            } else {
                Err(object["status"].to_string())
            }
        })
        .await
}

pub async fn an_operator_reaches_the_vehicles_it_selects_and_two_for_one_are_both_refused(mut field: Field) {
    let coordinator = field.coordinator();
    let (vehicles, _agents) = crew(&field, &coordinator, &["n1", "n2"]);
    let run = |args: &[&str]| field.cluster().kubectl().run(args.iter().copied()).unwrap();
    run(&["label", "node", "n1", "site=harbour", "skein.dev/uas-id=1596F12345678"]);
    apply(&field, "harbour", "harbour", &json!({"source": "Takeoff"}));
    until_sent(&field, &vehicles[0], "the operator to be sent", |operator| {
        operator.is_some_and(|operator| {
            operator.name == "harbour"
                && operator.location == Location::Takeoff
                && operator
                    .aircraft
                    .as_ref()
                    .is_some_and(|aircraft| aircraft.id == "1596F12345678")
        })
    })
    .await;
    let object = until_says(&field, "harbour", "Sent", ("True", "OnAll")).await;
    assert_eq!(
        (&object["status"]["selected"], &object["status"]["sent"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(condition(&object, "Accepted").0, "True");
    assert!(
        vehicles[1].state().remote_ids.is_empty(),
        "nothing selects it, and it may be of an older version"
    );

    let shows = async |reason: &str| {
        field
            .until(&format!("the Vehicle to show {reason}"), async || {
                let all = field.read("vehicles");
                let mut all = all["items"].as_array().unwrap().iter();
                let found = all
                    .find(|vehicle| vehicle["spec"]["nodeName"] == "n1")
                    .cloned()
                    .unwrap_or_default();
                if condition(&found, "RemoteId").1 == reason {
                    Ok(found)
                } else {
                    Err(found["status"].to_string())
                }
            })
            .await
    };
    vehicles[0].state().remote_id = Some(RemoteIdReport {
        held: Some("harbour".to_owned()),
        sending: Sending::Yes,
        transmitter: Transmitter::Fails("LOC SYS".to_owned()),
    });
    let vehicle = shows("TransmitterFails").await;
    let shown = &vehicle["status"]["remoteId"];
    assert_eq!(
        (&shown["operator"], &shown["ready"]),
        (&json!("harbour"), &json!(false))
    );
    assert!(
        shown["reason"].as_str().unwrap().ends_with("not good to arm: LOC SYS"),
        "{shown}"
    );
    vehicles[0].state().remote_id = None;
    shows("Ready").await;

    // Another that selects the same vehicle: neither is sent, and both say so.
    apply(
        &field,
        "rival",
        "harbour",
        &json!({"source": "Fixed", "latitudeDegrees": 47.0, "longitudeDegrees": 8.0}),
    );
    until_sent(&field, &vehicles[0], "nobody to be named", |operator| {
        operator.is_none()
    })
    .await;
    for name in ["harbour", "rival"] {
        let object = until_says(&field, name, "Accepted", ("False", "SeveralOperators")).await;
        assert_eq!(condition(&object, "Stalled").0, "True");
        assert_eq!(object["status"]["sent"], 0);
    }
    shows("SeveralOperators").await;
    run(&["delete", "operator", "harbour"]);
    until_sent(&field, &vehicles[0], "the other to be named", |operator| {
        operator.is_some_and(|operator| operator.name == "rival" && operator.location != Location::Takeoff)
    })
    .await;
    until_says(&field, "rival", "Accepted", ("True", "Accepted")).await;
    run(&["delete", "operator", "rival"]);
    until_sent(&field, &vehicles[0], "nobody to be named again", |operator| {
        operator.is_none()
    })
    .await;
}
