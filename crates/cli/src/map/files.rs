//! Files dropped on the page: which objects `skein import` would make of them, and where. Must not: make an object.

use super::edits::fliers;
use super::shapes;
use crate::args::import::{AreaPurpose, ImportArgs, MissionChoices};
use crate::failure::Failure;
use crate::mission::import::{self, Made};
use crate::mission::manifest::Manifest;
use crate::mission::preview;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use crds::{Geofence, Mission};
use model::units::Wgs84;
use plan_files::area::Area;
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_FILE_BYTES: usize = 8 * 1024 * 1024;

/// The file in base64, four letters for three bytes, and its name.
pub const MAX_BODY_BYTES: usize = MAX_FILE_BYTES / 3 * 4 + 16 * 1024;

pub const CONCURRENT_READS: usize = 2;

const MAX_PLANNED: usize = 8;

const MAX_OBJECTS: usize = 100;

const MAX_NAME_BYTES: usize = 255;

/// The creating request beside the spec.
const ENVELOPE_BYTES: usize = 1024;

/// As in `skein import`.
const SURVEY_ALTITUDES_M: (f64, f64) = (1.0, 120.0);
const SURVEY_SPACINGS_M: (f64, f64) = (1.0, 1000.0);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    name: String,
    /// As base64.
    content: String,
    /// Text of the `.prj` that was dropped with a Shapefile.
    projection: Option<String>,
    areas: Option<Areas>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Areas {
    #[serde(rename_all = "camelCase")]
    Survey {
        /// Above home.
        altitude_meters: f64,
        spacing_meters: f64,
    },
    Inclusion {},
    Exclusion {},
}

/// Objects larger than `largest` bytes are not offered. Errors: in words, with advice.
pub fn read(asked: &Asked, starts: &[Wgs84], largest: usize) -> Result<Value, String> {
    if asked.name.len() > MAX_NAME_BYTES {
        return Err("the name of the file is too long; rename it".to_owned());
    }
    let bytes = BASE64_STANDARD.decode(&asked.content);
    let bytes = bytes.map_err(|why| format!("the file did not come as base64: {why}"))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(format!(
            "the file has {} bytes, and the map reads {}; import it with skein import",
            bytes.len(),
            MAX_FILE_BYTES
        ));
    }
    let projection = asked.projection.clone();
    let made = import::made(&asked.name, bytes, projection, &args(asked.areas)?).map_err(|why| why.to_string())?;
    Ok(shown(made, starts, largest))
}

fn args(areas: Option<Areas>) -> Result<ImportArgs, String> {
    let within = |what: &str, value: f64, (least, most): (f64, f64)| {
        let is_in = (least..=most).contains(&value);
        is_in
            .then_some(Some(value))
            .ok_or_else(|| format!("{what}: give a number from {least} to {most}"))
    };
    let (mut altitude, mut spacing) = (None, None);
    let purpose = match areas {
        Some(Areas::Survey {
            altitude_meters,
            spacing_meters,
        }) => {
            altitude = within("the altitude", altitude_meters, SURVEY_ALTITUDES_M)?;
            spacing = within("the line spacing", spacing_meters, SURVEY_SPACINGS_M)?;
            Some(AreaPurpose::Survey)
        }
        Some(Areas::Inclusion {}) => Some(AreaPurpose::Inclusion),
        Some(Areas::Exclusion {}) => Some(AreaPurpose::Exclusion),
        None => None,
    };
    Ok(ImportArgs {
        files: Vec::new(),
        name: None,
        kinds: Vec::new(),
        // Describes areas of undecided use instead of refusing them.
        check: true,
        output: None,
        mission: MissionChoices::default(),
        purpose,
        altitude,
        spacing,
        autopilot: None,
        only: Vec::new(),
        vehicles: Vec::new(),
    })
}

fn shown(made: Made, starts: &[Wgs84], largest: usize) -> Value {
    let Made {
        kind,
        documents,
        notes: mut said,
        areas,
    } = made;
    let mut features: Vec<Value> = areas.iter().map(|area| feature("area", &polygon(area))).collect();
    let (mut objects, mut planned) = (Vec::new(), 0);
    let listed = documents.iter().filter(|document| document["kind"] != "ConfigMap");
    for document in listed.clone().take(MAX_OBJECTS) {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let kind = document["kind"].as_str().unwrap_or_default();
        let mut object = json!({"kind": kind, "name": name, "spec": document["spec"]});
        match kind {
            "Mission" => {
                planned += 1;
                let flown = (planned <= MAX_PLANNED).then(|| flown(document, &documents, starts));
                match flown.transpose() {
                    Ok(Some(preview)) => {
                        object["text"] = json!(preview.numbers);
                        features.extend(preview.geojson["features"].as_array().cloned().unwrap_or_default());
                    }
                    Ok(None) => features.extend(survey(document)),
                    Err(why) => {
                        said.push(format!("Mission {name} cannot be flown so: {why}"));
                        features.extend(survey(document));
                    }
                }
            }
            "Geofence" => features.extend(fence(document)),
            _ => {}
        }
        match beyond_the_map(document, largest) {
            None => object["canBeMade"] = json!(true),
            Some(why) => said.push(format!(
                "{kind} {name}: {why}; make it with skein import and kubectl apply"
            )),
        }
        objects.push(object);
    }
    let more = listed.count().saturating_sub(MAX_OBJECTS);
    if more > 0 {
        said.push(format!(
            "{more} more objects are not shown; make them with skein import"
        ));
    }
    json!({
        "kind": kind,
        "said": said,
        "hasAreas": !areas.is_empty(),
        "objects": objects,
        "geojson": {"type": "FeatureCollection", "features": features},
    })
}

fn beyond_the_map(document: &Value, largest: usize) -> Option<&'static str> {
    match document["kind"].as_str() {
        Some("Mission") if !document["spec"]["planFrom"].is_null() => {
            Some("its items are kept in a ConfigMap, which the map does not make")
        }
        Some("Mission" | "Geofence") => (document["spec"].to_string().len() > largest.saturating_sub(ENVELOPE_BYTES))
            .then_some("it is larger than what the map makes"),
        _ => Some("the map makes Missions and Geofences only"),
    }
}

fn flown(mission: &Value, documents: &[Value], starts: &[Wgs84]) -> Result<preview::Preview, Failure> {
    let maps = documents.iter().filter(|document| document["kind"] == "ConfigMap");
    let manifest = Manifest::of_documents(maps.chain([mission]).cloned().collect())?;
    let count = usize::try_from(manifest.mission.spec.parallelism).unwrap_or(1);
    preview::of(&manifest, |work| fliers(work, starts, count))
}

fn survey(document: &Value) -> Option<Value> {
    let mission: Mission = serde_json::from_value(document.clone()).ok()?;
    let survey = mission.spec.survey?;
    Some(feature("area", &shapes::survey(&survey.area)))
}

fn fence(document: &Value) -> Vec<Value> {
    let fence = serde_json::from_value::<Geofence>(document.clone());
    let Ok(fence) = fence else { return Vec::new() };
    let include = fence.spec.include.iter().map(|area| ("include", area));
    let all = include.chain(fence.spec.exclude.iter().map(|area| ("exclude", area)));
    all.map(|(kind, area)| feature(kind, &shapes::fence(area))).collect()
}

fn polygon(area: &Area) -> Value {
    let rings = std::iter::once(&area.outer).chain(&area.holes);
    let rings: Vec<Value> = rings
        .map(|corners| {
            let places = corners.iter().chain(corners.first());
            places.map(|at| json!([at.longitude_deg, at.latitude_deg])).collect()
        })
        .collect();
    json!({"type": "Polygon", "coordinates": rings})
}

fn feature(kind: &str, geometry: &Value) -> Value {
    json!({"type": "Feature", "properties": {"kind": kind}, "geometry": geometry})
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan_files::archive::Archive;

    fn asked(name: &str, text: &str, areas: &Value) -> Asked {
        let content = BASE64_STANDARD.encode(text);
        serde_json::from_value(json!({"name": name, "content": content, "areas": areas})).unwrap()
    }

    const FIELD: &str = r#"{"type": "Polygon", "coordinates": [[[8.5456, 47.3977], [8.5476, 47.3977], [8.5476, 47.3987], [8.5456, 47.3977]]]}"#;

    #[test]
    fn an_area_is_drawn_and_described_until_somebody_says_what_it_is() {
        let shown = read(&asked("north field.geojson", FIELD, &Value::Null), &[], 262_144).unwrap();
        assert_eq!((&shown["kind"], &shown["hasAreas"]), (&json!("GeoJSON"), &json!(true)));
        assert_eq!(shown["objects"], json!([]));
        assert!(shown["said"][0].as_str().unwrap().contains("3 corners"), "{shown}");
        let ring = shown["geojson"]["features"][0]["geometry"]["coordinates"][0]
            .as_array()
            .unwrap();
        assert_eq!((ring.len(), &ring[0]), (4, &ring[3]));

        let survey = json!({"survey": {"altitudeMeters": 40, "spacingMeters": 20}});
        let shown = read(&asked("north field.geojson", FIELD, &survey), &[], 262_144).unwrap();
        let mission = &shown["objects"][0];
        assert_eq!(
            (&mission["kind"], &mission["name"], &mission["canBeMade"]),
            (&json!("Mission"), &json!("north-field"), &json!(true)),
            "{shown}"
        );
        assert!(mission["text"].as_str().unwrap().contains("covered"), "{shown}");
        assert_eq!(mission["spec"]["survey"]["altitudeMeters"], 40.0);
        let fence = read(&asked("a.geojson", FIELD, &json!({"exclusion": {}})), &[], 262_144).unwrap();
        assert_eq!(fence["objects"][0]["kind"], "Geofence");
        assert_eq!(fence["geojson"]["features"][0]["properties"]["kind"], "exclude");
    }

    #[test]
    fn a_kmz_and_a_shapefile_with_its_reference_are_drawn() {
        let asked = |name: &str, bytes: &[u8], projection: Option<&str>| Asked {
            name: name.to_owned(),
            content: BASE64_STANDARD.encode(bytes),
            projection: projection.map(str::to_owned),
            areas: None,
        };
        let kmz = include_bytes!("../../../plan-files/samples/north-field.kmz");
        let shown = read(&asked("north-field.kmz", kmz, None), &[], 262_144).unwrap();
        assert_eq!((&shown["kind"], &shown["hasAreas"]), (&json!("KMZ"), &json!(true)));
        assert_eq!(shown["said"][0], "read from the archive: \"doc.kml\"", "{shown}");
        assert_eq!(shown["geojson"]["features"].as_array().map(Vec::len), Some(1));

        let zip = include_bytes!("../../../plan-files/samples/farm.zip");
        let shown = read(&asked("farm.zip", zip, None), &[], 262_144).unwrap();
        assert_eq!(shown["kind"], "a zipped Shapefile");
        assert_eq!(shown["geojson"]["features"].as_array().map(Vec::len), Some(3));

        let mut archive = Archive::open(zip, 10_000).unwrap();
        let entries = archive.entries().unwrap();
        let yard = entries.iter().find(|entry| entry.file_name() == "yard.shp").unwrap();
        let yard = archive.unpack(yard).unwrap();
        let shown = |projection: Option<&str>| read(&asked("yard.shp", &yard, projection), &[], 262_144);
        let has_none = |shown: &Value| shown["said"].to_string().contains("has no .prj file");
        assert!(has_none(&shown(None).unwrap()));
        assert!(!has_none(&shown(Some("GEOGCS[\"GCS_WGS_1984\"]")).unwrap()));
        let why = shown(Some("PROJCS[\"UTM 32N\"]")).unwrap_err();
        assert!(why.contains("are in \"UTM 32N\""), "{why}");
    }

    #[test]
    fn what_the_map_does_not_make_is_shown_with_what_does() {
        let shown = read(
            &asked(
                "x500.param",
                "RTL_ALT,3000\nCOMPASS_OFS_X,12.34\nFS_GCS_ENABLE,5\n",
                &Value::Null,
            ),
            &[],
            262_144,
        )
        .unwrap();
        assert_eq!(shown["objects"][0]["kind"], "ParameterProfile");
        assert_eq!(shown["objects"][0]["canBeMade"], Value::Null);
        assert!(
            shown["said"]
                .to_string()
                .contains("with skein import and kubectl apply"),
            "{shown}"
        );
        let survey = json!({"survey": {"altitudeMeters": 40, "spacingMeters": 20}});
        let small = read(&asked("a.geojson", FIELD, &survey), &[], ENVELOPE_BYTES + 10).unwrap();
        assert_eq!(small["objects"][0]["canBeMade"], Value::Null);
        assert!(
            small["said"].to_string().contains("larger than what the map makes"),
            "{small}"
        );
    }

    #[test]
    fn what_is_wrong_is_said_as_skein_import_says_it() {
        let high = json!({"survey": {"altitudeMeters": 400, "spacingMeters": 20}});
        let why = read(&asked("a.geojson", FIELD, &high), &[], 262_144).unwrap_err();
        assert_eq!(why, "the altitude: give a number from 1 to 120");
        let why = read(
            &asked("a.waypoints", "QGC WPL 110\n0\t1\t0\t16\t0\n", &Value::Null),
            &[],
            262_144,
        )
        .unwrap_err();
        assert!(why.contains("line 2 has 5 values, not 12"), "{why}");
        let broken = Asked {
            name: "a".to_owned(),
            content: "?".to_owned(),
            projection: None,
            areas: None,
        };
        assert!(read(&broken, &[], 262_144).unwrap_err().contains("base64"));
    }
}
