//! Stations: vehicles that fly to places, and keep apart.

use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{
    ADSB_VEHICLE_DATA, AdsbAltitudeType, AdsbEmitterType, AdsbFlags, GLOBAL_POSITION_INT_DATA, MavMessage,
};
use model::geo::{offset, shifted};
use model::units::Wgs84;
use serde_json::{Value, json};
use testkit::autopilots::{HOME, Stack};

use crate::field::{Field, NODES, Setup};
use crate::figures::Figures;
use crate::modes::{HOLD, PILOTS};
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "station",
        "one vehicle flies to its station, to another past a killed agent and a killed coordinator, and home to land",
        station,
    )
    .short(),
    Scenario::new(
        "station-takeover",
        "a pilot takes over on the way and hands back: nothing is sent until `skein resume`, then another route from there",
        takeover,
    )
    .no_faster_than(2),
    Scenario::new(
        "heading-speed",
        "one vehicle flies at the speed that its station asks for, looks to where it asks, and turns where it holds",
        heading_speed,
    ),
    Scenario::new(
        "wind",
        "one vehicle holds its station in a wind of 9 m/s with gusts: Ready all the time, nothing sent, nothing written; how far it sways",
        wind,
    )
    .with(|_| Setup {
        ardupilot: vec![("SIM_WIND_SPD", 9.0), ("SIM_WIND_DIR", 250.0), ("SIM_WIND_TURB", 2.0)],
        ..Setup::default()
    })
    // PX4's own simulation has no wind.
    .on(&[Stack::ArduPilot]),
    Scenario::new(
        "swap",
        "two vehicles swap their stations and never come nearer than the separation",
        swap,
    )
    .with(|_| Setup {
        vehicles: 2,
        apart: 20.0,
        ..Setup::default()
    })
    .no_faster_than(2),
    Scenario::new(
        "over-pad",
        "a vehicle that holds over the ground of another makes room while that one takes off, and while it lands, and comes back",
        over_pad,
    )
    .with(|_| Setup {
        vehicles: 2,
        apart: 6.0,
        ..Setup::default()
    })
    .no_faster_than(2),
    Scenario::new(
        "traffic",
        "an aircraft that the autopilot receives: no vehicle is sent into its way, one that is on the way stops, and both go on when it has gone",
        traffic,
    )
    .with(|_| Setup {
        ardupilot: vec![("ADSB_TYPE", 1.0)],
        ..Setup::default()
    })
    // Its way until it can stop follows from its speed.
    .real_time(),
    Scenario::new(
        "bad-station",
        "a station outside the limits is refused with the reason, and its vehicle stays on the ground",
        bad_station,
    ),
    Scenario::new(
        "fenced-station",
        "a station outside of the autopilot's own fence: what the autopilot makes of it is reported, and another station is flown to",
        fenced_station,
    )
    .with(|_| Setup {
        ardupilot: vec![("FENCE_TYPE", 2.0), ("FENCE_RADIUS", 60.0), ("FENCE_ENABLE", 1.0)],
        px4: vec![("GF_MAX_HOR_DIST", 60.0), ("GF_ACTION", 3.0)],
        ..Setup::default()
    }),
];

/// Meters, over ground or in altitude: the coordinator's default.
const SEPARATION: f64 = 5.0;

const CENTER: Wgs84 = Wgs84 {
    latitude_deg: HOME[0],
    longitude_deg: HOME[1],
};

/// Meters east and north of the center, and above home.
pub(super) fn place(east: f64, north: f64, up: f64) -> Value {
    let at = shifted(CENTER, east, north);
    json!({"latitudeDegrees": at.latitude_deg, "longitudeDegrees": at.longitude_deg, "altitudeMeters": up})
}

/// Up is by the altitude above the sea: PX4 moves its home up and down by more than a meter in flight.
fn local(position: &GLOBAL_POSITION_INT_DATA) -> [f64; 3] {
    let at = Wgs84 {
        latitude_deg: f64::from(position.lat) / 1e7,
        longitude_deg: f64::from(position.lon) / 1e7,
    };
    let (east, north) = offset(CENTER, at);
    [east, north, f64::from(position.alt) / 1000.0 - HOME[2]]
}

pub(super) fn position(field: &Field, node: &str) -> anyhow::Result<[f64; 3]> {
    field.record(node).position().map(local).context("it has no position")
}

pub(super) fn drone(field: &Field, name: &str, node: &str, station: &Value) -> anyhow::Result<()> {
    let drone = json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": name},
        "spec": {"nodeName": node, "station": station},
    });
    field.kubectl().apply(&drone.to_string()).map(drop)
}

pub(super) fn send_to(field: &Field, name: &str, station: &Value) -> anyhow::Result<()> {
    let patch = json!({"spec": {"station": station}}).to_string();
    field
        .kubectl()
        .run(["patch", "drone", name, "--type=merge", "-p", &patch])
        .map(drop)
}

pub(super) fn wait_on_station(field: &Field, node: &str, [east, north, up]: [f64; 3]) -> anyhow::Result<()> {
    field.wait(&format!("{node} to be on station at {east} {north} {up}"), 150, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        let at = position(field, node)?;
        let off = (at[0] - east).hypot(at[1] - north);
        ensure!(
            off < 2.5 && (at[2] - up).abs() < 2.0,
            "it is at {at:?}: {}",
            condition(&drone, "Ready")
        );
        ensure!(is(&drone, "Ready"), "{}", condition(&drone, "Ready"));
        Ok(())
    })
}

fn wait_moving(field: &Field, node: &str) -> anyhow::Result<()> {
    let from = position(field, node)?;
    field.wait(&format!("{node} to move"), 60, || {
        let at = position(field, node)?;
        ensure!((at[0] - from[0]).hypot(at[1] - from[1]) > 8.0, "it is at {at:?}");
        Ok(())
    })
}

fn wait_looking(field: &Field, node: &str, degrees: f64) -> anyhow::Result<()> {
    field.wait(&format!("{node} to look to {degrees} degrees"), 30, || {
        let heading = field.record(node).position().context("it has no position")?.hdg;
        let heading = f64::from(heading) / 100.0;
        let off = (heading - degrees + 180.0).rem_euclid(360.0) - 180.0;
        ensure!(off.abs() < 11.0, "it looks to {heading}");
        Ok(())
    })
}

/// Meters per second over ground.
fn fastest(field: &Field, node: &str, since: u64) -> f64 {
    let record = field.record(node);
    let speeds = record.reported_since(since).filter_map(|(_, message)| match message {
        MavMessage::GLOBAL_POSITION_INT(p) => Some(f64::from(p.vx).hypot(f64::from(p.vy)) / 100.0),
        _ => None,
    });
    speeds.fold(0.0, f64::max)
}

fn heading_speed(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let node = NODES[0];
    let asks = |north: f64, heading: f64, speed: f64| {
        let mut station = place(30.0, north, 15.0);
        station["headingDegrees"] = json!(heading);
        station["speedMetersPerSecond"] = json!(speed);
        station
    };
    drone(field, "one", node, &asks(40.0, 200.0, 3.0))?;
    wait_on_station(field, node, [30.0, 40.0, 15.0])?;
    wait_looking(field, node, 200.0)?;
    let slow = fastest(field, node, 0);
    ensure!((2.0..3.6).contains(&slow), "asked for 3 m/s, its fastest was {slow:.1}");

    let since = now();
    send_to(field, "one", &json!({"headingDegrees": 20.0}))?;
    wait_looking(field, node, 20.0)?;
    figures.took("turned to the other side", since, now());
    let holds = now();
    field.pass(15, Duration::from_secs(5));
    let (sent, later) = {
        let record = field.record(node);
        (record.orders_since(since), record.orders_since(holds))
    };
    ensure!(
        sent.len() == 1 && later.is_empty(),
        "to turn, it was sent {sent:?}, then {later:?}"
    );

    let since = now();
    send_to(field, "one", &asks(-40.0, 20.0, 6.0))?;
    wait_on_station(field, node, [30.0, -40.0, 15.0])?;
    wait_looking(field, node, 20.0)?;
    let fast = fastest(field, node, since);
    ensure!((4.5..7.2).contains(&fast), "asked for 6 m/s, its fastest was {fast:.1}");
    figures.note(format!("at most {slow:.1} m/s of 3, {fast:.1} m/s of 6"));
    Ok(())
}

pub(super) fn status_writes(field: &Field, node: &str, since: u64) -> anyhow::Result<usize> {
    let seen = field.objects().of_since(node, since);
    let mut statuses: Vec<Value> = seen.iter().map(|(_, drone)| drone["status"].clone()).collect();
    statuses.dedup();
    let writes = statuses.len().saturating_sub(1);
    ensure!(
        (1..=2).contains(&writes),
        "for one movement the status of the Drone of {node} was written {writes} times: {statuses:?}"
    );
    Ok(writes)
}

fn station(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let node = NODES[0];
    let began = now();
    drone(field, "one", node, &place(30.0, 40.0, 15.0))?;
    wait_on_station(field, node, [30.0, 40.0, 15.0])?;
    figures.took("from the ground 50 m away", began, now());
    let sent = field.record(node).orders_since(began);
    let moves = sent.iter().filter(|order| *order == "DO_REPOSITION").count();
    ensure!(
        moves == 2,
        "across and down are two movements, and it was sent {sent:?}"
    );
    let holds = now();
    field.pass(15, Duration::from_secs(5));
    let sent = field.record(node).orders_since(holds);
    ensure!(sent.is_empty(), "on station, it was sent {sent:?}");
    let written = field.objects().of_since(node, holds);
    ensure!(written.is_empty(), "on station, its Drone was written: {written:?}");

    let since = now();
    send_to(field, "one", &place(-30.0, 40.0, 20.0))?;
    wait_moving(field, node)?;
    field.kill_agent(node);
    field.pass(6, Duration::from_secs(2));
    field.start_agent(node)?;
    wait_on_station(field, node, [-30.0, 40.0, 20.0])?;
    figures.took("60 m, its agent killed on the way", since, now());

    let since = now();
    send_to(field, "one", &place(-30.0, 0.0, 20.0))?;
    let asked = field.kubectl().json(["get", "drone", "one"])?["metadata"]["generation"].clone();
    field.wait("it to be Ready for its new station", 60, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        ensure!(ready["observedGeneration"] == asked && is(&drone, "Ready"), "{ready}");
        Ok(())
    })?;
    let writes = status_writes(field, node, since)?;
    figures.note(format!("{writes} writes of its status for 40 m"));

    let since = now();
    send_to(field, "one", &place(0.0, -40.0, 15.0))?;
    wait_moving(field, node)?;
    field.kill_coordinator();
    field.pass(6, Duration::from_secs(2));
    field.start_coordinator()?;
    wait_on_station(field, node, [0.0, -40.0, 15.0])?;
    figures.took("85 m, the coordinator killed on the way", since, now());
    let record = field.record(node);
    ensure!(record.flew_without_a_break_since(since), "it came down");
    ensure!(record.arms()? == 1, "it armed {} times", record.arms()?);
    drop(record);

    let since = now();
    field.kubectl().run(["delete", "drone", "one", "--wait=false"])?;
    field.wait_down(node)?;
    figures.took("home and down", since, now());
    let at = position(field, node)?;
    ensure!(at[0].hypot(at[1]) < 3.0, "it landed {at:?} from its home");
    field.wait("the Drone to be gone", 20, || {
        let left = field.kubectl().run(["get", "drones", "-o", "name"])?;
        ensure!(left.is_empty(), "{left}");
        Ok(())
    })
}

fn takeover(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let node = NODES[0];
    drone(field, "one", node, &place(0.0, 30.0, 15.0))?;
    wait_on_station(field, node, [0.0, 30.0, 15.0])?;
    send_to(field, "one", &place(0.0, -60.0, 15.0))?;
    wait_moving(field, node)?;
    let since = now();
    field.vehicle(node).pilot.mode(PILOTS.0, PILOTS.1)?;
    field.wait("the Drone to be Interrupted", 0, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        ensure!(drone["status"]["phase"] == "Interrupted", "{}", drone["status"]);
        Ok(())
    })?;
    field.pass(3, Duration::from_secs(3));
    field.vehicle(node).pilot.mode(HOLD.0, HOLD.1)?;
    field.pass(3, Duration::from_secs(3));
    let sent = field.record(node).orders_since(since);
    ensure!(sent.is_empty(), "in the pilot's hands it was sent {sent:?}");
    let resumed = now();
    field.skein(&["resume", "one"])?;
    wait_on_station(field, node, [0.0, -60.0, 15.0])?;
    figures.took("on station after the resume", resumed, now());
    let record = field.record(node);
    ensure!(record.arms()? == 1, "it armed {} times", record.arms()?);
    Ok(())
}

/// Times, and east, north and up in meters.
pub(super) type Track = Vec<(u64, [f64; 3])>;

pub(super) fn track(field: &Field, node: &str, since: u64) -> Track {
    let record = field.record(node);
    let positions = record.reported_since(since).filter_map(|(at, message)| match message {
        // ArduCopter reports zero before it has a position.
        MavMessage::GLOBAL_POSITION_INT(position) if position.lat != 0 => Some((at, local(position))),
        _ => None,
    });
    positions.collect()
}

/// Meters above its home below which a vehicle is on its pad, or about to be: pads may be near to one another.
const PAD: f64 = 1.0;

/// Microseconds after which a reported place is stale: the vehicle was switched off.
const STALE: u64 = 5_000_000;

pub(super) fn apart(one: &Track, other: &Track) -> anyhow::Result<f64> {
    ensure!(!one.is_empty() && !other.is_empty(), "nothing was recorded");
    let (mut least, mut next) = (f64::INFINITY, 0);
    for (at, a) in one {
        while next + 1 < other.len() && other[next + 1].0.abs_diff(*at) <= other[next].0.abs_diff(*at) {
            next += 1;
        }
        let (seen, b) = other[next];
        if a[2] < PAD || b[2] < PAD || seen.abs_diff(*at) > STALE {
            continue;
        }
        let (ground, height) = ((a[0] - b[0]).hypot(a[1] - b[1]), (a[2] - b[2]).abs());
        ensure!(
            ground >= SEPARATION || height >= SEPARATION,
            "they came as near as {ground:.1} m over ground and {height:.1} m in altitude, at {a:?} and {b:?}"
        );
        least = least.min(ground.hypot(height));
    }
    Ok(least)
}

fn wind(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let (node, at) = (NODES[0], [30.0, 40.0, 20.0]);
    drone(field, "one", node, &place(at[0], at[1], at[2]))?;
    wait_on_station(field, node, at)?;
    let holds = now();
    field.pass(90, Duration::from_secs(20));
    let sent = field.record(node).orders_since(holds);
    ensure!(sent.is_empty(), "in the wind it was sent {sent:?}");
    let written = field.objects().of_since(node, holds);
    ensure!(written.is_empty(), "in the wind its Drone was written: {written:?}");
    let track = track(field, node, holds);
    let off = |[east, north, _]: [f64; 3]| (east - at[0]).hypot(north - at[1]);
    let sways = track.iter().map(|(_, place)| off(*place)).fold(0.0, f64::max);
    ensure!(track.len() > 50 && sways < 2.0, "it is up to {sways:.1} m off");
    figures.note(format!("it sways by up to {sways:.2} m"));
    Ok(())
}

fn swap(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let (left, right) = ([-10.0, 40.0, 15.0], [30.0, 40.0, 15.0]);
    let began = now();
    for (name, node, [east, north, up]) in [("one", NODES[0], left), ("two", NODES[1], right)] {
        drone(field, name, node, &place(east, north, up))?;
    }
    wait_on_station(field, NODES[0], left)?;
    wait_on_station(field, NODES[1], right)?;
    figures.took("both there", began, now());
    let since = now();
    send_to(field, "one", &place(right[0], right[1], right[2]))?;
    send_to(field, "two", &place(left[0], left[1], left[2]))?;
    wait_on_station(field, NODES[0], right)?;
    wait_on_station(field, NODES[1], left)?;
    figures.took("swapped", since, now());
    for node in [NODES[0], NODES[1]] {
        let writes = status_writes(field, node, since)?;
        figures.note(format!("{node}: {writes} writes of its status"));
    }
    let least = apart(&track(field, NODES[0], began), &track(field, NODES[1], began))?;
    figures.note(format!("never nearer than {least:.1} m"));
    Ok(())
}

fn over_pad(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let (over, beside) = ([6.0, 0.0, 25.0], [6.0, 40.0, 25.0]);
    let began = now();
    drone(field, "one", NODES[0], &place(over[0], over[1], over[2]))?;
    wait_on_station(field, NODES[0], over)?;
    let since = now();
    drone(field, "two", NODES[1], &place(beside[0], beside[1], beside[2]))?;
    wait_on_station(field, NODES[1], beside)?;
    wait_on_station(field, NODES[0], over)?;
    figures.took("up past it", since, now());
    let since = now();
    field.kubectl().run(["delete", "drone", "two", "--wait=false"])?;
    field.wait_down(NODES[1])?;
    figures.took("down past it", since, now());
    wait_on_station(field, NODES[0], over)?;
    figures.took("back", since, now());
    let at = position(field, NODES[1])?;
    ensure!((at[0] - 6.0).hypot(at[1]) < 3.0, "it landed at {at:?}");
    let least = apart(&track(field, NODES[0], began), &track(field, NODES[1], began))?;
    figures.note(format!("never nearer than {least:.1} m"));
    Ok(())
}

fn hovering(east: f64, north: f64) -> ADSB_VEHICLE_DATA {
    let at = shifted(CENTER, east, north);
    #[allow(clippy::cast_possible_truncation, reason = "a place on the Earth in 1e-7 degrees")]
    let e7 = |degrees: f64| (degrees * 1e7) as i32;
    #[allow(clippy::cast_possible_truncation, reason = "some hundred meters")]
    let altitude = ((HOME[2] + 15.0) * 1000.0) as i32;
    ADSB_VEHICLE_DATA {
        ICAO_address: 0x4b_1234,
        lat: e7(at.latitude_deg),
        lon: e7(at.longitude_deg),
        altitude,
        callsign: "HBXYZ".into(),
        altitude_type: AdsbAltitudeType::ADSB_ALTITUDE_TYPE_GEOMETRIC,
        emitter_type: AdsbEmitterType::ADSB_EMITTER_TYPE_ROTOCRAFT,
        flags: AdsbFlags::ADSB_FLAGS_VALID_COORDS
            | AdsbFlags::ADSB_FLAGS_VALID_ALTITUDE
            | AdsbFlags::ADSB_FLAGS_VALID_HEADING
            | AdsbFlags::ADSB_FLAGS_VALID_VELOCITY
            | AdsbFlags::ADSB_FLAGS_VALID_CALLSIGN
            | AdsbFlags::ADSB_FLAGS_VERTICAL_VELOCITY_VALID,
        ..ADSB_VEHICLE_DATA::default()
    }
}

fn wait_for_aircraft(field: &Field, node: &str, words: &str) -> anyhow::Result<()> {
    field.wait(&format!("\"{words}\" on the Drone"), 15, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(
            message.contains(words) && message.contains("aircraft 4B1234"),
            "{ready}"
        );
        Ok(())
    })
}

fn traffic(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let node = NODES[0];
    drone(field, "one", node, &place(30.0, 40.0, 15.0))?;
    wait_on_station(field, node, [30.0, 40.0, 15.0])?;

    let since = now();
    field.vehicle(node).pilot.traffic(Some(hovering(30.0, 220.0)));
    let is_reported = |message: &MavMessage| matches!(message, MavMessage::ADSB_VEHICLE(_));
    field.wait("the autopilot to report it", 15, || {
        field
            .record(node)
            .first_reported(since, is_reported)
            .context("not yet")
            .map(drop)
    })?;
    figures.took("aircraft reported by the autopilot", since, now());
    field.pass(3, Duration::from_secs(3));
    let asked = now();
    send_to(field, "one", &place(30.0, -40.0, 15.0))?;
    wait_for_aircraft(field, node, "waits for the airspace of")?;
    field.pass(8, Duration::from_secs(4));
    let sent = field.record(node).orders_since(asked);
    ensure!(sent.is_empty(), "with the aircraft on its way it was sent {sent:?}");

    let gone = now();
    field.vehicle(node).pilot.traffic(Some(hovering(30.0, 1800.0)));
    wait_moving(field, node)?;
    figures.took("under way after the aircraft left", gone, now());
    wait_on_station(field, node, [30.0, -40.0, 15.0])?;

    send_to(field, "one", &place(30.0, -400.0, 15.0))?;
    wait_moving(field, node)?;
    let ahead = now();
    field.vehicle(node).pilot.traffic(Some(hovering(30.0, -400.0)));
    wait_for_aircraft(field, node, "stops on its way")?;
    figures.took("said to stop", ahead, now());
    field.pass(8, Duration::from_secs(4));
    let before = position(field, node)?;
    field.pass(4, Duration::from_secs(4));
    let after = position(field, node)?;
    ensure!(
        (before[1] - after[1]).abs() < 2.0 && after[1] > -180.0,
        "it went on from {before:?} to {after:?}"
    );
    field.vehicle(node).pilot.traffic(Some(hovering(30.0, 1800.0)));
    wait_on_station(field, node, [30.0, -400.0, 15.0])?;
    field.vehicle(node).pilot.traffic(None);
    let events = field.kubectl().run(["get", "events", "-o", "json"])?;
    ensure!(events.contains("AirspaceConflict"), "no Event says so: {events}");
    let record = field.record(node);
    ensure!(record.arms()? == 1, "it armed {} times", record.arms()?);
    Ok(())
}

fn bad_station(field: &mut Field, _figures: &mut Figures) -> anyhow::Result<()> {
    let node = NODES[0];
    let since = now();
    drone(field, "one", node, &place(30.0, 40.0, 500.0))?;
    field.wait("it to be said", 30, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(message.contains("altitude 500 m is above 120 m"), "{ready}");
        Ok(())
    })?;
    field.pass(15, Duration::from_secs(5));
    let sent = field.record(node).orders_since(since);
    ensure!(!sent.iter().any(|order| order == "NAV_TAKEOFF"), "it was sent {sent:?}");
    send_to(field, "one", &place(30.0, 40.0, 15.0))?;
    wait_on_station(field, node, [30.0, 40.0, 15.0])
}

fn fenced_station(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let node = NODES[0];
    drone(field, "one", node, &place(20.0, 10.0, 15.0))?;
    wait_on_station(field, node, [20.0, 10.0, 15.0])?;
    let asked = now();
    send_to(field, "one", &place(20.0, 100.0, 15.0))?;
    let words = match field.stack {
        Stack::ArduPilot => "refused (FAILED)",
        // It says why only on links with the heartbeat of a ground station.
        Stack::Px4 => "accepted; check the autopilot's own fence",
    };
    let message = field.wait("it to be said", 60, || {
        let drone = field.objects().of(node).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        ensure!(ready["reason"] == "PlaceNotReached", "{ready}");
        Ok(ready["message"].as_str().unwrap_or_default().to_owned())
    })?;
    ensure!(message.contains(words), "{message}");
    figures.took("said", asked, now());
    let at = position(field, node)?;
    ensure!(at[1] < 20.0, "it is at {at:?}");
    let events = field.kubectl().run(["get", "events", "-o", "json"])?;
    ensure!(events.contains("PlaceNotReached"), "no Event says so: {events}");
    let elsewhere = now();
    send_to(field, "one", &place(20.0, -20.0, 15.0))?;
    wait_on_station(field, node, [20.0, -20.0, 15.0])?;
    figures.took("on another station", elsewhere, now());
    let record = field.record(node);
    ensure!(record.arms()? == 1, "it armed {} times", record.arms()?);
    Ok(())
}
