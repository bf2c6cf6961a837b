//! A coordinator's objects of its authority, as the tests write and read them.

use crate::place::SYSTEM;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use testkit::ControlPlane;
use trust::authorities::{LIFE, OVERLAP};
use trust::{Authorities, Bundle, Validity};

pub const DAY: Duration = Duration::from_secs(86_400);

fn read(plane: &ControlPlane, what: &str) -> Option<Value> {
    plane
        .kubectl()
        .read(&format!("/api/v1/namespaces/{SYSTEM}/{what}"))
        .ok()
}

pub fn secret(plane: &ControlPlane) -> Option<Vec<u8>> {
    let secret = read(plane, "secrets/skein-ca")?;
    STANDARD.decode(secret["data"]["authorities.pem"].as_str()?).ok()
}

pub fn authorities(plane: &ControlPlane) -> Authorities {
    Authorities::from_pem(&String::from_utf8(secret(plane).unwrap()).unwrap()).unwrap()
}

pub fn write_secret(plane: &ControlPlane, text: impl AsRef<[u8]>) {
    let data = BTreeMap::from([("authorities.pem".to_owned(), STANDARD.encode(text))]);
    write(plane, "Secret", "skein-ca", &data);
}

pub fn write_list(plane: &ControlPlane, list: &trust::Enrolled) {
    write(plane, "ConfigMap", "skein-enrolled", &list.to_map());
}

fn write(plane: &ControlPlane, kind: &str, name: &str, data: &BTreeMap<String, String>) {
    let object =
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": SYSTEM}, "data": data});
    // Replaced at once: a coordinator would make a deleted one again.
    let text = object.to_string();
    let kubectl = plane.kubectl();
    let replaced = kubectl.run_with(["replace", "-f", "-"], &text);
    replaced
        .or_else(|_| kubectl.run_with(["create", "-f", "-"], &text))
        .unwrap();
}

pub fn remove(plane: &ControlPlane, kind: &str, name: &str) {
    let gone = ["delete", kind, name, "-n", SYSTEM, "--ignore-not-found"];
    plane.kubectl().run(gone).unwrap();
}

pub fn forget(plane: &ControlPlane) {
    let all = ["secret/skein-ca", "configmap/skein-ca", "configmap/skein-enrolled"];
    let gone = ["delete", "-n", SYSTEM, "--ignore-not-found"];
    plane.kubectl().run(gone.into_iter().chain(all)).unwrap();
}

pub fn bundle(plane: &ControlPlane) -> Option<Bundle> {
    let map = read(plane, "configmaps/skein-ca")?;
    Bundle::from_pem(map["data"]["ca.crt"].as_str()?).ok()
}

pub fn one(not_before: SystemTime, not_after: SystemTime) -> Authorities {
    Authorities::of(Validity { not_before, not_after }).unwrap()
}

/// Made long ago, it signs for two minutes more, so its certificates are made again, and all is checked, every ten
/// seconds.
pub fn ending(now: SystemTime) -> Authorities {
    one(now - 4 * 365 * DAY, now + Duration::from_secs(120))
}

pub fn coming(now: SystemTime, after: Duration) -> Authorities {
    let made = now + after - OVERLAP;
    one(made, made + LIFE)
}

pub fn both(first: &Authorities, second: &Authorities) -> Authorities {
    Authorities::from_pem(&format!("{}{}", first.to_pem(), second.to_pem())).unwrap()
}
