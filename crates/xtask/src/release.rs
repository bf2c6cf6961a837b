//! `cargo xtask release`: all files of a release in one folder.

mod advisories;
pub mod chart;
mod deb;
mod krew;
mod provenance;
mod wheel;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;

use crate::command::output;
use crate::image::compile::Tree;
use crate::image::compiler::Compiler;
use crate::image::layer::{self, File};
use crate::image::layout::{Image, hex};
use crate::image::program::{Arch, Arches, Program};
use crate::image::revision::Revision;
use crate::image::{self, Made, page};
use crate::say;
use provenance::Source;

/// Settings for faster builds of slower programs. Built with less than 3, aws-lc leaves paths of this machine in
/// programs.
const TRIAL: [&str; 4] = [
    "profile.image.package.aws-lc-sys.opt-level=3",
    "profile.image.lto=false",
    "profile.image.codegen-units=16",
    "profile.image.opt-level=1",
];

const SUMS: &str = "SHA256SUMS";

#[derive(clap::Args)]
pub struct Args {
    /// The folder; it must not exist, or be empty.
    #[arg(long, default_value = "target/dist", value_name = "FOLDER")]
    out: PathBuf,
    /// The address of the folder once it is published, such as `https://downloads.example/skein/0.1.0`. The manifest of
    /// the kubectl plugin names it; without it, only `kubectl krew install --manifest=skein.yaml --archive=FILE` works.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Not for a release: builds for this machine's architecture only, and with little optimization. To try this
    /// command.
    #[arg(long = "try")]
    trial: bool,
    /// Build nothing unless it could be asked whether vulnerabilities of npm packages and crates are known. Without
    /// this, what could not be asked is named, and built all the same; what is known is an error in any case.
    #[arg(long)]
    require_advisories: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let revision = Revision::of(workspace_root())?;
    let commit = revision.committed()?;
    let url = args.url.as_deref().map(address).transpose()?;
    ensure_empty(&args.out)?;
    if args.trial && !args.require_advisories {
        say::note("known vulnerabilities: NOT CHECKED with --try");
    } else {
        advisories::check(args.require_advisories)?;
    }
    let (arches, tree) = if args.trial {
        let own = Arch::of_this_machine()
            .context("no programs are built for this machine's architecture: leave out --try")?;
        let tree = Tree::of_developer();
        let tree = Tree {
            target: tree.target.join("try"),
            settings: &TRIAL,
            ..tree
        };
        (vec![own], tree)
    } else {
        (Arches::All.list().to_vec(), Tree::of_developer())
    };
    let compiler = Compiler::set_up(&arches)?;
    let time = revision.time.unwrap_or(0);
    let chart = chart::package(time)?;

    let mut programs = BTreeMap::new();
    for program in Program::ALL {
        for arch in &arches {
            say::heading(&format!("{} for {}", program.name(), arch.name()));
            let made = image::make(&tree, program, *arch, &revision, &compiler)?;
            programs.insert((program, *arch), made);
        }
    }
    let python = wheel::set_up()?;
    let mut wheels = BTreeMap::new();
    for arch in &arches {
        say::heading(&format!("wheel for {}", arch.name()));
        let cli = programs.get(&(Program::Cli, *arch)).context("skein was not built")?;
        let sitl = image::make(&tree, Program::Sitl, *arch, &revision, &compiler)?;
        wheels.extend([wheel::build(&python, *arch, &[cli, &sitl], time)?]);
    }
    anyhow::ensure!(
        Revision::of(workspace_root())? == revision,
        "the sources were changed while they were built: commit or stash the changes, and run this again"
    );
    let source = Source {
        commit,
        lock: &std::fs::read(tree.root.join("Cargo.lock")).context("cannot read Cargo.lock")?,
        page_lock: &std::fs::read(tree.root.join(page::LOCK)).with_context(|| format!("cannot read {}", page::LOCK))?,
        compilers: compilers(&compiler, &python)?,
        options: [
            url.as_ref().map(|url| format!("--url={url}")),
            args.trial.then(|| "--try".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect(),
        time,
    };
    let files = files(&programs, chart, wheels, url.as_deref(), &source)?;
    write(&args.out, &files)?;
    say::heading(&format!("{} files", files.len()));
    say::line(&args.out.display().to_string());
    Ok(())
}

/// The compilers, Node.js, which runs those of the page, and the packer of the wheels.
fn compilers(compiler: &Compiler, python: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut versions = compiler.versions()?;
    let mut node = Command::new("node");
    node.arg("--version");
    versions.insert(
        "node".to_owned(),
        output(node)?.trim().trim_start_matches('v').to_owned(),
    );
    versions.extend(wheel::versions(python)?);
    Ok(versions)
}

fn files(
    programs: &BTreeMap<(Program, Arch), Made>,
    chart: Vec<u8>,
    wheels: BTreeMap<String, Vec<u8>>,
    url: Option<&str>,
    source: &Source<'_>,
) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let (_, first) = programs.first_key_value().context("nothing was built")?;
    let version = first.version.as_str();
    let mut files = BTreeMap::from([(format!("skein-{version}.tgz"), chart)]);
    files.extend(wheels);
    let mut plugins = Vec::new();
    for program in Program::ALL {
        let name = program.name();
        let built = programs.iter().filter(|((other, _), _)| *other == program);
        let mut images: Vec<&Image> = Vec::new();
        for ((_, arch), made) in built {
            let packed = pack(&made.files, source.time)?;
            let file = format!("{name}-{version}-linux-{}.tar.gz", arch.name());
            if program == Program::Cli {
                let uri = url.map_or_else(|| file.clone(), |url| format!("{url}/{file}"));
                plugins.push(krew::platform(*arch, &uri, &packed));
            }
            files.insert(file, packed);
            files.insert(
                deb::name(program, version, *arch),
                deb::package(program, made, *arch, source.time)?,
            );
            files.insert(
                format!("{name}-{version}-linux-{}.spdx.json", arch.name()),
                made.sbom.clone(),
            );
            let image = image::archive(&[&made.image], program, version)?;
            files.insert(format!("{name}-{version}-{}.oci.tar", arch.name()), image);
            images.push(&made.image);
        }
        if images.len() > 1 {
            files.insert(
                format!("{name}-{version}.oci.tar"),
                image::archive(&images, program, version)?,
            );
        }
    }
    // krew refuses a name other than the plugin's.
    files.insert("skein.yaml".to_owned(), krew::manifest(version, &plugins)?.into_bytes());
    let provenance = provenance::statement(source, &digests(&files))?;
    files.insert(format!("skein-{version}.provenance.json"), provenance);
    files.insert(SUMS.to_owned(), sums(&digests(&files)).into_bytes());
    Ok(files)
}

fn pack(files: &[File], time: u64) -> std::io::Result<Vec<u8>> {
    let flat = |file: &File| File {
        path: file.path.rsplit('/').next().unwrap_or(&file.path).to_owned(),
        ..file.clone()
    };
    layer::gzip(&layer::tar(&files.iter().map(flat).collect::<Vec<_>>(), time)?)
}

fn digests(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&str, String> {
    files
        .iter()
        .map(|(name, content)| (name.as_str(), hex(content)))
        .collect()
}

fn sums(digests: &BTreeMap<&str, String>) -> String {
    digests.iter().fold(String::new(), |mut text, (name, digest)| {
        let _ = writeln!(text, "{digest}  {name}");
        text
    })
}

/// The address without a slash at its end.
fn address(url: &str) -> anyhow::Result<String> {
    anyhow::ensure!(
        url.starts_with("https://") && !url.contains(char::is_whitespace),
        "--url is {url:?}: give an address that begins with https://"
    );
    Ok(url.trim_end_matches('/').to_owned())
}

/// Checksums must cover a folder whole, so nothing of an earlier release may be in it.
fn ensure_empty(folder: &Path) -> anyhow::Result<()> {
    let Ok(mut entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    anyhow::ensure!(
        entries.next().is_none(),
        "{} is not empty: delete it, or name another folder by --out",
        folder.display()
    );
    Ok(())
}

fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
