//! `skein map` in a real, headless Chromium: positions, orders, a drawn survey that is flown, and refused callers. A
//! vehicle's own messages on the wire show where it is and whether it flies.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers outside of #[test] functions"
)]

mod airspace;
mod basemap;
mod files;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use skein_tests::browser::{PICTURES, Page};
use skein_tests::field::{Field, PATIENCE};
use skein_tests::wire;
use testkit::control_plane::workspace_root;
use testkit::{Launch, wait_for};

const VEHICLES: [&str; 3] = ["alpha", "bravo", "carol"];

/// Meters in a degree of latitude.
const METERS: f64 = 111_195.0;

/// Meters, from latitude and longitude in degrees.
fn apart(a: (f64, f64), b: (f64, f64)) -> f64 {
    let north = (a.0 - b.0) * METERS;
    north.hypot((a.1 - b.1) * METERS * a.0.to_radians().cos())
}

fn place(row: &Value) -> Option<(f64, f64)> {
    Some((row["latitude"].as_f64()?, row["longitude"].as_f64()?))
}

fn row<'a>(lists: &'a Value, field: &Field, vehicle: &str) -> anyhow::Result<(&'a str, &'a Value)> {
    let drones = field.drones()?;
    let name = drones
        .iter()
        .find(|[_, _, node]| node == vehicle)
        .map(|[name, ..]| name.clone());
    let id = name.map_or_else(|| format!("node/{vehicle}"), |name| format!("drone/default/{name}"));
    let rows = lists["vehicles"].as_object().context("no vehicles")?;
    let (id, row) = rows.get_key_value(&id).with_context(|| format!("no {id} in {lists}"))?;
    Ok((id, row))
}

fn is_true(row: &Value, field: &Field, vehicle: &str) -> anyhow::Result<(f64, f64)> {
    let shown = place(row).with_context(|| format!("{vehicle} is nowhere: {row}"))?;
    let reported = field.wire(vehicle).places();
    let nearest = reported
        .iter()
        .map(|place| apart(place.at, shown))
        .fold(f64::INFINITY, f64::min);
    ensure!(
        nearest < 0.1,
        "{vehicle} is shown {nearest} m from all places that it reported"
    );
    let heading = row["heading"].as_f64().context("its symbol points nowhere")?;
    let looked = |place: &wire::Place| {
        let off = place
            .heading
            .map(|known| (known - heading + 540.0).rem_euclid(360.0) - 180.0);
        apart(place.at, shown) < 0.1 && off.is_some_and(|off| off.abs() <= 0.5)
    };
    ensure!(
        reported.iter().any(looked),
        "{vehicle} never had its nose at {heading} there"
    );
    Ok(shown)
}

#[test]
fn a_person_sees_and_lands_the_fleet_and_flies_a_drawn_survey_and_nobody_else_may() -> anyhow::Result<()> {
    let mut field = Field::with(&VEHICLES, "mixed")?;
    field.start_up(&VEHICLES)?;
    field.fly(2, 10.0)?;
    field.wait_ready("alpha")?;
    let base = field.data().join("world.pmtiles");
    std::fs::write(&base, basemap::all_water())?;
    let map = Launch::workspace("skein")?
        .args(["map", "--no-browser", "--station"])
        .arg(field.data())
        .arg("--basemap")
        .arg(&base)
        .logs_in(field.data().join("map-logs"))
        .start()?;
    let line = map.wait_for_line(PATIENCE, |line| line.contains("/#token="))?;
    let address = line.split_whitespace().last().context("no address")?;
    ensure!(address.starts_with("http://127.0.0.1:"), "{address}");
    let mut page = Page::start(address)?;

    // Without the token, with another, and under another name there is nothing, and the token is still good.
    for answer in page.step(&json!({"step": "wrong"}))?.as_array().context("no answers")? {
        let status = answer[0].as_u64().unwrap_or_default();
        ensure!(
            matches!(status, 401 | 403 | 421) && answer[1] == 0 && answer[2] == false,
            "{answer}"
        );
    }
    let opened = page.step(&json!({"step": "open"}))?;
    ensure!(!opened["url"].as_str().unwrap_or("token").contains("token"), "{opened}");
    // A browser sends cookies to every port of a host.
    ensure!(opened["cookies"] == json!([]), "{opened}");

    let flying = VEHICLES.map(|vehicle| field.wire(vehicle).said().in_air());
    ensure!(flying.iter().filter(|flies| **flies).count() == 2, "{flying:?}");
    let lists = page.wait("all three vehicles", |lists| {
        for (vehicle, flies) in VEHICLES.iter().zip(flying) {
            let (_, row) = row(lists, &field, vehicle)?;
            is_true(row, &field, vehicle)?;
            ensure!(
                row["flying"] == if flies { "true" } else { "false" },
                "{vehicle}: {row}"
            );
        }
        Ok(())
    })?;
    let idle = VEHICLES
        .iter()
        .zip(flying)
        .find(|(_, flies)| !flies)
        .context("none is idle")?
        .0;
    let (id, idle_row) = row(&lists, &field, idle)?;
    let home = place(idle_row).context("it is nowhere")?;
    page.step(&json!({"step": "picture", "name": "map-lists", "selected": id}))?;

    // Pages elsewhere, with the session of this browser.
    let attacks = page.step(&json!({"step": "attacks"}))?;
    ensure!(attacks["rebound"] == 421, "{attacks}");
    // Another program at another port of this host, which the browser opened: what it was sent opens nothing.
    let other = &attacks["other"];
    ensure!(
        other["requests"].as_u64() >= Some(2) && other["secrets"] == json!([]),
        "{attacks}"
    );
    ensure!(other["replayed"] == 401, "{attacks}");
    for attack in attacks["found"].as_array().context("no attacks")? {
        let statuses = attack["statuses"].as_array().context("no statuses")?;
        let refused = |status: &Value| status.as_u64().is_some_and(|status| (400..500).contains(&status));
        ensure!(statuses.len() >= 2 && statuses.iter().all(refused), "{attack}");
        let read = attack["read"].as_array().context("nothing was tried")?;
        ensure!(
            read.len() == 4 && read.iter().all(|read| *read == "refused" || *read == "opaque"),
            "{attack}"
        );
    }

    let corner = |east: f64, north: f64| {
        json!([
            home.1 + east / (METERS * home.0.to_radians().cos()),
            home.0 + north / METERS
        ])
    };
    let corners = [
        corner(20.0, 20.0),
        corner(80.0, 20.0),
        corner(80.0, 60.0),
        corner(20.0, 60.0),
    ];
    let fields = json!({"name": "field", "spacing": 5, "altitude": 25});
    let drawn = json!({"step": "draw", "what": "survey", "fields": fields, "corners": corners});
    let applied = page.step(&drawn)?;
    let words = applied["words"].as_str().unwrap_or_default();
    ensure!(
        words.contains("Mission field: survey") && words.contains("lines"),
        "{applied}"
    );
    ensure!(applied["outcome"] == "✓ Mission default/field created", "{applied}");
    let spec = field.kubectl().json(["get", "mission", "field"])?;
    ensure!(
        spec["spec"]["survey"]["area"]["polygon"]
            .as_array()
            .is_some_and(|corners| corners.len() == 4),
        "{spec}"
    );
    let lists = page
        .wait("the vehicle to be shown on its way", |lists| {
            let (_, row) = row(lists, &field, idle)?;
            let shown = is_true(row, &field, idle)?;
            ensure!(apart(shown, home) > 20.0 && row["flying"] == "true", "{row}");
            Ok(())
        })
        .map_err(|error| field.explain(error))?;
    let (_, flies) = row(&lists, &field, idle)?;
    let claimed = airspace::Claimed::of(flies)?;
    claimed.is_drawn(&mut page, corner(80.0, 5.0))?;
    ensure!(field.wire(idle).said().in_air(), "only the page says that it flies");
    page.step(&json!({"step": "picture", "name": "map"}))?;
    if std::env::var_os("SKEIN_GENERATE").is_some() {
        let root = workspace_root();
        std::fs::copy(root.join(PICTURES).join("map.png"), root.join("docs/images/map.png"))?;
    }
    let flown_before = field.wire(idle).places().len();
    let around = [
        corner(-60.0, -25.0),
        corner(95.0, -25.0),
        corner(95.0, 75.0),
        corner(-60.0, 75.0),
    ];
    let fields = json!({"name": "around", "altitude": 60});
    let fenced = page.step(&json!({"step": "draw", "what": "fence", "fields": fields, "corners": around}))?;
    ensure!(fenced["outcome"] == "✓ Geofence around created", "{fenced}");
    let spec = field.kubectl().json(["get", "geofence", "around"])?;
    ensure!(
        spec["spec"]["ceilingMeters"] == 60.0
            && spec["spec"]["include"][0]["polygon"]
                .as_array()
                .is_some_and(|corners| corners.len() == 4),
        "{spec}"
    );
    page.step(&json!({"step": "picture", "name": "map-fenced"}))?;

    let ordered = page.step(&json!({"step": "order", "verb": "ground", "swarm": "default/alpha"}))?;
    ensure!(
        ordered["whom"].as_array().is_some_and(|whom| whom.len() == 2),
        "{ordered}"
    );
    ensure!(
        ordered["outcome"]
            .as_str()
            .is_some_and(|text| text.contains("Ground order given to Swarm default/alpha: 2 Drones")),
        "{ordered}"
    );
    wait_for("both to land", PATIENCE, || {
        for vehicle in VEHICLES.iter().filter(|vehicle| *vehicle != idle) {
            let said = field.wire(vehicle).said();
            ensure!(said.not_flying(), "{vehicle} says {said:?}");
        }
        Ok(())
    })?;
    page.wait("the page to show it, and that the Mission is complete", |lists| {
        for vehicle in VEHICLES.iter().filter(|vehicle| *vehicle != idle) {
            let (_, row) = row(lists, &field, vehicle)?;
            ensure!(row["flying"] == "false", "{row}");
        }
        ensure!(lists["missions"]["default/field"]["state"] == "Complete", "{lists}");
        Ok(())
    })
    .map_err(|error| field.explain(error))?;

    // All that it flew since was in the airspace that was shown as its own.
    claimed.had_all(&field.wire(idle).places()[flown_before..])?;

    let released = page.step(&json!({"step": "order", "verb": "release", "swarm": "default/alpha"}))?;
    ensure!(
        released["words"]
            .as_str()
            .is_some_and(|words| words.contains("TAKE OFF")),
        "{released}"
    );
    wait_for("both to take off again", PATIENCE, || {
        for vehicle in VEHICLES.iter().filter(|vehicle| *vehicle != idle) {
            let said = field.wire(vehicle).said();
            ensure!(said.in_air(), "{vehicle} says {said:?}");
        }
        Ok(())
    })
    .map_err(|error| field.explain(error))?;

    let lists = page.step(&json!({"step": "lists"}))?;
    let (id, _) = row(&lists, &field, "alpha")?;
    let selected = page.step(&json!({"step": "select", "vehicle": id}))?;
    assert_eq!(
        selected,
        json!({"one": "1 vehicle selected", "all": "3 vehicles selected"})
    );

    let anchored = |(latitude, longitude): (f64, f64)| json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude, "altitudeMeters": 20});
    let at = |place: &Value| {
        (
            place[1].as_f64().unwrap_or_default(),
            place[0].as_f64().unwrap_or_default(),
        )
    };
    let (first, second) = (corner(0.0, 25.0), corner(15.0, 50.0));
    let formation = json!({"shape": "Line", "spacingMeters": 15, "anchor": anchored(at(&first))});
    let patch = json!({"spec": {"formation": formation}}).to_string();
    field
        .kubectl()
        .run(["patch", "swarm", "alpha", "--type=merge", "-p", &patch])?;
    let moved = page.step(&json!({"step": "anchor", "swarm": "default/alpha", "place": second}))?;
    assert_eq!(moved["outcome"], "✓ formation of Swarm default/alpha moved", "{moved}");
    page.wait("the formation to be where it was moved", |lists| {
        for vehicle in VEHICLES.iter().filter(|vehicle| *vehicle != idle) {
            let (_, row) = row(lists, &field, vehicle)?;
            let shown = is_true(row, &field, vehicle)?;
            ensure!(apart(shown, at(&second)) < 17.0, "{vehicle} is at {shown:?}: {row}");
        }
        Ok(())
    })
    .map_err(|error| field.explain(error))?;

    files::are_read_and_make_nothing_unasked(&mut page, &field, corner)?;

    let areas = page.step(&json!({"step": "basemap"}))?;
    ensure!(areas.as_u64() > Some(0), "no area of the base map is drawn: {areas}");

    let complaints = page.step(&json!({"step": "complaints"}))?;
    ensure!(complaints.as_array().is_some_and(Vec::is_empty), "{complaints}");
    Ok(())
}
