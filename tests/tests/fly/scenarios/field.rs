//! Conditions of the field: a survey from QGroundControl, a payload's battery, a home far away, the 180th meridian.

mod across;

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use mavlink::dialects::ardupilotmega::{
    BATTERY_STATUS_DATA, MavBatteryChargeState, MavBatteryFunction, MavBatteryType, MavCmd, MavMessage, MavMissionType,
};
use serde_json::{Value, json};
use testkit::autopilots::{HOME, Stack};
use testkit::launch::workspace_binary;

use super::missions::{nearest, wait_for, wait_on_plan};
use super::stations::{place, track};
use crate::field::{Field, NODES, Setup};
use crate::figures::Figures;
use crate::objects::is;
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[
    Scenario::new(
        "field-survey-file",
        "a survey as QGroundControl saves it, with its camera mode: imported by `skein import`, applied as printed, and flown to its end",
        survey_file,
    )
    .real_time(),
    Scenario::new(
        "field-payload-battery",
        "a payload's battery at 5 % on a vehicle that flies: it stays, and the battery is shown; on a PX4, which simulates one battery, the relay adds \
         BATTERY_STATUS of the payload's, and as soon as that names the motors the vehicle lands",
        payload_battery,
    )
    .with(|stack| Setup {
        // ArduPilot does not report what a battery drives.
        agent: match stack {
            Stack::ArduPilot => vec!["--motor-batteries".to_owned(), "0".to_owned()],
            Stack::Px4 => vec![],
        },
        ..two_batteries()
    }),
    Scenario::new(
        "field-second-battery",
        "the same second battery at 5 %, and nobody says that it does not drive the motors: the vehicle lands at the reserve (PX4: the relay adds it)",
        second_battery_counts,
    )
    .with(|_| two_batteries()),
    Scenario::new(
        "field-home-far",
        "home 49 km from where the vehicle stands: it is not armed, its Drone says how far, and it flies once home is right",
        home_far,
    ),
    Scenario::new(
        "field-across-180",
        "a station on the other side of the 180th meridian, one on this side, and a survey of a field on both: flown, and no way around the Earth",
        across::across,
    )
    .with(|_| Setup {
        home: across::PAD,
        ..Setup::default()
    })
    .real_time(),
];

const NODE: &str = NODES[0];
const NAME: &str = "as-saved";
const UP: f64 = 20.0;

/// BATTERY_STATUS.id of the second battery.
const SECOND: u8 = 1;

/// Percent left in the second battery once it is low.
const LOW: i8 = 5;

/// Meters from one photo to the next.
const PHOTOS: f64 = 12.5;

const ENDS: [[f64; 2]; 8] = [
    [20.0, 20.0],
    [120.0, 20.0],
    [120.0, 40.0],
    [20.0, 40.0],
    [20.0, 60.0],
    [120.0, 60.0],
    [120.0, 80.0],
    [20.0, 80.0],
];

/// As QGroundControl saves it: camera mode before the takeoff, lines within one item, photos by distance on each line.
fn as_saved() -> Value {
    let mut items = Vec::new();
    for (number, [east, north]) in ENDS.iter().enumerate() {
        let at = place(*east, *north, UP);
        let to = json!([0, 0, 0, null, at["latitudeDegrees"], at["longitudeDegrees"], UP]);
        let photos = if number % 2 == 0 { PHOTOS } else { 0.0 };
        let ids = [4 + 2 * number, 5 + 2 * number];
        items.push(json!({"autoContinue": true, "command": 16, "doJumpId": ids[0], "frame": 3, "params": to, "type": "SimpleItem"}));
        items.push(json!({"autoContinue": true, "command": 206, "doJumpId": ids[1], "frame": 2, "params": [photos, 0, 1, 0, 0, 0, 0], "type": "SimpleItem"}));
    }
    let polygon = [[10.0, 10.0], [130.0, 10.0], [130.0, 90.0], [10.0, 90.0]].map(|[east, north]| {
        let at = place(east, north, UP);
        json!([at["latitudeDegrees"], at["longitudeDegrees"]])
    });
    let survey = json!({
        "TransectStyleComplexItem": {
            "CameraCalc": {"AdjustedFootprintFrontal": PHOTOS, "AdjustedFootprintSide": 20, "CameraName": "Manual (no camera specs)",
                           "DistanceToSurface": UP, "DistanceToSurfaceRelative": true, "version": 1},
            "CameraShots": 34, "CameraTriggerInTurnAround": false, "FollowTerrain": false, "HoverAndCapture": false, "Items": items,
            "Refly90Degrees": false, "TurnAroundDistance": 0, "version": 1,
        },
        "angle": 90, "complexItemType": "survey", "entryLocation": 0, "flyAlternateTransects": false, "polygon": polygon,
        "splitConcavePolygons": false, "type": "ComplexItem", "version": 5,
    });
    let simple = |id: u32, command: u16, frame: u8, altitude: Value, params: Value| {
        json!({"AMSLAltAboveTerrain": null, "Altitude": altitude, "AltitudeMode": 1, "autoContinue": true, "command": command, "doJumpId": id,
               "frame": frame, "params": params, "type": "SimpleItem"})
    };
    json!({
        "fileType": "Plan", "version": 1, "groundStation": "QGroundControl",
        "geoFence": {"circles": [], "polygons": [], "version": 2}, "rallyPoints": {"points": [], "version": 2},
        "mission": {
            "version": 2, "firmwareType": 12, "vehicleType": 2, "globalPlanAltitudeMode": 1, "cruiseSpeed": 15, "hoverSpeed": 5,
            "plannedHomePosition": HOME,
            "items": [
                simple(1, 530, 2, Value::Null, json!([0, 2, null, null, null, null, null])),
                simple(2, 22, 3, json!(UP), json!([0, 0, 0, null, HOME[0], HOME[1], UP])),
                survey,
                simple(20, 20, 2, json!(0), json!([0, 0, 0, 0, 0, 0, 0])),
            ],
        },
    })
}

fn survey_file(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let file = field.api.scratch().path().join("survey as saved.plan");
    std::fs::write(&file, as_saved().to_string())?;
    let mut import = Command::new(workspace_binary("skein")?);
    import.arg("import").arg(&file).args(["--name", NAME]);
    let output = testkit::run::output(import, None, Duration::from_secs(30))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{said}");
    ensure!(
        said.contains("SET_CAMERA_MODE"),
        "the camera mode was left out without a word: {said}"
    );
    field.kubectl().apply(&String::from_utf8(output.stdout)?)?;
    let began = now();
    wait_on_plan(field, NODE, 150)?;
    let flies = now();
    figures.took("on its plan", began, flies);
    let object = wait_for(field, NAME, "Complete", 300)?;
    let ended = now();
    figures.took("all flown", flies, ended);
    let status = &object["status"];
    ensure!(status["failures"] == 0 && status["done"] == "100%", "{status}");
    field.wait_down(NODE)?;
    ensure!(field.record(NODE).arms()? == 1, "it armed again");

    let flown = track(field, NODE, flies);
    let mut off: Vec<f64> = ENDS.iter().map(|end| nearest(&flown, *end)).collect();
    off.sort_by(f64::total_cmp);
    let worst = off.last().copied().context("there are no lines")?;
    figures.note(format!(
        "past the ends of all {} lines, the farthest by {worst:.1} m",
        ENDS.len() / 2
    ));
    ensure!(worst < 5.0, "it passed the ends of the lines by {off:.1?} m");
    // Photos by distance begin on each line and end after it.
    let mut photos: Vec<(u16, f32)> = Vec::new();
    for (_, message) in field.record(NODE).sent_since(began) {
        if let MavMessage::MISSION_ITEM_INT(item) = message
            && item.mission_type == MavMissionType::MAV_MISSION_TYPE_MISSION
            && item.command == MavCmd::MAV_CMD_DO_SET_CAM_TRIGG_DIST
        {
            photos.retain(|(seq, _)| *seq != item.seq);
            photos.push((item.seq, item.param1));
        }
    }
    let begins = photos
        .iter()
        .filter(|(_, meters)| (f64::from(*meters) - PHOTOS).abs() < 0.1)
        .count();
    figures.note(format!(
        "photos begun on {begins} lines and ended {} times",
        photos.len() - begins
    ));
    ensure!(begins == ENDS.len() / 2 && photos.len() >= 2 * begins, "{photos:?}");
    Ok(())
}

/// A second monitor, and a first battery that lasts. A simulated PX4 has no second one: [`report_second`] adds it.
fn two_batteries() -> Setup {
    Setup {
        ardupilot: vec![
            ("BATT2_MONITOR", 4.0),
            ("BATT2_VOLT_PIN", 13.0),
            ("BATT2_CURR_PIN", 12.0),
            ("BATT2_CAPACITY", 5000.0),
        ],
        px4: vec![("SIM_BAT_DRAIN", 3600.0)],
        ..Setup::default()
    }
}

/// An ArduPilot sets its own second monitor, which names no function; for a PX4 the relay adds the report of a smart
/// battery of three cells with this function.
fn report_second(field: &Field, function: MavBatteryFunction, left: i8) -> anyhow::Result<()> {
    let vehicle = field.vehicle(NODE);
    match field.stack {
        Stack::ArduPilot => {
            // Bit 1 is the second battery.
            let reset = [2.0, f32::from(left), 0.0, 0.0, 0.0, 0.0, 0.0];
            vehicle.pilot.command(MavCmd::MAV_CMD_BATTERY_RESET, reset)
        }
        Stack::Px4 => {
            // The limits of PX4's own warnings: BAT_CRIT_THR is 7 %.
            let (cell_mv, charge_state) = match left {
                ..=7 => (3450, MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_CRITICAL),
                _ => (3950, MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_OK),
            };
            let mut voltages = [u16::MAX; 10];
            voltages[..3].fill(cell_mv);
            vehicle.relay.add(Some(MavMessage::BATTERY_STATUS(BATTERY_STATUS_DATA {
                id: SECOND,
                battery_function: function,
                mavtype: MavBatteryType::MAV_BATTERY_TYPE_LIPO,
                battery_remaining: left,
                charge_state,
                temperature: i16::MAX,
                voltages,
                current_battery: 50,
                current_consumed: -1,
                energy_consumed: -1,
                ..BATTERY_STATUS_DATA::default()
            })));
            Ok(())
        }
    }
}

/// Time and percent left.
fn second_battery(field: &Field, since: u64) -> Option<(u64, i8)> {
    let record = field.record(NODE);
    record
        .reported_since(since)
        .rev()
        .find_map(|(at, message)| match message {
            MavMessage::BATTERY_STATUS(battery) if battery.id == SECOND => Some((at, battery.battery_remaining)),
            _ => None,
        })
}

fn payload_battery(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    const HEIGHT: f64 = 15.0;
    let payload = MavBatteryFunction::MAV_BATTERY_FUNCTION_PAYLOAD;
    field.take_off(HEIGHT)?;
    if field.stack == Stack::Px4 {
        report_second(field, payload, 80)?;
    }
    let before = field.wait("the payload's battery to be reported", 30, || {
        second_battery(field, 0).context("the autopilot monitors no second battery")
    })?;
    figures.note(format!("the payload's battery at {} % before", before.1));
    let since = now();
    report_second(field, payload, LOW)?;
    let low = field.wait("the payload's battery to be low, by its autopilot", 60, || {
        let (at, left) = second_battery(field, since).context("it says nothing")?;
        ensure!((0..=LOW).contains(&left), "{left} %");
        Ok(at)
    })?;
    field.pass(60, Duration::from_secs(20));
    let (last, left) = second_battery(field, low).context("it fell silent")?;
    figures.took("flown with it at 5 % or less", low, last);
    figures.note(format!("at {left} % in the end"));
    let record = field.record(NODE);
    let sent = record.orders_since(low);
    ensure!(sent.is_empty(), "it was sent {sent:?}");
    ensure!(
        record.flew_without_a_break_since(low),
        "it did not stay: {:?}",
        record.said()
    );
    drop(record);
    field.wait_in_air(&[NODE], HEIGHT)?;
    let drone = field.objects().of(NODE).context("there is no Drone")?;
    ensure!(is(&drone, "Ready"), "{}", drone["status"]);
    let own = &drone["status"]["battery"]["remainingPercent"];
    ensure!(
        own.as_f64().is_some_and(|percent| percent > 50.0),
        "the motors' battery is shown at {own} %"
    );
    let drives = match field.stack {
        Stack::ArduPilot => "Other",
        Stack::Px4 => "Payload",
    };
    field.wait("the payload's battery to be shown", 60, || {
        let vehicles = field.read("vehicles")?;
        let all = vehicles["items"].as_array().context("no list")?;
        let vehicle = all.iter().find(|vehicle| vehicle["spec"]["nodeName"] == NODE);
        let others = &vehicle.context("no Vehicle")?["status"]["otherBatteries"];
        let shown = others.as_array().is_some_and(|others| {
            let is_low = |other: &Value| other["remainingPercent"].as_f64().is_some_and(|left| left <= 25.0);
            let is_it = |other: &Value| other["id"] == SECOND && other["drives"] == drives && is_low(other);
            others.iter().any(is_it)
        });
        ensure!(shown, "{others}");
        Ok(())
    })?;
    figures.note(format!("the motors' battery shown at {own} %"));
    if field.stack == Stack::Px4 {
        let since = now();
        report_second(field, MavBatteryFunction::MAV_BATTERY_FUNCTION_PROPULSION, LOW)?;
        lands_at_reserve(field, figures, since)?;
    }
    Ok(())
}

fn second_battery_counts(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    field.take_off(15.0)?;
    let since = now();
    report_second(field, MavBatteryFunction::MAV_BATTERY_FUNCTION_ALL, LOW)?;
    lands_at_reserve(field, figures, since)
}

/// The second battery drives the motors: the vehicle, which holds over its home, is landed and stays down.
fn lands_at_reserve(field: &Field, figures: &mut Figures, since: u64) -> anyhow::Result<()> {
    let low = field.wait("the second battery to be low, by its autopilot", 60, || {
        let (at, left) = second_battery(field, since).context("it says nothing")?;
        ensure!((0..=LOW).contains(&left), "{left} %");
        Ok(at)
    })?;
    let sent = field.wait("a command to land", 60, || {
        let commands = field.record(NODE).commands_since(since);
        let first = commands.first().map(|command| command.at);
        first.context("it is sent nothing")
    })?;
    figures.took("low for the motors and sent to land after", low, sent);
    let orders = field.record(NODE).orders_since(since);
    ensure!(
        orders.first().is_some_and(|order| order == "NAV_LAND"),
        "it was sent {orders:?}"
    );
    field.wait_down(NODE)?;
    let down = now();
    field.pass(30, Duration::from_secs(10));
    let arms = field.record(NODE).arm_commands_since(down);
    ensure!(arms == 0, "it landed at its reserve and was sent {arms} arm commands");
    Ok(())
}

/// Home is so many degrees north of the field's; `None`: where the vehicle stands.
fn send_home(field: &Field, north: Option<f64>) -> anyhow::Result<()> {
    #[allow(clippy::cast_possible_truncation, reason = "COMMAND_LONG has them so")]
    let params = match north {
        Some(north) => {
            let at = [HOME[0] + north, HOME[1], HOME[2]].map(|value| value as f32);
            [0.0, 0.0, 0.0, 0.0, at[0], at[1], at[2]]
        }
        None => [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    };
    field.vehicle(NODE).pilot.command(MavCmd::MAV_CMD_DO_SET_HOME, params)
}

fn home_far(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    /// Degrees of latitude: 48.9 km, as after a wrong fix at boot. ArduPilot takes no home farther than 50 km off.
    const FAR: f64 = 0.44;
    const HEIGHT: f64 = 12.0;
    field.wait("a vehicle that may arm", 90, || {
        let status: Value = serde_json::from_str(&field.skein(&["status", "-o", "json"])?)?;
        let vehicles = status["vehicles"].as_array();
        let mine = vehicles.into_iter().flatten().find(|vehicle| vehicle["node"] == NODE);
        let mine = mine.context("it is not listed")?;
        ensure!(mine["ready"] == true, "{mine}");
        Ok(())
    })?;
    let since = now();
    field.wait("its home to be far away, by its own account", 60, || {
        send_home(field, Some(FAR))?;
        let far = field.record(NODE).first_reported(since, |message| {
            matches!(message, MavMessage::HOME_POSITION(home) if (f64::from(home.latitude) / 1e7 - HOME[0] - FAR).abs() < 0.01)
        });
        far.context("HOME_POSITION says nothing of it yet")
    })?;
    let asked = now();
    field.fly(1, HEIGHT)?;
    let words = field.wait("the Drone to say how far home is", 60, || {
        let drone = field.objects().of(NODE).context("there is none")?;
        let conditions = drone["status"]["conditions"].as_array().context("no conditions")?;
        let mut messages = conditions.iter().filter_map(|condition| condition["message"].as_str());
        let said = messages.find(|message| message.contains("home") && message.contains("49 km"));
        said.map(str::to_owned).with_context(|| drone["status"].to_string())
    })?;
    figures.took("said after", asked, now());
    figures.note(format!("it says: {words}"));
    field.pass(30, Duration::from_secs(15));
    let sent = field.record(NODE).arm_commands_since(since);
    ensure!(sent == 0, "it was sent {sent} commands to arm");
    ensure!(field.record(NODE).said().not_flying(), "it is armed");
    let cured = now();
    field.wait("its home to be where it stands", 60, || {
        send_home(field, None)?;
        let near = field.record(NODE).first_reported(cured, |message| {
            matches!(message, MavMessage::HOME_POSITION(home) if (f64::from(home.latitude) / 1e7 - HOME[0]).abs() < 0.001)
        });
        near.context("HOME_POSITION says nothing of it yet")
    })?;
    field.wait_in_air(&[NODE], HEIGHT)?;
    figures.took("in the air after home was right", cured, now());
    field.wait_ready(NODE)
}
