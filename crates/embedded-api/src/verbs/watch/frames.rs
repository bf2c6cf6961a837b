//! Frames of a watch: one JSON document and a newline each.

use crate::documents::accept::Shape;
use crate::refusal::Refusal;
use crate::resource::Resource;
use bytes::Bytes;
use serde_json::{Value, json};

pub(super) fn event(type_: &str, object: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(object.len() + type_.len() + 24);
    frame.extend_from_slice(br#"{"type":""#);
    frame.extend_from_slice(type_.as_bytes());
    frame.extend_from_slice(br#"","object":"#);
    frame.extend_from_slice(object);
    frame.extend_from_slice(b"}\n");
    frame.into()
}

/// Everything up to `revision` was sent, with `initial_end` also the initial objects.
pub(super) fn bookmark(resource: &Resource, shape: Shape, revision: u64, initial_end: bool) -> Bytes {
    let (api_version, kind) = match shape {
        Shape::Partial(version) | Shape::PartialList(version) => {
            (format!("meta.k8s.io/{version}"), "PartialObjectMetadata")
        }
        Shape::Whole | Shape::Table(_) | Shape::AggregatedDiscovery => (resource.api_version(), &*resource.kind),
    };
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if initial_end {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let object: Value = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
    event("BOOKMARK", object.to_string().as_bytes())
}

pub(super) fn error(refusal: &Refusal) -> Bytes {
    event("ERROR", refusal.document().to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::tests::testing;

    fn parsed(frame: &Bytes) -> Value {
        assert_eq!(frame.last(), Some(&b'\n'));
        serde_json::from_slice(frame).expect("JSON")
    }

    #[test]
    fn an_event_holds_the_object_as_it_is() {
        let frame = event("ADDED", br#"{"a": 1}"#);
        assert_eq!(&*frame, b"{\"type\":\"ADDED\",\"object\":{\"a\": 1}}\n");
    }

    #[test]
    fn a_bookmark_has_a_revision_and_nothing_else() {
        let resource = testing::thing(true);
        let expected = json!({"type": "BOOKMARK", "object": {
            "kind": "Thing", "apiVersion": "a.dev/v1", "metadata": {"resourceVersion": "7"},
        }});
        assert_eq!(parsed(&bookmark(&resource, Shape::Whole, 7, false)), expected);
        let end = parsed(&bookmark(&resource, Shape::Partial("v1"), 7, true));
        assert_eq!(end["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(
            end["object"]["metadata"]["annotations"],
            json!({"k8s.io/initial-events-end": "true"})
        );
    }

    #[test]
    fn an_error_is_a_status() {
        let frame = parsed(&error(&Refusal::expired("too old")));
        assert_eq!(frame["type"], "ERROR");
        assert_eq!(frame["object"]["code"], 410);
    }
}
