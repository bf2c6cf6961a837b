//! Tools of the tests that are written in Go, in the per-user cache.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;

use crate::control_plane::binaries::{cache_root, fnv1a, version_of};
use crate::control_plane::workspace_root;
use crate::{prerequisites, run};

/// A build from scratch takes two minutes on two idle cores.
const BUILD_WITHIN: Duration = Duration::from_secs(1800);

#[derive(Clone, Copy, Debug)]
pub struct GoTool {
    /// Also names the folder of its Go module in `tests/`.
    pub name: &'static str,
    pub package: &'static str,
    /// Sources in that folder besides `go.mod` and `go.sum`.
    pub sources: &'static [&'static str],
}

impl GoTool {
    /// Builds it first if needed, with a note on standard error. Errors: Go is missing or too old; the build fails.
    pub fn find_or_build(&self) -> anyhow::Result<PathBuf> {
        let module = workspace_root().join("tests").join(self.name);
        let read = |name: &str| {
            let path = module.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let go_mod = read("go.mod")?;
        let mut parts = vec![go_mod.clone(), read("go.sum")?];
        for source in self.sources {
            parts.push(read(source)?);
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let key = format!("{:016x}", fnv1a(&parts));
        let folder = cache_root()?.join(self.name).join(key);
        let binary = folder.join(self.name);
        if !binary.is_file() {
            let go = version_of(&go_mod, "go").with_context(|| format!("{} names no Go version", self.name))?;
            prerequisites::go(&go)?;
            self.build(&module, &folder, &binary)?;
        }
        Ok(binary)
    }

    /// Renames the finished build into place; other processes that need it wait meanwhile.
    fn build(&self, module: &Path, folder: &Path, binary: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let lock = File::create(folder.join("lock"))?;
        lock.lock()
            .with_context(|| format!("cannot lock the cache of {}", self.name))?;
        if binary.is_file() {
            return Ok(());
        }
        let notice = format!(
            "{}: building it into the cache; about 2 minutes on 2 cores, once\n",
            self.name
        );
        let _ = std::io::Write::write_all(&mut std::io::stderr(), notice.as_bytes());
        let unfinished = binary.with_added_extension("building");
        let mut command = Command::new("go");
        command
            .args(["build", "-trimpath", "-ldflags=-s -w", "-o"])
            .arg(&unfinished)
            .arg(self.package)
            .current_dir(module)
            .env("CGO_ENABLED", "0")
            .env("GOTOOLCHAIN", "local")
            .env("GOWORK", "off");
        let output = run::output(command, None, BUILD_WITHIN)?;
        let words = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(
            output.status.success(),
            "go could not build {}:\n{}",
            self.name,
            words.trim()
        );
        std::fs::rename(&unfinished, binary)?;
        Ok(())
    }
}
