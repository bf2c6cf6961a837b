//! The control plane's binaries, from `KUBEBUILDER_ASSETS` if that is set, else from the cache, else built into the
//! cache. `tests/cluster/go.mod` states the Kubernetes release.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::workspace_root;
use crate::prerequisites::{self, Missing};
use crate::spawner;

/// Binary and its Go package; the quickest first, so that progress is visible.
const BINARIES: [(&str, &str); 5] = [
    ("etcd", "go.etcd.io/etcd/server/v3"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    (
        "kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
    ),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
];

/// Binaries of real nodes, of the same release; built separately, as most machines cannot run nodes.
const NODE_BINARIES: [(&str, &str); 4] = [
    ("pause", "skein.dev/tests/cluster/pause"),
    ("coredns", DNS),
    ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
    ("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
];

const DNS: &str = "skein.dev/tests/cluster/dns";

/// Part of the cache key: increase it when the way of building changes.
const RECIPE: &str = "1";

const REPORT_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug, Clone)]
pub struct Binaries(PathBuf);

impl Binaries {
    /// Builds them first if needed, with progress on standard error. Errors: `KUBEBUILDER_ASSETS` lacks one; Go is
    /// missing or too old; the build fails.
    pub fn find_or_build() -> anyhow::Result<Self> {
        if let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()) {
            return Self::from_assets(PathBuf::from(assets));
        }
        let recipe = Recipe::read()?;
        let folder = recipe.cache_folder("control-plane")?;
        if !folder.is_dir() {
            build_into(&folder, &recipe, &BINARIES)?;
        }
        Ok(Self(folder))
    }

    /// `kubectl` alone, for callers without a control plane: a built one, else from the PATH, else built.
    pub fn kubectl() -> anyhow::Result<PathBuf> {
        let built = Recipe::read()?.cache_folder("control-plane")?.is_dir();
        let given = std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|value| !value.is_empty());
        if !built && !given && prerequisites::on_path("kubectl") {
            return Ok(PathBuf::from("kubectl"));
        }
        Ok(Self::find_or_build()?.path("kubectl"))
    }

    /// Programs of a real node, built first if needed.
    pub fn find_or_build_for_nodes() -> anyhow::Result<Self> {
        let recipe = Recipe::read_for_nodes()?;
        let folder = recipe.cache_folder("nodes")?;
        if !folder.is_dir() {
            build_into(&folder, &recipe, &NODE_BINARIES)?;
        }
        Ok(Self(folder))
    }

    /// Checks that Go is there; returns a note when no build is needed.
    pub fn check_tools() -> Result<Option<String>, Missing> {
        if std::env::var_os("KUBEBUILDER_ASSETS").is_some_and(|value| !value.is_empty()) {
            return Ok(Some("Go not needed: KUBEBUILDER_ASSETS is set".to_owned()));
        }
        let recipe = Recipe::read().map_err(|error| Missing::tool("tests/cluster", &format!("{error:#}"), "git"))?;
        if recipe.cache_folder("control-plane").is_ok_and(|folder| folder.is_dir()) {
            return Ok(Some("Go not needed: the control plane is in the cache".to_owned()));
        }
        prerequisites::go(&recipe.go).map(|version| Some(format!("Go {version}")))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    pub fn path(&self, binary: &str) -> PathBuf {
        self.0.join(binary)
    }

    fn from_assets(folder: PathBuf) -> anyhow::Result<Self> {
        let missing: Vec<&str> = BINARIES
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !folder.join(name).is_file())
            .collect();
        anyhow::ensure!(
            missing.is_empty(),
            "KUBEBUILDER_ASSETS={} lacks {}: add them, or unset it and Skein builds its own",
            folder.display(),
            missing.join(", ")
        );
        Ok(Self(folder))
    }
}

#[derive(Debug)]
struct Recipe {
    module: PathBuf,
    kubernetes: String,
    go: String,
    hash: u64,
}

impl Recipe {
    fn read() -> anyhow::Result<Self> {
        let module = workspace_root().join("tests/cluster");
        let read = |name: &str| {
            let path = module.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let (go_mod, go_sum) = (read("go.mod")?, read("go.sum")?);
        let hash = fnv1a(&[RECIPE, &go_mod, &go_sum]);
        let kubernetes = version_of(&go_mod, "k8s.io/kubernetes").context("go.mod names no k8s.io/kubernetes")?;
        let go = version_of(&go_mod, "go").context("go.mod names no Go version")?;
        Ok(Self {
            module,
            kubernetes,
            go,
            hash,
        })
    }

    /// Includes the sources of programs that are not part of Kubernetes.
    fn read_for_nodes() -> anyhow::Result<Self> {
        let mut recipe = Self::read()?;
        let files = ["pause/main.go", "dns/main.go", "dns/go.mod", "dns/go.sum"];
        let texts = files.map(|file| std::fs::read_to_string(recipe.module.join(file)));
        let texts: Vec<String> = texts
            .into_iter()
            .collect::<Result<_, _>>()
            .context("tests/cluster lacks a file")?;
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        recipe.hash ^= fnv1a(&texts);
        Ok(recipe)
    }

    fn folder_for(&self, package: &str) -> PathBuf {
        let own = self.module.join("dns");
        if package == DNS { own } else { self.module.clone() }
    }

    fn cache_folder(&self, of: &str) -> anyhow::Result<PathBuf> {
        let key = format!("{}-{:08x}", self.kubernetes, self.hash >> 32);
        Ok(cache_root()?.join(of).join(key))
    }

    /// Without the version numbers in the binaries, kubectl cannot parse its own version and stops.
    fn linker_flags(&self) -> String {
        let numbers = prerequisites::version_numbers(&self.kubernetes);
        let at = |i: usize| numbers.get(i).copied().unwrap_or_default();
        let variables = "k8s.io/component-base/version";
        format!(
            "-s -w -X {variables}.gitVersion={} -X {variables}.gitMajor={} -X {variables}.gitMinor={}",
            self.kubernetes,
            at(0),
            at(1)
        )
    }
}

pub fn cache_root() -> anyhow::Result<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("SKEIN_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("skein")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/skein")))
        .context("no folder to keep the control plane in: set SKEIN_CACHE")
}

/// Builds beside `folder` and renames, so that a partial build is never used.
fn build_into(folder: &Path, recipe: &Recipe, binaries: &[(&str, &str)]) -> anyhow::Result<()> {
    let parent = folder.parent().context("the cache folder has no parent")?;
    std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let lock = File::create(folder.with_added_extension("lock"))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            say("another process is building the control plane; waiting for it");
            lock.lock()?;
        }
        Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the control plane's cache"),
    }
    if folder.is_dir() {
        return Ok(());
    }
    prerequisites::go(&recipe.go)?;
    say(&format!(
        "building {} of Kubernetes {} into {}",
        binaries.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        recipe.kubernetes,
        folder.display()
    ));
    say(
        "the first build takes some minutes (6 for the control plane, 3 for nodes, on 2 cores) and downloads about 300 MB; later runs reuse it",
    );
    let start = Instant::now();
    // Under the lock, so this is left from an interrupted build.
    let unfinished = folder.with_added_extension("building");
    if unfinished.exists() {
        std::fs::remove_dir_all(&unfinished)?;
    }
    std::fs::create_dir_all(&unfinished)?;
    for (index, (name, package)) in binaries.iter().enumerate() {
        let title = format!("[{}/{}] {name}", index + 1, binaries.len());
        go_build(recipe, package, &unfinished.join(name), &title, start)?;
    }
    std::fs::rename(&unfinished, folder)?;
    say(&format!("built ({})", elapsed(start)));
    Ok(())
}

fn go_build(recipe: &Recipe, package: &str, out: &Path, title: &str, start: Instant) -> anyhow::Result<()> {
    say(&format!("{title}: started ({} so far)", elapsed(start)));
    let go = Path::new("go");
    let linker = format!("-ldflags={}", recipe.linker_flags());
    let args = ["build", "-v", "-trimpath", &linker, "-o"].map(Into::into);
    let args: Vec<_> = args.into_iter().chain([out.into(), package.into()]).collect();
    let mut command: Command = spawner::bound_command(go, &args);
    command
        .current_dir(recipe.folder_for(package))
        .env("CGO_ENABLED", "0")
        .env("GOTOOLCHAIN", "local")
        .env("GOWORK", "off");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = spawner::spawn(command).context("cannot start go")?;
    let mut errors = Vec::new();
    let (mut downloaded, mut compiled) = (0_u32, 0_u32);
    let mut reported = Instant::now();
    for line in BufReader::new(child.stderr.take().context("go has no standard error")?).lines() {
        let line = line?;
        // `-v` names each package as it is compiled; nothing else that go prints is a single word with a slash or is
        // one.
        if line.starts_with("go: downloading ") {
            downloaded += 1;
        } else if !line.contains(' ') {
            compiled += 1;
        } else {
            errors.push(line);
        }
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            let total = elapsed(start);
            say(&format!(
                "{title}: {downloaded} modules downloaded, {compiled} packages compiled ({total} so far)"
            ));
        }
    }
    let status = child.wait()?;
    anyhow::ensure!(status.success(), "go could not build {package}:\n{}", errors.join("\n"));
    Ok(())
}

/// Prints past the test runner's capture, for the person who waits.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "control plane: {line}");
}

fn elapsed(since: Instant) -> String {
    let seconds = since.elapsed().as_secs();
    format!("{} min {:02} s", seconds / 60, seconds % 60)
}

/// The version that go.mod gives for `name`, in a block or on a line of its own.
pub(crate) fn version_of(go_mod: &str, name: &str) -> Option<String> {
    go_mod.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word == "require");
        (words.next() == Some(name))
            .then(|| words.next().map(str::to_owned))
            .flatten()
    })
}

/// FNV-1a (64 bits) for the cache key; not safe against an attacker.
pub(crate) fn fnv1a(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_and_the_go_version_come_from_go_mod() {
        let recipe = Recipe::read().unwrap();
        assert!(recipe.kubernetes.starts_with("v1."), "{recipe:?}");
        assert!(prerequisites::version_numbers(&recipe.go) >= vec![1, 26], "{recipe:?}");
        assert!(
            recipe
                .linker_flags()
                .contains(&format!("gitVersion={}", recipe.kubernetes))
        );
    }

    #[test]
    fn another_go_sum_is_another_cache_folder() {
        assert_ne!(fnv1a(&["1", "mod", "sum"]), fnv1a(&["1", "mod", "mus"]));
        assert_ne!(fnv1a(&["1", "ab", "c"]), fnv1a(&["1", "a", "bc"]));
    }

    #[test]
    fn assets_that_lack_a_binary_are_refused_by_its_name() {
        let folder = crate::Scratch::new("skein-assets-").unwrap();
        std::fs::write(folder.path().join("etcd"), "").unwrap();
        let error = Binaries::from_assets(folder.path().to_owned()).unwrap_err().to_string();
        assert!(
            error.contains("lacks kube-apiserver, kube-controller-manager, kube-scheduler, kubectl"),
            "{error}"
        );
    }
}
