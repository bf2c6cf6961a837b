//! Tests of a release, put together of placeholders for the programs.

use std::io::Read;
use std::process::Command;

use serde_json::Value;

use super::*;
use crate::command::output;
use crate::image::layout::Contents;

const WHEELS: [&str; 2] = [
    "skein_fleet-0.1.0-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
    "skein_fleet-0.1.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
];

fn placeholder(program: Program, arch: Arch) -> Made {
    let file = |path: String, mode, content: &str| File {
        path,
        mode,
        content: content.into(),
    };
    let files = vec![
        file(
            format!("usr/bin/{}", program.name()),
            0o755,
            &format!("#!/bin/sh\necho {} 0.1.0\n", program.name()),
        ),
        file("usr/share/skein/LICENSE".to_owned(), 0o644, "words"),
        file("usr/share/skein/third-party-licences.txt".to_owned(), 0o644, "words"),
        file("usr/share/skein/sbom.spdx.json".to_owned(), 0o644, "{}"),
    ];
    let image = Image::new(Contents {
        arch,
        program: ("usr/bin", program.name()),
        files: files.clone(),
        labels: BTreeMap::new(),
        created: None,
        time: 7,
    });
    Made {
        version: "0.1.0".to_owned(),
        image: image.unwrap(),
        files,
        sbom: b"{}".to_vec(),
    }
}

fn release(url: Option<&str>) -> BTreeMap<String, Vec<u8>> {
    let both = |program| Arches::All.list().iter().map(move |arch| (program, *arch));
    let programs = Program::ALL.into_iter().flat_map(both);
    let programs = programs.map(|(program, arch)| ((program, arch), placeholder(program, arch)));
    let source = Source {
        commit: "4be1f0c2a9d34be1f0c2a9d34be1f0c2a9d34be1",
        lock: b"",
        page_lock: b"",
        compilers: BTreeMap::new(),
        options: Vec::new(),
        time: 7,
    };
    let wheels = WHEELS.map(|name| (name.to_owned(), b"wheel".to_vec())).into();
    files(&programs.collect(), b"chart".to_vec(), wheels, url, &source).unwrap()
}

#[test]
fn a_release_has_programs_images_and_sboms_for_both_architectures_and_all_else_once() {
    let release = release(None);
    let names: Vec<&str> = release.keys().map(String::as_str).collect();
    let mut wanted = [
        "SHA256SUMS",
        "skein-0.1.0.provenance.json",
        "skein-0.1.0.tgz",
        "skein.yaml",
    ]
    .map(str::to_owned)
    .to_vec();
    wanted.extend(WHEELS.map(str::to_owned));
    for name in ["skein", "skein-agent", "skein-coordinator"] {
        wanted.push(format!("{name}-0.1.0.oci.tar"));
        for arch in ["amd64", "arm64"] {
            wanted.push(format!("{name}-0.1.0-{arch}.oci.tar"));
            wanted.push(format!("{name}-0.1.0-linux-{arch}.spdx.json"));
            wanted.push(format!("{name}-0.1.0-linux-{arch}.tar.gz"));
            wanted.push(format!("{name}_0.1.0_{arch}.deb"));
        }
    }
    wanted.sort_unstable();
    assert_eq!(names, wanted);
    assert_eq!(release, super::tests::release(None), "the same twice");
}

#[test]
fn the_commands_of_the_page_accept_the_folder_and_the_packed_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    let release = release(None);
    ensure_empty(&out).unwrap();
    write(&out, &release).unwrap();
    let page = std::fs::read_to_string(workspace_root().join("docs/how-to/make-a-release.md")).unwrap();
    let documented = |start: &str| {
        let mut shell = Command::new("sh");
        let line = page.lines().find(|line| line.starts_with(start)).unwrap();
        shell.args(["-euc", line]).current_dir(&out);
        output(shell).unwrap()
    };
    let checked = documented("sha256sum ");
    assert_eq!(checked.matches(": OK").count(), release.len() - 1, "{checked}");
    assert_eq!(documented("tar "), "skein-agent 0.1.0\n");
    let left = std::fs::read_dir(&out).unwrap().count();
    assert_eq!(left, release.len(), "the page leaves unpacked files behind");
    let error = ensure_empty(&out).unwrap_err().to_string();
    assert!(error.ends_with("delete it, or name another folder by --out"), "{error}");
}

#[test]
fn a_package_for_debian_has_the_program_and_its_texts_in_places_of_its_own() {
    let release = release(None);
    let folder = tempfile::tempdir().unwrap();
    let mut places = BTreeMap::new();
    for name in ["skein", "skein-agent", "skein-coordinator"] {
        let path = folder.path().join("package.deb");
        std::fs::write(&path, &release[&format!("{name}_0.1.0_arm64.deb")]).unwrap();
        let member = |member: &str| {
            let mut ar = Command::new("ar");
            ar.arg("p").arg(&path).arg(member);
            ar.output().unwrap().stdout
        };
        assert_eq!(member("debian-binary"), b"2.0\n");
        let entries = |member: &[u8]| {
            let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(member));
            let mut entries = Vec::new();
            for entry in archive.entries().unwrap() {
                let mut entry = entry.unwrap();
                let mut content = String::new();
                entry.read_to_string(&mut content).unwrap();
                let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
                entries.push((path, entry.header().mode().unwrap(), content));
            }
            entries
        };
        let controls = entries(&member("control.tar.gz"));
        let [(control, _, text)] = &controls[..] else {
            panic!("more than one control file");
        };
        assert_eq!(control, "control");
        for line in [&*format!("Package: {name}"), "Version: 0.1.0", "Architecture: arm64"] {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
        let files = entries(&member("data.tar.gz"));
        let files = files.into_iter().filter(|(path, ..)| !path.ends_with('/'));
        for (path, mode, _) in files {
            let other = places.insert(path.clone(), (name, mode));
            assert_eq!(other, None, "{path} is in two packages");
        }
    }
    assert_eq!(places["usr/bin/skein-agent"], ("skein-agent", 0o755));
    assert_eq!(places["usr/share/doc/skein/copyright"], ("skein", 0o644));
    assert_eq!(places.len(), 12);
}

#[test]
fn the_provenance_names_every_file_but_itself_and_the_checksums() {
    let release = release(None);
    let statement: Value = serde_json::from_slice(&release["skein-0.1.0.provenance.json"]).unwrap();
    let subjects: BTreeMap<&str, &str> = statement["subject"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subject| {
            let digest = subject["digest"]["sha256"].as_str().unwrap();
            (subject["name"].as_str().unwrap(), digest)
        })
        .collect();
    assert_eq!(subjects.len(), release.len() - 2);
    for (name, digest) in subjects {
        assert_eq!(hex(&release[name]), digest, "{name}");
    }
}

#[test]
fn the_plugin_is_downloaded_from_where_the_folder_is_published() {
    let release = release(Some(&address("https://downloads.example/skein/0.1.0/").unwrap()));
    let manifest: Value = serde_saphyr::from_slice(&release["skein.yaml"]).unwrap();
    for (index, arch) in ["amd64", "arm64"].into_iter().enumerate() {
        let file = format!("skein-0.1.0-linux-{arch}.tar.gz");
        let platform = &manifest["spec"]["platforms"][index];
        assert_eq!(platform["uri"], format!("https://downloads.example/skein/0.1.0/{file}"));
        assert_eq!(platform["sha256"], hex(&release[&file]));
    }
    let error = address("downloads.example").unwrap_err().to_string();
    assert!(error.contains("begins with https://"), "{error}");
}
