//! The programs of `tests/kstatus`, `tests/argocd` and `tests/flux`, and the blocks of the document about them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use testkit::GoTool;
use testkit::control_plane::workspace_root;

pub const KSTATUS: GoTool = GoTool {
    name: "kstatus",
    package: ".",
    sources: &["main.go"],
};

pub const ARGOCD: GoTool = GoTool {
    name: "argocd",
    package: ".",
    sources: &["main.go"],
};

pub const FLUX: GoTool = GoTool {
    name: "flux",
    package: ".",
    sources: &["main.go"],
};

const WITHIN: Duration = Duration::from_secs(150);

pub fn run(tool: GoTool, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> (bool, String) {
    let mut command = Command::new(tool.find_or_build().unwrap());
    command.args(args);
    let output = testkit::run::output(command, None, WITHIN).unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), words)
}

pub fn said(tool: GoTool, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let (well, words) = run(tool, args);
    assert!(well, "{}: {words}", tool.name);
    words
}

pub fn documented(beginning: &str) -> String {
    let text = std::fs::read_to_string(workspace_root().join("docs/how-to/use-gitops.md")).unwrap();
    let blocks = text
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let mut found = blocks.filter(|block| block.starts_with(beginning));
    let block = found
        .next()
        .unwrap_or_else(|| panic!("no block begins with {beginning}"));
    block.to_owned()
}

pub fn text(path: &Path) -> String {
    path.display().to_string()
}
