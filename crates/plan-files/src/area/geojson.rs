//! GeoJSON (RFC 7946).

use super::{AreaFile, RawArea, RawPolygon};
use ::geojson::{Feature, GeoJson, Geometry, GeometryValue, Position};
use model::units::Wgs84;
use serde::Deserialize as _;
use serde_json::{Deserializer, Value};
use std::collections::BTreeMap;

#[derive(Debug, thiserror::Error)]
pub enum BadGeoJson {
    #[error("the GeoJSON cannot be read; save it again")]
    Broken(#[from] ::geojson::Error),
    /// Another reference system than WGS 84, as files before 2016 could name.
    #[error("the coordinates of the GeoJSON are in {0}; save it in degrees (WGS 84, EPSG:4326)")]
    Reference(String),
}

/// Stands before each text of a sequence (RFC 7464); programs leave it out, too.
pub const SEPARATOR: char = '\u{1e}';

/// GeoJSON texts one after another (RFC 8142), as a list.
#[must_use]
pub fn sequence(text: &str) -> Option<Value> {
    let text = text.replace(SEPARATOR, " ");
    let parts = Deserializer::from_str(&text).into_iter::<Value>();
    let list = Value::Array(parts.collect::<Result<_, _>>().ok()?);
    is_one(&list).then_some(list)
}

#[must_use]
pub fn is_one(json: &Value) -> bool {
    const TYPES: [&str; 9] = [
        "FeatureCollection",
        "Feature",
        "Polygon",
        "MultiPolygon",
        "GeometryCollection",
        "Point",
        "MultiPoint",
        "LineString",
        "MultiLineString",
    ];
    let is_part = |json: &Value| {
        let kind = json.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| TYPES.contains(&kind))
    };
    is_part(json)
        || json
            .as_array()
            .is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}

pub fn read(json: &Value) -> Result<AreaFile, BadGeoJson> {
    let mut file = AreaFile::default();
    let mut others = BTreeMap::new();
    match json {
        Value::Array(parts) => {
            for part in parts {
                part_of(part, &mut file, &mut others)?;
            }
        }
        whole => part_of(whole, &mut file, &mut others)?,
    }
    file.not_taken = others
        .into_iter()
        .map(|(kind, count)| format!("{kind}: {count}"))
        .collect();
    Ok(file)
}

fn part_of(json: &Value, file: &mut AreaFile, others: &mut BTreeMap<&'static str, usize>) -> Result<(), BadGeoJson> {
    check(json)?;
    match GeoJson::deserialize(json).map_err(::geojson::Error::from)? {
        GeoJson::Geometry(geometry) => area(None, &geometry, file, others),
        GeoJson::Feature(feature) => of_feature(&feature, file, others),
        GeoJson::FeatureCollection(all) => {
            for feature in &all.features {
                of_feature(feature, file, others);
            }
        }
    }
    Ok(())
}

/// Takes degrees of WGS 84, wherever in the text a reference is named.
fn check(json: &Value) -> Result<(), BadGeoJson> {
    if let Some(name) = json.get("crs").and_then(reference) {
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        // "WGS 84 / UTM zone 32N" is in meters.
        let after = ["WGS84", "WGS 84"]
            .iter()
            .find_map(|datum| Some(name.split_once(*datum)?.1.trim_start()));
        let is_named = after.is_some_and(|after| !after.starts_with('/') && !has(&["UTM", "Mercator"]));
        if !has(&["CRS84", "CRS:84", "OGC::84", "4326", "4979"]) && !is_named {
            return Err(BadGeoJson::Reference(name));
        }
    }
    for list in ["features", "geometries"] {
        let parts = json.get(list).and_then(Value::as_array);
        parts.into_iter().flatten().try_for_each(check)?;
    }
    json.get("geometry").map_or(Ok(()), check)
}

/// Name, number or address.
fn reference(crs: &Value) -> Option<String> {
    let properties = crs.get("properties").unwrap_or(crs);
    let text = ["name", "href"].iter().find_map(|key| properties.get(*key)?.as_str());
    let code = properties
        .get("code")
        .filter(|code| code.is_number() || code.is_string());
    match (text.or(crs.as_str()), code) {
        (Some(text), _) => Some(text.to_owned()),
        (None, Some(code)) => Some(format!("EPSG:{}", code.to_string().trim_matches('"'))),
        (None, None) => None,
    }
}

fn of_feature(feature: &Feature, file: &mut AreaFile, others: &mut BTreeMap<&'static str, usize>) {
    let name = ["name", "Name", "NAME", "title"]
        .iter()
        .find_map(|key| feature.property(key)?.as_str());
    match &feature.geometry {
        Some(geometry) => area(name, geometry, file, others),
        None => *others.entry("features without a geometry").or_default() += 1,
    }
}

fn area(name: Option<&str>, geometry: &Geometry, file: &mut AreaFile, others: &mut BTreeMap<&'static str, usize>) {
    let mut polygons = Vec::new();
    collect(geometry, &mut polygons, others);
    if !polygons.is_empty() {
        let name = name.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        file.areas.push(RawArea { name, polygons });
    }
}

fn collect(geometry: &Geometry, polygons: &mut Vec<RawPolygon>, others: &mut BTreeMap<&'static str, usize>) {
    let other = match &geometry.value {
        GeometryValue::Polygon { coordinates } => return polygons.extend(polygon(coordinates)),
        GeometryValue::MultiPolygon { coordinates } => {
            return polygons.extend(coordinates.iter().filter_map(|rings| polygon(rings)));
        }
        GeometryValue::GeometryCollection { geometries } => {
            for geometry in geometries {
                collect(geometry, polygons, others);
            }
            return;
        }
        GeometryValue::Point { .. } | GeometryValue::MultiPoint { .. } => "points",
        GeometryValue::LineString { .. } | GeometryValue::MultiLineString { .. } => "lines",
    };
    *others.entry(other).or_default() += 1;
}

fn polygon(rings: &[Vec<Position>]) -> Option<RawPolygon> {
    let mut rings = rings.iter().map(|ring| ring.iter().map(place).collect());
    Some(RawPolygon {
        outer: rings.next()?,
        holes: rings.collect(),
    })
}

fn place(position: &Position) -> Wgs84 {
    let number = |index: usize| position.as_slice().get(index).copied().unwrap_or(f64::NAN);
    Wgs84 {
        latitude_deg: number(1),
        longitude_deg: number(0),
    }
}
