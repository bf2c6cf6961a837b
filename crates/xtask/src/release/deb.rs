//! The package for Debian and its derivatives: a static program and its texts.

use crate::image::Made;
use crate::image::layer::{self, File};
use crate::image::program::{Arch, Program};

pub fn name(program: Program, version: &str, arch: Arch) -> String {
    // Debian has Go's names for both architectures.
    format!("{}_{version}_{}.deb", program.name(), arch.name())
}

/// `time` is in seconds since 1970.
pub fn package(program: Program, made: &Made, arch: Arch, time: u64) -> std::io::Result<Vec<u8>> {
    let name = program.name();
    let files: Vec<File> = made.files.iter().map(|file| placed(name, file)).collect();
    let size_kib = files
        .iter()
        .map(|file| file.content.len().div_ceil(1024))
        .sum::<usize>();
    let control = File {
        path: "control".to_owned(),
        mode: 0o644,
        content: format!(
            "Package: {name}\n\
             Version: {}\n\
             Architecture: {}\n\
             Maintainer: the maintainers of Skein\n\
             Installed-Size: {size_kib}\n\
             Section: net\n\
             Priority: optional\n\
             Description: {}\n",
            made.version,
            arch.name(),
            program.description().trim_end_matches('.'),
        )
        .into_bytes(),
    };
    let packed = |files: &[File]| layer::gzip(&layer::tar(files, time)?);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", packed(&[control])?),
        ("data.tar.gz", packed(&files)?),
    ];
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let header = format!(
            "{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            "100644",
            content.len()
        );
        archive.extend(header.into_bytes());
        archive.extend(&content);
        if content.len() % 2 == 1 {
            archive.push(b'\n');
        }
    }
    Ok(archive)
}

/// Packages of one release must not share files, so each program's texts have a folder of their own.
fn placed(program: &str, file: &File) -> File {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    let path = match name {
        _ if name == program => format!("usr/bin/{program}"),
        "LICENSE" => format!("usr/share/doc/{program}/copyright"),
        _ => format!("usr/share/doc/{program}/{name}"),
    };
    File { path, ..file.clone() }
}
