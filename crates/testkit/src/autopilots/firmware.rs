//! Where the programs of real autopilots are, and how to get them.
//!
//! Owns: finding them, and the message when there is none. Must not: download or build anything.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::control_plane::workspace_root;
use crate::prerequisites::Missing;

const PURPOSE: &str = "it is flown by the tests with real autopilots";

/// An autopilot's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// ArduPilot Copter.
    ArduPilot,
    /// PX4.
    Px4,
}

impl Stack {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ArduPilot, Self::Px4];

    /// The one that this is not.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::ArduPilot => Self::Px4,
            Self::Px4 => Self::ArduPilot,
        }
    }

    /// As on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::ArduPilot => "ardupilot",
            Self::Px4 => "px4",
        }
    }
}

impl std::fmt::Display for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The program of one autopilot and the files that it needs.
#[derive(Clone, Debug)]
pub struct Firmware {
    stack: Stack,
    program: PathBuf,
    data: PathBuf,
}

impl Firmware {
    /// Searches the environment, then the folder beside the workspace.
    ///
    /// Errors: it is missing or incomplete; with the way to get it.
    pub fn find(stack: Stack) -> Result<Self, Missing> {
        let variable = match stack {
            Stack::ArduPilot => "SKEIN_ARDUCOPTER",
            Stack::Px4 => "SKEIN_PX4",
        };
        match std::env::var_os(variable) {
            Some(place) => Self::at(stack, Path::new(&place)),
            None => Self::at(stack, &beside_the_workspace(stack)),
        }
    }

    fn at(stack: Stack, place: &Path) -> Result<Self, Missing> {
        let (program, data) = match stack {
            Stack::ArduPilot => (place.to_owned(), copter_defaults(place)),
            Stack::Px4 => (place.join("bin/px4"), place.join("etc")),
        };
        let found = program.is_file() && data.exists();
        found
            .then_some(Self { stack, program, data })
            .ok_or_else(|| missing(stack, place))
    }

    /// Which autopilot it is.
    pub fn stack(&self) -> Stack {
        self.stack
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// ArduCopter: the parameters of the simulated quad. PX4: its folder `etc`.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Puts PX4 and a link for each of its commands into `folder`; the program checks the name by which it is called.
    pub(super) fn link_commands(&self, folder: &Path) -> anyhow::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        std::fs::create_dir_all(folder)?;
        let source = self.program.with_file_name("");
        symlink(&self.program, folder.join("px4"))?;
        symlink(source.join("px4-alias.sh"), folder.join("px4-alias.sh"))?;
        for name in command_names(&source)? {
            symlink("px4", folder.join(name))?;
        }
        Ok(())
    }
}

/// From `links.txt` where the program was copied without its links; a build has the links themselves.
fn command_names(source: &Path) -> anyhow::Result<Vec<String>> {
    if let Ok(list) = std::fs::read_to_string(source.join("links.txt")) {
        return Ok(list.split_whitespace().map(str::to_owned).collect());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(source)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("px4-") && name != "px4-alias.sh" {
            names.push(name);
        }
    }
    Ok(names)
}

fn beside_the_workspace(stack: Stack) -> PathBuf {
    let shared = workspace_root().join("../shared/autopilots");
    match stack {
        Stack::ArduPilot => shared.join("arducopter/arducopter"),
        Stack::Px4 => shared.join("px4"),
    }
}

/// Beside the program, else where they are in ArduPilot's sources, relative to `build/sitl/bin/arducopter`.
fn copter_defaults(program: &Path) -> PathBuf {
    let beside = program.with_file_name("copter.parm");
    if beside.is_file() {
        return beside;
    }
    let folder = program.parent().unwrap_or(program);
    folder.join("../../../Tools/autotest/default_params/copter.parm")
}

fn missing(stack: Stack, looked: &Path) -> Missing {
    let looked = looked.display();
    match stack {
        Stack::ArduPilot => Missing::tool(
            "ArduCopter",
            &format!("{PURPOSE} (looked for {looked}, with copter.parm beside it)"),
            "build it from https://github.com/ArduPilot/ardupilot (`./waf configure --board sitl && ./waf copter`) and set \
             SKEIN_ARDUCOPTER=.../build/sitl/bin/arducopter",
        ),
        Stack::Px4 => Missing::tool(
            "PX4",
            &format!("{PURPOSE} (looked for bin/px4 and etc in {looked})"),
            "build it from https://github.com/PX4/PX4-Autopilot (`make px4_sitl_default`) and set \
             SKEIN_PX4=.../build/px4_sitl_default",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn an_autopilot_that_is_not_there_is_named_with_the_way_to_get_it() {
        for (stack, variable) in [(Stack::ArduPilot, "SKEIN_ARDUCOPTER="), (Stack::Px4, "SKEIN_PX4=")] {
            let text = Firmware::at(stack, Path::new("/nowhere")).unwrap_err().to_string();
            assert!(text.contains("looked for") && text.contains("/nowhere"), "{text}");
            assert!(
                text.contains("https://github.com/") && text.contains(variable),
                "{text}"
            );
        }
    }

    #[test]
    fn a_build_of_px4_and_a_copy_without_links_give_the_same_commands() {
        let scratch = Scratch::new("skein-firmware-").unwrap();
        let (build, copy) = (scratch.folder("build").unwrap(), scratch.folder("copy").unwrap());
        for name in ["px4", "px4-alias.sh", "px4-param"] {
            std::fs::write(build.join(name), "").unwrap();
        }
        std::fs::write(copy.join("links.txt"), "px4-param\n").unwrap();
        assert_eq!(command_names(&build).unwrap(), ["px4-param"]);
        assert_eq!(command_names(&copy).unwrap(), ["px4-param"]);
    }
}
