//! Numbers of the contract never change: programs of other versions read and write them.

use crate::DESCRIPTORS;
use prost::Message as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorSet};

const PINNED: &str = include_str!("../proto/numbers.txt");

#[test]
fn each_field_and_each_value_keeps_its_number_and_its_type() {
    let mut present = Vec::new();
    for file in FileDescriptorSet::decode(DESCRIPTORS).unwrap().file {
        let package = file.package().to_owned();
        if !package.starts_with("skein.") {
            continue;
        }
        for message in &file.message_type {
            of_message(&package, message, &mut present);
        }
        for one in &file.enum_type {
            of_enum(&package, one, &mut present);
        }
    }
    let pinned: Vec<&str> = PINNED.lines().collect();
    let lost: Vec<&&str> = pinned
        .iter()
        .filter(|line| !present.iter().any(|one| one == **line))
        .collect();
    assert!(
        lost.is_empty(),
        "no number is given to another, and no type changes: {lost:#?}"
    );
    let new: Vec<&String> = present.iter().filter(|one| !pinned.contains(&one.as_str())).collect();
    assert!(new.is_empty(), "add these lines to proto/proto/numbers.txt: {new:#?}");
}

fn of_message(above: &str, message: &DescriptorProto, lines: &mut Vec<String>) {
    let name = format!("{above}.{}", message.name());
    for field in &message.field {
        let type_name = field.type_name().trim_start_matches('.');
        let kind = match type_name {
            "" => field.r#type().as_str_name().trim_start_matches("TYPE_").to_lowercase(),
            other => other.to_owned(),
        };
        let label = field.label().as_str_name().trim_start_matches("LABEL_").to_lowercase();
        lines.push(format!("{name}.{} = {} {label} {kind}", field.name(), field.number()));
    }
    for inner in &message.nested_type {
        of_message(&name, inner, lines);
    }
    for inner in &message.enum_type {
        of_enum(&name, inner, lines);
    }
}

fn of_enum(above: &str, one: &EnumDescriptorProto, lines: &mut Vec<String>) {
    for value in &one.value {
        lines.push(format!("{above}.{}.{} = {}", one.name(), value.name(), value.number()));
    }
}
