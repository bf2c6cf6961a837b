//! The provenance of a release: an in-toto Statement v1 with a predicate of SLSA v1 (slsa.dev/spec/v1.0/provenance).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::image::layout::hex;
use crate::image::page;

/// Parameters, and how to build again: docs/how-to/make-a-release.md.
const BUILD_TYPE: &str = "https://skein.dev/cargo-xtask-release/v1";

/// Any machine on which the command ran; the signature says who ran it.
const BUILDER: &str = "https://skein.dev/cargo-xtask-release/v1/any-machine";

pub struct Source<'a> {
    pub commit: &'a str,
    /// Pins all packages.
    pub lock: &'a [u8],
    /// The lockfile that pins the npm packages of the page.
    pub page_lock: &'a [u8],
    pub compilers: BTreeMap<String, String>,
    /// Only options that change the files.
    pub options: Vec<String>,
    /// Time of everything in the archives, in seconds since 1970.
    pub time: u64,
}

/// `files` by name and SHA-256.
pub fn statement(source: &Source<'_>, files: &BTreeMap<&str, String>) -> serde_json::Result<Vec<u8>> {
    let subject = |(name, digest): (&&str, &String)| json!({"name": name, "digest": {"sha256": digest}});
    let command = ["cargo", "xtask", "release"].into_iter().map(str::to_owned);
    let command: Vec<String> = command.chain(source.options.iter().cloned()).collect();
    serde_json::to_vec_pretty(&json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": files.iter().map(subject).collect::<Vec<Value>>(),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"command": command, "commit": source.commit},
                "internalParameters": {"SOURCE_DATE_EPOCH": source.time},
                "resolvedDependencies": [
                    {"name": "sources", "digest": {"gitCommit": source.commit}},
                    {"name": "Cargo.lock", "digest": {"sha256": hex(source.lock)}},
                    {"name": page::LOCK, "digest": {"sha256": hex(source.page_lock)}},
                ],
            },
            "runDetails": {"builder": {"id": BUILDER, "version": source.compilers}},
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_says_which_files_were_built_from_what_by_what() {
        let source = Source {
            commit: "4be1f0c2a9d34be1f0c2a9d34be1f0c2a9d34be1",
            lock: b"version = 4",
            page_lock: b"{}",
            compilers: BTreeMap::from([("rust".to_owned(), "1.95.0 (59807616e)".to_owned())]),
            options: vec!["--try".to_owned()],
            time: 1_700_000_000,
        };
        let files = BTreeMap::from([("skein-0.1.0.tgz", hex(b"chart"))]);
        let written = statement(&source, &files).unwrap();
        assert_eq!(written, statement(&source, &files).unwrap(), "the same twice");
        let read: Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(read["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(read["predicateType"], "https://slsa.dev/provenance/v1");
        assert_eq!(
            read["subject"],
            json!([{"name": "skein-0.1.0.tgz", "digest": {"sha256": hex(b"chart")}}])
        );
        let definition = &read["predicate"]["buildDefinition"];
        assert_eq!(
            definition["externalParameters"]["command"],
            json!(["cargo", "xtask", "release", "--try"])
        );
        let sources = &definition["resolvedDependencies"][0];
        assert_eq!(sources["digest"]["gitCommit"], source.commit);
        let page = &definition["resolvedDependencies"][2];
        assert_eq!(page, &json!({"name": page::LOCK, "digest": {"sha256": hex(b"{}")}}));
        let builder = &read["predicate"]["runDetails"]["builder"];
        assert_eq!(builder["version"]["rust"], "1.95.0 (59807616e)");
    }
}
