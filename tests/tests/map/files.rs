//! Files that are dropped on the page: drawn and described, and made into objects only when a person confirms it.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use skein_tests::browser::Page;
use skein_tests::field::Field;

/// `corner`: meters east and north of a home, longitude first.
pub fn are_read_and_make_nothing_unasked(
    page: &mut Page,
    field: &Field,
    corner: impl Fn(f64, f64) -> Value,
) -> anyhow::Result<()> {
    let ring = [
        (300.0, 300.0),
        (360.0, 300.0),
        (360.0, 340.0),
        (300.0, 340.0),
        (300.0, 300.0),
    ];
    let ring: Vec<Value> = ring.iter().map(|(east, north)| corner(*east, *north)).collect();
    let wall = json!({"type": "Polygon", "coordinates": [ring]}).to_string();
    let fences = || -> anyhow::Result<Vec<String>> {
        let list = field.kubectl().json(["get", "geofences"])?;
        let names = list["items"].as_array().context("no list")?.iter();
        Ok(names
            .map(|fence| fence["metadata"]["name"].as_str().unwrap_or_default().to_owned())
            .collect())
    };
    let before = fences()?;
    let dropped = page.step(&json!({"step": "drop", "name": "old wall.geojson", "content": wall}))?;
    ensure!(
        dropped["title"] == "old wall.geojson: GeoJSON" && dropped["objects"] == json!([]),
        "{dropped}"
    );
    ensure!(
        dropped["said"][0]
            .as_str()
            .is_some_and(|said| said.contains("4 corners")),
        "{dropped}"
    );
    let drawn = &dropped["drawn"][0]["geometry"]["coordinates"][0];
    ensure!(drawn.as_array().is_some_and(|ring| ring.len() == 5), "{dropped}");
    let (center, middle) = (&dropped["center"], corner(330.0, 320.0));
    let off =
        |axis: usize| (center[axis].as_f64().unwrap_or(f64::NAN) - middle[axis].as_f64().unwrap_or(f64::NAN)).abs();
    ensure!(off(0) < 1e-3 && off(1) < 1e-3, "{dropped}");

    let asked = json!({"step": "drop", "name": "old wall.geojson", "content": wall, "areas": "exclusion"});
    let offered = page.step(&asked)?;
    ensure!(offered["objects"] == json!([["Geofence/old-wall", false]]), "{offered}");
    ensure!(
        fences()? == before,
        "looking at a file has made a Geofence: {:?}",
        fences()?
    );
    let made = page.step(&json!({"step": "make", "made": "Geofence/old-wall"}))?;
    ensure!(made["outcome"] == "✓ Geofence old-wall created", "{made}");
    let fence = field.kubectl().json(["get", "geofence", "old-wall"])?;
    let corners = fence["spec"]["exclude"][0]["polygon"].as_array().map(Vec::len);
    ensure!(corners == Some(4), "{fence}");

    // Never confirmed, over both sides of the 180th meridian: drawn once, and no Mission exists.
    let fiji = json!({"type": "Polygon", "coordinates": [[[179.9985, -16.843], [-179.999, -16.843], [-179.9992, -16.841], [179.9987, -16.8408], [179.9985, -16.843]]]});
    let asked = json!({"step": "drop", "name": "fiji.geojson", "content": fiji.to_string(), "areas": "survey"});
    let shown = page.step(&asked)?;
    ensure!(shown["objects"] == json!([["Mission/fiji", false]]), "{shown}");
    // The fleet is in Europe, whether or not one of it is free.
    ensure!(
        shown["said"][0]
            .as_str()
            .is_some_and(|said| said.contains("Mission fiji cannot be flown so") && said.contains("farther than 20 km")),
        "{shown}"
    );
    let corners = shown["drawn"][0]["geometry"]["coordinates"][0].as_array();
    ensure!(
        corners.is_some_and(|all| all
            .iter()
            .all(|corner| corner[0].as_f64().is_some_and(|east| east > 179.0))),
        "it is drawn on both sides of the map: {shown}"
    );
    ensure!(
        shown["zoom"].as_f64().is_some_and(|zoom| zoom > 14.0),
        "the map shows half of the Earth: {shown}"
    );
    let missions = field.kubectl().json(["get", "missions", "--all-namespaces"])?;
    let is_there = |mission: &Value| mission["metadata"]["name"] == "fiji";
    ensure!(
        !missions["items"].as_array().is_some_and(|all| all.iter().any(is_there)),
        "{missions}"
    );

    let wrong =
        page.step(&json!({"step": "drop", "name": "bad.waypoints", "content": "QGC WPL 110\n0\t1\t0\t16\t0\n"}))?;
    ensure!(
        wrong["title"] == ""
            && wrong["drawn"] == json!([])
            && wrong["outcome"]
                .as_str()
                .is_some_and(|why| why.contains("line 2 has 5 values, not 12")),
        "{wrong}"
    );
    Ok(())
}
