//! Places of the programs of real autopilots, and ways to get them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::control_plane::cache_root;
use crate::prerequisites::{Missing, version_numbers};

const PURPOSE: &str = "it is flown by the tests with real autopilots";
/// Name in each program of ArduCopter since its parameters were renamed, on the way to 4.7; its parameters file names none of these.
const RENAMED: &[u8] = b"RTL_ALT_M\0";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    ArduPilot,
    Px4,
}

impl Stack {
    pub const ALL: [Self; 2] = [Self::ArduPilot, Self::Px4];

    pub fn other(self) -> Self {
        match self {
            Self::ArduPilot => Self::Px4,
            Self::Px4 => Self::ArduPilot,
        }
    }

    pub fn variable(self) -> &'static str {
        match self {
            Self::ArduPilot => "SKEIN_ARDUCOPTER",
            Self::Px4 => "SKEIN_PX4",
        }
    }

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

#[derive(Clone, Debug)]
pub struct Firmware {
    stack: Stack,
    name: String,
    place: PathBuf,
    program: PathBuf,
    data: PathBuf,
}

#[derive(Debug, Default)]
pub struct Found {
    pub programs: Vec<Firmware>,
    /// By folder or variable: programs without a part that they need.
    pub incomplete: Vec<(String, Missing)>,
}

impl Found {
    fn newest(self) -> Option<Firmware> {
        self.programs
            .into_iter()
            .max_by_key(|program| version_of(&program.name))
    }
}

impl Firmware {
    /// The program that the environment names, else the newest in `~/.cache/skein/autopilots`. Errors say how to get
    /// it.
    pub fn find(stack: Stack) -> Result<Self, Missing> {
        if let Some(place) = std::env::var_os(stack.variable()) {
            return Self::at(stack, stack.variable(), Path::new(&place));
        }
        let newest = Self::in_cache(stack).newest();
        newest.ok_or_else(|| missing(stack, Path::new("~/.cache/skein/autopilots")))
    }

    fn in_cache(stack: Stack) -> Found {
        cache_root().map_or_else(
            |_| Found::default(),
            |cache| Self::in_folders_of(&cache.join("autopilots"), stack),
        )
    }

    /// The simulated autopilot's version nearest to this one, by folder name; `None` for the default.
    pub fn simulated_version(&self) -> Option<&'static str> {
        let folders = self.place.components().rev();
        folders
            .filter_map(|folder| {
                let folder = folder.as_os_str().to_str()?;
                let numbers = version_of(folder);
                match (self.stack, numbers.first()?, numbers.get(1)?) {
                    (Stack::ArduPilot, 4, ..=6) if folder.starts_with("copter") => Some("copter-4.6"),
                    // Development builds of 4.7 have either names; the recorded version has the old ones.
                    (Stack::ArduPilot, 4, 7) if folder.starts_with("copter") && !self.has_renamed() => None,
                    (Stack::ArduPilot, 4, _) if folder.starts_with("copter") => Some("copter-4.8"),
                    (Stack::Px4, 1, ..=16) if folder.starts_with("px4") => Some("px4-1.16"),
                    (Stack::Px4, 1, 18..) if folder.starts_with("px4") => Some("px4-1.18"),
                    _ => None,
                }
            })
            .next()
    }

    fn has_renamed(&self) -> bool {
        let names = |bytes: Vec<u8>| bytes.windows(RENAMED.len()).any(|part| part == RENAMED);
        std::fs::read(&self.program).is_ok_and(names)
    }

    pub fn all(stack: Stack) -> Found {
        let mut found = Self::in_cache(stack);
        match Self::find(stack) {
            Ok(usual) => {
                let same = |other: &Self| same_file(&other.program, &usual.program);
                if !found.programs.iter().any(same) {
                    found.programs.insert(0, usual);
                }
            }
            Err(missing) if std::env::var_os(stack.variable()).is_some() => {
                found.incomplete.push((stack.variable().to_owned(), missing));
            }
            Err(_) => {}
        }
        found
    }

    fn in_folders_of(cache: &Path, stack: Stack) -> Found {
        let entries = std::fs::read_dir(cache).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        let mut found = Found::default();
        for folder in folders {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            let (place, part) = match stack {
                Stack::ArduPilot => (folder.join("arducopter"), folder.join("arducopter")),
                Stack::Px4 => (folder.clone(), folder.join("bin/px4")),
            };
            if !part.exists() {
                continue;
            }
            match Self::at(stack, &name, &place) {
                Ok(firmware) => found.programs.push(firmware),
                Err(missing) => found.incomplete.push((name.into_owned(), missing)),
            }
        }
        found
    }

    fn at(stack: Stack, name: &str, place: &Path) -> Result<Self, Missing> {
        let (program, data) = match stack {
            Stack::ArduPilot => (place.to_owned(), copter_defaults(place)),
            Stack::Px4 => (place.join("bin/px4"), place.join("etc")),
        };
        if !program.is_file() || !data.exists() {
            return Err(missing(stack, place));
        }
        Ok(Self {
            stack,
            name: name.to_owned(),
            place: place.to_owned(),
            program,
            data,
        })
    }

    /// Folder in the cache, such as `copter-4.6.2`, or where else it was found.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn place(&self) -> &Path {
        &self.place
    }

    pub fn stack(&self) -> Stack {
        self.stack
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// ArduCopter: the parameters of the simulated quad. PX4: its folder `etc`.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Puts PX4 and a link for each of its commands into `folder`, as it checks the name by which it is called.
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

/// Reads `links.txt` where the program was copied without its links; a build has the links themselves.
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

fn version_of(folder: &str) -> Vec<u32> {
    version_numbers(folder.split_once('-').map_or(folder, |(_, version)| version))
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one).is_some() && real(one) == real(other)
}

/// Beside the program, else at the place in ArduPilot's sources, relative to `build/sitl/bin/arducopter`.
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
            "download `arducopter` of a release from https://firmware.ardupilot.org/Copter (SITL_x86_64_linux_gnu) and copter.parm of \
             the same release from https://github.com/ArduPilot/ardupilot (Tools/autotest/default_params), or build both there \
             (`./waf configure --board sitl && ./waf copter`); put them into ~/.cache/skein/autopilots/copter-VERSION, or \
             set SKEIN_ARDUCOPTER=.../arducopter",
        ),
        Stack::Px4 => Missing::tool(
            "PX4",
            &format!("{PURPOSE} (looked for bin/px4 and etc in {looked})"),
            "take the simulation (px4_sitl) of a release from https://github.com/PX4/PX4-Autopilot/releases, or build it there (`make \
             px4_sitl_default`); put its bin and etc into ~/.cache/skein/autopilots/px4-VERSION, or set \
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
            let text = Firmware::at(stack, "none", Path::new("/nowhere"))
                .unwrap_err()
                .to_string();
            assert!(text.contains("looked for") && text.contains("/nowhere"), "{text}");
            assert!(
                text.contains("https://github.com/") && text.contains(variable),
                "{text}"
            );
        }
    }

    #[test]
    fn each_cache_folder_with_a_program_is_a_version_and_one_lacking_a_part_is_named() {
        let scratch = Scratch::new("skein-firmware-").unwrap();
        let write = |path: &str| {
            let path = scratch.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        for file in [
            "README.txt",
            "copter-4.8-dev/arducopter",
            "copter-4.8-dev/copter.parm",
            "copter-4.5.7/arducopter",
            "copter-4.5.7/copter.parm",
            "copter-4.6/arducopter",
            "copter-4.10.1/arducopter",
            "copter-4.10.1/copter.parm",
            "px4-1.18/bin/px4",
            "px4-1.18/etc/init.d-posix/rcS",
            "px4-1.16/bin/px4",
        ] {
            write(file);
        }
        let of = |stack| {
            let found = Firmware::in_folders_of(scratch.path(), stack);
            let names = found.programs.iter().map(|one| one.name().to_owned());
            let incomplete = found
                .incomplete
                .iter()
                .map(|(name, missing)| format!("{name}: {missing}"));
            (names.collect::<Vec<_>>(), incomplete.collect::<Vec<_>>())
        };
        let (copters, incomplete) = of(Stack::ArduPilot);
        assert_eq!(copters, ["copter-4.10.1", "copter-4.5.7", "copter-4.8-dev"]);
        let found = Firmware::in_folders_of(scratch.path(), Stack::ArduPilot);
        let played: Vec<_> = found.programs.iter().map(Firmware::simulated_version).collect();
        assert_eq!(played, [Some("copter-4.8"), Some("copter-4.6"), Some("copter-4.8")]);
        assert_eq!(found.newest().unwrap().name(), "copter-4.10.1");
        assert!(
            incomplete.len() == 1
                && incomplete[0].starts_with("copter-4.6: ")
                && incomplete[0].contains("copter-4.6/arducopter"),
            "{incomplete:?}"
        );
        let (px4, incomplete) = of(Stack::Px4);
        assert_eq!(px4, ["px4-1.18"]);
        let programs = Firmware::in_folders_of(scratch.path(), Stack::Px4).programs;
        assert_eq!(programs[0].simulated_version(), Some("px4-1.18"));
        assert!(
            incomplete.len() == 1 && incomplete[0].contains("px4-1.16"),
            "{incomplete:?}"
        );
        let all = Firmware::in_folders_of(&scratch.path().join("nothing"), Stack::Px4);
        assert!(all.programs.is_empty() && all.incomplete.is_empty());
    }

    #[test]
    fn a_development_build_of_4_7_is_played_by_the_names_that_its_program_has() {
        let scratch = Scratch::new("skein-firmware-").unwrap();
        for (folder, program) in [
            ("copter-4.7-dev-2025", &b"ModeRTL\0RTL_ALT\0RTL_ALT_MIN\0"[..]),
            ("copter-4.7-dev-2026", &b"ModeRTL\0RTL_ALT_M\0RTL_SPEED_MS\0"[..]),
        ] {
            let folder = scratch.folder(folder).unwrap();
            std::fs::write(folder.join("arducopter"), program).unwrap();
            std::fs::write(folder.join("copter.parm"), "").unwrap();
        }
        let programs = Firmware::in_folders_of(scratch.path(), Stack::ArduPilot).programs;
        let played: Vec<_> = programs.iter().map(Firmware::simulated_version).collect();
        assert_eq!(played, [None, Some("copter-4.8")]);
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
