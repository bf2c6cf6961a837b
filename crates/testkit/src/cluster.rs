//! A Kubernetes API to run programs against: that of a real control plane, or the embedded one.

use std::path::{Path, PathBuf};

use crate::control_plane::{apply_files, nodes};
use crate::{ControlPlane, Embedded, Kubectl, Process, Scratch};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedBy {
    Kubernetes,
    Embedded,
}

#[derive(Debug)]
pub enum Cluster {
    Kubernetes(Box<ControlPlane>),
    Embedded(Box<Embedded>),
}

impl Cluster {
    /// Starts one with the CRDs of this workspace and these manifests, by paths from the workspace's root; the embedded
    /// API does not need those of `for_kubernetes`.
    pub fn start(served_by: ServedBy, manifests: &[&str], for_kubernetes: &[&str]) -> anyhow::Result<Self> {
        match served_by {
            ServedBy::Kubernetes => {
                let all = ["crds"].iter().chain(manifests).chain(for_kubernetes).copied();
                let plane = ControlPlane::builder().manifests(all).start()?;
                Ok(Self::Kubernetes(Box::new(plane)))
            }
            ServedBy::Embedded => {
                let api = Embedded::start()?;
                apply_files(api.kubectl(), manifests.iter().copied())?;
                Ok(Self::Embedded(Box::new(api)))
            }
        }
    }

    pub fn kubernetes(&self) -> Option<&ControlPlane> {
        match self {
            Self::Kubernetes(plane) => Some(plane),
            Self::Embedded(_) => None,
        }
    }

    pub fn kubectl(&self) -> &Kubectl {
        match self {
            Self::Kubernetes(plane) => plane.kubectl(),
            Self::Embedded(api) => api.kubectl(),
        }
    }

    pub fn kubeconfig(&self) -> &Path {
        self.kubectl().kubeconfig()
    }

    /// The embedded API has one user only.
    pub fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> anyhow::Result<PathBuf> {
        match self {
            Self::Kubernetes(plane) => plane.service_account_kubeconfig(namespace, name),
            Self::Embedded(api) => Ok(api.kubeconfig().to_owned()),
        }
    }

    pub fn api_server(&self) -> &Process {
        match self {
            Self::Kubernetes(plane) => plane.api_server(),
            Self::Embedded(api) => api.process(),
        }
    }

    pub fn scratch(&self) -> &Scratch {
        match self {
            Self::Kubernetes(plane) => plane.scratch(),
            Self::Embedded(api) => api.scratch(),
        }
    }

    pub fn create_node(&self, name: &str, labels: &[(&str, &str)]) -> anyhow::Result<()> {
        self.create_nodes(&[name], labels)
    }

    /// A node that exists gets the labels.
    pub fn create_nodes<N: AsRef<str>>(&self, names: &[N], labels: &[(&str, &str)]) -> anyhow::Result<()> {
        nodes::create(self.kubectl(), names, labels)
    }
}
