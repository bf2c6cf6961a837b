//! `cargo xtask cluster`: the test control plane, by hand.
//!
//! Owns: what is said about it. Must not: build or start it itself; the `tests` library does.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Subcommand;
use tests::ControlPlane;
use tests::control_plane::Binaries;

use crate::interrupt::Interrupt;
use crate::say;

/// What to do with a control plane.
#[derive(Subcommand)]
pub enum Command {
    /// Builds the binaries into the per-user cache, unless they are there.
    Build,
    /// Starts one, says how to use it, and runs it until Ctrl-C.
    Up {
        /// Applies these files or folders of manifests before the controllers start, such as `crds`.
        #[arg(long, value_name = "PATH")]
        apply: Vec<PathBuf>,
        /// With this many real nodes
        #[arg(long, default_value_t = 0)]
        nodes: u8,
    },
}

/// Does it.
pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Build => {
            let binaries = Binaries::find_or_build()?;
            say::line(&format!("the control plane is in {}", binaries.folder().display()));
            Ok(())
        }
        Command::Up { apply, nodes: 0 } => up(apply),
        Command::Up { apply, nodes } => nodes_up(apply, *nodes),
    }
}

fn up(manifests: &[PathBuf]) -> anyhow::Result<()> {
    // A build that is interrupted ends at once; what runs afterwards is ended in order.
    let binaries = Binaries::find_or_build()?;
    let interrupt = Interrupt::catch()?;
    let start = Instant::now();
    let plane = ControlPlane::builder().manifests(manifests).start()?;
    say::line(&format!("# A Kubernetes control plane runs on {}", plane.server()));
    say::line(&format!(
        "# (ready after {}). In another terminal:",
        say::duration(start.elapsed())
    ));
    say::line(&format!("export KUBECONFIG={}", plane.kubeconfig().display()));
    say::line(&format!("export PATH={}:$PATH", binaries.folder().display()));
    say::line("kubectl get namespaces");
    say::line("# Ctrl-C here ends it and removes its data.");
    while !interrupt.asked() {
        plane.ensure_running()?;
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn nodes_up(manifests: &[PathBuf], drones: u8) -> anyhow::Result<()> {
    let interrupt = Interrupt::catch()?;
    let start = Instant::now();
    let _ = manifests;
    let mut installed = tests::nodes::Installed::start(&tests::nodes::Wish { drones, speedup: 1.0 })?;
    say::line(&format!("# ready after {}", say::duration(start.elapsed())));
    say::line(&format!("export KUBECONFIG={}", installed.kubeconfig().display()));
    while !interrupt.asked() {
        installed.cluster().ensure_running()?;
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
