//! A vehicle's entry in the document, with course and speed over ground from two positions.
//!
//! Ages are points in time, and only of old values: the entry of a vehicle without news does not change. Must not:
//! place a vehicle where it was not reported.

use crate::live::clock::Now;
use crate::top::map::{Places, place};
use crate::vehicle::Vehicle;
use model::geo;
use model::units::Wgs84;
use proto::v1;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::time::Duration;

const OLD_AFTER: Duration = Duration::from_secs(3);

const SPEED_POSITIONS_APART_S: std::ops::RangeInclusive<f64> = 0.15..=5.0;

/// A slower vehicle has no course.
const MIN_SPEED_M_S: f64 = 0.5;

#[derive(Debug, Clone, Default)]
struct Track {
    /// On the agent's clock.
    made_ms: u64,
    made_at_ms: i64,
    /// With its time on the agent's clock.
    position: Option<(u64, Wgs84)>,
    /// Degrees from north.
    course: Option<f64>,
    speed: Option<f64>,
}

/// Field by which `moves` names a vehicle.
pub(super) const NUMBER: &str = "number";

#[derive(Debug, Default)]
pub struct Vehicles {
    tracks: HashMap<String, (u64, Track)>,
    /// Last one assigned; none is assigned twice.
    numbers: u64,
}

/// The Drone, or the node of a vehicle without one.
pub fn id(vehicle: &v1::Vehicle) -> String {
    if vehicle.drone_name.is_empty() {
        format!("node/{}", vehicle.node)
    } else {
        format!("drone/{}/{}", vehicle.drone_namespace, vehicle.drone_name)
    }
}

impl Vehicles {
    pub fn entries(&mut self, vehicles: &[&v1::Vehicle], received: Duration, now: Now) -> Map<String, Value> {
        let mut tracks = HashMap::with_capacity(vehicles.len());
        let mut entries = Map::new();
        for vehicle in vehicles {
            let id = id(vehicle);
            let (number, mut track) = self.tracks.remove(&id).unwrap_or_else(|| {
                self.numbers += 1;
                (self.numbers, Track::default())
            });
            track.follow(vehicle, received, now);
            let mut entry = entry(vehicle, &track, now);
            entry.insert(NUMBER.to_owned(), json!(number));
            entries.insert(id.clone(), Value::Object(entry));
            tracks.insert(id, (number, track));
        }
        self.tracks = tracks;
        entries
    }
}

impl Track {
    fn follow(&mut self, vehicle: &v1::Vehicle, received: Duration, now: Now) {
        let Some(report) = &vehicle.report else {
            *self = Self::default();
            return;
        };
        // A restarted agent has another clock.
        if report.made_ms < self.made_ms {
            *self = Self::default();
        }
        if report.made_ms != self.made_ms || self.made_at_ms == 0 {
            let age = now.since(received) + Duration::from_millis(vehicle.report_age_ms);
            (self.made_ms, self.made_at_ms) = (report.made_ms, now.utc.as_millisecond() - millis(age));
        }
        let position = report
            .position
            .as_ref()
            .and_then(|at| place(at.latitude_deg, at.longitude_deg));
        let (Some((latitude_deg, longitude_deg)), Some(at_ms)) = (position, report.position_ms) else {
            (self.position, self.course, self.speed) = (None, None, None);
            return;
        };
        let at = Wgs84 {
            latitude_deg,
            longitude_deg,
        };
        let Some((before_ms, before)) = self.position else {
            self.position = Some((at_ms, at));
            return;
        };
        if at_ms == before_ms {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a few seconds")]
        let seconds = at_ms.saturating_sub(before_ms) as f64 / 1000.0;
        if at_ms > before_ms && seconds < *SPEED_POSITIONS_APART_S.start() {
            return;
        }
        self.position = Some((at_ms, at));
        if !SPEED_POSITIONS_APART_S.contains(&seconds) {
            (self.course, self.speed) = (None, None);
            return;
        }
        let (east, north) = geo::offset(before, at);
        let speed = east.hypot(north) / seconds;
        self.speed = Some(speed);
        self.course = (speed >= MIN_SPEED_M_S).then(|| east.atan2(north).to_degrees().rem_euclid(360.0));
    }

    /// When the agent received a value, by wall clock, if that is old. `then`: by the agent's clock.
    fn old(&self, then: Option<u64>, now: Now) -> Option<i64> {
        let before = self.made_ms.saturating_sub(then.unwrap_or(self.made_ms));
        let at = self.made_at_ms - millis(Duration::from_millis(before));
        (now.utc.as_millisecond() - at > millis(OLD_AFTER)).then_some(at)
    }
}

fn entry(vehicle: &v1::Vehicle, track: &Track, now: Now) -> Map<String, Value> {
    let shown = Vehicle::from(vehicle.clone());
    let mut entry = Map::new();
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            entry.insert(name.to_owned(), value);
        }
    };
    let (command, command_text) = in_command(&shown);
    set("title", json!(shown.title()));
    set("namespace", json!(shown.namespace));
    set("drone", json!(shown.drone));
    set("swarm", json!(shown.swarm));
    set("node", json!(shown.node));
    set("phase", json!(shown.phase));
    set("message", json!(shown.message));
    let waits = !shown.drone.is_empty()
        && shown.flying != Some(true)
        && matches!(shown.phase.as_str(), "Pending" | "Preparing");
    set("waiting", json!(waits));
    set("flying", json!(shown.flying));
    set("truth", json!(shown.truth));
    set("activity", json!(shown.activity));
    set("mode", json!(shown.mode));
    set("ready", json!(shown.ready));
    if !shown.reasons.is_empty() {
        set("reasons", json!(shown.reasons));
    }
    set("command", json!(command));
    set("commandText", json!(command_text));
    set("autopilot", json!(shown.autopilot));
    set("firmware", json!(shown.firmware));
    set("systemId", json!(shown.system_id));
    set("batteryPercent", json!(shown.battery_percent));
    set("batteryVolts", json!(shown.battery_volts.map(tenths)));
    if let Some(report) = &vehicle.report {
        let at = report.position.as_ref();
        let places = Places::of(vehicle);
        if let (Some(at), Some((latitude, longitude))) = (at, places.at) {
            set("latitudeDegrees", json!(fine(latitude)));
            set("longitudeDegrees", json!(fine(longitude)));
            set("altitudeAmslMeters", json!(tenths(at.altitude_amsl_m)));
            set("altitudeAboveHomeMeters", json!(tenths(at.altitude_above_home_m)));
            set("positionOldSinceAtMs", json!(track.old(report.position_ms, now)));
        }
        set("courseDegrees", json!(track.course.and_then(whole_degrees)));
        let heading = places.at.and(report.heading_deg);
        set("headingDegrees", json!(heading.and_then(whole_degrees)));
        set("speedMetersPerSecond", json!(track.speed.map(tenths)));
        if shown.battery_percent.is_some() || shown.battery_volts.is_some() {
            set("batteryOldSinceAtMs", json!(track.old(report.battery_ms, now)));
        }
        set(
            "home",
            json!(
                places
                    .home
                    .map(|(latitude, longitude)| [fine(longitude), fine(latitude)])
            ),
        );
        let order = report.route.as_ref().and_then(|route| route.order.as_ref());
        let route: Vec<[f64; 3]> = order
            .iter()
            .flat_map(|order| &order.places)
            .filter_map(|at| {
                let (latitude, longitude) = place(at.latitude_deg, at.longitude_deg)?;
                Some([fine(longitude), fine(latitude), tenths(at.altitude_amsl_m)])
            })
            .collect();
        if !route.is_empty() {
            set("route", json!(route));
        }
    }
    set("airspace", json!(vehicle.airspace.as_ref().map(airspace)));
    let late = vehicle.report.as_ref().map(|_| track.old(None, now));
    let link = match late {
        _ if shown.node.is_empty() => None,
        _ if !shown.agent_connected => Some("Lost"),
        Some(None) => Some("Live"),
        Some(Some(_)) | None => Some("Late"),
    };
    set("link", json!(link));
    if link.is_some_and(|link| link != "Live") {
        let since = vehicle.report.as_ref().map(|_| track.made_at_ms);
        set("linkOldSinceAtMs", json!(since));
    }
    entry
}

fn airspace(owned: &v1::Airspace) -> Value {
    if owned.everywhere {
        return json!({"everywhere": true});
    }
    let piece = |piece: &v1::AirspacePiece| {
        let core: Option<Vec<[f64; 2]>> = (piece.core.iter())
            .map(|at| place(at.latitude_deg, at.longitude_deg))
            .map(|at| at.map(|(latitude, longitude)| [fine(longitude), fine(latitude)]))
            .collect();
        let numbers = [piece.radius_m, piece.floor_amsl_m, piece.ceiling_amsl_m];
        let core = core.filter(|core| !core.is_empty() && numbers.iter().all(|number| number.is_finite()))?;
        let [radius, floor, ceiling] = numbers.map(tenths);
        Some(json!({
            "core": core,
            "radiusMeters": radius,
            "floorAmslMeters": floor,
            "ceilingAmslMeters": ceiling,
            "onGround": piece.on_ground,
        }))
    };
    let pieces: Vec<Value> = owned.pieces.iter().filter_map(piece).collect();
    json!({"pieces": pieces, "notShown": owned.not_shown})
}

/// From 0 to 359.
fn whole_degrees(degrees: f64) -> Option<f64> {
    degrees.is_finite().then(|| degrees.round().rem_euclid(360.0))
}

fn in_command(vehicle: &Vehicle) -> (&'static str, &'static str) {
    if vehicle.drone.is_empty() {
        return ("Nobody", "serves no Drone; Skein sends nothing that moves it");
    }
    if vehicle.node.is_empty() {
        return ("Nobody", "no vehicle yet");
    }
    match vehicle.activity.as_deref() {
        None | Some("Unspecified" | "Waiting") => ("Unknown", "nothing is known of it now"),
        Some("HandsOffOtherMode") => ("Other", "somebody else has changed its mode; Skein sends nothing"),
        Some("HandsOffArmedByOther") => ("Other", "somebody else has armed it; Skein sends nothing"),
        Some("HandsOffTakenOver") => ("Other", "somebody else took over; Skein waits for resume"),
        Some("HandsOffAutopilotFailsafe") => ("AutopilotFailsafe", "its autopilot executes a failsafe of its own"),
        Some("HandsOffAnotherAirframe") => ("Nobody", "another airframe than the one that serves the Drone"),
        Some("HandsOffFlightOver") => ("Nobody", "its flight is over; ground and release it to fly again"),
        Some("HandsOffKilled") => ("Nobody", "its motors were stopped; it stays on the ground"),
        Some(_) => ("Skein", "Skein commands it"),
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// To a centimeter.
pub(super) fn fine(degrees: f64) -> f64 {
    (degrees * 1e7).round() / 1e7
}

pub(super) fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vehicle::tests::{holding, pending};

    fn at(seconds: f64) -> Now {
        let since = Duration::from_secs_f64(seconds);
        Now {
            elapsed: Duration::from_secs(1000) + since,
            utc: jiff::Timestamp::from_millisecond(1_764_000_000_000 + millis(since)).unwrap(),
        }
    }

    fn moved(name: &str, made_ms: u64, north: f64) -> v1::Vehicle {
        let mut vehicle = holding(name);
        vehicle.report_age_ms = 0;
        let report = vehicle.report.as_mut().unwrap();
        (report.made_ms, report.position_ms, report.battery_ms) = (made_ms, Some(made_ms), Some(made_ms));
        let position = report.position.as_mut().unwrap();
        let there = geo::shifted(
            Wgs84 {
                latitude_deg: position.latitude_deg,
                longitude_deg: position.longitude_deg,
            },
            0.0,
            north,
        );
        position.latitude_deg = there.latitude_deg;
        vehicle
    }

    fn entry(vehicles: &mut Vehicles, vehicle: &v1::Vehicle, received: f64, now: f64) -> Value {
        let mut entries = vehicles.entries(&[vehicle], at(received).elapsed, at(now));
        entries.remove(&id(vehicle)).unwrap()
    }

    #[test]
    fn course_and_speed_are_of_two_positions_and_of_the_clock_on_board() {
        let mut vehicles = Vehicles::default();
        let first = entry(&mut vehicles, &moved("a", 5_000, 0.0), 0.0, 0.1);
        assert_eq!(
            (&first["speedMetersPerSecond"], &first["link"]),
            (&Value::Null, &json!("Live"))
        );
        let second = entry(&mut vehicles, &moved("a", 7_000, 6.0), 3.5, 3.6);
        assert_eq!(
            (&second["speedMetersPerSecond"], &second["courseDegrees"]),
            (&json!(3.0), &json!(0.0))
        );
        let back = entry(&mut vehicles, &moved("a", 8_000, 0.0), 4.5, 4.6);
        assert_eq!(back["courseDegrees"], 180.0);
        let slow = entry(&mut vehicles, &moved("a", 9_000, 0.0), 5.5, 5.6);
        assert_eq!(
            (&slow["speedMetersPerSecond"], &slow["courseDegrees"]),
            (&json!(0.0), &Value::Null)
        );
        let again = entry(&mut vehicles, &moved("a", 100, 500.0), 6.5, 6.6);
        assert_eq!(again["speedMetersPerSecond"], Value::Null);
    }

    #[test]
    fn an_entry_changes_only_with_what_is_known_and_when_that_gets_old() {
        let mut vehicles = Vehicles::default();
        let vehicle = moved("a", 5_000, 0.0);
        let first = entry(&mut vehicles, &vehicle, 0.0, 0.1);
        assert_eq!(entry(&mut vehicles, &vehicle, 0.0, 2.0), first);
        let late = entry(&mut vehicles, &vehicle, 0.0, 3.5);
        assert_eq!((&late["link"], &late["flying"]), (&json!("Late"), &json!(true)));
        assert_eq!(late["positionOldSinceAtMs"], late["linkOldSinceAtMs"]);
        assert_eq!(
            entry(&mut vehicles, &vehicle, 0.0, 9.0),
            late,
            "it is as old as it was then"
        );
        let fresh = entry(&mut vehicles, &moved("a", 14_000, 0.0), 9.0, 9.1);
        assert_eq!(fresh["linkOldSinceAtMs"], Value::Null);
    }

    #[test]
    fn a_vehicle_keeps_its_number_and_none_is_given_twice() {
        let mut vehicles = Vehicles::default();
        let mut numbers = |names: &[&str]| -> Vec<Value> {
            let shown: Vec<v1::Vehicle> = names.iter().map(|name| moved(name, 5_000, 0.0)).collect();
            let entries = vehicles.entries(&shown.iter().collect::<Vec<_>>(), at(0.0).elapsed, at(0.1));
            shown
                .iter()
                .map(|vehicle| entries[&id(vehicle)][NUMBER].clone())
                .collect()
        };
        assert_eq!(numbers(&["a", "b"]), [json!(1), json!(2)]);
        assert_eq!(numbers(&["c", "b"]), [json!(3), json!(2)]);
        assert_eq!(numbers(&["a"]), [json!(4)], "it was gone");
    }

    #[test]
    fn what_nobody_reported_is_absent_and_who_waits_says_why() {
        let mut vehicles = Vehicles::default();
        let waiting = entry(&mut vehicles, &pending("b"), 0.0, 0.0);
        assert_eq!((&waiting["waiting"], &waiting["flying"]), (&json!(true), &json!(false)));
        assert!(waiting["message"].as_str().unwrap().contains("no vehicle is free"));
        assert!(
            waiting.get("latitudeDegrees").is_none() && waiting.get("link").is_none(),
            "{waiting}"
        );
        let mut nowhere = moved("c", 1, 0.0);
        nowhere.report.as_mut().unwrap().position.as_mut().unwrap().latitude_deg = f64::NAN;
        assert!(
            entry(&mut vehicles, &nowhere, 0.0, 0.0)
                .get("latitudeDegrees")
                .is_none()
        );
    }

    #[test]
    fn where_it_looks_is_what_it_reports_and_not_where_it_flies() {
        let mut vehicles = Vehicles::default();
        let looks = |made_ms, north, heading_deg| {
            let mut vehicle = moved("a", made_ms, north);
            vehicle.report.as_mut().unwrap().heading_deg = heading_deg;
            vehicle
        };
        entry(&mut vehicles, &looks(5_000, 0.0, Some(90.0)), 0.0, 0.1);
        let sideways = entry(&mut vehicles, &looks(6_000, 3.0, Some(359.7)), 1.0, 1.1);
        assert_eq!(
            (&sideways["headingDegrees"], &sideways["courseDegrees"]),
            (&json!(0.0), &json!(0.0))
        );
        let east = entry(&mut vehicles, &looks(7_000, 6.0, Some(90.2)), 2.0, 2.1);
        assert_eq!(
            (&east["headingDegrees"], &east["courseDegrees"]),
            (&json!(90.0), &json!(0.0))
        );
        for unknown in [None, Some(f64::NAN)] {
            let unknown = entry(&mut vehicles, &looks(8_000, 9.0, unknown), 3.0, 3.1);
            assert_eq!(unknown["headingDegrees"], Value::Null);
        }
    }

    #[test]
    fn airspace_is_what_the_coordinator_says_and_nothing_that_is_no_place() {
        let at = |latitude_deg, longitude_deg| v1::GroundPlace {
            latitude_deg,
            longitude_deg,
        };
        let piece = v1::AirspacePiece {
            core: vec![at(47.0, 8.0), at(47.1, 8.0)],
            radius_m: 5.04,
            floor_amsl_m: 480.0,
            ceiling_amsl_m: 510.0,
            on_ground: false,
        };
        let nowhere = v1::AirspacePiece {
            core: vec![at(f64::NAN, 8.0)],
            ..piece.clone()
        };
        let mut vehicles = Vehicles::default();
        let mut shown = |airspace| {
            let vehicle = v1::Vehicle {
                airspace,
                ..moved("a", 5_000, 0.0)
            };
            entry(&mut vehicles, &vehicle, 0.0, 0.1)["airspace"].clone()
        };
        assert_eq!(shown(None), Value::Null);
        let everywhere = v1::Airspace {
            everywhere: true,
            ..v1::Airspace::default()
        };
        assert_eq!(shown(Some(everywhere)), json!({"everywhere": true}));
        let some = v1::Airspace {
            pieces: vec![piece, nowhere],
            not_shown: 7,
            ..v1::Airspace::default()
        };
        let core = json!([[8.0, 47.0], [8.0, 47.1]]);
        let piece = json!({
            "core": core, "radiusMeters": 5.0, "floorAmslMeters": 480.0, "ceilingAmslMeters": 510.0, "onGround": false
        });
        assert_eq!(shown(Some(some)), json!({"pieces": [piece], "notShown": 7}));
    }

    #[test]
    fn who_is_in_command_is_by_what_the_agent_does() {
        let of = |activity: v1::Activity| {
            let mut vehicle = holding("a");
            vehicle.report.as_mut().unwrap().activity = activity.into();
            in_command(&Vehicle::from(vehicle)).0
        };
        assert_eq!(of(v1::Activity::Holding), "Skein");
        assert_eq!(of(v1::Activity::HandsOffTakenOver), "Other");
        assert_eq!(of(v1::Activity::HandsOffAutopilotFailsafe), "AutopilotFailsafe");
        assert_eq!(of(v1::Activity::Waiting), "Unknown");
        let idle = v1::Vehicle {
            drone_name: String::new(),
            ..holding("a")
        };
        assert_eq!(in_command(&Vehicle::from(idle)).0, "Nobody");
    }
}
