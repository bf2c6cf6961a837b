//! The Helm chart as one file.

use std::path::Path;

use anyhow::Context;
use testkit::control_plane::workspace_root;
use testkit::{Helm, manifests};

use crate::image::layer::{self, File};
use crate::say;

const NAME: &str = "skein";

/// `time` is in seconds since 1970. The error: Helm rejects the chart, or renders it otherwise than its folder.
pub fn package(time: u64) -> anyhow::Result<Vec<u8>> {
    let helm = Helm::find_or_build()?;
    let chart = pack(&manifests::chart(), time)?;
    let scratch = tempfile::tempdir()?;
    let file = scratch.path().join("skein.tgz");
    std::fs::write(&file, &chart)?;
    let file = file.to_str().context("the folder for temporary files is not UTF-8")?;
    helm.run(["lint", "--strict", "--quiet", file])?;
    let rendered = helm.run(["template", NAME, file, "--namespace", manifests::NAMESPACE])?;
    anyhow::ensure!(
        rendered == manifests::template(&helm, &[])?,
        "the packed chart renders something else than {}: a file of it is missing in the package",
        manifests::chart().display()
    );
    Ok(chart)
}

pub fn check() -> anyhow::Result<()> {
    let chart = package(0)?;
    say::note(&format!("the packed chart has {} bytes", chart.len()));
    Ok(())
}

fn pack(folder: &Path, time: u64) -> anyhow::Result<Vec<u8>> {
    let mut files = Vec::new();
    collect(folder, NAME, &mut files)?;
    // Its README links to the licence of the repository.
    let licence = workspace_root().join("LICENSE");
    files.push(file(&licence, &format!("{NAME}/LICENSE"))?);
    Ok(layer::gzip(&layer::tar(&files, time)?)?)
}

fn collect(folder: &Path, path: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let path = format!("{path}/{}", name.to_str().context("a file's name is not UTF-8")?);
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &path, files)?;
        } else {
            files.push(file(&entry.path(), &path)?);
        }
    }
    Ok(())
}

fn file(from: &Path, path: &str) -> anyhow::Result<File> {
    let content = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    Ok(File {
        path: path.to_owned(),
        mode: 0o644,
        content,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_is_packed_whole_in_its_folder_and_has_the_version_of_the_programs() {
        let packed = pack(&manifests::chart(), 7).unwrap();
        assert_eq!(packed, pack(&manifests::chart(), 7).unwrap(), "the same twice");
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        for name in ["Chart.yaml", "LICENSE", "templates/agent.yaml", "files/swarms.yaml"] {
            assert!(names.contains(&format!("skein/{name}")), "{name} is not in {names:?}");
        }
        let chart = std::fs::read_to_string(manifests::chart().join("Chart.yaml")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        for line in [format!("version: {version}"), format!("appVersion: {version}")] {
            assert!(chart.lines().any(|other| other == line), "Chart.yaml has no `{line}`");
        }
    }
}
