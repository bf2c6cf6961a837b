//! The parts of a program, as an SPDX 2.3 document in JSON (<https://spdx.github.io/spdx-spec/v2.3>).

use serde_json::{Value, json};

use super::layout::hex;
use super::packages::{Package, Packages, Registry};

const NO_ASSERTION: &str = "NOASSERTION";

/// SPDX requires a time, also if that of the build is unknown.
const UNKNOWN_TIME: &str = "1970-01-01T00:00:00Z";

#[derive(Debug)]
pub struct Subject<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub arch: &'a str,
    pub program: &'a [u8],
    /// Time of the build, RFC 3339.
    pub created: Option<&'a str>,
    pub rust: &'a str,
}

pub fn document(subject: &Subject<'_>, packages: &Packages) -> serde_json::Result<Vec<u8>> {
    let program = id("Program", subject.name, subject.version);
    let hash = hex(subject.program);
    let mut of_program = part(&program, subject.name, Some(subject.version), Some("Apache-2.0"));
    of_program["primaryPackagePurpose"] = json!("APPLICATION");
    of_program["checksums"] = sha256(&hash);
    let mut all = vec![of_program];
    let mut relationships = vec![relationship("SPDXRef-DOCUMENT", "DESCRIBES", &program)];
    for (_, package) in packages.iter() {
        let own_id = id_of(package);
        match package.registry {
            Registry::Npm => relationships.push(relationship(&program, "CONTAINS", &own_id)),
            Registry::Cargo if package.name != subject.name => {
                relationships.push(relationship(&program, "STATIC_LINK", &own_id));
            }
            Registry::Cargo => {}
        }
        for used in package.uses.iter().filter_map(|used| packages.get(used)) {
            relationships.push(relationship(&own_id, "DEPENDS_ON", &id_of(used)));
        }
        all.push(of_registry(package, &own_id));
    }
    for (name, version, licence) in [
        ("rust-std", Some(subject.rust), "MIT OR Apache-2.0"),
        ("musl", None, "MIT"),
    ] {
        let own_id = id("Library", name, version.unwrap_or("as-of-rust"));
        relationships.push(relationship(&program, "STATIC_LINK", &own_id));
        all.push(part(&own_id, name, version, Some(licence)));
    }
    let created = subject.created.unwrap_or(UNKNOWN_TIME);
    serde_json::to_vec_pretty(&json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{}-{}-{}", subject.name, subject.version, subject.arch),
        "documentNamespace": namespace(&hash),
        "creationInfo": {"created": created, "creators": ["Tool: skein-xtask"]},
        "packages": all,
        "relationships": relationships,
    }))
}

/// Unique to this document: a UUID (version 8, RFC 9562) computed from the program's hash.
fn namespace(hash: &str) -> String {
    let digits = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        digits(0, 8),
        digits(8, 12),
        digits(12, 15),
        digits(15, 18),
        digits(18, 30)
    )
}

fn of_registry(package: &Package, own_id: &str) -> Value {
    let licence = package.licence.as_deref();
    let mut all = part(own_id, &package.name, Some(&package.version), licence);
    if let Some(purl) = package.purl() {
        let category = "PACKAGE-MANAGER";
        all["externalRefs"] =
            json!([{"referenceCategory": category, "referenceType": "purl", "referenceLocator": purl}]);
        if let Some(checksum) = &package.checksum {
            let algorithm = match package.registry {
                Registry::Cargo => "SHA256",
                Registry::Npm => "SHA512",
            };
            all["checksums"] = json!([{"algorithm": algorithm, "checksumValue": checksum}]);
        }
    }
    all
}

fn part(own_id: &str, name: &str, version: Option<&str>, licence: Option<&str>) -> Value {
    let mut all = json!({
        "SPDXID": own_id,
        "name": name,
        "downloadLocation": NO_ASSERTION,
        "filesAnalyzed": false,
        "licenseConcluded": NO_ASSERTION,
        "licenseDeclared": licence.unwrap_or(NO_ASSERTION),
        "copyrightText": NO_ASSERTION,
    });
    if let Some(version) = version {
        all["versionInfo"] = json!(version);
    }
    all
}

fn id_of(package: &Package) -> String {
    let kind = match package.registry {
        Registry::Cargo => "Package",
        Registry::Npm => "Npm",
    };
    id(kind, &package.name, &package.version)
}

/// An id of letters, digits, dots and dashes, the only characters that SPDX allows.
fn id(kind: &str, name: &str, version: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    format!("SPDXRef-{kind}-{name}-{version}")
        .chars()
        .map(allowed)
        .collect()
}

fn sha256(value: &str) -> Value {
    json!([{"algorithm": "SHA256", "checksumValue": value}])
}

fn relationship(from: &str, kind: &str, to: &str) -> Value {
    json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed() -> Value {
        let subject = Subject {
            name: "skein-agent",
            version: "0.1.0",
            arch: "amd64",
            program: b"program",
            created: Some("2023-11-14T22:13:20Z"),
            rust: "1.95.0",
        };
        let page = Package {
            name: "@a/bundled".to_owned(),
            version: "2.0.0".to_owned(),
            licence: Some("ISC".to_owned()),
            authors: Vec::new(),
            folder: "/page/node_modules/@a/bundled".into(),
            registry: Registry::Npm,
            published: true,
            checksum: Some("5a".to_owned()),
            is_macro: false,
            uses: std::collections::BTreeSet::new(),
        };
        let packages = super::super::packages::tests::two().with(vec![("npm:@a/bundled@2.0.0".to_owned(), page)]);
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
        let bundled = find("@a/bundled");
        assert_eq!(
            bundled["externalRefs"][0]["referenceLocator"],
            "pkg:npm/%40a/bundled@2.0.0"
        );
        assert_eq!(
            bundled["checksums"][0],
            json!({"algorithm": "SHA512", "checksumValue": "5a"})
        );
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
