//! Kubeconfigs of users other than the administrator.

use super::{ControlPlane, credentials};
use serde_json::{Value, json};
use std::path::PathBuf;

impl ControlPlane {
    /// Written on the first call, with a token that lasts a day.
    pub fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> anyhow::Result<PathBuf> {
        let user = format!("{namespace}.{name}");
        let written = self.kubeconfig_path(&user);
        if written.exists() {
            return Ok(written);
        }
        let token = self
            .kubectl()
            .run(["create", "token", name, "-n", namespace, "--duration=24h"])?;
        self.kubeconfig_showing(&user, &json!({"token": token.trim()}))
    }

    /// Takes PEM texts.
    pub fn certificate_kubeconfig(&self, name: &str, certificate: &str, key: &str) -> anyhow::Result<PathBuf> {
        let data = |text: &str| credentials::base64(text.as_bytes());
        let shows = json!({"client-certificate-data": data(certificate), "client-key-data": data(key)});
        self.kubeconfig_showing(name, &shows)
    }

    /// `shows` is the `user` of a kubeconfig.
    pub fn kubeconfig_showing(&self, name: &str, shows: &Value) -> anyhow::Result<PathBuf> {
        let path = self.kubeconfig_path(name);
        credentials::write_kubeconfig(&path, &self.server, &self.ca, name, shows)?;
        Ok(path)
    }

    fn kubeconfig_path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(format!("{name}.kubeconfig"))
    }

    /// A user that a [`super::Place`] came with, for use within it.
    pub fn user_kubeconfig(&self, user: &str) -> PathBuf {
        self.scratch.path().join(user)
    }
}
