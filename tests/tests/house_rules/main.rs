//! House rules that a machine can check: file headers, reachable files, which crate and which room of a crate may use
//! which.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod rooms;
mod wings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::control_plane::workspace_root;

/// Arrows point down: programs, then wire crates, then the domain. `cli` composes programs, `tests` and `xtask` start
/// them by `testkit`; no crate uses those.
const ARROWS: [(&str, &[&str]); 19] = [
    ("model", &[]),
    ("fleet", &["model"]),
    ("crds", &["fleet", "model"]),
    ("proto", &["model"]),
    ("trust", &["model"]),
    ("link", &["fleet", "model"]),
    ("plan-files", &["fleet", "model"]),
    ("traces", &["model"]),
    ("sitl", &[]),
    ("conformance", &["sitl"]),
    ("agent", &["fleet", "model", "proto", "trust", "link", "traces"]),
    (
        "coordinator",
        &["fleet", "model", "crds", "plan-files", "proto", "traces", "trust"],
    ),
    ("embedded-api", &[]),
    ("map-page", &[]),
    (
        "cli",
        &[
            "fleet",
            "model",
            "crds",
            "plan-files",
            "proto",
            "trust",
            // Frames of vehicles that share a port of a ground station.
            "link",
            "agent",
            "coordinator",
            "sitl",
            "embedded-api",
            "map-page",
        ],
    ),
    ("testkit", &[]),
    ("agent-testkit", &["agent", "link", "model", "sitl", "testkit"]),
    ("tests", &["agent", "crds", "model", "proto", "testkit", "trust"]),
    ("xtask", &["testkit"]),
];

const NEVER: [(&str, &[&str]); 12] = [
    (
        "model",
        &[
            "tokio",
            "kube",
            "k8s-openapi",
            "tonic",
            "prost",
            "mavlink",
            // For planning: polygons and ways among many.
            "geo",
            "rstar",
            "pathfinding",
        ],
    ),
    ("fleet", &["tokio", "kube", "k8s-openapi", "tonic", "prost", "mavlink"]),
    ("crds", &["tonic", "prost", "mavlink"]),
    ("proto", &["kube", "k8s-openapi", "mavlink"]),
    ("trust", &["tokio", "kube", "k8s-openapi", "tonic", "prost", "mavlink"]),
    ("link", &["kube", "k8s-openapi", "tonic", "prost"]),
    (
        "plan-files",
        &["tokio", "kube", "k8s-openapi", "tonic", "prost", "mavlink"],
    ),
    ("traces", &["kube", "k8s-openapi", "prost", "mavlink"]),
    ("agent", &["kube", "k8s-openapi"]),
    ("coordinator", &["mavlink"]),
    ("embedded-api", &["tonic", "prost", "mavlink"]),
    ("xtask", &["kube", "tokio", "tonic", "mavlink"]),
];

/// Files that share code with the fuzz targets, which are a workspace of their own.
const BY_PATH: [&str; 2] = ["agent/tests/fuzzed.rs", "crates/xtask/src/fuzz.rs"];

#[test]
fn every_source_file_opens_with_what_it_owns() {
    let silent: Vec<PathBuf> = sources()
        .into_iter()
        .filter(|path| !read(path).starts_with("//!"))
        .collect();
    assert!(
        silent.is_empty(),
        "these files do not open with a `//!` header: {silent:#?}"
    );
}

#[test]
fn every_source_file_is_reached_by_a_module_declaration() {
    let orphans: Vec<PathBuf> = sources()
        .into_iter()
        .filter(|path| !is_root(path) && !is_declared(path))
        .collect();
    assert!(orphans.is_empty(), "no `mod` reaches these files: {orphans:#?}");
}

#[test]
fn only_files_that_share_with_the_fuzz_targets_name_another_file_by_its_path() {
    let by_path = |path: &PathBuf| read(path).lines().any(|line| line.trim().starts_with("#[path"));
    let found: Vec<PathBuf> = sources().into_iter().filter(by_path).collect();
    assert_eq!(
        found,
        BY_PATH.map(|path| workspace_root().join(path)),
        "what several programs need belongs into a library: of `tests` (tests/src), or agent-testkit"
    );
}

#[test]
fn crates_use_only_what_lies_below_them() {
    let wanted: BTreeMap<&str, BTreeSet<&str>> = ARROWS
        .iter()
        .map(|(name, uses)| (*name, uses.iter().copied().collect()))
        .collect();
    for (name, uses) in dependencies() {
        let Some(allowed) = wanted.get(name.as_str()) else {
            panic!(
                "crate {name} has no place in the shape of the workspace: give it one in tests/tests/house_rules/main.rs"
            );
        };
        let inside: BTreeSet<&str> = uses
            .iter()
            .map(String::as_str)
            .filter(|used| wanted.contains_key(used))
            .collect();
        let wrong: Vec<&&str> = inside.difference(allowed).collect();
        assert!(
            wrong.is_empty(),
            "{name} must not use {wrong:?}: arrows point down only"
        );
    }
}

#[test]
fn crates_stay_clear_of_what_is_not_theirs() {
    let dependencies = dependencies();
    for (name, never) in NEVER {
        let wrong: Vec<&&str> = never
            .iter()
            .filter(|used| dependencies[name].contains(**used))
            .collect();
        assert!(wrong.is_empty(), "{name} must not use {wrong:?}");
    }
}

fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(workspace_root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| {
        let name = value["name"].as_str().unwrap();
        name.strip_prefix("skein-").unwrap_or(name).to_owned()
    };
    let uses = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| dependency["kind"].is_null())
            .map(name)
            .collect()
    };
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| (name(package), uses(package)))
        .collect()
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (name, _) in ARROWS {
        collect(&crate_folder(name), &mut found);
    }
    assert!(found.len() > 20, "too few sources found: {found:?}");
    found.sort();
    found
}

fn crate_folder(name: &str) -> PathBuf {
    let folders = ["", "crates"].map(|above| workspace_root().join(above).join(name));
    folders.into_iter().find(|folder| folder.is_dir()).unwrap()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let written = !["target", "generated", "node_modules"]
            .iter()
            .any(|folder| path.ends_with(folder));
        if path.is_dir() && written {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Files that cargo finds: `lib.rs`, `main.rs`, `build.rs`, and those in `src/bin/`, `tests/`, `benches/` or
/// `examples/`.
fn is_root(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    let folder = path.parent().unwrap();
    let above = folder.parent().unwrap();
    let of_crate = |folder: &Path| folder.join("Cargo.toml").is_file();
    match name {
        "lib.rs" => folder.ends_with("src"),
        "main.rs" => true,
        "build.rs" => of_crate(folder),
        _ => folder.ends_with("src/bin") || (of_crate(above) && !folder.ends_with("src")),
    }
}

/// Allows a little more than the compiler, as a crate's root may have any name.
fn is_declared(path: &Path) -> bool {
    let folder = path.parent().unwrap();
    let module = match path.file_stem().unwrap().to_str().unwrap() {
        "mod" => folder.file_name().unwrap().to_str().unwrap(),
        stem => stem,
    };
    let declaration = format!("mod {module};");
    let visibilities = ["", "pub ", "pub(crate) ", "pub(super) "];
    let is_declaration = |line: &str| {
        visibilities
            .iter()
            .any(|before| line.strip_prefix(before) == Some(&declaration))
    };
    let may_declare = [folder, folder.parent().unwrap()].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|other| other != path && other.extension().is_some_and(|extension| extension == "rs"))
    });
    may_declare
        .into_iter()
        .any(|other| read(&other).lines().any(|line| is_declaration(line.trim())))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn each_test_that_the_readme_of_the_tests_names_exists() {
    let readme = read(&workspace_root().join("tests/README.md"));
    let (_, table) = readme.split_once("| fault | tests |").unwrap();
    let named: Vec<&str> = table.split('`').filter(|word| word.matches('_').count() > 2).collect();
    assert!(named.len() > 11, "the table is read wrongly: {named:?}");
    let all: String = sources().iter().map(|path| read(path)).collect();
    let missing: Vec<_> = named
        .iter()
        .filter(|name| !all.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "no such test: {missing:?}");
}
