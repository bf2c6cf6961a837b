//! The control groups of the nodes' containers.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

/// Removes the groups once standard input closes, at the latest when this process dies; processes that are being killed
/// keep their group for a moment.
const SWEEP: &str = r#"cat >/dev/null
for turn in $(seq 100); do
    find "$@" -depth -type d -exec rmdir {} + 2>/dev/null
    left=0
    for group in "$@"; do [ -d "$group" ] && left=1; done
    [ $left = 0 ] && exit 0
    sleep 0.1
done
echo "these control groups could not be removed: $*" >&2
exit 1"#;

/// Files and values of the processor share of all nodes, for version 1 and version 2. One group competes with every
/// process of the machine here: with the default share a build beside it would leave almost nothing for the Pods.
const SHARES: [(&str, &str); 2] = [("cpu.shares", "65536"), ("cpu.weight", "6400")];

/// A group of this name in every hierarchy, removed on drop with all below it, so end its processes first.
#[derive(Debug)]
pub struct Cgroups {
    name: String,
    folders: Vec<PathBuf>,
    sweeper: Child,
}

impl Cgroups {
    pub fn make(name: &str, below: &[&str]) -> anyhow::Result<Self> {
        let hierarchies = hierarchies(&std::fs::read_to_string("/proc/mounts")?);
        anyhow::ensure!(!hierarchies.is_empty(), "no control groups are mounted");
        let tops: Vec<PathBuf> = hierarchies.iter().map(|hierarchy| hierarchy.join(name)).collect();
        let mut command = Command::new("sh");
        command.args(["-c", SWEEP, "sweeper"]).args(&tops).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
        let sweeper = command.spawn()?;
        let made = Self {
            name: name.to_owned(),
            folders: tops,
            sweeper,
        };
        for folder in made
            .folders
            .iter()
            .flat_map(|top| below.iter().map(|name| top.join(name)))
        {
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        for (top, (file, share)) in made.folders.iter().flat_map(|top| SHARES.map(|share| (top, share))) {
            let file = top.join(file);
            if file.exists() {
                std::fs::write(&file, share).with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        Ok(made)
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    pub fn path(&self, below: &str) -> String {
        format!("/{}/{below}", self.name)
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        drop(self.sweeper.stdin.take());
        let _ = crate::wait_for("the control groups to go", Duration::from_secs(15), || {
            self.sweeper.try_wait()?.context("not yet")
        });
    }
}

/// Mount points of the hierarchies: one of version 2, or one for each controller of version 1.
fn hierarchies(mounts: &str) -> Vec<PathBuf> {
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        Some((PathBuf::from(words.next()?), words.next()?.to_owned()))
    };
    let all: Vec<_> = mounts.lines().filter_map(mount).collect();
    let of = |kind: &str| -> Vec<PathBuf> {
        let same = all.iter().filter(|(_, k)| k == kind);
        same.map(|(path, _)| path.clone()).collect()
    };
    let first = of("cgroup");
    if first.is_empty() { of("cgroup2") } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_both_versions_mounted_it_is_the_first_that_containers_use() {
        let hybrid =
            "cgroup /c/cpu cgroup rw,cpu 0 0\ncgroup2 /c/unified cgroup2 rw 0 0\ncgroup /c/pids cgroup rw,pids 0 0";
        assert_eq!(hierarchies(hybrid), [PathBuf::from("/c/cpu"), PathBuf::from("/c/pids")]);
        assert_eq!(hierarchies("cgroup2 /c cgroup2 rw 0 0"), [PathBuf::from("/c")]);
    }
}
