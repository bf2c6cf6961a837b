//! The parts of a program, as an SPDX 2.3 document in JSON (<https://spdx.github.io/spdx-spec/v2.3>).
//!
//! Owns: that format. Must not: find out what is linked.

use serde::Serialize;

use super::layout::hex;
use super::packages::{Package, Packages};

const NO_ASSERTION: &str = "NOASSERTION";

/// 1970, if the time of the build is not known: SPDX requires a time.
const UNKNOWN_TIME: &str = "1970-01-01T00:00:00Z";

/// The program that the document is about.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its version.
    pub version: &'a str,
    /// The machine that it is for.
    pub arch: &'a str,
    /// Its bytes.
    pub program: &'a [u8],
    /// The time of the build, as RFC 3339.
    pub created: Option<&'a str>,
    /// The version of Rust, whose standard library is linked.
    pub rust: &'a str,
}

/// The document.
pub fn document(subject: &Subject<'_>, packages: &Packages) -> serde_json::Result<Vec<u8>> {
    let program = id("Program", subject.name, subject.version);
    let hash = hex(subject.program);
    let mut all = vec![SpdxPackage {
        primary_package_purpose: Some("APPLICATION"),
        checksums: sha256(Some(&hash)),
        ..SpdxPackage::new(program.clone(), subject.name, Some(subject.version), Some("Apache-2.0"))
    }];
    let mut relationships = vec![Relationship::new("SPDXRef-DOCUMENT", "DESCRIBES", &program)];
    for (_, package) in packages.iter() {
        let own_id = id_of(package);
        if package.name != subject.name {
            relationships.push(Relationship::new(&program, "STATIC_LINK", &own_id));
        }
        for used in package.uses.iter().filter_map(|used| packages.get(used)) {
            relationships.push(Relationship::new(&own_id, "DEPENDS_ON", &id_of(used)));
        }
        all.push(of_cargo(package, own_id));
    }
    for (name, version, licence) in [
        ("rust-std", Some(subject.rust), "MIT OR Apache-2.0"),
        ("musl", None, "MIT"),
    ] {
        let own_id = id("Library", name, version.unwrap_or("as-of-rust"));
        relationships.push(Relationship::new(&program, "STATIC_LINK", &own_id));
        all.push(SpdxPackage::new(own_id, name, version, Some(licence)));
    }
    let created = subject.created.unwrap_or(UNKNOWN_TIME);
    serde_json::to_vec_pretty(&Document {
        spdx_version: "SPDX-2.3",
        data_license: "CC0-1.0",
        spdx_id: "SPDXRef-DOCUMENT",
        name: format!("{}-{}-{}", subject.name, subject.version, subject.arch),
        document_namespace: namespace(&hash),
        creation_info: CreationInfo {
            created: created.to_owned(),
            creators: ["Tool: skein-xtask".to_owned()],
        },
        packages: all,
        relationships,
    })
}

/// A name for only this document: a UUID (version 8, RFC 9562) computed from the program's hash.
fn namespace(hash: &str) -> String {
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(12, 15),
        part(15, 18),
        part(18, 30)
    )
}

fn of_cargo(package: &Package, own_id: String) -> SpdxPackage {
    let (name, version) = (&package.name, &package.version);
    let plain = SpdxPackage::new(own_id, name, Some(version), package.licence.as_deref());
    let Some(purl) = package.purl() else {
        return plain;
    };
    let purl = ExternalRef {
        reference_category: "PACKAGE-MANAGER",
        reference_type: "purl",
        reference_locator: purl,
    };
    SpdxPackage {
        checksums: sha256(package.checksum.as_deref()),
        external_refs: vec![purl],
        ..plain
    }
}

fn id_of(package: &Package) -> String {
    id("Package", &package.name, &package.version)
}

/// An id of letters, digits, dots and dashes, the only characters that SPDX allows.
fn id(kind: &str, name: &str, version: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    format!("SPDXRef-{kind}-{name}-{version}")
        .chars()
        .map(allowed)
        .collect()
}

fn sha256(value: Option<&str>) -> Vec<Checksum> {
    let one = |value: &str| Checksum {
        algorithm: "SHA256",
        checksum_value: value.to_owned(),
    };
    value.map(one).into_iter().collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    spdx_version: &'static str,
    data_license: &'static str,
    #[serde(rename = "SPDXID")]
    spdx_id: &'static str,
    name: String,
    document_namespace: String,
    creation_info: CreationInfo,
    packages: Vec<SpdxPackage>,
    relationships: Vec<Relationship>,
}

#[derive(Serialize)]
struct CreationInfo {
    created: String,
    creators: [String; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpdxPackage {
    #[serde(rename = "SPDXID")]
    spdx_id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_info: Option<String>,
    download_location: String,
    files_analyzed: bool,
    license_concluded: &'static str,
    license_declared: String,
    copyright_text: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    primary_package_purpose: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checksums: Vec<Checksum>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    external_refs: Vec<ExternalRef>,
}

impl SpdxPackage {
    fn new(spdx_id: String, name: &str, version: Option<&str>, licence: Option<&str>) -> Self {
        Self {
            spdx_id,
            name: name.to_owned(),
            version_info: version.map(str::to_owned),
            download_location: NO_ASSERTION.to_owned(),
            files_analyzed: false,
            license_concluded: NO_ASSERTION,
            license_declared: licence.unwrap_or(NO_ASSERTION).to_owned(),
            copyright_text: NO_ASSERTION,
            primary_package_purpose: None,
            checksums: Vec::new(),
            external_refs: Vec::new(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checksum {
    algorithm: &'static str,
    checksum_value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExternalRef {
    reference_category: &'static str,
    reference_type: &'static str,
    reference_locator: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Relationship {
    spdx_element_id: String,
    relationship_type: &'static str,
    related_spdx_element: String,
}

impl Relationship {
    fn new(from: &str, kind: &'static str, to: &str) -> Self {
        Self {
            spdx_element_id: from.to_owned(),
            relationship_type: kind,
            related_spdx_element: to.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn parsed() -> Value {
        let subject = Subject {
            name: "skein-agent",
            version: "0.1.0",
            arch: "amd64",
            program: b"program",
            created: Some("2023-11-14T22:13:20Z"),
            rust: "1.95.0",
        };
        let packages = super::super::packages::tests::two();
        let document = document(&subject, &packages).unwrap();
        assert_eq!(
            document,
            super::document(&subject, &packages).unwrap(),
            "the same twice"
        );
        serde_json::from_slice(&document).unwrap()
    }

    #[test]
    fn the_document_names_all_that_is_linked_and_where_it_comes_from() {
        let document = parsed();
        let find = |name: &str| {
            let packages = document["packages"].as_array().unwrap();
            packages.iter().find(|package| package["name"] == name).unwrap()
        };
        let fnv = find("fnv");
        assert_eq!(fnv["externalRefs"][0]["referenceLocator"], "pkg:cargo/fnv@1.0.7");
        assert_eq!(fnv["licenseDeclared"], "Apache-2.0 OR MIT");
        assert_eq!(fnv["checksums"][0]["checksumValue"], "3f9e");
        assert_eq!(find("agent")["downloadLocation"], NO_ASSERTION);
        assert_eq!(find("rust-std")["versionInfo"], "1.95.0");
        assert_eq!(find("musl").get("versionInfo"), None);
    }

    #[test]
    fn every_relationship_is_between_things_that_the_document_names() {
        let document = parsed();
        let packages = document["packages"].as_array().unwrap().iter();
        let mut known: Vec<&Value> = packages.map(|package| &package["SPDXID"]).collect();
        known.push(&document["SPDXID"]);
        let mut ids = known.clone();
        ids.sort_by_key(|id| id.to_string());
        ids.dedup();
        assert_eq!(ids.len(), known.len(), "an id is given twice");
        let relationships = document["relationships"].as_array().unwrap();
        assert!(!relationships.is_empty());
        for relationship in relationships {
            for end in ["spdxElementId", "relatedSpdxElement"] {
                assert!(known.contains(&&relationship[end]), "{relationship}");
            }
        }
    }

    #[test]
    fn ids_have_only_what_spdx_allows_and_the_namespace_is_a_uuid() {
        assert_eq!(id("Package", "tokio_x", "1.0.0+2"), "SPDXRef-Package-tokio-x-1.0.0-2");
        let hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        assert_eq!(namespace(hash), "urn:uuid:01234567-89ab-8cde-8f01-23456789abcd");
    }
}
