//! Lists of objects: `{"kind":"DroneList","apiVersion":…,"metadata":{…},"items":[…]}`.

use crate::resource::Resource;
use bytes::Bytes;
use serde_json::{Map, Value};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMeta {
    pub resource_version: String,
    pub continue_: Option<String>,
    /// Objects in the next parts, if known.
    pub remaining: Option<u64>,
}

impl ListMeta {
    #[must_use]
    pub fn json(&self) -> Value {
        let mut fields = Map::new();
        if !self.resource_version.is_empty() {
            fields.insert("resourceVersion".to_owned(), self.resource_version.as_str().into());
        }
        if let Some(token) = &self.continue_ {
            fields.insert("continue".to_owned(), token.as_str().into());
        }
        if let Some(count) = self.remaining {
            fields.insert("remainingItemCount".to_owned(), count.into());
        }
        Value::Object(fields)
    }
}

#[must_use]
pub fn assemble<Item: AsRef<[u8]>>(resource: &Resource, meta: &ListMeta, items: &[Item]) -> Bytes {
    let mut meta = meta.clone();
    if resource.custom && meta.continue_.is_none() {
        // Lists of custom kinds state that there is no more, those of built-in kinds do not.
        meta.continue_ = Some(String::new());
    }
    join(&resource.list_kind, &resource.api_version(), &meta, items)
}

#[must_use]
pub(super) fn join<Item: AsRef<[u8]>>(kind: &str, api_version: &str, meta: &ListMeta, items: &[Item]) -> Bytes {
    let length: usize = items.iter().map(|item| item.as_ref().len() + 1).sum();
    let mut out = Vec::with_capacity(length + 256);
    for (before, value) in [
        (r#"{"kind":"#, Value::from(kind)),
        (r#","apiVersion":"#, Value::from(api_version)),
        (r#","metadata":"#, meta.json()),
    ] {
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(value.to_string().as_bytes());
    }
    out.extend_from_slice(br#","items":["#);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item.as_ref());
    }
    out.extend_from_slice(b"]}");
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(meta: &ListMeta, items: &[&str]) -> Value {
        let bytes = join("BoatList", "sea.dev/v1", meta, items);
        serde_json::from_slice(&bytes).expect("JSON")
    }

    #[test]
    fn a_list_holds_its_objects_in_their_order() {
        let meta = ListMeta {
            resource_version: "7".to_owned(),
            ..ListMeta::default()
        };
        assert_eq!(
            parsed(&meta, &[r#"{"a":1}"#, r#"{"b":2}"#]),
            json!({"kind": "BoatList", "apiVersion": "sea.dev/v1", "metadata": {"resourceVersion": "7"},
                   "items": [{"a": 1}, {"b": 2}]})
        );
    }

    #[test]
    fn an_empty_list_has_an_empty_array() {
        assert_eq!(parsed(&ListMeta::default(), &[])["items"], json!([]));
    }

    #[test]
    fn a_part_of_a_list_has_the_token_of_the_next() {
        let meta = ListMeta {
            resource_version: "7".to_owned(),
            continue_: Some("a\"b".to_owned()),
            remaining: Some(3),
        };
        assert_eq!(
            parsed(&meta, &[])["metadata"],
            json!({"resourceVersion": "7", "continue": "a\"b", "remainingItemCount": 3})
        );
    }
}
