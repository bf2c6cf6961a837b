//! The tools for images: Rust with its linker and C library (musl), and zig, which only compiles C sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use testkit::control_plane::workspace_root;
use testkit::prerequisites::{self, Missing};

use super::program::Arch;
use crate::command::output;
use crate::say;
use crate::venv::{self, Venv};

/// Zig's packages for Python are pinned and exist for all systems.
const VENV: Venv = Venv {
    folder: "images-venv",
    requirements: "deploy/images/requirements.txt",
};

const PURPOSE: &str = "it installs the C compiler for images";
const RUSTUP: &str = "Rust from https://rustup.rs";

#[derive(Debug)]
pub struct Compiler {
    /// `rustc --version --verbose`, as name and value.
    rustc: Vec<(String, String)>,
    pub rust_sources: PathBuf,
    pub rust_notices: PathBuf,
    pub licence_texts: PathBuf,
    pub musl_notice: PathBuf,
    scripts: PathBuf,
    cache: PathBuf,
}

impl Compiler {
    pub fn set_up(arches: &[Arch]) -> anyhow::Result<Self> {
        let rust = |args: &[&str]| {
            let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            rustc.args(args).current_dir(workspace_root());
            output(rustc).context("rustc does not answer")
        };
        let rustc = fields(&rust(&["--version", "--verbose"])?);
        let sysroot = PathBuf::from(rust(&["--print", "sysroot"])?.trim());
        let libraries = sysroot.join("lib/rustlib");
        let notices = sysroot.join("share/doc/rust");
        let mut missing = Vec::new();
        for arch in arches {
            if !libraries.join(arch.target()).join("lib/self-contained").is_dir() {
                let purpose = format!("images for {} are built for it", arch.name());
                let get = format!("`rustup target add {}`", arch.target());
                missing.push(Missing::tool(
                    &format!("the Rust target {}", arch.target()),
                    &purpose,
                    &get,
                ));
            }
        }
        let linker = libraries.join(value(&rustc, "host")?).join("bin/rust-lld");
        if !linker.is_file() {
            missing.push(Missing::tool("rust-lld", "it links the programs in images", RUSTUP));
        }
        let licence_texts = notices.join("licenses");
        let rust_notices = notices.join("COPYRIGHT-library.html");
        if !rust_notices.is_file() || !licence_texts.is_dir() {
            let tool = format!("{} or the folder `licenses` beside it", rust_notices.display());
            missing.push(Missing::tool(&tool, "the licences of Rust go into images", RUSTUP));
        }
        missing.extend(venv::check_tools(PURPOSE).err());
        let missing: Vec<String> = missing.iter().map(Missing::to_string).collect();
        anyhow::ensure!(missing.is_empty(), "{}", missing.join("\n       "));

        let zig = zig(&VENV.set_up()?)?;
        let folder = workspace_root().join("target/images-zig");
        write_scripts(&folder, &zig).with_context(|| format!("cannot write {}", folder.display()))?;
        Ok(Self {
            rustc,
            rust_sources: libraries.join("src/rust"),
            rust_notices,
            licence_texts,
            musl_notice: zig.with_file_name("lib").join("libc/musl/COPYRIGHT"),
            cache: folder.join("cache"),
            scripts: folder,
        })
    }

    /// Rust's full version and the pinned list with that of C, for building again.
    pub fn versions(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let rust = format!("{} ({})", self.rust_version()?, value(&self.rustc, "commit-hash")?);
        let zig = std::fs::read_to_string(workspace_root().join(VENV.requirements))?;
        let zig = zig.lines().find_map(|line| line.strip_prefix("ziglang=="));
        let zig = zig.with_context(|| format!("{} does not pin ziglang", VENV.requirements))?;
        Ok(BTreeMap::from([
            ("rust".to_owned(), rust),
            ("zig".to_owned(), zig.to_owned()),
        ]))
    }

    pub fn rust_version(&self) -> anyhow::Result<&str> {
        value(&self.rustc, "release")
    }

    /// The path that the compiler gives the standard library's sources, wherever they are.
    pub fn rust_sources_name(&self) -> String {
        format!("/rustc/{}", value(&self.rustc, "commit-hash").unwrap_or("unknown"))
    }

    /// Variables for build scripts that compile C.
    pub fn environment(&self, arch: Arch) -> [(String, PathBuf); 5] {
        let target = arch.target().replace('-', "_");
        [
            (format!("CC_{target}"), self.scripts.join(compiler_name(arch))),
            (format!("AR_{target}"), self.scripts.join("zig-ar")),
            (format!("CFLAGS_{target}"), PathBuf::from("-g0")),
            ("ZIG_GLOBAL_CACHE_DIR".to_owned(), self.cache.clone()),
            ("ZIG_LOCAL_CACHE_DIR".to_owned(), self.cache.clone()),
        ]
    }
}

fn zig(python: &Path) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(python);
    command.args(["-c", "import ziglang; print(ziglang.__path__[0])"]);
    let zig = PathBuf::from(output(command).context("zig is not installed as it should be")?.trim()).join("zig");
    anyhow::ensure!(
        prerequisites::answer(&zig, &["version"]).is_some(),
        "{} does not run",
        zig.display()
    );
    say::note(&format!("{}", zig.display()));
    Ok(zig)
}

fn compiler_name(arch: Arch) -> String {
    format!("zig-cc-{}", arch.name())
}

/// Writes zig as the programs `cc` and `ar`, without the target of Rust's builds, whose names zig does not know. C with
/// undefined behavior is not trapped, as in other compilers by default.
fn write_scripts(folder: &Path, zig: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let zig = zig.display();
    let write = |name: String, lines: String| {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{lines}\n"))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
    };
    std::fs::create_dir_all(folder)?;
    for arch in [Arch::Amd64, Arch::Arm64] {
        let drop = r#"for arg do shift; case "$arg" in --target=*) ;; *) set -- "$@" "$arg" ;; esac; done"#;
        let target = arch.zig_target();
        let run = format!(r#"exec "{zig}" cc -target {target} -fno-sanitize=all "$@""#);
        write(compiler_name(arch), format!("{drop}\n{run}"))?;
    }
    write("zig-ar".to_owned(), format!(r#"exec "{zig}" ar "$@""#))
}

fn fields(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        line.split_once(": ")
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

fn value<'a>(fields: &'a [(String, String)], name: &str) -> anyhow::Result<&'a str> {
    let found = fields.iter().find(|(field, _)| field == name);
    let (_, value) = found.with_context(|| format!("rustc does not report its {name}"))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zig_is_not_told_the_targets_name_that_it_cannot_read() {
        let folder = tempfile::tempdir().unwrap();
        // `echo` prints the arguments that zig would get.
        write_scripts(folder.path(), Path::new("echo")).unwrap();
        let mut command = Command::new(folder.path().join("zig-cc-arm64"));
        command.args(["--target=aarch64-unknown-linux-musl", "-c", "a file.c"]);
        let printed = output(command).unwrap();
        assert_eq!(printed, "cc -target aarch64-linux-musl -fno-sanitize=all -c a file.c\n");
    }

    #[test]
    fn what_rustc_says_is_read_by_name() {
        let fields = fields("rustc 1.95.0 (59807616e 2026-04-14)\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n");
        assert_eq!(value(&fields, "release").unwrap(), "1.95.0");
        assert!(value(&fields, "commit-hash").is_err());
    }
}
