//! Maps in zip archives, and archives that are broken or made to harm.

use super::forms::{clockwise, shapefile};
use crate::archive::{Archive, BadArchive, MOST_ENTRIES};
use crate::area::RawArea;
use crate::recognize::{self, Contents, Recognized, Refused};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::Write as _;

/// Bytes of the end record.
const END: usize = 22;

/// Deflated entries by name.
pub(super) fn zip(entries: &[(&str, impl AsRef<[u8]>)]) -> Vec<u8> {
    let half = |number: usize| u16::try_from(number).unwrap().to_le_bytes();
    let word = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let (mut bytes, mut list): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let content = content.as_ref();
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
        deflate.write_all(content).unwrap();
        let packed = deflate.finish().unwrap();
        let mut checksum = Crc::new();
        checksum.update(content);
        // What stands at the entry and in the list: from the version to the lengths of name and extra field.
        let mut head = vec![20_u8, 0, 0, 8, 8, 0, 0, 0, 0, 0];
        head.extend(checksum.sum().to_le_bytes());
        head.extend([word(packed.len()), word(content.len())].concat());
        head.extend([half(name.len()), half(0)].concat());
        list.extend(
            [
                &b"PK\x01\x02\x14\0"[..],
                &head,
                &[0_u8; 10],
                &word(bytes.len()),
                name.as_bytes(),
            ]
            .concat(),
        );
        bytes.extend([&b"PK\x03\x04"[..], &head, name.as_bytes(), &packed].concat());
    }
    let (at, count) = (word(bytes.len()), half(entries.len()));
    let end = [
        &b"PK\x05\x06\0\0\0\0"[..],
        &count,
        &count,
        &word(list.len()),
        &at,
        &[0_u8, 0],
    ]
    .concat();
    [bytes, list, end].concat()
}

fn kml(name: &str) -> String {
    let corners = "8.545,47.397 8.546,47.397 8.546,47.398 8.545,47.397";
    let ring =
        format!("<outerBoundaryIs><LinearRing><coordinates>{corners}</coordinates></LinearRing></outerBoundaryIs>");
    format!("<kml><Placemark><name>{name}</name><Polygon>{ring}</Polygon></Placemark></kml>")
}

fn areas(found: Recognized) -> Vec<RawArea> {
    match found.contents {
        Contents::Areas(file) => file.areas,
        other => panic!("{other:?}"),
    }
}

fn refused(bytes: &[u8]) -> String {
    recognize::read(bytes, "file", None).unwrap_err().to_string()
}

#[test]
fn of_a_kmz_the_map_is_read_that_google_earth_shows() {
    for (names, expected, left_out) in [
        (
            &["a.kml", "files/legend.png", "doc.kml"][..],
            "doc.kml",
            Some("\"a.kml\""),
        ),
        (
            &["files/doc.kml", "b.kml", "c.KML"],
            "b.kml",
            Some("\"files/doc.kml\", \"c.KML\""),
        ),
        (&["../../export/one.kml"], "../../export/one.kml", None),
    ] {
        let entries: Vec<(&str, String)> = names.iter().map(|name| (*name, kml(name))).collect();
        let found = recognize::read(&zip(&entries), "file", None).unwrap();
        assert_eq!(found.kind, "KMZ");
        assert_eq!(found.notes[0], format!("read from the archive: {expected:?}"));
        let other = found.notes.get(1).map(String::as_str);
        assert_eq!(
            other.map(|note| note.contains(left_out.unwrap())),
            left_out.map(|_| true),
            "{other:?}"
        );
        let areas = areas(found);
        assert_eq!((areas.len(), areas[0].name.as_deref()), (1, Some(expected)));
    }
    // Of both the Shapefile, but where the file is called a KMZ.
    let both = zip(&[
        ("doc.kml", kml("a").into_bytes()),
        ("a.shp", shapefile(&[clockwise(0.0, 0.0, 100.0)])),
    ]);
    for (name, expected) in [("a.zip", "a zipped Shapefile"), ("a.KMZ", "KMZ")] {
        let found = recognize::read(&both, name, None).unwrap();
        assert_eq!(
            (found.kind, found.notes.len()),
            (expected, if name == "a.zip" { 3 } else { 2 })
        );
    }
}

#[test]
fn each_layer_of_a_zipped_shapefile_is_read_with_its_own_reference() {
    let square = |west: f64| shapefile(&[clockwise(west, 0.0, 100.0)]);
    let mut entries = vec![
        ("export/", Vec::new()),
        ("export\\Fields.SHP", square(0.0)),
        ("export\\fields.prj", b"GEOGCS[\"GCS_WGS_1984\"]".to_vec()),
        ("export\\Fields.dbf", vec![3]),
        ("export/yard.shp", square(500.0)),
        ("__MACOSX/export/._yard.shp", vec![0]),
        ("export/._yard.prj", vec![0]),
    ];
    let found = recognize::read(&zip(&entries), "farm.zip", None).unwrap();
    assert_eq!(found.kind, "a zipped Shapefile");
    let [read, reference] = found.notes.as_slice() else {
        panic!("{:?}", found.notes)
    };
    assert_eq!(
        read,
        "read from the archive: \"export/Fields.SHP\", \"export/yard.shp\""
    );
    assert!(
        reference.contains("\"export/yard.shp\" has no .prj file"),
        "{reference}"
    );
    let areas = areas(found);
    let names: Vec<Option<&str>> = areas.iter().map(|area| area.name.as_deref()).collect();
    assert_eq!(names, [Some("Fields"), Some("yard")]);
    assert!((areas[1].polygons[0].outer[0].longitude_deg - 8.55).abs() < 0.002);

    entries.push(("export/yard.prj", b"PROJCS[\"UTM 32N\"]".to_vec()));
    let error = recognize::read(&zip(&entries), "farm.zip", None).unwrap_err();
    let (entry, source) = match error {
        Refused::InArchive { entry, source } => (entry, source),
        other => panic!("{other}"),
    };
    assert_eq!(entry, "export/yard.shp");
    assert!(source.to_string().contains("are in \"UTM 32N\""), "{source}");
}

#[test]
fn an_archive_costs_no_more_than_its_bounds_whatever_it_says() {
    let map = vec![b'x'; 5000];
    let bytes = zip(&[("a.kml", &map), ("b.kml", &map)]);
    let open = |most: usize| Archive::open(&bytes, most).unwrap();
    let entries = open(0).entries().unwrap();
    let too_long = |name: &str, most: usize| {
        Err(BadArchive::TooLong {
            name: name.to_owned(),
            most,
        })
    };
    assert_eq!(open(5000).unpack(&entries[0]), Ok(map.clone()));
    assert_eq!(open(4999).unpack(&entries[0]), too_long("a.kml", 4999));
    let mut together = open(9999);
    assert_eq!(together.unpack(&entries[0]), Ok(map));
    assert_eq!(together.unpack(&entries[1]), too_long("b.kml", 9999));
    // Whatever size the list says.
    let mut bytes = bytes.clone();
    let list = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    bytes[list + 24..list + 28].copy_from_slice(&10_u32.to_le_bytes());
    assert!(Archive::open(&bytes, 4999).unwrap().unpack(&entries[0]).is_err());

    let names: Vec<String> = (0..=MOST_ENTRIES).map(|number| number.to_string()).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    assert!(Archive::open(&zip(&many[1..]), 0).is_ok());
    assert_eq!(Archive::open(&zip(&many), 0).unwrap_err(), BadArchive::TooMany);
}

#[test]
fn an_archive_that_cannot_be_unpacked_is_refused_with_what_to_do() {
    let good = zip(&[("doc.kml", kml("a"))]);
    let end = good.len() - END;
    let list = good.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let patched = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let mut otherwise_packed = patched(list + 10, &[12, 0]);
    otherwise_packed[8] = 12;
    for (bytes, expected) in [
        (
            patched(list + 8, &[1, 8]),
            "\"doc.kml\" in the zip archive has a password",
        ),
        (otherwise_packed, "packed by a method that Skein does not read"),
        (patched(list + 16, &[0; 4]), "\"doc.kml\" in the zip archive is damaged"),
        (patched(list + 20, &[5, 0, 0, 0]), "is damaged"),
        (patched(list + 42, &[0xff; 4]), "is damaged"),
        (patched(list, b"XX"), "the list of files at the end"),
        (patched(end + 10, &[2, 0]), "the list of files at the end"),
        // Zip64.
        (patched(end + 16, &[0xff; 4]), "the list of files at the end"),
        (good[..end].to_vec(), "the list of files at the end"),
        (good[..40].to_vec(), "the list of files at the end"),
        (zip(&[("doc.kml", &good)]), "a zip archive with another archive"),
        (zip(&[("field.kmz", &good)]), "a zip archive with another archive"),
        (zip(&[("survey.plan", "{}")]), "a zip archive with a plan"),
        (zip(&[("word/document.xml", "")]), "without a map in it"),
        (zip(&[("field.dbf", "")]), "without a map in it"),
    ] {
        let said = refused(&bytes);
        assert!(said.contains(expected) && said.contains("; "), "{expected}: {said}");
    }
    let cut = zip(&[("doc.kml", &kml("a")[..56])]);
    let error = recognize::read(&cut, "file", None).unwrap_err();
    assert_eq!(error.to_string(), "\"doc.kml\" in the zip archive cannot be read");
    assert!(
        matches!(error, Refused::InArchive { source, .. } if source.to_string().contains("a part of it is missing"))
    );
}
