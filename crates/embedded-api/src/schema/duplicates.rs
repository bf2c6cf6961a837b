//! Fields that occur twice in a JSON document: a parsed document has only the last one.

use super::path::Path;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

const MOST: usize = 100;

/// Paths in document order: `spec.replicas`. Empty for a document that cannot be read: reading it reports why.
#[must_use]
pub fn duplicates(json: &[u8]) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    let mut reader = serde_json::Deserializer::from_slice(json);
    let walk = Walk {
        at: Path::ROOT,
        found: &found,
    };
    match walk.deserialize(&mut reader) {
        Ok(()) => found.into_inner(),
        Err(_) => Vec::new(),
    }
}

/// Writes a path only for a report, so that a document with long names costs no more than its length.
struct Walk<'a> {
    at: Path<'a>,
    found: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen: HashSet<String> = HashSet::new();
        let mut reported: HashSet<String> = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let at = self.at.field(&name);
            if seen.contains(&name) && reported.insert(name.clone()) {
                let mut found = self.found.borrow_mut();
                if found.len() < MOST {
                    found.push(at.text());
                }
            }
            map.next_value_seed(Walk { at, found: self.found })?;
            seen.insert(name);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let at = self.at.index(index);
            if items.next_element_seed(Walk { at, found: self.found })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_field_is_reported_at_its_second_place() {
        let cases: [(&str, &[&str]); 6] = [
            (r#"{"a": 1, "b": 2}"#, &[]),
            (r#"{"spec": {"replicas": 1, "replicas": 2}}"#, &["spec.replicas"]),
            (
                r#"{"m": {"n": "x", "n": "y", "l": {"a": "1", "a": "2"}}, "s": {"a": 1}, "s": {"b": [{"c": 1, "c": 2}]}}"#,
                &["m.n", "m.l.a", "s", "s.b[0].c"],
            ),
            (r#"{"a": 1, "a": 2, "a": 3}"#, &["a"]),
            (r#"{"a": {"x": 1}, "b": {"x": 1}}"#, &[]),
            (r#"[{"a": null, "a": true}]"#, &["[0].a"]),
        ];
        for (json, expected) in cases {
            assert_eq!(duplicates(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn a_document_that_cannot_be_read_has_none() {
        assert_eq!(duplicates(br#"{"a": 1, "a": "#), [""; 0]);
        assert_eq!(duplicates(b""), [""; 0]);
    }

    #[test]
    fn no_more_than_a_hundred_are_reported() {
        let fields: Vec<String> = (0..300).map(|each| format!(r#""f{}": 1"#, each / 2)).collect();
        let json = format!("{{{}}}", fields.join(", "));
        assert_eq!(duplicates(json.as_bytes()).len(), 100);
    }
}
