//! Kubeconfigs of those who are no administrators.

use super::{ControlPlane, credentials};
use serde_json::{Value, json};
use std::path::PathBuf;

impl ControlPlane {
    /// A kubeconfig for a ServiceAccount that exists, with a token that is good for a day: it is written when first asked for.
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

    /// Writes a kubeconfig with a client certificate, given as PEM texts of certificate and key, and returns its path.
    pub fn certificate_kubeconfig(&self, name: &str, certificate: &str, key: &str) -> anyhow::Result<PathBuf> {
        let data = |text: &str| credentials::base64(text.as_bytes());
        let shows = json!({"client-certificate-data": data(certificate), "client-key-data": data(key)});
        self.kubeconfig_showing(name, &shows)
    }

    /// Writes a kubeconfig for a user who shows this, in the words of a kubeconfig's `user`, and returns its path.
    pub fn kubeconfig_showing(&self, name: &str, shows: &Value) -> anyhow::Result<PathBuf> {
        let path = self.kubeconfig_path(name);
        credentials::write_kubeconfig(&path, &self.server, &self.ca, name, shows)?;
        Ok(path)
    }

    fn kubeconfig_path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(format!("{name}.kubeconfig"))
    }

    /// The kubeconfig of one of the users that a [`super::Place`] came with, for use within it.
    pub fn user_kubeconfig(&self, user: &str) -> PathBuf {
        self.scratch.path().join(user)
    }
}
