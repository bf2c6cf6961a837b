//! The operator of each vehicle, and the statuses of Operators and Vehicles.
//!
//! Must not: call the API, or count a vehicle whose agent did not report that it sends its operator.

use super::objects::Wanted;
use crate::cluster::conditions::condition;
use crate::controllers::node_operators::Shown;
use crds::OperatorStatus;
use crds::rules::UnsettledVehicle;
use crds::vehicle::VehicleRemoteId;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use model::remote_id::{Choice, Operator, RemoteIdReport, Sending, Transmitter, assess, choose};
use std::collections::BTreeMap;

const MAX_NAMED: usize = 32;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The Operators that select it, by index.
    pub selecting: Vec<usize>,
    /// `None`: its autopilot is sent no operator.
    pub operator: Option<Operator>,
    /// Why there is none, or not all is sent: one word and a sentence.
    pub fault: Option<(&'static str, String)>,
}

pub fn outcome(wanted: &[Wanted], labels: &BTreeMap<String, String>) -> Outcome {
    let matching = wanted.iter().enumerate().filter(|(_, of)| of.selects.matches(labels));
    let selecting: Vec<(usize, &str)> = matching.map(|(place, of)| (place, of.name.as_str())).collect();
    let mut outcome = Outcome {
        selecting: selecting.iter().map(|(place, _)| *place).collect(),
        ..Outcome::default()
    };
    match choose(&selecting) {
        Choice::None => {}
        Choice::Several(names) => {
            let text = format!(
                "Operators {} all select it, so none of them is sent; change their spec.vehicleSelector, or delete all but one",
                names.join(" and ")
            );
            outcome.fault = Some(("SeveralOperators", text));
        }
        Choice::One(place) => {
            let Some(of) = wanted.get(place) else { return outcome };
            let aircraft = of.aircraft(labels);
            outcome.fault = match (&of.operator, &aircraft) {
                (Err(fault), _) => Some(("Invalid", fault.clone())),
                (Ok(_), Err(fault)) => Some(("UasIdInvalid", fault.clone())),
                (Ok(_), Ok(_)) => None,
            };
            outcome.operator = of.operator.as_ref().ok().map(|operator| Operator {
                aircraft: aircraft.ok().flatten(),
                ..operator.clone()
            });
        }
    }
    outcome
}

/// `None` where no Operator selects it and it has no transmitter.
pub fn shown(wanted: &[Wanted], outcome: &Outcome, report: &RemoteIdReport) -> Option<Shown> {
    let concerned =
        !outcome.selecting.is_empty() || report.held.is_some() || report.transmitter != Transmitter::Unheard;
    if !concerned {
        return None;
    }
    let operator = match &outcome.selecting[..] {
        [one] => wanted.get(*one).map(|of| of.name.clone()),
        _ => None,
    };
    let (ready, reason, message) = match &outcome.fault {
        Some((reason, text)) => (Some(false), *reason, text.clone()),
        None => {
            let said = assess(operator.as_deref(), report);
            (said.ready, said.reason, said.message)
        }
    };
    Some(Shown {
        status: VehicleRemoteId {
            operator,
            ready,
            reason: message,
        },
        reason,
    })
}

struct Progress<'a> {
    name: &'a str,
    sent: bool,
    /// One word, a sentence, and whether somebody has to do something.
    trouble: Option<(&'static str, String, bool)>,
}

fn progress<'a>(
    operator: &Wanted,
    (name, report, outcome): (&'a str, Option<&RemoteIdReport>, &Outcome),
) -> Progress<'a> {
    let Some(report) = report else {
        let text = "its agent is not connected, or receives nothing from its autopilot".to_owned();
        return Progress {
            name,
            sent: false,
            trouble: Some(("AgentSilent", text, false)),
        };
    };
    let sent = report.sending == Sending::Yes && report.held.as_ref() == Some(&operator.name);
    if let Some((reason, text)) = &outcome.fault {
        return Progress {
            name,
            sent: sent && outcome.operator.is_some(),
            trouble: Some((reason, text.clone(), true)),
        };
    }
    let said = assess(Some(&operator.name), report);
    let trouble = (said.ready == Some(false)).then_some((said.reason, said.message, false));
    Progress { name, sent, trouble }
}

/// The status of the Operator at the index `place`.
pub fn of_operator(
    (place, operator): (usize, &Wanted),
    wanted: &[Wanted],
    vehicles: &[(&str, Option<&RemoteIdReport>, &Outcome)],
    old: &[Condition],
    now: Timestamp,
) -> OperatorStatus {
    let mine = vehicles
        .iter()
        .filter(|(_, _, outcome)| outcome.selecting.contains(&place));
    let mut mine: Vec<Progress<'_>> = mine.map(|vehicle| progress(operator, *vehicle)).collect();
    mine.sort_by(|one, other| one.name.cmp(other.name));
    let rival = vehicles
        .iter()
        .filter(|(_, _, outcome)| outcome.selecting.len() > 1 && outcome.selecting.contains(&place))
        .min_by_key(|(name, _, _)| *name);
    let rival = rival.map(|(name, _, outcome)| {
        let others = outcome.selecting.iter().filter(|other| **other != place);
        let others: Vec<&str> = others.filter_map(|other| wanted.get(*other)).map(|of| of.name.as_str()).collect();
        format!(
            "Vehicle {name} is also selected by Operator {}, so none of them is sent to it; change spec.vehicleSelector, or delete all but one",
            others.join(" and ")
        )
    });
    let (selected, sent) = (mine.len(), mine.iter().filter(|vehicle| vehicle.sent).count());
    let of = |kind, value, reason: &str, message: &str| {
        condition(old, kind, Some(value), reason, message, operator.generation, now)
    };
    let fault = operator.operator.as_ref().err();
    let accepted = match (fault, &rival) {
        (Some(fault), _) => of("Accepted", false, "Invalid", fault),
        (None, Some(rival)) => of("Accepted", false, "SeveralOperators", rival),
        (None, None) => of(
            "Accepted",
            true,
            "Accepted",
            "no other Operator selects a vehicle of its own",
        ),
    };
    let words = |vehicle: &Progress<'_>| {
        let trouble = vehicle.trouble.as_ref();
        trouble.map(|(_, text, _)| format!("Vehicle {}: {text}", vehicle.name))
    };
    let unsent = mine.iter().find(|vehicle| !vehicle.sent);
    let says = match fault {
        Some(fault) => of("Sent", false, "Invalid", fault),
        None if selected == 0 => of(
            "Sent",
            false,
            "SelectsNone",
            "no vehicle has the labels of spec.vehicleSelector; see `kubectl get vehicles --show-labels`",
        ),
        None => match unsent {
            None => of(
                "Sent",
                true,
                "OnAll",
                &format!("sent to the autopilots of all {selected}"),
            ),
            Some(unsent) => {
                let words = words(unsent).unwrap_or_default();
                of(
                    "Sent",
                    false,
                    "NotOnAll",
                    &format!("sent to {sent} of {selected}; {words}"),
                )
            }
        },
    };
    let stuck = mine
        .iter()
        .find(|vehicle| matches!(vehicle.trouble, Some((_, _, true))));
    let stuck = fault.cloned().or(rival).or_else(|| stuck.and_then(words));
    let mut conditions = vec![accepted, says];
    // As kstatus has it: present only while true.
    if let Some(stuck) = stuck {
        conditions.push(of("Stalled", true, "NeedsAttention", &stuck));
    } else if let Some(words) = unsent.and_then(words) {
        conditions.push(of("Reconciling", true, "NotOnAll", &words));
    }
    let unsettled = mine.iter().filter_map(|vehicle| {
        let (reason, text, _) = vehicle.trouble.as_ref()?;
        Some(UnsettledVehicle {
            name: vehicle.name.to_owned(),
            reason: (*reason).to_owned(),
            message: text.clone(),
        })
    });
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    OperatorStatus {
        observed_generation: Some(operator.generation),
        selected: Some(number(selected)),
        sent: Some(number(sent)),
        unsettled: unsettled.take(MAX_NAMED).collect(),
        conditions,
    }
}

#[cfg(test)]
mod tests;
