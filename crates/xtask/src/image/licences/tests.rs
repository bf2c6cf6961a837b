//! Tests of the licences, with packages made for these tests.

use super::*;
use crate::image::compile::Tree;
use crate::image::program::{Arch, Program};
use std::collections::BTreeSet;
use testkit::control_plane::workspace_root;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn package(&self, name: &str) -> Package {
        let folder = self.0.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: Some("MIT".to_owned()),
            authors: vec!["Ann".to_owned()],
            folder,
            registry: Registry::Cargo,
            published: true,
            is_macro: false,
            checksum: None,
            uses: BTreeSet::new(),
        }
    }

    fn text(&self, names: &[&str]) -> Result<String, Incomplete> {
        let packages = names.iter().map(|name| ((*name).to_owned(), self.package(name)));
        let c_library = Part {
            name: "a C library",
            text: "words of the C library",
        };
        text(
            &Packages::from_iter(packages),
            &[c_library],
            &self.0.path().join("common"),
        )
    }
}

#[test]
fn every_package_is_listed_and_a_text_that_several_share_stands_once() {
    let scratch = Scratch::new();
    scratch
        .file("one/LICENSE-MIT", "Permission is\nhereby granted")
        .file("two/licence.txt", "Permission is hereby\r\ngranted\n")
        .file("two/src/third_party/COPYING", "Words of a third")
        .file("two/src/license.rs", "fn code() {}");
    let text = scratch.text(&["one", "two"]).unwrap();
    assert!(text.contains("one 1.0.0: MIT; pkg:cargo/one@1.0.0"), "{text}");
    assert!(
        text.contains("one 1.0.0 (LICENSE-MIT)\ntwo 1.0.0 (licence.txt)\n\nPermission is"),
        "{text}"
    );
    assert_eq!(text.matches("Permission is").count(), 1);
    assert!(
        text.contains("two 1.0.0 (src/third_party/COPYING)\n\nWords of a third"),
        "{text}"
    );
    assert!(text.contains("a C library\n\nwords of the C library"), "{text}");
    assert!(!text.contains("fn code"), "{text}");
}

#[test]
fn a_package_without_its_text_stops_the_build() {
    let scratch = Scratch::new();
    scratch.file("bare/vendor/LICENSE", "Words of a part");
    let error = scratch.text(&["bare"]).unwrap_err().to_string();
    assert!(
        error.starts_with("bare 1.0.0 (MIT) comes without the text of its licence"),
        "{error}"
    );
    assert!(error.contains("crates/xtask/src/image/licences.rs"), "{error}");
}

#[test]
fn a_folder_of_licences_counts_whatever_its_files_are_called() {
    let scratch = Scratch::new();
    scratch.file("reuse/LICENSES/MIT.txt", "Permission is hereby granted");
    let text = scratch.text(&["reuse"]).unwrap();
    assert!(
        text.contains("reuse 1.0.0 (LICENSES/MIT.txt)\n\nPermission is"),
        "{text}"
    );
}

#[test]
fn a_listed_package_has_the_text_that_is_given_instead() {
    let scratch = Scratch::new();
    scratch
        .file("common/MIT.txt", "The common text")
        .file("tonic/LICENSE", "The text of tonic");
    let text = scratch.text(&["cel", "tonic", "tonic-prost"]).unwrap();
    assert!(
        text.contains("cel 1.0.0 (no text of its own: says MIT and names its authors by Ann)"),
        "{text}"
    );
    assert!(
        text.contains("tonic 1.0.0 (LICENSE)\ntonic-prost 1.0.0 (no text of its own: "),
        "{text}"
    );
    let error = scratch.text(&["tonic-prost"]).unwrap_err();
    assert!(
        matches!(error, Incomplete::NoSibling { sibling: "tonic", .. }),
        "{error}"
    );
}

#[test]
fn a_package_of_npm_has_its_own_list() {
    let scratch = Scratch::new();
    scratch
        .file("pbf/LICENSE", "The conditions of three clauses")
        .file("common/MIT.txt", "The common text");
    let npm = |name: &str| {
        let registry = Registry::Npm;
        (
            name.to_owned(),
            Package {
                registry,
                ..scratch.package(name)
            },
        )
    };
    let text = |names: &[&str]| {
        let packages = Packages::from_iter(names.iter().map(|name| npm(name)));
        super::text(&packages, &[], &scratch.0.path().join("common"))
    };
    let both = text(&["pbf", "pmtiles", "terra-draw"]).unwrap();
    assert!(both.contains("pmtiles 1.0.0: MIT; pkg:npm/pmtiles@1.0.0"), "{both}");
    assert!(
        both.contains("Copyright 2021 Protomaps LLC") && both.contains("The common text"),
        "{both}"
    );
    // An exception for one crate does not cover another package of that name.
    assert!(matches!(text(&["tonic-prost"]), Err(Incomplete::NoText { .. })));
}

#[test]
fn a_text_that_cannot_be_read_is_an_error() {
    let error = Scratch::new().text(&["cel"]).unwrap_err();
    assert!(
        matches!(&error, Incomplete::Unreadable { path, .. } if path.ends_with("common/MIT.txt")),
        "{error}"
    );
}

#[test]
fn all_that_our_programs_link_has_its_licence_text_and_nothing_else_is_listed() {
    let tree = Tree {
        root: workspace_root().to_owned(),
        target: workspace_root().join("target"),
        settings: &[],
    };
    let all = Packages::of(&tree, Arch::Amd64).unwrap();
    let scratch = Scratch::new();
    scratch
        .file("MIT.txt", "The common text")
        .file("Apache-2.0.txt", "Another");
    let (mut bare, mut seen) = (BTreeSet::new(), 0);
    for program in Program::ALL {
        let packages = all.reachable(program.package());
        text(&packages, &[], scratch.0.path()).unwrap();
        for (_, package) in packages.iter().filter(|(_, package)| package.published) {
            seen += 1;
            let files = licence_files(&package.folder).unwrap();
            if !files
                .iter()
                .any(|file| is_of_all(file.strip_prefix(&package.folder).unwrap()))
            {
                bare.insert(package.name.clone());
            }
        }
    }
    assert!(seen > 300, "only {seen} packages were looked at");
    let listed: BTreeSet<String> = WITHOUT.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(
        listed, bare,
        "list in licences.rs on the left, packages without a text on the right"
    );
}
