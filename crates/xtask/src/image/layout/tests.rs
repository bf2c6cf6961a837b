//! Tests of the archives: reading them gives what was written.

use super::*;
use serde_json::Value;
use std::io::Read;

fn image(arch: Arch) -> Image {
    Image::new(Contents {
        arch,
        program: ("usr/bin", "skein-agent"),
        files: vec![File {
            path: "usr/bin/skein-agent".to_owned(),
            mode: 0o755,
            content: b"program".to_vec(),
        }],
        labels: BTreeMap::from([("org.opencontainers.image.version".to_owned(), "0.1.0".to_owned())]),
        created: Some("2023-11-14T22:13:20Z".to_owned()),
        time: 1_700_000_000,
    })
    .unwrap()
}

/// All files of an archive; checks every blob against its name.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if let Some(digits) = path.strip_prefix("blobs/sha256/").filter(|rest| !rest.is_empty()) {
            assert_eq!(digits, hex(&content));
        }
        files.insert(path, content);
    }
    files
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn follow(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap();
    let content = &files[&format!("blobs/{}", digest.replace(':', "/"))];
    assert_eq!(descriptor["size"], content.len());
    content.clone()
}

#[test]
fn an_image_is_found_from_the_index_down_to_the_files() {
    let files = files(&archive(&[&image(Arch::Amd64)], "skein-agent", "0.1.0").unwrap());
    assert_eq!(json(&files["oci-layout"])["imageLayoutVersion"], "1.0.0");
    let index = json(&files["index.json"]);
    let named = &index["manifests"][0];
    assert_eq!(
        named["annotations"]["io.containerd.image.name"],
        "docker.io/library/skein-agent:0.1.0"
    );
    assert_eq!(named["annotations"]["org.opencontainers.image.ref.name"], "0.1.0");
    assert_eq!(named["platform"]["architecture"], "amd64");
    let manifest = json(&follow(&files, named));
    assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "0.1.0");
    let config = json(&follow(&files, &manifest["config"]));
    assert_eq!(config["config"]["User"], USER);
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/skein-agent");
    assert_eq!(config["config"]["Labels"], manifest["annotations"]);
    let mut layer = Vec::new();
    let packed = follow(&files, &manifest["layers"][0]);
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_end(&mut layer)
        .unwrap();
    assert_eq!(config["rootfs"]["diff_ids"][0], digest(&layer));
    assert_eq!(self::files(&layer)["usr/bin/skein-agent"], b"program");
}

#[test]
fn docker_finds_the_same_config_and_layer_by_its_own_list() {
    let files = files(&archive(&[&image(Arch::Arm64)], "skein-agent", "0.1.0").unwrap());
    let list = json(&files["manifest.json"]);
    assert_eq!(list[0]["RepoTags"][0], "skein-agent:0.1.0");
    let manifest = json(&follow(&files, &json(&files["index.json"])["manifests"][0]));
    let path = |descriptor: &Value| format!("blobs/{}", descriptor["digest"].as_str().unwrap().replace(':', "/"));
    assert_eq!(list[0]["Config"], path(&manifest["config"]));
    assert_eq!(list[0]["Layers"][0], path(&manifest["layers"][0]));
}

#[test]
fn one_name_leads_to_the_images_of_both_architectures() {
    let (amd64, arm64) = (image(Arch::Amd64), image(Arch::Arm64));
    let files = files(&archive(&[&amd64, &arm64], "skein-agent", "0.1.0").unwrap());
    assert!(!files.contains_key("manifest.json"), "docker's list can name one only");
    let index = json(&files["index.json"]);
    assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
    let both = json(&follow(&files, &index["manifests"][0]));
    let seen: Vec<_> = both["manifests"].as_array().unwrap().iter().collect();
    assert_eq!(seen[0]["platform"]["architecture"], "amd64");
    assert_eq!(
        seen[1]["platform"],
        serde_json::json!({"architecture": "arm64", "os": "linux", "variant": "v8"})
    );
    for (descriptor, image) in seen.iter().zip([&amd64, &arm64]) {
        assert_eq!(descriptor["digest"], image.digest());
        let config = json(&follow(&files, &json(&follow(&files, descriptor))["config"]));
        assert_eq!(config["architecture"], image.arch.name());
    }
}

#[test]
fn the_same_contents_make_the_same_archive() {
    let once = archive(&[&image(Arch::Amd64)], "skein-agent", "0.1.0").unwrap();
    let again = archive(&[&image(Arch::Amd64)], "skein-agent", "0.1.0").unwrap();
    assert_eq!(once, again);
    assert_ne!(image(Arch::Amd64).digest(), image(Arch::Arm64).digest());
}
