//! Children that die with this process, however it ends.
//!
//! Each child is started through `setpriv --pdeathsig KILL` (util-linux), which asks the kernel to kill it when its
//! parent dies, and then becomes the program itself with the same process id. The kernel takes "parent" to be the
//! *thread* that started the child, and a test's thread ends with its test; so one thread, which lives as long as the
//! process, starts all.
//!
//! A child gets its own process group, so that Ctrl-C reaches this process, which ends the child in order.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex};

type Order = (Command, Sender<io::Result<Child>>);

static SPAWNER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (orders, incoming) = channel::<Order>();
    std::thread::spawn(move || {
        for (mut command, reply) in incoming {
            // Fails only if the calling thread is gone; the child then ends with this process.
            let _ = reply.send(command.spawn());
        }
    });
    Mutex::new(orders)
});

/// Start it with [`spawn`] only.
pub fn bound_command(program: &Path, args: &[OsString]) -> Command {
    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        command
    } else {
        // Without the kernel's help only `Drop` ends a child.
        Command::new(program)
    };
    command.args(args).process_group(0);
    command
}

pub fn spawn(command: Command) -> io::Result<Child> {
    let gone = || io::Error::other("the thread that starts processes is gone");
    let (reply, answer) = channel();
    SPAWNER
        .lock()
        .map_err(|_| gone())?
        .send((command, reply))
        .map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}
