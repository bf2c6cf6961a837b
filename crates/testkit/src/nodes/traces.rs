//! Traces that a cluster of real nodes leaves on the machine while it runs.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Traces {
    folders: Vec<PathBuf>,
    groups: Vec<PathBuf>,
}

impl Traces {
    pub(super) fn new(folders: Vec<PathBuf>, groups: Vec<PathBuf>) -> Self {
        Self { folders, groups }
    }

    /// Folders, control groups, mounts, and processes that name one of the folders; empty when nothing is left.
    pub fn left(&self) -> Vec<String> {
        let paths = self.folders.iter().chain(&self.groups);
        let mut left: Vec<String> = paths
            .filter(|path| path.exists())
            .map(|path| path.display().to_string())
            .collect();
        let names: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        let named = |text: &str| names.iter().any(|name| text.contains(name));
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        left.extend(mounts.lines().filter(|line| named(line)).map(str::to_owned));
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let commands = processes.filter_map(|process| command_line(&process.path()));
        // The shells that remove the folders name them too, and end when they have.
        left.extend(commands.filter(|command| named(command) && !command.contains("rm -rf")));
        left
    }
}

fn command_line(process: &Path) -> Option<String> {
    let bytes = std::fs::read(process.join("cmdline")).ok()?;
    Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
}
