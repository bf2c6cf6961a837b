//! Helm, of the version that `tests/helm/go.mod` states, in the per-user cache.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::Context;

use crate::go_tool::GoTool;
use crate::{Scratch, run};

const HELM: GoTool = GoTool {
    name: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
    sources: &[],
};

/// Deadline of one call of Helm; calls that wait for a cluster set a timeout themselves.
const CALL_WITHIN: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub struct Helm {
    binary: PathBuf,
    home: Scratch,
}

impl Helm {
    /// Builds it first if needed, with a note on standard error. Errors: Go is missing or too old; the build fails.
    pub fn find_or_build() -> anyhow::Result<Self> {
        let binary = HELM.find_or_build()?;
        let home = Scratch::new("skein-helm-")?;
        Ok(Self { binary, home })
    }

    pub fn output<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<Output> {
        run::output(self.command(args), None, CALL_WITHIN)
    }

    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> anyhow::Result<String> {
        let output = self.output(args)?;
        let words = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "helm: {}", words.trim());
        String::from_utf8(output.stdout).context("helm printed something that is not UTF-8")
    }

    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args).env_remove("KUBECONFIG");
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.home.path().join(name.to_lowercase()));
        }
        command
    }
}
