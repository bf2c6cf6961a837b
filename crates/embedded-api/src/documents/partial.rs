//! Objects reduced to their metadata: `PartialObjectMetadata`.

use super::list::{ListMeta, join};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::borrow::Borrow;

#[must_use]
pub fn object(object: &Value, version: &str) -> String {
    let empty = Value::Object(Map::new());
    let metadata = object.get("metadata").unwrap_or(&empty);
    format!(r#"{{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/{version}","metadata":{metadata}}}"#)
}

#[must_use]
pub fn list<Item: Borrow<Value>>(objects: impl IntoIterator<Item = Item>, meta: &ListMeta, version: &str) -> Bytes {
    let objects = objects.into_iter();
    let items: Vec<String> = objects.map(|each| object(each.borrow(), version)).collect();
    join(
        "PartialObjectMetadataList",
        &format!("meta.k8s.io/{version}"),
        meta,
        &items,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_metadata_is_left() {
        let boat = json!({"kind": "Boat", "apiVersion": "sea.dev/v1", "metadata": {"name": "a"}, "spec": {"crew": 3}});
        let cut = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}});
        let one: Value = serde_json::from_str(&object(&boat, "v1")).expect("JSON");
        assert_eq!(one, cut);
        let listed = list([&boat], &ListMeta::default(), "v1");
        let listed: Value = serde_json::from_slice(&listed).expect("JSON");
        assert_eq!(listed["kind"], "PartialObjectMetadataList");
        assert_eq!(listed["items"], json!([cut]));
    }
}
