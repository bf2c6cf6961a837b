//! The tools that Skein needs from the machine, and where to get a missing one.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A tool that is missing or too old, in one line that says what to do.
#[derive(Debug)]
pub struct Missing(String);

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Missing {
    pub fn tool(tool: &str, purpose: &str, get: &str) -> Self {
        Self(format!("{tool} is missing: {purpose}. Get it: {get}"))
    }

    pub fn version(tool: &str, found: &str, wanted: &str, get: &str) -> Self {
        Self(format!(
            "{tool} {found} is too old: {wanted} or later is needed. Get it: {get}"
        ))
    }
}

pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Trimmed standard output of `program args`; `None` when it cannot be run or fails.
pub fn answer(program: impl AsRef<Path>, args: &[&str]) -> Option<String> {
    let mut command = Command::new(program.as_ref());
    // A go.mod or a toolchain file in the current folder must not change the result.
    command.args(args).current_dir("/").env("GOTOOLCHAIN", "local");
    let output = crate::run::output(command, None, Duration::from_secs(60)).ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The numbers of a dotted version, ignoring a prefix such as `go` or `v` and anything after the numbers.
pub fn version_numbers(text: &str) -> Vec<u32> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    digits[..end].split('.').filter_map(|part| part.parse().ok()).collect()
}

/// Checks that the installed Go is at least `wanted` (such as `1.26.0`). No toolchain is ever downloaded.
pub fn go(wanted: &str) -> Result<String, Missing> {
    let get = "https://go.dev/dl, or your distribution's package `golang` if it is new enough";
    let found = answer("go", &["env", "GOVERSION"])
        .ok_or_else(|| Missing::tool("Go", "it builds the Kubernetes control plane for the tests", get))?;
    if version_numbers(&found) < version_numbers(wanted) {
        return Err(Missing::version("Go", found.trim_start_matches("go"), wanted, get));
    }
    Ok(found.trim_start_matches("go").to_owned())
}

/// Checks for `setpriv`, which ties the life of child processes to this one.
pub fn setpriv() -> Result<(), Missing> {
    if !cfg!(target_os = "linux") || on_path("setpriv") {
        return Ok(());
    }
    let get = "your distribution's package `util-linux`";
    Err(Missing::tool(
        "setpriv",
        "it ends what the tests started when the tests are killed",
        get,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number_not_by_letter() {
        assert!(version_numbers("go1.26.8") > version_numbers("1.26.0"));
        assert!(version_numbers("go1.9") < version_numbers("1.26.0"));
        assert!(version_numbers("go1.27rc1 linux/amd64") > version_numbers("1.26.0"));
        assert_eq!(version_numbers("Python 3.11.7"), [3, 11, 7]);
    }

    #[test]
    fn a_missing_tool_is_named_with_the_way_to_get_it() {
        let text = Missing::tool("Go", "it builds things", "https://go.dev/dl").to_string();
        assert_eq!(text, "Go is missing: it builds things. Get it: https://go.dev/dl");
    }
}
