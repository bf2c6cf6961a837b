//! The wings of `fleet`, decisions on the vehicle and decisions for the fleet: no program uses both.

use super::rooms::{paths, without_comments_and_literals};
use super::{collect, crate_folder, read};

const NEVER: [(&str, &str); 3] = [("agent", "planning"), ("coordinator", "flight"), ("cli", "flight")];

#[test]
fn the_agent_never_names_planning_and_coordinator_and_cli_never_name_flight() {
    let mut wrong = Vec::new();
    for (name, wing) in NEVER {
        let mut files = Vec::new();
        collect(&crate_folder(name), &mut files);
        assert!(files.len() > 20, "too few sources of {name}: {files:?}");
        for file in files {
            let named = named_of(wing, &read(&file)).into_iter();
            wrong.extend(named.map(|path| format!("{}: {path}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "these name a wing that is not theirs: {wrong:#?}");
}

#[test]
fn a_wing_is_found_by_each_way_to_name_it() {
    let planted = [
        ("use fleet::planning::site::Site;", "fleet::planning::site::Site"),
        (
            "use fleet::{airspace::Rules, planning::{site}};",
            "fleet::planning::site",
        ),
        ("pub use fleet::planning as p;", "fleet::planning"),
        (
            "fn f() { ::fleet::planning::names::of(3) }",
            "fleet::planning::names::of",
        ),
        ("#[cfg(test)]\nmod tests { use fleet::planning; }", "fleet::planning"),
        ("use fleet as domain;", "fleet"),
        ("use fleet::{self, safety};", "fleet"),
        ("use fleet::*;", "fleet::*"),
    ];
    for (text, path) in planted {
        assert_eq!(named_of("planning", text), [path], "{text}");
    }
    let innocent = [
        "use fleet::flight::converge::Step;",
        "use fleet::safety::may_arm;",
        "//! [`fleet::planning`] decides.\nconst TEXT: &str = \"fleet::planning\";",
        "use crate::planning::Board;",
    ];
    for text in innocent {
        assert_eq!(named_of("planning", text), [""; 0], "{text}");
    }
    assert_eq!(
        named_of("flight", "use fleet::flight::memory::Memory;"),
        ["fleet::flight::memory::Memory"]
    );
}

/// The paths in `text` that lead into that wing of `fleet`, or give all of `fleet` another name.
fn named_of(wing: &str, text: &str) -> Vec<String> {
    let (imports, others) = paths(&without_comments_and_literals(text));
    let imports = imports.into_iter().map(|(_, path)| path);
    let named = imports.chain(others).filter(|path| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path[..] {
            ["fleet"] | ["fleet", "*"] => true,
            ["fleet", second, ..] => second == wing,
            _ => false,
        }
    });
    named.map(|path| path.join("::")).collect()
}
