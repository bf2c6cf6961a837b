//! Serial lines: exclusive, flushed at the open and before the close: no stale byte comes out later. A hang-up is an
//! end of file.

use super::{OpenError, Wire};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_serial::{ClearBuffer, SerialPort, SerialPortBuilderExt, SerialStream};

pub const USUAL_BAUDS: [u32; 9] = [
    115_200, 57_600, 921_600, 460_800, 500_000, 1_500_000, 230_400, 1_000_000, 38_400,
];

/// Closing drops unsent bytes: the system would go on sending them, and hold up the closing for up to 30 s.
#[derive(Debug)]
pub(crate) struct SerialLine(SerialStream);

impl SerialLine {
    pub fn open(device: &Path, baud: u32) -> Result<Self, OpenError> {
        let name = device.display().to_string();
        let opened = tokio_serial::new(name.clone(), baud).open_native_async();
        let port = opened.map_err(|error| {
            use tokio_serial::ErrorKind::{Io, NoDevice};
            match error.kind {
                Io(io::ErrorKind::NotFound) => OpenError::Missing(name.clone()),
                Io(io::ErrorKind::PermissionDenied) => OpenError::Forbidden(name.clone()),
                NoDevice if device.exists() => OpenError::Busy(name.clone()),
                NoDevice => OpenError::Missing(name.clone()),
                _ if error.description.contains("lock") => OpenError::Busy(name.clone()),
                _ => OpenError::Serial {
                    device: name.clone(),
                    why: error.description,
                },
            }
        })?;
        let line = Self(port);
        line.forget();
        Ok(line)
    }

    pub fn set_baud(&mut self, baud: u32) -> bool {
        let done = self.0.set_baud_rate(baud).is_ok();
        self.forget();
        done
    }

    /// Bytes from before are stale. Not every device can forget them; the backlog filter does the rest.
    fn forget(&self) {
        let _ = self.0.clear(ClearBuffer::All);
    }

    pub fn into_wire(self) -> Wire {
        Wire::stream(self)
    }
}

pub(crate) fn advice(baud: u32) -> String {
    let others = USUAL_BAUDS.iter().filter(|&&usual| usual != baud);
    let others: Vec<String> = others.map(u32::to_string).collect();
    format!(
        "the line was opened at {baud} baud; the autopilot may use another rate (usual are {}), or the port does not speak MAVLink",
        others.join(", ")
    )
}

impl Drop for SerialLine {
    fn drop(&mut self) {
        self.forget();
    }
}

impl AsyncRead for SerialLine {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for SerialLine {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_the_rate_that_was_used_and_the_others() {
        let advice = advice(57_600);
        assert!(
            advice.contains("at 57600 baud") && advice.contains("115200, 921600"),
            "{advice}"
        );
        assert_eq!(advice.matches("57600").count(), 1, "{advice}");
    }
}
