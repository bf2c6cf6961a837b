//! The base of the end-to-end tests and `cargo xtask`: a real Kubernetes control plane and real processes. Everything
//! blocks and everything has a deadline.
//!
//! Owns: the promise that nothing it started outlives the process that started it. Must not: know of swarms or drones,
//! call the API server other than through `kubectl`, need an async runtime.
//!
//! ```no_run
//! use std::time::Duration;
//! use testkit::{ControlPlane, Launch, wait_for};
//!
//! # fn main() -> anyhow::Result<()> {
//! let plane = ControlPlane::builder().manifests(["crds", "deploy/rbac.yaml"]).start()?;
//! plane.create_nodes(&["node-1", "node-2"], &[("node-role.kubernetes.io/drone", "")])?;
//! let kubeconfig = plane.service_account_kubeconfig("skein-system", "skein-coordinator")?;
//! let coordinator = Launch::workspace("skein-coordinator")?.env("KUBECONFIG", kubeconfig).start()?;
//! coordinator.wait_for_line(Duration::from_secs(20), |line| line.contains("listening"))?;
//! wait_for("two ready nodes", Duration::from_secs(10), || {
//!     let nodes = plane.kubectl().run(["get", "nodes", "--no-headers"])?;
//!     anyhow::ensure!(nodes.matches(" Ready ").count() == 2, "{nodes}");
//!     Ok(())
//! })?;
//! # Ok(())
//! # }
//! ```

pub mod autopilots;
pub mod cluster;
pub mod control_plane;
pub mod differ;
pub mod embedded;
pub mod go_tool;
pub mod helm;
pub mod kubectl;
pub mod launch;
pub mod manifests;
mod network_namespace;
pub mod nodes;
pub mod peer;
pub mod ports;
pub mod prerequisites;
pub mod process;
pub mod run;
pub mod scratch;
pub mod spawner;
pub mod wait;

pub use cluster::{Cluster, ServedBy};
pub use control_plane::ControlPlane;
pub use embedded::Embedded;
pub use go_tool::GoTool;
pub use helm::Helm;
pub use kubectl::Kubectl;
pub use launch::Launch;
pub use nodes::RealCluster;
pub use process::Process;
pub use scratch::Scratch;
pub use wait::{until, wait_for};
