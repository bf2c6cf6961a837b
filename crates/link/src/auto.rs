//! The `auto` link: searches an autopilot on the serial devices present. Must not: write a byte, for what listens is
//! unknown; take a port that another program holds.
//!
//! A port is an autopilot's when its HEARTBEAT arrives ([`is_autopilot`]); each is heard at each usual baud rate. One
//! silent at the first rate is silent at all; USB ports (ttyACM) have no true baud rate and are tried once. After a
//! loss only the port that worked is tried for a while: a second autopilot must not replace one that is just
//! restarting.

pub mod ports;

use crate::decode::decode;
use crate::framing::Framer;
use crate::heartbeat::is_autopilot;
use crate::raw::Direction;
use crate::transport::OpenError;
use crate::transport::serial::{SerialLine, USUAL_BAUDS};
use crate::transport::turns;
use mavlink::MavHeader;
use mavlink::dialects::ardupilotmega::{HEARTBEAT_DATA, MavMessage};
use ports::Port;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, info};

/// Time a port is heard at one baud rate; autopilots beat once a second.
const LISTEN: Duration = Duration::from_millis(2200);
/// Bytes without a frame after which the baud rate is wrong.
const NO_FRAME_IN: u64 = 1000;
/// Time after a loss in which only the port that worked is tried; longer than an autopilot takes to restart.
const FAITHFUL: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Search {
    devices: PathBuf,
    baud: Option<u32>,
    found: Option<Found>,
    not_accepted: Option<Port>,
}

#[derive(Clone, Debug)]
struct Found {
    port: Port,
    baud: u32,
    lost_at: Option<Instant>,
}

#[derive(Debug)]
enum Finding {
    Autopilot {
        line: SerialLine,
        baud: u32,
        header: MavHeader,
    },
    NoAutopilot,
    Noise,
    Silent,
    Unusable(OpenError),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Autopilot { .. } => "an autopilot",
            Self::NoAutopilot => "MAVLink, but no autopilot",
            Self::Noise => "bytes, but no MAVLink at any baud rate tried",
            Self::Silent => "silent",
            Self::Unusable(OpenError::Busy(_)) => "in use by another program",
            Self::Unusable(OpenError::Forbidden(_)) => "no permission",
            Self::Unusable(OpenError::Missing(_) | OpenError::Elsewhere { .. }) => "gone",
            Self::Unusable(_) => "not a usable serial device",
        })
    }
}

impl Search {
    /// Limit of one search; far more than some ports at all baud rates need.
    pub const DEADLINE: Duration = Duration::from_secs(300);
    /// Silence after which the autopilot is searched again: its baud rate may have been changed.
    pub const SILENT: Duration = Duration::from_secs(10);

    pub const fn new(devices: PathBuf, baud: Option<u32>) -> Self {
        Self {
            devices,
            baud,
            found: None,
            not_accepted: None,
        }
    }

    /// Searches everything again, the present port last: no frame on it could be believed.
    pub fn nothing_accepted(&mut self) {
        self.not_accepted = self.found.take().map(|found| found.port);
    }

    /// Listens at every port once. Safe to cancel.
    pub async fn find(&mut self) -> Result<SerialLine, OpenError> {
        let mut tried = Vec::new();
        for (place, port) in self.ports().into_iter().enumerate() {
            // The first turn was that of the search.
            if place > 0 {
                turns::SERIAL.wait().await;
            }
            let finding = self.try_port(&port).await;
            if let Finding::Autopilot { line, baud, header } = finding {
                let (system, component) = (header.system_id, header.component_id);
                info!(port = %port, baud, system, component, also_tried = tried.join("; "), "autopilot found");
                self.found = Some(Found {
                    port,
                    baud,
                    lost_at: None,
                });
                return Ok(line);
            }
            debug!(port = %port, %finding, "no autopilot here");
            tried.push(format!("{port}: {finding}"));
        }
        Err(if tried.is_empty() {
            OpenError::NoDevice(self.devices.display().to_string())
        } else {
            OpenError::NoAutopilot(tried.join("; "))
        })
    }

    fn ports(&mut self) -> Vec<Port> {
        if let Some(found) = &mut self.found {
            let lost_at = *found.lost_at.get_or_insert_with(Instant::now);
            if lost_at.elapsed() < FAITHFUL {
                return vec![found.port.clone()];
            }
        }
        let mut all = ports::list(&self.devices);
        // Stable: the others stay in their order.
        all.sort_by_key(|port| (self.not_accepted.as_ref() == Some(port), !self.is_found(port)));
        all
    }

    fn is_found(&self, port: &Port) -> bool {
        self.found.as_ref().is_some_and(|found| found.port == *port)
    }

    fn bauds(&self, port: &Port) -> Vec<u32> {
        let mut bauds = match self.baud {
            Some(only) => vec![only],
            None if port.is_usb => USUAL_BAUDS[..1].to_vec(),
            None => USUAL_BAUDS.to_vec(),
        };
        if let Some(found) = self.found.as_ref().filter(|_| self.is_found(port)) {
            bauds.sort_by_key(|&baud| baud != found.baud);
        }
        bauds
    }

    async fn try_port(&self, port: &Port) -> Finding {
        let bauds = self.bauds(port);
        let mut line = match SerialLine::open(&port.path, bauds.first().copied().unwrap_or(USUAL_BAUDS[0])) {
            Ok(line) => line,
            Err(error) => return Finding::Unusable(error),
        };
        let mut best = Finding::Silent;
        for baud in bauds {
            if !line.set_baud(baud) {
                continue;
            }
            match listen(&mut line).await {
                Reception::Autopilot(header) => return Finding::Autopilot { line, baud, header },
                Reception::Others => return Finding::NoAutopilot,
                Reception::Noise => best = Finding::Noise,
                Reception::Nothing if matches!(best, Finding::Silent) => return best,
                Reception::Nothing => {}
                Reception::End => return Finding::Unusable(OpenError::Missing(port.to_string())),
            }
        }
        best
    }
}

enum Reception {
    Autopilot(MavHeader),
    Others,
    Noise,
    Nothing,
    End,
}

async fn listen(line: &mut SerialLine) -> Reception {
    let until = Instant::now() + LISTEN;
    let mut framer = Framer::new(Direction::Autopilot);
    let mut buffer = vec![0; 1024];
    let (mut bytes, mut frames) = (0_u64, 0_u64);
    loop {
        let read = timeout_at(until, line.read(&mut buffer)).await;
        let over = read.is_err();
        match read {
            Ok(Ok(0) | Err(_)) => return Reception::End,
            Ok(Ok(n)) => {
                bytes += n as u64;
                framer.push(buffer.get(..n).unwrap_or_default());
            }
            Err(_) => {}
        }
        // A whole frame may also stand behind a false start in noise.
        let next = if over {
            Framer::next_after_silence
        } else {
            Framer::next_frame
        };
        while let Some(frame) = next(&mut framer) {
            frames += 1;
            match decode(&frame) {
                Ok((header, MavMessage::HEARTBEAT(beat))) if flies(&beat) => return Reception::Autopilot(header),
                _ => {}
            }
        }
        if over || (frames == 0 && bytes >= NO_FRAME_IN) {
            return match (frames, bytes) {
                (0, 0) => Reception::Nothing,
                (0, _) => Reception::Noise,
                _ => Reception::Others,
            };
        }
    }
}

fn flies(beat: &HEARTBEAT_DATA) -> bool {
    is_autopilot(beat.autopilot as u8, beat.mavtype as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn names(search: &mut Search) -> Vec<String> {
        let name = |port: Port| Some(port.path.file_name()?.to_string_lossy().into_owned());
        search.ports().into_iter().filter_map(name).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_loss_only_the_port_that_worked_is_tried_for_a_while_and_then_first() {
        let dev = tempfile::tempdir().unwrap();
        for name in ["ttyUSB0", "ttyUSB1", "ttyUSB2"] {
            std::fs::write(dev.path().join(name), "").unwrap();
        }
        let mut search = Search::new(dev.path().to_owned(), None);
        assert_eq!(names(&mut search), ["ttyUSB0", "ttyUSB1", "ttyUSB2"]);
        let port = search.ports().remove(1);
        let found = |port, baud| Found {
            port,
            baud,
            lost_at: None,
        };
        search.found = Some(found(port.clone(), 921_600));
        tokio::time::advance(Duration::from_secs(3600)).await;
        std::fs::remove_file(&port.path).unwrap();
        assert_eq!(names(&mut search), ["ttyUSB1"]);
        std::fs::write(&port.path, "").unwrap();
        tokio::time::advance(FAITHFUL - Duration::from_millis(1)).await;
        assert_eq!(names(&mut search), ["ttyUSB1"]);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(names(&mut search), ["ttyUSB1", "ttyUSB0", "ttyUSB2"]);
        assert_eq!(search.bauds(&port)[..3], [921_600, 115_200, 57_600]);
    }

    #[test]
    fn every_usual_rate_is_tried_on_a_uart_one_on_usb_and_else_only_the_requested() {
        let port = |is_usb| Port {
            path: "/dev/x".into(),
            is_usb,
        };
        let search = |baud| Search::new(Path::new("/dev").into(), baud);
        assert_eq!(search(None).bauds(&port(false)), USUAL_BAUDS);
        assert_eq!(search(None).bauds(&port(true)).len(), 1);
        assert_eq!(search(Some(57_600)).bauds(&port(false)), [57_600]);
        assert_eq!(search(Some(57_600)).bauds(&port(true)), [57_600]);
    }

    #[tokio::test]
    async fn without_any_device_the_error_names_the_searched_folder() {
        let mut search = Search::new("/no/such/folder".into(), None);
        let error = search.find().await.unwrap_err();
        assert!(
            matches!(&error, OpenError::NoDevice(at) if at == "/no/such/folder"),
            "{error}"
        );
    }
}
