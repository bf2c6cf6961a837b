//! The kind of a file, by its content.

mod zipped;

use crate::archive::{self, BadArchive};
use crate::area::{AreaFile, geojson, kml, shapes};
use crate::parameters::{self, BadParameters, ParameterFile};
use crate::{LONGEST, Plan, Unreadable, fence, looks_like_json, qgc, text, wpl};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub const SHAPEFILE: &str = "a Shapefile";

/// Endings of what stands beside a `.shp` under its name: index, attributes, reference, code page, and what programs add.
const BESIDE_SHAPES: [&str; 13] = [
    "shx", "dbf", "prj", "cpg", "qpj", "qmd", "qml", "qix", "sbn", "sbx", "fbn", "fbx", "atx",
];

pub const LONGEST_AREAS: usize = 32 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    Plan(Box<Plan>),
    Parameters(ParameterFile),
    Areas(AreaFile),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Recognized {
    pub kind: &'static str,
    pub contents: Contents,
    /// Empty for binary files.
    pub text: String,
    /// Files of an archive that were read, and those that were not.
    pub notes: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("the file is empty; give a plan, waypoints, a fence, parameters or an area")]
    Empty,
    #[error("the file has {}; divide it", length(*.0, *.1))]
    TooLong(usize, usize),
    #[error(
        "the file is a Skybrush show (.skyc), and Skein flies no shows; fly it with Skybrush, or draw the places as a formation (docs/concepts/formation.md)"
    )]
    Skybrush,
    #[error("the file is only a part of a Shapefile; import the .shp file beside it (the .prj file is read with it)")]
    PartOfShapefile,
    #[error("the file is a zip archive with {0}; unpack it and import that")]
    Archive(&'static str),
    #[error(
        "the file is a zip archive without a map in it; give a KMZ, a zipped Shapefile, or one of the files that Skein reads by themselves"
    )]
    NoMap,
    #[error("{entry:?} in the zip archive cannot be read")]
    InArchive { entry: String, source: Box<Refused> },
    #[error("the file is packed ({0}); unpack it and import what is in it")]
    Packed(&'static str),
    #[error("the file is a web page, and not the file that it shows; download that itself (GitHub: Raw)")]
    WebPage,
    #[error("the file only says where Git LFS keeps the file; fetch that itself with git lfs pull")]
    LfsPointer,
    #[error(
        "the file is {0}; import the mission, fence or parameters that it was flown with, saved by a ground station"
    )]
    Log(&'static str),
    #[error("the file holds Kubernetes objects already; apply it with kubectl apply -f")]
    Objects,
    /// Known kind that is not read, and the kind to save it as.
    #[error("the file is {0}; save it as {1}")]
    Other(&'static str, &'static str),
    #[error(
        "the file is of no kind that Skein reads: a QGroundControl plan, QGC WPL 110, a fence or rally points of Mission Planner or MAVProxy, parameters, KML, GeoJSON, or a Shapefile; save it as one of these"
    )]
    Unknown,
    #[error(transparent)]
    Plan(#[from] Unreadable),
    #[error(transparent)]
    List(#[from] fence::BadList),
    #[error(transparent)]
    Parameters(#[from] BadParameters),
    #[error(transparent)]
    GeoJson(#[from] geojson::BadGeoJson),
    #[error(transparent)]
    Kml(#[from] kml::BadKml),
    #[error(transparent)]
    Shapes(#[from] shapes::BadShapes),
    #[error(transparent)]
    Zip(#[from] BadArchive),
    #[error("the file is JSON that is broken; save it again")]
    Json(#[source] serde_json::Error),
}

/// Of a longer file no more than one byte is read.
fn length(bytes: usize, most: usize) -> String {
    if bytes > LONGEST_AREAS {
        format!("more than {} MiB", LONGEST_AREAS / 1024 / 1024)
    } else {
        format!("{bytes} bytes, more than {most} of this kind")
    }
}

/// The `.shp` among `given` to which the file at `path` belongs, by their names: the two are one Shapefile.
#[must_use]
pub fn shapefile_of<'a>(path: &Path, given: &'a [PathBuf]) -> Option<&'a Path> {
    let is_part = ends(path, &BESIDE_SHAPES);
    // ArcGIS writes field.shp.xml.
    let is_description = ends(path, &["xml"]);
    let own = path.with_extension("");
    given.iter().map(PathBuf::as_path).find(|shapes| {
        let same_name = is_part && own == shapes.with_extension("");
        ends(shapes, &["shp"]) && (same_name || (is_description && own == **shapes))
    })
}

fn ends(path: &Path, endings: &[&str]) -> bool {
    path.extension()
        .is_some_and(|own| endings.iter().any(|ending| own.eq_ignore_ascii_case(ending)))
}

/// `name` counts only where the content says nothing; `projection` is the text of a Shapefile's `.prj`.
pub fn read(bytes: &[u8], name: &str, projection: Option<&str>) -> Result<Recognized, Refused> {
    if shapes::is_index(bytes, name) {
        return Err(Refused::PartOfShapefile);
    }
    if shapes::is_one(bytes) {
        if bytes.len() > LONGEST_AREAS {
            return Err(Refused::TooLong(bytes.len(), LONGEST_AREAS));
        }
        let contents = Contents::Areas(shapes::read(bytes, projection)?);
        return Ok(recognized(SHAPEFILE, contents, String::new()));
    }
    if archive::is_one(bytes) {
        return zipped::read(bytes, name);
    }
    let is_show = name.to_ascii_lowercase().ends_with(".skyc");
    // The end of an archive, and nothing before it.
    if bytes.starts_with(b"PK\x05\x06") {
        return Err(if is_show { Refused::Skybrush } else { Refused::Empty });
    }
    if let Some(refused) = binary(bytes) {
        return Err(refused);
    }
    if bytes.len() > LONGEST_AREAS {
        return Err(Refused::TooLong(bytes.len(), LONGEST_AREAS));
    }
    let text = text::decode(bytes);
    if text.trim().is_empty() {
        return Err(Refused::Empty);
    }
    if is_show {
        return Err(Refused::Skybrush);
    }
    if text.trim_start().starts_with("version https://git-lfs.github.com/") {
        return Err(Refused::LfsPointer);
    }
    if kml::is_one(&text) {
        let contents = Contents::Areas(kml::read(&text)?);
        return Ok(recognized("KML", contents, text));
    }
    // A list of GeoJSON; other texts begin with a bracket, too.
    if let Some(list) = text.trim_start().strip_prefix('[') {
        match serde_json::from_str::<Value>(&text) {
            Ok(json) if geojson::is_one(&json) => {
                let contents = Contents::Areas(geojson::read(&json)?);
                return Ok(recognized("GeoJSON", contents, text));
            }
            Err(error) if list.trim_start().starts_with('{') => return Err(Refused::Json(error)),
            _ => {}
        }
    }
    if looks_like_json(&text) || text.trim_start().starts_with(geojson::SEPARATOR) {
        let json: Value = match serde_json::from_str(&text) {
            Ok(json) => json,
            Err(error) => geojson::sequence(&text).ok_or(Refused::Json(error))?,
        };
        if geojson::is_one(&json) {
            let contents = Contents::Areas(geojson::read(&json)?);
            return Ok(recognized("GeoJSON", contents, text));
        }
        if json.get("kind").is_some() && json.get("apiVersion").is_some() {
            return Err(Refused::Objects);
        }
        let kind = match json.get("fileType").and_then(Value::as_str) {
            Some("Plan") => "a QGroundControl plan",
            Some("GeoFence") => "a geofence of QGroundControl",
            Some("RallyPoints") => "rally points of QGroundControl",
            Some("Mission") => "a QGroundControl mission",
            None if json.get("items").is_some() => "a QGroundControl mission",
            _ if json.get("type").and_then(Value::as_str) == Some("Topology") => {
                return Err(Refused::Other("TopoJSON", "GeoJSON"));
            }
            _ if json.get("geometryType").is_some() && json.get("features").is_some() => {
                return Err(Refused::Other("JSON of Esri", "GeoJSON"));
            }
            _ => return Err(Refused::Unknown),
        };
        return plan(kind, &text, |text| Ok(qgc::read(text).map_err(Unreadable::from)?));
    }
    // All other kinds are of lines, and short.
    if text.len() > LONGEST {
        return Err(Refused::TooLong(text.len(), LONGEST));
    }
    if wpl::is_one(&text) {
        return plan("QGC WPL 110", &text, |text| {
            Ok(wpl::read(text).map_err(Unreadable::from)?)
        });
    }
    if fence::is_rally(&text) {
        return plan("a list of rally points", &text, |text| Ok(fence::read_rally(text)));
    }
    if fence::is_list(&text) {
        return plan("a list of the places of a fence", &text, |text| {
            Ok(fence::read_list(text)?)
        });
    }
    if text.trim_start().starts_with("FMT, ") {
        return Err(Refused::Log("a flight log of ArduPilot, as text"));
    }
    if parameters::is_one(&text) {
        let contents = Contents::Parameters(parameters::read(&text)?);
        return Ok(recognized("a parameter file", contents, text));
    }
    Err(other(&text, name))
}

/// A QGroundControl plan without its mission, for the fence of one whose mission cannot be read.
#[must_use]
pub fn read_without_mission(bytes: &[u8]) -> Option<Recognized> {
    let text = text::decode(bytes);
    if text.len() > LONGEST {
        return None;
    }
    let plan = qgc::read_without_mission(&text).ok()?;
    let contents = Contents::Plan(Box::new(plan));
    Some(recognized("a QGroundControl plan", contents, text))
}

const fn recognized(kind: &'static str, contents: Contents, text: String) -> Recognized {
    Recognized {
        kind,
        contents,
        text,
        notes: Vec::new(),
    }
}

fn plan(kind: &'static str, text: &str, read: impl Fn(&str) -> Result<Plan, Refused>) -> Result<Recognized, Refused> {
    if text.len() > LONGEST {
        return Err(Refused::TooLong(text.len(), LONGEST));
    }
    Ok(recognized(kind, Contents::Plan(Box::new(read(text)?)), text.to_owned()))
}

fn binary(bytes: &[u8]) -> Option<Refused> {
    if bytes.starts_with(b"ULog") {
        return Some(Refused::Log("a flight log of PX4 (ULog)"));
    }
    if bytes.starts_with(&[0xa3, 0x95]) {
        return Some(Refused::Log("a flight log of ArduPilot (DataFlash)"));
    }
    let packed = [
        (&b"\x1f\x8b"[..], "gzip"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"Rar!\x1a\x07", "rar"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ];
    if let Some((_, program)) = packed.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Some(Refused::Packed(program));
    }
    bytes
        .starts_with(b"%PDF")
        .then_some(Refused::Other("a PDF", "a plan, KML or GeoJSON"))
}

/// Files often taken for a supported kind.
fn other(text: &str, name: &str) -> Refused {
    let start = text.trim_start();
    let head: String = start.chars().take(2000).collect();
    if head.contains("<gpx") {
        return Refused::Other("a GPX track", "QGC WPL 110, or as a polygon in KML or GeoJSON");
    }
    if head.contains("apiVersion:") && head.contains("kind:") {
        return Refused::Objects;
    }
    if head.starts_with("latitude,longitude") {
        return Refused::Other("a mission of Litchi (CSV)", "a QGroundControl plan or QGC WPL 110");
    }
    if start.starts_with("#!/bin/sh") || head.contains("param set") {
        return Refused::Other("a start script of PX4", "a parameter file of QGroundControl");
    }
    let lower = head.to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.contains("<html") {
        return Refused::WebPage;
    }
    if start.starts_with('<') {
        return Refused::Other("XML, but not KML", "KML");
    }
    if ends(Path::new(name), &BESIDE_SHAPES) {
        return Refused::PartOfShapefile;
    }
    let ends = |ending: &str| name.to_ascii_lowercase().ends_with(ending);
    // A fence or a parameter file with one bad line is named by that line.
    if ends(".fen")
        && let Err(error) = fence::read_list(text)
    {
        return error.into();
    }
    if ends(".param") || ends(".parm") || ends(".params") {
        return match parameters::read(text) {
            Err(error) => error.into(),
            Ok(_) => Refused::Unknown,
        };
    }
    if ends(".waypoints") || ends(".mission") || ends(".plan") {
        return Unreadable::NoFormat.into();
    }
    Refused::Unknown
}
