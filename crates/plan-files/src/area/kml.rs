//! KML, as Google Earth and QGroundControl write it.

use super::{AreaFile, RawArea, RawPolygon};
use crate::text::number;
use model::units::Wgs84;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, Event};
use std::collections::BTreeMap;

#[derive(Debug, thiserror::Error)]
pub enum BadKml {
    #[error("the KML cannot be read at byte {at}; save it again")]
    Broken { at: u64, source: quick_xml::Error },
    /// The cut part could hold a polygon.
    #[error("the KML ends inside of <{0}>: a part of it is missing; save or copy it again")]
    Cut(String),
    #[error("the KML has tags more than {DEEPEST} deep in one another at byte {at}; save it again")]
    Deep { at: u64 },
    #[error("the KML has the corner {0:?}, which is not longitude,latitude in degrees; save it again")]
    Corner(String),
}

/// Folders in folders need a few levels.
const DEEPEST: usize = 200;

#[must_use]
pub fn is_one(text: &str) -> bool {
    let text = text.trim_start();
    let start: String = text.chars().take(4000).collect();
    // Some files have a remark before the first tag.
    let first = start.find('<').unwrap_or_default();
    let is_xml = start.contains('<') && (first == 0 || start.contains("<?xml"));
    is_xml && (start.contains("<kml") || is_first_tag_kml(text))
}

/// It may stand after a long comment, and have a prefix.
fn is_first_tag_kml(text: &str) -> bool {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                let name = tag.local_name();
                let name: &[u8] = name.as_ref();
                return name == b"kml";
            }
            Ok(Event::Eof) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}

/// Blanks between corners, and letters of names, may be written as references.
fn letters(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(letter)) = reference.resolve_char_ref() {
        return letter.to_string();
    }
    let name = String::from_utf8_lossy(reference);
    resolve_predefined_entity(&name).unwrap_or_default().to_owned()
}

pub fn read(text: &str) -> Result<AreaFile, BadKml> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut reading = Reading::default();
    loop {
        let at = reader.buffer_position();
        match reader.read_event().map_err(|source| BadKml::Broken { at, source })? {
            Event::Start(_) if reading.path.len() >= DEEPEST => return Err(BadKml::Deep { at }),
            Event::Start(tag) => reading.begin(&String::from_utf8_lossy(tag.local_name().as_ref())),
            Event::End(tag) => reading.end(&String::from_utf8_lossy(tag.local_name().as_ref()))?,
            Event::Text(text) => reading.text.push_str(&String::from_utf8_lossy(&text)),
            Event::GeneralRef(reference) => reading.text.push_str(&letters(&reference)),
            Event::CData(text) => reading.text.push_str(&String::from_utf8_lossy(&text)),
            Event::Eof => match reading.path.pop() {
                Some(open) => return Err(BadKml::Cut(open)),
                None => break,
            },
            _ => {}
        }
    }
    reading.file.not_taken = reading
        .others
        .iter()
        .map(|(kind, count)| format!("{kind}: {count}"))
        .collect();
    Ok(reading.file)
}

#[derive(Default)]
struct Reading {
    path: Vec<String>,
    text: String,
    name: Option<String>,
    polygons: Vec<RawPolygon>,
    file: AreaFile,
    others: BTreeMap<&'static str, usize>,
}

impl Reading {
    fn begin(&mut self, tag: &str) {
        match tag {
            "Placemark" => self.name = None,
            "Polygon" => self.polygons.push(RawPolygon::default()),
            "LineString" | "Track" => *self.others.entry("lines").or_default() += 1,
            "Point" => *self.others.entry("points").or_default() += 1,
            "LinearRing" if !self.path.iter().any(|outer| outer == "Polygon") => {
                *self.others.entry("closed lines").or_default() += 1;
            }
            // Of DJI (WPML).
            "missionConfig" => *self.others.entry("missions of DJI").or_default() += 1,
            "NetworkLink" => *self.others.entry("links to other files").or_default() += 1,
            _ => {}
        }
        self.text.clear();
        self.path.push(tag.to_owned());
    }

    fn end(&mut self, tag: &str) -> Result<(), BadKml> {
        let text = std::mem::take(&mut self.text);
        self.path.pop();
        let within = |tag: &str| self.path.iter().rev().any(|outer| outer == tag);
        match tag {
            "name" if self.path.last().is_some_and(|outer| outer == "Placemark") => {
                self.name = Some(text.trim().to_owned()).filter(|name| !name.is_empty());
            }
            "coordinates" if within("Polygon") => {
                let ring = corners(&text)?;
                let outer = !within("innerBoundaryIs");
                let is_drawn = self.polygons.last().is_some_and(|polygon| !polygon.outer.is_empty());
                if outer && is_drawn {
                    // Some programs write several outer edges into one polygon.
                    self.polygons.push(RawPolygon {
                        outer: ring,
                        holes: Vec::new(),
                    });
                } else if let Some(polygon) = self.polygons.last_mut() {
                    if outer {
                        polygon.outer = ring;
                    } else {
                        polygon.holes.push(ring);
                    }
                }
            }
            "Placemark" => self.area(),
            // A geometry without a placemark.
            "Polygon" if !within("Placemark") => self.area(),
            _ => {}
        }
        Ok(())
    }

    fn area(&mut self) {
        let polygons = std::mem::take(&mut self.polygons);
        if !polygons.is_empty() {
            let name = self.name.take();
            self.file.areas.push(RawArea { name, polygons });
        }
    }
}

/// Tuples with blanks between them; some programs put blanks after commas, too.
fn corners(text: &str) -> Result<Vec<Wgs84>, BadKml> {
    let mut joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for comma in [", ", " ,"] {
        joined = joined.replace(comma, ",");
    }
    let corner = |tuple: &str| {
        // More than an altitude: decimal commas, or two corners without a blank between them.
        let is_short = tuple.trim_end_matches(',').split(',').count() <= 3;
        let mut numbers = tuple.split(',').map(number);
        let place = numbers.next().flatten().zip(numbers.next().flatten());
        place
            .filter(|_| is_short)
            .map(|(longitude_deg, latitude_deg)| Wgs84 {
                latitude_deg,
                longitude_deg,
            })
            .ok_or_else(|| BadKml::Corner(tuple.chars().take(40).collect()))
    };
    joined
        .split(' ')
        .filter(|tuple| !tuple.is_empty())
        .map(corner)
        .collect()
}
