//! The plain manifests in `deploy/`, as the chart in `deploy/chart` renders them with its default values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::Helm;
use crate::control_plane::workspace_root;

pub const NAMESPACE: &str = "skein-system";

/// Plain manifests, each rendered from the chart's template of the same name.
pub const FILES: [&str; 7] = [
    "agent.yaml",
    "coordinator.yaml",
    "metrics.yaml",
    "network-policy.yaml",
    "pod-policy.yaml",
    "rbac.yaml",
    "roles.yaml",
];

const COPIED: [&str; 2] = [
    "deploy/monitoring/alerts.yaml",
    "deploy/monitoring/fleet-dashboard.json",
];

/// Precedes each document that Helm prints.
const SOURCE: &str = "# Source: skein/templates/";

pub fn chart() -> PathBuf {
    workspace_root().join("deploy/chart")
}

/// Everything that the chart renders in [`NAMESPACE`] with these settings, each `path=value`.
pub fn template(helm: &Helm, settings: &[&str]) -> anyhow::Result<String> {
    let chart = chart();
    let chart = chart.to_str().context("the workspace's path is not UTF-8")?;
    let mut args = vec!["template", "skein", chart, "--namespace", NAMESPACE];
    args.extend(settings.iter().flat_map(|setting| ["--set", *setting]));
    helm.run(args)
}

pub fn crds() -> anyhow::Result<Vec<String>> {
    let folder = workspace_root().join("crds");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|end| end == "yaml") {
            files.push(format!("crds/{name}"));
        }
    }
    files.sort();
    Ok(files)
}

/// Content by path from the workspace's root.
pub fn generated(helm: &Helm) -> anyhow::Result<BTreeMap<String, String>> {
    let documents = by_template(&template(helm, &[])?);
    let mut files = BTreeMap::new();
    for name in FILES {
        let of_it = documents
            .get(name)
            .with_context(|| format!("the chart has no {name}"))?;
        let header = format!("# Generated from chart/templates/{name} by `cargo xtask generate`; do not edit.\n");
        files.insert(format!("deploy/{name}"), header + &of_it.join("---\n"));
    }
    // Helm reads only files in the chart's own folder.
    for path in crds()?.into_iter().chain(COPIED.map(str::to_owned)) {
        let source = workspace_root().join(&path);
        let text = std::fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        files.insert(format!("deploy/chart/files/{name}"), text);
    }
    Ok(files)
}

fn by_template(rendered: &str) -> BTreeMap<String, Vec<String>> {
    let mut documents: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for document in rendered.split("---\n") {
        let Some((name, text)) = document.strip_prefix(SOURCE).and_then(|rest| rest.split_once('\n')) else {
            continue;
        };
        let text = format!("{}\n", text.trim());
        documents.entry(name.to_owned()).or_default().push(text);
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_go_to_the_file_of_their_template() {
        let rendered = "---\n# Source: skein/templates/a.yaml\none: 1\n\n---\n# Source: skein/templates/b.yaml\n# why\ntwo: 2\n\
                        ---\n# Source: skein/templates/a.yaml\nthree: 3\n";
        let documents = by_template(rendered);
        assert_eq!(documents["a.yaml"], ["one: 1\n", "three: 3\n"]);
        assert_eq!(documents["b.yaml"], ["# why\ntwo: 2\n"]);
    }
}
