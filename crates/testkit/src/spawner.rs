//! Children that die with this process, however it ends.
//!
//! A test may be killed with SIGKILL, and then no `Drop` runs. So each child is started through
//! `setpriv --pdeathsig KILL` (util-linux), which asks the kernel to kill it when its parent dies and then becomes
//! the program itself: the process id stays the same. The kernel takes "parent" to be the *thread* that started
//! the child, and a test's thread ends with its test. So one thread, which lives as long as the process, starts them all.
//!
//! A child gets its own process group, so that Ctrl-C on a terminal reaches this process and not the child: it is then ended in order.

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
            // The receiver is gone only if the calling thread is; the child then ends with this process.
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

/// Starts it from the thread that lives as long as this process.
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
