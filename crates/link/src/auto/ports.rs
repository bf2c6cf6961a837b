//! Serial devices on which an autopilot may be. Names under `serial/by-id` come first: they survive unplugging and
//! another socket. Of equal adapters only one has such a name; those under `serial/by-path` survive unplugging alone.
//! UARTs of the board come last. No port is listed on which people log in: an open would change its baud rate under them.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const PORTS: usize = 32;

/// Names before their numbers: USB, a Raspberry Pi (first the names that stay the same on all its models), Jetson, i.MX (two kinds),
/// Qualcomm, and of PCs and many boards.
const NAMES: [&str; 9] = [
    "ttyACM", "ttyUSB", "serial", "ttyAMA", "ttyTHS", "ttymxc", "ttyLP", "ttyHS", "ttyS",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub path: PathBuf,
    /// USB ports without a true baud rate.
    pub is_usb: bool,
}

impl Port {
    fn new(path: PathBuf) -> Self {
        let named_so = |path: &Path| {
            path.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with("ttyACM"))
        };
        let is_usb = named_so(&path) || fs::read_link(&path).is_ok_and(|to| named_so(&to));
        Self { path, is_usb }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Lines of this machine that are no ports for an autopilot.
#[derive(Debug, Default)]
struct Lines {
    /// The folder `class/tty` of sysfs.
    class: PathBuf,
    /// Where the kernel writes, and getty with it.
    consoles: BTreeSet<String>,
    /// Device numbers of the terminals of other processes.
    terminals: BTreeSet<u64>,
}

impl Lines {
    /// Processes of other containers are not seen.
    fn read(sys: &Path, processes: &Path) -> Self {
        let class = sys.join("class/tty");
        let consoles = fs::read_to_string(class.join("console/active")).unwrap_or_default();
        let own = std::process::id().to_string();
        let others = fs::read_dir(processes).into_iter().flatten().filter_map(Result::ok);
        let others = others.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            is_number(&name) && *name != *own
        });
        let stats = others.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        Self {
            class,
            consoles: consoles.split_whitespace().map(str::to_owned).collect(),
            terminals: stats.filter_map(|stat| terminal(&stat)).collect(),
        }
    }

    fn may_be_one(&self, device: &Path) -> bool {
        let name = device.file_name().unwrap_or_default().to_string_lossy();
        let people = fs::metadata(device).is_ok_and(|of_device| self.terminals.contains(&of_device.rdev()));
        let has_hardware = !is_numbered(&name, "ttyS") || self.has_uart(&name);
        has_hardware && !people && !self.consoles.contains(&*name)
    }

    /// The kernel makes names ttyS0, ttyS1, ... for UARTs that could be there; without one their type is 0.
    fn has_uart(&self, name: &str) -> bool {
        let text = fs::read_to_string(self.class.join(name).join("type"));
        let kind = text.ok().and_then(|text| text.trim().parse::<u32>().ok());
        kind.is_some_and(|kind| kind != 0)
    }
}

/// Device number of a process's terminal, from its `stat` (proc(5), field 7), in the form of `stat(2)`; `None` without one.
fn terminal(stat: &str) -> Option<u64> {
    // The name of the program before it may hold blanks and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let number: i64 = fields.split_whitespace().nth(4)?.parse().ok()?;
    u64::try_from(number & 0xffff_ffff).ok().filter(|number| *number != 0)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(is_number)
}

#[must_use]
pub fn list(devices: &Path) -> Vec<Port> {
    listed(devices, &Lines::read(Path::new("/sys"), Path::new("/proc")))
}

fn listed(devices: &Path, lines: &Lines) -> Vec<Port> {
    let mut seen = Vec::new();
    let mut ports = Vec::new();
    let stable = ["serial/by-id", "serial/by-path"].map(|folder| (devices.join(folder), None::<&str>));
    let numbered = NAMES.map(|prefix| (devices.to_owned(), Some(prefix)));
    for (folder, prefix) in stable.into_iter().chain(numbered) {
        let mut names: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name()
                    .is_some_and(|n| prefix.is_none_or(|prefix| is_numbered(&n.to_string_lossy(), prefix)))
            })
            .collect();
        // ttyUSB10 behind ttyUSB9.
        names.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        for path in names {
            let Ok(device) = fs::canonicalize(&path) else { continue };
            if ports.len() < PORTS && !seen.contains(&device) && lines.may_be_one(&device) {
                seen.push(device);
                ports.push(Port::new(path));
            }
        }
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn stable_names_come_first_and_each_device_once() {
        let dev = tempfile::tempdir().unwrap();
        let at = |name: &str| dev.path().join(name);
        for name in ["ttyACM1", "ttyACM0", "ttyUSB10", "ttyUSB9", "ttyAMA0", "ttyS0", "null"] {
            fs::write(at(name), "").unwrap();
        }
        fs::create_dir_all(at("serial/by-id")).unwrap();
        symlink("../../ttyACM1", at("serial/by-id/usb-3D_Robotics_PX4_FMU-if00")).unwrap();
        symlink("../../ttyUSB9", at("serial/by-id/usb-FTDI_FT232R-if00-port0")).unwrap();
        symlink("../../ttyACM7", at("serial/by-id/usb-gone")).unwrap();
        let found: Vec<_> = listed(dev.path(), &Lines::default())
            .into_iter()
            .map(|p| (p.path.strip_prefix(dev.path()).unwrap().display().to_string(), p.is_usb))
            .collect();
        let expected = [
            ("serial/by-id/usb-FTDI_FT232R-if00-port0", false),
            ("serial/by-id/usb-3D_Robotics_PX4_FMU-if00", true),
            ("ttyACM0", true),
            ("ttyUSB10", false),
            ("ttyAMA0", false),
        ];
        assert_eq!(found, expected.map(|(name, usb)| (name.to_owned(), usb)));
    }

    #[test]
    fn of_two_equal_adapters_the_nameless_one_has_that_of_its_socket_with_colons() {
        let dev = tempfile::tempdir().unwrap();
        let at = |name: &str| dev.path().join(name);
        let sockets = [
            "pci-0000:00:14.0-usb-0:1:1.0-port0",
            "pci-0000:00:14.0-usb-0:2:1.0-port0",
        ];
        for folder in ["serial/by-id", "serial/by-path"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (number, socket) in sockets.iter().enumerate() {
            let device = format!("ttyUSB{number}");
            fs::write(at(&device), "").unwrap();
            symlink(format!("../../{device}"), at("serial/by-path").join(socket)).unwrap();
        }
        symlink(
            "../../ttyUSB1",
            at("serial/by-id/usb-Silicon_Labs_CP2102_0001-if00-port0"),
        )
        .unwrap();
        let found: Vec<_> = listed(dev.path(), &Lines::default())
            .iter()
            .map(|port| port.path.clone())
            .collect();
        assert_eq!(
            found,
            [
                at("serial/by-id/usb-Silicon_Labs_CP2102_0001-if00-port0"),
                at("serial/by-path").join(sockets[0])
            ]
        );
    }

    #[test]
    fn uarts_of_companion_computers_are_ports_once_each_where_nobody_logs_in() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for folder in [
            "dev/serial",
            "proc/5000007",
            "proc/5000008",
            "proc/self",
            "sys/class/tty/console",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (name, uart) in [("ttyS0", "4\n"), ("ttyS1", "0\n"), ("ttyS2", "4\n"), ("ttyS3", "4\n")] {
            fs::write(at("dev").join(name), "").unwrap();
            let line = at("sys/class/tty").join(name);
            fs::create_dir(&line).unwrap();
            fs::write(line.join("type"), uart).unwrap();
        }
        for name in [
            "ttyS4",
            "ttyAMA0",
            "ttyTHS2",
            "ttymxc1",
            "ttyLP0",
            "ttyHS1",
            "ttyprintk",
            "ttySLOW",
        ] {
            fs::write(at("dev").join(name), "").unwrap();
        }
        symlink("ttyS0", at("dev/serial0")).unwrap();
        symlink("ttyAMA0", at("dev/serial1")).unwrap();
        // Devices that are on each machine, with the numbers 1:3 and 1:5.
        symlink("/dev/null", at("dev/ttyTHS0")).unwrap();
        symlink("/dev/zero", at("dev/ttyTHS1")).unwrap();
        fs::write(at("sys/class/tty/console/active"), "tty0 ttyS2\n").unwrap();
        fs::write(at("proc/5000007/stat"), "5000007 (agetty) S 1 7 7 259 7 4194560 0\n").unwrap();
        fs::write(at("proc/5000008/stat"), "5000008 (a (b) c) S 1 8 8 0 -1 4194560 0\n").unwrap();
        let lines = Lines::read(&at("sys"), &at("proc"));
        let found = listed(&at("dev"), &lines).into_iter();
        let found: Vec<_> = found.map(|port| port.path.file_name().unwrap().to_owned()).collect();
        assert_eq!(
            found,
            [
                "serial0", "serial1", "ttyTHS1", "ttyTHS2", "ttymxc1", "ttyLP0", "ttyHS1", "ttyS3"
            ]
        );
    }

    #[test]
    fn the_terminal_of_a_process_has_the_number_of_its_device() {
        for (stat, number) in [
            ("7 (agetty) S 1 7 7 1088 7 4194560 0", Some(0x440)),
            ("8 (a (b) c) S 1 8 8 0 -1 0 0", None),
            ("9 (of a high minor) S 1 9 9 -265289728 9 0 0", Some(0xf030_0000)),
            ("9 (cut) S 1", None),
            ("", None),
        ] {
            assert_eq!(terminal(stat), number, "{stat}");
        }
    }

    #[test]
    fn no_device_folder_means_no_ports() {
        assert_eq!(list(Path::new("/no/such/folder")), []);
    }
}
