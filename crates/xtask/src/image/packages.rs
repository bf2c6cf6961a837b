//! The packages of programs: names, versions, licences, and their dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;

use super::compile::Tree;
use super::expression;
use super::program::Arch;
use crate::command::output;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registry {
    Cargo,
    Npm,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// SPDX expression.
    pub licence: Option<String>,
    pub authors: Vec<String>,
    pub folder: PathBuf,
    pub registry: Registry,
    /// `false`: it belongs to this workspace.
    pub published: bool,
    /// Hash of the package file, from the lockfile: SHA-256 of a crate, SHA-512 of an npm package.
    pub checksum: Option<String>,
    pub is_macro: bool,
    pub uses: BTreeSet<String>,
}

impl Package {
    pub fn purl(&self) -> Option<String> {
        let (name, version) = (self.name.replace('@', "%40"), self.version.replace('+', "%2B"));
        let kind = match self.registry {
            Registry::Cargo => "cargo",
            Registry::Npm => "npm",
        };
        self.published.then(|| format!("pkg:{kind}/{name}@{version}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages(BTreeMap<String, Package>);

impl Packages {
    pub fn of(tree: &Tree, arch: Arch) -> anyhow::Result<Self> {
        let mut command = tree.cargo();
        command.args([
            "metadata",
            "--locked",
            "--format-version=1",
            "--filter-platform",
            arch.target(),
        ]);
        let metadata = output(command)?;
        let lock = std::fs::read_to_string(tree.root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
        Self::read(&metadata, &lock)
    }

    pub fn linked(&self, ids: &BTreeSet<String>) -> anyhow::Result<Self> {
        let one = |id: &String| {
            let package = self
                .0
                .get(id)
                .with_context(|| format!("cargo built {id} and does not know it"))?;
            anyhow::Ok((id.clone(), package.clone()))
        };
        Ok(Self(ids.iter().map(one).collect::<Result<_, _>>()?))
    }

    pub fn with(mut self, others: Vec<(String, Package)>) -> Self {
        self.0.extend(others);
        self
    }

    /// Packages with their ids, by name and version.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Package)> {
        let mut all: Vec<_> = self.0.iter().map(|(id, package)| (id.as_str(), package)).collect();
        all.sort_by_key(|(_, package)| (&package.name, &package.version));
        all.into_iter()
    }

    pub fn get(&self, id: &str) -> Option<&Package> {
        self.0.get(id)
    }

    /// The folders of sources from a registry.
    pub fn folders(&self) -> Vec<PathBuf> {
        let published = self.0.values().filter(|package| package.published);
        let folders: BTreeSet<PathBuf> = published
            .filter_map(|package| package.folder.parent().map(PathBuf::from))
            .collect();
        folders.into_iter().collect()
    }

    fn read(metadata: &str, lock: &str) -> anyhow::Result<Self> {
        let metadata: Metadata = serde_json::from_str(metadata).context("cannot read what cargo metadata says")?;
        let checksums = checksums(lock);
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in metadata.resolve.nodes {
            let normal = |dependency: &NodeDependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
            let used = node.deps.into_iter().filter(normal).map(|dependency| dependency.pkg);
            uses.insert(node.id, used.collect());
        }
        let package = |raw: RawPackage| {
            let key = (raw.name.clone(), raw.version.clone());
            let published = raw.source.is_some();
            let package = Package {
                licence: raw.license.as_deref().map(expression::of_package),
                authors: raw.authors,
                folder: raw.manifest_path.parent().map(PathBuf::from).unwrap_or_default(),
                registry: Registry::Cargo,
                published,
                is_macro: raw
                    .targets
                    .iter()
                    .any(|target| target.kind.iter().any(|kind| kind == "proc-macro")),
                checksum: checksums.get(&key).filter(|_| published).cloned(),
                uses: uses.remove(&raw.id).unwrap_or_default(),
                name: raw.name,
                version: raw.version,
            };
            (raw.id, package)
        };
        Ok(Self(metadata.packages.into_iter().map(package).collect()))
    }
}

#[cfg(test)]
impl Packages {
    /// All packages that a program may contain by its dependencies; a build may link fewer.
    pub fn reachable(&self, program: &str) -> Self {
        let mut found = BTreeMap::new();
        let mut open: Vec<&String> = self.0.keys().filter(|id| self.0[*id].name == program).collect();
        while let Some(id) = open.pop() {
            let package = &self.0[id];
            if !package.is_macro && found.insert(id.clone(), package.clone()).is_none() {
                open.extend(&package.uses);
            }
        }
        Self(found)
    }
}

#[cfg(test)]
impl FromIterator<(String, Package)> for Packages {
    fn from_iter<I: IntoIterator<Item = (String, Package)>>(packages: I) -> Self {
        Self(packages.into_iter().collect())
    }
}

/// Checksums by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
    };
    let one = |block: &str| {
        Some((
            (value(block, "name")?, value(block, "version")?),
            value(block, "checksum")?,
        ))
    };
    lock.split("[[package]]").filter_map(one).collect()
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<RawPackage>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct RawPackage {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<NodeDependency>,
}

#[derive(Deserialize)]
struct NodeDependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const METADATA: &str = r#"{
      "packages": [
        {"id": "path#agent", "name": "agent", "version": "0.1.0", "license": "Apache-2.0", "authors": [], "source": null,
         "manifest_path": "/skein/agent/Cargo.toml", "targets": []},
        {"id": "registry#fnv", "name": "fnv", "version": "1.0.7", "license": "Apache-2.0 / MIT", "authors": ["Alex"],
         "source": "registry", "manifest_path": "/crates/fnv-1.0.7/Cargo.toml", "targets": [{"kind": ["lib"]}]},
        {"id": "registry#cc", "name": "cc", "version": "1.2.0", "license": "MIT/Apache-2.0", "authors": [],
         "source": "registry", "manifest_path": "/crates/cc-1.2.0/Cargo.toml", "targets": [{"kind": ["lib"]}]}
      ],
      "resolve": {"nodes": [
        {"id": "path#agent", "deps": [
          {"pkg": "registry#fnv", "dep_kinds": [{"kind": null}]},
          {"pkg": "registry#cc", "dep_kinds": [{"kind": "build"}]}
        ]},
        {"id": "registry#fnv", "deps": []},
        {"id": "registry#cc", "deps": []}
      ]}
    }"#;
    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"fnv\"\nversion = \"1.0.7\"\nchecksum = \"3f9e\"\n\n\
                        [[package]]\nname = \"agent\"\nversion = \"0.1.0\"\ndependencies = [\n \"fnv\",\n]\n";

    pub fn two() -> Packages {
        let linked = BTreeSet::from(["path#agent".to_owned(), "registry#fnv".to_owned()]);
        Packages::read(METADATA, LOCK).unwrap().linked(&linked).unwrap()
    }

    #[test]
    fn a_package_has_its_licence_checksum_and_what_it_uses() {
        let packages = two();
        let (_, agent) = packages.iter().next().unwrap();
        assert_eq!(
            agent.uses,
            BTreeSet::from(["registry#fnv".to_owned()]),
            "what helps to build is not used"
        );
        assert_eq!((agent.published, &agent.checksum, agent.purl()), (false, &None, None));
        let fnv = packages.get("registry#fnv").unwrap();
        assert_eq!(fnv.licence.as_deref(), Some("Apache-2.0 OR MIT"));
        assert_eq!(fnv.checksum.as_deref(), Some("3f9e"));
        assert_eq!(fnv.purl().as_deref(), Some("pkg:cargo/fnv@1.0.7"));
        assert_eq!(packages.folders(), [PathBuf::from("/crates")]);
    }

    #[test]
    fn a_package_that_cargo_did_not_list_is_an_error() {
        let stranger = BTreeSet::from(["registry#left-pad".to_owned()]);
        let error = two().linked(&stranger).unwrap_err();
        assert_eq!(error.to_string(), "cargo built registry#left-pad and does not know it");
    }
}
