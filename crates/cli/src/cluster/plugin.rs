//! The exec plugin of a kubeconfig (client.authentication.k8s.io), which answers with a token or a client certificate.

use super::credential::{LOGIN_PROGRAM_TIMEOUT, cannot};
use crate::failure::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use std::io::IsTerminal;
use std::process::Stdio;
use tokio::process::Command;
use tokio::time::timeout;

#[derive(Deserialize)]
struct Answer {
    status: Option<Shown>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Runs the plugin of `user`, if any, and stores its answer in `user`.
pub async fn resolve(user: &mut AuthInfo) -> Result<(), Failure> {
    // A token in the kubeconfig precedes the plugin, and impersonation is refused without it.
    if user.token.is_some() || user.token_file.is_some() || user.impersonate.is_some() {
        return Ok(());
    }
    let Some(plugin) = user.exec.take() else {
        return Ok(());
    };
    let shown = run(&plugin).await?;
    let encoded = |text: String| STANDARD.encode(text);
    match (shown.token, shown.client_certificate_data, shown.client_key_data) {
        (_, Some(certificate), Some(key)) => {
            user.client_certificate_data = Some(encoded(certificate));
            user.client_key_data = Some(encoded(key).into());
            Ok(())
        }
        (Some(token), _, _) => {
            user.token = Some(token.into());
            Ok(())
        }
        _ => Err(cannot(
            "its plugin answered with neither a token nor a certificate and its key",
        )),
    }
}

async fn run(plugin: &ExecConfig) -> Result<Shown, Failure> {
    let name = plugin.command.as_deref().unwrap_or_default();
    let interactive = match plugin.interactive_mode {
        Some(ExecInteractiveMode::Never) => false,
        Some(ExecInteractiveMode::Always) => true,
        Some(ExecInteractiveMode::IfAvailable) | None => std::io::stdin().is_terminal(),
    };
    let mut command = Command::new(name);
    command
        .args(plugin.args.iter().flatten())
        .env("KUBERNETES_EXEC_INFO", question(plugin, interactive)?)
        .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    for pair in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (pair.get("name"), pair.get("value")) {
            command.env(name, value);
        }
    }
    let output = match timeout(LOGIN_PROGRAM_TIMEOUT, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => {
            let hint = plugin.install_hint.as_deref().map(str::trim).unwrap_or_default();
            return Err(cannot(&format!("its plugin {name} cannot be run ({error}) {hint}")));
        }
        Err(_) => {
            return Err(cannot(&format!(
                "its plugin {name} does not end within {} s",
                LOGIN_PROGRAM_TIMEOUT.as_secs()
            )));
        }
    };
    if !output.status.success() {
        return Err(cannot(&format!("its plugin {name} failed ({})", output.status)));
    }
    // The answer may be YAML, of which JSON is a part. Its faults are not shown: they could quote the secret.
    let answer: Option<Answer> = serde_saphyr::from_slice(&output.stdout).ok();
    let shown = answer.and_then(|answer| answer.status);
    shown.ok_or_else(|| {
        cannot(&format!(
            "the answer of its plugin {name} is no ExecCredential with a status"
        ))
    })
}

fn question(plugin: &ExecConfig, interactive: bool) -> Result<String, Failure> {
    let mut spec = json!({"interactive": interactive});
    if plugin.provide_cluster_info {
        let cluster = serde_json::to_value(&plugin.cluster);
        spec["cluster"] =
            cluster.map_err(|error| cannot(&format!("its cluster cannot be passed to the plugin: {error}")))?;
    }
    Ok(json!({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn user(script: &str) -> AuthInfo {
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script], "interactiveMode": "Never",
            "env": [{"name": "WHO", "value": "ada"}], "installHint": "install sh",
        });
        AuthInfo {
            exec: Some(serde_json::from_value(exec).unwrap()),
            ..AuthInfo::default()
        }
    }

    async fn error(script: &str) -> String {
        resolve(&mut user(script)).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn the_answer_of_a_plugin_replaces_the_plugin() {
        let script = r#"
            case $KUBERNETES_EXEC_INFO in *'"interactive":false'*) ;; *) exit 1 ;; esac
            printf 'kind: ExecCredential\nstatus:\n  token: of-%s\n' $WHO"#;
        let mut tokened = user(script);
        resolve(&mut tokened).await.unwrap();
        assert!(tokened.exec.is_none());
        assert_eq!(tokened.token.unwrap().expose_secret(), "of-ada");
        let mut certified = user(r#"echo '{"status": {"clientCertificateData": "crt", "clientKeyData": "key"}}'"#);
        resolve(&mut certified).await.unwrap();
        assert_eq!(certified.client_certificate_data.as_deref(), Some("Y3J0"));
        assert_eq!(certified.client_key_data.unwrap().expose_secret(), "a2V5");
    }

    #[tokio::test]
    async fn a_token_in_the_kubeconfig_counts_before_the_plugin() {
        let mut user = user("exit 1");
        user.token = Some("abc".to_owned().into());
        resolve(&mut user).await.unwrap();
    }

    #[tokio::test]
    async fn a_plugin_that_is_missing_or_fails_is_named_and_its_answer_is_not_printed() {
        assert!(error("exit 3").await.contains("its plugin sh failed"));
        let damaged = error(r#"echo '{"status": "secret"'"#).await;
        assert!(
            damaged.contains("is no ExecCredential") && !damaged.contains("secret"),
            "{damaged}"
        );
        assert!(error("echo '{}'").await.contains("is no ExecCredential"));
        let half = error(r#"echo '{"status": {"clientCertificateData": "crt"}}'"#).await;
        assert!(half.contains("neither a token nor a certificate"), "{half}");
        let mut missing = user("");
        missing.exec.as_mut().unwrap().command = Some("skein-no-such-plugin".to_owned());
        let error = resolve(&mut missing).await.unwrap_err().to_string();
        assert!(
            error.contains("skein-no-such-plugin cannot be run") && error.contains("install sh"),
            "{error}"
        );
    }
}
