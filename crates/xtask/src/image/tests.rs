//! Tests of an image's name and labels.

use super::*;

#[test]
fn labels_say_what_is_known_and_nothing_else() {
    let linked = packages::tests::two();
    let revision = Revision {
        commit: Some("4be1f0c2a9d3".to_owned()),
        time: Some(1_700_000_000),
    };
    let all = labels(
        Program::Agent,
        "0.1.0",
        &revision,
        Some("2023-11-14T22:13:20Z"),
        &linked,
    );
    let label = |name: &str| all.get(&format!("org.opencontainers.image.{name}")).map(String::as_str);
    assert_eq!(label("title"), Some("skein-agent"));
    assert_eq!(label("version"), Some("0.1.0"));
    assert_eq!(label("revision"), Some("4be1f0c2a9d3"));
    assert_eq!(label("licenses"), Some("(Apache-2.0 OR MIT) AND Apache-2.0"));

    let nothing = Revision {
        commit: None,
        time: None,
    };
    let less = labels(Program::Agent, "0.1.0", &nothing, None, &linked);
    assert_eq!(less.len(), all.len() - 2);
    assert!(!less.contains_key("org.opencontainers.image.revision"));
    assert!(!less.contains_key("org.opencontainers.image.created"));
}
