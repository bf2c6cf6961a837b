//! Objects as an API server writes them in protobuf, and the same objects in JSON.

use super::*;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

const SAMPLES: [(&str, &str); 5] = [
    (
        include_str!("samples/access_review.base64"),
        include_str!("samples/access_review.json"),
    ),
    (include_str!("samples/event.base64"), include_str!("samples/event.json")),
    (
        include_str!("samples/event_of_events_k8s_io.base64"),
        include_str!("samples/event_of_events_k8s_io.json"),
    ),
    (include_str!("samples/lease.base64"), include_str!("samples/lease.json")),
    (
        include_str!("samples/namespace.base64"),
        include_str!("samples/namespace.json"),
    ),
];

fn bytes(base64: &str) -> Vec<u8> {
    let joined: String = base64.split_whitespace().collect();
    BASE64_STANDARD.decode(joined).expect("base64")
}

fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let length = u8::try_from(bytes.len()).expect("short");
        [&[number << 3 | 2, length], bytes].concat()
    };
    let type_ = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &type_), field(2, raw)].concat()
}

#[test]
fn what_an_api_server_writes_in_protobuf_reads_as_what_it_writes_in_json() {
    for (protobuf, json) in SAMPLES {
        let expected: Value = serde_json::from_str(json).expect("JSON");
        let mut found = read(&bytes(protobuf)).expect("protobuf");
        // The two answers were recorded a moment apart.
        for entry in found["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
            entry["time"] = expected["metadata"]["managedFields"][0]["time"].clone();
        }
        let time = expected["metadata"]["creationTimestamp"].clone();
        if time.is_string() {
            found["metadata"]["creationTimestamp"] = time;
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn options_of_a_deletion_are_read_under_every_version() {
    let raw = [0x08, 0x00, 0x22, 0x06, b'O', b'r', b'p', b'h', b'a', b'n'];
    let options = read(&envelope("coordination.k8s.io/v1", "DeleteOptions", &raw)).expect("options");
    assert_eq!(options["gracePeriodSeconds"], 0);
    assert_eq!(options["propagationPolicy"], "Orphan");
}

#[test]
fn a_field_or_kind_that_is_not_known_is_refused_and_never_dropped() {
    let error = read(&envelope("v1", "Namespace", &[0x7a, 0x00])).expect_err("field 15");
    assert_eq!(
        error.to_string(),
        "field 15 in Namespace is not read from protobuf here; send JSON"
    );
    let error = read(&envelope("v1", "Pod", &[])).expect_err("no table");
    assert_eq!(
        error.to_string(),
        r#"Pod of "v1" is not read from protobuf here; send JSON"#
    );
}

#[test]
fn what_is_no_protobuf_is_refused() {
    assert_eq!(read(b"{}"), Err(ProtobufError::NotProtobuf));
    assert_eq!(read(b""), Err(ProtobufError::NotProtobuf));
    assert_eq!(read(b"k8s\0\x12\xff"), Err(ProtobufError::Broken));
    let (namespace, _) = SAMPLES[4];
    let whole = bytes(namespace);
    assert!(read(&whole[..whole.len() - 3]).is_err());
}
