//! Maps in zip archives: a KMZ, as Google Earth saves it, and a zipped Shapefile of one layer or several.

use super::{Contents, LONGEST_AREAS, Recognized, Refused};
use crate::archive::{self, Archive, Entry};
use crate::area::{AreaFile, RawArea};
use crate::text;

/// Names in one note.
const MOST_NAMED: usize = 5;

pub(super) fn read(bytes: &[u8], name: &str) -> Result<Recognized, Refused> {
    if name.to_ascii_lowercase().ends_with(".skyc") {
        return Err(Refused::Skybrush);
    }
    if bytes.len() > LONGEST_AREAS {
        return Err(Refused::TooLong(bytes.len(), LONGEST_AREAS));
    }
    let mut archive = Archive::open(bytes, LONGEST_AREAS)?;
    let entries = archive.entries()?;
    let all = |ending: &str| -> Vec<&Entry> { entries.iter().filter(|entry| entry.ends(ending)).collect() };
    if entries.iter().any(|entry| entry.file_name() == "show.json") {
        return Err(Refused::Skybrush);
    }
    // It holds KML, too.
    if !all("wpml").is_empty() {
        return Err(Refused::Other(
            "a mission of DJI (WPML)",
            "a plan of a ground station, or its area as KML",
        ));
    }
    let (maps, layers) = (all("kml"), all("shp"));
    let is_kmz = layers.is_empty() || (name.to_ascii_lowercase().ends_with(".kmz") && !maps.is_empty());
    let kind = if is_kmz { "KMZ" } else { "a zipped Shapefile" };
    let taken: Vec<&Entry> = if is_kmz {
        main_map(&maps).into_iter().collect()
    } else {
        layers
    };
    if taken.is_empty() {
        let others = [
            ("geojson", "GeoJSON"),
            ("plan", "a plan"),
            ("zip", "another archive"),
            ("kmz", "another archive"),
        ];
        let other = others.iter().find(|(ending, _)| !all(ending).is_empty());
        return Err(other.map_or(Refused::NoMap, |&(_, what)| Refused::Archive(what)));
    }
    let mut notes = vec![format!("read from the archive: {}", names(&taken))];
    let mut file = AreaFile::default();
    for entry in &taken {
        let projection = projection(entry, &entries).filter(|_| !is_kmz);
        if !is_kmz && projection.is_none() {
            notes.push(format!(
                "the Shapefile {:?} has no .prj file beside it: its coordinates are taken for degrees of WGS 84",
                entry.name
            ));
        }
        let projection = projection.map(|projection| archive.unpack(projection)).transpose()?;
        let projection = projection.map(|bytes| text::decode(&bytes));
        let mut found = areas(&archive.unpack(entry)?, entry, projection.as_deref())?;
        if taken.len() > 1 {
            name_by_layer(&mut found.areas, entry);
        }
        file.areas.extend(found.areas);
        file.not_taken.extend(found.not_taken);
    }
    let is_map = |entry: &Entry| {
        ["kml", "kmz", "shp", "zip", "geojson"]
            .iter()
            .any(|ending| entry.ends(ending))
    };
    let others: Vec<&Entry> = entries
        .iter()
        .filter(|entry| is_map(entry) && !taken.contains(entry))
        .collect();
    if !others.is_empty() {
        notes.push(format!(
            "left out of the archive: {}; unpack it and import these by themselves",
            names(&others)
        ));
    }
    Ok(Recognized {
        kind,
        contents: Contents::Areas(file),
        text: String::new(),
        notes,
    })
}

/// As Google Earth chooses: doc.kml, else the first at the root.
fn main_map<'a>(maps: &[&'a Entry]) -> Option<&'a Entry> {
    let mut all = maps.iter().copied();
    let doc = all.clone().find(|entry| entry.name.eq_ignore_ascii_case("doc.kml"));
    let at_root = all.clone().find(|entry| !entry.name.contains('/'));
    doc.or(at_root).or_else(|| all.next())
}

fn projection<'a>(entry: &Entry, entries: &'a [Entry]) -> Option<&'a Entry> {
    let (own, _) = entry.name.rsplit_once('.')?;
    let beside = format!("{own}.prj");
    entries.iter().find(|other| other.name.eq_ignore_ascii_case(&beside))
}

fn areas(bytes: &[u8], entry: &Entry, projection: Option<&str>) -> Result<AreaFile, Refused> {
    if archive::is_one(bytes) {
        return Err(Refused::Archive("another archive"));
    }
    let found = super::read(bytes, &entry.name, projection).map_err(|why| Refused::InArchive {
        entry: entry.name.clone(),
        source: Box::new(why),
    })?;
    match found.contents {
        Contents::Areas(areas) => Ok(areas),
        Contents::Plan(_) => Err(Refused::Archive("a plan")),
        Contents::Parameters(_) => Err(Refused::Archive("parameters")),
    }
}

fn name_by_layer(areas: &mut [RawArea], entry: &Entry) {
    let layer = entry.file_name().rsplit_once('.').map_or("", |(layer, _)| layer);
    let is_alone = areas.len() == 1;
    for (number, area) in areas.iter_mut().enumerate() {
        area.name = Some(if is_alone {
            layer.to_owned()
        } else {
            format!("{layer} {}", number + 1)
        });
    }
}

/// Quoted: a name may hold any letters.
fn names(entries: &[&Entry]) -> String {
    let named = entries.iter().take(MOST_NAMED).map(|entry| format!("{:?}", entry.name));
    let mut words = named.collect::<Vec<_>>().join(", ");
    if entries.len() > MOST_NAMED {
        words += &format!(" and {} more", entries.len() - MOST_NAMED);
    }
    words
}
