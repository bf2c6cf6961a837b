//! The licences of everything that is linked into a program, as one text for its image; deny.toml assesses them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::packages::{Package, Packages, Registry};

enum Instead {
    /// The common text of this SPDX id.
    Common(&'static str),
    /// The texts of this package, which comes from the same repository and the same authors.
    Sibling(&'static str),
}

/// Packages without a text, each with its replacement and why that is sufficient.
const WITHOUT: [(&str, Instead, &str); 19] = [
    ("cel", Instead::Common("MIT"), "says MIT and names its authors"),
    (
        "geo",
        Instead::Common("Apache-2.0"),
        "offers Apache-2.0, whose text is the same for all",
    ),
    (
        "i_key_sort",
        Instead::Sibling("i_float"),
        "says MIT, as i_float, and has its author",
    ),
    (
        "i_overlay",
        Instead::Common("Apache-2.0"),
        "offers Apache-2.0, whose text is the same for all",
    ),
    (
        "integer-sqrt",
        Instead::Common("Apache-2.0"),
        "offers Apache-2.0, whose text is the same for all",
    ),
    (
        "kube",
        Instead::Common("Apache-2.0"),
        "says Apache-2.0, whose text is the same for all",
    ),
    ("kube-client", Instead::Common("Apache-2.0"), "as kube"),
    ("kube-core", Instead::Common("Apache-2.0"), "as kube"),
    ("kube-runtime", Instead::Common("Apache-2.0"), "as kube"),
    (
        "mavlink",
        Instead::Common("Apache-2.0"),
        "offers Apache-2.0, whose text is the same for all",
    ),
    ("mavlink-bindgen", Instead::Common("Apache-2.0"), "as mavlink"),
    ("mavlink-core", Instead::Common("Apache-2.0"), "as mavlink"),
    (
        "opentelemetry",
        Instead::Common("Apache-2.0"),
        "says Apache-2.0, whose text is the same for all",
    ),
    ("opentelemetry-otlp", Instead::Common("Apache-2.0"), "as opentelemetry"),
    ("opentelemetry-proto", Instead::Common("Apache-2.0"), "as opentelemetry"),
    ("opentelemetry_sdk", Instead::Common("Apache-2.0"), "as opentelemetry"),
    (
        "pathfinding",
        Instead::Common("Apache-2.0"),
        "offers Apache-2.0, whose text is the same for all",
    ),
    ("rstar", Instead::Common("Apache-2.0"), "as pathfinding"),
    (
        "tonic-prost",
        Instead::Sibling("tonic"),
        "comes from tonic's repository and has its authors",
    ),
];

/// The same for npm packages in the page of `skein map`.
const PAGE_WITHOUT: [(&str, Instead, &str); 4] = [
    (
        "murmurhash-js",
        Instead::Common("MIT"),
        "says MIT and names its author, Gary Court",
    ),
    (
        "pmtiles",
        Instead::Sibling("pbf"),
        "says BSD-3-Clause, whose conditions are those of pbf; Copyright 2021 Protomaps LLC",
    ),
    (
        "terra-draw",
        Instead::Common("MIT"),
        "says MIT and names its author, James Milner",
    ),
    (
        "terra-draw-maplibre-gl-adapter",
        Instead::Common("MIT"),
        "as terra-draw",
    ),
];

const BEGINNINGS: [&str; 6] = ["licence", "license", "copying", "copyright", "notice", "unlicense"];

/// The folder with one file per licence that <https://reuse.software> requires.
const LICENCE_FOLDER: &str = "LICENSES";

/// A linked part that cargo does not know.
#[derive(Debug)]
pub struct Part<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum Incomplete {
    #[error("{name} {version} ({licence}) comes without the text of its licence: look at it, and list it in {file} with \
             what is given instead and why", file = file!())]
    NoText {
        name: String,
        version: String,
        licence: String,
    },
    #[error("{name} is to have the licence text of {sibling}, which is not linked")]
    NoSibling { name: String, sibling: &'static str },
    #[error("cannot read {path}")]
    Unreadable { path: PathBuf, source: std::io::Error },
}

/// The licences of `packages` and `parts`; `common` is a folder of texts, named by SPDX id.
pub fn text(packages: &Packages, parts: &[Part<'_>], common: &Path) -> Result<String, Incomplete> {
    // Keyed by the words, as packages wrap the same text differently.
    let mut texts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let mut add = |owner: String, text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, owners) = texts
            .entry(words)
            .or_insert_with(|| (text.trim().replace('\r', ""), Vec::new()));
        owners.push(owner);
    };
    let mut list = String::new();
    for (_, package) in packages.iter().filter(|(_, package)| package.published) {
        let title = format!("{} {}", package.name, package.version);
        let licence = package.licence.as_deref().unwrap_or("see below");
        let purl = package.purl().unwrap_or_default();
        let _ = writeln!(list, "  {title}: {licence}; {purl}");
        for (file, text) in texts_of(package, packages, common)? {
            add(format!("{title} ({file})"), &text);
        }
    }
    for part in parts {
        add(part.name.to_owned(), part.text);
    }
    let mut all = format!(
        "This program contains software of others. The package URLs below say where its source code is.\n\n{list}"
    );
    let mut texts: Vec<_> = texts.into_values().collect();
    texts.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (text, owners) in texts {
        let _ = write!(all, "\n{}\n{}\n\n{text}\n", "=".repeat(80), owners.join("\n"));
    }
    Ok(all)
}

fn texts_of(package: &Package, packages: &Packages, common: &Path) -> Result<Vec<(String, String)>, Incomplete> {
    let mut found = Vec::new();
    for path in licence_files(&package.folder)? {
        let name = path.strip_prefix(&package.folder).unwrap_or(&path);
        found.push((name.display().to_string(), read(&path)?));
    }
    if found.iter().any(|(name, _)| is_of_all(Path::new(name))) {
        return Ok(found);
    }
    let listed = match package.registry {
        Registry::Cargo => &WITHOUT[..],
        Registry::Npm => &PAGE_WITHOUT[..],
    };
    match listed.iter().find(|(name, ..)| *name == package.name) {
        None => Err(Incomplete::NoText {
            name: package.name.clone(),
            version: package.version.clone(),
            licence: package.licence.clone().unwrap_or_else(|| "no licence named".to_owned()),
        }),
        Some((_, Instead::Common(id), why)) => {
            let text = read(&common.join(format!("{id}.txt")))?;
            let authors = package.authors.join(", ");
            let by = if authors.is_empty() {
                String::new()
            } else {
                format!(" by {authors}")
            };
            found.push((format!("no text of its own: {why}{by}"), text));
            Ok(found)
        }
        Some((name, Instead::Sibling(sibling), why)) => {
            let other = packages.iter().find(|(_, package)| package.name == *sibling);
            let (_, other) = other.ok_or(Incomplete::NoSibling {
                name: (*name).to_owned(),
                sibling,
            })?;
            for path in licence_files(&other.folder)? {
                found.push((format!("no text of its own: {why}"), read(&path)?));
            }
            Ok(found)
        }
    }
}

fn licence_files(folder: &Path) -> Result<Vec<PathBuf>, Incomplete> {
    let unreadable = |source| Incomplete::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let in_folder = folder.ends_with(LICENCE_FOLDER);
        let is_named = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
        let is_code = [".rs", ".c", ".h", ".py", ".go"].iter().any(|end| name.ends_with(end));
        if path.is_dir() {
            found.extend(licence_files(&path)?);
        } else if in_folder || (is_named && !is_code) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a file with this path in its package applies to the whole package.
fn is_of_all(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new(""));
    folder == Path::new("") || folder == Path::new(LICENCE_FOLDER)
}

fn read(path: &Path) -> Result<String, Incomplete> {
    let bytes = std::fs::read(path).map_err(|source| Incomplete::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
