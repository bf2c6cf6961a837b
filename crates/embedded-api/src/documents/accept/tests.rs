//! Tests of choosing a representation.

use super::*;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn shape(accept: &str, requested: Requested) -> Shape {
    choose(accept, requested).expect("served").shape
}

fn refused(accept: &str, requested: Requested) -> String {
    let refusal = choose(accept, requested).expect_err("not served");
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
        for requested in [
            Requested::Object,
            Requested::List,
            Requested::Watch,
            Requested::Groups,
            Requested::Document,
        ] {
            assert_eq!(choose(accept, requested), Ok(Representation::JSON), "{accept}");
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
        assert_eq!(choose(accept, Requested::List), Ok(Representation::JSON), "{accept}");
    }
}

#[test]
fn the_clients_order_decides_among_equals() {
    assert_eq!(
        shape(&format!("{TABLE},application/json"), Requested::List),
        Shape::Table("v1")
    );
    assert_eq!(
        shape(&format!("application/json,{TABLE}"), Requested::List),
        Shape::Whole
    );
    assert_eq!(shape(&format!("*/*,{TABLE}"), Requested::List), Shape::Table("v1"));
}

#[test]
fn quality_goes_before_order() {
    assert_eq!(
        choose("application/json;q=0.1,application/yaml", Requested::Object).map(|found| found.format),
        Ok(Format::Yaml)
    );
    assert_eq!(
        shape(&format!("{TABLE};q=0.2,application/json"), Requested::List),
        Shape::Whole
    );
    assert_eq!(
        refused("application/json;q=0", Requested::Object),
        "only the following media types are accepted: application/json, application/yaml"
    );
}

#[test]
fn tables_and_metadata_are_shapes_of_objects_only() {
    assert_eq!(shape(PARTIAL, Requested::Object), Shape::Partial("v1"));
    assert_eq!(shape(PARTIAL_LIST, Requested::List), Shape::PartialList("v1"));
    assert_eq!(
        shape("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Requested::Watch),
        Shape::Table("v1beta1")
    );
    for accept in [TABLE, PARTIAL, DISCOVERY] {
        refused(accept, Requested::Document);
    }
    refused(DISCOVERY, Requested::List);
    refused(TABLE, Requested::Groups);
    assert_eq!(
        shape(&format!("{TABLE},application/json"), Requested::Document),
        Shape::Whole
    );
}

#[test]
fn an_unknown_shape_is_passed_over_or_refused() {
    let unknown = "application/json;as=Picture;v=v1;g=meta.k8s.io";
    refused(unknown, Requested::Object);
    refused("application/json;as=Table;v=v2;g=meta.k8s.io", Requested::Object);
    assert_eq!(
        shape(&format!("{unknown},application/json"), Requested::Object),
        Shape::Whole
    );
}

#[test]
fn metadata_of_a_list_is_not_metadata_of_an_object() {
    assert_eq!(
        refused(PARTIAL_LIST, Requested::Object),
        "you requested PartialObjectMetadataList, but the requested object is not a list"
    );
    assert_eq!(
        refused(PARTIAL, Requested::List),
        "you requested PartialObjectMetadata, but the requested object is a list"
    );
    assert_eq!(shape(PARTIAL_LIST, Requested::Watch), Shape::Partial("v1"));
}

#[test]
fn all_groups_come_in_one_document_on_request() {
    let accept = format!("{DISCOVERY},application/json");
    let found = choose(&accept, Requested::Groups).expect("served");
    assert_eq!(found.shape, Shape::AggregatedDiscovery);
    assert_eq!(found.media_type(), DISCOVERY);
    let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    assert_eq!(shape(old, Requested::Groups), Shape::Whole);
}

#[test]
fn a_watch_is_not_sent_as_yaml_nor_anything_as_xml() {
    assert_eq!(
        refused("application/yaml", Requested::Watch),
        "only the following media types are accepted: application/json;stream=watch"
    );
    refused("application/xml", Requested::Object);
    refused("nonsense", Requested::Object);
}
