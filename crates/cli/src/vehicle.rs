//! One vehicle for people and programs: stale values are unknown, and texts from the air cannot control a terminal.

use crate::args::Filter;
use proto::v1;
use serde::Serialize;
use std::time::Duration;

/// Reports come at least once a second; an older one says nothing about flight any more.
const STALE_AFTER: Duration = Duration::from_secs(5);

/// Older figures are shown with their age.
const OLD_AFTER: Duration = Duration::from_secs(3);

/// A Drone with its vehicle, or the idle vehicle of a node. Fields are absent from JSON while unknown, except `flying`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vehicle {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub drone: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub swarm: String,
    /// Empty while the Drone is pending.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// Idle for a vehicle without a Drone.
    pub phase: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// By its own autopilot's account; `None` (null) while unknown.
    pub flying: Option<bool>,
    /// By its own account, such as `InAir` or `UnknownLinkLost`; `NoVehicle` while the Drone is pending.
    pub truth: String,
    pub agent_connected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_age_ms: Option<u64>,
    /// Activity of its agent, such as `Holding`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// By the autopilot's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Whether the autopilot's arming checks pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why it does not arm, in its own words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// `ArduPilot` or `PX4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autopilot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Unique id of the autopilot, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_uid: Option<String>,
    /// Since the autopilot reported its battery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_age_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_percent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub battery_volts: Option<f64>,
    /// Since the autopilot reported its position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position_age_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    /// WGS 84, north positive.
    pub latitude_degrees: f64,
    /// WGS 84, east positive.
    pub longitude_degrees: f64,
    pub altitude_amsl_meters: f64,
    pub altitude_above_home_meters: f64,
}

impl From<v1::Vehicle> for Vehicle {
    fn from(v: v1::Vehicle) -> Self {
        let mut shown = Self {
            namespace: printable(&v.drone_namespace),
            drone: printable(&v.drone_name),
            swarm: printable(&v.swarm),
            node: printable(&v.node),
            phase: printable(&v.phase),
            message: printable(&v.message),
            truth: "Unknown".into(),
            agent_connected: v.agent_connected,
            ..Self::default()
        };
        if shown.node.is_empty() {
            // Nothing flies without a vehicle.
            (shown.flying, shown.truth) = (Some(false), "NoVehicle".into());
        }
        let Some(report) = v.report else { return shown };
        shown.report_age_ms = Some(v.report_age_ms);
        let fresh = v.agent_connected && Duration::from_millis(v.report_age_ms) <= STALE_AFTER;
        if fresh {
            let truth = report.truth();
            shown.flying = flying(truth);
            shown.truth = enum_text(
                truth.as_str_name(),
                "FLIGHT_TRUTH_",
                v1::FlightTruth::try_from(report.truth).is_ok(),
                report.truth,
            );
            let activity = report.activity();
            shown.activity = Some(enum_text(
                activity.as_str_name(),
                "ACTIVITY_",
                v1::Activity::try_from(report.activity).is_ok(),
                report.activity,
            ));
            shown.mode = report.mode.as_deref().map(printable);
            shown.ready = report.ready;
        }
        shown.reasons = report.reasons.iter().map(|r| printable(&r.text)).collect();
        if let Some(identity) = report.identity {
            shown.autopilot = Some(match identity.autopilot() {
                v1::Autopilot::Ardupilot => "ArduPilot".into(),
                v1::Autopilot::Px4 => "PX4".into(),
                v1::Autopilot::Unspecified => "unknown".into(),
            });
            shown.system_id = Some(identity.system_id);
            shown.firmware = Some(printable(&identity.firmware)).filter(|f| !f.is_empty());
            shown.hardware_uid = Some(printable(&identity.hardware_uid)).filter(|uid| !uid.is_empty());
        }
        // A figure without its age is as old as its report, at least while the agent receives from its autopilot.
        let age = |received: Option<u64>| match received {
            Some(at) => Some(v.report_age_ms.saturating_add(report.made_ms.saturating_sub(at))),
            None => report.link_alive.then_some(v.report_age_ms),
        };
        if let Some(battery) = report.battery {
            shown.battery_age_ms = age(report.battery_ms);
            shown.battery_percent = battery.remaining_percent;
            shown.battery_volts = battery.volts.filter(|v| v.is_finite());
        }
        shown.position_age_ms = report.position.as_ref().and_then(|_| age(report.position_ms));
        shown.position = report.position.map(|p| Position {
            latitude_degrees: p.latitude_deg,
            longitude_degrees: p.longitude_deg,
            altitude_amsl_meters: p.altitude_amsl_m,
            altitude_above_home_meters: p.altitude_above_home_m,
        });
        shown
    }
}

impl Vehicle {
    /// The Drone with its namespace, or the node.
    pub fn title(&self) -> String {
        if self.drone.is_empty() {
            format!("node {}", self.node)
        } else {
            format!("{}/{}", self.namespace, self.drone)
        }
    }

    pub const fn flying_text(&self) -> &'static str {
        match self.flying {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        }
    }
}

/// An old figure gets its age; one of unknown age is not shown. `age`: milliseconds.
pub fn aged(figure: &str, age: Option<u64>) -> String {
    match age {
        None => "-".to_owned(),
        Some(ms) if Duration::from_millis(ms) <= OLD_AFTER => figure.to_owned(),
        Some(ms) => format!("{figure} ({} ago)", age_text(ms)),
    }
}

pub fn age_text(ms: u64) -> String {
    match ms / 1000 {
        0 => format!("{ms}ms"),
        s @ 1..=119 => format!("{s}s"),
        s @ 120..=7199 => format!("{}m", s / 60),
        s => format!("{}h", s / 3600),
    }
}

pub fn shown(vehicles: Vec<v1::Vehicle>, filter: &Filter) -> Vec<Vehicle> {
    let wanted = |v: &Vehicle| {
        filter.namespace.as_ref().is_none_or(|n| *n == v.namespace)
            && filter.swarm.as_ref().is_none_or(|s| *s == v.swarm)
    };
    vehicles.into_iter().map(Vehicle::from).filter(wanted).collect()
}

const fn flying(truth: v1::FlightTruth) -> Option<bool> {
    use v1::FlightTruth as T;
    match truth {
        T::Disarmed | T::ArmedOnGround => Some(false),
        T::TakingOff | T::InAir | T::Landing => Some(true),
        T::Unspecified
        | T::UnknownNeverHeard
        | T::UnknownLinkLost
        | T::UnknownLandedState
        | T::UnknownContradiction => None,
    }
}

/// `FLIGHT_TRUTH_IN_AIR` as `InAir`; the number of an unknown value.
fn enum_text(name: &str, prefix: &str, known: bool, number: i32) -> String {
    if !known {
        return format!("Unknown({number})");
    }
    let capital = |text: &str| {
        let (first, rest) = text.split_at(usize::from(!text.is_empty()));
        format!("{first}{}", rest.to_lowercase())
    };
    name.strip_prefix(prefix)
        .unwrap_or(name)
        .split('_')
        .map(capital)
        .collect()
}

/// Without control characters: an autopilot may have sent it over a radio.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn holding(name: &str) -> v1::Vehicle {
        v1::Vehicle {
            drone_namespace: "default".into(),
            drone_name: name.into(),
            swarm: "alpha".into(),
            node: format!("node-{name}"),
            phase: "Flying".into(),
            message: "flies as asked".into(),
            agent_connected: true,
            report_age_ms: 400,
            report: Some(v1::Report {
                link_alive: true,
                identity: Some(v1::Identity {
                    autopilot: v1::Autopilot::Px4.into(),
                    system_id: 7,
                    component_id: 1,
                    firmware: "1.17.0".into(),
                    hardware_uid: "00".repeat(8),
                }),
                truth: v1::FlightTruth::InAir.into(),
                mode: Some("AUTO.LOITER".into()),
                ready: Some(true),
                battery: Some(v1::Battery {
                    remaining_percent: Some(87),
                    volts: Some(15.9),
                }),
                position: Some(v1::Position {
                    latitude_deg: 47.397_742,
                    longitude_deg: 8.545_594,
                    altitude_amsl_m: 498.0,
                    altitude_above_home_m: 10.04,
                }),
                activity: v1::Activity::Holding.into(),
                ..v1::Report::default()
            }),
            ..v1::Vehicle::default()
        }
    }

    pub(crate) fn pending(name: &str) -> v1::Vehicle {
        v1::Vehicle {
            drone_namespace: "default".into(),
            drone_name: name.into(),
            swarm: "alpha".into(),
            phase: "Pending".into(),
            message: "no vehicle is free: of 4 drone nodes 4 serve other Drones".into(),
            ..v1::Vehicle::default()
        }
    }

    #[test]
    fn a_vehicle_flies_when_a_fresh_report_has_it_flying() {
        let shown = Vehicle::from(holding("a"));
        assert_eq!(
            (shown.flying, shown.truth.as_str(), shown.activity.as_deref()),
            (Some(true), "InAir", Some("Holding"))
        );
    }

    #[test]
    fn an_old_report_and_an_agent_that_is_gone_make_flight_unknown() {
        let old = Vehicle::from(v1::Vehicle {
            report_age_ms: 5001,
            ..holding("a")
        });
        let gone = Vehicle::from(v1::Vehicle {
            agent_connected: false,
            ..holding("a")
        });
        let never = Vehicle::from(v1::Vehicle {
            report: None,
            ..holding("a")
        });
        for shown in [old, gone, never] {
            assert_eq!(
                (shown.flying, shown.truth.as_str(), shown.mode),
                (None, "Unknown", None)
            );
        }
    }

    #[test]
    fn figures_of_a_silent_autopilot_are_as_old_as_they_are_and_not_as_its_report() {
        let mut deaf = holding("a");
        let report = deaf.report.as_mut().unwrap();
        report.link_alive = false;
        report.truth = v1::FlightTruth::UnknownLinkLost.into();
        (report.made_ms, report.battery_ms, report.position_ms) = (60_000, Some(58_000), Some(48_000));
        let shown = Vehicle::from(deaf.clone());
        assert_eq!(
            (shown.battery_age_ms, shown.position_age_ms),
            (Some(2_400), Some(12_400))
        );
        let report = deaf.report.as_mut().unwrap();
        (report.battery_ms, report.position_ms) = (None, None);
        let shown = Vehicle::from(deaf);
        assert_eq!(
            (shown.battery_age_ms, shown.position_age_ms),
            (None, None),
            "an agent of an earlier version"
        );
        let gone = Vehicle::from(v1::Vehicle {
            agent_connected: false,
            report_age_ms: 9_000_000,
            ..holding("a")
        });
        assert_eq!(gone.position_age_ms, Some(9_000_000));
        assert_eq!(aged("10.0m", gone.position_age_ms), "10.0m (2h ago)");
        assert_eq!(aged("10.0m", Some(3_000)), "10.0m");
        assert_eq!(aged("10.0m", Some(12_400)), "10.0m (12s ago)");
        assert_eq!(aged("10.0m", None), "-");
    }

    #[test]
    fn a_drone_without_a_vehicle_does_not_fly() {
        let shown = Vehicle::from(pending("a"));
        assert_eq!((shown.flying, shown.truth.as_str()), (Some(false), "NoVehicle"));
    }

    #[test]
    fn a_value_of_a_newer_coordinator_is_unknown_and_shown_by_its_number() {
        let mut message = holding("a");
        message.report.as_mut().unwrap().truth = 42;
        let shown = Vehicle::from(message);
        assert_eq!((shown.flying, shown.truth.as_str()), (None, "Unknown(42)"));
    }

    #[test]
    fn an_autopilot_cannot_play_tricks_on_the_terminal() {
        let mut message = holding("a");
        message.report.as_mut().unwrap().reasons = vec![v1::ArmingReason {
            text: "Compass\u{1b}[2J not\nhealthy".into(),
            ..v1::ArmingReason::default()
        }];
        assert_eq!(Vehicle::from(message).reasons, ["Compass [2J not healthy"]);
    }

    #[test]
    fn filters_keep_what_was_requested() {
        let other = v1::Vehicle {
            drone_namespace: "field".into(),
            swarm: "bravo".into(),
            ..holding("b")
        };
        let idle = v1::Vehicle {
            node: "spare".into(),
            phase: "Idle".into(),
            ..v1::Vehicle::default()
        };
        let all = vec![holding("a"), other, idle];
        let names = |filter: Filter| {
            shown(all.clone(), &filter)
                .iter()
                .map(Vehicle::title)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(Filter::default()), ["default/a", "field/b", "node spare"]);
        assert_eq!(
            names(Filter {
                namespace: Some("field".into()),
                ..Filter::default()
            }),
            ["field/b"]
        );
        assert_eq!(
            names(Filter {
                swarm: Some("alpha".into()),
                ..Filter::default()
            }),
            ["default/a"]
        );
    }
}
