//! The npm packages that are bundled into the page of `skein map`, and so into `skein`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use super::expression;
use super::packages::{Package, Registry};

pub const LOCK: &str = "crates/map-page/package-lock.json";

/// Licenses that require no more than a notice, as deny.toml lists for crates.
const ALLOWED: [&str; 5] = ["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

/// Packages with an id each.
pub fn bundled(folder: &Path) -> anyhow::Result<Vec<(String, Package)>> {
    let path = folder.join("package-lock.json");
    let lock = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let packages = read(&lock, folder)?;
    check_licences(&packages)?;
    Ok(packages)
}

/// The error: a package in the page's lockfile has a license that is not allowed. Works offline.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let lock = std::fs::read_to_string(root.join(LOCK)).with_context(|| format!("cannot read {LOCK}"))?;
    check_licences(&read(&lock, root)?)
}

#[derive(Deserialize)]
struct Lock {
    packages: BTreeMap<String, Locked>,
}

#[derive(Deserialize)]
struct Locked {
    version: Option<String>,
    license: Option<String>,
    integrity: Option<String>,
    #[serde(default)]
    dev: bool,
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
}

/// All packages of a lockfile except those that only help to build.
fn read(lock: &str, folder: &Path) -> anyhow::Result<Vec<(String, Package)>> {
    let lock: Lock = serde_json::from_str(lock).with_context(|| format!("cannot read {LOCK}"))?;
    let is_bundled = |(place, locked): &(&String, &Locked)| !place.is_empty() && !locked.dev;
    let mut packages = Vec::new();
    for (place, locked) in lock.packages.iter().filter(is_bundled) {
        let version = locked.version.clone();
        let version = version.with_context(|| format!("{LOCK}: {place} has no version"))?;
        let checksum = locked.integrity.as_deref().and_then(sha512);
        let checksum = checksum.with_context(|| format!("{LOCK}: {place} has no SHA-512, which pins it"))?;
        let uses = locked.dependencies.keys().filter_map(|name| {
            let version = lock.packages.get(&format!("node_modules/{name}"))?.version.as_ref()?;
            Some(id(name, version))
        });
        let package = Package {
            name: name(place).to_owned(),
            licence: locked.license.as_deref().map(expression::of_package),
            authors: Vec::new(),
            folder: folder.join(place),
            registry: Registry::Npm,
            published: true,
            checksum: Some(checksum),
            is_macro: false,
            uses: uses.collect(),
            version,
        };
        packages.push((id(&package.name, &package.version), package));
    }
    Ok(packages)
}

/// `node_modules/a/node_modules/b` is package b.
fn name(place: &str) -> &str {
    place.rsplit_once("node_modules/").map_or(place, |(_, name)| name)
}

fn id(name: &str, version: &str) -> String {
    format!("npm:{name}@{version}")
}

fn check_licences(packages: &[(String, Package)]) -> anyhow::Result<()> {
    let is_allowed = |licence: &str| {
        let words = licence.trim_matches(['(', ')']);
        words.split(" OR ").any(|choice| ALLOWED.contains(&choice.trim()))
    };
    let refused: BTreeSet<String> = packages
        .iter()
        .filter(|(_, package)| !package.licence.as_deref().is_some_and(is_allowed))
        .map(|(id, package)| format!("{id} ({})", package.licence.as_deref().unwrap_or("no license")))
        .collect();
    anyhow::ensure!(
        refused.is_empty(),
        "the page of `skein map` bundles what it may not: {}; remove it, or look at its license and allow it in {}",
        Vec::from_iter(refused).join(", "),
        file!()
    );
    Ok(())
}

/// The hash of npm's `sha512-BASE64`, as hexadecimal digits.
fn sha512(integrity: &str) -> Option<String> {
    let text = integrity.strip_prefix("sha512-")?.trim_end_matches('=');
    let (mut bits, mut count, mut digits) = (0_u32, 0, String::new());
    for c in text.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (((bits << 6) | u32::from(value)) & 0xffff, count + 6);
        if count >= 8 {
            count -= 8;
            let _ = write!(digits, "{:02x}", (bits >> count) & 0xff);
        }
    }
    (digits.len() == 128).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::control_plane::workspace_root;

    fn lock(license: &str) -> String {
        let hash = "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";
        serde_json::json!({"lockfileVersion": 3, "packages": {
            "": {"name": "page", "dependencies": {"@a/one": "1.0.0"}},
            "node_modules/@a/one": {"version": "1.0.0", "license": license, "integrity": format!("sha512-{hash}"),
                "dependencies": {"two": "^2.0.0"}},
            "node_modules/two": {"version": "2.1.0", "license": "MIT", "integrity": format!("sha512-{hash}")},
            "node_modules/builder": {"version": "3.0.0", "license": "GPL-3.0", "dev": true, "integrity": format!("sha512-{hash}")},
        }})
        .to_string()
    }

    #[test]
    fn what_is_bundled_has_version_hash_and_uses_and_build_tools_are_left_out() {
        let packages = read(&lock("ISC"), Path::new("/page")).unwrap();
        let [(one_id, one), (two_id, two)] = &packages[..] else {
            panic!("{packages:?}");
        };
        assert_eq!(
            (one_id.as_str(), two_id.as_str()),
            ("npm:@a/one@1.0.0", "npm:two@2.1.0")
        );
        assert_eq!(one.purl().as_deref(), Some("pkg:npm/%40a/one@1.0.0"));
        assert_eq!(one.uses, BTreeSet::from([two_id.clone()]));
        assert_eq!(one.folder, Path::new("/page/node_modules/@a/one"));
        let checksum = two.checksum.as_deref().unwrap();
        assert!(checksum.starts_with("cf83e1357eefb8bd") && checksum.ends_with("f63b931bd47417a81a538327af927da3e"));
        let unpinned = lock("ISC").replace("sha512-z4Ph", "sha1-z4Ph");
        assert!(read(&unpinned, Path::new("/page")).is_err());
    }

    #[test]
    fn a_license_that_is_not_allowed_is_named() {
        let check = |license: &str| check_licences(&read(&lock(license), Path::new("/page")).unwrap());
        assert!(check("BSD-2-Clause").is_ok() && check("(GPL-2.0 OR MIT)").is_ok());
        for license in ["GPL-3.0-only", "MIT AND GPL-2.0", "SEE LICENSE IN x"] {
            let why = check(license).unwrap_err().to_string();
            assert!(why.contains("npm:@a/one@1.0.0") && why.contains(license), "{why}");
        }
    }

    #[test]
    fn the_packages_of_our_page_are_pinned_and_their_licenses_allowed() {
        check(workspace_root()).unwrap();
        let lock = std::fs::read_to_string(workspace_root().join(LOCK)).unwrap();
        let packages = read(&lock, workspace_root()).unwrap();
        let named = |name: &str| packages.iter().any(|(_, package)| package.name == name);
        assert!(named("maplibre-gl") && named("pmtiles") && named("terra-draw") && !named("esbuild"));
    }
}
