//! Rules of Nodes: taints, addresses, quantities of a resource, and fields that are set once.
//!
//! Owns: those. Must not: know what a Node's agent does with them.

use super::{list, push_invalid, quantity, text};
use crate::refusal::Cause;
use crate::schema::{cause, go, metadata::names};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::net::IpAddr;

const POD_CIDRS: &str = "spec.podCIDRs";

/// What is wrong with a Node; `old` is its previous state, on an update.
pub(super) fn check(node: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    taints(node, causes);
    pod_cidrs(node, causes);
    if let Some(old) = old {
        addresses(node, causes);
        is_bound(node, old, causes);
    }
    // Allocatable is the whole capacity, unless it is set.
    let capacity = amounts(node, "capacity");
    resources("capacity", capacity, causes);
    resources("allocatable", amounts(node, "allocatable").or(capacity), causes);
}

/// The API reports `metadata.taints`, though they are in the spec.
fn taints(node: &Value, causes: &mut Vec<Cause>) {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let taints = list(node, "/spec/taints");
    for (index, taint) in taints.iter().enumerate() {
        let field = format!("metadata.taints[{index}]");
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        push_invalid(causes, &format!("{field}.key"), key, names::label_key(key));
        push_invalid(causes, &format!("{field}.value"), value, names::label_value(value));
        match effect {
            "" => causes.push(cause::required(format!("{field}.effect"), "")),
            _ if !EFFECTS.contains(&effect) => {
                let supported = EFFECTS.map(str::to_owned);
                causes.push(cause::not_supported(
                    format!("{field}.effect"),
                    &effect.into(),
                    &supported,
                ));
            }
            _ => {}
        }
        let before = taints.iter().take(index);
        if before
            .filter(|other| text(other, "key") == key && text(other, "effect") == effect)
            .count()
            > 0
        {
            let added = taint.get("timeAdded").unwrap_or(&Value::Null);
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}",
                go::json(&key.into()),
                go::json(&value.into()),
                go::json(&effect.into()),
                go::json(added)
            );
            let detail = "taints must be unique by key and effect pair";
            causes.push(cause::duplicate_shown(field, &shown, detail));
            return;
        }
    }
}

fn addresses(node: &Value, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for (index, address) in list(node, "/status/addresses").iter().enumerate() {
        let (type_, value) = (text(address, "type"), text(address, "address"));
        if !seen.insert((type_, value)) {
            let (type_, value) = (go::json(&type_.into()), go::json(&value.into()));
            let shown = format!("{{\"Type\":{type_},\"Address\":{value}}}");
            let field = format!("status.addresses[{index}]");
            causes.push(cause::duplicate_shown(field, &shown, ""));
        }
    }
}

/// The networks of a Node: the list, or else the single one that older clients set.
fn networks(node: &Value) -> Vec<&str> {
    let networks = list(node, "/spec/podCIDRs")
        .iter()
        .filter_map(Value::as_str)
        .collect::<Vec<_>>();
    let one = node
        .pointer("/spec/podCIDR")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match networks.first() {
        Some(first) if one.is_empty() || one == *first => networks,
        _ => Some(one).into_iter().filter(|one| !one.is_empty()).collect(),
    }
}

fn pod_cidrs(node: &Value, causes: &mut Vec<Cause>) {
    let networks = networks(node);
    let mut families = [0, 0];
    for (index, text) in networks.iter().enumerate() {
        let field = format!("{POD_CIDRS}[{index}]");
        let Some((address, length)) = network(text) else {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            push_invalid(causes, &field, text, vec![detail.to_owned()]);
            continue;
        };
        if has_more_bits(address, length) {
            let detail = "must not have bits set beyond the prefix length";
            push_invalid(causes, &field, text, vec![detail.to_owned()]);
        }
        families[usize::from(address.is_ipv6())] += 1;
    }
    if families.iter().any(|count| *count > 1) {
        let detail = "may specify no more than one CIDR for each IP family";
        causes.push(cause::invalid(POD_CIDRS, &networks.into(), detail));
    }
}

fn network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let plain = length.bytes().all(|each| each.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
    let length: u32 = length.parse().ok().filter(|_| plain)?;
    let most = if address.is_ipv6() { 128 } else { 32 };
    (length <= most).then_some((address, length))
}

fn has_more_bits(address: IpAddr, length: u32) -> bool {
    match address {
        IpAddr::V4(address) => address.to_bits().checked_shl(length).is_some_and(|rest| rest != 0),
        IpAddr::V6(address) => address.to_bits().checked_shl(length).is_some_and(|rest| rest != 0),
    }
}

/// Networks and provider are set once. A new Node has none, so the client that creates it need not know them.
fn is_bound(node: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let before = networks(old);
    if !before.is_empty() && before != networks(node) {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        causes.push(cause::forbidden(POD_CIDRS, detail));
    }
    let said = |object: &'_ Value, pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let provider = said(old, "/spec/providerID");
    if !provider.is_empty() && provider != said(node, "/spec/providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        causes.push(cause::forbidden("spec.providerID", detail));
    }
    if said(old, "/spec/externalID") != said(node, "/spec/externalID") {
        causes.push(cause::forbidden("spec.externalID", "may not be updated"));
    }
}

fn amounts<'a>(node: &'a Value, key: &str) -> Option<&'a Map<String, Value>> {
    let amounts = node.get("status")?.get(key)?.as_object()?;
    (!amounts.is_empty()).then_some(amounts)
}

fn resources(key: &str, amounts: Option<&Map<String, Value>>, causes: &mut Vec<Cause>) {
    for (name, amount) in amounts.into_iter().flatten() {
        let Some(amount) = amount.as_str().and_then(quantity::parse) else {
            continue;
        };
        let field = format!("status.{key}.{name}");
        if amount.is_negative() {
            let detail = "must be greater than or equal to 0";
            causes.push(cause::invalid(&*field, &amount.to_string().into(), detail));
        }
        if is_counted(name) && !amount.is_whole() {
            causes.push(cause::invalid(
                &*field,
                &amount.to_string().into(),
                "must be an integer",
            ));
        }
    }
}

/// Whether a resource has only whole units: resources not defined by Kubernetes, and some of its own.
fn is_counted(name: &str) -> bool {
    const COUNTED: [&str; 9] = [
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    ];
    let of_others = name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.");
    of_others || COUNTED.contains(&name)
}
