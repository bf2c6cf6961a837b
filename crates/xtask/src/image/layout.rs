//! Images as OCI image layouts in one tar file each (image-spec 1.1: image-layout, manifest, config, image-index), with
//! docker's own list beside it, so that `ctr`, `skopeo` and `docker load` accept the same file.
//!
//! Owns: these formats. Must not: know how the files of an image are built.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::layer::{self, File};
use super::program::Arch;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The user of programs in images; `nonroot` by convention of images without a shell.
const USER: &str = "65532:65532";

/// The content of an image.
#[derive(Debug)]
pub struct Contents {
    /// The machine that it is for.
    pub arch: Arch,
    /// The program, as its folder and its name.
    pub program: (&'static str, &'static str),
    /// All files.
    pub files: Vec<File>,
    /// Labels of the config and annotations of the manifest.
    pub labels: BTreeMap<String, String>,
    /// Time of creation, as RFC 3339; left out if it is not known.
    pub created: Option<String>,
    /// The same in seconds since 1970, 0 if it is not known.
    pub time: u64,
}

/// An image for one architecture.
#[derive(Debug)]
pub struct Image {
    arch: Arch,
    config: Blob,
    layer: Blob,
    manifest: Blob,
    labels: BTreeMap<String, String>,
    time: u64,
}

impl Image {
    /// Packs the files and describes them.
    pub fn new(contents: Contents) -> anyhow::Result<Self> {
        let files = layer::tar(&contents.files, contents.time)?;
        let layer = Blob::new(LAYER, layer::gzip(&files)?);
        let (folder, program) = contents.program;
        let config = Blob::json(
            CONFIG,
            &Config {
                created: contents.created.clone(),
                architecture: contents.arch.name(),
                variant: contents.arch.variant(),
                os: "linux",
                config: Run {
                    user: USER,
                    env: [format!("PATH=/{folder}")],
                    entrypoint: [format!("/{folder}/{program}")],
                    working_dir: "/",
                    labels: &contents.labels,
                },
                rootfs: RootFs {
                    kind: "layers",
                    diff_ids: [digest(&files)],
                },
                history: [History {
                    created: contents.created,
                    created_by: "cargo xtask image",
                }],
            },
        )?;
        let manifest = Blob::json(
            MANIFEST,
            &Manifest {
                schema_version: 2,
                media_type: MANIFEST,
                config: config.descriptor(),
                layers: [layer.descriptor()],
                annotations: &contents.labels,
            },
        )?;
        Ok(Self {
            arch: contents.arch,
            config,
            layer,
            manifest,
            labels: contents.labels,
            time: contents.time,
        })
    }

    /// `sha256:…` of the manifest: the image's name in a registry.
    pub fn digest(&self) -> &str {
        &self.manifest.digest
    }
}

/// The archive of an image for one or several architectures, named `name:tag`.
///
/// Docker's list can name one architecture only, so it is included for a single image only.
pub fn archive(images: &[&Image], name: &str, tag: &str) -> anyhow::Result<Vec<u8>> {
    let mut blobs: Vec<&Blob> = Vec::new();
    let mut manifests = Vec::new();
    for image in images {
        blobs.extend([&image.config, &image.layer, &image.manifest]);
        manifests.push(Descriptor {
            platform: Some(Platform {
                architecture: image.arch.name(),
                os: "linux",
                variant: image.arch.variant(),
            }),
            ..image.manifest.descriptor()
        });
    }
    let several;
    let (mut named, list) = match images {
        [image] => {
            let list = [DockerImage {
                config: image.config.path(),
                repo_tags: [format!("{name}:{tag}")],
                layers: [image.layer.path()],
            }];
            (manifests.remove(0), Some(serde_json::to_vec(&list)?))
        }
        _ => {
            let labels = images.first().map(|image| image.labels.clone()).unwrap_or_default();
            several = Blob::json(INDEX, &Index::new(manifests, labels))?;
            blobs.push(&several);
            (several.descriptor(), None)
        }
    };
    // containerd reads the first as the full name, skopeo and podman the second as the tag.
    named.annotations = BTreeMap::from([
        (
            "io.containerd.image.name".to_owned(),
            format!("docker.io/library/{name}:{tag}"),
        ),
        ("org.opencontainers.image.ref.name".to_owned(), tag.to_owned()),
    ]);
    let file = |path: &str, content: Vec<u8>| File {
        path: path.to_owned(),
        mode: 0o644,
        content,
    };
    let index = Index::new(vec![named], BTreeMap::new());
    let mut files = vec![
        file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
        file("index.json", serde_json::to_vec(&index)?),
    ];
    files.extend(list.map(|list| file("manifest.json", list)));
    files.extend(blobs.iter().map(|blob| file(&blob.path(), blob.bytes.clone())));
    let time = images.first().map_or(0, |image| image.time);
    Ok(layer::tar(&files, time)?)
}

/// `sha256:…` of some bytes.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(bytes))
}

/// The SHA-256 of some bytes, as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Debug)]
struct Blob {
    kind: &'static str,
    digest: String,
    bytes: Vec<u8>,
}

impl Blob {
    fn new(kind: &'static str, bytes: Vec<u8>) -> Self {
        let digest = digest(&bytes);
        Self { kind, digest, bytes }
    }

    fn json(kind: &'static str, value: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Self::new(kind, serde_json::to_vec(value)?))
    }

    fn path(&self) -> String {
        format!("blobs/{}", self.digest.replace(':', "/"))
    }

    fn descriptor(&self) -> Descriptor {
        Descriptor {
            media_type: self.kind,
            digest: self.digest.clone(),
            size: self.bytes.len(),
            platform: None,
            annotations: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: &'static str,
    digest: String,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<Platform>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct Platform {
    architecture: &'static str,
    os: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u8,
    media_type: &'static str,
    manifests: Vec<Descriptor>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

impl Index {
    fn new(manifests: Vec<Descriptor>, annotations: BTreeMap<String, String>) -> Self {
        Self {
            schema_version: 2,
            media_type: INDEX,
            manifests,
            annotations,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u8,
    media_type: &'static str,
    config: Descriptor,
    layers: [Descriptor; 1],
    annotations: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Config<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    architecture: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'static str>,
    os: &'static str,
    config: Run<'a>,
    rootfs: RootFs,
    history: [History; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Run<'a> {
    user: &'static str,
    env: [String; 1],
    entrypoint: [String; 1],
    working_dir: &'static str,
    labels: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct RootFs {
    #[serde(rename = "type")]
    kind: &'static str,
    diff_ids: [String; 1],
}

#[derive(Serialize)]
struct History {
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    created_by: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct DockerImage {
    config: String,
    repo_tags: [String; 1],
    layers: [String; 1],
}

#[cfg(test)]
mod tests;
