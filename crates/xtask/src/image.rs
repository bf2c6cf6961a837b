//! `cargo xtask image`: container images of the programs, made without a container engine.

mod check;
pub mod compile;
pub mod compiler;
mod elf;
mod expression;
pub mod layer;
pub mod layout;
mod licences;
mod packages;
pub mod page;
pub mod program;
pub mod revision;
mod sbom;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;

use crate::command::output;
use crate::say;
use compile::Tree;
use compiler::Compiler;
use layer::File;
use layout::{Contents, Image};
use licences::Part;
use packages::Packages;
use program::{Arch, Arches, Program, Programs};
use revision::Revision;

/// Bytes; an agent's image is sent over a radio link.
const LARGEST: usize = 20_000_000;

const PROGRAM_FOLDER: &str = "usr/bin";
const TEXT_FOLDER: &str = "usr/share/skein";

#[derive(clap::Args)]
pub struct Args {
    /// The programs.
    #[arg(value_enum, default_value = "all", value_name = "PROGRAM")]
    programs: Vec<Programs>,
    /// The machine that it is for.
    #[arg(long, value_enum, default_value = "all")]
    arch: Arches,
    /// The folder for the archives.
    #[arg(long, default_value = "target/images", value_name = "FOLDER")]
    out: PathBuf,
    /// Builds each image twice, in two new folders, and compares; writes none. Takes long.
    #[arg(long)]
    check: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let programs: BTreeSet<Program> = args
        .programs
        .iter()
        .flat_map(|programs| programs.list())
        .copied()
        .collect();
    let compiler = Compiler::set_up(args.arch.list())?;
    let revision = Revision::of(workspace_root())?;
    if args.check {
        return check::run(&programs, args.arch.list(), &revision, &compiler);
    }
    let tree = Tree::of_developer();
    // Relative to the person's current folder, not to the workspace.
    std::fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
    for program in programs {
        let mut images = Vec::new();
        for arch in args.arch.list() {
            say::heading(&format!("{} for {}", program.name(), arch.name()));
            let made = make(&tree, program, *arch, &revision, &compiler)?;
            let file = format!("{}-{}-{}", program.name(), made.version, arch.name());
            write(&args.out.join(format!("{file}.spdx.json")), &made.sbom)?;
            write_archive(
                &args.out.join(format!("{file}.tar")),
                &[&made.image],
                program,
                &made.version,
            )?;
            images.push(made);
        }
        if let [first, _, ..] = &images[..] {
            let file = args.out.join(format!("{}-{}.tar", program.name(), first.version));
            let all: Vec<&Image> = images.iter().map(|made| &made.image).collect();
            write_archive(&file, &all, program, &first.version)?;
        }
    }
    Ok(())
}

pub struct Made {
    pub version: String,
    pub image: Image,
    pub files: Vec<File>,
    pub sbom: Vec<u8>,
}

pub fn make(
    tree: &Tree,
    program: Program,
    arch: Arch,
    revision: &Revision,
    compiler: &Compiler,
) -> anyhow::Result<Made> {
    let packages = Packages::of(tree, arch)?;
    let commit = revision.short();
    let built = tree.compile(program, arch, commit.as_deref(), compiler, &packages.folders())?;
    let bytes = std::fs::read(&built.path).with_context(|| format!("cannot read {}", built.path.display()))?;
    let mut paths = vec![tree.root.clone(), tree.target.clone()];
    paths.extend(packages.folders());
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    elf::check(&bytes, arch, &paths)?;

    let linked = packages.linked(&built.linked)?;
    let linked = match &built.page {
        Some(folder) => linked.with(page::bundled(folder)?),
        None => linked,
    };
    let ours = linked.iter().find(|(_, package)| package.name == program.package());
    let version = ours.map(|(_, package)| package.version.clone());
    let version = version.with_context(|| format!("cargo does not report the version of {}", program.package()))?;
    try_out(&built.path, program, arch, &version, commit.as_deref())?;

    let created = revision.created()?;
    let sbom = sbom::document(
        &sbom::Subject {
            name: program.name(),
            version: &version,
            arch: arch.name(),
            program: &bytes,
            created: created.as_deref(),
            rust: compiler.rust_version()?,
        },
        &linked,
    )?;
    let musl = Part {
        name: "musl, the C library (linked by Rust)",
        text: &text(&compiler.musl_notice)?,
    };
    let others = licences::text(&linked, &[musl], &compiler.licence_texts)?;
    let note = |name: &str, content: Vec<u8>| File {
        path: format!("{TEXT_FOLDER}/{name}"),
        mode: 0o644,
        content,
    };
    let files = vec![
        File {
            path: format!("{PROGRAM_FOLDER}/{}", program.name()),
            mode: 0o755,
            content: bytes,
        },
        note("LICENSE", text(&tree.root.join("LICENSE"))?.into_bytes()),
        note("third-party-licences.txt", others.into_bytes()),
        note("rust-licences.html", text(&compiler.rust_notices)?.into_bytes()),
        note("sbom.spdx.json", sbom.clone()),
    ];
    let image = Image::new(Contents {
        arch,
        program: (PROGRAM_FOLDER, program.name()),
        files: files.clone(),
        labels: labels(program, &version, revision, created.as_deref(), &linked),
        created,
        time: revision.time.unwrap_or(0),
    })?;
    Ok(Made {
        version,
        image,
        files,
        sbom,
    })
}

/// Labels by OCI's names (image-spec, annotations), without unknown values.
fn labels(
    program: Program,
    version: &str,
    revision: &Revision,
    created: Option<&str>,
    linked: &Packages,
) -> BTreeMap<String, String> {
    let licences = expression::all_of(linked.iter().filter_map(|(_, package)| package.licence.as_deref()));
    let all = [
        ("title", Some(program.name())),
        ("description", Some(program.description())),
        ("version", Some(version)),
        ("revision", revision.commit.as_deref()),
        ("created", created),
        ("licenses", Some(licences.as_str())),
    ];
    let known = all.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known
        .map(|(name, value)| (format!("org.opencontainers.image.{name}"), value.to_owned()))
        .collect()
}

/// Runs the program if this machine can.
fn try_out(path: &Path, program: Program, arch: Arch, version: &str, commit: Option<&str>) -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") || Arch::of_this_machine() != Some(arch) {
        say::note(&format!(
            "not tried out: this machine cannot run programs for {}",
            arch.name()
        ));
        return Ok(());
    }
    let mut command = Command::new(path);
    command.arg("--version").env_clear();
    let said = output(command)?;
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    let wanted = format!("{} {version}{commit}", program.name());
    anyhow::ensure!(
        said.trim() == wanted,
        "the program says it is {:?}, not {wanted:?}",
        said.trim()
    );
    say::note(&wanted);
    Ok(())
}

/// The error: the image is too large.
pub fn archive(images: &[&Image], program: Program, version: &str) -> anyhow::Result<Vec<u8>> {
    let archive = layout::archive(images, program.name(), version)?;
    let size = archive.len() / images.len().max(1);
    anyhow::ensure!(
        size <= LARGEST,
        "the image of {} has {size} bytes, and {LARGEST} are the most: see what it links",
        program.name()
    );
    Ok(archive)
}

fn write_archive(path: &Path, images: &[&Image], program: Program, version: &str) -> anyhow::Result<()> {
    let archive = archive(images, program, version)?;
    write(path, &archive)?;
    #[allow(clippy::cast_precision_loss, reason = "a size for people")]
    let megabytes = archive.len() as f64 / 1e6;
    say::note(&format!("{megabytes:.1} MB"));
    if let [image] = images {
        say::note(image.digest());
    }
    say::line(&path.display().to_string());
    Ok(())
}

fn text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests;
