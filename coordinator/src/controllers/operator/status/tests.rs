//! The operator of each vehicle, and the statuses of the objects.

use super::*;
use crds::OperatorSpec;
use crds::operator::{LocationSource, OperatorLocation};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use model::remote_id::{AircraftId, AircraftIdKind, Location};

fn labels(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn wanted(name: &str, selector: &[(&str, &str)]) -> Wanted {
    let spec = OperatorSpec {
        vehicle_selector: LabelSelector {
            match_labels: Some(labels(selector)),
            ..LabelSelector::default()
        },
        id: "CHE87astrdge12k8".to_owned(),
        ..OperatorSpec::default()
    };
    Wanted::of(&crds::Operator::new(name, spec))
}

fn report(held: Option<&str>, sending: Sending, transmitter: Transmitter) -> RemoteIdReport {
    RemoteIdReport {
        held: held.map(str::to_owned),
        sending,
        transmitter,
    }
}

fn status(
    of: (usize, &Wanted),
    wanted: &[Wanted],
    vehicles: &[(&str, Option<&RemoteIdReport>, &Outcome)],
) -> OperatorStatus {
    of_operator(of, wanted, vehicles, &[], Timestamp::UNIX_EPOCH)
}

fn said(status: &OperatorStatus, kind: &str) -> (String, String, String) {
    let condition = status.conditions.iter().find(|c| c.type_ == kind).unwrap();
    (
        condition.status.clone(),
        condition.reason.clone(),
        condition.message.clone(),
    )
}

#[test]
fn the_one_operator_that_selects_a_vehicle_is_sent_with_the_id_of_its_aircraft() {
    let all = [
        wanted("north", &[("site", "north")]),
        wanted("south", &[("site", "south")]),
    ];
    let of = outcome(
        &all,
        &labels(&[("site", "north"), ("skein.dev/uas-id", "1596F12345678")]),
    );
    let operator = of.operator.unwrap();
    assert_eq!(
        (operator.name.as_str(), operator.location),
        ("north", Location::Takeoff)
    );
    assert_eq!(
        operator.aircraft,
        Some(AircraftId {
            kind: AircraftIdKind::SerialNumber,
            id: "1596F12345678".to_owned()
        })
    );
    assert_eq!(outcome(&all, &labels(&[("site", "east")])), Outcome::default());
}

#[test]
fn an_aircraft_id_that_is_too_long_is_named_and_the_operator_is_sent_without_it() {
    let all = [wanted("north", &[])];
    let of = outcome(&all, &labels(&[("skein.dev/uas-id", "more-than-20-characters")]));
    assert_eq!(of.operator.as_ref().unwrap().aircraft, None);
    let (reason, text) = of.fault.as_ref().unwrap();
    assert_eq!(*reason, "UasIdInvalid");
    assert!(text.contains("1 to 20 characters; set it"), "{text}");
    let report = report(Some("north"), Sending::Yes, Transmitter::Good);
    let said_of = status((0, &all[0]), &all, &[("v", Some(&report), &of)]);
    assert_eq!(said_of.sent, Some(1));
    assert_eq!(said(&said_of, "Stalled").1, "NeedsAttention");
}

#[test]
fn two_operators_that_select_one_vehicle_are_both_refused_for_it() {
    let all = [wanted("all", &[]), wanted("north", &[("site", "north")])];
    let both = outcome(&all, &labels(&[("site", "north")]));
    assert_eq!(both.operator, None);
    let one = outcome(&all, &labels(&[]));
    assert_eq!(one.operator.as_ref().unwrap().name, "all");
    let none = report(None, Sending::Nothing, Transmitter::Unheard);
    let sent = report(Some("all"), Sending::Yes, Transmitter::Unheard);
    let vehicles = [("a", Some(&none), &both), ("b", Some(&sent), &one)];
    for (place, other) in [(0, "north"), (1, "all")] {
        let of = status((place, &all[place]), &all, &vehicles);
        let (value, reason, text) = said(&of, "Accepted");
        assert_eq!((value.as_str(), reason.as_str()), ("False", "SeveralOperators"));
        assert!(
            text.starts_with(&format!("Vehicle a is also selected by Operator {other},")),
            "{text}"
        );
        assert_eq!(of.unsettled[0].reason, "SeveralOperators");
    }
    assert_eq!(status((0, &all[0]), &all, &vehicles).sent, Some(1));
    let shown = shown(&all, &both, &none).unwrap();
    assert_eq!(
        (shown.reason, shown.status.ready, shown.status.operator),
        ("SeveralOperators", Some(false), None)
    );
    assert!(
        shown.status.reason.starts_with("Operators all and north all select it"),
        "{}",
        shown.status.reason
    );
}

#[test]
fn an_operator_says_to_how_many_vehicles_it_is_sent_and_why_not_on_the_others() {
    let all = [wanted("north", &[])];
    let of = outcome(&all, &labels(&[]));
    let sent = report(Some("north"), Sending::Yes, Transmitter::Good);
    let waits = report(Some("north"), Sending::NoLocation, Transmitter::Unheard);
    let vehicles = [("b", Some(&waits), &of), ("a", Some(&sent), &of), ("c", None, &of)];
    let status_of = status((0, &all[0]), &all, &vehicles);
    assert_eq!((status_of.selected, status_of.sent), (Some(3), Some(1)));
    let (value, reason, text) = said(&status_of, "Sent");
    assert_eq!((value.as_str(), reason.as_str()), ("False", "NotOnAll"));
    assert!(text.starts_with("sent to 1 of 3; Vehicle b: "), "{text}");
    let unsettled: Vec<&str> = status_of.unsettled.iter().map(|of| of.reason.as_str()).collect();
    assert_eq!(unsettled, ["NoLocation", "AgentSilent"]);
    assert_eq!(said(&status_of, "Reconciling").0, "True");
    let all_sent = status((0, &all[0]), &all, &vehicles[1..2]);
    assert_eq!(said(&all_sent, "Sent").0, "True");
    assert_eq!(all_sent.conditions.len(), 2, "neither Stalled nor Reconciling");
    assert_eq!(said(&status((0, &all[0]), &all, &[]), "Sent").1, "SelectsNone");
}

#[test]
fn a_transmitter_not_good_to_arm_is_named_and_the_operator_is_sent_all_the_same() {
    let all = [wanted("north", &[])];
    let of = outcome(&all, &labels(&[]));
    let fails = report(Some("north"), Sending::Yes, Transmitter::Fails("LOC SYS".to_owned()));
    let status_of = status((0, &all[0]), &all, &[("a", Some(&fails), &of)]);
    assert_eq!(said(&status_of, "Sent").0, "True");
    assert_eq!(status_of.unsettled[0].reason, "TransmitterFails");
    let shown = shown(&all, &of, &fails).unwrap();
    assert_eq!(shown.status.operator.as_deref(), Some("north"));
    assert!(
        shown.status.reason.ends_with("not good to arm: LOC SYS"),
        "{}",
        shown.status.reason
    );
}

#[test]
fn a_vehicle_that_nothing_selects_and_that_has_no_transmitter_shows_nothing() {
    let none = report(None, Sending::Nothing, Transmitter::Unheard);
    assert_eq!(shown(&[], &Outcome::default(), &none), None);
    let good = report(None, Sending::Nothing, Transmitter::Good);
    assert_eq!(shown(&[], &Outcome::default(), &good).unwrap().reason, "NoOperator");
}

#[test]
fn an_operator_whose_place_is_missing_is_not_sent() {
    let spec = OperatorSpec {
        id: "CHE87astrdge12k8".to_owned(),
        location: OperatorLocation {
            source: LocationSource::Fixed,
            ..OperatorLocation::default()
        },
        ..OperatorSpec::default()
    };
    let all = [Wanted::of(&crds::Operator::new("north", spec))];
    let of = outcome(&all, &labels(&[]));
    assert_eq!((of.operator.is_none(), of.fault.as_ref().unwrap().0), (true, "Invalid"));
    let none = report(None, Sending::Nothing, Transmitter::Unheard);
    let status_of = status((0, &all[0]), &all, &[("a", Some(&none), &of)]);
    assert_eq!(said(&status_of, "Accepted").1, "Invalid");
}
