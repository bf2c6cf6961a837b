//! Other programs that must succeed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

/// Runs a command whose output the person sees; `otherwise` is the error when it fails.
pub fn succeed(mut command: Command, otherwise: &str) -> anyhow::Result<()> {
    let program = PathBuf::from(command.get_program());
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    anyhow::ensure!(status.success(), "{otherwise}");
    Ok(())
}

/// The output of a command; the error holds what it printed on standard error.
pub fn output(mut command: Command) -> anyhow::Result<String> {
    let program = PathBuf::from(command.get_program());
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(
        output.status.success(),
        "{} failed: {}",
        program.display(),
        complaint.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_told_with_its_own_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo so it is >&2; exit 3"]);
        assert_eq!(output(command).unwrap_err().to_string(), "sh failed: so it is");
    }
}
