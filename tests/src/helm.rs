//! Helm, of the version that `tests/helm/go.mod` states, in the per-user cache.
//!
//! Owns: building it once and running it away from the person's own configuration. Must not: know what a chart holds.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::Context;

use crate::control_plane::binaries::{cache_root, fnv1a, version_of};
use crate::{Scratch, prerequisites, run};

const MODULE: &str = "helm.sh/helm/v4";

/// A build from nothing takes two minutes on two idle cores.
const BUILD_WITHIN: Duration = Duration::from_secs(1800);

/// One call of Helm; those that wait for a cluster say how long themselves.
const CALL_WITHIN: Duration = Duration::from_secs(300);

/// Helm, with a home of its own.
#[derive(Debug)]
pub struct Helm {
    binary: PathBuf,
    home: Scratch,
}

impl Helm {
    /// Finds Helm in the cache, building it first if need be; says so on standard error.
    ///
    /// Errors: Go is missing or too old; the build fails.
    pub fn find_or_build() -> anyhow::Result<Self> {
        let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("helm");
        let read = |name: &str| {
            let path = module.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let (go_mod, go_sum) = (read("go.mod")?, read("go.sum")?);
        let version = version_of(&go_mod, MODULE).context("tests/helm/go.mod names no Helm")?;
        let key = format!("{version}-{:08x}", fnv1a(&[&go_mod, &go_sum]) >> 32);
        let folder = cache_root()?.join("helm").join(key);
        let binary = folder.join("helm");
        if !binary.is_file() {
            prerequisites::go(&version_of(&go_mod, "go").context("tests/helm/go.mod names no Go version")?)?;
            build(&module, &folder, &binary)?;
        }
        let home = Scratch::new("skein-helm-")?;
        Ok(Self { binary, home })
    }

    /// Runs it; a failure status is for the caller to judge.
    pub fn output<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<Output> {
        run::output(self.command(args), None, CALL_WITHIN)
    }

    /// Runs it and returns what it printed.
    ///
    /// Errors: it fails; with its own words.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<String> {
        let output = self.output(args)?;
        let words = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "helm: {}", words.trim());
        String::from_utf8(output.stdout).context("helm printed something that is not UTF-8")
    }

    /// The command as it would be run, for a caller that wants to run it in another way.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args).env_remove("KUBECONFIG");
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.home.path().join(name.to_lowercase()));
        }
        command
    }
}

/// Builds it beside its place and moves it there in one step. Others who want the same wait meanwhile.
fn build(module: &Path, folder: &Path, binary: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let lock = File::create(folder.join("lock"))?;
    lock.lock().context("cannot lock Helm's cache")?;
    if binary.is_file() {
        return Ok(());
    }
    // If standard error is closed, nobody waits for it.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        b"helm: building it into the cache; about 2 minutes on 2 cores, once\n",
    );
    let unfinished = binary.with_added_extension("building");
    let mut command = Command::new("go");
    command
        .args(["build", "-trimpath", "-ldflags=-s -w", "-o"])
        .arg(&unfinished)
        .arg(format!("{MODULE}/cmd/helm"))
        .current_dir(module)
        .env("CGO_ENABLED", "0")
        .env("GOTOOLCHAIN", "local")
        .env("GOWORK", "off");
    let output = run::output(command, None, BUILD_WITHIN)?;
    let words = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "go could not build Helm:\n{}", words.trim());
    std::fs::rename(&unfinished, binary)?;
    Ok(())
}
