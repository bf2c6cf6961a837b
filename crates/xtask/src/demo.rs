//! `cargo xtask demo`: `skein demo` on a real Kubernetes control plane instead of the API that Skein contains.

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use testkit::ControlPlane;
use testkit::control_plane::Binaries;
use testkit::launch::workspace_binary;
use testkit::spawner;

use crate::generate::cargo_as_for_tests;
use crate::interrupt::Interrupt;
use crate::say;

const MANIFESTS: [&str; 2] = ["crds", "deploy/namespace.yaml"];

const EVERY: Duration = Duration::from_millis(100);

#[derive(clap::Args)]
pub struct Args {
    /// Arguments of `skein demo`, such as `--drones 5 --autopilot px4 --speedup 5 --once`.
    #[arg(allow_hyphen_values = true, trailing_var_arg = true, value_name = "ARGUMENTS")]
    demo: Vec<OsString>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    // An interrupted build ends at once; later processes are ended in order.
    say::heading("building skein");
    let built = cargo_as_for_tests("build")
        .args(["--package", "skein-cli"])
        .status()
        .context("cannot start cargo")?;
    anyhow::ensure!(built.success(), "skein does not build; see above");
    let binaries = Binaries::find_or_build()?;
    let interrupt = Interrupt::catch()?;

    say::heading("starting a Kubernetes control plane");
    let start = Instant::now();
    let plane = ControlPlane::builder().manifests(MANIFESTS).start()?;
    let took = say::duration(start.elapsed());
    say::note(&format!("{}, ready after {took}", plane.server()));
    say::note(&format!("its kubectl is in {}", binaries.folder().display()));

    let mut arguments = vec!["demo".into(), "--on".into(), plane.kubeconfig().into()];
    arguments.extend(args.demo.iter().cloned());
    let mut demo = spawner::spawn(spawner::bound_command(&workspace_binary("skein")?, &arguments))?;
    let mut notified = false;
    let status = loop {
        if let Some(status) = demo.try_wait()? {
            break status;
        }
        plane.ensure_running()?;
        // The demo has a process group of its own, so this process passes Ctrl-C on; a second one ends both.
        if interrupt.asked() && !notified {
            let pid = demo.id().to_string();
            Command::new("kill").args(["-INT", &pid]).status()?;
            notified = true;
        }
        std::thread::sleep(EVERY);
    };
    anyhow::ensure!(status.success(), "the demo ended with {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifests_that_the_demo_applies_are_there() {
        for path in MANIFESTS.map(|path| testkit::control_plane::workspace_root().join(path)) {
            assert!(path.exists(), "{}", path.display());
        }
    }
}
