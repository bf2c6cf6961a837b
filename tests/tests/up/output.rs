//! A station whose output cannot be written, or is not read: lines are lost, never an agent.

use anyhow::ensure;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::Mode;
use skein_tests::field::{Field, PATIENCE};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use testkit::process::Signal;
use testkit::wait_for;

#[test]
fn a_station_whose_log_cannot_be_written_flies_and_lands_all_the_same() -> anyhow::Result<()> {
    let mut field = Field::with(&["alpha", "bravo"], "px4")?;
    // Each write fails there, as on a full disk or after the reader of a pipe has ended.
    let up = field.station_with_output(&["alpha", "bravo"], "2>/dev/full")?.start()?;
    up.wait_for_line(PATIENCE, |line| line.starts_with("Skein is up."))?;
    field.up = Some(up);
    field.fly(2, 10.0)?;
    field.wait_in_air(&["alpha", "bravo"])?;
    let said = field.end_up()?;
    for vehicle in ["alpha", "bravo"] {
        ensure!(field.wire(vehicle).said().down(), "{vehicle} is not down at the end");
        ensure!(said.contains(&format!("{vehicle}: down")), "{said}");
    }
    Ok(())
}

#[test]
fn a_station_whose_output_nobody_reads_flies_and_lands_what_it_is_asked_to() -> anyhow::Result<()> {
    let field = Field::with(&["alpha"], "px4")?;
    let path = field.data().with_file_name("pipe");
    let mut pipe = full_pipe(&path)?;
    let redirection = format!(">'{path}' 2>&1", path = path.display());
    let up = field.station_with_output(&["alpha"], &redirection)?.start()?;
    field.wait_readiness("alpha", "True", "AgentConnected")?;
    field.fly(1, 10.0)?;
    field.wait_in_air(&["alpha"])?;
    up.signal(Signal::SIGTERM)?;
    // Its two messages, unarmed and landed, are not sent at one time.
    wait_for("it to be down", PATIENCE, || {
        let said = field.wire("alpha").said();
        ensure!(said.down(), "{said:?}");
        Ok(())
    })?;
    ensure!(field.wire("alpha").arms() == 1, "it was armed once, and never disarmed");

    let mut read = String::new();
    let status = wait_for("it to end", PATIENCE, || {
        let mut some = [0; 1 << 12];
        match pipe.read(&mut some) {
            Ok(count) => read += &String::from_utf8_lossy(&some[..count]),
            Err(error) => ensure!(error.kind() == std::io::ErrorKind::WouldBlock, "{error}"),
        }
        up.exit_status()?.ok_or_else(|| anyhow::anyhow!("it runs"))
    })?;
    ensure!(status.success(), "{status}");
    Ok(())
}

fn full_pipe(path: &Path) -> anyhow::Result<File> {
    nix::unistd::mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
    // Open at both ends, so that neither open call waits for the other.
    let mut pipe = File::options().read(true).write(true).open(path)?;
    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    for size in [1 << 12, 1] {
        let full = loop {
            if let Err(error) = pipe.write(&vec![b'.'; size]) {
                break error;
            }
        };
        ensure!(full.raw_os_error() == Some(Errno::EAGAIN as i32), "{full}");
    }
    Ok(pipe)
}
