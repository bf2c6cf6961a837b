//! `cargo xtask cluster up --nodes N`: real nodes with Skein on them and a simulated vehicle on each.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use testkit::nodes::{ClusterSetup, Installed, why_not};

use crate::generate::cargo_as_for_tests;
use crate::interrupt::Interrupt;
use crate::say;

const PROGRAMS: [&str; 3] = ["skein-coordinator", "skein-agent", "skein-sitl"];

/// What runs on nodes.
#[derive(clap::Args)]
pub struct Args {
    /// Adds this many real nodes, each with an agent and a simulated vehicle, and one for the coordinator. Needs root,
    /// containerd, runc and CNI plugins.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=50))]
    pub nodes: u8,
    /// Image archives to load, as `cargo xtask image` writes them; without, images of the programs as they are built
    /// here.
    #[arg(long, value_name = "FOLDER", requires = "nodes")]
    images: Option<PathBuf>,
    /// Sets a value of the chart.
    #[arg(long, value_name = "PATH=VALUE", requires = "nodes")]
    set: Vec<String>,
    /// How much faster than real time the vehicles' clock runs.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "nodes")]
    speedup: f32,
}

pub fn up(manifests: &[PathBuf], args: &Args) -> anyhow::Result<()> {
    anyhow::ensure!(
        manifests.is_empty(),
        "--apply goes without --nodes: there the chart is installed, and --set changes its values"
    );
    if let Some(why) = why_not() {
        anyhow::bail!("no real nodes here: {why}");
    }
    // Until all is started, Ctrl-C ends this at once, and the kernel and the sweepers end the rest; later it ends in
    // order.
    say::heading("building the programs");
    let mut build = cargo_as_for_tests("build");
    build.args(PROGRAMS.iter().flat_map(|name| ["--package", name]));
    let built = build.status().context("cannot start cargo")?;
    anyhow::ensure!(built.success(), "the programs do not build; see above");

    say::heading("starting a control plane and nodes, and installing Skein");
    let start = Instant::now();
    let mut setup = ClusterSetup {
        drones: args.nodes,
        speedup: args.speedup,
        values: args.set.clone(),
        ..ClusterSetup::default()
    };
    if let Some(folder) = &args.images {
        setup.images = Some(folder.clone());
    }
    let mut installed = Installed::start(&setup)?;
    let interrupt = Interrupt::catch()?;
    let kubectl = installed.plane().binaries().folder().display();
    say::line(&format!(
        "# {} drone nodes run Skein (ready after {}). In another terminal:",
        args.nodes,
        say::duration(start.elapsed())
    ));
    say::line(&format!("export KUBECONFIG={}", installed.kubeconfig().display()));
    say::line(&format!("export PATH={kubectl}:$PATH"));
    say::line("kubectl get nodes,pods -A -o wide");
    say::line(&format!(
        r#"echo '{{"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {{"name": "alpha"}}, "spec": {{"replicas": {}}}}}' | kubectl apply -f -"#,
        args.nodes
    ));
    say::line("kubectl get swarms,drones --watch");
    say::line("# Ctrl-C here ends it and removes its data.");
    while !interrupt.asked() {
        installed.cluster().ensure_running()?;
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
