//! Tests of choosing a representation.
//!
//! Owns: the expected choices. Must not: need a server.

use super::*;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn shape(accept: &str, asked: Asked) -> Shape {
    choose(accept, asked).expect("served").shape
}

fn refused(accept: &str, asked: Asked) -> String {
    let refusal = choose(accept, asked).expect_err("not served");
    assert_eq!((refusal.code, refusal.reason), (406, "NotAcceptable"));
    refusal.message
}

#[test]
fn whoever_takes_anything_gets_json() {
    for accept in [
        "",
        "*/*",
        "application/*",
        "text/html,application/xhtml+xml,*/*;q=0.8",
        "application/json;charset=utf-8",
        "application/json;pretty=1",
        "application/json;stream=watch",
    ] {
        for asked in [Asked::Object, Asked::List, Asked::Watch, Asked::Groups, Asked::Document] {
            assert_eq!(choose(accept, asked), Ok(Representation::JSON), "{accept}");
        }
    }
}

#[test]
fn a_binary_format_offered_first_is_passed_over() {
    for accept in [
        "application/vnd.kubernetes.protobuf,application/json",
        "application/cbor, application/json;q=0.5",
        "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch",
    ] {
        assert_eq!(choose(accept, Asked::List), Ok(Representation::JSON), "{accept}");
    }
}

#[test]
fn the_clients_order_decides_among_equals() {
    assert_eq!(
        shape(&format!("{TABLE},application/json"), Asked::List),
        Shape::Table("v1")
    );
    assert_eq!(shape(&format!("application/json,{TABLE}"), Asked::List), Shape::Whole);
    assert_eq!(shape(&format!("*/*,{TABLE}"), Asked::List), Shape::Table("v1"));
}

#[test]
fn quality_goes_before_order() {
    assert_eq!(
        choose("application/json;q=0.1,application/yaml", Asked::Object).map(|found| found.format),
        Ok(Format::Yaml)
    );
    assert_eq!(
        shape(&format!("{TABLE};q=0.2,application/json"), Asked::List),
        Shape::Whole
    );
    assert_eq!(
        refused("application/json;q=0", Asked::Object),
        "only the following media types are accepted: application/json, application/yaml"
    );
}

#[test]
fn tables_and_metadata_are_shapes_of_objects_only() {
    assert_eq!(shape(PARTIAL, Asked::Object), Shape::Partial("v1"));
    assert_eq!(shape(PARTIAL_LIST, Asked::List), Shape::PartialList("v1"));
    assert_eq!(
        shape("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Asked::Watch),
        Shape::Table("v1beta1")
    );
    for accept in [TABLE, PARTIAL, DISCOVERY] {
        refused(accept, Asked::Document);
    }
    refused(DISCOVERY, Asked::List);
    refused(TABLE, Asked::Groups);
    assert_eq!(
        shape(&format!("{TABLE},application/json"), Asked::Document),
        Shape::Whole
    );
}

#[test]
fn an_unknown_shape_is_passed_over_or_refused() {
    let unknown = "application/json;as=Picture;v=v1;g=meta.k8s.io";
    refused(unknown, Asked::Object);
    refused("application/json;as=Table;v=v2;g=meta.k8s.io", Asked::Object);
    assert_eq!(
        shape(&format!("{unknown},application/json"), Asked::Object),
        Shape::Whole
    );
}

#[test]
fn metadata_of_a_list_is_not_metadata_of_an_object() {
    assert_eq!(
        refused(PARTIAL_LIST, Asked::Object),
        "you requested PartialObjectMetadataList, but the requested object is not a list"
    );
    assert_eq!(
        refused(PARTIAL, Asked::List),
        "you requested PartialObjectMetadata, but the requested object is a list"
    );
    assert_eq!(shape(PARTIAL_LIST, Asked::Watch), Shape::Partial("v1"));
}

#[test]
fn all_groups_come_in_one_document_when_asked() {
    let accept = format!("{DISCOVERY},application/json");
    let found = choose(&accept, Asked::Groups).expect("served");
    assert_eq!(found.shape, Shape::AggregatedDiscovery);
    assert_eq!(found.media_type(), DISCOVERY);
    let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    assert_eq!(shape(old, Asked::Groups), Shape::Whole);
}

#[test]
fn a_watch_is_not_sent_as_yaml_nor_anything_as_xml() {
    assert_eq!(
        refused("application/yaml", Asked::Watch),
        "only the following media types are accepted: application/json;stream=watch"
    );
    refused("application/xml", Asked::Object);
    refused("nonsense", Asked::Object);
}
