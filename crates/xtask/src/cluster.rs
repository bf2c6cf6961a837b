//! `cargo xtask cluster`: the test control plane of `testkit`, for manual use; with real nodes on request.

mod nodes;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Subcommand;
use testkit::ControlPlane;
use testkit::control_plane::Binaries;

use crate::interrupt::Interrupt;
use crate::say;

/// What to do with a control plane.
#[derive(Subcommand)]
pub enum Command {
    /// Builds the binaries into the per-user cache, unless they exist.
    Build,
    /// Starts one, says how to use it, and runs it until Ctrl-C.
    Up {
        /// Applies these files or folders of manifests before the controllers start, such as `crds`.
        #[arg(long, value_name = "PATH")]
        apply: Vec<PathBuf>,
        #[command(flatten)]
        nodes: nodes::Args,
    },
}

pub fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Build => {
            let binaries = Binaries::find_or_build()?;
            say::line(&format!("the control plane is in {}", binaries.folder().display()));
            Ok(())
        }
        Command::Up { apply, nodes } if nodes.nodes == 0 => up(apply),
        Command::Up { apply, nodes } => nodes::up(apply, nodes),
    }
}

fn up(manifests: &[PathBuf]) -> anyhow::Result<()> {
    // An interrupted build ends at once; later processes are ended in order.
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
