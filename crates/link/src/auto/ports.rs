//! Serial devices on which an autopilot may be. Names under `serial/by-id` come first: they survive unplugging and
//! another socket. Of equal adapters only one has such a name; those under `serial/by-path` survive unplugging alone.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

const PORTS: usize = 32;

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

#[must_use]
pub fn list(devices: &Path) -> Vec<Port> {
    let mut seen = Vec::new();
    let mut ports = Vec::new();
    let folders = [
        (devices.join("serial/by-id"), ""),
        (devices.join("serial/by-path"), ""),
        (devices.to_owned(), "ttyACM"),
        (devices.to_owned(), "ttyUSB"),
        (devices.to_owned(), "ttyAMA"),
    ];
    for (folder, prefix) in folders {
        let mut names: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.file_name()
                    .is_some_and(|n| n.to_string_lossy().starts_with(prefix))
            })
            .collect();
        // ttyUSB10 behind ttyUSB9.
        names.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        for path in names {
            let Ok(device) = fs::canonicalize(&path) else { continue };
            if ports.len() < PORTS && !seen.contains(&device) {
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
        let found: Vec<_> = list(dev.path())
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
        let found: Vec<_> = list(dev.path()).iter().map(|port| port.path.clone()).collect();
        assert_eq!(
            found,
            [
                at("serial/by-id/usb-Silicon_Labs_CP2102_0001-if00-port0"),
                at("serial/by-path").join(sockets[0])
            ]
        );
    }

    #[test]
    fn no_device_folder_means_no_ports() {
        assert_eq!(list(Path::new("/no/such/folder")), []);
    }
}
