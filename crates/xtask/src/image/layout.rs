//! OCI image layouts in one tar file each (image-spec 1.1), with docker's own list beside it: for `ctr`, `skopeo`,
//! `docker`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::layer::{self, File};
use super::program::Arch;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The user of programs in images; `nonroot` by convention of images without a shell.
const USER: &str = "65532:65532";

#[derive(Debug)]
pub struct Contents {
    pub arch: Arch,
    pub program: (&'static str, &'static str),
    pub files: Vec<File>,
    pub labels: BTreeMap<String, String>,
    /// RFC 3339; left out if unknown.
    pub created: Option<String>,
    /// Seconds since 1970, 0 if unknown.
    pub time: u64,
}

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
    pub fn new(contents: Contents) -> anyhow::Result<Self> {
        let files = layer::tar(&contents.files, contents.time)?;
        let layer = Blob::new(LAYER, layer::gzip(&files)?);
        let (folder, program) = contents.program;
        let config = Blob::json(
            CONFIG,
            known(json!({
                "created": contents.created,
                "architecture": contents.arch.name(),
                "variant": contents.arch.variant(),
                "os": "linux",
                "config": {
                    "User": USER,
                    "Env": [format!("PATH=/{folder}")],
                    "Entrypoint": [format!("/{folder}/{program}")],
                    "WorkingDir": "/",
                    "Labels": contents.labels,
                },
                "rootfs": {"type": "layers", "diff_ids": [digest(&files)]},
                "history": [known(json!({"created": contents.created, "created_by": "cargo xtask image"}))],
            })),
        );
        let manifest = Blob::json(
            MANIFEST,
            json!({
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": config.descriptor(),
                "layers": [layer.descriptor()],
                "annotations": contents.labels,
            }),
        );
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

/// The archive of images named `name:tag`. Docker's list can name one architecture only, so only a single image has it.
pub fn archive(images: &[&Image], name: &str, tag: &str) -> anyhow::Result<Vec<u8>> {
    let mut blobs: Vec<&Blob> = Vec::new();
    let mut manifests = Vec::new();
    for image in images {
        blobs.extend([&image.config, &image.layer, &image.manifest]);
        let (architecture, variant) = (image.arch.name(), image.arch.variant());
        let mut manifest = image.manifest.descriptor();
        manifest["platform"] = known(json!({"architecture": architecture, "os": "linux", "variant": variant}));
        manifests.push(manifest);
    }
    let several;
    let (mut named, list) = match images {
        [image] => {
            let list = json!([{
                "Config": image.config.path(),
                "RepoTags": [format!("{name}:{tag}")],
                "Layers": [image.layer.path()],
            }]);
            (manifests.remove(0), Some(list.to_string().into_bytes()))
        }
        _ => {
            let mut index = index(manifests);
            index["annotations"] = json!(images.first().map(|image| &image.labels));
            several = Blob::json(INDEX, index);
            blobs.push(&several);
            (several.descriptor(), None)
        }
    };
    // containerd reads the first as the full name, in its own form; skopeo and podman read the second as the tag.
    named["annotations"] = json!({
        "io.containerd.image.name": format!("docker.io/library/{name}:{tag}"),
        "org.opencontainers.image.ref.name": tag,
    });
    let file = |path: &str, content: Vec<u8>| File {
        path: path.to_owned(),
        mode: 0o644,
        content,
    };
    let mut files = vec![
        file("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()),
        file("index.json", index(vec![named]).to_string().into_bytes()),
    ];
    files.extend(list.map(|list| file("manifest.json", list)));
    files.extend(blobs.iter().map(|blob| file(&blob.path(), blob.bytes.clone())));
    let time = images.first().map_or(0, |image| image.time);
    Ok(layer::tar(&files, time)?)
}

pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(bytes))
}

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

    fn json(kind: &'static str, value: Value) -> Self {
        Self::new(kind, value.to_string().into_bytes())
    }

    fn path(&self) -> String {
        format!("blobs/{}", self.digest.replace(':', "/"))
    }

    fn descriptor(&self) -> Value {
        json!({"mediaType": self.kind, "digest": self.digest, "size": self.bytes.len()})
    }
}

fn index(manifests: Vec<Value>) -> Value {
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})
}

fn known(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

#[cfg(test)]
mod tests;
