//! Builds a program for an image so that it does not depend on the folder of the build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Deserialize;
use testkit::control_plane::workspace_root;

use super::compiler::Compiler;
use super::program::{Arch, Program};

const PROFILE: &str = "image";

/// Variables that a developer or a CI may have set for other builds, and that would change this one.
const NOT_OURS: [&str; 16] = [
    "NODE_ENV",
    "NODE_OPTIONS",
    "RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_INCREMENTAL",
    "CARGO_BUILD_INCREMENTAL",
    "CC",
    "CFLAGS",
    "CPPFLAGS",
    "AR",
    "ARFLAGS",
    "TARGET_CC",
    "TARGET_CFLAGS",
    "TARGET_AR",
    "TARGET_ARFLAGS",
];

/// Prefixes of more such variables: both profiles, and the one library that is built from C.
const NOT_OURS_EITHER: [&str; 3] = ["CARGO_PROFILE_IMAGE_", "CARGO_PROFILE_RELEASE_", "AWS_LC_SYS_"];

fn is_ours(name: &str) -> bool {
    !NOT_OURS.contains(&name) && !NOT_OURS_EITHER.iter().any(|start| name.starts_with(start))
}

#[derive(Debug, Clone)]
pub struct Tree {
    pub root: PathBuf,
    pub target: PathBuf,
    /// Settings for cargo in this tree only, such as `profile.image.opt-level=1`.
    pub settings: &'static [&'static str],
}

#[derive(Debug)]
pub struct Built {
    pub path: PathBuf,
    /// Cargo's ids of all packages that were compiled into the program.
    pub linked: BTreeSet<String>,
    /// The folder in which the page was built, with the npm packages; `None`: the program has no page.
    pub page: Option<PathBuf>,
}

impl Tree {
    /// Builds in the target folder that the developer may have set.
    pub fn of_developer() -> Self {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        Self {
            root: workspace_root().to_owned(),
            target: workspace_root().join(target),
            settings: &[],
        }
    }

    pub fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        command
    }

    /// `--version` prints `commit`; `packages` are the folders of other packages' sources.
    pub fn compile(
        &self,
        program: Program,
        arch: Arch,
        commit: Option<&str>,
        compiler: &Compiler,
        packages: &[PathBuf],
    ) -> anyhow::Result<Built> {
        let mut command = self.cargo();
        command
            .args(["build", "--locked", "--message-format=json-render-diagnostics"])
            .args(["--profile", PROFILE, "--target", arch.target()])
            .args(["--package", program.package(), "--bin", program.name()])
            .args(self.settings.iter().flat_map(|setting| ["--config", *setting]));
        let set = std::env::vars_os().map(|(name, _)| name);
        for name in set.filter(|name| name.to_str().is_some_and(|name| !is_ours(name))) {
            command.env_remove(name);
        }
        command
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags(compiler, packages).join("\x1f"))
            .env("SKEIN_COMMIT", commit.unwrap_or_default())
            // A published program has its page, or is not built.
            .env("SKEIN_MAP_PAGE", "require")
            .envs(compiler.environment(arch))
            .stderr(Stdio::inherit());
        let output = command.output().context("cannot start cargo")?;
        anyhow::ensure!(output.status.success(), "{} does not build; see above", program.name());
        built(&String::from_utf8_lossy(&output.stdout), program, arch)
    }

    /// Flags for the machine of the image only: with `--target`, build scripts and macros do not get them.
    fn flags(&self, compiler: &Compiler, packages: &[PathBuf]) -> Vec<String> {
        let mut flags = vec!["-Clinker=rust-lld".to_owned(), "-Clink-self-contained=yes".to_owned()];
        let mut put = |from: &Path, to: &str| flags.push(format!("--remap-path-prefix={}={to}", from.display()));
        for folder in packages {
            put(folder, "/crates");
        }
        put(&compiler.rust_sources, &compiler.rust_sources_name());
        put(&self.root, "/skein");
        // The last match counts, and the target folder may be inside the workspace.
        put(&self.target, "/target");
        flags
    }
}

/// Printed by cargo for each artifact, built or up to date.
#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    filenames: Option<Vec<PathBuf>>,
    executable: Option<PathBuf>,
    out_dir: Option<PathBuf>,
}

/// Cargo's id of the crate whose build script makes the page.
const PAGE: &str = "skein-map-page@";

/// Reads cargo's messages: files in the target's own folder were compiled for the image, others for building.
fn built(messages: &str, program: Program, arch: Arch) -> anyhow::Result<Built> {
    let (mut path, mut linked, mut page) = (None, BTreeSet::new(), None);
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Message = serde_json::from_str(line).context("cargo says what cannot be read")?;
        if message.reason == "build-script-executed" && message.package_id.as_ref().is_some_and(|id| id.contains(PAGE))
        {
            page = message.out_dir.map(|folder| folder.join("page"));
            continue;
        }
        if message.reason != "compiler-artifact" {
            continue;
        }
        let for_target = |file: &PathBuf| file.components().any(|part| part.as_os_str() == arch.target());
        if message.filenames.unwrap_or_default().iter().any(for_target) {
            linked.extend(message.package_id);
        }
        let ours = message.executable.filter(|file| file.ends_with(program.name()));
        path = ours.or(path);
    }
    let path = path.with_context(|| format!("cargo does not say where {} is", program.name()))?;
    anyhow::ensure!(
        page.is_some() || program != Program::Cli,
        "cargo does not say where the page of {} was built",
        program.name()
    );
    Ok(Built { path, linked, page })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compiled_for_the_image_is_linked_and_what_helped_to_build_is_not() {
        let messages = r#"
{"reason":"compiler-artifact","package_id":"bytes","filenames":["/t/x86_64-unknown-linux-musl/image/deps/libbytes.rlib"],"executable":null}
{"reason":"compiler-artifact","package_id":"prost-derive","filenames":["/t/image/deps/libprost_derive.so"],"executable":null}
{"reason":"build-script-executed","package_id":"mavlink"}
{"reason":"compiler-artifact","package_id":"agent","filenames":["/t/x86_64-unknown-linux-musl/image/skein-agent"],"executable":"/t/x86_64-unknown-linux-musl/image/skein-agent"}
{"reason":"build-finished","success":true}
"#;
        let built = built(messages, Program::Agent, Arch::Amd64).unwrap();
        assert_eq!(built.path, Path::new("/t/x86_64-unknown-linux-musl/image/skein-agent"));
        assert_eq!(built.linked, BTreeSet::from(["agent".to_owned(), "bytes".to_owned()]));
        assert_eq!(built.page, None);
    }

    #[test]
    fn the_command_line_has_its_page_with_the_packages_in_it() {
        let program = r#"{"reason":"compiler-artifact","package_id":"cli","filenames":["/t/x86_64-unknown-linux-musl/image/skein"],"executable":"/t/x86_64-unknown-linux-musl/image/skein"}"#;
        let page = r#"{"reason":"build-script-executed","package_id":"path+file:///skein/crates/map-page#skein-map-page@0.1.0","out_dir":"/t/out"}"#;
        let built_of = |messages: &str| built(messages, Program::Cli, Arch::Amd64);
        let with = built_of(&format!("{page}\n{program}")).unwrap();
        assert_eq!(with.page.as_deref(), Some(Path::new("/t/out/page")));
        let without = built_of(program).unwrap_err().to_string();
        assert!(without.contains("the page of skein"), "{without}");
    }

    #[test]
    fn what_is_set_for_other_builds_does_not_reach_this_one() {
        for set in [
            "CARGO_INCREMENTAL",
            "CARGO_PROFILE_IMAGE_LTO",
            "TARGET_CFLAGS",
            "AWS_LC_SYS_CFLAGS",
        ] {
            assert!(!is_ours(set), "{set}");
        }
        for needed in ["PATH", "HOME", "CARGO_HOME", "SOURCE_DATE_EPOCH"] {
            assert!(is_ours(needed), "{needed}");
        }
    }

    #[test]
    fn a_build_without_its_program_is_an_error() {
        let error = built(
            r#"{"reason":"build-finished","success":true}"#,
            Program::Cli,
            Arch::Amd64,
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "cargo does not say where skein is");
    }
}
