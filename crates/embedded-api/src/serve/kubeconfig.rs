//! The kubeconfig: the address of the API, the certificate to trust, and the credential.

use crate::serve::private_file::{self, PrivateFileError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy)]
pub struct Kubeconfig<'a> {
    pub context: &'a str,
    pub server: &'a str,
    /// PEM.
    pub authority: &'a str,
    pub token: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{} is not a kubeconfig of this program, and is left as it is; name another file", .0.display())]
    NotOurs(PathBuf),
}

impl Kubeconfig<'_> {
    /// Mode 0600. Leaves equal content, so that a namespace which the user has set in it stays.
    pub fn write(&self, path: &Path) -> Result<(), KubeconfigError> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.text(),
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(self.not_ours(path)),
            Err(source) => {
                let (path, what) = (path.to_owned(), "read");
                return Err(PrivateFileError::System { path, what, source }.into());
            }
            Ok(there) => match serde_saphyr::from_str::<Value>(&there) {
                Ok(found) if !self.is_ours(&found) => return Err(self.not_ours(path)),
                Err(_) => return Err(self.not_ours(path)),
                Ok(found) if self.is_same(&found) => there,
                Ok(_) => self.text(),
            },
        };
        Ok(private_file::write(path, &text)?)
    }

    fn not_ours(&self, path: &Path) -> KubeconfigError {
        KubeconfigError::NotOurs(path.to_owned())
    }

    fn is_ours(&self, found: &Value) -> bool {
        ["clusters", "users"].iter().all(|list| {
            let named = found[list].as_array().map(Vec::as_slice);
            matches!(named, Some([one]) if one["name"] == self.context)
        })
    }

    fn is_same(&self, found: &Value) -> bool {
        let wanted = self.document();
        found["clusters"] == wanted["clusters"]
            && found["users"] == wanted["users"]
            && found["current-context"] == wanted["current-context"]
    }

    fn document(&self) -> Value {
        let Self { context, server, .. } = self;
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": context, "cluster": {
                "server": server, "certificate-authority-data": STANDARD.encode(self.authority),
            }}],
            "users": [{"name": context, "user": {"token": self.token}}],
            "contexts": [{"name": context, "context": {
                "cluster": context, "user": context, "namespace": "default",
            }}],
            "current-context": context,
        })
    }

    /// JSON is YAML, and needs no quoting rules.
    fn text(&self) -> String {
        format!("{:#}\n", self.document())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::config::Kubeconfig as Read;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn ours() -> Kubeconfig<'static> {
        Kubeconfig {
            context: "field",
            server: "https://127.0.0.1:25017",
            authority: "-----BEGIN CERTIFICATE-----\n",
            token: "secret",
        }
    }

    #[test]
    fn clients_read_what_is_written_and_others_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        ours().write(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let read = Read::read_from(&path).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("field"));
        let cluster = read.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.server.as_deref(), Some("https://127.0.0.1:25017"));
        let context = read.contexts[0].context.as_ref().unwrap();
        assert_eq!(context.namespace.as_deref(), Some("default"));
    }

    #[test]
    fn a_kubeconfig_that_is_still_good_keeps_what_the_user_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        ours().write(&path).unwrap();
        let changed = std::fs::read_to_string(&path)
            .unwrap()
            .replace("\"default\"", "\"north\"");
        std::fs::write(&path, &changed).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        ours().write(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), changed);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_kubeconfig_with_an_old_port_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        ours().write(&path).unwrap();
        let moved = Kubeconfig {
            server: "https://127.0.0.1:25018",
            ..ours()
        };
        moved.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(":25018") && !text.contains(":25017"));
    }

    #[test]
    fn a_file_of_somebody_else_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let two = r#"{"clusters": [{"name": "field"}, {"name": "work"}], "users": [{"name": "field"}]}"#;
        let other = r#"{"clusters": [{"name": "work"}], "users": [{"name": "work"}]}"#;
        for there in ["", "notes: about things\n", "{", two, other, "\u{0}"] {
            std::fs::write(&path, there).unwrap();
            let error = ours().write(&path).unwrap_err();
            assert!(matches!(error, KubeconfigError::NotOurs(_)), "{there}: {error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), there);
        }
    }
}
