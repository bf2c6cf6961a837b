//! A field across the 180th meridian, at Fiji, where neighboring places have longitudes that differ by 360 degrees. All
//! places are computed here from the numbers on the wire, by nothing of Skein.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{MavCmd, MavMessage, MavMissionType};
use serde_json::{Value, json};
use testkit::launch::workspace_binary;

use crate::field::{Field, NODES};
use crate::figures::Figures;
use crate::objects::{condition, is};
use crate::scenarios::missions::{nearest, wait_for, wait_on_plan};
use crate::scenarios::stations::{Track, drone, send_to};
use skein_tests::wire::now;

const NODE: &str = NODES[0];
const NAME: &str = "across";
const UP: f64 = 20.0;
const SPACING: f64 = 20.0;

/// Degrees. Places are counted from here, on the meridian: meters east and north.
const LATITUDE: f64 = -16.8415;

/// Length of a degree of longitude and of latitude there, meters, on WGS 84.
const DEGREE: [f64; 2] = [106_574.93, 110_667.54];

/// Meters west of the meridian where the vehicle stands.
const WEST: f64 = 30.0;

/// 20 m above the sea.
pub(super) const PAD: [f64; 3] = [LATITUDE, 180.0 - WEST / DEGREE[0], 20.0];

/// East and north.
const HOME: [f64; 2] = [-WEST, 0.0];

/// Half of the field's sides, meters; its middle is on the meridian, 60 m north.
const HALF: [f64; 2] = [50.0, 40.0];
const MIDDLE: [f64; 2] = [0.0, 60.0];

/// Largest distance to each place of its plan, meters: it may cut the corners.
const REACHED: f64 = 6.0;

/// Meters from the middle of the field to the farthest place.
const FARTHEST: f64 = 130.0;

/// Longitude and latitude, as in GeoJSON, the longitude within 180 degrees.
fn degrees([east, north]: [f64; 2]) -> [f64; 2] {
    let longitude = 180.0 + east / DEGREE[0];
    let longitude = if longitude > 180.0 {
        longitude - 360.0
    } else {
        longitude
    };
    [longitude, LATITUDE + north / DEGREE[1]]
}

/// East and north of the middle, from a position on the wire in 1e-7 degrees.
fn meters(latitude: i32, longitude: i32) -> [f64; 2] {
    let side = if longitude > 0 { 180.0 } else { -180.0 };
    let east = (f64::from(longitude) / 1e7 - side) * DEGREE[0];
    [east, (f64::from(latitude) / 1e7 - LATITUDE) * DEGREE[1]]
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

fn station(place: [f64; 2]) -> Value {
    let [longitude, latitude] = degrees(place);
    json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude, "altitudeMeters": UP})
}

fn track(field: &Field, since: u64) -> Track {
    let record = field.record(NODE);
    let positions = record.reported_since(since).filter_map(|(at, message)| match message {
        // Before it has a position, it reports zero.
        MavMessage::GLOBAL_POSITION_INT(position) if position.lat != 0 && position.lon != 0 => {
            let [east, north] = meters(position.lat, position.lon);
            Some((at, [east, north, f64::from(position.alt) / 1000.0 - PAD[2]]))
        }
        _ => None,
    });
    positions.collect()
}

const fn over_ground([east, north, _]: [f64; 3]) -> [f64; 2] {
    [east, north]
}

/// Meters over ground; steps below a meter count once they come to one.
fn length(track: &[(u64, [f64; 3])]) -> f64 {
    let mut places = track.iter().map(|(_, point)| over_ground(*point));
    let Some(mut last) = places.next() else { return 0.0 };
    let mut length = 0.0;
    for place in places {
        let step = distance(last, place);
        if step >= 1.0 {
            length += step;
            last = place;
        }
    }
    length
}

fn wait_on_station(field: &Field, place: [f64; 2]) -> anyhow::Result<()> {
    field.wait(&format!("it to be on station at {place:?}"), 150, || {
        let drone = field.objects().of(NODE).context("there is no Drone")?;
        let (_, at) = *track(field, 0).last().context("it has no position")?;
        ensure!(
            distance(over_ground(at), place) < 2.5 && (at[2] - UP).abs() < 2.0 && is(&drone, "Ready"),
            "it is at {at:?}: {}",
            condition(&drone, "Ready")
        );
        Ok(())
    })
}

fn stations(field: &Field, figures: &mut Figures) -> anyhow::Result<()> {
    const EAST: [f64; 2] = [45.0, 30.0];
    const BACK: [f64; 2] = [-45.0, -10.0];
    let began = now();
    drone(field, "one", NODE, &station(EAST))?;
    wait_on_station(field, EAST)?;
    figures.took("on the other side of the meridian", began, now());
    let left = now();
    send_to(field, "one", &station(BACK))?;
    let asked = field.kubectl().json(["get", "drone", "one"])?["metadata"]["generation"].clone();
    field.wait("it to be Ready for the station on this side", 150, || {
        let drone = field.objects().of(NODE).context("there is no Drone")?;
        let ready = condition(&drone, "Ready");
        ensure!(ready["observedGeneration"] == asked && is(&drone, "Ready"), "{ready}");
        Ok(())
    })?;
    wait_on_station(field, BACK)?;
    let (flown, straight) = (length(&track(field, left)), distance(EAST, BACK));
    figures.note(format!("back {straight:.0} m, flown {flown:.0} m"));
    ensure!(
        (flown / straight - 1.0).abs() < 0.1,
        "for {straight:.0} m it flew {flown:.0} m"
    );
    field.kubectl().run(["delete", "drone", "one", "--wait=false"])?;
    field.wait_down(NODE)?;
    field.wait("the Drone to be gone", 20, || {
        let left = field.kubectl().run(["get", "drones", "-o", "name"])?;
        ensure!(left.is_empty(), "{left}");
        Ok(())
    })
}

fn geojson() -> Value {
    let corner = |[east, north]: [f64; 2]| degrees([MIDDLE[0] + east * HALF[0], MIDDLE[1] + north * HALF[1]]);
    let ring = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]].map(corner);
    json!({"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [ring]}},
    ]})
}

fn planned(field: &Field, from: u64, to: u64) -> Vec<[f64; 2]> {
    let mut items: Vec<(u16, [f64; 2])> = Vec::new();
    let record = field.record(NODE);
    for (_, message) in record.sent_since(from).take_while(|(at, _)| *at < to) {
        match message {
            MavMessage::MISSION_COUNT(count) if count.mission_type == MavMissionType::MAV_MISSION_TYPE_MISSION => {
                items.clear();
            }
            MavMessage::MISSION_ITEM_INT(item)
                if item.mission_type == MavMissionType::MAV_MISSION_TYPE_MISSION
                    && item.command == MavCmd::MAV_CMD_NAV_WAYPOINT
                    // ArduPilot's item 0 is home, and has no place.
                    && item.x != 0 =>
            {
                items.retain(|(seq, _)| *seq != item.seq);
                items.push((item.seq, meters(item.x, item.y)));
            }
            _ => {}
        }
    }
    items.sort_by_key(|(seq, _)| *seq);
    items.into_iter().map(|(_, place)| place).collect()
}

/// The part of the track from the first place to the last. Errors: it did not come to each of them, in their order.
fn through<'a>(track: &'a [(u64, [f64; 3])], places: &[[f64; 2]]) -> anyhow::Result<&'a [(u64, [f64; 3])]> {
    let (mut begin, mut at) = (None, 0);
    for place in places {
        let left = &track[at..];
        let near = left
            .iter()
            .position(|(_, point)| distance(over_ground(*point), *place) < REACHED);
        let near = near.with_context(|| format!("after {at} positions it did not come to {place:?} of {places:?}"))?;
        at += near;
        begin.get_or_insert(at);
    }
    Ok(&track[begin.context("the plan has no places")?..=at])
}

pub(super) fn across(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    stations(field, figures)?;

    let file = field.api.scratch().path().join("across.geojson");
    std::fs::write(&file, geojson().to_string())?;
    let mut import = Command::new(workspace_binary("skein")?);
    import
        .arg("import")
        .arg(&file)
        .args(["--name", NAME, "--as", "survey", "--altitude", &UP.to_string()])
        .args(["--spacing", &SPACING.to_string()]);
    let output = testkit::run::output(import, None, Duration::from_secs(30))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{said}");
    let began = now();
    field.kubectl().apply(&String::from_utf8(output.stdout)?)?;
    wait_on_plan(field, NODE, 150)?;
    let flies = now();
    figures.took("on its plan", began, flies);
    let object = wait_for(field, NAME, "Complete", 300)?;
    figures.took("all flown", flies, now());
    let status = &object["status"];
    ensure!(status["failures"] == 0 && status["done"] == "100%", "{status}");
    field.wait_down(NODE)?;
    ensure!(
        field.record(NODE).arms()? == 2,
        "it armed more than once for the stations and once for the survey"
    );

    let places = planned(field, began, flies);
    let ways = places.windows(2).map(|way| distance(way[0], way[1]));
    let (planned, flown) = (ways.sum::<f64>(), track(field, began));
    let east = places.iter().filter(|place| place[0] > 0.0).count();
    ensure!(
        east >= 4 && places.len() - east >= 4,
        "the plan has {east} of {} places on the other side: {places:?}",
        places.len()
    );
    let on_places = length(through(&flown, &places)?);
    figures.note(format!(
        "{} places, {planned:.0} m by the plan, {on_places:.0} m flown",
        places.len()
    ));
    ensure!(
        (on_places / planned - 1.0).abs() < 0.08,
        "for {planned:.0} m it flew {on_places:.0} m"
    );

    let mut worst: f64 = 0.0;
    for step in 0..400_u16 {
        let share = [step % 20, step / 20].map(|number| (f64::from(number) + 0.5) / 10.0 - 1.0);
        let at = [MIDDLE[0] + share[0] * HALF[0], MIDDLE[1] + share[1] * HALF[1]];
        worst = worst.max(nearest(&flown, at));
    }
    figures.note(format!("no part of the field farther than {worst:.1} m"));
    ensure!(worst < SPACING / 2.0 + 3.0, "a part of the field is {worst:.1} m off");

    let all = track(field, 0);
    let far = all.iter().map(|(_, point)| distance(over_ground(*point), MIDDLE));
    let far = far.fold(0.0, f64::max);
    ensure!(far < FARTHEST, "it was {far:.0} m from the middle of the field");
    let (_, last) = *all.last().context("it has no position")?;
    let off = distance(over_ground(last), HOME);
    ensure!(off < 3.0, "it landed {off:.1} m from its home");
    Ok(())
}
