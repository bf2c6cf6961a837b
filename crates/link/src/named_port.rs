//! Serial port that a link names. A board unplugged while its port is open comes back as the next number (ttyACM1).

use crate::auto::ports;
use crate::transport::OpenError;
use crate::transport::serial::SerialLine;
use std::fs;
use std::path::{Path, PathBuf};
use tracing::info;

const LISTED: usize = 4;

#[derive(Debug)]
pub(crate) struct NamedPort {
    device: PathBuf,
    baud: u32,
    devices: PathBuf,
    socket: Option<PathBuf>,
}

impl NamedPort {
    /// `devices` is searched for names of ports if `device` is in no folder `dev`.
    pub fn new(device: &Path, baud: u32, devices: &Path) -> Self {
        let own = device.ancestors().skip(1).find(|folder| folder.ends_with("dev"));
        Self {
            device: device.to_owned(),
            baud,
            devices: own.unwrap_or(devices).to_owned(),
            socket: None,
        }
    }

    pub fn open(&mut self) -> Result<SerialLine, OpenError> {
        match SerialLine::open(&self.device, self.baud) {
            Ok(line) => {
                self.socket = self.socket_now();
                Ok(line)
            }
            Err(OpenError::Missing(_)) => self.open_at_its_socket(),
            Err(error) => Err(error),
        }
    }

    fn open_at_its_socket(&self) -> Result<SerialLine, OpenError> {
        let there = self.socket.as_ref().and_then(|socket| fs::canonicalize(socket).ok());
        if let Some(there) = there {
            let line = SerialLine::open(&there, self.baud)?;
            info!(
                device = %self.device.display(), now = %there.display(),
                "the serial port came back under another name at the same socket"
            );
            return Ok(line);
        }
        let device = self.device.display().to_string();
        let mut others: Vec<String> = ports::list(&self.devices).iter().map(ToString::to_string).collect();
        if others.is_empty() {
            return Err(OpenError::Missing(device));
        }
        let more = others.len().saturating_sub(LISTED);
        others.truncate(LISTED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        Err(OpenError::Elsewhere {
            device,
            others: others.join(", ") + &more,
        })
    }

    /// `None` where the system names no socket, and for a port that a person named by more than its number.
    fn socket_now(&self) -> Option<PathBuf> {
        if self
            .device
            .parent()
            .is_some_and(|folder| folder.ends_with("serial/by-id") || folder.ends_with("serial/by-path"))
        {
            return None;
        }
        let real = fs::canonicalize(&self.device).ok()?;
        let names = fs::read_dir(self.devices.join("serial/by-path")).ok()?;
        let mut names = names.filter_map(|entry| Some(entry.ok()?.path()));
        names.find(|name| fs::canonicalize(name).is_ok_and(|there| there == real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tokio_serial::{SerialPort, SerialStream};

    fn plug(dev: &Path, name: &str) -> SerialStream {
        let (master, slave) = SerialStream::pair().unwrap();
        symlink(slave.name().unwrap(), dev.join(name)).unwrap();
        master
    }

    fn point(dev: &Path, name: &str, to: &str) {
        let name = dev.join("serial").join(name);
        fs::create_dir_all(name.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&name);
        symlink(format!("../../{to}"), &name).unwrap();
    }

    const SOCKET: &str = "by-path/pci-0000:00:14.0-usb-0:1.2:1.0";

    #[tokio::test]
    async fn a_board_that_comes_back_as_the_next_number_is_found_at_its_socket() {
        let root = tempfile::tempdir().unwrap();
        let dev = root.path().join("dev");
        fs::create_dir(&dev).unwrap();
        let first = plug(&dev, "ttyACM0");
        point(&dev, SOCKET, "ttyACM0");
        let mut port = NamedPort::new(&dev.join("ttyACM0"), 57_600, Path::new("/no/such/folder"));
        drop(port.open().unwrap());
        drop(first);
        fs::remove_file(dev.join("ttyACM0")).unwrap();
        let refused = port.open().err().unwrap();
        assert!(matches!(refused, OpenError::Missing(_)), "{refused}");
        let _second = plug(&dev, "ttyACM1");
        point(&dev, SOCKET, "ttyACM1");
        port.open().unwrap();
    }

    #[tokio::test]
    async fn a_port_that_is_missing_is_said_with_the_names_of_those_that_are_there() {
        let root = tempfile::tempdir().unwrap();
        let dev = root.path().join("dev");
        fs::create_dir(&dev).unwrap();
        let _other = plug(&dev, "ttyACM1");
        point(&dev, SOCKET, "ttyACM1");
        for named in [
            "ttyACM0".to_owned(),
            "serial/by-path/pci-0000:00:14.0-usb-0:9:1.0".to_owned(),
        ] {
            let mut port = NamedPort::new(&dev.join(&named), 57_600, Path::new("/no/such/folder"));
            let words = port.open().err().unwrap().to_string();
            assert!(
                words.contains(&named) && words.contains(SOCKET) && words.contains("use auto"),
                "{words}"
            );
        }
    }

    #[tokio::test]
    async fn a_port_that_is_named_by_its_board_is_no_other_board_in_the_same_socket() {
        let root = tempfile::tempdir().unwrap();
        let dev = root.path().join("dev");
        fs::create_dir(&dev).unwrap();
        let first = plug(&dev, "ttyACM0");
        point(&dev, SOCKET, "ttyACM0");
        point(&dev, "by-id/usb-board-7", "ttyACM0");
        let mut port = NamedPort::new(
            &dev.join("serial/by-id/usb-board-7"),
            57_600,
            Path::new("/no/such/folder"),
        );
        drop(port.open().unwrap());
        drop(first);
        for name in ["ttyACM0", "serial/by-id/usb-board-7"] {
            fs::remove_file(dev.join(name)).unwrap();
        }
        let _other = plug(&dev, "ttyACM1");
        point(&dev, SOCKET, "ttyACM1");
        assert!(port.open().err().unwrap().to_string().contains("is missing"));
    }
}
